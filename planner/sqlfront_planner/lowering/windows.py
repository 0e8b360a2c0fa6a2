"""Lowering of window functions: all rows of a window's partition come to one instance."""

from sqlfront_engine.processors.window import Window as WindowProcessor
from sqlfront_planner.logical import LogicalWindow
from sqlfront_planner.lowering.builder import Builder, Fragment
from sqlfront_values.expressions import Call, Column, Expr, Literal, SortKey, conjuncts


def lower_window(
    builder: Builder,
    plan: LogicalWindow,
    partition: tuple[int, ...],
    order: tuple[SortKey, ...],
    source: Fragment,
    most: int | None = None,
) -> Fragment:
    """Lower a window over ``source``, the lowered input. ``partition`` and ``order`` are ordinals of the
    source's row; the columns that the window's calls read are ordinals of that row, too. ``most``: only so
    many rows of each partition are wanted, the first in the order (None = all)."""
    processor = WindowProcessor(partition, order, plan.calls, plan.schema, most)
    stays = source.partitioned is not None and set(source.partitioned) <= set(partition)
    exchange = builder.exchanges(builder.cardinality.rows(plan.input))
    if not source.parallel or not partition or not (stays or exchange):
        unordered = Fragment(source.vertex, source.parallel, in_pieces=source.in_pieces)
        return builder.gather("window", processor, unordered)
    vertex = builder.vertex("window", processor, parallel=True)
    if stays:
        builder.keep(source, vertex)
        return Fragment(vertex, True, source.partitioned, partitions=source.partitions, in_pieces=True)
    builder.spread(source, vertex, partition)
    return Fragment(vertex, True, partition, in_pieces=True)


def most_rows(plan: LogicalWindow, condition: Expr | None) -> int | None:
    """Return the number of first rows of each partition that a filter above the window can keep, as ``WHERE
    row_number <= 3`` does; None if the filter has no such bound, or if the window has other calls, whose
    results may depend on the further rows."""
    if condition is None or any(call.function != "row_number" for call in plan.calls):
        return None
    bounds = [bound for part in conjuncts(condition) if (bound := _bound(part, plan.input.width)) is not None]
    return max(min(bounds), 0) if bounds else None


def _bound(condition: Expr, width: int) -> int | None:
    """Return the largest number of a row that the condition allows; the columns from ``width`` on are the
    numbers of rows. None if the condition has another form."""
    match condition:
        case Call(
            function="less_equal" | "less" | "equal" as function,
            arguments=(Column(ordinal=place), Literal(value=int() as value)),
        ):
            pass
        case Call(
            function="greater_equal" | "greater" | "equal" as function,
            arguments=(Literal(value=int() as value), Column(ordinal=place)),
        ):
            pass
        case _:
            return None
    if place < width:
        return None
    return value - 1 if function in ("less", "greater") else value
