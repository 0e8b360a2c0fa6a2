"""Unnesting of subquery expressions into joins."""

from collections.abc import Iterator
from operator import is_not

from msgspec.structs import replace

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.expressions.rewriting import (
    FALSE,
    TRUE,
    columns_to_outer,
    filtered,
    holds_outer_column,
    holds_subquery,
    map_operands,
    selected,
    shift,
    strict_columns,
)
from sqlfront_planner.lateral_joins import LogicalLateralJoin
from sqlfront_planner.logical import (
    Exists,
    InSubquery,
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScalarRow,
    LogicalSort,
    LogicalValues,
    OuterColumn,
    ScalarSubquery,
    Subquery,
    distinct_nodes,
    transform_plan,
)
from sqlfront_planner.rules.subqueries.decorrelation import (
    DecorrelatedSubquery,
    marked,
    over_joined_row,
    simplify_constant,
)
from sqlfront_planner.rules.subqueries.dependent_joins import EnclosingRows, decorrelated
from sqlfront_planner.rules.subqueries.lateral_rows import push_below_laterals, unnest_lateral
from sqlfront_planner.shared_rows import is_repeatable, shared_scan
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    conjunction,
    conjuncts,
    transform,
    walk,
)
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BOOLEAN, VOID


def unnest_subqueries(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Turn every subquery expression into a join.

    A conjunct [NOT] EXISTS becomes a semi (anti) join on the correlation; IN a semi join on the correlation
    and the equality; NOT IN a null-aware anti join. An uncorrelated scalar subquery becomes a cross join with
    its only row, a correlated one a left join with its values for all keys; if an aggregation has a row even
    for no input rows (count: 0), that row replaces a missing match. Anywhere else (below OR, in a SELECT
    list) EXISTS and IN become columns of left joins with the distinct keys. A LATERAL subquery becomes an
    inner or left join on the correlation.

    >>> from sqlfront_planner.testing import example
    >>> print(example(unnest_subqueries, "select a from t where b in (select c from u)"))
    Project: a#0
      Join: semi on b#1 = c#2
        Scan: t [a, b]
        Project: c#1
          Scan: u [a, c]
    """
    return transform_plan(transform_plan(plan, push_below_laterals), lambda node: _unnest(node, settings))


def _unnest(node: LogicalPlan, settings: Settings) -> LogicalPlan:
    if not any(holds_subquery(operand) for operand in node.operands()):
        return node
    match node:
        case LogicalFilter():
            attaching = _Attaching(node.input, settings)
            parts = conjuncts(node.condition)
            attaching.plan = filtered(node.input, tuple(part for part in parts if not holds_subquery(part)))
            rest = tuple(attaching.conjunct(part) for part in parts if holds_subquery(part))
            plan = filtered(attaching.plan, tuple(part for part in rest if part != TRUE))
            return selected(plan, range(node.width))
        case LogicalProject() | LogicalAggregate():
            attaching = _Attaching(node.input, settings)
            operands = tuple(attaching.value(operand) for operand in node.operands())
            return node.with_operands(operands).with_inputs((attaching.plan,))
        case LogicalGenerate():
            attaching = _Attaching(node.input, settings)
            operands = tuple(attaching.value(operand) for operand in node.operands())
            plan = node.with_operands(operands).with_inputs((attaching.plan,))
            return selected(plan, [*range(node.input.width), *range(attaching.plan.width, plan.width)])
        case LogicalLateralJoin():
            return unnest_lateral(node, unnest_subqueries(node.subquery.plan, settings), settings)
        case LogicalJoin(kind=JoinKind.INNER, keys=(), condition=Expr() as condition):
            return _unnest(
                LogicalFilter(LogicalJoin(node.left, node.right, JoinKind.INNER), condition), settings
            )
        case LogicalJoin(keys=(), condition=Expr() as condition):
            return _unnest_condition(node, condition, settings)
        case _:
            raise NotSupportedError(f"a subquery in {node.label} is not supported")


def _unnest_condition(node: LogicalJoin, condition: Expr, settings: Settings) -> LogicalPlan:
    """Turn the subqueries in the condition of an outer, semi or anti join into columns of the join's inputs:
    each of them reads one input alone, as Spark requires."""
    width = node.left.width
    sides = _Attaching(node.left, settings), _Attaching(node.right, settings)
    values: dict[int, tuple[bool, Expr]] = {}
    for subquery in _outermost(condition):
        is_right = any(ordinal >= width for ordinal in _outer_ordinals(subquery))
        value = sides[is_right].value(_moved(subquery, -width) if is_right else subquery)
        values[id(subquery)] = is_right, value
    wider = sides[0].plan.width

    def placed(expression: Expr) -> Expr:
        if id(expression) in values:
            is_right, value = values[id(expression)]
            return shift(value, wider) if is_right else value
        if isinstance(expression, Column):
            return expression if expression.ordinal < width else shift(expression, wider - width)
        children = expression.children()
        return expression.with_children(tuple(map(placed, children))) if children else expression

    joined = LogicalJoin(sides[0].plan, sides[1].plan, node.kind, placed(condition))
    right = [] if node.kind in FILTERING_JOINS else range(wider, wider + node.right.width)
    return selected(joined, [*range(width), *right])


def _outermost(expression: Expr) -> Iterator[Expr]:
    """Yield the subqueries of an expression, NOT IN with its NOT, without subqueries in their operands."""
    match expression:
        case Subquery() | Call(function="not", arguments=(InSubquery(),)):
            yield expression
        case _:
            for child in expression.children():
                yield from _outermost(child)


def _outer_ordinals(expression: Expr) -> Iterator[int]:
    """Yield the ordinals of the columns that an expression reads, those that its subqueries read included."""
    for item in walk(expression):
        if isinstance(item, Column):
            yield item.ordinal
        elif isinstance(item, Subquery):
            operands = (operand for plan in distinct_nodes(item.plan) for operand in plan.operands())
            inner = (part for operand in operands for part in walk(operand))
            yield from (part.ordinal for part in inner if isinstance(part, OuterColumn))


def _moved(expression: Expr, by: int) -> Expr:
    """Return the expression with ``by`` added to the ordinals of all columns that it or its subqueries
    read."""

    def outer(part: Expr) -> Expr:
        return replace(part, ordinal=part.ordinal + by) if isinstance(part, OuterColumn) else part

    def moved(item: Expr) -> Expr:
        if isinstance(item, Subquery):
            plan = transform_plan(
                item.plan, lambda node: map_operands(node, lambda part: transform(part, outer))
            )
            return replace(item, plan=plan)
        return item

    return transform(shift(expression, by), moved)


class _Attaching:
    """The input of one node, joined with the subqueries in the node's expressions. ``plan`` begins as the
    node's input; each join adds columns at the right end only."""

    def __init__(self, plan: LogicalPlan, settings: Settings) -> None:
        self._rows = EnclosingRows(plan)
        self.settings = settings
        self.attached: list[tuple[tuple[Subquery, bool], Expr]] = []

    def conjunct(self, part: Expr) -> Expr:
        """Join the subqueries of a conjunct of a filter, and return the condition that remains to be applied;
        TRUE if the joins apply the conjunct completely."""
        negated = isinstance(part, Call) and part.function == "not"
        subquery = part.arguments[0] if isinstance(part, Call) and negated else part
        if isinstance(subquery, Exists):
            return self.filter_by_existence(subquery, JoinKind.ANTI if negated else JoinKind.SEMI)
        if isinstance(subquery, InSubquery) and not any(map(holds_subquery, subquery.operands)):
            return self.filter_by_membership(subquery, negated)
        return self.value(part)

    def value(self, expression: Expr) -> Expr:
        """Join the subqueries of an expression, and return the expression with each subquery replaced by
        columns of :attr:`plan`."""
        match expression:
            case Call(function="not", arguments=(InSubquery() as subquery,)):
                return self.attach(subquery, negated=True)
            case _:
                children = expression.children()
                changed = tuple(self.value(child) for child in children)
                if any(map(is_not, changed, children)):
                    expression = expression.with_children(changed)
                return self.attach(expression) if isinstance(expression, Subquery) else expression

    def attach(self, subquery: Subquery, *, negated: bool = False) -> Expr:
        for known, value in self.attached:
            if known == (subquery, negated):
                return value
        match subquery:
            case ScalarSubquery():
                value = self.scalar(subquery.plan)
            case Exists():
                value = self.existence(subquery.plan)
            case InSubquery():
                value = self.membership(subquery, negated=negated)
            case _:
                raise AssertionError(f"{type(subquery).__name__} is no kind of subquery")
        self.attached.append(((subquery, negated), value))
        return value

    def pulled(self, plan: LogicalPlan, *, keyed: bool = False, scalar: bool = False) -> DecorrelatedSubquery:
        flat = unnest_subqueries(plan, self.settings)
        return decorrelated(flat, self._rows, self.settings, keyed=keyed, scalar=scalar)

    def join(self, pulled: DecorrelatedSubquery, kind: JoinKind, more: tuple[Expr, ...] = ()) -> None:
        """Join :attr:`plan` with the subquery's plan. The condition is the subquery's predicates and
        ``more``, which are over the joined row."""
        width = self.plan.width
        parts = (*more, *(over_joined_row(part, width) for part in pulled.predicates))
        self.plan = LogicalJoin(self.plan, pulled.plan, kind, conjunction(parts))

    @property
    def plan(self) -> LogicalPlan:
        """The node's input with the columns of the joins so far."""
        return self._rows.plan

    @plan.setter
    def plan(self, plan: LogicalPlan) -> None:
        self._rows.plan = plan

    def same(self, operands: tuple[Expr, ...], pulled: DecorrelatedSubquery) -> tuple[Expr, ...]:
        """Return the conditions of the joined row that each of the ``operands`` of IN equals the subquery's
        value beside it."""
        values = (over_joined_row(value, self.plan.width) for value in pulled.values)
        return tuple(Call(BOOLEAN, "equal", pair) for pair in zip(operands, values, strict=True))

    # ---- conjuncts

    def filter_by_existence(self, subquery: Exists, kind: JoinKind) -> Expr:
        pulled = self.pulled(_for_existence(subquery.plan))
        if pulled.empty is not None:
            return TRUE if kind is JoinKind.SEMI else FALSE
        if not pulled.predicates:
            pulled = replace(pulled, plan=LogicalLimit(pulled.plan, 1))
        self.join(pulled, kind)
        return TRUE

    def filter_by_membership(self, subquery: InSubquery, negated: bool) -> Expr:
        pulled = self.pulled(_for_membership(subquery.plan))
        if pulled.empty is not None:
            pulled = self.pulled(_for_membership(subquery.plan), keyed=True)
        same = self.same(subquery.operands, pulled)
        if not negated:
            self.join(pulled, JoinKind.SEMI, same)
        elif len(same) == 1 and not pulled.predicates and not holds_outer_column(pulled.values[0]):
            self.join(pulled, JoinKind.NULL_AWARE_ANTI, same)
        else:
            # The row is dropped if some row of the subquery is or might be equal: NOT IN is true only if all
            # rows differ.
            maybe = Call(BOOLEAN, "coalesce", (conjunction(same) or TRUE, TRUE))
            self.join(pulled, JoinKind.ANTI, (maybe,))
        return TRUE

    # ---- values

    def scalar(self, plan: LogicalPlan) -> Expr:
        pulled = self.pulled(plan, scalar=True)
        width = self.plan.width
        (value,) = pulled.values
        is_one_row = isinstance(pulled.plan, LogicalValues) and len(pulled.plan.rows) == 1
        if not pulled.predicates and is_one_row and holds_outer_column(value):
            return over_joined_row(value, width)  # SELECT without FROM
        if not pulled.predicates and pulled.empty is None and not holds_outer_column(value):
            row = (
                LogicalProject(pulled.plan, pulled.values, ("",))
                if not isinstance(value, Column)
                else pulled.plan
            )
            only = _only(row, value)
            one = only if _gives_one_row(only) else LogicalScalarRow(only)
            self.plan = LogicalJoin(self.plan, one, JoinKind.INNER)
            return Column(value.type, width)
        if pulled.empty is None and not _is_unique(pulled):
            return self.only_value(self.pulled(plan, keyed=True, scalar=True))
        default = None if pulled.empty is None else simplify_constant(pulled.empty[0], self.settings)
        if default is None or (isinstance(default, Literal) and default.value is None):
            default = None
        # Without a match the left join gives nulls, which suffices if nulls in the columns make the value
        # null.
        if default is None and strict_columns(value):
            self.join(pulled, JoinKind.LEFT)
            return over_joined_row(value, width)
        self.join(replace(pulled, plan=marked(pulled.plan)), JoinKind.LEFT)
        matched = Call(BOOLEAN, "is_not_null", (Column(BOOLEAN, self.plan.width - 1, "matched"),))
        otherwise = Literal(value.type, None) if default is None else over_joined_row(default, width)
        return Case(value.type, ((matched, over_joined_row(value, width)),), otherwise)

    def only_value(self, pulled: DecorrelatedSubquery) -> Expr:
        """Join a scalar subquery that may have several rows, and return the expression of its value: null if
        the subquery has no row. At run time an error is raised if the subquery has several rows for an outer
        row."""
        (value,) = pulled.values
        calls = (AggregateCall("count", (), BIGINT), AggregateCall("any_value", (value,), value.type))
        self.join(_distinct_keys(pulled, calls), JoinKind.LEFT)
        count, only = self.plan.row()[-3:-1]
        several = Call(BOOLEAN, "greater", (count, Literal(BIGINT, 1)))
        return Case(value.type, ((several, Cast(value.type, Call(VOID, "too many rows", ()))),), only)

    def existence(self, plan: LogicalPlan) -> Expr:
        pulled = self.pulled(_for_existence(plan))
        if pulled.empty is not None:
            return TRUE
        width = self.plan.width
        if not pulled.predicates:
            count = LogicalAggregate(
                LogicalLimit(pulled.plan, 1), (), (AggregateCall("count", (), BIGINT),), ("n",)
            )
            self.plan = LogicalJoin(self.plan, count, JoinKind.INNER)
            return Call(BOOLEAN, "greater", (Column(BIGINT, width, "n"), Literal(BIGINT, 0)))
        self.join(_distinct_keys(self.pulled(_for_existence(plan), keyed=True), ()), JoinKind.LEFT)
        return Call(BOOLEAN, "is_not_null", (Column(BOOLEAN, self.plan.width - 1, "matched"),))

    def membership(self, subquery: InSubquery, *, negated: bool) -> Expr:
        """Join the subquery of IN or, with ``negated``, NOT IN, and return the expression of its value. As in
        Spark, the value is never null: IN is TRUE if a row is equal, else FALSE; NOT IN is TRUE if every row
        is known to differ, else FALSE."""
        if negated and len(subquery.operands) != 1:
            return Call(BOOLEAN, "not", (self.existence(_maybe_equal(subquery)),))
        pulled = self.pulled(_for_membership(subquery.plan), keyed=True)
        if negated and not is_repeatable(pulled.plan):  # the plan is read twice
            pulled = replace(pulled, plan=shared_scan("subquery", pulled.plan))
        keys = _distinct_keys(pulled, (), pulled.values)
        self.join(keys, JoinKind.LEFT, self.same(subquery.operands, keys))
        matched = Call(BOOLEAN, "is_not_null", (Column(BOOLEAN, self.plan.width - 1, "matched"),))
        if not negated:
            return matched
        (operand,) = subquery.operands
        count, known = self.counts(pulled)
        none = Call(BOOLEAN, "equal", (_or_zero(count), Literal(BIGINT, 0)))
        unsure = Call(
            BOOLEAN, "or", (Call(BOOLEAN, "is_null", (operand,)), Call(BOOLEAN, "less", (known, count)))
        )
        return Case(BOOLEAN, ((matched, FALSE), (none, TRUE), (unsure, FALSE)), TRUE)

    def counts(self, pulled: DecorrelatedSubquery) -> tuple[Column, Column]:
        """Join two columns, and return them: the number of the subquery's rows for the outer row, and the
        number of these rows whose value isn't null. Both are null if a correlated subquery has no row."""
        rows = AggregateCall("count", (), BIGINT)
        known = AggregateCall("count", pulled.values, BIGINT)
        if pulled.predicates:
            self.join(_distinct_keys(pulled, (rows, known)), JoinKind.LEFT)
            row = self.plan.row()
            return row[-3], row[-2]
        counted = LogicalAggregate(pulled.plan, (), (rows, known), ("rows", "known"))
        self.plan = LogicalJoin(self.plan, counted, JoinKind.INNER)
        row = self.plan.row()
        return row[-2], row[-1]


def _or_zero(count: Column) -> Expr:
    return Call(BIGINT, "coalesce", (count, Literal(BIGINT, 0)))


def _only(plan: LogicalPlan, value: Expr) -> LogicalPlan:
    return selected(plan, (value.ordinal,)) if isinstance(value, Column) else plan


def _gives_one_row(plan: LogicalPlan) -> bool:
    while isinstance(plan, LogicalProject | LogicalSort):
        plan = plan.input
    return isinstance(plan, LogicalAggregate) and not plan.keys


def _is_unique(pulled: DecorrelatedSubquery) -> bool:
    """Return whether at most one row of the plan satisfies the predicates for each outer row: by LIMIT 1, or
    because the predicates fix the values of all grouping keys."""
    if pulled.limited:
        return True
    plan = pulled.plan
    while isinstance(plan, LogicalFilter):
        plan = plan.input
    fixed = {
        side.ordinal
        for part in pulled.predicates
        if isinstance(part, Call) and part.function in ("equal", "equal_null_safe")
        for side in part.arguments
        if isinstance(side, Column)
    }
    return isinstance(plan, LogicalAggregate) and fixed >= set(range(len(plan.keys)))


def _maybe_equal(subquery: InSubquery) -> LogicalPlan:
    """Return the plan of the rows of IN's subquery that are or might be equal to the operands, which the plan
    reads as columns of the enclosing row."""
    values = subquery.plan.row()
    operands = map(columns_to_outer, subquery.operands)
    same = tuple(Call(BOOLEAN, "equal", pair) for pair in zip(operands, values, strict=True))
    return LogicalFilter(subquery.plan, Call(BOOLEAN, "coalesce", (conjunction(same) or TRUE, TRUE)))


def _distinct_keys(
    pulled: DecorrelatedSubquery, calls: tuple[AggregateCall, ...], keys: tuple[Expr, ...] = ()
) -> DecorrelatedSubquery:
    """Group the rows of a subquery, whose predicates are equalities, by ``keys`` and the inner sides of the
    predicates. A row of the result has the keys, its values, then the inner sides, the values of ``calls``,
    and TRUE as its last column."""
    inner, tied = pulled.equalities()
    names = (*("" for _ in (*keys, *inner)), *(call.function for call in calls))
    grouped = LogicalAggregate(pulled.plan, (*keys, *inner), calls, names)
    plan = marked(grouped)
    return DecorrelatedSubquery(plan, tied(len(keys)), plan.row()[: len(keys)])


def _for_existence(plan: LogicalPlan) -> LogicalPlan:
    """Simplify a plan of which only matters whether it has rows: the result has rows exactly if ``plan`` has
    rows."""
    match plan:
        case LogicalProject() | LogicalSort(limit=None, offset=0):
            return _for_existence(plan.input)
        case LogicalLimit(count=count, offset=0) if count is None or count > 0:
            return _for_existence(plan.input)
        case LogicalSort(limit=int() as count, offset=0) if count > 0:
            return _for_existence(plan.input)
        case LogicalAggregate(keys=(_, *_)):
            return _for_existence(plan.input)
        case _:
            return plan


def _for_membership(plan: LogicalPlan) -> LogicalPlan:
    """Simplify a plan of which only the set of distinct rows matters: the result may have another order and
    other repetitions."""
    match plan:
        case LogicalSort(limit=None, offset=0):
            return _for_membership(plan.input)
        case LogicalAggregate(calls=(), keys=(_, *_)):
            return LogicalProject(plan.input, plan.keys, plan.names)
        case _:
            return plan
