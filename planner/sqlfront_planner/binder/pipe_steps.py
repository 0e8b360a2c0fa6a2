"""The rules of the SELECTs that the steps EXTEND, SET and AGGREGATE of a pipe ``|>`` become
(:mod:`sqlfront_planner.tokens.pipes`)."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, GroupingOutput, SelectItem, WindowOutput
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.scope import BoundQuery, ScopeColumn, named
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_planner.logical import LogicalProject, PassingPlan
from sqlfront_planner.tokens.marks import PipeMark
from sqlfront_values.expressions import Column, walk

#: What Spark's AGGREGATE doesn't know.
_NOT_AGGREGATED: Final[dict[type, str]] = {
    WindowOutput: (
        "window functions; please update the query to move the window functions to a subsequent |> SELECT "
        "operator instead"
    ),
    GroupingOutput: "grouping functions",
}


def step_of(select: exp.Select) -> str:
    """Return the step of a pipe that a SELECT is: ``extend``, ``set``, ``drop`` or ``aggregate``; empty for
    other SELECTs."""
    source = select.args.get("from_")
    return str(mark_of(source.this) or "") if source is not None else ""


def mark_of(relation: exp.Expr) -> PipeMark | None:
    """Return the mark of a derived table that a step of a pipe reads; None for other relations."""
    alias = relation.args.get("alias") if isinstance(relation, exp.Subquery) else None
    name = alias.this.this if isinstance(alias, exp.TableAlias) and alias.this is not None else None
    return name if isinstance(name, PipeMark) else None


def columns_of(bound: BoundQuery) -> tuple[ScopeColumn, ...]:
    """Return the columns of the query before a step, with their qualifiers. A column that the query has twice
    under one name is one column, so that the name isn't ambiguous, as in Spark."""
    plan, row = bound.plan, bound.plan.row()
    while isinstance(plan, PassingPlan):
        plan = plan.input
    values = plan.expressions if isinstance(plan, LogicalProject) else row
    found: dict[tuple[object, ...], Column] = {}
    columns = []
    qualifiers = bound.qualifiers or ((),) * len(row)
    for name, item, value, qualifier in zip(bound.names, row, values, qualifiers, strict=True):
        if isinstance(value, Column) and qualifier:
            item = found.setdefault((value.ordinal, name, qualifier), item)
        columns.append(ScopeColumn(name, named(item, name), qualifier))
    return tuple(columns)


def check_stars(step: str, nodes: Sequence[exp.Expr]) -> None:
    """Raise INVALID_USAGE_OF_STAR_OR_REGEX for a star among the expressions of EXTEND or AGGREGATE; ``nodes``
    are the items of the SELECT, of which the first one of EXTEND is the star of all columns."""
    written = nodes[1:] if step == "extend" else nodes if step == "aggregate" else ()
    for node in written:
        if node.is_star and not isinstance(node, exp.Anonymous):
            raise failure(
                "INVALID_USAGE_OF_STAR_OR_REGEX", "Invalid usage of '*' in expression `pipeexpression`.", node
            )


def check_keys(select: exp.Select, items: Sequence[SelectItem], binder: ExpressionBinder) -> None:
    """Raise GROUP_BY_AGGREGATE for a key of AGGREGATE with an aggregate function, NotSupportedError for one
    that reads another key by its alias."""
    if step_of(select) != "aggregate":
        return
    for item in items[: _key_count(select)]:
        if any(isinstance(part, AggregateOutput) for part in walk(item.expression)):
            raise failure(
                "GROUP_BY_AGGREGATE",
                f"Aggregate functions are not allowed in GROUP BY, but found {binder.name(item.node)}.",
                item.node,
            )
        if item.uses_alias:
            raise unsupported("A key of |> AGGREGATE that reads another key", item.node)


def _key_count(select: exp.Select) -> int:
    group = select.args.get("group")
    return 0 if group is None else len(group.expressions)


def check_calls(step: str, select: exp.Select, items: Sequence[SelectItem], binder: ExpressionBinder) -> None:
    """Check which of the ``items`` of a SELECT have aggregate functions.

    Raises PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION in EXTEND and SET; for AGGREGATE
    PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION, and
    UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE for window functions."""
    if step in ("extend", "set"):
        for item in _with(items, AggregateOutput):
            raise failure(
                "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION",
                f"Aggregate function {binder.name(item.node)} is not allowed when using the pipe operator |> "
                f"{step.upper()} clause; please use the pipe operator |> AGGREGATE clause instead.",
                item.node,
            )
    if step != "aggregate":
        return
    for kind, shown in _NOT_AGGREGATED.items():
        for item in _with(items, kind):
            raise failure(
                "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE",
                "The feature is not supported: The SQL pipe operator syntax with aggregation (using |> "
                f"AGGREGATE) does not support {shown}.",
                item.node,
            )
    for item in items[_key_count(select) :]:
        if not any(isinstance(part, AggregateOutput) for part in walk(item.expression)) or (
            item.uses_alias and item.node.find(exp.Anonymous) is None
        ):
            raise failure(
                "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION",
                f"Non-grouping expression {binder.name(item.node)} is provided as an argument to the |> "
                "AGGREGATE pipe operator but does not contain any aggregate function; please update it to "
                "include an aggregate function and then retry the query again.",
                item.node,
            )


def _with(items: Sequence[SelectItem], kind: type) -> Iterable[SelectItem]:
    return (item for item in items if any(isinstance(part, kind) for part in walk(item.expression)))


def assigned(items: Sequence[SelectItem], binder: ExpressionBinder) -> list[SelectItem]:
    """Return the columns of SET: those of the pipe, with the only one of ``items`` in the place of the column
    of its name. Raises UNRESOLVED_COLUMN and AMBIGUOUS_REFERENCE for that name."""
    (new,) = items
    old = replace(binder, aliases={}).bind(exp.column(exp.to_identifier(new.name, quoted=True)))
    columns = list(binder.scope.visible())
    if all(column.expression != old for column in columns):
        raise unsupported("SET of a field", new.node)
    return [
        new
        if column.expression == old
        else SelectItem(column.expression, column.name, new.node, column.qualifier, is_column=True)
        for column in columns
    ]
