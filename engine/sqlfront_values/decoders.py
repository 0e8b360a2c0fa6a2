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
    """A function that decodes msgpack to an object of the type that the decoder was made for. Raises
    ``msgspec.DecodeError`` if the bytes are not an object of the type."""

    def __call__(self, data: bytes | bytearray | memoryview, /) -> object: ...


def make_decoder(kind: object, hook: Callable[[type, object], object] | None = None) -> Decode:
    """Return a function that decodes msgpack to an object of the type ``kind``. ``hook(type, object)``
    converts decoded objects to types that msgspec doesn't know (``dec_hook`` of ``msgspec.msgpack.Decoder``);
    None if ``kind`` has no such types.

    >>> make_decoder(list[int])(msgspec.msgpack.encode([1, 2]))
    [1, 2]
    """
    with _making:
        return msgspec.msgpack.Decoder(kind, dec_hook=hook).decode
