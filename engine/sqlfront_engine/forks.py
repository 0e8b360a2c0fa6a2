"""What a forked process has inherited and leaves alone: threads, connections and files that its parent uses.

Threads don't come along, so nothing that waits for one may be waited for; and what is removed or told over a
connection when an object is forgotten must not be when the child's copy of it is.
"""

import os
import weakref
from collections.abc import Callable


def when_forgotten(
    held: object, call: Callable[..., object], *arguments: object
) -> "weakref.finalize[..., object]":
    """:func:`weakref.finalize`, but only the process that this was called in makes the call."""
    return weakref.finalize(held, _call_in, os.getpid(), call, *arguments)


def _call_in(process: int, call: Callable[..., object], *arguments: object) -> None:
    if os.getpid() == process:
        call(*arguments)


def inherited(what: str) -> str:
    """The message for who uses what the parent opened; ``what`` begins the sentence."""
    return f"{what} belongs to the process that forked this one"
