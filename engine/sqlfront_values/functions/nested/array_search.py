"""Functions that search, order and compare arrays: array_contains, array_distinct, sort_array, array_union
and others.

Elements are compared as grouping compares rows: as integers (:mod:`~sqlfront_values.columns.encoding`), all
rows at once.
"""

from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Integers, Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.encoding import Codes, canonical, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.columns.lists import Lists, both_valid, inner, outer, put_together, take_apart
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.types import BIGINT, BOOLEAN

# ---- one value among the elements


class ElementMatches(msgspec.Struct, frozen=True):
    """The comparison of the elements of each array with one value per row. ``elements`` has the elements of
    ``lists`` row after row; ``equal`` marks the elements equal to their row's value. ``known`` marks the rows
    where neither the array nor the value is null (None = all rows)."""

    lists: Lists
    elements: pa.Array
    equal: Mask
    known: Mask | None


def _matches(arguments: tuple[Datum, ...], length: int) -> ElementMatches:
    lists = take_apart(full_array(arguments[0], length))
    wanted = inner(full_array(arguments[1], length))
    elements = lists.flat()
    codes = encode(concat_columns([elements, wanted])).values
    equal = codes[: len(elements)] == codes[len(elements) :][lists.rows()]
    return ElementMatches(lists, elements, equal, both_valid(lists.valid, valid_mask(wanted)))


@columnar
def _array_contains(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``array_contains``: whether each array holds the row's value; null if no element equals the
    value but an element is null."""
    found = _matches(arguments, invocation.length)
    rows = found.lists.rows()
    result, unknown = np.zeros((2, invocation.length), np.bool_)
    result[rows[found.equal]] = True
    present = valid_mask(found.elements)
    if present is not None:
        unknown[rows[~present]] = True
    return from_numpy(result, BOOLEAN, both_valid(found.known, result | ~unknown))


@columnar
def _array_position(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``array_position``: the position, from 1, of the first element of each array that equals the
    row's value; 0 if no element does."""
    found = _matches(arguments, invocation.length)
    places = np.flatnonzero(found.equal)[::-1]
    rows = found.lists.rows()[places]
    result = np.zeros(invocation.length, np.int64)
    # The first place of a row is written last.
    result[rows] = places - found.lists.firsts()[rows] + 1
    return from_numpy(result, BIGINT, found.known)


@columnar
def _array_remove(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    found = _matches(arguments, invocation.length)
    kept = ~found.equal
    if found.known is not None:
        kept &= found.known[found.lists.rows()]
    return _kept(found.lists, found.elements, np.flatnonzero(kept), invocation, found.known)


@columnar
def _array_compact(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists = take_apart(arguments[0])
    elements = lists.flat()
    present = valid_mask(elements)
    if present is None:
        return arguments[0]
    return _kept(lists, elements, np.flatnonzero(present), invocation, lists.valid)


def _kept(
    lists: Lists, elements: pa.Array, places: Integers, invocation: Invocation, valid: Mask | None
) -> pa.Array:
    """Build arrays of only some elements, which lie at ``places`` (ascending) in ``elements``, the elements
    of :meth:`Lists.flat`; a row is null where ``valid`` is false."""
    lengths = np.bincount(lists.rows()[places], minlength=len(lists.lengths))
    return put_together(invocation.type, gather(elements, row_indices(places)), lengths, valid)


# ---- arrays as sets


class ListElements(msgspec.Struct, frozen=True):
    """The elements of one or several array columns, seen as sets. ``elements`` has all elements of the first
    column, then those of the second, and so on; ``rows`` has each element's row. Elements of one row have the
    same number in ``ids``, less than ``size``, exactly where they are equal."""

    elements: pa.Array
    rows: Integers
    ids: Integers
    size: int

    def firsts(self, stop: int | None = None) -> Integers:
        """Return the positions in ``elements``, ascending, of the first occurrence of each number of ``ids``;
        only the first ``stop`` elements are searched (None = all)."""
        ids = self.ids[:stop]
        first = np.full(self.size, -1, np.int64)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        return np.sort(first[first >= 0])


def _members(columns: tuple[Lists, ...]) -> ListElements:
    elements = canonical(concat_columns([lists.flat() for lists in columns]))
    rows = np.concatenate([lists.rows() for lists in columns])
    codes = combine([Codes(rows, max(1, len(columns[0].lengths))), encode(elements)], len(rows))
    grouping = group_codes(codes)
    return ListElements(elements, rows, grouping.ids, grouping.size)


def _chosen(members: ListElements, places: Integers, invocation: Invocation, valid: Mask | None) -> pa.Array:
    """Build an array per row of the elements at ``places``, positions in ``members.elements``, in the order
    of ``places`` within each row; null where ``valid`` is false."""
    rows = members.rows[places]
    places = places[np.argsort(rows, kind="stable")]
    lengths = np.bincount(rows, minlength=invocation.length)
    return put_together(invocation.type, gather(members.elements, row_indices(places)), lengths, valid)


@columnar
def _array_distinct(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists = take_apart(arguments[0])
    members = _members((lists,))
    return _chosen(members, members.firsts(), invocation, lists.valid)


def _pair(arguments: tuple[Datum, ...], length: int) -> tuple[Lists, Lists, Mask | None]:
    """Take both arguments' arrays apart. In rows where either array is null, both are made empty. Returns the
    two and the mask of rows in which neither is null (None = all rows)."""
    left, right = (take_apart(full_array(argument, length)) for argument in arguments)
    valid = both_valid(left.valid, right.valid)
    if valid is None:
        return left, right, None
    left, right = (
        Lists(lists.elements, lists.starts, np.where(valid, lists.lengths, 0), valid)
        for lists in (left, right)
    )
    return left, right, valid


@columnar
def _array_union(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    left, right, valid = _pair(arguments, invocation.length)
    members = _members((left, right))
    return _chosen(members, members.firsts(), invocation, valid)


def _by_membership(*, wanted: bool) -> Kernel:
    """Make the kernel of array_intersect (``wanted``) or array_except: the distinct elements of the first
    array that are in the second array, or that are not."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        left, right, valid = _pair(arguments, invocation.length)
        members = _members((left, right))
        count = int(left.lengths.sum())
        second = np.zeros(members.size, np.bool_)
        second[members.ids[count:]] = True
        places = members.firsts(count)
        places = places[second[members.ids[places]] == wanted]
        return _chosen(members, places, invocation, valid)

    return kernel


@columnar
def _arrays_overlap(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``arrays_overlap``: whether both arrays have an element in common that is not null. The result
    is null if there is none, neither array is empty, and one of the arrays holds a null."""
    left, right, valid = _pair(arguments, invocation.length)
    members = _members((left, right))
    count = int(left.lengths.sum())
    second = np.zeros(members.size, np.bool_)
    second[members.ids[count:]] = True
    common = second[members.ids[:count]]
    present = valid_mask(members.elements)
    result, doubtful = np.zeros((2, invocation.length), np.bool_)
    if present is not None:
        common &= present[:count]
        doubtful[members.rows[~present]] = True
        doubtful &= (left.lengths > 0) & (right.lengths > 0)
    result[members.rows[:count][common]] = True
    return from_numpy(result, BOOLEAN, both_valid(valid, result | ~doubtful))


# ---- order


def _order(lists: Lists, elements: pa.Array, order: SortOrder) -> Integers:
    """Return positions in ``elements``, row after row, such that the elements of each row are sorted by
    ``order``."""
    keys = [
        Codes(lists.rows(), max(1, len(lists.lengths))),
        ranks(elements, order),
    ]
    return sorting_order(combine_ranks(keys, len(elements)))


def _sorted(column: pa.Array, invocation: Invocation, order: SortOrder) -> pa.Array:
    lists = take_apart(column)
    elements = lists.flat()
    places = _order(lists, elements, order)
    return put_together(invocation.type, gather(elements, row_indices(places)), lists.lengths, lists.valid)


@columnar
def _sort_array(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``sort_array``: sort each array ascending, or descending if the second argument is false, with
    null as the least element. A null as the second argument makes all results null."""
    column = full_array(arguments[0], invocation.length)
    ascending = arguments[1] if len(arguments) > 1 else None
    if isinstance(ascending, pa.Array):
        ascending = ascending[0]
    if ascending is not None and not ascending.is_valid:
        return pa.nulls(invocation.length, invocation.type)
    upwards = ascending is None or ascending.as_py()
    return _sorted(column, invocation, SortOrder.ASCENDING if upwards else SortOrder.DESCENDING)


@columnar
def _array_sort(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``array_sort`` without a comparator: sort each array ascending, with nulls last."""
    return _sorted(arguments[0], invocation, SortOrder.ASCENDING_NULLS_LAST)


def _extreme(order: SortOrder) -> Kernel:
    """Make the kernel of array_min or array_max: the first element of each array when sorted by ``order``,
    which puts nulls last; null for an array that has only nulls or is empty."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        lists = take_apart(arguments[0])
        elements = lists.flat()
        found = _order(lists, elements, order)
        valid = lists.lengths > 0
        places = np.zeros(len(valid), np.int64)
        places[valid] = found[lists.firsts()[valid]]
        return outer(gather(elements, row_indices(places, valid)))

    return kernel


# ---- entries


def _same(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


def _element(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0].value_type


_WITH_VALUE: Final = (Kind.COMMON_ARRAY, Kind.COMMON)
_TWO: Final = (Kind.COMMON_ARRAY, Kind.COMMON_ARRAY)


register(
    ScalarFunction(
        "array_contains",
        _WITH_VALUE,
        BOOLEAN,
        _array_contains,
        example=("array_contains(array(1, 2), 2)", "True"),
        elementwise_values=False,
        null_propagating=False,
    ),
    ScalarFunction(
        "array_position",
        _WITH_VALUE,
        BIGINT,
        _array_position,
        example=("array_position(array(3, 2, 1), 1)", "3"),
        elementwise_values=False,
    ),
    ScalarFunction(
        "array_remove",
        _WITH_VALUE,
        _same,
        _array_remove,
        example=("array_remove(array(1, 2, NULL, 1), 1)", "[2, None]"),
        elementwise_values=False,
    ),
    ScalarFunction(
        "array_compact",
        (Kind.ARRAY,),
        _same,
        _array_compact,
        example=("array_compact(array(1, NULL))", "[1]"),
    ),
    ScalarFunction(
        "array_distinct",
        (Kind.ARRAY,),
        _same,
        _array_distinct,
        example=("array_distinct(array(1, 2, 1))", "[1, 2]"),
    ),
    ScalarFunction(
        "array_union",
        _TWO,
        _same,
        _array_union,
        example=("array_union(array(1, 2), array(2, 3))", "[1, 2, 3]"),
    ),
    ScalarFunction(
        "array_intersect",
        _TWO,
        _same,
        _by_membership(wanted=True),
        example=("array_intersect(array(1, 2), array(2, 3))", "[2]"),
    ),
    ScalarFunction(
        "array_except",
        _TWO,
        _same,
        _by_membership(wanted=False),
        example=("array_except(array(1, 2), array(2, 3))", "[1]"),
    ),
    ScalarFunction(
        "arrays_overlap",
        _TWO,
        BOOLEAN,
        _arrays_overlap,
        null_propagating=False,
        example=("arrays_overlap(array(1, 2), array(2))", "True"),
    ),
    ScalarFunction(
        "sort_array",
        (Kind.ARRAY, BOOLEAN),
        _same,
        _sort_array,
        optional=1,
        constants=(1,),
        example=("sort_array(array(2, NULL, 1))", "[None, 1, 2]"),
    ),
    ScalarFunction(
        "array_sort",
        (Kind.ARRAY,),
        _same,
        _array_sort,
        example=("array_sort(array(2, NULL, 1))", "[1, 2, None]"),
    ),
    ScalarFunction(
        "array_min",
        (Kind.ARRAY,),
        _element,
        _extreme(SortOrder.ASCENDING_NULLS_LAST),
        null_propagating=False,
        example=("array_min(array(2, NULL, 1))", "1"),
    ),
    ScalarFunction(
        "array_max",
        (Kind.ARRAY,),
        _element,
        _extreme(SortOrder.DESCENDING),
        null_propagating=False,
        example=("array_max(array(2, NULL, 1))", "2"),
    ),
)
