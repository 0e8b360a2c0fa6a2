"""Exchange of memory tables' rows with processes that are not members, such as the tasks of a Spark job.

Into a table, by a *load*: the coordinator begins the load on all members. A process that has rows makes an
*attempt* with a unique name, and pushes batches directly to the members that own the rows. The members stage
the rows, invisible to readers. The coordinator learns which attempts were successful, and :class:`StagedRows`
makes a version of their rows; the rows of all other attempts are dropped with the load. So the processes'
tasks may fail, run twice or never end.

Out of a table, by a *hold*: the coordinator holds a version; until the hold ends, processes to which the
coordinator gives the version's key may read ranges of the members' rows.

Each message to a member is a *question*, to which the member sends one answer. Loads and holds end when their
coordinator ends them or leaves the cluster.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import BatchDecoder, BatchEncoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.questions.requests import BodyService
from sqlfront_cluster.network.transport import Part
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.spread.store import TableStore, store_of
from sqlfront_connectors.memory.spread.version_keys import uses
from sqlfront_engine.memory import MemoryBudget
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_values.errors import InternalError, OperationalError
from sqlfront_values.types import DICTIONARY_STRING, is_string, physical

#: The resource under which a member's processors find the service, and the service's name for other
#: processes.
EXCHANGE: Final = "memory:exchange"
_NOTHING: Final = b""


# ---- questions: of the coordinator


class BeginLoad(msgspec.Struct, frozen=True, tag=True):
    """The question to a member that begins a load of a table: from now on the member accepts rows from other
    processes. ``load``: the load's unique name. ``schema``: the table's logical schema. ``dealt``: the
    version of the member list that last changed the owners of partitions; a member for which this is another
    version refuses the question. ``holder``: the name of the coordinating member; when it leaves the cluster,
    the load ends. The answer is empty."""

    load: str
    table: str
    schema: pa.Schema
    dealt: int
    holder: str


class EndLoad(msgspec.Struct, frozen=True, tag=True):
    """The question to a member that ends the load named ``load``: the member drops the rows that it has
    staged (received and not yet published), and refuses further rows. The answer is empty."""

    load: str


class Hold(msgspec.Struct, frozen=True, tag=True):
    """The question that makes the member keep its shares of a version until :class:`Release` with the same
    ``token``, even if the table changes or is dropped. ``version``: the version's key. ``holder``: the name
    of the coordinating member; when it leaves the cluster, the hold ends. The answer is the number of rows in
    the member's own share, or, with ``owner``, in the backup of that member's share, including deleted rows:
    :class:`ReadShare` may ask for rows up to this number."""

    version: str
    table: str
    token: str
    holder: str
    owner: str | None = None


class Release(msgspec.Struct, frozen=True, tag=True):
    """The question that ends the :class:`Hold` with the same ``version`` and ``token``, so that the member
    may free its share. The answer is empty."""

    version: str
    token: str


# ---- questions: of processes that bring or fetch rows


class Put(msgspec.Struct, frozen=True, tag=True):
    """The question that brings one batch of an attempt, which the member stages: keeps, invisible to readers,
    until the load publishes or drops it. The message's body is the batch, encoded as the next one of the
    attempt's stream. ``schema``: the batch's encoded schema, None if the stream's last batch has the same
    schema. The answer is empty."""

    load: str
    attempt: str
    schema: bytes | None


class Forget(msgspec.Struct, frozen=True, tag=True):
    """The question that makes the member drop the rows of an attempt that has failed. The answer is empty."""

    load: str
    attempt: str


class ReadShare(msgspec.Struct, frozen=True, tag=True):
    """The question for rows of the member's share of a version that a :class:`Hold` keeps, or, with
    ``owner``, of the backup of that member's share: the rows with the numbers ``start`` to ``stop``
    (exclusive), without deleted rows. ``columns``: ordinals of the table. The answer is
    :class:`EncodedPieces`, with the batches in the message's body."""

    version: str
    table: str
    columns: tuple[int, ...]
    start: int
    stop: int
    owner: str | None = None


class EncodedPieces(msgspec.Struct, frozen=True):
    """The answer to :class:`ReadShare`, whose body has encoded batches, one after the other. ``batches``: for
    each batch its schema, None if the batch before has the same schema, and its size in bytes."""

    batches: tuple[tuple[bytes | None, int], ...]


Question: TypeAlias = BeginLoad | EndLoad | Hold | Release | Put | Forget | ReadShare


# ---- the member's side


class _Attempt:
    """The rows that one attempt has pushed to this member, and their size in bytes."""

    __slots__ = ("batches", "decoder", "rows", "size")

    def __init__(self) -> None:
        self.decoder = BatchDecoder()
        self.batches: list[pa.RecordBatch] = []
        self.rows = self.size = 0


class _Load:
    """A load that this member takes part in. ``attempts``: by the attempt's name, None after the load's end;
    ``lock`` guards this field."""

    __slots__ = ("attempts", "begin", "lock", "types")

    def __init__(self, begin: BeginLoad) -> None:
        self.begin = begin
        self.lock = Lock()
        self.attempts: dict[str, _Attempt] | None = {}
        self.types = [_accepted(each.type) for each in begin.schema]


class RowExchange(BodyService):
    """The member's service by which other processes bring rows into tables (loads) and read rows of versions
    that are kept for them (holds); it answers the questions of this module. ``budget``: the budget to which
    the rows of loads are charged, None = no budget. ``on_hold``: a function that is called with a version's
    key whenever a hold on the version begins or ends."""

    def __init__(self, store: TableStore, on_hold: Callable[[str], None] = lambda version: None) -> None:
        self.budget: MemoryBudget | None = None
        self._store = store
        self._on_hold = on_hold
        # Guards the two fields below.
        self._lock = Lock()
        self._loads: dict[str, _Load] = {}
        self._held: dict[str, dict[str, str]] = {}

    # ---- questions

    def answer(self, content: bytes) -> bytes:
        """Answer a question that came without a body; if the answer has a body, it is not sent."""
        return self.exchange(content, None)[0]

    def exchange(self, content: bytes, body: pa.Buffer | None) -> tuple[bytes, Sequence[Part]]:
        """Decode and answer a question; returns the answer and the parts of its body. ``body``: the body of
        the question, None = no body. The docstring of a question's class describes the answer. Raises
        OperationalError for a question that can't be answered, such as one about a load that has ended."""
        question: Question = codec.decode(content, Question)  # type: ignore[arg-type]
        match question:
            case Put():
                self._put(question, body)
            case ReadShare():
                return self._read(question)
            case Forget():
                self._forget(question)
            case BeginLoad():
                self._begin(question)
            case EndLoad():
                self._end(question.load)
            case Hold():
                return codec.encode(self._hold(question)), ()
            case Release():
                self._let_go(question.version, question.token)
        return _NOTHING, ()

    def _begin(self, question: BeginLoad) -> None:
        self._store.check_dealt(question.dealt, question.table)
        with self._lock:
            self._loads[question.load] = _Load(question)

    def _end(self, load: str) -> None:
        with self._lock:
            ended = self._loads.pop(load, None)
        if ended is not None:
            with ended.lock:
                attempts, ended.attempts = ended.attempts, None
            for attempt in (attempts or {}).values():
                self._discharge(attempt.size)

    def _put(self, question: Put, body: pa.Buffer | None) -> None:
        load = self._loads.get(question.load)
        if load is None or load.attempts is None:
            raise _load_over()
        table = load.begin.table
        self._store.check_dealt(load.begin.dealt, table)
        if body is None:
            raise malformed("batch", "it has no body")
        with load.lock:
            if load.attempts is None:
                raise _load_over()
            # An attempt's batches arrive one after the other, over one connection.
            attempt = load.attempts.setdefault(question.attempt, _Attempt())
        batch = attempt.decoder.decode(question.schema, body)
        _check(batch, load.types)
        if self.budget is not None:
            self.budget.charge(body.size, f"Loading `{table}`")
        with load.lock:
            kept = load.attempts is not None and load.attempts.get(question.attempt) is attempt
            if kept:
                attempt.batches.append(batch)
                attempt.rows += batch.num_rows
                attempt.size += body.size
        if not kept:
            self._discharge(body.size)
            raise _load_over()

    def _forget(self, question: Forget) -> None:
        load = self._loads.get(question.load)
        if load is not None:
            with load.lock:
                forgotten = None if load.attempts is None else load.attempts.pop(question.attempt, None)
            if forgotten is not None:
                self._discharge(forgotten.size)

    def _discharge(self, size: int) -> None:
        if self.budget is not None and size:
            self.budget.release(size)

    def _hold(self, question: Hold) -> int:
        with self._lock:
            self._held.setdefault(question.version, {})[question.token] = question.holder
        self._on_hold(question.version)
        try:
            share = self._store.share(question.version, question.table, question.owner)
        except OperationalError:
            self._let_go(question.version, question.token)
            raise
        return sum(segment.batch.num_rows for segment in share.segments)

    def _let_go(self, version: str, token: str) -> None:
        with self._lock:
            holders = self._held.get(version, {})
            holders.pop(token, None)
            if not holders:
                self._held.pop(version, None)
        self._on_hold(version)

    def _read(self, question: ReadShare) -> tuple[bytes, list[Part]]:
        share = self._store.share(question.version, question.table, question.owner)
        if share.segments and not {*question.columns} <= {*range(share.segments[0].batch.num_columns)}:
            raise malformed("question", f"there are no columns {question.columns}")
        encoder = BatchEncoder()
        sizes: list[tuple[bytes | None, int]] = []
        parts: list[Part] = []
        for batch in _rows_between(share.segments, question):
            encoded = encoder.encode(batch)
            sizes.append((encoded.schema, encoded.size))
            parts.extend(encoded.body)
        return codec.encode(EncodedPieces(tuple(sizes))), parts

    # ---- the member

    def is_held(self, key: str) -> bool:
        """Return whether this member keeps the share or backup with the key ``key`` because of a
        :class:`Hold` on a version that it belongs to."""
        return any(uses(version, key, self._store.member) for version in tuple(self._held))

    def keep_only(self, is_present: Callable[[str], bool]) -> None:
        """End the loads and holds whose coordinator has left the cluster. ``is_present`` returns whether the
        member with a name is in the cluster."""
        with self._lock:
            over = [name for name, load in self._loads.items() if not is_present(load.begin.holder)]
            left = [
                (version, token)
                for version, holders in self._held.items()
                for token, holder in holders.items()
                if not is_present(holder)
            ]
        for load in over:
            self._end(load)
        for version, token in left:
            self._let_go(version, token)

    def staged(self, load: str, attempts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the batches that the given attempts have brought to this member, and remove the attempts from
        the load, so that a batch takes no memory here after it is yielded. Raises OperationalError with
        SQLSTATE 40001 if the load has ended or an attempt is missing."""
        found = self._loads.get(load)
        for name in attempts:
            attempt = None
            if found is not None:
                with found.lock:
                    attempt = None if found.attempts is None else found.attempts.pop(name, None)
            if attempt is None:
                raise _load_over()
            batches, attempt.batches = attempt.batches[::-1], []
            self._discharge(attempt.size)
            while batches:
                yield batches.pop()

    @property
    def loads(self) -> dict[str, int]:
        """The number of bytes of unpublished rows on this member, by the name of each load that hasn't
        ended."""
        with self._lock:
            return {
                name: sum(attempt.size for attempt in tuple((load.attempts or {}).values()))
                for name, load in self._loads.items()
            }


class StagedRows(Processor, frozen=True):
    """A source of the rows that attempts of a load have brought to the member on which the source runs, with
    one instance on each member. ``attempts``: for each member its name, the tokens of the attempts, and the
    number of their rows. A member that isn't in ``attempts`` emits nothing. Raises InternalError if the
    member has another number of rows."""

    load: str
    table: str
    attempts: tuple[tuple[str, tuple[str, ...], int], ...]

    def run(self, context: ProcessorContext) -> Steps:
        exchange = context.resources.get(EXCHANGE)
        if not isinstance(exchange, RowExchange):
            raise InternalError("this member has no service for loads")
        member = store_of(context).member
        for name, attempts, expected in self.attempts:
            if name != member:
                continue
            rows = 0
            for batch in exchange.staged(self.load, attempts):
                rows += batch.num_rows
                yield batch
            if rows != expected:
                raise InternalError(f"{rows} of {expected} rows for `{self.table}` have arrived")

    def describe(self) -> str:
        return f"StagedRows: {self.table}"


def _rows_between(segments: Sequence[Segment], question: ReadShare) -> Iterator[pa.RecordBatch]:
    begin = 0
    for segment in segments:
        end = begin + segment.batch.num_rows
        first, last = max(question.start, begin), min(question.stop, end)
        if first < last:
            wanted = segment.batch.select(list(question.columns))
            yield from segment.pieces(wanted, first - begin, last - begin)
        begin = end


def _accepted(data_type: pa.DataType) -> tuple[pa.DataType, ...]:
    form = physical(data_type)
    return (form, DICTIONARY_STRING) if is_string(form) else (form,)


def _check(batch: pa.RecordBatch, types: Sequence[tuple[pa.DataType, ...]]) -> None:
    """Raise the error of a malformed message if the batch doesn't have the expected columns. ``types``: for
    each column the accepted Arrow types."""
    if batch.num_columns != len(types):
        raise malformed("batch", f"it has {batch.num_columns} columns instead of {len(types)}")
    for number, (found, accepted) in enumerate(zip(batch.schema.types, types, strict=True)):
        if found not in accepted:
            raise malformed("batch", f"column {number} has type {found} instead of {accepted[0]}")


def _load_over() -> OperationalError:
    return OperationalError("the load of these rows has ended", sqlstate="40001")
