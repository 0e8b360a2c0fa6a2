"""A member's shares of the memory tables that are spread over all members."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.requests import Service
from sqlfront_connectors.memory.chunk_counts import ChunkCount, counted
from sqlfront_connectors.memory.lookup import Lookup, ShareLookups
from sqlfront_connectors.memory.row_changes import RowChange, changed_share
from sqlfront_connectors.memory.segment import Segment
from sqlfront_connectors.memory.table_memory import TableMemory
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import InternalError, OperationalError

#: Keys of versions that failed are remembered until there have been so many more.
_MOST_REFUSED: Final = 1000
#: The resource under which a member's processors find its store, and other members the service of lookups.
STORE: Final = "memory:store"

Question: TypeAlias = Lookup | RowChange | ChunkCount
_decode: Final = make_decoder(Question)


def decode_question(content: bytes) -> Question:
    """What a store is asked; OperationalError for what is no question."""
    try:
        question: Question = _decode(content)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("question", error) from error
    return question


class Share(msgspec.Struct, frozen=True):
    """What one member has of one version of a table. ``partitions``: those that the member had when the share
    was made, of which it holds all rows. ``lookups`` finds some of them, None = nobody may ask for them."""

    segments: tuple[Segment, ...]
    partitions: tuple[int, ...]
    lookups: ShareLookups | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(segment.rows for segment in self.segments)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(segment.size for segment in self.segments)


class TableStore(Mapping[str, object], Service):
    """All shares of one member by the key of their table's version; as a mapping it is what the member's
    processors find them in, the store itself as :data:`STORE`, and the member's other ``services``. As a
    service it answers lookups, makes shares in which a few rows are changed, and counts chunks.

    A share appears as a whole and never changes. Safe to use from several threads. ``member``: whose store it
    is. ``dealt``: gives the version of the member list since which no partition has changed its owner.
    """

    def __init__(self, member: str = "", dealt: Callable[[], int] = lambda: 0) -> None:
        self.member = member
        #: Called with the key of every share that is staged.
        self.on_stage: Callable[[str], None] = lambda key: None
        #: What answers other members' questions besides; to be filled before anybody asks.
        self.services: dict[str, Service] = {}
        #: Counts what the shares hold; None: nobody does.
        self.memory: TableMemory | None = None
        self._dealt = dealt
        # Reentrant for finalizers, which free.
        self._lock = threading.RLock()
        self._shares: dict[str, Share] = {}
        # Keys that were freed before their share came.
        self._refused: deque[str] = deque(maxlen=_MOST_REFUSED)

    def hold(self, segments: tuple[Segment, ...], table: str) -> None:
        """Count the rows of a share that is about to be staged. OperationalError if they don't fit."""
        if self.memory is not None:
            self.memory.hold(segments, table)

    def stage(self, key: str, share: Share) -> None:
        """Keep the share of a version that nobody knows of yet, unless its writer has given up."""
        with self._lock:
            if key in self._shares:
                raise InternalError(f"there is a share {key} already")
            if key not in self._refused:
                self._shares[key] = share
        self.on_stage(key)

    def check_dealt(self, dealt: int, table: str) -> None:
        """OperationalError with SQLSTATE 40001 if partitions have changed their owners since then."""
        if dealt != self._dealt():
            raise partitions_moved(table)

    def answer(self, content: bytes) -> bytes:
        """The rows of a :class:`~sqlfront_connectors.memory.lookup.Lookup`, what is said of a new share
        after a :class:`~sqlfront_connectors.memory.row_changes.RowChange`, or the answer to a
        :class:`~sqlfront_connectors.memory.chunk_counts.ChunkCount`."""
        question = decode_question(content)
        self.check_dealt(question.dealt, question.table)
        share = self._shares.get(question.base if isinstance(question, RowChange) else question.version)
        if share is None or share.lookups is None:
            raise version_gone(question.table)
        match question:
            case Lookup():
                return share.lookups.answer(question)
            case RowChange():
                segments, lookups, answer = changed_share(share.segments, share.lookups, question)
                self.hold(segments, question.table)
                self.stage(question.version, Share(segments, share.partitions, lookups))
                return answer
            case ChunkCount():
                return counted(share.segments, question)

    def free(self, key: str) -> None:
        """Forget a share; those who read it keep what they hold. If it comes later (a job may fail while
        another member is still at work), it is forgotten then."""
        with self._lock:
            if self._shares.pop(key, None) is None:
                self._refused.append(key)

    @property
    def versions(self) -> tuple[str, ...]:
        """The keys of all shares."""
        return tuple(self._shares)

    def __getitem__(self, key: str) -> object:
        if key == STORE:
            return self
        return self.services[key] if key in self.services else self._shares[key]

    def __iter__(self) -> Iterator[str]:
        return iter((STORE, *self.services, *self.versions))

    def __len__(self) -> int:
        return len(self._shares) + len(self.services) + 1


def store_of(context: ProcessorContext) -> TableStore:
    """The store of the member on which a processor runs."""
    store = context.resources.get(STORE)
    if not isinstance(store, TableStore):
        raise InternalError("this member has no store for tables")
    return store


def share_of(context: ProcessorContext, key: str, table: str) -> Share:
    """The member's share of a table's version; OperationalError with SQLSTATE 40001 if it isn't there any
    more."""
    share = context.resources.get(key)
    if not isinstance(share, Share):
        raise version_gone(table)
    return share


def partitions_moved(table: str) -> OperationalError:
    """A query was planned for other owners of partitions than there are now."""
    return OperationalError(
        f"the partitions of `{table}` have moved since the query was planned; run it again", sqlstate="40001"
    )


def version_gone(table: str) -> OperationalError:
    """A query reads a version whose share isn't there."""
    return OperationalError(
        f"the version of `{table}` that the query was planned for is gone; run the query again",
        sqlstate="40001",
    )
