"""to_base32 and from_base32: bytes in base 32 (RFC 4648), read as leniently as by Apache Commons' Base32."""

import base64
from typing import Final

from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.types import BINARY, STRING

_DIGITS: Final = {digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}
#: The characters that count as digits.
_READ: Final = frozenset(_DIGITS) | frozenset("".join(_DIGITS).lower())
_PADDING: Final = "="
_BITS: Final = 5
#: Digits that encode five bytes.
_GROUP: Final = 8
#: By the number of digits after the last whole group: the bytes that these digits give, and the bits dropped.
_LAST: Final = ((0, 0), (1, 2), (1, 2), (1, 7), (2, 4), (3, 1), (3, 6), (4, 3))


def _encode(data: bytes) -> str:
    return base64.b32encode(data).decode()


def decode_base32(text: str) -> bytes:
    """Decode base 32 up to the first ``=``, in any case; characters that are no digits are skipped. Bits of
    the last digits that make no whole byte are dropped; a single digit gives a byte, too.

    >>> decode_base32("MZXW6YTBOI======"), decode_base32("mz"), decode_base32("M")
    (b'foobar', b'f', b'\\x03')
    """
    digits = "".join(filter(_READ.__contains__, text.partition(_PADDING)[0])).upper()
    whole = len(digits) // _GROUP * _GROUP
    rest = len(digits) - whole
    # A lone last digit gives a byte with bits of the digit before it.
    number = sum(
        _DIGITS[digit] << _BITS * place for place, digit in enumerate(reversed(digits[max(whole - 1, 0) :]))
    )
    count, dropped = _LAST[rest]
    last = number >> dropped & (1 << 8 * count) - 1
    return base64.b32decode(digits[:whole]) + last.to_bytes(count, "big")


register(
    ScalarFunction(
        "to_base32",
        (BINARY,),
        STRING,
        row_kernel(_encode),
        growth=growth.times(8),
        example=("to_base32('foobar')", "'MZXW6YTBOI======'"),
    ),
    ScalarFunction(
        "from_base32",
        (STRING,),
        BINARY,
        row_kernel(decode_base32),
        example=("from_base32('MZXW6YTBOI======')", "b'foobar'"),
    ),
)
