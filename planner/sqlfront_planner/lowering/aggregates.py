"""Lowering of GROUP BY and DISTINCT.

One step aggregates if rows with equal keys already come from one instance; else a first step aggregates in
each instance, and a second step combines the results, unless the first step doesn't pay."""

from typing import Final

from sqlfront_engine.processors.aggregation.aggregate import Aggregate as AggregateProcessor
from sqlfront_engine.processors.aggregation.aggregate import AggregateMode
from sqlfront_planner.logical import LogicalAggregate
from sqlfront_planner.lowering.builder import Builder, Fragment

#: Groups up to which the second stage has one instance: merging the states of so few groups takes less time
#: than routing the states to instances.
FEW_GROUPS: Final = 20_000
#: The ratio of groups to rows above which a first stage doesn't pay: the first stage would hash every row and
#: pass on nearly as many states.
HARDLY_GROUPED: Final = 0.4


def lower_aggregate(
    builder: Builder, plan: LogicalAggregate, keys: tuple[int, ...], source: Fragment
) -> Fragment:
    """Add the vertices of an aggregation to the DAG. ``source`` is the part of the DAG that emits the input
    rows; ``keys`` are the ordinals of the grouping columns in these rows, and the columns that the calls read
    are ordinals of these rows, too. Return the extended part of the DAG, whose rows have the keys, then the
    values of the calls."""

    def processor(mode: AggregateMode) -> AggregateProcessor:
        return AggregateProcessor(keys, plan.calls, mode, plan.schema)

    single = processor(AggregateMode.SINGLE)
    if not source.parallel:
        return builder.gather("aggregate", single, source)
    out = tuple(range(len(keys)))
    if keys and source.partitioned is not None and set(source.partitioned) <= set(keys):
        vertex = builder.vertex("aggregate", single, parallel=True)
        builder.keep(source, vertex)
        partitioned = tuple(keys.index(ordinal) for ordinal in source.partitioned)
        return Fragment(vertex, True, partitioned, partitions=source.partitions, in_pieces=True)
    rows = builder.cardinality.rows(plan.input)
    groups = builder.cardinality.rows(plan)
    whole = any(call.distinct for call in plan.calls) or groups > HARDLY_GROUPED * rows
    few = builder.collect_rows if builder.distributed else FEW_GROUPS
    exchange = builder.exchanges(rows)
    if not exchange and groups > few:
        return builder.gather("aggregate", single, source)
    if whole:
        if not (keys and exchange):
            return builder.gather("aggregate", single, source)
        vertex = builder.vertex("aggregate", single, parallel=True)
        builder.spread(source, vertex, keys)
        return Fragment(vertex, True, out, in_pieces=True)
    # The suffix marks the first of two stages, see the DAG's DOT output.
    partial = builder.follow(
        "aggregate-prepare",
        processor(AggregateMode.PARTIAL),
        Fragment(source.vertex, True, in_pieces=source.in_pieces),
    )
    final = processor(AggregateMode.FINAL)
    if not keys or groups <= few:
        return builder.gather("aggregate", final, partial)
    vertex = builder.vertex("aggregate", final, parallel=True)
    builder.spread(partial, vertex, out)
    return Fragment(vertex, True, out, in_pieces=True)
