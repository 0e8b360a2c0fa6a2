"""The text of logical plans: a line per node, with the node's inputs indented below."""

from collections.abc import Iterator

from sqlfront_planner.lateral_joins import LogicalLateralJoin
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
    Subquery,
)
from sqlfront_values.expression_text import (
    describe,
    describe_call,
    describe_key,
    describe_limit,
    describe_order,
)
from sqlfront_values.expressions import Column, Expr, walk


def plan_text(plan: LogicalPlan) -> str:
    """Return the text of a logical plan, a line per node, two spaces of indentation per level. The plans of
    subquery expressions stand below the node that evaluates the expressions."""
    lines: list[str] = []
    waiting: list[tuple[int, LogicalPlan | str]] = [(0, plan)]
    while waiting:
        depth, item = waiting.pop()
        lines.append("  " * depth + (item if isinstance(item, str) else node_text(item)))
        if not isinstance(item, str):
            waiting += reversed(list(_below(item, depth)))
    return "\n".join(lines)


def _below(plan: LogicalPlan, depth: int) -> Iterator[tuple[int, LogicalPlan | str]]:
    """Yield what stands below a node's line, each item with its depth: the plans of the node's subquery
    expressions, after a heading (a text), then the node's inputs. ``depth`` is the depth of the node
    itself."""
    for operand in plan.operands():
        for item in walk(operand):
            if isinstance(item, Subquery):
                yield depth + 1, f"{type(item).__name__}:"
                yield depth + 2, item.plan
    for child in plan.inputs():
        yield depth + 1, child


def node_text(plan: LogicalPlan) -> str:
    """Return the line of one node, without its inputs.

    >>> import pyarrow as pa
    >>> node_text(LogicalLimit(LogicalValues(pa.schema([]), ((),)), 10, 5))
    'Limit: 10 offset 5'
    """
    match plan:
        case LogicalScan():
            return _scan(plan)
        case LogicalValues():
            rows = ", ".join(f"({_list(row)})" for row in plan.rows[:5])
            return f"Values: {rows}{', ...' if len(plan.rows) > 5 else ''}".rstrip()
        case LogicalFilter(condition=condition):
            return f"Filter: {describe(condition)}"
        case LogicalProject():
            items = zip(plan.expressions, plan.names, strict=True)
            return f"Project: {', '.join(_named(expression, name) for expression, name in items)}"
        case LogicalJoin():
            return _join(plan)
        case LogicalLateralJoin(kind=kind, condition=condition):
            return f"LateralJoin: {kind.value}{'' if condition is None else f' on {describe(condition)}'}"
        case LogicalAggregate():
            calls = ", ".join(describe_call(call) for call in plan.calls)
            return f"Aggregate: by [{_list(plan.keys)}]" + (f" {calls}" if calls else "")
        case LogicalWindow():
            return _window(plan)
        case LogicalGenerate():
            outer = "_outer" if plan.outer else ""
            return (
                f"Generate: {plan.generator.value}{outer}({_list(plan.arguments)}) AS {', '.join(plan.names)}"
            )
        case LogicalSort():
            row = plan.input.row()
            keys = ", ".join(describe_key(key, row[key.ordinal].name) for key in plan.keys)
            return f"Sort: {keys}{_limit(plan.limit, plan.offset)}"
        case LogicalLimit():
            return f"Limit: {describe_limit(plan.count, plan.offset, plan.run_count, plan.run_offset)}"
        case LogicalSetOperation(kind=kind):
            return f"SetOperation: {kind.value}"
        case _:
            return plan.label


def _list(expressions: tuple[Expr, ...]) -> str:
    return ", ".join(describe(expression) for expression in expressions)


def _named(expression: Expr, name: str) -> str:
    text = describe(expression)
    return text if isinstance(expression, Column) and expression.name == name else f"{text} AS {name}"


def _limit(count: int | None, offset: int) -> str:
    return (f" limit {count}" if count is not None else "") + (f" offset {offset}" if offset else "")


def _scan(scan: LogicalScan) -> str:
    columns = ", ".join(scan.table.schema.field(ordinal).name for ordinal in scan.columns)
    where = f" where {' AND '.join(describe(item) for item in scan.filters)}" if scan.filters else ""
    return f"Scan: {scan.name} [{columns}]{where}{_limit(scan.limit, 0)}"


def _join(join: LogicalJoin) -> str:
    on = [
        f"{describe(key.left)} {'<=>' if key.null_safe else '='} right.{describe(key.right)}"
        for key in join.keys
    ]
    if join.condition is not None:
        on.append(describe(join.condition))
    return f"Join: {join.kind.value}{' on ' if on else ''}{' AND '.join(on)}"


def _window(window: LogicalWindow) -> str:
    calls = ", ".join(
        f"{describe_call(call)} AS {name}" for call, name in zip(window.calls, window.names, strict=True)
    )
    order = ", ".join(describe(item) + describe_order(order) for item, order in window.order)
    return f"Window: {calls} by [{_list(window.partition)}]{f' order by {order}' if order else ''}"
