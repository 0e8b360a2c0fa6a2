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
    """A context manager: pause the garbage collector inside the block, if it is on. For imports, whose many
    objects stay anyhow: repeated collections took a sixth of sqlfront's start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def uncollected_if_long(text: str) -> AbstractContextManager[None]:
    """A context manager for the block in which ``text`` becomes a plan: pauses the garbage collector if the
    text is long (collections took a third of the time), else does nothing."""
    return uncollected() if len(text) > _LONG else _AS_USUAL


def keep_all() -> None:
    """Count all existing objects as old without a collection: the next collection would scan all objects of
    the import, a fifteenth of sqlfront's start. Does nothing if the program has frozen objects, since
    unfreezing would affect them, too."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
