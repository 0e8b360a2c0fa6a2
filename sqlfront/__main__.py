"""``python -m sqlfront`` and the ``sqlfront`` command."""

from typing import NoReturn

from sqlfront.shell.leaving import leave
from sqlfront.shell.main import main as run


def main() -> NoReturn:
    """Run the command, and end the process with the command's exit code."""
    leave(run())


if __name__ == "__main__":
    main()
