"""Evaluation of the bodies of lambdas: over the elements of all arrays of a batch at once."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.arrow.forms import full_array
from sqlfront_values.columns.batches import Integers, concat_columns, gather, row_indices
from sqlfront_values.columns.lists import inner, outer, take_apart
from sqlfront_values.evaluate.fallible import can_fail
from sqlfront_values.evaluate.rows import Evaluator, Rows
from sqlfront_values.expressions import Column, Expr, HigherOrder, Lambda, Literal, map_columns, walk
from sqlfront_values.types import physical

#: Elements that a body is evaluated over at once: as many rows as a large batch has.
_ELEMENTS: Final = 64 * 1024
#: Bytes of captured arrays, repeated for the elements, up to which so many elements are evaluated at once.
_CAPTURED_BYTES: Final = 16 * 1024 * 1024


class CaptureTime(Enum):
    """The time at which a captured value is computed. If the plan computes a value below that may fail,
    Spark evaluates the value within the lambda if the lambda reads it once, thus not without elements; if
    the lambda reads it again, Spark evaluates it before the lambda, for all rows."""

    ANY = "any"
    """The evaluation can't fail: the time makes no difference."""
    INSIDE = "inside"
    """Within the lambda, for rows whose array has elements."""
    BEFORE = "before"
    """Before the lambda, for all rows."""


class Capture(msgspec.Struct, frozen=True, eq=False):
    """A captured value of a call: the ``evaluator`` that computes it, and the ``time`` of that. ``is_long``:
    a single value may have many bytes, as an array may."""

    evaluator: Evaluator
    time: CaptureTime
    is_long: bool


def captures_of(call: HigherOrder, compiled: Callable[[Expr], Evaluator]) -> tuple[Capture, ...]:
    """Compile the captured values of the call."""
    return tuple(
        [
            Capture(compiled(value), _time(call, place), pa.types.is_nested(value.type))
            for place, value in enumerate(call.captured)
        ]
    )


def _time(call: HigherOrder, place: int) -> CaptureTime:
    if not can_fail(call.captured[place]):
        return CaptureTime.ANY
    reads = sum(
        isinstance(item, Column) and item.ordinal == function.parameters + place
        for function in call.lambdas
        for item in walk(function.body)
    )
    return CaptureTime.INSIDE if reads < 2 else CaptureTime.BEFORE


class Captured:
    """The values that the lambdas of a call capture, for the rows of one evaluation: ``rows`` are the rows of
    the call, ``captures`` are the call's. ``needed`` are the numbers of the rows for which a body is
    evaluated. A value is computed when a body first reads it, unless its time is before."""

    def __init__(self, rows: Rows, captures: Sequence[Capture], needed: Integers) -> None:
        self._rows = rows
        self._captures = captures
        self._needed = needed
        self._columns: dict[int, pa.Array] = {}
        self._at_once: int | None = None
        for place, capture in enumerate(captures):
            if capture.time is CaptureTime.BEFORE:
                self.column(place)

    def elements_at_once(self) -> int:
        """Return the number of elements that a body is evaluated over at once: fewer if the values that each
        of them gets a copy of are long arrays."""
        if self._at_once is None:
            long = [place for place, capture in enumerate(self._captures) if capture.is_long]
            size = sum(_largest(self.column(place)) for place in long)
            self._at_once = max(1, min(_ELEMENTS, _CAPTURED_BYTES // max(1, size)))
        return self._at_once

    def column(self, place: int) -> pa.Array:
        """Return the captured value number ``place`` for each row of the call, undefined for rows that aren't
        needed."""
        known = self._columns.get(place)
        if known is None:
            known = self._columns[place] = self._computed(self._captures[place])
        return known

    def _computed(self, capture: Capture) -> pa.Array:
        length = self._rows.length
        if capture.time is not CaptureTime.INSIDE or len(self._needed) == length:
            value = capture.evaluator(self._rows)
            return full_array(value, length) if isinstance(value, pa.Scalar) else value
        value = capture.evaluator(self._rows.select(row_indices(self._needed)))
        if isinstance(value, pa.Scalar):
            return full_array(value, length)
        places = np.zeros(length, np.int64)
        places[self._needed] = np.arange(len(self._needed))
        return gather(value, row_indices(places))


def _largest(column: pa.Array) -> int:
    """Return the approximate number of bytes of the largest value of the column, if it has arrays or maps; 0
    for other types."""
    if not (pa.types.is_list(column.type) or pa.types.is_map(column.type)) or not len(column):
        return 0
    lists = take_apart(column)
    return int(lists.lengths.max()) * lists.elements.nbytes // max(1, len(lists.elements))


class Elements(Rows):
    """The rows of a lambda's body. The first columns are the ``parameters``; the other columns are captured
    values, of which the row ``i`` has those of the row ``parents[i]`` of the call."""

    __slots__ = ("_captured", "_gathered", "_parameters", "_parents")

    def __init__(self, parameters: Sequence[pa.Array], parents: Integers, captured: Captured) -> None:
        self.batch = None
        self.length = len(parents)
        self.memo = {}
        self._parameters = parameters
        self._parents = parents
        self._captured = captured
        self._gathered: dict[int, pa.Array] = {}

    def column(self, ordinal: int) -> pa.Array:
        if ordinal < len(self._parameters):
            return self._parameters[ordinal]
        known = self._gathered.get(ordinal)
        if known is None:
            values = self._captured.column(ordinal - len(self._parameters))
            known = self._gathered[ordinal] = gather(values, row_indices(self._parents))
        return known

    def part(self, start: int, length: int) -> Rows:
        return self.select(row_indices(np.arange(start, start + length)))


class Body:
    """The compiled body of a lambda. ``fails``: evaluating the body may raise an error."""

    def __init__(self, function: Lambda, body: Expr, evaluator: Evaluator) -> None:
        self.parameters = function.parameters
        self.type = body.type
        self.fails = can_fail(body)
        self._run = evaluator

    def values(self, parameters: Sequence[pa.Array], parents: Integers, captured: Captured) -> pa.Array:
        """Return the body's values for the given values of the parameters, in the form of a column.
        ``parents`` has for each value the row of the call to which the value belongs. Parameters beyond those
        that the lambda has are left out."""
        taken = [outer(column) for column in parameters[: self.parameters]]
        count = len(parents)
        if count == 0:
            return pa.nulls(0, physical(self.type))
        pieces: list[pa.Array] = []
        step = captured.elements_at_once()
        for start in range(0, count, step):
            room.check()
            length = min(step, count - start)
            columns = [column.slice(start, length) for column in taken]
            rows = Elements(columns, parents[start : start + length], captured)
            piece = full_array(self._run(rows), length)
            room.claim("a lambda", piece.nbytes, length)
            pieces.append(piece)
        return concat_columns(pieces)

    def elements(self, parameters: Sequence[pa.Array], parents: Integers, captured: Captured) -> pa.Array:
        """Return the body's values like :meth:`values`, in the form that they have inside of an array or a
        map."""
        return inner(self.values(parameters, parents, captured))


def bodies_of(call: HigherOrder, compiled: Callable[[Expr], Evaluator]) -> list[Body]:
    """Compile the bodies of the call's lambdas. A captured literal takes the place of the columns that read
    it, so that functions see that it is a constant."""

    def known(function: Lambda) -> Expr:
        def replaced(column: Column) -> Expr:
            if column.ordinal < function.parameters:
                return column
            value = call.captured[column.ordinal - function.parameters]
            return value if isinstance(value, Literal) else column

        return map_columns(function.body, replaced)

    bodies = [known(function) for function in call.lambdas]
    return [Body(function, body, compiled(body)) for function, body in zip(call.lambdas, bodies, strict=True)]
