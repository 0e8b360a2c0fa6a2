"""``python -m sqlfront`` and the ``sqlfront`` command."""

from typing import NoReturn

from sqlfront.shell.exit_codes import ExitCode
from sqlfront.shell.leaving import end_at_interrupt, leave
from sqlfront.shell.main import main as run


def main() -> NoReturn:
    """Run the command, and end the process with the command's exit code."""
    try:
        code = run()
        end_at_interrupt()
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    leave(code)


if __name__ == "__main__":
    main()
