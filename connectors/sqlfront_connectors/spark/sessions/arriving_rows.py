"""The rows of a query of a classic session, read while the query's tasks end."""

import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sqlfront_values.errors import InternalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import pyspark.util as spark_util
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as spark_functions
    from pyspark.sql.pandas.conversion import PandasConversionMixin
else:
    spark_functions = lazy_module("pyspark.sql.functions")
    spark_util = lazy_module("pyspark.util")


def arriving(frame: "DataFrame") -> Iterator[pa.RecordBatch]:
    """Run the frame's query, and yield its batches in the order of Spark's partitions, each as soon as all
    batches of earlier partitions have come. The columns have the Arrow types that Spark itself gives them."""
    numbered = frame.select("*", spark_functions.spark_partition_id())
    if numbered._jdf.queryExecution().optimizedPlan().nodeName() == "LocalRelation":
        # The optimizer has computed the rows as one partition; ``toArrow`` fails where a struct is null whose
        # fields are not nullable.
        return iter(cast("PandasConversionMixin", frame)._collect_as_arrow())
    return in_order(_numbered_batches(numbered))


def _numbered_batches(frame: "DataFrame") -> Iterator[tuple[int, pa.RecordBatch]]:
    """Run the query of ``frame``, and yield pairs of a partition's number and a batch, in the order in which
    Spark's tasks end. The last column of ``frame`` is the partition's number; the yielded batches lack it.
    The batches of one partition come one after the other. The caller must take batches without delay, since
    Spark's sending thread also plans all jobs."""
    port, secret, server = frame._jdf.collectAsArrowToPython()
    numbers: list[int] = []
    try:
        file, connection = spark_util.local_connect_and_auth(port, secret)
        with connection, file:
            connection.settimeout(None)  # a job may take its time
            for batch in pa.ipc.open_stream(file):
                last = batch.num_columns - 1
                numbers.append(batch.column(last)[0].as_py())
                yield numbers[-1], batch.select(range(last))
            rest = file.read()
            told = [number for (number,) in struct.iter_unpack("!i", rest[: len(rest) // 4 * 4])]
            if told != [len(numbers), *sorted(range(len(numbers)), key=numbers.__getitem__)]:
                raise InternalError("Spark gives its partitions other numbers than its batches")
    finally:
        server.getResult()  # raises the job's error


def in_order(arriving: Iterable[tuple[int, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield the batches in the order of their partitions' numbers, each as soon as all batches of the
    preceding partitions have come. ``arriving``: pairs of a partition's number and a batch; the batches of
    one partition arrive one after the other. If a partition has no batches, the batches of later partitions
    may wait until the end."""
    turn, coming = 0, -1
    waiting: dict[int, list[pa.RecordBatch]] = {}
    for number, batch in arriving:
        if number != coming:
            turn += coming == turn
            while turn in waiting:
                yield from waiting.pop(turn)
                turn += 1
            coming = number
        if number == turn:
            yield batch
        else:
            waiting.setdefault(number, []).append(batch)
    for number in sorted(waiting):
        yield from waiting[number]
