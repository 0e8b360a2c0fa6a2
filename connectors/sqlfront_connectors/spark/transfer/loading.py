"""Transfer of rows from Spark into tables that are spread over members, and back, without passing the driver.

Into a table: each of Spark's tasks hashes the keys of its rows and sends each row directly to the member that
owns the row's partition (:mod:`sqlfront_connectors.memory.exchange.pushing`), so Spark need not shuffle. The
driver receives a few rows from each task, which name the attempt, and publishes a version of the table with
the rows of the attempts that are in Spark's answer. Rows sent by other attempts, which failed or ran twice,
are dropped.

Out of a table: the driver tells each task a piece of a version's rows and the member that has the piece; the
task reads the piece from that member.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import ErrorData
from sqlfront_cluster.members.questions.outsider import ServiceAccess
from sqlfront_connectors.memory.exchange.loads import HeldVersion, SpreadLoad
from sqlfront_connectors.memory.exchange.pushing import DeliveredRows
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.spark.executors.packages import on_executors
from sqlfront_connectors.spark.link import is_remote
from sqlfront_connectors.spark.rows import HeldFrame, as_carriers, from_sent
from sqlfront_connectors.spark.transfer import tasks
from sqlfront_connectors.spark.types import logical_schema, sent_type, spark_schema
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.types import BINARY, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The bytes of a table that a task reads, about, and the least number of pieces into which a member's rows
#: are cut: a member's tasks then overlap, and a task is worth its start.
_PIECE: Final = 32 << 20
_LEAST_PIECES: Final = 2
#: The largest size of a table that Spark is told, and the size of a number of a range (bytes).
_MOST_TAKEN: Final = 256 << 20
_NUMBER: Final = 8
#: Spark's settings for tasks' batches: so many rows, whatever their bytes.
_BATCHES: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}


def load(frame: "DataFrame", table: SpreadTable, door: ServiceAccess, *, overwrite: bool = True) -> int:
    """Publish a new version of the table with the rows of a DataFrame after all present rows, or with
    ``overwrite`` in place of the present rows. Returns the number of the frame's rows. Runs one Spark job, in
    this thread and with the thread's job tags. ``door``: the settings with which Spark's tasks connect to the
    members.

    The frame must have the columns of the table, in the same order. Raises ProgrammingError if the types
    differ; NotSupportedError if other processes can't reach the table's members; OperationalError if a member
    has no memory for the rows, if a member is lost (SQLSTATE 08001, 08006), or if members come or go
    meanwhile (40001). Spark's errors are raised unchanged. After an error the table is as before.
    """
    schema = logical_schema(frame.schema)
    if schema.types != table.schema.types:
        raise ProgrammingError(
            f"`{table.name}` has columns of the types {_types(table.schema)}, not {_types(schema)}"
        )
    with SpreadLoad(table, door.coordinator) as target:
        push = on_executors(f"{tasks.__name__}:push", codec.encode(target.target), door.network)
        with _batches_by_rows(frame, schema):
            said = as_carriers(frame, schema).mapInArrow(push, tasks.BROUGHT_DDL).collect()
        for each in said:
            if each.error is not None:
                raise codec.decode(bytes(each.error), ErrorData).error()
        brought = [DeliveredRows(each.attempt, each.member, each.rows) for each in said]
        return target.publish(brought, overwrite=overwrite)


@contextmanager
def _batches_by_rows(frame: "DataFrame", schema: pa.Schema) -> Iterator[None]:
    """Return a context manager in which Spark limits the batches of tasks by a number of rows, not of bytes,
    for jobs of this thread.

    With a limit of bytes Spark adds up the sizes of all columns' buffers after each row, which is half of the
    work of converting the rows of TPC-H's lineitem into Arrow. The limit of bytes stays if values may be
    large (binary and nested columns), if the session has settings of its own for batches, and over Spark
    Connect, where a job has no settings.
    """
    spark = frame.sparkSession
    may_be_large = any(pa.types.is_nested(kind) or kind == BINARY for kind in schema.types)
    if may_be_large or is_remote(spark) or _BATCHES.keys() & spark.conf.getAll.keys():
        yield
        return
    context = spark.sparkContext
    before = {key: context.getLocalProperty(key) for key in _BATCHES}
    try:
        for key, value in _BATCHES.items():
            context.setLocalProperty(key, value)
        yield
    finally:
        for key, old in before.items():
            context.setLocalProperty(key, old)  # type: ignore[arg-type]


def _types(schema: pa.Schema) -> str:
    return ", ".join(map(ddl, schema.types))


def spread_frame(
    spark: "SparkSession",
    snapshot: SpreadSnapshot,
    door: ServiceAccess,
    columns: tuple[int, ...] | None = None,
) -> HeldFrame:
    """Return the rows of ``snapshot``, a version of a table whose rows are spread over members, as a
    DataFrame. Its tasks read the rows from the members; until the returned frame is closed, the members keep
    the version, even if the table changes.

    ``door``: the settings with which the tasks connect to the members. ``columns``: the ordinals of the
    frame's columns, None = all. Raises OperationalError if the version, or some of its members, are gone;
    NotSupportedError if other processes can't reach the members.
    """
    schema = snapshot.schema
    ordinals = tuple(range(len(schema))) if columns is None else columns
    wanted = pa.schema([schema.field(ordinal) for ordinal in ordinals])
    size = (snapshot.statistics.size or 0) * len(wanted) // max(1, len(schema))
    members = max(1, len(set(snapshot.held.owners)))
    parts = max(_LEAST_PIECES, math.ceil(size / members / _PIECE))
    held = HeldVersion(snapshot, ordinals, parts, door.coordinator)
    try:
        return HeldFrame(_frame(spark, held, wanted, size, door), held.close)
    except BaseException:
        held.close()
        raise


def _frame(
    spark: "SparkSession", held: HeldVersion, schema: pa.Schema, size: int, door: ServiceAccess
) -> "DataFrame":
    """Return a DataFrame of the logical ``schema`` whose tasks read the pieces of ``held``, one piece per
    task. ``size``: an estimate of the rows' size in bytes.

    The DataFrame starts from a range of integers with one partition per piece. A filter keeps the first
    number of each partition, and the task reads the piece for that number. The other numbers only give the
    range about ``size`` bytes (at most ``_MOST_TAKEN``), because Spark's optimizer takes the size of the
    range for the size of the table: otherwise the optimizer would broadcast a large table to all
    executors.
    """
    count = max(1, len(held.pieces))
    stride = max(1, min(size, _MOST_TAKEN) // _NUMBER // count)
    numbers = spark.range(0, len(held.pieces) * stride, 1, count)
    source = codec.encode(tasks.TaskSource(held.origin, schema, held.pieces, stride))
    form = pa.schema([(f"c{i}", sent_type(kind)) for i, kind in enumerate(schema.types)])
    read = on_executors(f"{tasks.__name__}:read", source, door.network)
    return from_sent(numbers.where(f"id % {stride} = 0").mapInArrow(read, spark_schema(form)), schema)
