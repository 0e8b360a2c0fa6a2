"""Exit codes of the command ``sqlfront``."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the command ``sqlfront``."""

    OK = 0
    """Every statement succeeded."""
    STATEMENT = 1
    """A statement failed."""
    USAGE = 2
    """The arguments are wrong, or a file of statements can't be read."""
    CONNECT = 3
    """The session could not be started."""
    TIMEOUT = 4
    """A statement exceeded --timeout."""
    OUTPUT = 6
    """The output can't be written: no such folder, no right to write, no room, or nothing to write."""
    INTERRUPTED = 130
    """Interrupted by Ctrl-C."""
    TERMINATED = 143
    """Ended by SIGTERM or SIGHUP while --output was written."""
