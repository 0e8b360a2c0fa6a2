"""The bytes of compact theta sketches. The library reads whatever the bytes say, beyond their end too: they
are checked before."""

from typing import Final

_COMPACT: Final = 3
_PLAIN: Final = 3
_COMPRESSED: Final = 4
_IS_EMPTY: Final = 4
_HASH: Final = 8
_MOST_BITS: Final = 63
_MOST_ENTRIES: Final = 1 << 27


def check_theta(buffer: bytes) -> None:
    """Raise ValueError for bytes that aren't a whole compact sketch, plain or compressed."""
    if len(buffer) < _HASH:
        raise ValueError("too short")
    longs, version, family, bits, count_bytes, flags = buffer[:6]
    longs &= 0x3F
    if family != _COMPACT or version not in (_PLAIN, _COMPRESSED) or not 1 <= longs <= 3:
        raise ValueError("no compact theta sketch")
    if version == _PLAIN:
        if longs == 1:
            count = 0 if flags & _IS_EMPTY else 1
        else:
            count = int.from_bytes(buffer[8:12], "little") if len(buffer) >= 8 * longs else _MOST_ENTRIES
        needed = 8 * (longs + count)
    else:
        start = 8 * longs
        if (
            longs > 2
            or not 1 <= bits <= _MOST_BITS
            or not 1 <= count_bytes <= 4
            or len(buffer) < start + count_bytes
        ):
            raise ValueError("wrong header")
        count = int.from_bytes(buffer[start : start + count_bytes], "little")
        needed = start + count_bytes + (bits * count + 7) // 8
    if count > _MOST_ENTRIES or len(buffer) < needed:
        raise ValueError("too short")
