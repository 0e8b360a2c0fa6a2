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
    """Pause the garbage collector, if it is on. For imports, whose many objects stay anyhow: repeated
    collections took a sixth of sqlfront's start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def uncollected_if_long(text: str) -> AbstractContextManager[None]:
    """Pause the garbage collector while a long text becomes a plan (collections took a third of that time);
    do nothing for other texts."""
    return uncollected() if len(text) > _LONG else _AS_USUAL


def keep_all() -> None:
    """Count all existing objects as old without a collection: the next collection would scan all objects of
    the import, a fifteenth of sqlfront's start. Does nothing if the program has frozen objects, since
    unfreezing would affect them, too."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
