"""The state of a running shell, which statements and commands share."""

from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from sqlfront.configuration import ShellOptions
from sqlfront.session import Session
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.visible import visible
from sqlfront.shell.variables import Variable
from sqlfront_engine.closing import ClosingContext
from sqlfront_values.errors import OperationalError


class Expanded(Enum):
    """Whether rows are shown vertically, one line for each value."""

    OFF = "off"
    """As a table."""
    ON = "on"
    """Vertically."""
    AUTO = "auto"
    """Vertically if a table would not fit the terminal."""


class Shell(ClosingContext):
    """The state of a shell: the session, the screen, and what the user has set by commands. Closing the shell
    closes the output file."""

    def __init__(self, session: Session, screen: Screen, options: ShellOptions, format_name: str) -> None:
        """``options``: the shell's options in the user's ``sqlfront.toml``. ``format_name``: the output
        format at the start."""
        self.session, self.screen, self.options = session, screen, options
        #: The name of the output format.
        self.format = format_name
        #: The text of a null.
        self.null = "NULL" if options.null is None else visible(options.null)
        #: Whether rows are shown vertically.
        self.expanded = Expanded.OFF
        #: Whether the footer has the time.
        self.timing = True
        #: The variables by name.
        self.variables: dict[str, Variable] = {}
        #: The last statement that was run; empty before the first.
        self.last = ""
        #: The text with which the next prompt begins, as an editor left it.
        self.draft = ""
        #: The scripts that are being run, outermost first.
        self.scripts: tuple[Path, ...] = ()
        #: Whether the user has asked to leave.
        self.left = False
        self._output: BinaryIO | None = None

    @property
    def members(self) -> int:
        """The number of members of the session's cluster, without lite members; 0 without a cluster."""
        cluster = self.session.cluster
        return 0 if cluster is None else sum(not member.lite for member in cluster.member_list.members)

    @property
    def output(self) -> BinaryIO | None:
        """The file that gets the results; None = the screen."""
        return self._output

    def send_to(self, path: Path | None) -> None:
        """Send later results to the file at ``path``, which is created or emptied; None = to the screen.
        Closes the earlier output file. Raises OperationalError if either file can't be written."""
        file: BinaryIO | None = None
        if path is not None:
            try:
                file = path.open("wb")
            except OSError as error:
                raise OperationalError(f"can't write {path}: {error.strerror}") from error
        output, self._output = self._output, file
        if output is not None:
            try:
                output.close()
            except OSError as error:
                raise OperationalError(f"can't write {output.name}: {error.strerror}") from error

    def close(self) -> None:
        with suppress(OperationalError):
            self.send_to(None)
