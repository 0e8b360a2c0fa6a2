"""Lowering of ORDER BY and LIMIT."""

from typing import Final

from sqlfront_engine.processors.limit import Limit as LimitProcessor
from sqlfront_engine.processors.sort import Sort as SortProcessor
from sqlfront_engine.processors.top_n import TopN
from sqlfront_planner.logical import LogicalLimit, LogicalSort
from sqlfront_planner.lowering.builder import Builder, Fragment

#: Rows up to which one instance sorts: merging the instances' outputs costs more than they save.
PARALLEL_SORT_ROWS: Final = 200_000
#: Rows of a limit up to which a sort is a top-n; a larger limit becomes a sort and a limit, because a top-n
#: holds all rows that it may emit.
MOST_TOP_ROWS: Final = 100_000
#: The same where memory is short: the rows may be long.
FEW_TOP_ROWS: Final = 100


def lower_sort(builder: Builder, plan: LogicalSort, source: Fragment) -> Fragment:
    """Lower ORDER BY: each instance sorts its rows, and the consumer merges the instances' rows. A sort with
    a small limit is a top-n, which runs in each instance, then over the instances' results."""
    most = FEW_TOP_ROWS if builder.divides else MOST_TOP_ROWS
    if plan.limit is not None and plan.limit + plan.offset <= most:
        if source.parallel:
            local = TopN(plan.keys, plan.limit + plan.offset, 0)
            source = builder.follow("top", local, source)
        return builder.gather("top", TopN(plan.keys, plan.limit, plan.offset), source)
    sorted_rows = _sorted(builder, plan, source)
    if plan.limit is None and plan.offset == 0:
        return sorted_rows
    return builder.gather("limit", LimitProcessor(plan.limit, plan.offset), sorted_rows)


def _sorted(builder: Builder, plan: LogicalSort, source: Fragment) -> Fragment:
    processor = SortProcessor(plan.keys)
    source = builder.divided(source) if builder.divides else source
    most = builder.collect_rows if builder.distributed else PARALLEL_SORT_ROWS
    if source.parallel and builder.cardinality.rows(plan.input) > most:
        vertex = builder.vertex("sort", processor, parallel=True)
        builder.keep(source, vertex)
        return Fragment(vertex, True, source.partitioned, plan.keys, partitions=source.partitions)
    vertex = builder.vertex("sort", processor, parallel=False)
    builder.to_one(Fragment(source.vertex, source.parallel, in_pieces=source.in_pieces), vertex)
    return Fragment(vertex, False, None, plan.keys)


def lower_limit(builder: Builder, plan: LogicalLimit, source: Fragment) -> Fragment:
    """Lower LIMIT: every instance of the source stops at ``count + offset`` rows, and a single consumer skips
    ``offset`` rows and stops after ``count`` rows, or as many of each as the arguments say."""
    if plan.count is not None and source.parallel:
        source = builder.follow("limit", LimitProcessor(plan.count + plan.offset, 0), source)
    last = LimitProcessor(plan.count, plan.offset, plan.run_count, plan.run_offset)
    limited = builder.gather("limit", last, source)
    return Fragment(limited.vertex, False, None, source.ordered)
