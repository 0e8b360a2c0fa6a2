"""Reads a snapshot as a job would."""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_connectors.base import Key, ScanRequest, Snapshot, Table
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.expressions import Expr


def read(
    snapshot: Snapshot,
    columns: Sequence[int],
    filters: tuple[Expr, ...] = (),
    *,
    partitions: tuple[int, ...] | None = None,
    limit: int | None = None,
    by: tuple[int, ...] = (),
    keys: tuple[Key, ...] | None = None,
    instances: int = 1,
) -> list[dict[str, object]]:
    """All rows of a scan, over all its parallel instances."""
    plan = snapshot.scan(ScanRequest(tuple(columns), filters, partitions, limit, by, keys))
    rows: list[dict[str, object]] = []
    for index in range(instances):
        context = ProcessorContext(
            "scan",
            CountingMemory(),
            global_index=index,
            total_parallelism=instances,
            local_index=index,
            local_parallelism=instances,
            resources=plan.resources,
        )
        for batch in plan.source.run(context):
            assert isinstance(batch, pa.RecordBatch)
            rows += batch.to_pylist() if batch.num_columns else [{}] * batch.num_rows
    return rows


def names(table: Table) -> list[str]:
    """The table's column names."""
    return list(table.schema.names)
