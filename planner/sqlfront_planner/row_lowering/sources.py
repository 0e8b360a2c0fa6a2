"""Sources of a row program: rows by key, small tables, and the constants of the keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_connectors.base import RowAccess
from sqlfront_engine.row_programs import operators
from sqlfront_engine.row_programs.expressions import Constants
from sqlfront_engine.row_programs.program import NotByRows, ProgramRun, Row
from sqlfront_planner.expressions.rewriting import remap
from sqlfront_planner.logical import LogicalScan, table_row
from sqlfront_planner.row_lowering.row_plan import RowSource, SmallTable
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import Expr, columns_used, conjunction
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings
from sqlfront_values.types import INT, INTERVALS, VOID, is_fractional

if TYPE_CHECKING:
    from sqlfront_planner.pruning import analysis, constraints
    from sqlfront_planner.pruning.key_condition import KeyCondition
else:
    analysis = lazy_module("sqlfront_planner.pruning.analysis")
    constraints = lazy_module("sqlfront_planner.pruning.constraints")

_COLLECTIONS: Final = (pa.list_(VOID), pa.struct([]), pa.map_(INT, INT))
#: The ids of types whose values aren't complete single Python objects.
_ODD: Final = frozenset(kind.id for kind in (*_COLLECTIONS, VOID, pa.duration("us"), *INTERVALS.values()))
#: From this many estimated rows on kernels are faster.
MOST_ESTIMATED: Final = 2000


class Sources:
    """The sources of one program, under construction. ``most_keys``: the most keys that are looked up."""

    def __init__(self, settings: Settings, most_keys: int) -> None:
        self.settings = settings
        self.most_keys = most_keys
        self.cardinality = Cardinality()
        self.constants = Constants()
        self.found: list[RowSource] = []
        self.tables: list[SmallTable] = []
        # Invariant: the entry holds the scan, so that no other scan gets its id.
        self._conditions: dict[int, tuple[LogicalScan, KeyCondition | None]] = {}

    def state(self) -> tuple[int, int, int]:
        """The numbers of constants and sources so far, for :meth:`restore`."""
        return len(self.constants.expressions), len(self.found), len(self.tables)

    def restore(self, state: tuple[int, int, int]) -> None:
        """Remove the constants and sources that were added after ``state``."""
        constants, found, tables = state
        del self.constants.expressions[constants:], self.found[found:], self.tables[tables:]

    def add_table(self, table: SmallTable) -> int:
        """Add a small table; return its index."""
        self.tables.append(table)
        return len(self.tables) - 1

    def add(self, scan: LogicalScan, by: tuple[int, ...], columns: tuple[int, ...]) -> int:
        """Add a lookup by key; return its index."""
        self.found.append(RowSource(scan.table, by, columns, scan.name))
        return len(self.found) - 1

    def reads(self, scan: LogicalScan, rest: tuple[Expr, ...]) -> tuple[tuple[int, ...], Expr | None] | None:
        """The columns to read for the scan and for a condition over the table, and the condition over a row
        of these columns. None if a column's values aren't single Python objects."""
        extra = sorted({place for part in rest for place in columns_used(part)} - set(scan.columns))
        columns = (*scan.columns, *extra)
        if not all(has_python_values(table_row(scan.table.schema)[ordinal].type) for ordinal in extra):
            return None
        where = {column: place for place, column in enumerate(columns)}
        return columns, conjunction(tuple(remap(part, where) for part in rest))

    def key_of(self, scan: LogicalScan, access: RowAccess) -> "KeyCondition | None":
        """The condition of the scan's filters on a key by which the scan's rows can be found, or None;
        cached."""
        known = self._conditions.get(id(scan))
        if known is None:
            known = self._conditions[id(scan)] = scan, self._key_of(scan, access)
        return known[1]

    def _key_of(self, scan: LogicalScan, access: RowAccess) -> "KeyCondition | None":
        row = table_row(scan.table.schema)
        for by in access.keys if self.most_keys and scan.filters else ():
            types = [row[ordinal].type for ordinal in by]
            if any(map(is_fractional, types)):
                continue
            condition = analysis.key_condition(by, types, scan.filters, self.settings, self.most_keys)
            if (
                condition is not None
                and condition.most is not None
                and condition.most <= self.most_keys
                and self.cardinality.rows(scan) <= MOST_ESTIMATED
                and access.row_path(by, scan.columns) is not None
            ):
                return condition
        return None

    def keys(self, condition: "KeyCondition") -> operators.Keys:
        """The computation of a condition's keys in a run."""
        parts = self.key_parts(condition)
        if parts is not None:
            return operators.KeyParts(parts)
        from_literals = condition.keys

        def keys(run: ProgramRun) -> Sequence[Row]:
            found = from_literals(run.literal)
            if found is None:
                raise NotByRows
            return found

        return keys

    def key_parts(self, condition: "KeyCondition") -> list[operators.KeyPart] | None:
        """The parts of the key in the commonest case, a list of constants for each column; None in all
        further cases."""
        if len(condition.boxes) != 1 or condition.boxes[0].when:
            return None
        parts = []
        for said in condition.boxes[0].columns:
            match said:
                case (constraints.OneOf(candidates=candidates, or_null=False),) if not any(
                    candidate.through for candidate in candidates
                ):
                    safe = {candidate.null_safe for candidate in candidates}
                    if len(safe) != 1:
                        return None
                    places = [self.constants.place(candidate.expression) for candidate in candidates]
                    parts.append(operators.KeyPart(places, asks_for_null=safe.pop()))
                case _:
                    return None
        return parts


def has_python_values(kind: pa.DataType) -> bool:
    """Whether the values of a column are single Python objects that represent them completely."""
    return kind.id not in _ODD
