"""The part of its table that each scan of a plan reads in one run, for EXPLAIN and for statistics."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from sqlfront_connectors import base
from sqlfront_connectors.base import Key
from sqlfront_planner import run_values
from sqlfront_planner.lowering.builder import ScanVertex
from sqlfront_planner.plan import Template
from sqlfront_planner.rules.expressions import fold_constants as folding
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Expr, transform
from sqlfront_values.partitioning import partitions
from sqlfront_values.settings import Settings


class ScanPruning(msgspec.Struct, frozen=True):
    """The part of a table that one scan reads in one run.

    ``columns`` are the names of the columns by whose values the scan finds rows (empty: the scan reads
    everything that isn't skipped). ``keys`` are those values in this run; None = all values, since there are
    too many keys or they are unknown.

    ``partitions``: the partitions of the table that can hold the keys, of ``of_partitions`` partitions (0 =
    the table is not partitioned); None = all. ``pieces``: for each kind of part of the table's data, such as
    files, how many parts are read after skipping by known bounds of the values.
    """

    vertex: str
    table: str
    columns: tuple[str, ...] = ()
    keys: tuple[Key, ...] | None = None
    partitions: tuple[int, ...] | None = None
    of_partitions: int = 0
    pieces: tuple[base.ScanPieces, ...] = ()


def scan_prunings(
    template: Template, arguments: Sequence[object] = (), values: "run_values.RunValues | None" = None
) -> tuple[ScanPruning, ...]:
    """Find which part of its table each scan of a plan reads in a run with these values: ``arguments`` for
    the plan's parameters, by index, and ``values`` for its run values, such as the current time (None = of
    default settings)."""
    values = values or run_values.RunValues(Settings())
    literal, settings = template.literals(arguments, values), values.settings
    found = []
    for scan in template.reads:
        keys = None if scan.keys is None else scan.keys.keys(literal)
        columns = scan.relation.schema.names
        names = () if scan.keys is None else tuple(columns[place] for place in scan.keys.columns)
        placed = scan.relation.partitioning
        required = None if placed is None or keys is None else _partitions(scan, keys)
        count = 0 if placed is None else placed.count
        found.append(
            ScanPruning(
                scan.vertex, scan.table, names, keys, required, count, _pieces(scan, keys, literal, settings)
            )
        )
    return tuple(found)


def read_partitions(
    template: Template, arguments: Sequence[object], values: "run_values.RunValues"
) -> Mapping[str, tuple[int, ...]]:
    """Return the partitions that each scan reads in a run with these values (see :func:`scan_prunings`), in
    order, by the name of the scan's vertex; a scan that reads all partitions, or a table without partitions,
    has no entry."""
    literal = template.literals(arguments, values)
    found = {}
    for scan in template.reads:
        keys = None if scan.keys is None else scan.keys.keys(literal)
        if keys is not None and scan.relation.partitioning is not None:
            numbers = _partitions(scan, keys)
            if numbers is not None:
                found[scan.vertex] = numbers
    return found


def _pieces(
    scan: ScanVertex, keys: Sequence[Key] | None, literal: Callable[[Expr], Expr], settings: Settings
) -> tuple[base.ScanPieces, ...]:
    if keys is not None or not isinstance(scan.snapshot, base.PieceWise):
        return ()
    filters = tuple(folding.fold(transform(part, literal), settings) for part in scan.request.filters)
    try:
        return scan.snapshot.pieces(replace(scan.request, filters=filters))
    except OperationalError:  # such as deleted files: reading the table reports the error
        return ()


def _partitions(scan: ScanVertex, keys: Sequence[Key]) -> tuple[int, ...] | None:
    placed = scan.relation.partitioning
    assert placed is not None
    assert scan.keys is not None
    if scan.keys.columns != placed.columns:
        return None
    hash_key = partitions.key_hasher(scan.keys.types)
    return tuple(sorted({hash_key(key) % placed.count for key in keys}))
