"""Lowering of each logical node to its operator in a row program, or None."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import row_access
from sqlfront_engine.processors.joins.kinds import JoinKind
from sqlfront_engine.row_programs import operators
from sqlfront_engine.row_programs.aggregates import computed
from sqlfront_engine.row_programs.expressions import compiled, is_comparable
from sqlfront_engine.row_programs.operators import Matching
from sqlfront_engine.row_programs.program import Evaluate, Row, RowOperator
from sqlfront_engine.row_programs.row_makers import MakeRows, rows_maker
from sqlfront_planner import logical
from sqlfront_planner.expressions.rewriting import is_deterministic, remap
from sqlfront_planner.lanes import Lane
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalLimit,
    LogicalPlan,
    LogicalScan,
    LogicalSetOperation,
    SetKind,
    table_row,
)
from sqlfront_planner.logical import LogicalProject as ProjectPlan
from sqlfront_planner.row_lowering.row_plan import SMALL_ROWS, RowPlan, SmallTable
from sqlfront_planner.row_lowering.sources import MOST_ESTIMATED, Sources, has_python_values
from sqlfront_values.expressions import Column, Expr, Literal, Parameter
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings
from sqlfront_values.types import TIMESTAMP

if TYPE_CHECKING:
    from sqlfront_engine.row_programs import computed as vectors
    from sqlfront_values import expression_text as display
else:
    display = lazy_module("sqlfront_values.expression_text")
    vectors = lazy_module("sqlfront_engine.row_programs.computed")

#: The most keys that are looked up one by one.
MOST_KEYS: Final = 100
_MATCHING: Final = {
    JoinKind.INNER: Matching.INNER,
    JoinKind.LEFT: Matching.LEFT,
    JoinKind.SEMI: Matching.SEMI,
    JoinKind.ANTI: Matching.ANTI,
}

#: The depth of a plan from which a job runs it: the operators of a program nest as deeply as the plan.
_DEEPEST: Final = 60


def row_plan(
    plan: LogicalPlan,
    schema: pa.Schema,
    settings: Settings,
    titles: Mapping[int, Parameter] = MappingProxyType({}),
    most_keys: int = MOST_KEYS,
) -> RowPlan | None:
    """The row plan of an optimized query with results of the schema ``schema``; None if the query needs a
    job. ``titles``: the parameters that name columns; ``most_keys``: the limit on keys that are looked up, 0
    = none."""
    if not all(has_python_values(field.type) for field in schema):
        return None
    lowering = _Lowering(settings, min(most_keys, MOST_KEYS))
    program = lowering.lower(plan)
    if program is None:
        return None
    lane, reason = _lane(lowering)
    constants = tuple(lowering.sources.constants.expressions)
    sources, tables = tuple(lowering.sources.found), tuple(lowering.sources.tables)
    timestamps = tuple(place for place, kind in enumerate(schema.types) if kind == TIMESTAMP)
    return RowPlan(program, constants, sources, tables, schema, lane, reason, timestamps, titles)


def _lane(lowering: "_Lowering") -> tuple[Lane, str]:
    found, tables = lowering.sources.found, lowering.sources.tables
    if lowering.is_lookup:
        return Lane.DIRECT, f"{found[0].name} by key, no job" if found else "no table"
    count = len(found) + len(tables)
    return Lane.LIGHT, f"a few rows of {count} table{'' if count == 1 else 's'}, on the caller's thread"


class _Lowering:
    """The lowering of a plan, bottom-up. None as any result: the plan needs a job."""

    def __init__(self, settings: Settings, most_keys: int) -> None:
        self.settings = settings
        self.sources = Sources(settings, most_keys)
        self.depth = 0
        #: Whether the plan only filters and projects rows by key (or constants).
        self.is_lookup = True

    # ---- expressions

    def expression(self, expression: Expr) -> Evaluate | None:
        """Compile the expression to a function of the row."""
        return compiled(expression, self.sources.constants, is_deterministic)

    def expressions(self, expressions: Sequence[Expr]) -> list[Evaluate] | None:
        """Compile several expressions; None if compiling fails for an expression."""
        found = [self.expression(expression) for expression in expressions]
        known = [evaluate for evaluate in found if evaluate is not None]
        return known if len(known) == len(found) else None

    def row(self, expressions: Sequence[Expr]) -> MakeRows | None:
        """Compile a function that makes rows of expressions over rows."""
        evaluates = self.expressions(expressions)
        return None if evaluates is None else rows_maker(expressions, evaluates)

    def project(self, expressions: Sequence[Expr], width: int) -> MakeRows | None:
        """Compile a projection of rows; :func:`unchanged` if the expressions are the whole row of ``width``
        columns."""
        ordinals = [item.ordinal if isinstance(item, Column) else -1 for item in expressions]
        return unchanged if ordinals == list(range(width)) else self.row(expressions)

    # ---- nodes

    def lower(self, plan: LogicalPlan) -> RowOperator | None:
        """Lower the plan to an operator with the plan's rows."""
        if self.depth == _DEEPEST:
            return None
        self.depth += 1
        operator = self._lower(plan)
        self.depth -= 1
        return operator

    def _lower(self, plan: LogicalPlan) -> RowOperator | None:
        match plan:
            case LogicalScan():
                return self.scan(plan)
            case LogicalFilter():
                return self.filtered(plan)
            case ProjectPlan():
                return self.projected(plan)
            case logical.LogicalValues():
                return self.values(plan)
            case logical.LogicalJoin():
                self.is_lookup = False
                return self.join(plan)
            case LogicalAggregate():
                self.is_lookup = False
                return self.aggregate(plan)
            case logical.LogicalSort():
                self.is_lookup = False
                return self.sort(plan)
            case LogicalLimit():
                source = self.lower(plan.input)
                return None if source is None else operators.RowSort(source, (), plan.count, plan.offset)
            case LogicalSetOperation(kind=SetKind.UNION_ALL):
                self.is_lookup = False
                branches = [self.lower(branch) for branch in plan.branches]
                known = [branch for branch in branches if branch is not None]
                return operators.RowAppend(known) if len(known) == len(branches) else None
            case _:
                return None

    def filtered(self, plan: LogicalFilter) -> RowOperator | None:
        if isinstance(plan.input, LogicalScan):
            scan = plan.input
            condition = remap(plan.condition, scan.columns)
            return self.scan(msgspec.structs.replace(scan, filters=(*scan.filters, condition)))
        source = self.lower(plan.input)
        return None if source is None else self.kept(source, plan.input.row(), plan.condition, plan.width)

    def kept(
        self, source: RowOperator, row: Sequence[Column], condition: Expr, width: int
    ) -> RowOperator | None:
        """The first ``width`` columns of the source's rows for which the condition is true."""
        test = self.expression(condition)
        if test is not None:
            cut = first_columns(width) if len(row) > width else None
            return operators.RowTransform(source, test, cut, lambda: f"Filter: {display.describe(condition)}")
        return self.computed(source, row, row[:width], condition)

    def computed(
        self, source: RowOperator, row: Sequence[Column], expressions: Sequence[Expr], condition: Expr | None
    ) -> RowOperator | None:
        """Compute expressions over the source's rows, by kernels."""
        parts = (*expressions, *(() if condition is None else (condition,)))
        if not all(map(is_deterministic, parts)) or not all(has_python_values(part.type) for part in parts):
            return None
        types = [column.type for column in row]
        return vectors.Computed(source, types, expressions, condition, self.settings)

    def projected(self, plan: ProjectPlan) -> RowOperator | None:
        source = self.lower(plan.input)
        if source is None:
            return None
        project = self.project(plan.expressions, plan.input.width)
        if project is None:
            return self.computed(source, plan.input.row(), plan.expressions, None)
        if project is unchanged:
            return source
        return operators.RowTransform(source, None, project, lambda: f"Project: {', '.join(plan.names)}")

    def values(self, plan: logical.LogicalValues) -> RowOperator | None:
        if len(plan.rows) > SMALL_ROWS or not all(
            is_deterministic(item) for row in plan.rows for item in row
        ):
            return None
        return operators.RowList([[self.sources.constants.place(item) for item in row] for row in plan.rows])

    # ---- scans

    def scan(self, scan: LogicalScan) -> RowOperator | None:
        """Lower a scan to a lookup by key, or to a read of a whole small table."""
        access = row_access(scan.snapshot)
        if access is None or not all(has_python_values(column.type) for column in scan.row()):
            return None
        condition = self.sources.key_of(scan, access)
        exact = () if condition is None else condition.exact
        rest = tuple(part for part in scan.filters if not any(part is done for done in exact))
        reads = self.sources.reads(scan, rest)
        if reads is None:
            return None
        columns, wanted = reads
        source: RowOperator | None
        if condition is not None:
            names = [column.name for column in table_row(scan.table.schema, condition.columns)]
            place = self.sources.add(scan, condition.columns, columns)
            source = operators.RowFind(place, scan.name, self.sources.keys(condition), names)
        elif access.small_rows(columns, SMALL_ROWS) is not None:
            self.is_lookup = False
            table = self.sources.add_table(SmallTable(scan.table, columns))
            source = operators.RowTable(table, scan.name)
        else:
            return None
        if wanted is not None:
            source = self.kept(source, table_row(scan.table.schema, columns), wanted, len(scan.columns))
        if source is None or scan.limit is None:
            return source
        return operators.RowSort(source, (), scan.limit, 0)

    # ---- joins

    def join(self, plan: logical.LogicalJoin) -> RowOperator | None:
        matching = _MATCHING.get(plan.kind)
        if matching is None or not plan.keys:
            return None
        kinds = [key.left.type for key in plan.keys]
        if self.sources.cardinality.rows(plan) > MOST_ESTIMATED:
            return None
        if any(key.left.type != key.right.type for key in plan.keys) or not all(map(is_comparable, kinds)):
            return None
        condition = None if plan.condition is None else self.expression(plan.condition)
        if plan.condition is not None and condition is None:
            return None
        before = self.sources.state()
        found = self.looked_up(plan, matching, condition)
        if found is None and plan.kind is JoinKind.INNER:
            self.sources.restore(before)
            found = self.swapped(plan)
        if found is None:
            self.sources.restore(before)
            found = self.both_sides(plan, matching, condition)
        return found

    def looked_up(
        self, plan: logical.LogicalJoin, matching: Matching, condition: Evaluate | None
    ) -> RowOperator | None:
        """Lower a join that looks up each left row's partners by key; the right side is a table."""
        partners = self.partners(plan.right, [key.right for key in plan.keys])
        if partners is None:
            return None
        found, order = partners
        left = self.lower(plan.left)
        key = self.row([plan.keys[place].left for place in order])
        if left is None or key is None:
            return None
        safe = [plan.keys[place].null_safe for place in order]
        return operators.RowJoin(left, found, key, safe, matching, condition, plan.right.width)

    def swapped(self, plan: logical.LogicalJoin) -> RowOperator | None:
        """Lower an inner join with swapped sides, and restore the order of the columns."""
        keys = tuple(logical.JoinKey(key.right, key.left, key.null_safe) for key in plan.keys)
        left, right = plan.left.width, plan.right.width
        condition = None
        if plan.condition is not None:
            order = {place: place + right if place < left else place - left for place in range(left + right)}
            condition = self.expression(remap(plan.condition, order))
            if condition is None:
                return None
        other = logical.LogicalJoin(plan.right, plan.left, plan.kind, None, keys)
        found = self.looked_up(other, Matching.INNER, condition)
        if found is None:
            return None
        return operators.RowTransform(
            found,
            None,
            lambda rows, _: [row[right:] + row[:right] for row in rows],
            lambda: "Project: sides swapped",
        )

    def both_sides(
        self, plan: logical.LogicalJoin, matching: Matching, condition: Evaluate | None
    ) -> RowOperator | None:
        """Lower a join of two sides with few rows each."""
        left, right = self.lower(plan.left), self.lower(plan.right)
        left_key = self.row([key.left for key in plan.keys])
        right_key = self.row([key.right for key in plan.keys])
        if left is None or right is None or left_key is None or right_key is None:
            return None
        partners = operators.PartnersInTable(right, right_key)
        safe = [key.null_safe for key in plan.keys]
        return operators.RowJoin(left, partners, left_key, safe, matching, condition, plan.right.width)

    def partners(
        self, plan: LogicalPlan, keys: Sequence[Expr]
    ) -> tuple[operators.Partners, tuple[int, ...]] | None:
        """The lookup of a table's rows by the join key, and the indexes of the join key's parts in the order
        of the table's key. None if the columns aren't a key of the table, or if the table's own conditions
        find fewer rows by key."""
        expressions: Sequence[Expr] | None = None
        if isinstance(plan, ProjectPlan):
            expressions, plan = plan.expressions, plan.input
            keys = [expressions[key.ordinal] if isinstance(key, Column) else key for key in keys]
        if not isinstance(plan, LogicalScan) or plan.limit is not None:
            return None
        access = row_access(plan.snapshot)
        if access is None or not all(isinstance(key, Column) for key in keys):
            return None
        if self.sources.key_of(plan, access) is not None:
            return None
        ordinals = [plan.columns[key.ordinal] for key in keys if isinstance(key, Column)]
        for by in access.keys:
            if sorted(by) != sorted(ordinals) or access.row_path(by, plan.columns) is None:
                continue
            reads = self.sources.reads(plan, plan.filters)
            if reads is None:
                return None
            columns, wanted = reads
            test = None if wanted is None else self.expression(wanted)
            if wanted is not None and test is None:
                return None
            cut = first_columns(plan.width) if len(columns) > plan.width else None
            if expressions is not None:
                cut = self.project(expressions, len(columns))
                if cut is None:
                    return None
                cut = None if cut is unchanged else cut
            place = self.sources.add(plan, by, columns)
            return operators.PartnersByKey(place, plan.name, test, cut), tuple(map(ordinals.index, by))
        return None

    # ---- the rest

    def aggregate(self, plan: LogicalAggregate) -> RowOperator | None:
        source, key = self.lower(plan.input), self.row(plan.keys)
        if source is None or key is None or not all(is_comparable(key.type) for key in plan.keys):
            return None
        computes = []
        for call in plan.calls:
            arguments = self.expressions(call.arguments)
            condition = None if call.filter is None else self.expression(call.filter)
            if arguments is None or len(arguments) > 1 or (call.filter is not None and condition is None):
                return None
            argument = arguments[0] if arguments else None
            if call.function == "count" and call.arguments and isinstance(call.arguments[0], Literal):
                argument = None if call.arguments[0].value is not None and not call.distinct else argument
            compute = computed(call, argument, condition)
            if compute is None:
                return None
            computes.append(compute)
        return operators.RowGrouping(source, key if plan.keys else None, computes)

    def sort(self, plan: logical.LogicalSort) -> RowOperator | None:
        source, row = self.lower(plan.input), plan.input.row()
        if source is None or not all(is_comparable(row[key.ordinal].type) for key in plan.keys):
            return None
        order = [
            operators.SortOrder(key.ordinal, descending=key.descending, nulls_first=key.nulls_first)
            for key in plan.keys
        ]
        return operators.RowSort(source, order, plan.limit, plan.offset)


def first_columns(width: int) -> MakeRows:
    """A function that cuts rows to their first columns."""
    return lambda rows, _: [row[:width] for row in rows]


def unchanged(rows: Sequence[Row], _: Sequence[object]) -> Sequence[Row]:
    """Return the rows themselves."""
    return rows
