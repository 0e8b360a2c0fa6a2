"""What Spark's tasks do when they exchange rows with members: functions for ``mapInArrow``.

They need neither a session nor a Spark context, and take nothing from Spark's numbers of partitions, tasks
and attempts: which piece of a table to read is said by the rows that they get, and what an attempt has
brought is known by the rows that it gives, of which Spark keeps those of one attempt for each task.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import ErrorData
from sqlfront_cluster.members.outsider import Outsider
from sqlfront_cluster.network.tcp import NetworkSettings
from sqlfront_connectors.memory.fetching import Origin, Piece, fetch
from sqlfront_connectors.memory.pushing import Target, push_all
from sqlfront_connectors.spark.types import physical_batch, sent_type, to_send
from sqlfront_values.errors import Error

#: What :func:`push` gives, in Spark's words and ours: what was brought to a member, or the error that ends
#: the load: as in the members' own jobs, nothing is tried again with a member that was lost.
BROUGHT_DDL: Final = "attempt string, member string, rows bigint, error binary"
_BROUGHT: Final = pa.schema(
    [("attempt", pa.string()), ("member", pa.string()), ("rows", pa.int64()), ("error", pa.binary())]
)


class Source(msgspec.Struct, frozen=True):
    """What :func:`read` reads. ``schema``: of the columns. ``pieces``: the piece number n is read by who gets
    the number n times ``stride``."""

    origin: Origin
    schema: pa.Schema
    pieces: tuple[Piece, ...]
    stride: int


def push(
    target: bytes, network: NetworkSettings, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Bring the rows to a load, and say where they are. ``target``: an encoded :class:`Target`."""
    where = codec.decode(target, Target)

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
    """The rows of the pieces whose numbers are the first column's values. ``source``: an encoded
    :class:`Source`."""
    what = codec.decode(source, Source)
    form = pa.schema([(f"c{i}", sent_type(kind)) for i, kind in enumerate(what.schema.types)])

    def connect(member: str, address: str) -> Outsider:
        return Outsider(network, address, member)

    for batch in batches:
        pieces = [what.pieces[number // what.stride] for number in batch.column(0).to_pylist()]
        for rows in fetch(what.origin, connect, pieces):
            yield to_send(rows, form)
