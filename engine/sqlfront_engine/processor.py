"""The contract of a processor: an operator's code, as frozen data with one generator method.

``run`` is called once per parallel instance, on the member that executes it. It yields

* ``Take(ordinal)`` to get the next batch of input ``ordinal``; the answer is a :class:`pa.RecordBatch`, or
  ``None`` once that input has ended (and again at every later Take of it);
* ``Take()`` to get the next batch of any live input, those of the lowest priority number first; ``None`` =
  all have ended;
* a :class:`pa.RecordBatch` to emit it on every output edge (empty ones are dropped).

A source with several instances cuts its rows into pieces: instance i of n emits piece i, i + n, and so on,
each followed by :data:`END_OF_PIECE`, and :func:`last_round` at the end. So a consumer that takes the
instances in turn gets the rows in the source's own order.

Returning ends its outputs. Only the tasklet touches queues; a processor knows no queue, thread or member.
When nobody wants the output any more the generator is closed (``GeneratorExit`` at its yield), so
``try/finally`` frees what it holds. What goes wrong in there is logged and ignored: the job has what it
wants, or a better error.

A filter is three lines::

    def run(self, context):
        while (batch := (yield Take(0))) is not None:
            yield batch.filter(...)

A step between two yields should handle at most about :data:`BATCH_ROWS` rows, so that no call holds a
cooperative worker for more than a few milliseconds, and that the end of a query is noticed. One that makes no
rows yields :data:`END_OF_STEP`. A processor that can't promise that (a sort, a file read) sets
``cooperative = False`` and gets a thread of its own.
"""

from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Protocol, final

import msgspec
import pyarrow as pa

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.shares import Share
from sqlfront_values.settings import Settings

#: Upper bound of rows that one step of a cooperative processor handles.
BATCH_ROWS: Final = 65_536

#: Emitted by a source behind each piece of its rows. The tasklets hand it on to where instances are taken in
#: turn (:meth:`sqlfront_engine.dag.Edge.in_turn`); no processor gets to see it.
END_OF_PIECE: Final = pa.RecordBatch.from_arrays([], names=[])

#: Emitted by a processor whose step has made no rows and that goes on without a Take: others have their turn.
END_OF_STEP: Final = pa.RecordBatch.from_arrays([], names=[])

ANY_INPUT: Final = -1
NO_RESOURCES: Final[Mapping[str, object]] = MappingProxyType({})


@final
class Take(msgspec.Struct, frozen=True):
    """The request for the next batch of input ``ordinal``, or of any input."""

    ordinal: int = ANY_INPUT


Steps = Generator[Take | pa.RecordBatch, pa.RecordBatch | None, None]


def last_round(pieces: int, instance: int, instances: int) -> Iterator[pa.RecordBatch]:
    """What an instance of a source emits behind the last of that many pieces: an end of piece, if other
    instances had a piece in the last round and this one had none. Then every instance has emitted as many."""
    begun = pieces % instances
    if begun and instance >= begun:
        yield END_OF_PIECE


class MemoryAccount(Protocol):
    """Bytes that one processor instance holds, counted against the query's and the member's budget.

    What is still charged when the instance ends is released by the tasklet.
    """

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes, made by the function ``maker``. Above the budget: OperationalError that
        names maker, operator, use and limit."""

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""


class ProcessorContext(msgspec.Struct, frozen=True):
    """Where a processor instance runs. (A Struct since one is made for each instance of each query: that
    takes a thirtieth of a frozen dataclass's time. Changed copies by ``msgspec.structs.replace``.)

    ``partitions`` are the partition ids that this instance handles (sorted). ``resources`` are the objects
    that the job brought along by key, such as the table snapshots pinned for it. ``share`` is what the
    vertex's instances on this member have in common, for processors that are ``shared``. ``files`` are those
    that this process opens for a plan, whoever has made it.
    """

    vertex: str
    memory: MemoryAccount
    settings: Settings = Settings()
    local_index: int = 0
    local_parallelism: int = 1
    global_index: int = 0
    total_parallelism: int = 1
    member_index: int = 0
    member_count: int = 1
    partitions: tuple[int, ...] = ()
    partition_count: int = 271
    resources: Mapping[str, object] = NO_RESOURCES
    share: Share | None = None
    files: FileAccess = EVERYWHERE


class Processor(msgspec.Struct, frozen=True, array_like=True, tag_field="processor", tag=True):
    """The base of all operators, sources and sinks.

    One that is to run on other members has its place in :mod:`sqlfront_engine.processors.registry`, and
    fields that :mod:`sqlfront_cluster.codec` carries.
    """

    #: False: a step may block or take long; the instance runs on a thread of its own.
    cooperative: ClassVar[bool] = True
    #: Preferred number of instances per member; None: one per cooperative worker.
    preferred_parallelism: ClassVar[int | None] = None
    #: True: its instances on a member have something in common, ``ProcessorContext.share``.
    shared: ClassVar[bool] = False

    def run(self, context: ProcessorContext) -> Steps:
        """The operator's work, see the module's docstring."""
        raise NotImplementedError

    def describe(self) -> str:
        """One line for EXPLAIN, without children; for example ``Filter: (a > 1)``."""
        return type(self).__name__
