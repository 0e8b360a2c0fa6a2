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
