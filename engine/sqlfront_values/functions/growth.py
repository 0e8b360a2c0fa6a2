"""Bounds of the size of a function's result: bytes, by arithmetic on the lengths of the arguments.

A rule computes from a function's arguments and the number of rows (1 if all arguments are constants) an upper
bound of the bytes that the function makes, working space included, before the function makes any. The caller
of the function claims that much :mod:`~sqlfront_values.room`. For many rows the bound may be far above the
bytes, and the rows are then evaluated in pieces; for a single row it must be close.

Most functions make no more bytes than their arguments have (:func:`of_arguments`); the other functions
declare a rule in their registry entry.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.room import MOST_TEXT, NO_LIMIT, UNCOUNTED
from sqlfront_values.types import is_string_like

Growth: TypeAlias = Callable[[tuple[Datum, ...], int], int]
#: A number per row, or one for all rows. Floats, so that no product overflows.
Numbers: TypeAlias = "npt.NDArray[np.float64] | float"

#: Bytes of a Python text beside its characters, or of a gathered Arrow text.
_PER_VALUE: Final = 16
#: Bytes to make an array's element beside the element: its place in the source, and in the result.
_PER_ELEMENT: Final = 24
_DIGITS: Final = re.compile(r"\d+")
#: The digits of the longest double, with grouping; no other value prints as many.
_LONGEST_NUMBER: Final = 512


def most_bytes(data_type: pa.DataType) -> int:
    """Return the limit of the bytes that one value of the type may take: MOST_TEXT for strings and binaries,
    NO_LIMIT for other types."""
    return MOST_TEXT if is_string_like(data_type) else NO_LIMIT


def is_variable(data_type: pa.DataType) -> bool:
    """Return whether the type's values differ in size: True for strings, binaries and nested types."""
    return is_string_like(data_type) or bool(pa.types.is_nested(data_type))


# ---- measures of arguments


def size_of(datum: Datum) -> int:
    """Return the number of bytes of a column, or of a scalar (0 for null). A slice of a column counts with
    its entire buffers as long as these have at most :data:`UNCOUNTED` bytes, else with its own rows only."""
    if isinstance(datum, pa.Array):
        size: int = datum.get_total_buffer_size()  # of the whole buffers: quick, and often small enough
        return size if size <= UNCOUNTED else datum.nbytes
    if not datum.is_valid:
        return 0
    data_type = datum.type
    if is_string_like(data_type):
        return len(datum.as_buffer())
    return _PER_VALUE if not pa.types.is_nested(data_type) else pa.repeat(datum, 1).nbytes


def spread(datum: Datum, rows: int) -> int:
    """Return the number of bytes of a column, or of a scalar repeated for ``rows`` rows."""
    return size_of(datum) if isinstance(datum, pa.Array) else size_of(datum) * rows


def lengths(datum: Datum) -> Numbers:
    """Return the length of each string or binary in bytes, 0 for null; one number for a scalar."""
    if not isinstance(datum, pa.Array):
        return float(size_of(datum))
    return _numbers(pc.call_function("binary_length", [datum]))


def counts(datum: Datum) -> Numbers:
    """Return the values of a numeric column or scalar as floats, 0 for nulls and negative values."""
    if isinstance(datum, pa.Array):
        return np.maximum(_numbers(datum), 0.0)
    return max(float(datum.as_py()), 0.0) if datum.is_valid else 0.0


def _numbers(column: pa.Array) -> npt.NDArray[np.float64]:
    values = numpy_view(column).astype(np.float64)
    valid = valid_mask(column)
    if valid is not None:
        values[~valid] = 0.0
    return values


def total(numbers: Numbers, rows: int) -> int:
    """Return the sum of ``numbers``; a single number counts ``rows`` times."""
    return int(numbers.sum()) if isinstance(numbers, np.ndarray) else int(numbers * rows)


def largest(numbers: Numbers) -> float:
    """Return the largest of the numbers, or the number itself if there is one for all rows; 0 for an empty
    array."""
    return float(numbers.max(initial=0.0)) if isinstance(numbers, np.ndarray) else numbers


def elements(datum: Datum) -> Numbers:
    """Return the number of elements of each array value, 0 for null; one number for a scalar."""
    if isinstance(datum, pa.Array):
        return _numbers(pc.call_function("list_value_length", [datum]))
    return float(len(datum)) if datum.is_valid else 0.0


def sizes(column: pa.Array) -> npt.NDArray[np.float64]:
    """Return the approximate number of bytes of each value of the column; a value of a dictionary array
    counts as in a plain one.

    The bytes of a column of texts are distributed by the lengths, of arrays and maps by the numbers of
    elements, of other types evenly; a struct has the bytes of all its fields together."""
    data_type = column.type
    if pa.types.is_dictionary(data_type):
        known = np.append(sizes(column.dictionary), 0.0)
        valid = valid_mask(column)
        places = numpy_view(column.indices)
        return known[places if valid is None else np.where(valid, places, -1)]
    if pa.types.is_struct(data_type):
        fields = (sizes(column.field(number)) for number in range(data_type.num_fields))
        return sum(fields, start=np.zeros(len(column)))
    size = float(size_of(column))
    if is_string_like(data_type):
        numbers = lengths(column)
        assert isinstance(numbers, np.ndarray)
    elif pa.types.is_nested(data_type):
        numbers = np.diff(numpy_view(column.offsets)).astype(np.float64)
    else:
        return np.full(len(column), size / max(len(column), 1))
    return numbers * (size / max(numbers.sum(), 1.0))


def _each(datum: Datum, rows: int) -> Numbers:
    """Return an upper bound of the bytes of each value of ``datum``: of a text its length, of a nested value
    the bytes of the entire column or scalar, of any other value a fixed number."""
    data_type = datum.type
    if is_string_like(data_type):
        return lengths(datum)
    return float(size_of(datum)) if pa.types.is_nested(data_type) else float(_PER_VALUE)


# ---- rules


def of_arguments(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that most functions make at most: the bytes of all arguments together, constants
    repeated for all rows."""
    size = 0
    for argument in arguments:
        size += spread(argument, rows)
    return size


def times(factor: int) -> Growth:
    """Return a rule (:data:`Growth`, a function that bounds the bytes which a SQL function makes) for
    functions that make at most ``factor`` times the bytes of their arguments."""
    return lambda arguments, rows: factor * of_arguments(arguments, rows)


def at_most(size: int) -> Growth:
    """Return a rule (:data:`Growth`, a function that bounds the bytes which a SQL function makes) for
    functions that make at most ``size`` bytes per row, whatever the arguments."""
    return lambda arguments, rows: size * rows


def counted(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes of the result of a function whose only argument is the number of bytes, such as
    ``space``."""
    return total(counts(arguments[0]), rows)


def padded(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``lpad`` or ``rpad`` makes at most: the bytes of the first argument, and as many
    characters as the second argument says. A character counts as one byte, but as four if the third argument,
    the padding, is not an ASCII constant."""
    widest = 1.0
    if len(arguments) > 2 and not _is_ascii(arguments[2]):
        widest = 4.0
    return total(counts(arguments[1]) * widest, rows) + spread(arguments[0], rows)


def _is_ascii(datum: Datum) -> bool:
    if isinstance(datum, pa.Array):
        return False
    return not datum.is_valid or max(datum.as_buffer(), default=0) < 128


def replaced(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``replace`` makes at most: the bytes of the first argument with every occurrence
    of the second argument replaced by the third. For several rows the occurrences are bounded by the texts'
    lengths; in a single text they are counted."""
    text, search, *replacement = arguments
    if not replacement:
        return spread(text, rows)
    old, new = lengths(search), lengths(replacement[0])
    fits = lengths(text) // np.maximum(old, 1.0)
    size = total(lengths(text) + fits * np.maximum(new - old, 0.0) * np.minimum(old, 1.0), rows)
    if rows > 1 or size <= UNCOUNTED:
        return size
    known = [argument[0] if isinstance(argument, pa.Array) else argument for argument in arguments]
    if not all(scalar.is_valid for scalar in known) or not len(known[1].as_buffer()):
        return spread(text, rows)
    found = pc.call_function("count_substring", [known[0]], pc.MatchSubstringOptions(known[1].as_py()))
    return size_of(text) + found.as_py() * max(size_of(known[2]) - size_of(known[1]), 0)


def joined(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``array_join`` makes at most: the bytes of the first argument, and for each
    element the bytes of the second argument, the delimiter, and of the third argument, which replaces
    nulls."""
    fillers = sum((lengths(argument) for argument in arguments[1:]), start=0.0)
    return spread(arguments[0], rows) + total(elements(arguments[0]) * fillers, rows)


def separated(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``concat_ws`` makes at most: the bytes of all arguments after the first, the
    separator, and the bytes of a separator for each value and each element of an array."""
    between = lengths(arguments[0])
    size = 0
    for argument in arguments[1:]:
        parts = elements(argument) if pa.types.is_list(argument.type) else 1.0
        size += spread(argument, rows) + total(parts * between, rows)
    return size


def filled(datum: Datum, numbers: Numbers, rows: int) -> int:
    """Return the bytes of arrays that repeat the value of ``datum``, each as many times as ``numbers`` says
    for the row."""
    return total(numbers * (_each(datum, rows) + _PER_ELEMENT), rows)


def formatted(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``format_string`` makes at most: the bytes of the format, the bytes of the
    arguments as often as the format may mention them, and the sum of the numbers in the format, any of which
    may be a width or a precision."""
    form = arguments[0]
    if isinstance(form, pa.Array):
        texts = [value for value in form.to_pylist() if value is not None]
        return sum(_formatted(text, arguments[1:], rows) for text in set(texts)) * rows if texts else 0
    return _formatted(form.as_py(), arguments[1:], rows) if form.is_valid else 0


def _formatted(text: str, values: tuple[Datum, ...], rows: int) -> int:
    numbers = sum(int(digits[:18]) for digits in _DIGITS.findall(text))
    mentions = text.count("%")
    largest = max((spread(value, rows) for value in values), default=0)
    return (len(text) + numbers + mentions * _LONGEST_NUMBER) * rows + mentions * largest


def by_pattern(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes of a date or time written by a pattern, the last of the arguments: at most 12 for each
    letter of the pattern, the length of a month's name."""
    return 12 * spread(arguments[-1], rows) + 32 * rows
