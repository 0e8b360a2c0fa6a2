"""Pauses of the garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

#: Characters: a longer text may make many objects that all live until the plan is made, so that the collector
#: would walk over them in vain.
_LONG: Final = 100_000
_AS_USUAL: Final = nullcontext()


@contextmanager
def uncollected() -> Iterator[None]:
    """Return a context manager that turns the garbage collector off inside the block, if it is on. For
    imports: as all their many objects stay, collections find nothing, and took a sixth of sqlfront's
    start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def uncollected_if_long(text: str) -> AbstractContextManager[None]:
    """Return a context manager for the planning of the statement ``text``: it turns the garbage collector
    off if the text is long (collections took a third of the time), and does nothing for a short text."""
    return uncollected() if len(text) > _LONG else _AS_USUAL


def keep_all() -> None:
    """Move all existing objects to the collector's oldest generation, without a collection, so that the next
    one doesn't scan all imported objects (a fifteenth of sqlfront's start). Does nothing if the program has
    frozen objects (:func:`gc.freeze`), since they would be unfrozen."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
