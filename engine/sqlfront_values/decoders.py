"""Decoders of msgspec types, made by one thread at a time.

msgspec completes its description of a Struct type when a decoder first needs the type, and lets other threads
see the description half filled: two threads that meet there end the process with a segmentation fault. So
code that decodes Structs takes its decoder from this module, and no code calls ``msgspec.msgpack.decode(...,
type=...)`` where there are threads.
"""

import threading
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

_making: Final = threading.RLock()


class Decode(Protocol):
    """Decode msgpack to an object of the decoder's type."""

    def __call__(self, data: bytes | bytearray | memoryview, /) -> object: ...


def make_decoder(kind: object, hook: Callable[[type, object], object] | None = None) -> Decode:
    """Return the function that decodes msgpack to ``kind``; ``hook``: see ``msgspec.msgpack.Decoder``.

    >>> make_decoder(list[int])(msgspec.msgpack.encode([1, 2]))
    [1, 2]
    """
    with _making:
        return msgspec.msgpack.Decoder(kind, dec_hook=hook).decode
