"""The dependent join: a correlated subquery computed for all values of the enclosing row that it reads.

The method is that of Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015). The distinct values of the
columns that the subquery reads are joined with the subquery where it reads them; every operator above then
works on each combination of values for itself: it groups, partitions or compares by these values, too. This
method unnests any operator, but reads the enclosing rows twice;
:mod:`~sqlfront_planner.rules.subqueries.decorrelation` does without where it can.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.expressions.rewriting import (
    FALSE,
    filtered,
    holds_outer_column,
    is_correlated,
    is_deterministic,
    selected,
    shift,
    substitute,
)
from sqlfront_planner.lateral_joins import gives_one_row_at_most
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    OuterColumn,
    call_operands,
    distinct_nodes,
    transform_plan,
    with_call_operands,
)
from sqlfront_planner.recursion import LevelRows
from sqlfront_planner.rules.subqueries.decorrelation import (
    DecorrelatedSubquery,
    NotLiftedError,
    empty_value,
    marked,
    pull_up,
)
from sqlfront_planner.shared_rows import shared_scan
from sqlfront_planner.types import is_orderable
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import (
    Call,
    Case,
    Column,
    Expr,
    FrameUnit,
    Literal,
    SortOrder,
    WindowCall,
    WindowFrame,
    conjunction,
    map_columns,
    transform,
    walk,
)
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep
from sqlfront_values.types import BOOLEAN, INT


class EnclosingRows:
    """The rows that correlated subqueries read: the rows of ``plan``, which :meth:`reread` may change to a
    plan of the same rows that costs little to read twice."""

    def __init__(self, plan: LogicalPlan) -> None:
        self.plan = plan

    def reread(self) -> LogicalPlan:
        """Return the plan, for a second place in the query; afterwards the first place must read
        :attr:`plan`, too. The rows are computed once, unless they are those of a table, filtered. Raises
        NotSupportedError for rows of nondeterministic functions inside of a subquery."""
        if is_correlated(self.plan):
            nodes = distinct_nodes(self.plan)
            if not all(is_deterministic(operand) for node in nodes for operand in node.operands()):
                raise NotSupportedError("a subquery of nondeterministic rows of a subquery is not supported")
        elif not _is_cheap(self.plan) and not _reads_level(self.plan):
            self.plan = shared_scan("enclosing rows", self.plan)
        return self.plan


def _reads_level(plan: LogicalPlan) -> bool:
    """Return whether the plan reads the level of a recursion, whose rows change while the query runs."""
    scans = (node for node in distinct_nodes(plan) if isinstance(node, LogicalScan))
    return any(isinstance(scan.table, LevelRows) for scan in scans)


def _is_cheap(plan: LogicalPlan) -> bool:
    """Return whether the plan's rows are those of a table or of VALUES, filtered and projected."""
    while isinstance(plan, LogicalFilter | LogicalProject):
        if not all(map(is_deterministic, plan.operands())):
            return False
        plan = plan.input
    return isinstance(plan, LogicalScan | LogicalValues)


def decorrelated(
    plan: LogicalPlan, rows: EnclosingRows, settings: Settings, *, keyed: bool = False, scalar: bool = False
) -> DecorrelatedSubquery:
    """Decorrelate the plan of a subquery that reads a row of ``rows``. With ``keyed`` the result's predicates
    are equalities between a side that reads the subquery's row alone and one that reads the enclosing row
    alone, its values read the subquery's row alone, and it has no row for groups without rows (``empty``).

    ``scalar``: the subquery is a value. In Spark an aggregation without GROUP BY below its topmost
    aggregation then has no row for no rows, unless one of its functions isn't null there (``count``)."""
    try:
        pulled = pull_up(plan, settings)
        if keyed:
            pulled.equalities()
            if pulled.empty is not None or any(map(holds_outer_column, pulled.values)):
                raise NotLiftedError("a value of the outer row")
    except NotLiftedError:
        return _over_values(plan, rows, keyed=keyed, scalar=scalar)
    return pulled


def _over_values(
    plan: LogicalPlan, rows: EnclosingRows, *, keyed: bool, scalar: bool
) -> DecorrelatedSubquery:
    """Return the rows of a correlated subquery for all values that it reads of ``rows``: behind these values,
    which the predicates compare with the enclosing row's. ``keyed``, ``scalar``: see
    :func:`decorrelated`."""
    read: dict[int, OuterColumn] = {}
    for node in distinct_nodes(plan):
        for operand in node.operands():
            read |= {item.ordinal: item for item in walk(operand) if isinstance(item, OuterColumn)}
    columns = [read[ordinal] for ordinal in sorted(read)]
    if not all(is_orderable(column.type) for column in columns):
        raise NotSupportedError("a correlated subquery that reads a map in this way is not supported")
    below = selected(rows.reread(), [column.ordinal for column in columns])
    domain = LogicalAggregate(below, below.row(), (), tuple(column.name for column in columns))
    places = {column.ordinal: place for place, column in enumerate(columns)}
    joined = _DependentJoin(domain, places, _topmost_aggregate(plan) if scalar else None)
    base = plan
    items: tuple[Expr, ...] = plan.row()
    while isinstance(base, LogicalProject):
        items = tuple(substitute(item, base.expressions) for item in items)
        base = base.input
    empty = None
    if isinstance(base, LogicalAggregate) and not base.keys and not keyed:
        result = joined.groups(base)
        nothing = tuple(map(empty_value, base.calls))
        empty = tuple(substitute(item, nothing) for item in items)
    else:
        result, items = joined.over(plan), plan.row()
    if joined.uses > 1 and not is_correlated(domain) and not _reads_level(domain):
        once = shared_scan("outer values", domain)
        result = transform_plan(result, lambda node: once if node is domain else node)
    predicates = tuple(
        Call(BOOLEAN, "equal_null_safe", (value, outer))
        for value, outer in zip(domain.row(), columns, strict=True)
    )
    row = result.row()[domain.width :]
    values = tuple(substitute(item, row) for item in items)
    return DecorrelatedSubquery(result, predicates, values, empty, limited=gives_one_row_at_most(plan))


def _topmost_aggregate(plan: LogicalPlan) -> LogicalPlan | None:
    """Return the aggregation at the top of a plan, below operators that only compute, filter and order."""
    while isinstance(plan, LogicalProject | LogicalFilter | LogicalSort | LogicalLimit):
        plan = plan.input
    return plan if isinstance(plan, LogicalAggregate) else None


class _DependentJoin:
    """The join of ``domain``, the values that a subquery reads, with the subquery's operators. ``places``:
    the domain's column for each ordinal of the enclosing row. ``topmost``: the only aggregation that has a
    row of nulls for no rows; None = all have one. ``uses`` counts the places of the domain."""

    def __init__(
        self, domain: LogicalPlan, places: Mapping[int, int], topmost: LogicalPlan | None = None
    ) -> None:
        self.domain = domain
        self.places = places
        self.topmost = topmost
        self.width = domain.width
        self.uses = 0

    @deep
    def over(self, plan: LogicalPlan) -> LogicalPlan:
        """Return the rows of ``plan`` for all values of the domain: the row is a row of the domain, followed
        by a row that ``plan`` has for it."""
        if not is_correlated(plan):
            return LogicalJoin(self._domain(), plan, JoinKind.INNER)
        match plan:
            case LogicalFilter():
                return LogicalFilter(self.over(plan.input), self._placed(plan.condition))
            case LogicalProject():
                below = self.over(plan.input)
                items = (*below.row()[: self.width], *map(self._placed, plan.expressions))
                return LogicalProject(below, items, (*self._names(), *plan.names))
            case LogicalJoin():
                return self._join(plan)
            case LogicalAggregate():
                return self._aggregate(plan)
            case LogicalSort(limit=None, offset=0):
                return self.over(plan.input)
            case LogicalLimit() | LogicalSort():
                return self._limit(plan)
            case LogicalWindow():
                below = self.over(plan.input)
                window = plan.with_operands(tuple(map(self._placed, plan.operands())))
                assert isinstance(window, LogicalWindow)
                partition = (*below.row()[: self.width], *window.partition)
                return replace(window, input=below, partition=partition)
            case LogicalGenerate():
                generate = plan.with_operands(tuple(map(self._placed, plan.operands())))
                return replace(generate, input=self.over(plan.input))
            case LogicalSetOperation():
                return replace(plan, branches=tuple(map(self.over, plan.branches)))
            case _:
                raise NotSupportedError(
                    f"a correlated subquery with the outer column inside of {plan.label} is not supported"
                )

    def _domain(self) -> LogicalPlan:
        self.uses += 1
        return self.domain

    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.domain.row())

    def _placed(self, expression: Expr) -> Expr:
        """Translate an expression over a row of the subquery and the enclosing row to one over the row that
        has the domain's columns in front."""
        return self._read(shift(expression, self.width), 0)

    def _read(self, expression: Expr, start: int) -> Expr:
        """Return the expression with the enclosing row's columns read from the domain's columns, which begin
        at ``start``."""

        def read(item: Expr) -> Expr:
            if not isinstance(item, OuterColumn):
                return item
            return Column(item.type, start + self.places[item.ordinal], item.name)

        return transform(expression, read)

    def groups(self, plan: LogicalAggregate) -> LogicalPlan:
        """Return the groups of an aggregation for all values of the domain for which its input has rows."""
        below = self.over(plan.input)
        domain = below.row()[: self.width]
        keys = (*domain, *map(self._placed, plan.keys))
        calls = tuple(
            with_call_operands(call, iter(tuple(map(self._placed, call_operands(call)))))
            for call in plan.calls
        )
        return LogicalAggregate(below, keys, calls, (*self._names(), *plan.names))

    def _aggregate(self, plan: LogicalAggregate) -> LogicalPlan:
        grouped = self.groups(plan)
        empty = tuple(map(empty_value, plan.calls))
        nulls = [isinstance(value, Literal) and value.value is None for value in empty]
        is_lost = self.topmost is not None and self.topmost is not plan and all(nulls)
        if plan.keys or is_lost:
            return grouped
        # Without GROUP BY there is a row even for values for which the input has no row.
        right, first = marked(grouped), self._domain()
        joined = LogicalJoin(first, right, JoinKind.LEFT, self._same(0, self.width))
        row = joined.row()
        found = Call(BOOLEAN, "is_not_null", (row[-1],))
        values: list[Expr] = list(row[: self.width])
        for value, nothing, is_null in zip(row[2 * self.width : -1], empty, nulls, strict=True):
            values.append(value if is_null else Case(value.type, ((found, value),), nothing))
        return LogicalProject(joined, tuple(values), (*self._names(), *plan.names))

    def _same(self, first: int, second: int) -> Expr | None:
        """Return the condition that two sets of the domain's columns, which begin at the ordinals ``first``
        and ``second``, have equal values."""
        pairs = ((shift(column, first), shift(column, second)) for column in self.domain.row())
        return conjunction(tuple(Call(BOOLEAN, "equal_null_safe", pair) for pair in pairs))

    def _limit(self, plan: LogicalLimit | LogicalSort) -> LogicalPlan:
        """Return the first rows for each value of the domain: those with the first row numbers."""
        below = plan.input
        if isinstance(plan, LogicalLimit) and isinstance(below, LogicalProject):
            return self.over(replace(below, input=replace(plan, input=below.input)))
        count = plan.count if isinstance(plan, LogicalLimit) else plan.limit
        keys = plan.keys if isinstance(plan, LogicalSort) else ()
        if isinstance(plan, LogicalLimit) and isinstance(below, LogicalSort):
            keys = below.keys
            below = below if below.limit is not None or below.offset else below.input
        rows = self.over(below)
        row = rows.row()
        order = tuple((row[self.width + key.ordinal], key.order) for key in keys)
        number = WindowCall("row_number", (), INT, WindowFrame(FrameUnit.ROWS, None, 0))
        domain = row[: self.width]
        window = LogicalWindow(
            rows, domain, order or ((domain[0], SortOrder.ASCENDING),), (number,), ("row_number",)
        )
        place = Column(INT, rows.width, "row_number")
        parts: list[Expr] = [FALSE] if count == 0 else []
        if count:
            last = Literal(INT, min(count + plan.offset, 2**31 - 1))
            parts.append(Call(BOOLEAN, "less_equal", (place, last)))
        if plan.offset:
            parts.append(Call(BOOLEAN, "greater", (place, Literal(INT, plan.offset))))
        return selected(filtered(window, tuple(parts)), range(rows.width))

    # ---- joins

    def _join(self, plan: LogicalJoin) -> LogicalPlan:
        """Return a join for all values of the domain. The domain is joined with the left input alone, or with
        the right one alone, if the other is not correlated and the kind of join allows it, else with both."""
        on = conjunction(
            (
                *(key.over_both(plan.left.width) for key in plan.keys),
                *(() if plan.condition is None else (plan.condition,)),
            )
        )
        width, left_width = self.width, plan.left.width
        if plan.kind not in (JoinKind.RIGHT, JoinKind.FULL) and not is_correlated(plan.right):
            condition = None if on is None else self._placed(on)
            return LogicalJoin(self.over(plan.left), plan.right, plan.kind, condition)
        if plan.kind in (JoinKind.INNER, JoinKind.RIGHT) and not is_correlated(plan.left):
            condition = None if on is None else self._read(_behind(on, left_width, width), left_width)
            joined = LogicalJoin(plan.left, self.over(plan.right), plan.kind, condition)
            order = (*range(left_width, left_width + width), *range(left_width))
            return selected(joined, (*order, *range(left_width + width, joined.width)))
        return self._join_both(plan, on)

    def _join_both(self, plan: LogicalJoin, on: Expr | None) -> LogicalPlan:
        """Return a join of both inputs for all values of the domain: on their values of the domain, too."""
        if plan.kind is JoinKind.FULL:
            raise NotSupportedError("a FULL JOIN on a condition on the outer column is not supported")
        left, width = self.over(plan.left), self.width
        parts: list[Expr | None] = [self._same(0, left.width)]
        if on is not None:
            parts.append(self._read(_behind(shift(on, width), left.width, width), 0))
        condition = conjunction(tuple(part for part in parts if part is not None))
        joined = LogicalJoin(left, self.over(plan.right), plan.kind, condition)
        if plan.kind in FILTERING_JOINS:
            return joined
        first = left.width if plan.kind is JoinKind.RIGHT else 0
        rest = (*range(width, left.width), *range(left.width + width, joined.width))
        return selected(joined, (*range(first, first + width), *rest))


def _behind(expression: Expr, first: int, by: int) -> Expr:
    """Return the expression for a row that has ``by`` more columns before its column ``first``."""
    return map_columns(expression, lambda item: shift(item, by) if item.ordinal >= first else item)
