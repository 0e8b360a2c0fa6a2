"""The contract of a processor: an operator's code as frozen data with one generator method.

``run`` is called once per parallel instance, on the member that executes the instance. The generator yields

* ``Take(ordinal)`` to get the next batch of input ``ordinal``; the answer is a :class:`pa.RecordBatch`, or
  ``None`` once the input has ended (and again at every later Take of the input);
* ``Take()`` to get the next batch of any live input, lowest priority number first; ``None`` = all inputs have
  ended;
* a :class:`pa.RecordBatch` to emit the batch on every output edge (empty batches are dropped).

A source with several instances cuts its rows into pieces: instance i of n emits piece i, i + n, and so on,
each followed by :data:`END_OF_PIECE`, and :func:`last_round` at the end. A consumer reading the instances in
turn therefore gets the rows in the source's own order.

Returning ends the processor's outputs. Only the tasklet touches queues; a processor knows no queue, thread or
member. When the output is no longer wanted, the generator is closed (``GeneratorExit`` at its yield), so
``try/finally`` frees its resources. Errors during closing are logged and ignored: the job has its result, or
a better error.

A filter is three lines::

    def run(self, context):
        while (batch := (yield Take(0))) is not None:
            yield batch.filter(...)

A step between two yields should handle at most about :data:`BATCH_ROWS` rows, so that no call holds a
cooperative worker for more than a few milliseconds and the end of a query is noticed. A step without rows
yields :data:`END_OF_STEP`. A processor with longer steps (a sort, a file read) sets ``cooperative = False``
and gets a thread of its own.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final, Protocol, final

import msgspec
import pyarrow as pa

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_engine.shares import SharedObject
from sqlfront_values.room import NO_LIMIT
from sqlfront_values.settings import Settings

#: Rows that one step of a cooperative processor handles at most: enough that Python's cost per batch
#: vanishes, few enough that a step takes milliseconds. 271 small batches took 7 to 25 times as long as one
#: large batch.
BATCH_ROWS: Final = 65_536

#: Emitted by a source behind each piece of its rows. Tasklets forward the mark to the consumer reading the
#: instances in turn (:meth:`sqlfront_engine.dag.Edge.in_turn`); no processor ever receives the mark.
END_OF_PIECE: Final = pa.RecordBatch.from_arrays([], names=[])

#: Emitted by a processor after a step without rows, if the next step needs no Take: other tasklets get their
#: turn.
END_OF_STEP: Final = pa.RecordBatch.from_arrays([], names=[])

ANY_INPUT: Final = -1
NO_RESOURCES: Final[Mapping[str, object]] = MappingProxyType({})


@final
class Take(msgspec.Struct, frozen=True):
    """The request, yielded by a processor, for the next batch of input ``ordinal``; by default of any
    input."""

    ordinal: int = ANY_INPUT


Steps = Generator[Take | pa.RecordBatch, pa.RecordBatch | None, None]


def last_round(pieces: int, instance: int, instances: int) -> Iterator[pa.RecordBatch]:
    """Yield the mark that an instance of a source may lack after its last piece. The pieces of a source go to
    its instances in turn: instance i of n emits the pieces i, i + n, and so on, each followed by an
    :data:`END_OF_PIECE`. All instances have to emit equally many marks. So if the last round has a piece only
    for instances with lower numbers, this function yields one mark more, else none. ``pieces``: the number of
    pieces of all ``instances``."""
    begun = pieces % instances
    if begun and instance >= begun:
        yield END_OF_PIECE


class MemoryAccount(Protocol):
    """The bytes that one processor instance holds, which count against the budgets of the query and the
    member. When the instance ends, the tasklet releases the bytes that are still charged."""

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes; ``maker`` is the SQL function that makes them, empty = none. Raises
        OperationalError if a budget is exceeded; the message names maker, operator, use and limit."""

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""


class ProcessorContext(msgspec.Struct, frozen=True):
    """The environment of one processor instance: its number, its memory account, the session's settings, the
    job's objects.

    The instance is number ``local_index`` of the vertex's ``local_parallelism`` instances on this member, and
    number ``global_index`` of its ``total_parallelism`` instances on all members; the member is number
    ``member_index`` of the ``member_count`` members that run the vertex. ``partitions`` are the sorted ids of
    the partitions handled by this instance, of ``partition_count`` in all. ``resources`` are the job's
    objects by key, such as pinned table snapshots. ``share`` is the object shared by the vertex's instances
    on this member, for processors with ``shared``. ``files`` are the files that this process may open for a
    plan, whoever made the plan. ``block_bytes``: the bytes of rows that an instance works on at a time, or
    collects before it passes them on; for rows that the instance must hold together this limit doesn't count.

    (A Struct because one context is made per instance and query: that takes a thirtieth of a frozen
    dataclass's time. Make changed copies with ``msgspec.structs.replace``.)"""

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
    share: SharedObject | None = None
    files: FileAccess = EVERYWHERE
    block_bytes: int = NO_LIMIT


class Processor(msgspec.Struct, frozen=True, array_like=True, tag_field="processor", tag=True):
    """The base of all operators, sources and sinks: frozen data with a generator method, :meth:`run`, which
    runs one instance of the operator. A subclass provides :meth:`run`, and may provide :meth:`rows` and
    :meth:`describe`.

    Class variables: ``cooperative`` False = the code between two yields may block or take long, so each
    instance gets a thread of its own. ``preferred_parallelism``: the number of instances per member if the
    vertex sets none; None = one per worker. ``reads_table``: the rows come from a table, a file or another
    source outside of the query. ``shared``: the instances on a member share an object,
    ``ProcessorContext.share``. ``repeatable`` False = the operator calls a user's code, which may do other
    things at a second run.

    A processor that other members run needs an entry in :mod:`sqlfront_engine.processors.registry`, and
    fields supported by :mod:`sqlfront_cluster.codec`.
    """

    #: False: a step may block or take long, so each instance runs on a thread of its own.
    cooperative: ClassVar[bool] = True
    #: Preferred number of instances per member; None: one per cooperative worker.
    preferred_parallelism: ClassVar[int | None] = None
    #: True: the rows are those of a table, a file or another source outside of the query.
    reads_table: ClassVar[bool] = False
    #: True: the instances on a member share an object, ``ProcessorContext.share``.
    shared: ClassVar[bool] = False
    #: False: code of the user, which may do other things at a second run.
    repeatable: ClassVar[bool] = True

    def run(self, context: ProcessorContext) -> Steps:
        """Return the generator that runs one instance of the operator. The generator yields :class:`Take` to
        get an input's next batch (None after the last one), and yields a record batch to emit it."""
        raise NotImplementedError

    def is_divisible(self, ordinal: int) -> bool:
        """Return whether the rows of input ``ordinal`` may be divided among any number of instances, in any
        way, if each of these instances has all rows of the inputs that are not divisible: the query's answer
        stays the same. True for operators that treat each row by itself, and for the first of two steps, such
        as a partial aggregation or a sort whose output is merged."""
        return False

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        """Compile the operator to a function over Python rows, which answers queries of a few rows without a
        job (:mod:`sqlfront_engine.row_programs`). ``inputs``: the compiled operators at the inputs, by
        ordinal. ``compiler``: compiles the operator's expressions to functions over rows. Returns None if the
        operator can only run in a job."""
        return None

    def describe(self) -> str:
        """Return the operator's line in EXPLAIN, without its inputs; for example ``Filter: (a > 1)``."""
        return type(self).__name__
