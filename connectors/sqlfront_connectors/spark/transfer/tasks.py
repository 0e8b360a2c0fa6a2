"""The functions that Spark's tasks run with ``mapInArrow`` to exchange rows with members.

They need neither a session nor a Spark context, and don't use Spark's numbers of partitions, tasks and
attempts: a task's input rows name the pieces of a table to read, and a task's output rows name the attempt
and the number of rows that it has sent; Spark keeps the output of one attempt for each task.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import ErrorData
from sqlfront_cluster.members.questions.outsider import Outsider
from sqlfront_cluster.network.tcp import NetworkSettings
from sqlfront_connectors.memory.exchange.fetching import Origin, Piece, fetch
from sqlfront_connectors.memory.exchange.pushing import LoadTarget, push_all
from sqlfront_connectors.spark.types import physical_batch, sent_type, to_send
from sqlfront_values.errors import Error

#: The output of :func:`push`, as Spark's DDL and as an Arrow schema: the rows brought to a member, or the
#: error that ends the load: as in the members' own jobs, nothing is retried with a lost member.
BROUGHT_DDL: Final = "attempt string, member string, rows bigint, error binary"
_BROUGHT: Final = pa.schema(
    [("attempt", pa.string()), ("member", pa.string()), ("rows", pa.int64()), ("error", pa.binary())]
)


class TaskSource(msgspec.Struct, frozen=True):
    """The description of the rows that Spark's tasks fetch with :func:`read`. ``origin``: the version of the
    table, and the members that have its rows. ``schema``: the logical schema of the columns to read.
    ``pieces``: the pieces into which the version's rows are divided; the number ``n * stride`` in a task's
    input requests piece ``n``."""

    origin: Origin
    schema: pa.Schema
    pieces: tuple[Piece, ...]
    stride: int


def push(
    target: bytes, network: NetworkSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Send the batches, which come from Spark, to the members over which a table is spread, and yield one
    batch with the columns :data:`BROUGHT_DDL`: a row for each member that has received rows, or a single row
    with the error. ``target``: an encoded :class:`LoadTarget`, which names the load and its members.
    ``network``: the settings of connections to members."""
    where = codec.decode(target, LoadTarget)

    def connect(member: str, address: str) -> Outsider:
        return Outsider(network, address, member)

    physical = (physical_batch(batch, where.schema) for batch in batches)
    rows: list[dict[str, object]]
    try:
        rows = [
            {"attempt": brought.attempt, "member": brought.member, "rows": brought.rows}
            for brought in push_all(where, connect, physical)
        ]
    except Error as error:
        rows = [{"error": codec.encode(ErrorData.of(error))}]
    yield pa.RecordBatch.from_pylist(rows, schema=_BROUGHT)


def read(
    source: bytes, network: NetworkSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of parts of a memory table's version, fetched from the members that hold the parts, in
    the types that Spark reads (:func:`~sqlfront_connectors.spark.types.to_send`). ``source``: an encoded
    :class:`TaskSource`, which lists the parts as pieces. ``batches``: the numbers of the pieces to fetch, in
    the first column. ``network``: the settings of connections to members. Raises OperationalError if a member
    can't be reached, or has no longer the version."""
    what = codec.decode(source, TaskSource)
    form = pa.schema([(f"c{i}", sent_type(kind)) for i, kind in enumerate(what.schema.types)])

    def connect(member: str, address: str) -> Outsider:
        return Outsider(network, address, member)

    for batch in batches:
        pieces = [what.pieces[number // what.stride] for number in batch.column(0).to_pylist()]
        for rows in fetch(what.origin, connect, pieces):
            yield to_send(rows, form)
