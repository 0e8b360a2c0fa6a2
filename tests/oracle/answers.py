"""What a database answers to a query, and when two answers are the same.

The rule is the project's: same column names, same types, same multiset of rows; the same order only where the
query fixes it; float aggregates to 1e-9 relative, everything else exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

RELATIVE_TOLERANCE = 1e-9
#: Conditions that Spark hasn't named yet: where one of these is expected, any error is the same.
NAMELESS = "_LEGACY_ERROR_TEMP_"
_SHOWN_ROWS = 8

Row = tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A result column: its name and its type as Spark's DDL writes it in lower case (`decimal(10,2)`)."""

    name: str
    type: str


@dataclass(frozen=True)
class Answer:
    """Columns and rows; each value as text (see `values`)."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Failure:
    """An error: Spark's condition (`DIVIDE_BY_ZERO`) and SQLSTATE (`22012`), None where there is none.

    The message is for people; it isn't compared and isn't stored.
    """

    condition: str | None
    sqlstate: str | None
    message: str = field(default="", compare=False)


Outcome = Answer | Failure


def difference(
    expected: Outcome, got: Outcome, *, ordered: bool = False, approximate: bool = False
) -> str | None:
    """What differs, in words; None if the answers are the same.

    `ordered`: the rows' order counts. `approximate`: floats and doubles need to agree to 1e-9 relative only.

    >>> one, two = Answer((Column("a", "int"),), (("1",),)), Answer((Column("a", "int"),), (("2",),))
    >>> difference(one, one)
    >>> print(difference(one, two))
    rows differ (1 expected, 1 got)
      missing: 1
      unexpected: 2
    """
    match expected, got:
        case Failure(), Failure():
            if expected == got or (expected.condition or "").startswith(NAMELESS):
                return None
            return f"error differs\n  expected: {_shown(expected)}\n  got: {_shown(got)}"
        case Answer(), Answer():
            return _columns_difference(expected, got) or _rows_difference(
                expected, got, ordered=ordered, approximate=approximate
            )
        case _:
            return f"outcome differs\n  expected: {_shown(expected)}\n  got: {_shown(got)}"


def _shown(outcome: Outcome) -> str:
    match outcome:
        case Failure():
            message = outcome.message.strip().splitlines()
            return f"error {outcome.condition} {outcome.sqlstate}" + (f" ({message[0]})" if message else "")
        case Answer():
            rows = [" | ".join(row) for row in outcome.rows[:_SHOWN_ROWS]]
            return f"{len(outcome.rows)} rows: " + "; ".join(rows)


def _columns_difference(expected: Answer, got: Answer) -> str | None:
    if expected.columns == got.columns:
        return None
    lines = ["columns differ"]
    for ordinal in range(max(len(expected.columns), len(got.columns))):
        wanted, seen = (answer.columns[ordinal : ordinal + 1] for answer in (expected, got))
        if wanted != seen:
            lines.append(f"  column {ordinal}: expected {_column_text(wanted)}, got {_column_text(seen)}")
    return "\n".join(lines)


def _column_text(column: tuple[Column, ...]) -> str:
    return f"{column[0].name!r} {column[0].type}" if column else "none"


def _rows_difference(expected: Answer, got: Answer, *, ordered: bool, approximate: bool) -> str | None:
    floats = _float_ordinals(expected) if approximate else frozenset()
    if not floats and (expected.rows == got.rows if ordered else Counter(expected.rows) == Counter(got.rows)):
        return None
    if floats and _close(expected.rows, got.rows, floats, ordered=ordered):
        return None
    missing, unexpected = (
        Counter(expected.rows) - Counter(got.rows),
        Counter(got.rows) - Counter(expected.rows),
    )
    lines = [f"rows differ ({len(expected.rows)} expected, {len(got.rows)} got)"]
    if not missing and not unexpected:
        lines[0] = "order of rows differs"
        missing, unexpected = Counter(expected.rows), Counter(got.rows)
    for word, rows in (("missing", missing), ("unexpected", unexpected)):
        lines += [f"  {word}: {' | '.join(row)}" for row in list(rows.elements())[:_SHOWN_ROWS]]
    return "\n".join(lines)


def _float_ordinals(answer: Answer) -> frozenset[int]:
    return frozenset(i for i, column in enumerate(answer.columns) if column.type in ("float", "double"))


def _close(expected: tuple[Row, ...], got: tuple[Row, ...], floats: frozenset[int], *, ordered: bool) -> bool:
    """Rows agree pairwise; unordered ones are first lined up by their exact columns, then by their floats."""

    def place(row: Row) -> tuple[list[str], list[tuple[str, float]]]:
        exact = [value for i, value in enumerate(row) if i not in floats]
        return exact, [_float_place(row[i]) for i in sorted(floats)]

    if len(expected) != len(got):
        return False
    if not ordered:
        expected, got = tuple(sorted(expected, key=place)), tuple(sorted(got, key=place))
    return all(
        _close_floats(left, right) if ordinal in floats else left == right
        for wanted, seen in zip(expected, got, strict=True)
        for ordinal, (left, right) in enumerate(zip(wanted, seen, strict=True))
    )


def _float_place(value: str) -> tuple[str, float]:
    return (value, 0.0) if value in ("NULL", "NaN") else ("", float(value))


def _close_floats(left: str, right: str) -> bool:
    if left == right:
        return True
    if "NULL" in (left, right) or "NaN" in (left, right):
        return False
    return math.isclose(float(left), float(right), rel_tol=RELATIVE_TOLERANCE)
