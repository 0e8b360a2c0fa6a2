"""The store in which a member keeps its shares of spread memory tables (tables whose rows are distributed
over the members of a cluster)."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

import msgspec

from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_connectors.memory.spread.chunk_counts import ChunkCount, counted
from sqlfront_connectors.memory.spread.key_changes import KeyChange, key_change_answered
from sqlfront_connectors.memory.spread.lookup import Lookup, found
from sqlfront_connectors.memory.spread.room import Room, encode_room
from sqlfront_connectors.memory.spread.row_changes import NO_SHARE, RowChange, changed_share
from sqlfront_connectors.memory.spread.share_sizes import ShareSize, ShareSizes, encode_sizes
from sqlfront_connectors.memory.spread.share_statistics import (
    encode_share_change,
    encode_share_statistics,
)
from sqlfront_connectors.memory.spread.version_keys import backup_key, share_key, uses
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import InternalError, OperationalError

#: Failed versions, the latest ones, whose keys the store remembers, so that a late message of theirs is
#: refused; the limit bounds the memory.
_MOST_REFUSED: Final = 1000
#: The resource under which a member's processors find its store, and the service under which other members
#: send lookups.
STORE: Final = "memory:store"

Question: TypeAlias = Lookup | RowChange | KeyChange | ChunkCount | Room | ShareSizes
_decode: Final = make_decoder(Question)


def decode_question(content: bytes) -> Question:
    """Decode a request to a member's :class:`TableStore`. Raises OperationalError for malformed bytes."""
    try:
        question: Question = _decode(content)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("question", error) from error
    return question


class TableStore(Mapping[str, object], RequestService):
    """The store of one member's shares of memory tables; the key of a table's version finds the version's
    share.

    As a mapping, the store gives the member's processors the resources that they look up by name: each share
    under its key, the store itself under :data:`STORE`, and the services in ``services`` under their names.
    As a service, the store answers the questions of other members and clients: lookups, changes of rows, and
    counts of chunks.

    A share becomes visible only when it is complete, and never changes. Safe to use from several threads.
    ``member``: the name of the store's member. ``dealt``: returns the version of the member list in which the
    partitions last changed their owners.
    """

    def __init__(self, member: str = "", dealt: Callable[[], int] = lambda: 0) -> None:
        self.member = member
        #: A callback that receives the key of every staged share.
        self.on_stage: Callable[[str], None] = lambda key: None
        #: Further services for other members; to be filled before the first question.
        self.services: dict[str, RequestService] = {}
        #: The accounting of the shares' memory; None = no accounting.
        self.memory: TableMemory | None = None
        self._dealt = dealt
        # Reentrant because finalizers call :meth:`free`.
        self._lock = threading.RLock()
        # This member's shares, and its backups of other members' shares.
        self._shares: dict[str, TableShare] = {}
        # Keys that were freed before their share was staged.
        self._refused: deque[str] = deque(maxlen=_MOST_REFUSED)

    def hold(self, segments: tuple[Segment, ...], table: str) -> None:
        """Charge the memory account of the member for a share's segments; to be called before :meth:`stage`.
        ``table``: the table's name, for the error. Raises OperationalError if there is not enough memory."""
        if self.memory is not None:
            self.memory.hold(segments, table)

    def stage(self, key: str, share: TableShare, owner: str | None = None) -> None:
        """Put ``share`` into the store under ``key``, the key of its table's version, before that version is
        published. ``owner``: the member of whose share this is a backup, None = the share is this member's
        own. The store drops the share instead if :meth:`free` was called with the key before, since the
        share's writer has given up. In both cases :attr:`on_stage` receives the key of the share or backup.

        Raises InternalError if the store has a share with this key already.
        """
        place = self._key(key, owner)
        with self._lock:
            if place in self._shares:
                raise InternalError(f"there is a share {place} already")
            if key not in self._refused:
                self._shares[place] = share
        self.on_stage(place)

    def share(self, key: str, table: str, owner: str | None = None) -> TableShare:
        """Return the share under ``key``, the key of a version of the table; ``table`` is the table's name
        for the error. ``owner``: the member of whose share to return the backup, None = the share of this
        member. Raises OperationalError with SQLSTATE 40001 if the store has no such share (any
        more)."""
        share = self._shares.get(self._key(key, owner))
        if share is None:
            raise OperationalError(
                f"the version of `{table}` that the query was planned for is gone; run the query again",
                sqlstate="40001",
            )
        return share

    def _key(self, version: str, owner: str | None = None) -> str:
        return share_key(version, self.member) if owner is None else backup_key(version, owner)

    def check_dealt(self, dealt: int, table: str) -> None:
        """Raise OperationalError with SQLSTATE 40001 if partitions have changed their owners since the
        version ``dealt`` of the member list. ``table``: the table's name for the error."""
        if dealt != self._dealt():
            raise partitions_moved(table)

    def answer(self, content: bytes) -> bytes:
        """Answer an encoded question of another member or client; the answer is encoded, too. A
        :class:`~sqlfront_connectors.memory.spread.lookup.Lookup` is answered by the rows; a
        :class:`~sqlfront_connectors.memory.spread.row_changes.RowChange` makes a share and is answered by
        what has changed in the share; a
        :class:`~sqlfront_connectors.memory.spread.key_changes.KeyChange` likewise, with the number of rows; a
        :class:`~sqlfront_connectors.memory.spread.chunk_counts.ChunkCount` is answered by the counts; a
        :class:`~sqlfront_connectors.memory.spread.room.Room` is answered by the free bytes; a
        :class:`~sqlfront_connectors.memory.spread.share_sizes.ShareSizes` by the sizes. Raises
        OperationalError if the question is malformed, the share is gone, memory is short, or, unless it is a
        lookup, partitions have moved since the question was made."""
        question = decode_question(content)
        if isinstance(question, Room):
            return encode_room(sys.maxsize if self.memory is None else self.memory.free())
        if isinstance(question, ShareSizes):
            sizes = {key: self.size_of(key) for key in question.versions}
            return encode_sizes({key: size for key, size in sizes.items() if size is not None})
        if not isinstance(question, Lookup):  # lookups go to the members that have the rows
            self.check_dealt(question.dealt, question.table)
        match question:
            case Lookup():
                return found(self.share(question.version, question.table), question)
            case RowChange():
                return self._change(question)
            case KeyChange():
                share_of = partial(self._share_of, question.base, question.table)
                return key_change_answered(question, share_of, partial(self._keep, question))
            case ChunkCount():
                share = self.share(question.version, question.table, question.owner)
                return counted(share.segments, question)

    def _change(self, question: RowChange) -> bytes:
        """Make the shares and backups that the change asks for; return the answer."""
        answer = NO_SHARE
        for owner, gone, added in question.changes:
            share = self._share_of(question.base, question.table, owner)
            made, keys = changed_share(share, question.table, gone, added)
            told = self._keep(question, owner, share, made, keys)
            answer = answer if told == NO_SHARE else told
        return answer

    def _share_of(self, version: str, table: str, owner: str) -> TableShare:
        """Return this member's own share, or the backup of that of another ``owner``, like :meth:`share`."""
        return self.share(version, table, None if owner == self.member else owner)

    def _keep(
        self,
        question: RowChange | KeyChange,
        owner: str,
        share: TableShare,
        made: TableShare,
        keys: Callable[[], int],
    ) -> bytes:
        """Store ``made``, which was derived from the ``share`` of ``owner``, and return what the answer tells
        of it; of a backup nobody reads anything. ``keys``: returns the change of the number of distinct
        keys."""
        own = owner == self.member
        self.hold(made.segments, question.table)
        self.stage(question.version, made, None if own else owner)
        if not own:
            return NO_SHARE
        return encode_share_statistics(made) if question.whole else encode_share_change(share, made, keys())

    def free(self, key: str) -> None:
        """Remove the share or the backup under ``key``; readers that have it already can go on. If there is
        none yet (a job may fail while another member is still at work), a later :meth:`stage` with this key
        is ignored."""
        with self._lock:
            if self._shares.pop(key, None) is None:
                self._refused.append(key)

    def bytes_of(self, key: str) -> int:
        """Return the size of the member's share of the version ``key`` in memory in bytes, 0 if there is
        none."""
        share = self._shares.get(self._key(key))
        return 0 if share is None else share.size

    @property
    def keys_held(self) -> tuple[str, ...]:
        """The keys of all shares and backups in the store."""
        return tuple(self._shares)

    def holds(self, key: str) -> bool:
        """Return whether the store has a share or a backup under this key."""
        return key in self._shares

    def size_of(self, version: str) -> ShareSize | None:
        """Return the sizes of the member's share of the version with this key, and of the backups of other
        members' shares; None if the member holds nothing of it."""
        own = share_key(version, self.member)
        held = {key: share for key, share in tuple(self._shares.items()) if uses(version, key, self.member)}
        if not held:
            return None
        copied = sum(share.size for key, share in held.items() if key != own)
        share = held.get(own)
        return ShareSize(0, 0, copied) if share is None else ShareSize(share.rows, share.size, copied)

    def __getitem__(self, key: str) -> object:
        if key == STORE:
            return self
        return self.services[key] if key in self.services else self._shares[self._key(key)]

    def __iter__(self) -> Iterator[str]:
        return iter((STORE, *self.services, *self._shares))

    def __len__(self) -> int:
        return len(self._shares) + len(self.services) + 1


def store_of(context: ProcessorContext) -> TableStore:
    """Return the store of the member on which a processor runs. Raises InternalError if the member has no
    store."""
    store = context.resources.get(STORE)
    if not isinstance(store, TableStore):
        raise InternalError("this member has no store for tables")
    return store


def partitions_moved(table: str) -> OperationalError:
    """Return the error (OperationalError, SQLSTATE 40001) for a query that was planned before partitions of
    ``table`` changed their owners."""
    return OperationalError(
        f"the partitions of `{table}` have moved since the query was planned; run it again", sqlstate="40001"
    )
