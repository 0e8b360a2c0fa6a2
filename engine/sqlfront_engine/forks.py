"""Protection of a forked process's inheritance: threads, connections and files that the parent uses.

The child has none of its parent's threads, so the child must not wait for work of a thread. A finalizer that
removes files or writes to a connection must not run when the child's copy of the object is forgotten.
"""

import os
import weakref
from collections.abc import Callable


def when_forgotten(
    held: object, call: Callable[..., object], *arguments: object
) -> "weakref.finalize[..., object]":
    """Return a :func:`weakref.finalize` that calls ``call(*arguments)`` when ``held`` is garbage, in this
    process only: a forked child's copy makes no call."""
    return weakref.finalize(held, _call_in, os.getpid(), call, *arguments)


def _call_in(process: int, call: Callable[..., object], *arguments: object) -> None:
    if os.getpid() == process:
        call(*arguments)


def inherited(what: str) -> str:
    """The error message for use of an object opened by the parent process; ``what`` begins the sentence."""
    return f"{what} belongs to the process that forked this one"
