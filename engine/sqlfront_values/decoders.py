"""Decoders of msgspec types, made by one thread at a time.

msgspec fills in what it knows of a Struct type when a decoder first needs it, and lets other threads
see it half filled: two that meet there end the process with a segmentation fault. So whatever decodes
Structs has its decoder from here, and nothing calls ``msgspec.msgpack.decode(..., type=...)`` where there are
threads.
"""

import threading
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

_making: Final = threading.RLock()


class Decode(Protocol):
    """From msgpack to an object of the decoder's type."""

    def __call__(self, data: bytes | bytearray | memoryview, /) -> object: ...


def make_decoder(kind: object, hook: Callable[[type, object], object] | None = None) -> Decode:
    """The function that decodes msgpack to ``kind``; ``hook``: see ``msgspec.msgpack.Decoder``.

    >>> make_decoder(list[int])(msgspec.msgpack.encode([1, 2]))
    [1, 2]
    """
    with _making:
        return msgspec.msgpack.Decoder(kind, dec_hook=hook).decode
