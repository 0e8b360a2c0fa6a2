"""When not to look for garbage."""

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

#: A text of more characters may make many objects that all stay until its plan is made.
_LONG: Final = 100_000
_AS_USUAL: Final = nullcontext()


@contextmanager
def uncollected() -> Iterator[None]:
    """The garbage collector rests, if it is on: for imports, whose many objects stay anyhow. Looking through
    them again and again took a sixth of sqlfront's start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def uncollected_if_long(text: str) -> AbstractContextManager[None]:
    """The same while a long text becomes a plan, which looks for garbage took a third of; for others
    nothing."""
    return uncollected() if len(text) > _LONG else _AS_USUAL


def keep_all() -> None:
    """Count what exists now as old, without a look: the next look for garbage would go through all that the
    import has made, which took a fifteenth of sqlfront's start. Where a program has frozen objects, nothing
    changes: they could not be told from others afterwards."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
