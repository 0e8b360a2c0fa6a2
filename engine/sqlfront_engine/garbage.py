"""When not to look for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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


def keep_all() -> None:
    """Count what exists now as old, without a look: the next look for garbage would go through all that the
    import has made, which took a fifteenth of sqlfront's start. Where a program has frozen objects, nothing
    changes: they could not be told from others afterwards."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
