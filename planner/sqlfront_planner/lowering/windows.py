"""Lowering of window functions: all rows of a window's partition come to one instance."""

from sqlfront_engine.processors.window import Window as WindowProcessor
from sqlfront_planner.logical import LogicalWindow
from sqlfront_planner.lowering.builder import Builder, Fragment
from sqlfront_values.expressions import SortKey


def lower_window(
    builder: Builder,
    plan: LogicalWindow,
    partition: tuple[int, ...],
    order: tuple[SortKey, ...],
    source: Fragment,
) -> Fragment:
    """Lower a window over ``source``, the lowered input. ``partition`` and ``order`` are ordinals of the
    source's row; the columns that the window's calls read are ordinals of that row, too."""
    processor = WindowProcessor(partition, order, plan.calls, plan.schema)
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
