"""The start of the ``sqlfront`` command.

The package ``sqlfront`` takes a tenth of a second to load, and a Ctrl-C in that time would print where the
loading was. This package stands beside ``sqlfront``, so that it runs first: from its import on Ctrl-C ends
the process with 130, without a word, until the command has a handler of its own.
"""

# The module ``signal`` loads ``enum`` first, which takes milliseconds.
import _signal  # type: ignore[import-not-found]
import os

if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, lambda number, frame: os._exit(128 + number))


def main() -> None:
    """Load and run the command; the command ends the process."""
    from sqlfront.__main__ import main as run  # noqa: PLC0415 - loads everything

    run()
