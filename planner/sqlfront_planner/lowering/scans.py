"""Lowering of scans, and of filters and projections, which process each row by itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront_connectors import base as tables
from sqlfront_engine.processor import BATCH_ROWS, Processor
from sqlfront_engine.processors import filter
from sqlfront_engine.processors.joins import key_filter
from sqlfront_engine.processors.project import FilterProject
from sqlfront_engine.processors.project import Project as ProjectProcessor
from sqlfront_planner.expressions.rewriting import remap
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.lowering.builder import Builder, Fragment, ScanVertex, narrowed
from sqlfront_planner.statistics.cardinality import table_rows
from sqlfront_values.expressions import Column, Expr, columns_used, conjunction
from sqlfront_values.settings import DEFAULT_PARTITIONS

if TYPE_CHECKING:
    from sqlfront_planner.pruning.joins import KeysFromJoin
    from sqlfront_planner.pruning.key_condition import KeyCondition


def lower_scan(builder: Builder, scan: LogicalScan) -> tuple[Fragment, Expr | None]:
    """Lower a scan to a source. Return its fragment, and the condition that remains to be applied to its rows
    (None: no condition). The source's row has the scan's columns, then the columns that only this condition
    reads.

    The source applies its exact filters, and a lookup by keys applies further filters exactly. The other
    filters are only hints to the source, and form the remaining condition.
    """
    keys = builder.conditions.of(scan)
    exact = scan.snapshot.exact_filters(scan.filters) if scan.filters else ()
    hints = scan.filters if builder.conditions.limit else exact
    if keys is not None:
        exact += keys.exact
    residual = tuple([part for part in scan.filters if not any(part is done for done in exact)])
    read = sorted({place for part in residual for place in columns_used(part)} - set(scan.columns))
    columns = (*scan.columns, *read)
    limit = None if residual else scan.limit
    by, known = ((), None) if keys is None else (keys.columns, keys.known)
    request = tables.ScanRequest(columns, hints, None, limit, by, known)
    planned = scan.snapshot.scan(request)
    parallel = _is_parallel(builder, scan, planned)
    vertex = builder.source(f"scan {scan.name}", planned.source, parallel=parallel)
    builder.resources.update(planned.resources)
    builder.scans.append(scan_vertex(vertex.name, scan, request, planned.placed, keys))
    where = {column: place for place, column in enumerate(columns)}
    condition = conjunction(tuple([remap(part, where) for part in residual])) if residual else None
    if builder.divides and not parallel:
        return builder.divided(Fragment(vertex, parallel)), condition
    placed, in_pieces = planned.placed, parallel and not builder.distributed
    if placed is None or not parallel:
        return Fragment(vertex, parallel, in_pieces=in_pieces), condition
    kept = all(column in where for column in placed.columns)
    partitioned = tuple(where[column] for column in placed.columns) if kept else None
    return Fragment(vertex, parallel, partitioned, partitions=placed.count, in_pieces=in_pieces), condition


def lower_found_by_keys(
    builder: Builder, wanted: "KeysFromJoin", held: Fragment
) -> tuple[Fragment, Fragment]:
    """Lower a scan that reads only the rows whose keys occur in ``held``, the build side of a join;
    ``wanted`` describes the lookup. Return the scan's fragment, and the build side's fragment from which the
    join reads."""
    scan = wanted.scan
    exact = scan.snapshot.exact_filters(scan.filters) if scan.filters else ()
    residual = tuple(part for part in scan.filters if not any(part is done for done in exact))
    read = sorted({place for part in residual for place in columns_used(part)} - set(scan.columns))
    columns = (*scan.columns, *read)
    request = tables.ScanRequest(
        columns, scan.filters, by=wanted.by, keys_from=wanted.given, null_keys=wanted.null_safe
    )
    planned = scan.snapshot.scan(request)
    parallel = builder.distributed and planned.location is tables.Location.SPREAD
    vertex = builder.vertex(f"scan {scan.name}", planned.source, parallel=parallel)
    placed = planned.placed
    if not parallel:
        builder.to_one(held, vertex)
    elif placed == tables.Partitioning(wanted.by, DEFAULT_PARTITIONS):
        builder.spread(held, vertex, wanted.given)
    else:
        placed = None
        builder.broadcast(held, vertex)
    builder.resources.update(planned.resources)
    builder.scans.append(scan_vertex(vertex.name, scan, request, planned.placed, None))
    where = {column: place for place, column in enumerate(columns)}
    condition = conjunction(tuple(remap(part, where) for part in residual))
    known = parallel and placed is not None and all(column in where for column in placed.columns)
    partitioned = tuple(where[column] for column in placed.columns) if placed is not None and known else None
    source = Fragment(vertex, parallel, partitioned)
    found = lower_rows(builder, source, condition, scan.row() if read else None, scan)
    return found, replace(held, output=held.output + 1)


def scan_vertex(
    name: str,
    scan: LogicalScan,
    request: "tables.ScanRequest",
    placed: "tables.Partitioning | None",
    keys: "KeyCondition | None",
) -> ScanVertex:
    """Return the description of a scan's source, by which the source can be made again with the values of a
    run. ``name``: the vertex; ``request``: the columns and rows to read; ``placed``: the placement of the
    table's rows that the plan assumes (None: none); ``keys``: the condition that gives the keys of the wanted
    rows (None: no lookup by keys)."""
    return ScanVertex(name, scan.name, scan.snapshot, request, placed, keys, scan.table)


def _is_parallel(builder: Builder, scan: LogicalScan, planned: "tables.ScanPlan") -> bool:
    """Return whether several instances read the table or, with several members, whether all members read."""
    if not builder.distributed and not builder.parallel:
        return False
    keys = builder.conditions.of(scan)
    rows = table_rows(scan) if keys is None or keys.most is None else builder.cardinality.rows(scan)
    single = planned.source.preferred_parallelism == 1
    if not builder.distributed:
        # One instance would read the whole of a table of one batch anyway.
        return rows > BATCH_ROWS and not single
    match planned.location:
        case tables.Location.SPREAD:
            return True
        case tables.Location.ANYWHERE:
            return rows > builder.collect_rows and not single
        case _:
            return False


def lower_rows(
    builder: Builder,
    source: Fragment,
    condition: Expr | None,
    expressions: Sequence[Expr] | None,
    whole: LogicalPlan,
) -> Fragment:
    """Lower a filter by ``condition`` (None: all rows) and a projection to ``expressions`` (None: all columns
    unchanged) over ``source``. ``whole`` is the plan with its filter and projection, whose names and types
    the result has."""
    if expressions is None:
        return source if condition is None else builder.follow("filter", filter.Filter(condition), source)
    items = tuple(expressions)
    name = "project" if condition is None else "filter"
    processor: Processor
    if condition is None:
        processor = ProjectProcessor(items, whole.schema)
    else:
        processor = FilterProject(condition, items, whole.schema)
    kept = {item.ordinal for item in items if isinstance(item, Column)}
    if source.parallel and any(key.ordinal not in kept for key in source.ordered):
        # Without the keys' columns the instances' rows could no longer be merged in order.
        return builder.gather(name, processor, source)
    return _projected(builder.follow(name, processor, source), items)


def lower_filtered_by_keys(
    builder: Builder, scan: LogicalScan, held: Fragment, keys: Sequence[tuple[int, int]]
) -> tuple[Fragment, Fragment]:
    """Lower a scan, followed by a filter that drops the rows without a partner in ``held``, the build side of
    a join. Return the fragment of the filter, and the build side's fragment from which the join reads.
    ``keys``: pairs of equal columns, as ordinals of the scan and of the build side."""
    source, condition = lower_scan(builder, scan)
    processor = key_filter.KeyFilter(
        condition,
        scan.row(),
        tuple(other for _, other in keys),
        tuple(mine for mine, _ in keys),
        scan.schema,
    )
    vertex = builder.vertex("filter", processor, parallel=source.parallel)
    if source.parallel:
        builder.broadcast(held, vertex, 0)
    else:
        builder.to_one(held, vertex, 0)
    builder.keep(source, vertex, 1)
    result = _projected(replace(source, vertex=vertex, output=0), scan.row())
    return result, replace(held, output=held.output + 1)


def _projected(fragment: Fragment, items: tuple[Expr, ...]) -> Fragment:
    """Return the fragment for the row of a projection to ``items``, with the partitioning and the order as
    far as they are still known."""
    ordinals = tuple(item.ordinal if isinstance(item, Column) else -1 for item in items)
    return narrowed(fragment, ordinals)
