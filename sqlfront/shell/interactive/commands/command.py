r"""The form of a command that begins with a backslash."""

from collections.abc import Callable

import msgspec

from sqlfront.shell.interactive.shell import Shell

#: The work of a command with the rest of its line. Raises the errors of PEP 249.
Action = Callable[[Shell, str], None]


class Command(msgspec.Struct, frozen=True):
    """A command of the shell: its name without the backslash, its arguments as the help shows them, one line
    of help, and the function that does its work, which takes the shell and the text behind the command's
    name."""

    name: str
    arguments: str
    help: str
    action: Action

    @property
    def usage(self) -> str:
        r"""The command as a user types it, with the arguments as the help shows them: ``\dt [PATTERN]``."""
        return f"\\{self.name} {self.arguments}".rstrip()
