"""The operators of row programs, each like its textbook version; rows are tuples, tables are lists."""

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import product

from sqlfront_engine.row_programs.aggregates import Compute
from sqlfront_engine.row_programs.program import (
    MOST_ROWS,
    Evaluate,
    NotByRows,
    ProgramRun,
    Row,
    RowOperator,
    checked,
)
from sqlfront_engine.row_programs.row_makers import MakeRows


class KeyPart:
    """One column of a key: its candidates (positions of constants), and whether a null searches for null
    instead of finding nothing."""

    __slots__ = ("asks_for_null", "candidates")

    def __init__(self, candidates: Sequence[int], *, asks_for_null: bool = False) -> None:
        self.candidates = tuple(candidates)
        self.asks_for_null = asks_for_null

    def values(self, constants: Sequence[object]) -> list[object]:
        """The distinct candidates of this run."""
        found = [constants[place] for place in self.candidates]
        if not self.asks_for_null:
            found = [value for value in found if value is not None]
        return found if len(found) == 1 else list(dict.fromkeys(found))


#: A function from a run to its distinct keys.
Keys = Callable[[ProgramRun], Sequence[Row]]


class KeyParts:
    """A function that returns all combinations of the columns' candidates as keys."""

    __slots__ = ("_parts", "_places")

    def __init__(self, parts: Sequence[KeyPart]) -> None:
        self._parts = tuple(parts)
        # The most common case: one candidate for each column.
        single = all(len(part.candidates) == 1 for part in parts)
        self._places = tuple(part.candidates[0] for part in parts) if single else None

    def __call__(self, run: ProgramRun) -> Sequence[Row]:
        if self._places is None:
            return list(product(*[part.values(run.constants) for part in self._parts]))
        constants = run.constants
        key = tuple([constants[place] for place in self._places])
        if None in key:
            for value, part in zip(key, self._parts, strict=True):
                if value is None and not part.asks_for_null:
                    return ()
        return (key,)


class RowFind:
    """A lookup of a table's rows by key; ``keys`` gives the keys of a run, ``source`` is the position of the
    table's lookup function."""

    def __init__(self, source: int, table: str, keys: Keys, columns: Sequence[str]) -> None:
        self.source = source
        self.keys = keys
        self._table = table
        self._columns = tuple(columns)

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        keys = self.keys(run)
        if not keys:
            return []
        found = run.finds[self.source](keys)
        return checked(found[0] if len(found) == 1 else [row for rows in found for row in rows])

    def describe(self) -> str:
        return f"Find: {self._table} by {', '.join(self._columns)}"

    def inputs(self) -> tuple[RowOperator, ...]:
        return ()


class RowTable:
    """A scan of a small table."""

    def __init__(self, place: int, table: str) -> None:
        self._place = place
        self._table = table

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        return run.tables[self._place]

    def describe(self) -> str:
        return f"Table: {self._table}"

    def inputs(self) -> tuple[RowOperator, ...]:
        return ()


class RowList:
    """A list of rows of constants."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self._rows = tuple(map(tuple, rows))

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        constants = run.constants
        return [tuple([constants[place] for place in row]) for row in self._rows]

    def describe(self) -> str:
        return f"Values: {len(self._rows)} {'row' if len(self._rows) == 1 else 'rows'}"

    def inputs(self) -> tuple[RowOperator, ...]:
        return ()


class RowTransform:
    """A filter and projection: the rows with a true condition (None: all rows), transformed by ``project``
    (None: unchanged). ``text`` gives the line in EXPLAIN."""

    def __init__(
        self,
        source: RowOperator,
        condition: Evaluate | None,
        project: MakeRows | None,
        text: Callable[[], str],
    ) -> None:
        self._source = source
        self._condition = condition
        self._project = project
        self._text = text

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        rows, constants = self._source.rows(run), run.constants
        condition, project = self._condition, self._project
        if condition is not None:
            rows = [row for row in rows if condition(row, constants)]
        if project is not None:
            rows = project(rows, constants)
        return rows

    def describe(self) -> str:
        return self._text()

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._source,)


class Matching(Enum):
    """The result of a join for a left row."""

    INNER = "inner"
    """A row for each match."""
    LEFT = "left"
    """A row for each match; without one, a row with nulls."""
    SEMI = "semi"
    """The left row, if it has a match."""
    ANTI = "anti"
    """The left row, if it has no match."""


class RowJoin:
    """A join of left rows with their partners, found by ``partners`` for a list of keys.

    ``key`` makes the left rows' keys; a key with a null finds nothing unless ``null_safe`` is true at the
    null's position. ``condition`` is over the joined row. ``width`` is the width of a right row.
    """

    def __init__(
        self,
        left: RowOperator,
        partners: "Partners",
        key: MakeRows,
        null_safe: Sequence[bool],
        matching: Matching,
        condition: Evaluate | None,
        width: int,
    ) -> None:
        self._left = left
        self.partners = partners
        self._key = key
        self._strict = tuple(place for place, safe in enumerate(null_safe) if not safe)
        self._matching = matching
        self._condition = condition
        self._nothing = (None,) * width

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        left, constants = self._left.rows(run), run.constants
        if not left:
            return []
        keys = self._key(left, constants)
        wanted = [key for key in dict.fromkeys(keys) if None not in key or self._may_match(key)]
        found = dict(zip(wanted, self.partners.find(wanted, run), strict=True)) if wanted else {}
        condition = self._condition
        matches: list[Sequence[Row]] = [found.get(key, ()) for key in keys]
        if sum(map(len, matches)) > MOST_ROWS:
            raise NotByRows
        if condition is not None:
            matches = [
                [other for other in others if condition(row + other, constants)]
                for row, others in zip(left, matches, strict=True)
            ]
        return self._joined(left, matches)

    def _joined(self, left: Sequence[Row], matches: list[Sequence[Row]]) -> Sequence[Row]:
        """The join's result for left rows with these partners."""
        matching = self._matching
        if matching is Matching.SEMI or matching is Matching.ANTI:
            wanted = matching is Matching.SEMI
            return [row for row, others in zip(left, matches, strict=True) if bool(others) is wanted]
        if matching is Matching.LEFT:
            nothing = (self._nothing,)
            matches = [others or nothing for others in matches]
        joined = [row + other for row, others in zip(left, matches, strict=True) for other in others]
        return checked(joined)

    def _may_match(self, key: Row) -> bool:
        """Return whether a key with nulls can find any row."""
        return all(key[place] is not None for place in self._strict)

    def describe(self) -> str:
        return f"Join: {self._matching.value}, {self.partners.describe()}"

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._left, *self.partners.inputs())


class Partners:
    """The right side of a join: rows by key."""

    def find(self, keys: Sequence[Row], run: ProgramRun) -> Sequence[Sequence[Row]]:
        """The rows of each key."""
        raise NotImplementedError

    def describe(self) -> str:
        """The way of finding partners, for EXPLAIN."""
        raise NotImplementedError

    def inputs(self) -> tuple[RowOperator, ...]:
        """The steps that provide the rows."""
        return ()


class PartnersByKey(Partners):
    """A lookup of a table's rows by its key; the table is never read whole. ``source`` is the position of the
    table's lookup function."""

    def __init__(self, source: int, table: str, condition: Evaluate | None, project: MakeRows | None) -> None:
        self.source = source
        self._table = table
        self._condition = condition
        self._project = project

    def find(self, keys: Sequence[Row], run: ProgramRun) -> Sequence[Sequence[Row]]:
        found = run.finds[self.source](keys)
        condition, project, constants = self._condition, self._project, run.constants
        if condition is not None:
            found = [[row for row in rows if condition(row, constants)] for rows in found]
        if project is not None:
            found = [project(rows, constants) for rows in found]
        return found

    def describe(self) -> str:
        return f"partners of {self._table} by key"


class PartnersInTable(Partners):
    """A lookup in a dictionary of all rows of another step."""

    def __init__(self, right: RowOperator, key: MakeRows) -> None:
        self._right = right
        self._key = key

    def find(self, keys: Sequence[Row], run: ProgramRun) -> Sequence[Sequence[Row]]:
        table = grouped(self._right.rows(run), self._key, run.constants)
        return [table.get(key, ()) for key in keys]

    def describe(self) -> str:
        return "by a dictionary"

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._right,)


class RowGrouping:
    """A grouping: one row per distinct key, or a single row without keys."""

    def __init__(self, source: RowOperator, key: MakeRows | None, computes: Sequence[Compute]) -> None:
        self._source = source
        self._key = key
        self._computes = tuple(computes)

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        rows, constants = self._source.rows(run), run.constants
        if self._key is None:
            return [tuple([compute(rows, constants) for compute in self._computes])]
        groups = grouped(rows, self._key, constants)
        if not self._computes:
            return list(groups)
        return [
            key + tuple([compute(group, constants) for compute in self._computes])
            for key, group in groups.items()
        ]

    def describe(self) -> str:
        return f"Group: {len(self._computes)} aggregates{'' if self._key is None else ' by key'}"

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._source,)


def grouped(rows: Sequence[Row], key: MakeRows, constants: Sequence[object]) -> dict[Row, list[Row]]:
    """The rows by their key."""
    groups: dict[Row, list[Row]] = {}
    for row, value in zip(rows, key(rows, constants), strict=True):
        if value in groups:
            groups[value].append(row)
        else:
            groups[value] = [row]
    return groups


class SortOrder:
    """One key of an ordering."""

    __slots__ = ("descending", "nulls_first", "ordinal")

    def __init__(self, ordinal: int, *, descending: bool, nulls_first: bool) -> None:
        self.ordinal = ordinal
        self.descending = descending
        self.nulls_first = nulls_first


class RowSort:
    """A sort with an optional limit: the rows in order, cut to ``limit`` rows (None: all) after
    ``offset``."""

    def __init__(
        self, source: RowOperator, order: Sequence[SortOrder], limit: int | None, offset: int
    ) -> None:
        self._source = source
        self._order = tuple(reversed(order))
        self._limit = limit
        self._offset = offset

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        rows = list(self._source.rows(run))
        for order in self._order:  # least significant key first: each sort is stable
            _sort(rows, order)
        if self._limit is None and not self._offset:
            return rows
        return rows[self._offset : None if self._limit is None else self._offset + self._limit]

    def describe(self) -> str:
        what = "Sort" if self._order else "Limit"
        return what if self._limit is None else f"{what}: {self._limit} rows"

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._source,)


def _sort(rows: list[Row], order: SortOrder) -> None:
    ordinal = order.ordinal
    nulls = [row for row in rows if row[ordinal] is None]
    known = [row for row in rows if row[ordinal] is not None] if nulls else rows
    known.sort(key=lambda row: row[ordinal], reverse=order.descending)  # type: ignore[arg-type,return-value]
    if nulls:
        rows[:] = nulls + known if order.nulls_first else known + nulls


class RowAppend:
    """A union: the rows of several steps."""

    def __init__(self, sources: Sequence[RowOperator]) -> None:
        self._sources = tuple(sources)

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        return checked([row for source in self._sources for row in source.rows(run)])

    def describe(self) -> str:
        return "Union"

    def inputs(self) -> tuple[RowOperator, ...]:
        return self._sources
