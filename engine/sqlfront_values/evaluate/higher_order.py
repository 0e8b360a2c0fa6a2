"""Functions that take lambdas: ``transform``, ``filter``, ``aggregate`` and their like.

A lambda's body is evaluated once, over the elements of all arrays (or the entries of all maps) of a batch;
``aggregate`` evaluates the body once for each position in the arrays, over the arrays that are long enough.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Integers, Mask, concat_columns, gather, row_indices
from sqlfront_values.columns.encoding import Codes, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.columns.lists import Lists, both_valid, entries, put_together, take_apart
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.evaluate.comparator_sort import sorted_places
from sqlfront_values.evaluate.fallible import can_fail, is_deterministic
from sqlfront_values.evaluate.lambda_bodies import Body, Capture, Captured, bodies_of, captures_of
from sqlfront_values.evaluate.rows import Evaluator, Rows
from sqlfront_values.expressions import Expr, HigherOrder, Literal
from sqlfront_values.functions.nested.array_shapes import within
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, make_map
from sqlfront_values.functions.registry import kernel_type
from sqlfront_values.types import BOOLEAN, INT, physical

Compile: TypeAlias = Callable[[Expr], Evaluator]


class Run(msgspec.Struct, frozen=True, eq=False):
    """One evaluation of a call: the ``rows``, the evaluators of the arguments, each with whether its
    evaluation can fail, the bodies, the captured values, and the ``type`` of the result in the
    form of :func:`kernel_type`."""

    rows: Rows
    arguments: tuple[tuple[Evaluator, bool], ...]
    bodies: tuple[Body, ...]
    captures: tuple[Capture, ...]
    type: pa.DataType

    def argument(self, place: int, valid: Mask | None = None) -> pa.Array:
        """Return the values of an argument for all rows. If the evaluation can fail, the argument is
        evaluated only where ``valid`` (None = everywhere) is true, and null elsewhere."""
        evaluator, fails = self.arguments[place]
        length = self.rows.length
        if valid is None or not fails or valid.all():
            return full_array(evaluator(self.rows), length)
        wanted = np.flatnonzero(valid)
        values = full_array(evaluator(self.rows.select(row_indices(wanted))), len(wanted))
        if not len(wanted):
            return pa.nulls(length, values.type)
        places = np.zeros(length, np.int64)
        places[wanted] = np.arange(len(wanted))
        return gather(values, row_indices(places, valid))

    def captured(self, needed: Mask) -> Captured:
        """Return the captured values, for bodies that are evaluated for the rows where ``needed`` is true."""
        return Captured(self.rows, self.captures, np.flatnonzero(needed))


def compiled(call: HigherOrder, node: Compile, body: Compile) -> Evaluator:
    """Compile a call to an evaluator. ``node`` compiles expressions over the rows of the call, ``body``
    compiles expressions over the rows of a lambda."""
    function, data_type = _FUNCTIONS[call.function], kernel_type(call.type)
    arguments = tuple([(node(argument), can_fail(argument)) for argument in call.arguments])
    captures = captures_of(call, node)
    bodies = tuple(bodies_of(call, body))
    is_single = all(isinstance(value, Literal) for value in call.captured) and is_deterministic(call)
    nothing = physical(call.type)

    def run(rows: Rows) -> Datum:
        if rows.length == 0:
            return pa.nulls(0, nothing)
        given = arguments
        if is_single:  # one value for all rows if the arguments have one each
            known = [evaluator(rows) for evaluator, fails in arguments if not fails]
            if len(known) == len(arguments) and all(isinstance(value, pa.Scalar) for value in known):
                single = tuple([(_always(value), False) for value in known])
                first = rows.select(row_indices(np.zeros(1, np.int64)))
                return function(Run(first, single, bodies, captures, data_type))[0]
            if len(known) == len(arguments):
                given = tuple([(_always(value), False) for value in known])
        return function(Run(rows, given, bodies, captures, data_type))

    return run


def _always(value: Datum) -> Evaluator:
    return lambda rows: value


# ---- arrays


def _positions(lists: Lists) -> pa.Array:
    """Return for each element, in the order of :meth:`Lists.flat`, its position in the array, from 0."""
    places = np.arange(int(lists.lengths.sum())) - np.repeat(lists.firsts(), lists.lengths)
    return from_numpy(places.astype(np.int32), INT)


def _elements(run: Run, lists: Lists) -> tuple[list[pa.Array], Integers, Captured]:
    """Return the arguments of :meth:`Body.values` for a lambda of an array's element and its position."""
    parameters = [lists.flat()]
    if run.bodies[0].parameters > 1:
        parameters.append(_positions(lists))
    return parameters, lists.rows(), run.captured(lists.lengths > 0)


def _transform(run: Run) -> pa.Array:
    lists = take_apart(run.argument(0))
    elements = run.bodies[0].elements(*_elements(run, lists))
    return put_together(run.type, elements, lists.lengths, lists.valid)


def _filter(run: Run) -> pa.Array:
    lists = take_apart(run.argument(0))
    parameters, rows, captured = _elements(run, lists)
    kept = _true(run.bodies[0].values(parameters, rows, captured))
    return put_together(
        run.type,
        gather(parameters[0], row_indices(np.flatnonzero(kept))),
        _counts(kept, lists),
        lists.valid,
    )


def _true(values: pa.Array) -> Mask:
    """Return a mask, True where the boolean is true, neither false nor null."""
    return _decides(values, decisive=True)


def _counts(mask: Mask, lists: Lists) -> Integers:
    """Return for each array the number of its elements for which the mask is true."""
    sums = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=sums[1:])
    firsts = lists.firsts()
    return sums[firsts + lists.lengths] - sums[firsts]


def _exists(run: Run) -> pa.Array:
    return _quantified(run, decisive=True)


def _forall(run: Run) -> pa.Array:
    return _quantified(run, decisive=False)


def _quantified(run: Run, *, decisive: bool) -> pa.Array:
    """Return ``decisive`` where the lambda is so for an element, else null where the lambda is null for an
    element, else the opposite. Spark evaluates no element behind the first decisive one: if the evaluation of
    all elements fails, the elements are evaluated position by position."""
    lists = take_apart(run.argument(0))
    body = run.bodies[0]
    parameters, rows, captured = _elements(run, lists)
    try:
        values = body.values(parameters, rows, captured)
    except Error as error:
        if isinstance(error, OperationalError):
            raise
        found, unknown = _one_by_one(body, lists, captured, decisive=decisive)
    else:
        valid = valid_mask(values)
        unknown = np.zeros(len(lists.lengths), np.bool_) if valid is None else _counts(~valid, lists) > 0
        found = _counts(_decides(values, decisive=decisive), lists) > 0
    result = found if decisive else ~found
    known = found | ~unknown
    return from_numpy(result, BOOLEAN, both_valid(lists.valid, known))


def _decides(values: pa.Array, *, decisive: bool) -> Mask:
    """Return a mask, True where the boolean is ``decisive``, neither the opposite nor null."""
    mask, valid = np.asarray(numpy_view(values), np.bool_), valid_mask(values)
    mask = mask if decisive else ~mask
    return mask if valid is None else mask & valid


def _one_by_one(body: Body, lists: Lists, captured: Captured, *, decisive: bool) -> tuple[Mask, Mask]:
    """Evaluate the body for the first elements of all arrays, then for the second ones of the arrays that
    aren't decided, and so on. Return masks of the arrays with a decisive element, and with a null."""
    found, unknown = np.zeros(len(lists.lengths), np.bool_), np.zeros(len(lists.lengths), np.bool_)
    position, held = 0, room.held()
    while True:
        rows = np.flatnonzero((lists.lengths > position) & ~found)
        if not len(rows):
            return found, unknown
        room.check()
        element = gather(lists.elements, row_indices(lists.starts[rows] + position))
        positions = from_numpy(np.full(len(rows), position, np.int32), INT)
        values = body.values([element, positions], rows, captured)
        found[rows] = _decides(values, decisive=decisive)
        valid = valid_mask(values)
        if valid is not None:
            unknown[rows] |= ~valid
        room.give_back(held)
        position += 1


def _zip_with(run: Run) -> pa.Array:
    left = take_apart(run.argument(0))
    right = take_apart(run.argument(1, left.valid))
    valid = both_valid(left.valid, right.valid)
    left, right = within(left, valid), within(right, valid)
    sizes = np.maximum(left.lengths, right.lengths)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    if np.array_equal(left.lengths, right.lengths):
        columns = [left.flat(), right.flat()]
    else:
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = [_extended(lists, rows, offsets) for lists in (left, right)]
    elements = run.bodies[0].elements(columns, rows, run.captured(sizes > 0))
    return put_together(run.type, elements, sizes, valid)


def _extended(lists: Lists, rows: Integers, offsets: Integers) -> pa.Array:
    """Return the elements at the ``offsets`` of the rows' lists; null behind a list's end."""
    inside = offsets < lists.lengths[rows]
    places = np.where(inside, lists.starts[rows] + offsets, 0)
    return gather(lists.elements, row_indices(places, inside))


def _array_sort(run: Run) -> pa.Array:
    lists = take_apart(run.argument(0))
    flat, firsts = lists.flat(), lists.firsts()
    captured = run.captured(lists.lengths > 1)

    def compared(left: Integers, right: Integers, rows: Integers) -> pa.Array:
        sides = [gather(flat, row_indices(places)) for places in (left, right)]
        return run.bodies[0].values(sides, rows, captured)

    places = sorted_places(firsts, lists.lengths, compared)
    return put_together(run.type, gather(flat, row_indices(places)), lists.lengths, lists.valid)


# ---- aggregate


def _aggregate(run: Run) -> pa.Array:
    """Compute ``aggregate``: the arrays are ordered by length, the longest first, so that the arrays that
    have an element at a position are the first ones."""
    lists = take_apart(run.argument(0))
    length = len(lists.lengths)
    present = np.ones(length, np.bool_) if lists.valid is None else lists.valid
    start = run.argument(1, present)
    order = np.argsort(-np.where(present, lists.lengths, -1), kind="stable")[: int(present.sum())]
    captured = run.captured(present)
    value = gather(start, row_indices(order))
    lengths, starts = lists.lengths[order], lists.starts[order]
    longest = int(lengths[0]) if len(order) else 0
    # The number of arrays that are longer than each position.
    active = len(order) - np.searchsorted(lengths[::-1], np.arange(longest), side="right")
    done: list[pa.Array] = []
    held = room.held()
    for position, count in enumerate(active.tolist()):
        room.check()
        if count < len(value):
            done.append(value.slice(count))
            value = value.slice(0, count)
        element = gather(lists.elements, row_indices(starts[:count] + position))
        value = run.bodies[0].values([value, element], order[:count], captured)
        room.give_back(held)  # the earlier values are garbage
    value = concat_columns([value, *reversed(done)])
    if len(run.bodies) > 1:
        value = run.bodies[1].values([value], order, captured)
    if len(order) == length and (np.diff(order) == 1).all():
        return value
    if not len(order):
        return pa.nulls(length, value.type)
    places = np.zeros(length, np.int64)
    places[order] = np.arange(len(order))
    return gather(value, row_indices(places, present))


# ---- maps


def _entries(run: Run, place: int = 0) -> tuple[Lists, pa.Array, pa.Array]:
    """Return the map argument, its keys and its values, entry after entry."""
    maps = take_apart(run.argument(place))
    flat = maps.flat()
    return maps, flat.field(0), flat.field(1)


def _transform_keys(run: Run, *, keeps_last: bool = False) -> pa.Array:
    maps, keys, items = _entries(run)
    changed = run.bodies[0].elements([keys, items], maps.rows(), run.captured(maps.lengths > 0))
    return make_map(run.type, changed, items, maps.lengths, maps.valid, as_given=True, keeps_last=keeps_last)


def _transform_values(run: Run) -> pa.Array:
    maps, keys, items = _entries(run)
    changed = run.bodies[0].elements([keys, items], maps.rows(), run.captured(maps.lengths > 0))
    return put_together(run.type, entries(run.type, keys, changed), maps.lengths, maps.valid)


def _map_filter(run: Run) -> pa.Array:
    maps, keys, items = _entries(run)
    values = run.bodies[0].values([keys, items], maps.rows(), run.captured(maps.lengths > 0))
    kept = _true(values)
    places = row_indices(np.flatnonzero(kept))
    chosen = entries(run.type, gather(keys, places), gather(items, places))
    return put_together(run.type, chosen, _counts(kept, maps), maps.valid)


def _map_zip_with(run: Run) -> pa.Array:
    """Compute ``map_zip_with``: each row has the keys of its first map, then the further keys of its
    second."""
    left = take_apart(run.argument(0))
    right = take_apart(run.argument(1, left.valid))
    valid = both_valid(left.valid, right.valid)
    left, right = within(left, valid), within(right, valid)
    first, second = left.flat(), right.flat()
    keys = concat_columns([first.field(0), second.field(0)])
    rows = np.concatenate([left.rows(), right.rows()])
    groups = group_codes(combine([Codes(rows, max(len(left.lengths), 1)), encode(keys)], len(keys))).ids
    count = len(first)
    size = int(groups.max()) + 1 if len(groups) else 0
    at_left, at_right = np.full(size, -1), np.full(size, -1)
    at_left[groups[:count]] = np.arange(count)
    at_right[groups[count:]] = np.arange(len(second))
    chosen = np.concatenate([np.arange(count), count + np.flatnonzero(at_left[groups[count:]] < 0)])
    chosen = chosen[np.argsort(rows[chosen], kind="stable")]
    rows, groups = rows[chosen], groups[chosen]
    parts = [gather(keys, row_indices(chosen))]
    for entry, places in ((first, at_left[groups]), (second, at_right[groups])):
        parts.append(gather(entry.field(1), row_indices(np.maximum(places, 0), places >= 0)))
    lengths = np.bincount(rows, minlength=len(left.lengths)).astype(np.int64)
    changed = run.bodies[0].elements(parts, rows, run.captured(lengths > 0))
    return put_together(run.type, entries(run.type, parts[0], changed), lengths, valid)


_FUNCTIONS: Final[dict[str, Callable[[Run], pa.Array]]] = {
    "transform": _transform,
    "filter": _filter,
    "exists": _exists,
    "forall": _forall,
    "aggregate": _aggregate,
    "zip_with": _zip_with,
    "array_sort": _array_sort,
    "transform_keys": _transform_keys,
    f"transform_keys {KEEPING_LAST}": partial(_transform_keys, keeps_last=True),
    "transform_values": _transform_values,
    "map_filter": _map_filter,
    "map_zip_with": _map_zip_with,
}
