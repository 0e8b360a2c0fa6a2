"""The end of the command's process."""

import atexit
import gc
import os
import signal
import sys
import threading
from typing import NoReturn


def end_at_interrupt() -> None:
    """Make Ctrl-C end the process at once and without a message from now on, unless the process ignores
    Ctrl-C. A command calls this when it has done its work."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))


def leave(code: int) -> NoReturn:
    """End the process with the exit code, without the interpreter's slow end; the session is closed before.

    The interpreter would free every object of every module, one after the other, which takes a tenth of the
    time of a small statement, and would crash now and then if a daemon thread is in the middle of a kernel.
    This function does what remains to be done: it waits for threads that are not daemons, calls the functions
    that modules registered for the exit, and flushes the streams. Under a tracer or profiler, which writes
    its findings last, the interpreter ends as usual.
    """
    if sys.gettrace() is not None or sys.getprofile() is not None:
        gc.freeze()
        sys.exit(code)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # The command has told what failed, or nobody reads what is left.
            continue
    os._exit(code)
