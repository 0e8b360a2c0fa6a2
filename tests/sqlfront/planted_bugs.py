"""Bugs that are planted into the code of tables, members and keepers: the simulation has to find them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.cluster.handover import Handover
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.cluster.service import TableService
from sqlfront_cluster.members.jobs.checker import JobChecker
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.keeper_documents import KeeperDocuments
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.protocol.applied_changes import AppliedChanges
from sqlfront_cluster.members.protocol.cluster_messages import DocumentAnswer, PutDocument
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.memory.exchange import holding
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread import key_changes, row_change_version, snapshot, store
from sqlfront_connectors.memory.spread.backups import Backups, readers_of
from sqlfront_connectors.memory.spread.documents import TABLE
from sqlfront_connectors.memory.spread.key_changes import KeyChange
from sqlfront_connectors.memory.spread.next_version import NextVersion
from sqlfront_connectors.memory.spread.processors import BackupShare
from sqlfront_connectors.memory.spread.row_change_version import RowChangeVersion
from sqlfront_connectors.memory.spread.row_changes import RowChange
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.store import TableStore
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version_keys import (
    attempt_token,
    changed_key,
    expected_version,
    token_of,
)
from sqlfront_engine.dag import DAG
from tests.sqlfront.chaos_forms import Scenario
from tests.sqlfront.simulated import SimulatedSession

CHANGED_KEY = changed_key
PUT = Keeper._put
IS_NEEDED = TableService._is_needed
RUN = SimulatedSession.run
BEGIN_ATTEMPT = ProcessMembers.begin_attempt
ALLOWS = KeeperDocuments._allows
READERS = readers_of
KEEP = TableStore._keep
SHARE_OF = TableStore._share_of
READ_ANSWERS = key_changes.read_answers
SEGMENTS = BackupShare.segments
ANSWERS = KeeperDocuments.answers


class Planted(msgspec.Struct, frozen=True):
    """A bug in place of ``name`` of ``owner``. ``scenario``: one with which it is found soon, None = what the
    seeds draw. ``rare``: it is found after hundreds of seeds. ``soon``: few seeds find it that draw what
    happens."""

    owner: Any
    name: str
    bug: Callable[..., object]
    scenario: Scenario | None
    rare: bool = False
    soon: bool = False

    def __str__(self) -> str:
        """Return the name of the bug."""
        return f"{self.name}-{self.bug.__name__}"


def nothing(*_: object, **__: object) -> None:
    """Instead of doing it."""


def put_whatever_was_expected(self: Keeper, writer: Any, peer: Any, message: PutDocument) -> None:
    PUT(self, writer, peer, replace(message, change=replace(message.change, expected=None, dealt=None)))


def freed_as_soon_as_replaced(self: TableService, key: str) -> bool:
    self._published.discard(key)
    return IS_NEEDED(self, key)


def only_published_is_needed(self: TableService, key: str) -> bool:
    return key in self._current.get(key.rpartition("@")[0], ())


def never_freed(self: TableService) -> None:
    """All versions stay."""


def lost_shares_left_out(self: SpreadSnapshot) -> dict[str, str]:
    """The shares of lost members are taken for empty."""
    present = self.members.member_list.data_members
    return {owner: owner for owner in self.held.owners if owner in present}


def published_after_the_first_report(
    self: SimulatedSession, dag: DAG, resources: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    for batch in RUN(self, dag, resources):
        yield batch
        return


def as_in_the_last_whole_version(version: str, member: str) -> str:
    return version.partition("\x1f")[0]


def as_if_all_shares_were_new(version: str, member: str) -> str:
    return version


def forgetting_earlier_changes(base: str, shares: Mapping[str, str]) -> str | None:
    return CHANGED_KEY(base.partition("\x1f")[0], shares)


def begun_with_the_latest_document(self: ProcessMembers, table: SpreadTable) -> str:
    key = f"{TABLE}{table.identity}"
    self._versions[table.identity] = self.documents.version(key), ()
    return attempt_token(self._token(), self.documents.version(key))


def begun_beside_turns(self: ProcessMembers, table: SpreadTable) -> str | None:
    token = BEGIN_ATTEMPT(self, table)
    if token is not None:
        self._versions[table.identity] = self._versions[table.identity][0], ()
    return token


def only_needed_in_a_turn(self: TableService, key: str) -> bool:
    return expected_version(token_of(key)) is None and IS_NEEDED(self, key)


def owners_not_compared(self: KeeperDocuments, change: ConditionalChange, dealt: int) -> bool:
    """A version is published on a member that has handed over meanwhile."""
    return ALLOWS(self, replace(change, dealt=None), dealt)


def lost_holders_read(
    owners: Sequence[str], backups: Backups, present: frozenset[str]
) -> Mapping[str, str | None]:
    """Backups are read from holders that are gone."""
    return READERS(owners, backups, present.union(*(holders for _, holders in backups)))


def without_backups(self: RowChangeVersion, shares: Collection[str]) -> dict[str, list[str]]:
    return {owner: [owner] for owner in shares}


def merged_once_more(
    self: BackupShare, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
) -> tuple[tuple[Segment, ...], int]:
    """The same rows as in the share, but some under other numbers."""
    segments, written = SEGMENTS(self, present, batches, owner)
    return merged(segments, self.schema, self.partitioning), written


def backups_without_the_change(
    self: TableStore,
    question: RowChange | KeyChange,
    owner: str,
    share: TableShare,
    made: TableShare,
    keys: Callable[[], int],
) -> bytes:
    """The holder of a backup stores the share as it was."""
    changed = isinstance(question, KeyChange) and owner != self.member
    return KEEP(self, question, owner, share, share if changed else made, keys)


def shares_of_the_latest_version(self: TableStore, version: str, table: str, owner: str) -> TableShare:
    """Changes are made to the latest share, though it may not be that of the version that is changed."""
    known = [share for key, share in self._shares.items() if owner == self.member and "\x1e" not in key]
    return known[-1] if known else SHARE_OF(self, version, table, owner)


def told_of_all(
    table: str, shares: Mapping[str, Sequence[str]], answers: Mapping[str, bytes | memoryview]
) -> dict[str, tuple[int, msgspec.Raw]]:
    """The version names shares that were not made, since their owners have no row of the keys."""
    found = READ_ANSWERS(table, shares, answers)
    told = next((told for count, told in found.values() if count), None)
    return found if told is None else {owner: (max(1, count), told) for owner, (count, _) in found.items()}


def rows_stay(self: Handover) -> bool:
    return True


def no_backups_placed(self: NextVersion) -> tuple[()]:
    return ()


def no_rows_for_backups(self: BackupShare, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    return iter(())


def answered_before_others_have_it(
    self: KeeperDocuments, seen: Callable[[str], int]
) -> list[tuple[str, DocumentAnswer]]:
    """A change is answered as soon as the keeper has made it."""
    return ANSWERS(self, lambda writer: self.version)


_PLAIN: Final = Scenario()
_LOOKUPS: Final = Scenario(lookups=True)
_CHANGES: Final = Scenario(changes=True)
_CHANGES_BACKUPS: Final = Scenario(changes=True, backups=1)
_BACKUPS: Final = Scenario(lookups=True, backups=1)
_LEAVES: Final = Scenario(leaves=True, crashes=True)
_LEAVES_BACKUPS: Final = Scenario(backups=1, leaves=True, crashes=True)
_KEEPERS: Final = Scenario(keepers=True)
_LOSSES: Final = Scenario(lookups=True, losses=True)

PLANTED: Final = (
    Planted(Keeper, "_put", put_whatever_was_expected, _PLAIN),
    Planted(TableService, "_is_needed", freed_as_soon_as_replaced, _PLAIN),
    Planted(TableService, "_is_needed", only_published_is_needed, _PLAIN),
    Planted(TableService, "sweep", never_freed, _PLAIN, soon=True),
    Planted(SpreadSnapshot, "readers", lost_shares_left_out, _PLAIN, soon=True),
    Planted(SimulatedSession, "run", published_after_the_first_report, _PLAIN),
    # In changes without a turn, and in the keys of versions.
    Planted(ProcessMembers, "begin_attempt", begun_with_the_latest_document, _CHANGES),
    Planted(ProcessMembers, "begin_attempt", begun_beside_turns, _CHANGES),
    Planted(TableService, "_is_needed", only_needed_in_a_turn, _CHANGES, rare=True),
    Planted(store, "share_key", as_in_the_last_whole_version, _LOOKUPS),
    Planted(holding, "share_key", as_if_all_shares_were_new, _LOOKUPS),
    Planted(row_change_version, "changed_key", forgetting_earlier_changes, _LOOKUPS),
    # In handovers and backups.
    Planted(Handover, "_move_all", rows_stay, _LEAVES),
    Planted(KeeperDocuments, "_allows", owners_not_compared, _LEAVES),
    Planted(Membership, "_leave_soon", Membership._leave_when_idle, _LEAVES, rare=True),
    Planted(NextVersion, "_placed_backups", no_backups_placed, _LEAVES_BACKUPS),
    Planted(snapshot, "readers_of", lost_holders_read, _LEAVES_BACKUPS),
    Planted(RowChangeVersion, "_asked", without_backups, _BACKUPS),
    Planted(BackupShare, "divided", no_rows_for_backups, _BACKUPS),
    Planted(BackupShare, "segments", merged_once_more, _BACKUPS),
    # In changes by keys.
    Planted(TableStore, "_keep", backups_without_the_change, _CHANGES_BACKUPS),
    Planted(TableStore, "_share_of", shares_of_the_latest_version, _CHANGES_BACKUPS),
    Planted(row_change_version, "read_answers", told_of_all, _CHANGES_BACKUPS),
    # In takeovers.
    Planted(AppliedChanges, "find", nothing, _KEEPERS),
    Planted(KeeperDocuments, "answers", answered_before_others_have_it, None, soon=True),
    # Of lost messages.
    Planted(JobChecker, "asked_by_coordinator", nothing, _LOSSES),
)
