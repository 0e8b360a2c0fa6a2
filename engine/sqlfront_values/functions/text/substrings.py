"""Parts of strings: length, substring, left, right and other functions. Positions count characters (code
points) from 1."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, bytes_view, columnar, is_ascii, nulls
from sqlfront_values.types import INT, STRING

#: Spark's default of the length argument.
_TO_END: Final = 2**31 - 1


@columnar
def _length(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    if pa.types.is_binary(column.type) or is_ascii(column):
        return pc.call_function("binary_length", [column])
    return pc.call_function("utf8_length", [column])


@columnar
def _octet_length(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return pc.call_function("binary_length", [arguments[0]])


@columnar
def _bit_length(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    offsets, _ = bytes_view(column)
    return from_numpy(np.diff(offsets) * np.int32(8), INT, valid_mask(column))


def bounds(length: int, position: int, count: int) -> tuple[int, int]:
    """Return the half-open range of indices (from 0) that ``substring(text, position, count)`` takes of a
    text of ``length`` characters.

    Position 0 means 1, a negative position counts from the end; positions before the text count but add no
    characters.

    >>> bounds(5, -10, 7), bounds(5, 0, 2), bounds(5, 2, -1)
    ((0, 2), (0, 2), (1, 1))
    """
    start = position - 1 if position > 0 else length + position if position < 0 else 0
    stop = min(start + count, length) if count > 0 else start
    start = min(max(start, 0), length)
    return start, max(stop, start)


@columnar
def _substring(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, position = arguments[:2]
    count = arguments[2] if len(arguments) > 2 else None
    if not isinstance(column, pa.Array) or isinstance(position, pa.Array) or isinstance(count, pa.Array):
        return _substring_by_row(arguments, invocation)
    if not position.is_valid or (count is not None and not count.is_valid):
        return nulls(invocation)
    return slice_column(column, position.as_py(), _TO_END if count is None else count.as_py())


def _substring_by_row(arguments: tuple[Datum, ...], invocation: Invocation) -> pa.Array:
    def cut(value: str | bytes, position: int, count: int = _TO_END) -> str | bytes:
        start, stop = bounds(len(value), position, count)
        return value[start:stop]

    return by_row(cut, arguments, invocation)


def slice_column(column: pa.Array, position: int, count: int) -> pa.Array:
    """Compute ``substring(column, position, count)`` for each value of a string or binary column;
    ``position`` counts from 1, or from the end if negative.

    Arrow's slices treat positions before the text like Python's slices, which agrees with Spark.
    """
    if count <= 0:
        return _cut(column, 0, 0)
    if position >= 0:
        start = max(position - 1, 0)
        return _cut(column, start, min(start + count, _TO_END))
    stop = position + count
    return _cut(column, position, None if stop >= 0 else stop)


def _cut(column: pa.Array, start: int, stop: int | None) -> pa.Array:
    if pa.types.is_binary(column.type):
        return pc.call_function("binary_slice", [column], pc.SliceOptions(start, stop))
    if is_ascii(column):
        return pc.call_function(
            "binary_slice", [column.view(pa.binary())], pc.SliceOptions(start, stop)
        ).view(STRING)
    return pc.call_function("utf8_slice_codeunits", [column], pc.SliceOptions(start, stop))


@columnar
def _left(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, count = arguments
    if isinstance(column, pa.Array) and isinstance(count, pa.Scalar):
        return slice_column(column, 1, count.as_py()) if count.is_valid else nulls(invocation)
    return by_row(lambda value, length: value[: max(length, 0)], arguments, invocation)


@columnar
def _right(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, count = arguments
    if isinstance(column, pa.Array) and isinstance(count, pa.Scalar):
        if not count.is_valid:
            return nulls(invocation)
        length = count.as_py()
        return slice_column(column, -length, length) if length > 0 else _cut(column, 0, 0)
    return by_row(lambda value, length: value[-length:] if length > 0 else value[:0], arguments, invocation)


def _same(argument_types: tuple[pa.DataType, ...]) -> pa.DataType:
    return argument_types[0]


_PART: Final = (Kind.STRING_OR_BINARY, INT, INT)

register(
    *(
        ScalarFunction(name, (Kind.STRING_OR_BINARY,), INT, _length, example=(f"{name}('naïve 😀')", "7"))
        for name in ("length", "len", "char_length", "character_length")
    ),
    ScalarFunction(
        "octet_length", (Kind.STRING_OR_BINARY,), INT, _octet_length, example=("octet_length('naïve')", "6")
    ),
    ScalarFunction(
        "bit_length", (Kind.STRING_OR_BINARY,), INT, _bit_length, example=("bit_length('abc')", "24")
    ),
    *(
        ScalarFunction(
            name, _PART, _same, _substring, optional=1, example=(f"{name}('Spark SQL', -3, 2)", "'SQ'")
        )
        for name in ("substring", "substr")
    ),
    ScalarFunction("left", (Kind.STRING_OR_BINARY, INT), _same, _left, example=("left('Spark', 3)", "'Spa'")),
    ScalarFunction("right", (STRING, INT), STRING, _right, example=("right('Spark', 3)", "'ark'")),
)
