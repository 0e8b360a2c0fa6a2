"""Estimates of a plan's rows, from the statistics of its tables."""

from msgspec.structs import replace

from sqlfront_connectors import base
from sqlfront_engine.generators import Generator
from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScalarRow,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    SetKind,
    table_row,
)
from sqlfront_planner.recursion import LogicalRecursion
from sqlfront_planner.statistics import selectivity as selectivities
from sqlfront_values.expressions import Call, Cast, Column, Expr, conjunction
from sqlfront_values.stacks import deep

#: The assumed rows of a table without row count or size: as many as run on the caller's thread, so that a
#: table without statistics starts no threads.
UNKNOWN_ROWS = 10_000.0
#: The assumed bytes of a row, if only a table's size is known: about eight columns of eight bytes.
ROW_BYTES = 64
#: The assumed elements of an array or map, whose number no table's statistics have.
ELEMENTS = 5.0
#: The assumed levels of a WITH RECURSIVE, each with as many rows as its anchor.
_LEVELS = 10.0


class Cardinality:
    """An estimator of the rows of plans, one for all plans of a query; each plan is estimated once.

    The textbooks' assumptions apply: values are spread evenly, columns and conditions are independent, and of
    two joined columns the column with fewer values has only values of the other.
    """

    def __init__(self) -> None:
        # Invariant: the entry holds the plan, so that no other plan gets its id.
        self._rows: dict[int, tuple[LogicalPlan, float]] = {}

    def rows(self, plan: LogicalPlan) -> float:
        """Return the estimated number of the plan's rows, at least 0."""
        known = self._rows.get(id(plan))
        if known is None:
            known = (plan, self._estimate(plan))
            self._rows[id(plan)] = known
        return known[1]

    def size(self, plan: LogicalPlan) -> float:
        """Return the estimated number of bytes of all the plan's rows."""
        return self.rows(plan) * sum(column_bytes(column) for column in plan.row())

    def column(self, plan: LogicalPlan, ordinal: int) -> "base.ColumnStatistics | None":
        """Return the statistics of the plan's column ``ordinal``, as they are in the table, before filters;
        None if the column is computed, or if the table has no statistics of it."""
        while True:
            match plan:
                case LogicalScan():
                    return scan_column(plan, plan.columns[ordinal])
                case LogicalProject():
                    item, plan = plan.expressions[ordinal], plan.input
                    if not isinstance(item, Column):
                        return self._expression(plan, item)
                    ordinal = item.ordinal
                case LogicalAggregate():
                    if ordinal >= len(plan.keys):
                        return None
                    return self._expression(plan.input, plan.keys[ordinal])
                case LogicalJoin():
                    width = plan.left.width
                    on_left = ordinal < width
                    plan, ordinal = (plan.left, ordinal) if on_left else (plan.right, ordinal - width)
                case LogicalWindow() | LogicalGenerate() if ordinal >= plan.input.width:
                    return None
                case (
                    LogicalFilter()
                    | LogicalSort()
                    | LogicalLimit()
                    | LogicalWindow()
                    | LogicalScalarRow()
                    | LogicalGenerate()
                ):
                    plan = plan.input
                case LogicalSetOperation() if plan.kind is not SetKind.UNION_ALL:
                    plan = plan.branches[0]
                case _:
                    return None

    def distinct(self, plan: LogicalPlan, expression: Expr) -> float:
        """Return the estimated number of different values of an expression over the plan's rows."""
        rows = self.rows(plan)
        known = self._expression(plan, expression)
        if known is None or known.distinct is None:
            return max(1.0, rows if isinstance(expression, Column) else rows / 10)
        return max(1.0, min(float(known.distinct), rows))

    def groups(self, plan: LogicalPlan, keys: tuple[Expr, ...]) -> float:
        """Return the estimated number of different combinations of the keys' values over the plan's rows, at
        least 1."""
        rows = self.rows(plan)
        product = 1.0
        for key in keys:
            product *= self.distinct(plan, key)
            if product >= rows:
                return max(1.0, rows)
        return product

    @deep
    def _expression(self, plan: LogicalPlan, expression: Expr) -> "base.ColumnStatistics | None":
        match expression:
            case Column(ordinal=ordinal):
                return self.column(plan, ordinal)
            case Cast(operand=operand):
                known = self._expression(plan, operand)
                return None if known is None else base.ColumnStatistics(known.distinct, known.nulls)
            case _:
                return None

    @deep
    def _estimate(self, plan: LogicalPlan) -> float:
        match plan:
            case LogicalScan():
                return self._scan(plan)
            case LogicalValues():
                return float(len(plan.rows))
            case LogicalFilter():
                share = selectivities.selectivity(
                    plan.condition, lambda ordinal: self.column(plan.input, ordinal)
                )
                return self.rows(plan.input) * share
            case LogicalJoin():
                return self.join(plan)
            case LogicalAggregate():
                return self.groups(plan.input, plan.keys) if plan.keys else 1.0
            case LogicalLimit(count=count):
                rows = max(0.0, self.rows(plan.input) - plan.offset)
                return rows if count is None else min(rows, float(count))
            case LogicalSort(limit=count):
                rows = self.rows(plan.input)
                return rows if count is None else min(rows, float(count))
            case LogicalSetOperation(kind=SetKind.UNION_ALL):
                return sum(self.rows(branch) for branch in plan.branches)
            case LogicalSetOperation():
                return self.rows(plan.branches[0])
            case LogicalScalarRow():
                return 1.0
            case LogicalGenerate():
                return self.rows(plan.input) * _generated_rows(plan)
            case LogicalRecursion():
                return self.rows(plan.anchor) * _LEVELS
            case _:
                return self.rows(plan.inputs()[0])

    def _scan(self, scan: LogicalScan) -> float:
        rows = table_rows(scan)
        condition = conjunction(scan.filters)
        if condition is not None:
            rows *= selectivities.selectivity(condition, lambda ordinal: scan_column(scan, ordinal))
        return rows if scan.limit is None else min(rows, float(scan.limit))

    def join(self, plan: LogicalJoin) -> float:
        """Return the estimated number of rows that a join of any kind returns."""
        left, right = self.rows(plan.left), self.rows(plan.right)
        matches = self.matches(plan)
        if plan.kind in FILTERING_JOINS:
            share = self._matched_share(plan)
            return left * (share if plan.kind is JoinKind.SEMI else max(0.1, 1.0 - share))
        match plan.kind:
            case JoinKind.LEFT:
                return max(left, matches)
            case JoinKind.RIGHT:
                return max(right, matches)
            case JoinKind.FULL:
                return max(left, right, matches)
            case _:
                return matches

    def matches(self, plan: LogicalJoin) -> float:
        """Return the estimated number of pairs of rows, one of each side, that satisfy the join's keys and
        condition."""
        pairs = self.rows(plan.left) * self.rows(plan.right) / self._key_values(plan)
        if plan.condition is not None:
            width = plan.left.width
            pairs *= selectivities.selectivity(
                plan.condition,
                lambda place: (
                    self.column(plan.left, place) if place < width else self.column(plan.right, place - width)
                ),
            )
        return pairs

    def _key_values(self, plan: LogicalJoin) -> float:
        """Return the divisor by which the number of pairs of rows gives the estimated rows of a join on keys:
        the estimated number of different key combinations on the side that seems to have all of them, at
        least 1."""
        if not plan.keys:
            return 1.0
        left = self.key_side(plan.left, tuple(key.left for key in plan.keys))
        right = self.key_side(plan.right, tuple(key.right for key in plan.keys))
        return joined_values(left, right)

    def key_side(self, plan: LogicalPlan, keys: tuple[Expr, ...]) -> "KeySide":
        """Estimate the different key combinations of ``plan``, one side of a join, as if there were no
        filters at the top of the side."""
        rows = max(1.0, self.unfiltered_rows(plan))
        values, counted = 1.0, True
        for key in keys:
            known = self._expression(plan, key)
            if known is None or known.distinct is None:
                values, counted = values * rows, False
            else:
                values *= max(1, known.distinct)
        return KeySide(min(values, rows), unique=values >= rows, counted=counted, listed=_is_listed(plan))

    def unfiltered_rows(self, plan: LogicalPlan) -> float:
        """Return the estimated rows as if there were no filters, semi joins or anti joins at the top of the
        plan."""
        while True:
            match plan:
                case LogicalFilter() | LogicalProject() | LogicalSort(limit=None) | LogicalWindow():
                    plan = plan.input
                case LogicalJoin(kind=kind) if kind in FILTERING_JOINS:
                    plan = plan.left
                case LogicalScan():
                    return table_rows(plan)
                case _:
                    return self.rows(plan)

    def _matched_share(self, plan: LogicalJoin) -> float:
        """Return the estimated share (0 to 1) of left rows that find a match in a semi or anti join."""
        if not plan.keys:
            return 0.5
        there = self.groups(plan.right, tuple(key.right for key in plan.keys))
        values = self.key_side(plan.left, tuple(key.left for key in plan.keys)).values
        share = min(1.0, there / values)
        return share * (0.7 if plan.condition is not None else 1.0)


def _is_listed(plan: LogicalPlan) -> bool:
    """Return whether the plan's rows are written in the statement."""
    while isinstance(plan, LogicalFilter | LogicalProject):
        plan = plan.input
    return isinstance(plan, LogicalValues)


def _generated_rows(plan: LogicalGenerate) -> float:
    """Return the estimated number of rows that a generator makes of one row. A table's statistics don't have
    the lengths of arrays."""
    if plan.generator is Generator.STACK:
        return len(plan.arguments) / max(1, len(plan.types))
    if plan.generator is Generator.JSON_TUPLE:
        return 1.0
    (argument,) = plan.arguments
    if isinstance(argument, Call) and argument.function == "array":
        return float(max(1, len(argument.arguments)))
    return ELEMENTS


class KeySide:
    """Estimates of the keys on one side of a join: ``values``, the number of different key combinations, and
    ``unique``, whether each row seems to have a combination of its own. ``counted``: the number of different
    values of each key is known. ``listed``: the rows are written in the statement."""

    __slots__ = ("counted", "listed", "unique", "values")

    def __init__(self, values: float, *, unique: bool, counted: bool = True, listed: bool = False) -> None:
        self.values = values
        self.unique = unique
        self.counted = counted
        self.listed = listed


def joined_values(left: KeySide, right: KeySide) -> float:
    """Return the estimated number of different key combinations on the side of a join that has all of them;
    at least 1, even if a side is empty.

    Usually the larger number is taken. If both sides look unique, perhaps only because distinct counts were
    multiplied or are unknown, the side with fewer values counts as the real key; not so rows that are written
    in the statement, which ask for some keys of the other side.
    """
    asks = (left.listed and right.counted) or (right.listed and left.counted)
    if left.unique and right.unique and not asks:
        return max(1.0, min(left.values, right.values))
    return max(1.0, left.values, right.values)


def table_rows(scan: LogicalScan) -> float:
    """Return the number of rows in the scanned version of the table. If the number is unknown, it is
    estimated from the size in bytes; without a size, a constant serves."""
    known = scan.snapshot.statistics
    if known.rows is not None:
        return float(known.rows)
    return UNKNOWN_ROWS if known.size is None else max(1.0, known.size / ROW_BYTES)


def scan_column(scan: LogicalScan, ordinal: int) -> "base.ColumnStatistics | None":
    """Return the statistics of the table's column ``ordinal``; None if the table has none of this column. An
    unknown number of distinct values is estimated from minimum and maximum."""
    known = scan.snapshot.statistics.columns.get(table_row(scan.table.schema)[ordinal].name)
    if known is None or known.distinct is not None:
        return known
    low, high = known.minimum, known.maximum
    if isinstance(low, int) and isinstance(high, int):
        return replace(known, distinct=int(min(float(high - low + 1), table_rows(scan))))
    return known


def column_bytes(column: Column) -> int:
    """Return a column's bytes per row; 20 for types without a fixed width."""
    try:
        return max(1, int(column.type.bit_width) // 8)
    except ValueError:
        return 20
