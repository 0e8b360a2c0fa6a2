"""Bits and digits: bitwise operators and shifts, bit counts, and numbers written in other bases."""

import binascii
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import bitmap, from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array, is_scalar, nulls
from sqlfront_values.errors import spark_error
from sqlfront_values.evaluation_errors import arithmetic_overflow
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import bytes_view
from sqlfront_values.types import BIGINT, BINARY, INT, STRING, TINYINT, VOID

Integers = npt.NDArray[np.generic]
Kernel = Callable[[tuple[Datum, ...], Invocation], Datum]

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MAX_UNSIGNED: Final = 2**64 - 1
#: The two digits of each byte, as a 16-bit number in memory order.
_BYTE_DIGITS: Final = np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), np.uint16)


def _arrow(name: str) -> Kernel:
    kernel = pc.get_function(name)
    return lambda arguments, invocation: kernel.call(arguments)


def _shift(function: Callable[[Integers, Integers], Integers], *, unsigned: bool = False) -> Kernel:
    """Make the kernel of a bit shift. ``function`` shifts integers by distances, unsigned integers if
    ``unsigned``. A distance counts modulo the type's width, as in Java."""

    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        constant = all(map(is_scalar, arguments))
        length = 1 if constant else invocation.length
        value, distance = (full_array(argument, length) for argument in arguments)
        masks = [mask for array in (value, distance) if (mask := valid_mask(array)) is not None]
        numbers = numpy_view(value)
        if unsigned:
            numbers = numbers.view(f"u{numbers.itemsize}")
        distances = (numpy_view(distance).astype(np.int64) & (value.type.bit_width - 1)).astype(numbers.dtype)
        shifted = function(numbers, distances).view(f"i{numbers.itemsize}")
        result = from_numpy(shifted, invocation.type, np.logical_and.reduce(masks) if masks else None)
        return result[0] if constant else result

    return kernel


def _each(function: Callable[..., object], result: pa.DataType) -> Kernel:
    """Make a kernel that calls a Python function with the values of each row and returns a column of type
    ``result``; a row with a null gives null without a call."""

    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        if all(map(is_scalar, arguments)):
            row = [argument.as_py() for argument in arguments]
            return scalar(None if None in row else function(*row), result)
        columns = [full_array(argument, invocation.length).to_pylist() for argument in arguments]
        values = [None if None in row else function(*row) for row in zip(*columns, strict=True)]
        return from_values(values, result)

    return kernel


def _bit_count(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``bit_count``: the number of ones among the bits of each value as a long; a boolean has one or
    none."""
    datum = arguments[0]
    if invocation.argument_types[0] == VOID:
        return nulls(INT)
    if is_scalar(datum):
        return _bit_count((pa.repeat(datum, 1),), invocation)[0]
    words = numpy_view(datum).astype(np.int64).view(np.uint64)
    return from_numpy(np.bitwise_count(words).astype(np.int32), INT, valid_mask(datum))


def _get_bit(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    width = arguments[0].type.bit_width

    def bit(value: int, position: int) -> int:
        if not 0 <= position < width:
            raise spark_error(
                "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
                "The value of parameter(s) `pos` in `getbit` is invalid: expects an integer value in"
                f" [0, {width}), but got {position}.",
            )
        return value >> position & 1

    return _each(bit, TINYINT)(arguments, invocation)


def _hex(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``hex``: the hexadecimal digits of a number as a long (two's complement), of a string or binary
    byte by byte."""
    datum = arguments[0]
    if pa.types.is_integer(datum.type):
        return _each(lambda value: f"{value & _MAX_UNSIGNED:X}", STRING)(arguments, invocation)
    if is_scalar(datum):
        return _hex_digits(pa.repeat(datum, 1))[0]
    return _hex_digits(datum)


def _hex_digits(column: pa.Array) -> pa.Array:
    """Return two hexadecimal digits for each byte of each value of a string or binary column."""
    offsets, data = bytes_view(column)
    first, last = int(offsets[0]), int(offsets[-1])
    digits = _BYTE_DIGITS[data[first:last]]
    places = (offsets.astype(np.int64) - first) * 2
    buffers = [bitmap(valid_mask(column)), pa.py_buffer(places.astype(np.int32)), pa.py_buffer(digits)]
    return pa.Array.from_buffers(STRING, len(column), buffers)


def unhex(text: str) -> bytes | None:
    """Return the bytes of hexadecimal digits, padded with a zero in front if their number is odd; None if the
    text has other characters.

    >>> unhex("537061726B"), unhex("F"), unhex("GG")
    (b'Spark', b'\\x0f', None)
    """
    try:
        return binascii.unhexlify(text if len(text) % 2 == 0 else f"0{text}")
    except ValueError:
        return None


def convert_base(text: str, source: int, target: int, *, saturates: bool = False) -> str | None:
    """Compute Spark's ``conv``: convert a number's text from base ``source`` to base ``target`` (2 to 36
    each).

    Only the digits up to the first invalid character count. The result is an unsigned 64-bit number, or
    signed if ``target`` is negative. Returns None for an empty text or another base. A number beyond 64 bits
    raises ARITHMETIC_OVERFLOW, or counts as the greatest number if ``saturates``.

    >>> convert_base("100", 2, 10), convert_base("-10", 16, -10), convert_base("-1", 10, 16)
    ('4', '-16', 'FFFFFFFFFFFFFFFF')
    """
    text = text.strip(" ")
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36) or not text:
        return None
    negative = text.startswith("-")
    value = 0
    for character in text[negative:]:
        digit = _DIGITS.find(character.upper())
        if not 0 <= digit < source:
            break
        value = value * source + digit
        if value > _MAX_UNSIGNED:
            if saturates:
                return _in_base(_MAX_UNSIGNED, negative, target)
            raise arithmetic_overflow(what="Overflow in function conv()")
    return _in_base(value, negative, target)


def _in_base(value: int, negative: bool, target: int) -> str:
    if negative and target > 0:
        # A number beyond a signed long becomes the largest unsigned long, as in Hive.
        value = _MAX_UNSIGNED if value >= 2**63 else -value & _MAX_UNSIGNED
    if target < 0 and value >= 2**63:
        value, negative = 2**64 - value, True
    text = _digits(value, abs(target))
    return f"-{text}" if negative and target < 0 else text


def _digits(value: int, base: int) -> str:
    digits = []
    while True:
        value, digit = divmod(value, base)
        digits.append(_DIGITS[digit])
        if value == 0:
            return "".join(reversed(digits))


def _first(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _bitwise(name: str, kernel: str, symbol: str, value: str) -> ScalarFunction:
    return ScalarFunction(
        name,
        (Kind.COMMON, Kind.COMMON),
        _first,
        _arrow(kernel),
        example=(f"6 {symbol} 3", value),
    )


register(
    _bitwise("bit_and_op", "bit_wise_and", "&", "2"),
    _bitwise("bit_or_op", "bit_wise_or", "|", "7"),
    _bitwise("bit_xor_op", "bit_wise_xor", "^", "5"),
    ScalarFunction("bit_not", (Kind.INTEGRAL,), _first, _arrow("bit_wise_not"), example=("~5", "-6")),
    ScalarFunction(
        "shiftleft",
        (Kind.INT_OR_BIGINT, INT),
        _first,
        _shift(np.left_shift),
        example=("shiftleft(2, 1)", "4"),
    ),
    ScalarFunction(
        "shiftright",
        (Kind.INT_OR_BIGINT, INT),
        _first,
        _shift(np.right_shift),
        example=("shiftright(-8, 1)", "-4"),
    ),
    ScalarFunction(
        "shiftrightunsigned",
        (Kind.INT_OR_BIGINT, INT),
        _first,
        _shift(np.right_shift, unsigned=True),
        example=("shiftrightunsigned(-8, 1)", "2147483644"),
    ),
    ScalarFunction("bit_count", (Kind.INTEGRAL_OR_BOOLEAN,), INT, _bit_count, example=("bit_count(7)", "3")),
    *(
        ScalarFunction(
            name,
            (Kind.INTEGRAL, INT),
            TINYINT,
            _get_bit,
            can_fail=True,
            exact=(0,),
            example=(f"{name}(11, 1)", "1"),
        )
        for name in ("getbit", "bit_get")
    ),
    ScalarFunction(
        "hex",
        (Kind.BIGINT_OR_BYTES,),
        STRING,
        _hex,
        growth=growth.times(3),
        example=("hex('Spark')", "'537061726B'"),
    ),
    ScalarFunction(
        "unhex", (STRING,), BINARY, _each(unhex, BINARY), example=("unhex('537061726B')", "b'Spark'")
    ),
    ScalarFunction(
        "bin",
        (BIGINT,),
        STRING,
        _each(lambda value: f"{value & _MAX_UNSIGNED:b}", STRING),
        growth=growth.at_most(64),
        example=("bin(13)", "'1101'"),
    ),
    ScalarFunction(
        "conv",
        (STRING, INT, INT),
        STRING,
        _each(convert_base, STRING),
        can_fail=True,
        growth=growth.at_most(65),
        example=("conv('100', 2, 10)", "'4'"),
    ),
    ScalarFunction(
        "saturating conv",  # with ANSI mode off
        (STRING, INT, INT),
        STRING,
        _each(partial(convert_base, saturates=True), STRING),
        growth=growth.at_most(65),
    ),
)
