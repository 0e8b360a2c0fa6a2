"""Functions that cut, join and fill arrays: slice, flatten, reverse, array_append, array_repeat and
others."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Integers, Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.lists import Lists, both_valid, inner, put_together, take_apart
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, large_unless, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.room import claim
from sqlfront_values.types import INT, STRING, is_string

_STRINGS: Final = pa.list_(STRING)
#: Elements of an array in Spark at most (``ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH``).
MAX_SIZE: Final = 2**31 - 16
#: Bytes to make an element of a longer array: its row, places and sources beside it.
_PER_INSERTED: Final = 64


def zero_index() -> DatabaseError:
    """Build Spark's error INVALID_INDEX_OF_ZERO, of functions that count elements from 1."""
    return spark_error(
        "INVALID_INDEX_OF_ZERO",
        "The index 0 is invalid. An index shall be either < 0 or > 0 (the first element has index 1).",
    )


def integers_of(datum: Datum, length: int) -> tuple[Integers, Mask | None]:
    """Return the values of an integer argument, for each of ``length`` rows, as int64 (undefined under
    nulls), and the mask of rows that are not null (None = all rows)."""
    column = full_array(datum, length)
    return numpy_view(column).astype(np.int64), valid_mask(column)


def within(lists: Lists, valid: Mask | None) -> Lists:
    """Return the lists, but empty where the mask ``valid`` is false; unchanged if ``valid`` is None."""
    if valid is None:
        return lists
    return Lists(lists.elements, lists.starts, np.where(valid, lists.lengths, 0), valid)


def end_to_end(columns: list[Lists], data_type: pa.DataType, valid: Mask | None) -> pa.Array:
    """Return a list column of ``data_type`` in which each row has the elements of its lists in all
    ``columns``, one list after the other; null where ``valid`` is false."""
    columns = [within(lists, valid) for lists in columns]
    order = np.argsort(np.concatenate([lists.rows() for lists in columns]), kind="stable")
    elements = gather(concat_columns([lists.flat() for lists in columns]), row_indices(order))
    lengths = np.sum([lists.lengths for lists in columns], axis=0)
    return put_together(data_type, elements, lengths, valid)


def concat_arrays(arguments: tuple[Datum, ...], invocation: Invocation) -> pa.Array:
    """Compute ``concat`` of arrays: the elements of each row's arrays, one array after the other; null if one
    of the arrays is null."""
    columns = [take_apart(full_array(argument, invocation.length)) for argument in arguments]
    valid = None
    for lists in columns:
        valid = both_valid(valid, lists.valid)
    return end_to_end(columns, invocation.type, valid)


def _singles(datum: Datum, length: int) -> Lists:
    """Return a list column with one list per row, whose only element is the row's value (possibly null)."""
    return Lists(inner(full_array(datum, length)), np.arange(length), np.ones(length, np.int64), None)


@columnar
def _array_append(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists = take_apart(full_array(arguments[0], invocation.length))
    return end_to_end([lists, _singles(arguments[1], invocation.length)], invocation.type, lists.valid)


@columnar
def _array_prepend(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists = take_apart(full_array(arguments[0], invocation.length))
    return end_to_end([_singles(arguments[1], invocation.length), lists], invocation.type, lists.valid)


@columnar
def _array_insert(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``array_insert``: insert a value into each array at a position, from 1 or, counted from the
    end, from -1. Nulls fill the gap to a position beyond the array's ends. Raises INVALID_INDEX_OF_ZERO, and
    COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION for a too long result."""
    length = invocation.length
    lists = take_apart(full_array(arguments[0], length))
    position, known = integers_of(arguments[1], length)
    valid = both_valid(lists.valid, known)
    wanted = position if valid is None else np.where(valid, position, 1)
    if (wanted == 0).any():
        raise zero_index()
    sizes = np.where(
        wanted > 0, np.maximum(lists.lengths + 1, wanted), np.maximum(lists.lengths + 1, -wanted)
    )
    if len(sizes) and int(sizes.max()) > MAX_SIZE:
        raise spark_error(
            "COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION",
            f"Can't create array with {int(sizes.max())} elements which exceeding the array size limit"
            f" {MAX_SIZE}, unsuccessful try to create arrays in the function `array_insert`.",
        )
    claim("array_insert", int(sizes.sum()) * _PER_INSERTED, length)
    places = np.where(wanted > 0, wanted - 1, sizes + wanted)
    if valid is not None:
        sizes = np.where(valid, sizes, 0)
    return _inserted(lists, arguments[2], places, sizes, invocation, valid)


def _inserted(
    lists: Lists,
    value: Datum,
    places: Integers,
    sizes: Integers,
    invocation: Invocation,
    valid: Mask | None,
) -> pa.Array:
    """Build the results of :func:`_array_insert`: ``sizes`` has the length of each resulting array,
    ``places`` the index (from 0) of the inserted value. The old elements come before and after it; nulls fill
    the gap to a place outside of the old elements."""
    length = invocation.length
    rows = np.repeat(np.arange(length), sizes)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = places[rows]
    # The gap before the old elements if the position is far to the left.
    gap = np.where(places == 0, np.maximum(sizes - 1 - lists.lengths, 0), 0)[rows]
    old = offsets - (offsets > place) - gap
    new = offsets == place
    filled = new | ((old >= 0) & (old < lists.lengths[rows]))
    sources = concat_columns([lists.elements, inner(full_array(value, length))])
    picks = np.where(new, len(lists.elements) + rows, lists.starts[rows] + old)
    elements = gather(sources, row_indices(np.where(filled, picks, 0), filled))
    return put_together(invocation.type, elements, sizes, valid)


def _repeat_size(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``array_repeat`` makes. Raises COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER if an
    array gets too long."""
    count = growth.counts(arguments[1])
    if growth.largest(count) > MAX_SIZE:
        raise spark_error(
            "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER",
            f"Can't create array with {int(growth.largest(count))} elements which exceeding the array size"
            f" limit {MAX_SIZE}, the value of parameter(s) `count` in the function `array_repeat` is"
            " invalid.",
        )
    return growth.filled(arguments[0], count, rows)


@columnar
def _array_repeat(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    length = invocation.length
    values = inner(full_array(arguments[0], length))
    count, valid = integers_of(arguments[1], length)
    count = np.maximum(count, 0)
    if valid is not None:
        count = np.where(valid, count, 0)
    elements = gather(values, row_indices(np.repeat(np.arange(length), count)))
    return put_together(invocation.type, elements, count, valid)


@columnar
def _flatten(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``flatten``: join the inner arrays of each array of arrays; null if one of the inner arrays is
    null."""
    lists = take_apart(arguments[0])
    inside = take_apart(lists.flat())
    valid = lists.valid
    if inside.valid is not None:
        complete = np.ones(len(lists.lengths), np.bool_)
        complete[lists.rows()[~inside.valid]] = False
        valid = both_valid(valid, complete)
        inside = within(inside, complete[lists.rows()])
    bounds = np.zeros(len(inside.lengths) + 1, np.int64)
    np.cumsum(inside.lengths, out=bounds[1:])
    firsts = lists.firsts()
    return put_together(
        invocation.type, inside.flat(), bounds[firsts + lists.lengths] - bounds[firsts], valid
    )


@columnar
def _arrays_zip(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``arrays_zip``: for each row, the array of structs of the elements at the same index in the
    row's arrays. Nulls fill up the shorter arrays; the result is null if one of the arrays is null."""
    length, kind = invocation.length, invocation.type
    columns = [take_apart(full_array(argument, length)) for argument in arguments]
    valid: Mask | None = None
    for lists in columns:
        valid = both_valid(valid, lists.valid)
    sizes = np.max([np.zeros(length, np.int64), *(within(lists, valid).lengths for lists in columns)], axis=0)
    rows = np.repeat(np.arange(length), sizes)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    children = []
    for lists in columns:
        inside = offsets < lists.lengths[rows]
        places = np.where(inside, lists.starts[rows] + offsets, 0)
        children.append(gather(lists.elements, row_indices(places, inside)))
    structs = pa.Array.from_buffers(kind.value_type, len(rows), [None], children=children)
    return put_together(kind, structs, sizes, valid)


@columnar
def _slice(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``slice(array, start, length)``: the ``length`` elements from position ``start`` on, from 1 or,
    counted from the end, from -1; empty if the start is outside of the array. Raises INVALID_PARAMETER_VALUE
    for a start of zero or a negative length."""
    length = invocation.length
    lists = take_apart(full_array(arguments[0], length))
    (start, start_known), (count, count_known) = (integers_of(datum, length) for datum in arguments[1:])
    valid = both_valid(lists.valid, both_valid(start_known, count_known))
    if valid is not None:
        start, count = np.where(valid, start, 1), np.where(valid, count, 0)
    if (start == 0).any():
        raise _refused("start", "a positive or a negative value for `start`", 0)
    if (count < 0).any():
        raise _refused("length", "`length` greater than or equal to 0", int(count[count < 0][0]))
    first = np.where(start > 0, start - 1, lists.lengths + start)
    inside = (first >= 0) & (first < lists.lengths)
    lengths = np.where(inside, np.minimum(count, lists.lengths - first), 0)
    cut = Lists(lists.elements, lists.starts + np.where(inside, first, 0), lengths, valid)
    return put_together(invocation.type, cut.flat(), lengths, valid)


def _refused(name: str, expected: str, given: int) -> DatabaseError:
    return spark_error(
        f"INVALID_PARAMETER_VALUE.{name.upper()}",
        f"The value of parameter(s) `{name}` in `slice` is invalid: Expects {expected}, but got {given}.",
    )


@columnar
def _reverse(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    if is_string(column.type):
        return pc.call_function("utf8_reverse", [column])
    if pa.types.is_binary(column.type):
        return pc.call_function("binary_reverse", [column])
    lists = take_apart(column)
    ends = np.repeat(lists.starts + lists.lengths - 1 + lists.firsts(), lists.lengths)
    elements = gather(lists.elements, row_indices(ends - np.arange(len(ends))))
    return put_together(invocation.type, elements, lists.lengths, lists.valid)


@columnar
def _array_join(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``array_join``: join the elements of each array by the second argument, the delimiter; nulls
    are left out, or replaced by the third argument."""
    length = invocation.length
    column, separator, *filler = (full_array(argument, length) for argument in arguments)
    lists = take_apart(column)
    elements, lengths, valid = lists.flat(), lists.lengths, lists.valid
    present = valid_mask(elements)
    if filler:
        valid = both_valid(valid, valid_mask(filler[0]))
    if present is not None and filler:
        fillers = gather(filler[0], row_indices(lists.rows()))
        elements = pc.call_function("coalesce", [elements, fillers])
    elif present is not None:
        lengths = np.bincount(lists.rows()[present], minlength=length)
        elements = gather(elements, row_indices(np.flatnonzero(present)))
    texts = pc.call_function("binary_join", [put_together(_STRINGS, elements, lengths), separator])
    return texts if valid is None else gather(texts, row_indices(np.arange(length), valid))


def _same(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _inner_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0].value_type


def _zipped(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(pa.struct([(str(place), kind.value_type) for place, kind in enumerate(types)]))


def _zipped_size(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the bytes that ``arrays_zip`` makes at most: all arrays become as long as the longest array."""
    return (len(arguments) + 2) * growth.of_arguments(arguments, rows)


def _array_of(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return pa.list_(types[0])


_WITH_VALUE: Final = (Kind.COMMON_ARRAY, Kind.COMMON)


register(
    ScalarFunction(
        "array_append",
        _WITH_VALUE,
        _same,
        _array_append,
        null_propagating=False,
        elementwise_values=False,
        example=("array_append(array(1, 2), 3)", "[1, 2, 3]"),
    ),
    ScalarFunction(
        "array_prepend",
        _WITH_VALUE,
        _same,
        _array_prepend,
        null_propagating=False,
        elementwise_values=False,
        example=("array_prepend(array(1, 2), 3)", "[3, 1, 2]"),
    ),
    ScalarFunction(
        "array_insert",
        (Kind.COMMON_ARRAY, INT, Kind.COMMON),
        _same,
        _array_insert,
        null_propagating=False,
        elementwise_values=False,
        can_fail=True,
        exact=(1, 2),
        example=("array_insert(array(1, 2), -2, 9)", "[1, 9, 2]"),
    ),
    ScalarFunction(
        "array_repeat",
        (Kind.ANY, INT),
        _array_of,
        _array_repeat,
        can_fail=True,
        growth=_repeat_size,
        null_propagating=False,
        elementwise_values=False,
        example=("array_repeat('a', 2)", "['a', 'a']"),
    ),
    ScalarFunction(
        "flatten",
        (Kind.ARRAY,),
        _inner_type,
        _flatten,
        null_propagating=False,
        example=("flatten(array(array(1, 2), array(3)))", "[1, 2, 3]"),
    ),
    ScalarFunction(
        "arrays_zip",
        (Kind.ARRAY,),
        _zipped,
        _arrays_zip,
        growth=_zipped_size,
        optional=1,
        variadic=True,
        example=("arrays_zip(array(1), array('a'))", "[{'0': 1, '1': 'a'}]"),
    ),
    ScalarFunction(
        "slice",
        (Kind.ARRAY, INT, INT),
        _same,
        _slice,
        can_fail=True,
        example=("slice(array(1, 2, 3, 4), -2, 2)", "[3, 4]"),
    ),
    ScalarFunction(
        "reverse", (Kind.STRING_OR_ARRAY,), _same, _reverse, example=("reverse(array(1, 2))", "[2, 1]")
    ),
    ScalarFunction(
        "array_join",
        (_STRINGS, STRING, STRING),
        STRING,
        _array_join,
        optional=1,
        can_fail=large_unless(1),
        growth=growth.joined,
        elementwise_values=False,
        exact=(1, 2),
        example=("array_join(array('a', NULL, 'b'), ',', 'x')", "'a,x,b'"),
    ),
)
