"""The constants of Spark's binary encoding of variants.

A value begins with a byte whose low two bits are its basic type. The other six bits are the kind of a
primitive value, the length of a short string, or the sizes of the numbers that follow in an object or an
array. All numbers are little-endian.

Source: Spark's ``org.apache.spark.types.variant.VariantUtil``.
"""

from typing import Final

#: Basic types: the low two bits of a value's first byte.
PRIMITIVE: Final = 0
SHORT_STRING: Final = 1
OBJECT: Final = 2
ARRAY: Final = 3

#: Kinds of primitive values: the high six bits of a primitive value's first byte.
NULL: Final = 0
TRUE: Final = 1
FALSE: Final = 2
INT1: Final = 3
INT2: Final = 4
INT4: Final = 5
INT8: Final = 6
DOUBLE: Final = 7
DECIMAL4: Final = 8
DECIMAL8: Final = 9
DECIMAL16: Final = 10
DATE: Final = 11
TIMESTAMP: Final = 12
TIMESTAMP_NTZ: Final = 13
FLOAT: Final = 14
BINARY: Final = 15
LONG_STRING: Final = 16
UUID: Final = 20

#: Bytes of the kinds of primitive values with a fixed size, the first byte included.
SIZES: Final = {
    NULL: 1,
    TRUE: 1,
    FALSE: 1,
    INT1: 2,
    INT2: 3,
    INT4: 5,
    INT8: 9,
    DOUBLE: 9,
    DECIMAL4: 6,
    DECIMAL8: 10,
    DECIMAL16: 18,
    DATE: 5,
    TIMESTAMP: 9,
    TIMESTAMP_NTZ: 9,
    FLOAT: 5,
    UUID: 17,
}
#: Digits of the decimals of each kind at most, also behind the point.
DECIMAL_DIGITS: Final = {DECIMAL4: 9, DECIMAL8: 18, DECIMAL16: 38}
#: Bytes of the longest string whose length is in the first byte.
MAX_SHORT_STRING: Final = 63
#: The version of the encoding: the low four bits of the first byte of the metadata.
VERSION: Final = 1
#: Bytes of the value, and of the metadata, at most.
MAX_SIZE: Final = 128 << 20


def integer_size(number: int) -> int:
    """Return the bytes of the smallest unsigned integer that holds ``number``."""
    return 1 if number <= 0xFF else 2 if number <= 0xFFFF else 3 if number <= 0xFFFFFF else 4


def java_order(name: str) -> bytes:
    """Return the sort key of Java's order of texts, which compares UTF-16 units: the fields of an object are
    in this order."""
    return name.encode("utf-16-be", "surrogatepass")
