"""Protection of what a forked child inherits: threads, connections and files that the parent still uses.

The child has none of its parent's threads, so the child must not wait for work of a thread. A finalizer that
removes files or writes to a connection must not run when the child's copy of the object is garbage.
"""

import os
import weakref
from collections.abc import Callable


def when_forgotten(
    held: object, call: Callable[..., object], *arguments: object
) -> "weakref.finalize[..., object]":
    """Return a :func:`weakref.finalize` that calls ``call(*arguments)`` when ``held`` is garbage. The call
    is made in this process only: in a forked child, the garbage copy of ``held`` makes no call."""
    return weakref.finalize(held, _call_in, os.getpid(), call, *arguments)


def _call_in(process: int, call: Callable[..., object], *arguments: object) -> None:
    if os.getpid() == process:
        call(*arguments)


def inherited(what: str) -> str:
    """Return the error message for the use, in a forked child, of an object that the parent process opened.
    ``what``: the object as a noun phrase, which begins the sentence."""
    return f"{what} belongs to the process that forked this one"
