"""The join on equal keys in row programs, over Python tuples."""

from collections.abc import Callable, Sequence
from typing import Final, cast

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.row_programs.program import (
    MOST_ROWS,
    Evaluate,
    NotByRows,
    ProgramRun,
    Row,
    RowStep,
)
from sqlfront_engine.row_programs.row_makers import grouped, picker
from sqlfront_values.columns.tuples import pairs_function

#: A function from rows, and the partners of each row, to a row for each pair.
_MakePairs = Callable[[Sequence[Row], Sequence[Sequence[Row]]], Sequence[Row]]
#: The kinds of joins that row programs know.
KINDS_BY_ROWS: Final = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})


def joined_rows(
    kind: JoinKind,
    left: RowStep,
    right: RowStep,
    keys: Sequence[tuple[int, int]],
    null_safe: Sequence[bool],
    condition: Evaluate | None,
    output: Sequence[int],
) -> RowStep:
    """Return a step of a row program that joins left rows with the right rows of equal ``keys`` (pairs of a
    left and a right ordinal). ``kind`` is one of :data:`KINDS_BY_ROWS`.

    A key with a null matches nothing, unless ``null_safe`` is true at the null's position (empty = false for
    all keys). ``condition`` (None = true) is over the left row followed by the right row; ``output`` are the
    ordinals of this row to return. If more than :data:`MOST_ROWS` pairs have equal keys, the step raises
    NotByRows, so that the query runs as a job instead.
    """
    left_key, right_key = picker([mine for mine, _ in keys]), picker([other for _, other in keys])
    strict = [place for place in range(len(keys)) if not (null_safe and null_safe[place])]
    width, nothing = len(left.types), ((None,) * len(right.types),)
    columns = [f"row[{place}]" if place < width else f"other[{place - width}]" for place in output]
    make = cast(_MakePairs, pairs_function(columns))

    def matches(run: ProgramRun, rows: Sequence[Row]) -> list[Sequence[Row]]:
        """Return for each of the left ``rows`` the list of right rows with an equal key."""
        table = grouped(right.rows(run), right_key)
        for key in [key for key in table if None in key and any(key[place] is None for place in strict)]:
            del table[key]
        found: list[Sequence[Row]] = [table.get(left_key(row), ()) for row in rows]
        if sum(map(len, found)) > MOST_ROWS:
            raise NotByRows
        if condition is None:
            return found
        constants = run.constants
        return [
            [other for other in others if condition(row + other, constants)]
            for row, others in zip(rows, found, strict=True)
        ]

    def joined(run: ProgramRun) -> Sequence[Row]:
        rows = left.rows(run)
        if not rows:
            return []
        found = matches(run, rows)
        if kind is JoinKind.LEFT:
            found = [others or nothing for others in found]
        elif kind is not JoinKind.INNER:
            wanted = kind is JoinKind.SEMI
            rows = [row for row, others in zip(rows, found, strict=True) if bool(others) is wanted]
            found = [nothing] * len(rows)
        return make(rows, found)

    types = (*left.types, *right.types)
    return RowStep(joined, tuple([types[place] for place in output]))
