"""Scopes: the columns that names can mean at one place of a query, and the enclosing query's scope."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import parts_of, refuse_unknown, unsupported
from sqlfront_planner.logical import LogicalPlan, LogicalValues
from sqlfront_values.expressions import Column, Expr


class ScopeColumn(msgspec.Struct, frozen=True):
    """A column that SQL can name. ``expression`` computes the column from the scope's row; ``qualifier``
    holds the parts that may stand before the name, in lower case (``("t",)``, ``("default", "t")``). A
    ``hidden`` column (one that USING has merged into another) is reachable by its qualified name only: it is
    part of ``t.*`` but not of ``*``."""

    name: str
    expression: Expr
    qualifier: tuple[str, ...] = ()
    hidden: bool = False


class Match(msgspec.Struct, frozen=True):
    """The columns that a dotted name may mean, and how many leading ``parts`` of the name are the column's;
    the remaining parts are struct fields."""

    columns: tuple[ScopeColumn, ...]
    parts: int


class Scope(msgspec.Struct):
    """The columns that expressions over a row of ``width`` columns can name, in the order of ``*``;
    ``parent`` is the scope of the enclosing query, None if there is none. ``generated``: columns that
    generators of the select list make; names find them if they name no other column, and ``*`` doesn't mean
    them."""

    columns: tuple[ScopeColumn, ...]
    width: int
    parent: "Scope | None" = None
    generated: tuple[ScopeColumn, ...] = ()
    _lowered: list[str] | None = None
    _resolved: dict[tuple[str, ...], Match | None] = msgspec.field(default_factory=dict)

    def visible(self) -> Iterator[ScopeColumn]:
        """Yield the columns that ``*`` means."""
        return (column for column in self.columns if not column.hidden)

    def qualified(self, qualifier: tuple[str, ...]) -> tuple[ScopeColumn, ...]:
        """Return the columns of ``qualifier.*``, also hidden ones; empty if no relation has that name."""
        wanted = tuple(part.lower() for part in qualifier)
        found = [column for column in self.columns if _ends_with(column.qualifier, wanted)]
        if any(column.hidden for column in found):
            found.sort(key=_place)  # USING moved its columns to the end
        return tuple(found)

    def resolve(self, parts: tuple[str, ...]) -> Match | None:
        """Return the columns of this scope (not of the parent) that a dotted name may mean, several if the
        name is ambiguous; None if the scope has no such column.

        As in Spark, the match that uses most parts of the name, as qualifier and name of the column, takes
        precedence; the remaining parts are struct fields. Names are case-insensitive.
        """
        if parts not in self._resolved:
            self._resolved[parts] = self._resolve(parts)
        return self._resolved[parts]

    def _resolve(self, parts: tuple[str, ...]) -> Match | None:
        for length in range(min(len(parts), 4), 0, -1):
            candidates = self._named(parts[length - 1].lower())
            if not candidates:
                continue
            wanted = tuple(part.lower() for part in parts[: length - 1])
            found = [
                column
                for column in candidates
                if (_ends_with(column.qualifier, wanted) if wanted else not column.hidden)
            ]
            if found:
                return Match(_without_repeats(found), length)
        made = [column for column in self.generated if column.name.lower() == parts[0].lower()]
        return Match(_without_repeats(made), 1) if made else None

    def _named(self, name: str) -> list[ScopeColumn]:
        if self._lowered is None:
            self._lowered = [column.name.lower() for column in self.columns]
        lowered, count = self._lowered, self._lowered.count(name)
        if count == 1:
            return [self.columns[lowered.index(name)]]
        return [self.columns[place] for place, known in enumerate(lowered) if known == name] if count else []


class BoundQuery(msgspec.Struct, frozen=True):
    """A bound query: its plan, the names of its columns, and for each column the qualifier that an ORDER BY
    of the query may write before the name. ``qualifiers`` is empty if no column has a qualifier."""

    plan: LogicalPlan
    names: tuple[str, ...]
    qualifiers: tuple[tuple[str, ...], ...] = ()


class Relation(msgspec.Struct, frozen=True):
    """A relation of FROM: its plan, and the columns that SQL can name, with expressions over the plan's
    row."""

    plan: LogicalPlan
    columns: tuple[ScopeColumn, ...]

    def scope(self, parent: Scope | None = None) -> Scope:
        """Return the scope of expressions over the relation's row; ``parent`` is the scope of the enclosing
        query."""
        return Scope(self.columns, self.plan.width, parent)


#: The input of a SELECT without FROM: one row without columns.
ONE_ROW = LogicalValues(pa.schema([]), ((),))
EMPTY_SCOPE = Scope((), 0)


def relation(
    names: Iterable[str], row: Iterable[Column], qualifier: tuple[str, ...] = ()
) -> tuple[ScopeColumn, ...]:
    """Return the scope columns of one relation: the columns of ``row`` under ``names``, all with
    ``qualifier``."""
    lowered = tuple(part.lower() for part in qualifier)
    return tuple(
        [ScopeColumn(name, named(column, name), lowered) for name, column in zip(names, row, strict=True)]
    )


def named(expression: Expr, name: str) -> Expr:
    """Return the expression with the name by which the query calls it: a Column gets the name ``name``; any
    other expression has no name and is returned unchanged."""
    if isinstance(expression, Column) and expression.name != name:
        return Column(expression.type, expression.ordinal, name)
    return expression


def star_columns(star: exp.Expr, scope: Scope) -> tuple[ScopeColumn, ...]:
    """Return the columns that ``*`` or ``t.*`` means in the scope; empty if no relation is called ``t``."""
    if isinstance(star, exp.Column):
        return scope.qualified(parts_of(star)[:-1])
    return tuple(scope.visible())


def columns_of_star(star: exp.Expr, scope: Scope) -> tuple[ScopeColumn, ...]:
    """Return the columns that ``*`` or ``t.*`` means among a call's arguments. Raises NotSupportedError for a
    star with EXCEPT, and if no relation is called ``t``, since ``t`` may be a struct."""
    refuse_unknown(star, frozenset({"this", "table", "db", "catalog"}))
    columns = star_columns(star, scope)
    if not columns and isinstance(star, exp.Column):
        raise unsupported("A struct's star as an argument", star)
    return columns


def output_scope(
    names: Sequence[str],
    row: Sequence[Column],
    qualifiers: Sequence[tuple[str, ...]],
    parent: Scope | None = None,
) -> Scope:
    """Return the scope of an ORDER BY that sees only a query's output: the columns ``row`` with their
    ``names``. ``qualifiers`` has one qualifier per column, or is empty if no column has a qualifier."""
    known = qualifiers or [()] * len(row)
    columns = (
        ScopeColumn(name, column, qualifier)
        for name, column, qualifier in zip(names, row, known, strict=True)
    )
    return Scope(tuple(columns), len(row), parent)


def _place(column: ScopeColumn) -> int:
    return column.expression.ordinal if isinstance(column.expression, Column) else -1


def _ends_with(qualifier: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return qualifier[-len(wanted) :] == wanted


def _without_repeats(columns: list[ScopeColumn]) -> tuple[ScopeColumn, ...]:
    """Return the columns without repetitions of the same expression: a name isn't ambiguous if it means one
    column of the row twice."""
    if len(columns) == 1:
        return (columns[0],)
    kept: list[ScopeColumn] = []
    for column in columns:
        if all(column.expression != other.expression for other in kept):
            kept.append(column)
    return tuple(kept)
