"""Helpers of the rules: rewriting of expressions over one row as expressions over another row, and properties
of expressions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from operator import is_not
from typing import Final

from msgspec import structs

from sqlfront_planner.logical import (
    LogicalFilter,
    LogicalPlan,
    LogicalProject,
    OuterColumn,
    Subquery,
    distinct_nodes,
    transform_plan,
)
from sqlfront_values.expressions import (
    Call,
    Case,
    Cast,
    Chain,
    Column,
    Expr,
    HigherOrder,
    Literal,
    Parameter,
    Previous,
    RunValue,
    conjunction,
    connected,
    map_columns,
    operands_of,
    walk,
)
from sqlfront_values.functions import registry
from sqlfront_values.types import BOOLEAN

TRUE: Final = Literal(BOOLEAN, True)
FALSE: Final = Literal(BOOLEAN, False)
UNKNOWN: Final = Literal(BOOLEAN, None)

COMPARISONS: Final = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})

#: Nodes of an expression in its digest: enough to tell the expression from most others, few enough that
#: digests of deep expressions take constant time.
_COMPARED: Final = 8
#: Types of literals' values that can be hashed.
_HASHED: Final = (int, str, bytes, float, Decimal)
#: Functions that give no value but an error.
_RAISING: Final = frozenset({"assert_true", "raise_error", "null in a required column"})

#: The equivalent comparison with swapped operands.
MIRRORED: Final = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal_null_safe": "equal_null_safe",
}


def shift(expression: Expr, by: int) -> Expr:
    """Return the expression for a row that has ``by`` more columns in front: the ordinals of its columns grow
    by ``by``."""
    if by == 0:
        return expression
    if isinstance(expression, Column):
        return Column(expression.type, expression.ordinal + by, expression.name)
    return map_columns(expression, lambda column: Column(column.type, column.ordinal + by, column.name))


def remap(expression: Expr, places: Mapping[int, int] | Sequence[int]) -> Expr:
    """Return the expression for a row in which the column ``i`` has the ordinal ``places[i]``. Raises
    LookupError for a column without an entry in ``places``."""

    def move(column: Column) -> Expr:
        place = places[column.ordinal]
        return column if place == column.ordinal else Column(column.type, place, column.name)

    return map_columns(expression, move)


def substitute(expression: Expr, values: Sequence[Expr] | Mapping[int, Expr]) -> Expr:
    """Return the expression with every column ``i`` replaced by ``values[i]``. With a projection's
    expressions as ``values``, an expression over the projection's output becomes one over its input."""
    return map_columns(expression, lambda column: values[column.ordinal])


def columns_to_outer(expression: Expr) -> Expr:
    """Return the expression for use inside a subquery: each column, now a column of the enclosing row,
    becomes an :class:`OuterColumn`."""
    return map_columns(expression, lambda column: OuterColumn(column.type, column.ordinal, column.name))


def nameless(expression: Expr) -> Expr:
    """Return the expression without the names of its columns, so that ``==`` compares only what is computed.

    >>> import pyarrow as pa
    >>> nameless(Column(pa.int32(), 1, "a")) == nameless(Column(pa.int32(), 1, "b"))
    True
    """
    return map_columns(
        expression, lambda column: Column(column.type, column.ordinal) if column.name else column
    )


def without_repeats(expressions: Iterable[Expr]) -> tuple[Expr, ...]:
    """Return the expressions in their order, without those that compute the same as an earlier expression;
    columns are compared by ordinal, not by name."""
    given = tuple(expressions)
    if len(given) < 2:
        return given
    kept: list[Expr] = []
    # Keyed by a hashable digest of the expression, since not all literals can be hashed.
    seen: dict[object, list[Expr]] = {}
    for expression in given:
        meaning = nameless(expression)
        alike = seen.setdefault(_resemblance(meaning), [])
        if meaning not in alike:
            alike.append(meaning)
            kept.append(expression)
    return tuple(kept)


def _resemblance(expression: Expr) -> object:
    """Return a hashable value that is equal for equal expressions, and different for most others; it looks at
    the first nodes of the expression only."""
    if isinstance(expression, Literal) and isinstance(expression.value, _HASHED):
        return expression.value
    parts: list[object] = []
    for item in islice(walk(expression), _COMPARED):
        match item:
            case Column(ordinal=ordinal):
                parts.append(ordinal)
            case Literal(value=value) if isinstance(value, _HASHED):
                parts.append(value)
            case Parameter(index=index):
                parts.append(index)
            case _:
                parts.append(type(item))
    return tuple(parts)


def is_deterministic(expression: Expr) -> bool:
    """Return whether the expression's value depends on the row only, so that the value may be computed at
    another place of the plan, several times, or not at all."""
    return all(map(_is_deterministic_itself, _calls(expression)))


def is_random(expression: Expr) -> bool:
    """Return whether the expression's value may differ between two evaluations for the same row, which Spark
    calls non-deterministic. A call that only raises an error stays at its place of the plan as well, but is
    not random."""
    return any(
        call.function not in _RAISING and not _is_deterministic_itself(call) for call in _calls(expression)
    )


def _calls(expression: Expr) -> Iterator[Call]:
    """Yield the calls in an expression, those in the bodies of lambdas included."""
    items = [expression]
    for item in items:  # grows
        if isinstance(item, Call):
            yield item
        items += item.children()
        if isinstance(item, HigherOrder):
            items += [function.body for function in item.lambdas]


def _is_deterministic_itself(call: Call) -> bool:
    entry = registry.lookup(call.function)
    return entry is None or entry.deterministic


def is_null_propagating(call: Call) -> bool:
    """Return whether the call is null whenever one of its operands is null."""
    if call.function in ("and", "or"):
        return False
    entry = registry.lookup(call.function)
    return entry is not None and entry.null_propagating


def is_fixed(expression: Expr) -> bool:
    """Return whether the expression has one value for all rows of a run: it is deterministic and reads no
    column."""
    return all(map(_is_fixed_itself, walk(expression)))


def _is_fixed_itself(expression: Expr) -> bool:
    match expression:
        case Literal() | Parameter() | RunValue() | Cast() | Case() | Chain() | Previous():
            return True
        case Call():
            return _is_deterministic_itself(expression)
        case HigherOrder(lambdas=lambdas):
            return all(is_deterministic(function.body) for function in lambdas)
        case _:
            return False


def is_trivial(expression: Expr) -> bool:
    """Return whether the expression is a column or a literal, which costs nothing to compute twice."""
    return isinstance(expression, Column | Literal)


def holds_subquery(expression: Expr) -> bool:
    """Return whether the expression has a subquery at any depth."""
    return any(isinstance(item, Subquery) for item in walk(expression))


def holds_outer_column(expression: Expr) -> bool:
    """Return whether the expression reads the enclosing query's row."""
    return any(isinstance(item, OuterColumn) for item in walk(expression))


def is_correlated(plan: LogicalPlan) -> bool:
    """Return whether the plan of a subquery reads columns of the enclosing row."""
    return any(holds_outer_column(operand) for node in distinct_nodes(plan) for operand in node.operands())


def disjuncts(expression: Expr) -> tuple[Expr, ...]:
    """Return the operands of a (nested) OR, left to right; for any other expression a tuple of the expression
    alone."""
    return operands_of("or", expression)


def disjunction(parts: tuple[Expr, ...]) -> Expr:
    """Return the conditions ``parts`` joined by OR; FALSE if there are none."""
    return connected("or", parts) if parts else FALSE


def map_operands(plan: LogicalPlan, rewrite: Callable[[Expr], Expr]) -> LogicalPlan:
    """Return the node with ``rewrite`` applied to each of the expressions that it evaluates; the node itself
    if no expression changes."""
    operands = plan.operands()
    if not operands:
        return plan
    changed = tuple([rewrite(operand) for operand in operands])
    return plan.with_operands(changed) if any(map(is_not, changed, operands)) else plan


def rewrite_operands(plan: LogicalPlan, rewrite: Callable[[Expr], Expr]) -> LogicalPlan:
    """Return the plan with ``rewrite`` applied to each expression that a node evaluates. ``rewrite`` is given
    complete expressions; it must itself descend into their parts, and into the plans of subqueries
    (:func:`within`)."""
    return transform_plan(plan, lambda node: map_operands(node, rewrite))


def within(subquery: Subquery, rewrite: Callable[[LogicalPlan], LogicalPlan]) -> Subquery:
    """Return the subquery with ``rewrite`` applied to its plan; the subquery itself if the plan doesn't
    change."""
    plan = rewrite(subquery.plan)
    return subquery if plan is subquery.plan else structs.replace(subquery, plan=plan)


def filtered(plan: LogicalPlan, parts: tuple[Expr, ...]) -> LogicalPlan:
    """Return a plan of the rows of ``plan`` that satisfy all of the conditions ``parts``; ``plan`` itself if
    there are none."""
    condition = conjunction(parts)
    return plan if condition is None else LogicalFilter(plan, condition)


def selected(plan: LogicalPlan, ordinals: Sequence[int]) -> LogicalPlan:
    """Return a plan with the columns ``ordinals`` of ``plan``, in this order; ``plan`` itself if these are
    all of its columns in their order."""
    if list(ordinals) == list(range(plan.width)):
        return plan
    row = plan.row()
    columns = tuple([row[ordinal] for ordinal in ordinals])
    return LogicalProject(plan, columns, tuple([column.name for column in columns]))


def null_rejected_columns(condition: Expr) -> frozenset[int]:
    """Return the ordinals of the columns that make the condition false or null whenever any one of them is
    null, so that the row is dropped.

    >>> import pyarrow as pa
    >>> a, b = Column(pa.int32(), 0, "a"), Column(pa.int32(), 1, "b")
    >>> null_rejected_columns(Call(BOOLEAN, "or", (Call(BOOLEAN, "is_not_null", (a,)), b)))
    frozenset()
    """
    match condition:
        case Call(function="and", arguments=parts):
            return frozenset().union(*(null_rejected_columns(part) for part in parts))
        case Call(function="or", arguments=(first, *rest)):
            return null_rejected_columns(first).intersection(*(null_rejected_columns(part) for part in rest))
        case Call(function="is_not_null" | "in", arguments=(operand, *_)):
            return strict_columns(operand)
        case _:
            return strict_columns(condition)


def strict_columns(expression: Expr) -> frozenset[int]:
    """Return the ordinals of the columns that make the expression null whenever any one of them is null."""
    found: set[int] = set()
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case Column(ordinal=ordinal):
                found.add(ordinal)
            case Cast(operand=operand):
                waiting.append(operand)
            case Call() as call if is_null_propagating(call):
                waiting += call.arguments
    return frozenset(found)
