"""The bytes of HLL sketches. The library reads whatever the bytes say, beyond their end too: they are checked
before."""

import struct
from typing import Final

from sqlfront_values.errors import NotSupportedError

_FAMILY: Final = 7
_LIST, _SET, _REGISTERS = range(3)
#: The number of 4-byte words before the values, by mode.
_WORDS: Final = (2, 3, 10)
_IS_EMPTY: Final = 4
_IS_COMPACT: Final = 8
_EIGHT_BITS: Final = 2
_LIST_BITS: Final = 3
_LEAST_LG_K: Final = 4
_MOST_LG_K: Final = 21
_MOST_REGISTER: Final = 63


def check_hll(buffer: bytes) -> None:
    """Raise ValueError for bytes that aren't a whole HLL sketch, and NotSupportedError for one with registers
    of 4 or 6 bits, which Spark reads but doesn't make."""
    if len(buffer) < 8:
        raise ValueError("too short")
    words, version, family, lg_k, lg_places, flags, few, mode = buffer[:8]
    kind = mode & 3
    if version != 1 or family != _FAMILY or kind > _REGISTERS or words != _WORDS[kind]:
        raise ValueError("no HLL sketch")
    if not _LEAST_LG_K <= lg_k <= _MOST_LG_K:
        raise ValueError("no such number of registers")
    if (mode >> 2) & 3 != _EIGHT_BITS:
        raise NotSupportedError("HLL sketches with registers of 4 or 6 bits are not supported")
    if flags & _IS_EMPTY and kind == _LIST and few == 0:
        return
    start = 4 * words
    if kind == _REGISTERS:
        registers = buffer[start : start + (1 << lg_k)]
        if len(registers) < 1 << lg_k or max(registers) > _MOST_REGISTER:
            raise ValueError("wrong registers")
        return
    count = few if kind == _LIST else struct.unpack_from("<I", buffer, 8)[0]
    least, most = (_LIST_BITS, _LIST_BITS) if kind == _LIST else (5, lg_k - 3)
    if not least <= lg_places <= most or count > 1 << lg_places:
        raise ValueError("more values than places")
    size = 4 * count if flags & _IS_COMPACT else 4 << lg_places
    if len(buffer) < start + size:
        raise ValueError("too short")
    coupons = struct.unpack_from(f"<{size // 4}I", buffer, start)
    if sum(coupon != 0 for coupon in coupons) != count or len({*coupons} - {0}) != count:
        raise ValueError("wrong values")
