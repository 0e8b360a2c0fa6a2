"""Random queries, as hypothesis strategies: SQL that means the same in Spark's dialect and in DuckDB's.

The two agree on integers that don't overflow, on strings compared by bytes, on three-valued logic, joins,
grouping, set operations, subqueries and windows; the generator keeps to these, so that what differs is an
error of the planner or of an operator. Every output column has an alias; every ORDER BY inside a window says
where nulls go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

Kind = Literal["int", "string"]

_VIEW = "CREATE TEMPORARY VIEW {name} AS SELECT * FROM (VALUES {rows}) AS {name}(k, v, s)"
_ROWS = {
    "a": "(1, 1, 'x'), (1, 2, 'y'), (2, NULL, 'x'), (3, 3, NULL), (NULL, 4, 'z'), (2, 2, 'xy'), (5, 0, '')",
    "b": "(1, 3, 'x'), (2, 2, NULL), (2, NULL, 'y'), (4, 1, 'x'), (NULL, 0, 'z'), (NULL, 3, 'xy')",
    "c": "(2, 5, 'y'), (3, 3, 'x'), (3, 1, 'w'), (1, 2, 'x'), (2, 3, 'y')",
}

#: Tables with duplicates and nulls, and an empty one.
SETUP = (
    *(_VIEW.format(name=name, rows=rows) for name, rows in _ROWS.items()),
    "CREATE TEMPORARY VIEW e AS SELECT * FROM a WHERE k > 9",
)

_TABLES = (*("a", "b", "c") * 4, "e")
_JOINS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN")
_INTEGERS = ("0", "1", "2", "3", "NULL")
_STRINGS = ("'x'", "'y'", "''", "'xy'")


@dataclass(frozen=True)
class Scope:
    """The columns that an expression may use, as they are written, by kind; how deep their query is."""

    ints: tuple[str, ...]
    strings: tuple[str, ...]
    depth: int = 0

    def __add__(self, other: Scope) -> Scope:
        return Scope(self.ints + other.ints, self.strings + other.strings, self.depth)


@dataclass(frozen=True)
class Source:
    """Something after FROM: its text and its columns."""

    text: str
    scope: Scope


def _one_of(draw: DrawFn, *options: str) -> str:
    return draw(st.sampled_from(options))


@st.composite
def integers(draw: DrawFn, scope: Scope, depth: int = 2) -> str:
    """An INT expression; its values stay far from overflow."""
    leaves = [*scope.ints, *scope.ints, *_INTEGERS]
    shape = draw(st.integers(0, 6)) if depth else 0
    match shape:
        case 0 | 1 | 2:
            return f"CAST({leaf} AS INT)" if (leaf := draw(st.sampled_from(leaves))) == "NULL" else leaf
        case 3:
            left, right = draw(integers(scope, depth - 1)), draw(integers(scope, depth - 1))
            return f"({left} {_one_of(draw, '+', '-')} {right})"
        case 4:
            return f"coalesce({draw(integers(scope, depth - 1))}, {draw(integers(scope, depth - 1))})"
        case 5:
            return f"length({draw(strings(scope, depth - 1))})"
        case _:
            condition, left = draw(predicates(scope, depth - 1)), draw(integers(scope, depth - 1))
            return f"CASE WHEN {condition} THEN {left} ELSE {draw(integers(scope, depth - 1))} END"


@st.composite
def strings(draw: DrawFn, scope: Scope, depth: int = 2) -> str:
    """A STRING expression."""
    shape = draw(st.integers(0, 4)) if depth else 0
    match shape:
        case 0 | 1 | 2:
            return draw(st.sampled_from([*scope.strings, *scope.strings, *_STRINGS]))
        case 3:
            return f"coalesce({draw(strings(scope, depth - 1))}, {draw(strings(scope, depth - 1))})"
        case _:
            return f"upper({draw(strings(scope, depth - 1))})"


@st.composite
def predicates(draw: DrawFn, scope: Scope, depth: int = 2) -> str:
    """A BOOLEAN expression without a subquery."""
    shape = draw(st.integers(0, 9)) if depth else draw(st.integers(0, 5))
    below = max(depth - 1, 0)
    match shape:
        case 0 | 1:
            operator = _one_of(
                draw, "=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM"
            )
            return f"({draw(integers(scope, below))} {operator} {draw(integers(scope, below))})"
        case 2:
            operator = _one_of(draw, "=", "<>", "<")
            return f"({draw(strings(scope, below))} {operator} {draw(strings(scope, below))})"
        case 3:
            return f"({draw(integers(scope, below))} {_one_of(draw, 'IS NULL', 'IS NOT NULL')})"
        case 4:
            values = ", ".join(draw(st.lists(st.sampled_from(_INTEGERS), min_size=1, max_size=3)))
            return f"({draw(integers(scope, below))} {_one_of(draw, 'IN', 'NOT IN')} ({values}))"
        case 5:
            low, high = draw(integers(scope, 0)), draw(integers(scope, 0))
            return f"({draw(integers(scope, below))} BETWEEN {low} AND {high})"
        case 6 | 7 | 8:
            left, right = draw(predicates(scope, below)), draw(predicates(scope, below))
            return f"({left} {_one_of(draw, 'AND', 'AND', 'OR')} {right})"
        case _:
            return f"(NOT {draw(predicates(scope, below))})"


@st.composite
def conditions(draw: DrawFn, scope: Scope) -> str:
    """What may stand after WHERE: a predicate, perhaps with a subquery."""
    plain = draw(predicates(scope))
    if draw(st.integers(0, 2)) or not scope.ints:
        return plain
    inner = Source(f"{_one_of(draw, *_TABLES)} AS q{scope.depth}", _columns(f"q{scope.depth}"))
    outer_value, inner_value = draw(st.sampled_from(scope.ints)), draw(st.sampled_from(inner.scope.ints))
    link = f"{draw(st.sampled_from(inner.scope.ints))} = {draw(st.sampled_from(scope.ints))}"
    local = draw(predicates(inner.scope, 1))
    match draw(st.integers(0, 4)):
        case 0:
            test = f"{outer_value} {_one_of(draw, 'IN', 'NOT IN')}"
            subquery = f"{test} (SELECT {inner_value} FROM {inner.text} WHERE {local})"
        case 1:
            test = f"{_one_of(draw, '', 'NOT ')}EXISTS"
            subquery = f"{test} (SELECT 1 FROM {inner.text} WHERE {link} AND {local})"
        case 2:
            test = f"{outer_value} {_one_of(draw, '=', '<', '>=')}"
            subquery = f"{test} (SELECT max({inner_value}) FROM {inner.text} WHERE {link})"
        case 3:
            subquery = f"{outer_value} < (SELECT count(*) FROM {inner.text} WHERE {link})"
        case _:
            subquery = f"{outer_value} >= (SELECT min({inner_value}) FROM {inner.text} WHERE {local})"
    return draw(st.sampled_from([subquery, f"({subquery} AND {plain})", f"({plain} OR {subquery})"]))


def _columns(alias: str, depth: int = 0) -> Scope:
    return Scope((f"{alias}.k", f"{alias}.v"), (f"{alias}.s",), depth)


@st.composite
def sources(draw: DrawFn, depth: int, joins: int = 2) -> Source:
    """A table, a derived table, or a join of up to `joins` + 1 of them."""
    source = draw(_leaves("t0", depth))
    for ordinal in range(draw(st.integers(0, joins))):
        right = draw(_leaves(f"t{ordinal + 1}", depth))
        both = source.scope + right.scope
        kind = draw(st.sampled_from(_JOINS))
        if kind == "CROSS JOIN":
            source = Source(f"{source.text} CROSS JOIN {right.text}", both)
            continue
        equality = f"{draw(st.sampled_from(source.scope.ints))} = {draw(st.sampled_from(right.scope.ints))}"
        condition = equality if draw(st.booleans()) else f"{equality} AND {draw(predicates(both, 1))}"
        visible = source.scope if kind in ("SEMI JOIN", "ANTI JOIN") else both
        source = Source(f"{source.text} {kind} {right.text} ON {condition}", visible)
    return source


@st.composite
def _leaves(draw: DrawFn, alias: str, depth: int) -> Source:
    if depth and not draw(st.integers(0, 3)):
        query = draw(queries(depth - 1, outputs=("int", "int", "string")))
        return Source(f"({query}) AS {alias}", Scope((f"{alias}.c0", f"{alias}.c1"), (f"{alias}.c2",), depth))
    return Source(f"{_one_of(draw, *_TABLES)} AS {alias}", _columns(alias, depth))


@st.composite
def queries(draw: DrawFn, depth: int = 2, outputs: tuple[Kind, ...] = ("int", "int", "string")) -> str:
    """A query whose columns c0, c1, ... have these kinds."""
    match draw(st.integers(0, 5)) if depth else 0:
        case 0 | 1:
            return draw(_selects(depth, outputs))
        case 2 | 3:
            return draw(_groupings(depth, outputs))
        case 4:
            return draw(_windows(depth, outputs))
        case _:
            operator = _one_of(
                draw, "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"
            )
            return f"({draw(queries(depth - 1, outputs))} {operator} {draw(queries(depth - 1, outputs))})"


def _expressions(scope: Scope, kind: Kind) -> SearchStrategy[str]:
    return integers(scope) if kind == "int" else strings(scope)


def _list(texts: list[str]) -> str:
    return ", ".join(f"{text} AS c{ordinal}" for ordinal, text in enumerate(texts))


@st.composite
def _where(draw: DrawFn, scope: Scope) -> str:
    return f" WHERE {draw(conditions(scope))}" if not draw(st.integers(0, 2)) else ""


@st.composite
def _selects(draw: DrawFn, depth: int, outputs: tuple[Kind, ...]) -> str:
    source = draw(sources(depth))
    columns = _list([draw(_expressions(source.scope, kind)) for kind in outputs])
    return f"SELECT {_one_of(draw, '', 'DISTINCT ')}{columns} FROM {source.text}{draw(_where(source.scope))}"


@st.composite
def _groupings(draw: DrawFn, depth: int, outputs: tuple[Kind, ...]) -> str:
    source = draw(sources(depth))
    scope = source.scope
    keys = draw(st.lists(st.sampled_from(scope.ints + scope.strings), max_size=2, unique=True))
    columns = [draw(_of_group(scope, kind, keys)) for kind in outputs]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = f" HAVING count(*) > {draw(st.integers(0, 2))}" if draw(st.booleans()) else ""
    return f"SELECT {_list(columns)} FROM {source.text}{draw(_where(scope))}{group}{having}"


@st.composite
def _of_group(draw: DrawFn, scope: Scope, kind: Kind, keys: list[str]) -> str:
    own = [key for key in keys if key in (scope.ints if kind == "int" else scope.strings)]
    keyed: bool = draw(st.booleans())
    if own and keyed:
        return draw(st.sampled_from(own))
    if kind == "string":
        return f"{_one_of(draw, 'min', 'max')}({draw(strings(scope))})"
    function = _one_of(
        draw, "sum({})", "count({})", "min({})", "max({})", "count(DISTINCT {})", "sum(DISTINCT {})"
    )
    filtered = f" FILTER (WHERE {draw(predicates(scope, 1))})" if not draw(st.integers(0, 3)) else ""
    return f"CAST({function.format(draw(integers(scope)))}{filtered} AS INT)"


@st.composite
def _windows(draw: DrawFn, depth: int, outputs: tuple[Kind, ...]) -> str:
    source = draw(sources(depth, joins=1))
    scope = source.scope
    columns = [draw(_of_window(scope)) if kind == "int" else draw(strings(scope)) for kind in outputs]
    return f"SELECT {_list(columns)} FROM {source.text}{draw(_where(scope))}"


@st.composite
def _of_window(draw: DrawFn, scope: Scope) -> str:
    function = _one_of(draw, "sum({})", "count({})", "min({})", "max({})", "rank()", "dense_rank()")
    argument = function.format(draw(integers(scope, 1)))
    partition = (
        f"PARTITION BY {draw(st.sampled_from(scope.ints + scope.strings))} " if draw(st.booleans()) else ""
    )
    direction = _one_of(draw, "ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST")
    return (
        f"CAST({argument} OVER ({partition}ORDER BY {draw(st.sampled_from(scope.ints))} {direction}) AS INT)"
    )
