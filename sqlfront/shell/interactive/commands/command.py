r"""The form of a command that begins with a backslash."""

from collections.abc import Callable

import msgspec

from sqlfront.shell.interactive.shell import Shell

#: The work of a command with the rest of its line. Raises the errors of PEP 249.
Action = Callable[[Shell, str], None]


class Command(msgspec.Struct, frozen=True):
    """A command: its name without the backslash, its arguments as the help shows them, one line of help, and
    its work."""

    name: str
    arguments: str
    help: str
    action: Action

    @property
    def usage(self) -> str:
        """The command with its arguments."""
        return f"\\{self.name} {self.arguments}".rstrip()
