"""The placement of backups of a spread table: each member's share of a version is held by further members,
too, as a *backup*.

A backup is made of the same changes in the same order as the share, so that it has the same rows under the
same numbers. No query reads a backup as long as the share's member is present.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.keeper.partition_table import backup_members
from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberInfo, MemberList
from sqlfront_connectors.memory.segments.numbering import home_of
from sqlfront_values.arrow.arrays import repeat
from sqlfront_values.types import BIGINT

#: The members that hold backups of each owner's share: pairs of an owner and the holders.
Backups: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
#: The largest number of backups that a table may have.
MOST_BACKUPS = 2
#: The columns that :meth:`BackupTargets.addressed` adds before a batch's own columns, by their ordinals.
OWNER, HOME = 0, 1


class BackupTargets(msgspec.Struct, frozen=True):
    """The members to which one backup of each member's share goes. ``owners``: the members that have shares.
    ``holders``: for each owner the member that holds the backup. ``homes``: for each owner an integer whose
    hash is in a partition of the holder, by which a job sends rows to the holder."""

    owners: tuple[str, ...]
    holders: tuple[str, ...]
    homes: tuple[int, ...]

    def held_by(self, member: str) -> tuple[int, ...]:
        """Return the positions in ``owners`` of the owners whose backups ``member`` holds."""
        return tuple(place for place, holder in enumerate(self.holders) if holder == member)

    def addressed(self, batch: pa.RecordBatch, owner: int) -> pa.RecordBatch:
        """Return the batch with two more columns before its own: :data:`OWNER`, the position in ``owners`` of
        the member whose share the rows belong to, and :data:`HOME`, the home at the backup's holder."""
        marks = [repeat(value, BIGINT, batch.num_rows) for value in (owner, self.homes[owner])]
        names = ["owner", "home", *batch.schema.names]
        return pa.RecordBatch.from_arrays([*marks, *batch.columns], names=names)


def backups_of(members: MemberList, count: int) -> Backups:
    """Return for each owner of partitions in the list ``members`` the members that are to hold the ``count``
    backups of the owner's share; fewer backups where there are fewer other members."""
    owners = [owner for owner in dict.fromkeys(members.owners) if owner != NOBODY]
    if not count or len(owners) < 2:
        return ()
    hosts = {each.name: host_of(each) for each in members.members if each.address}
    return tuple(backup_members(owners, count, hosts).items())


def host_of(member: MemberInfo) -> str:
    """Return the host in the member's address; members on Unix sockets are all on the host of the empty
    name."""
    return member.address.rpartition(":")[0] if "/" not in member.address else ""


def targets_of(backups: Backups, owners: Sequence[str]) -> tuple[BackupTargets, ...]:
    """Return the targets of the first backup of each share, those of the second, and so on. ``owners``: the
    owner of each partition."""
    partitions: dict[str, list[int]] = {}
    for partition, owner in enumerate(owners):
        partitions.setdefault(owner, []).append(partition)
    homes = {name: home_of(partitions[name]) for _, holders in backups for name in holders}
    names = tuple(owner for owner, _ in backups)
    columns = zip(*(holders for _, holders in backups), strict=True)
    return tuple(BackupTargets(names, column, tuple(homes[name] for name in column)) for column in columns)


def readers_of(owners: Sequence[str], backups: Backups, present: frozenset[str]) -> Mapping[str, str | None]:
    """Return, for each owner of a share, the member that reads the share: the owner itself if it is among the
    members ``present``, else the first present holder of a backup; None if the share is lost."""
    held = dict(backups)
    return {
        owner: next((name for name in (owner, *held.get(owner, ())) if name in present), None)
        for owner in dict.fromkeys(owners)
    }


class BackupState(Enum):
    """The state of the backups of a share, or of several shares: then the last of their states in this
    order."""

    COMPLETE = "complete"
    """As many members as the table asks for hold backups."""
    PENDING = "pending"
    """There are fewer other members than the table asks for; the missing backups are made when members
    join."""
    BEING_MADE = "being made"
    """Members can hold the missing backups; the table's rows are about to be placed anew, with backups."""
    LOST = "lost"
    """The share's member and all holders of its backups are gone: the rows are lost."""

    @staticmethod
    def of_all(states: "Iterable[BackupState]") -> "BackupState":
        """Return the state of several shares together."""
        order = list(BackupState)
        return max(states, key=order.index, default=BackupState.COMPLETE)


class HeldShare(msgspec.Struct, frozen=True):
    """A share of a table's version, as the members of one member list hold it. ``owner``: the member that has
    made the share, and owned the partitions ``partitions`` then. ``reader``: the member whose rows queries
    read, which is the owner, or the holder of a backup if the owner is gone; None = nobody. ``backups``: the
    other members that are present and hold backups."""

    owner: str
    partitions: tuple[int, ...]
    reader: str | None
    backups: tuple[str, ...]
    state: BackupState


def readable(members: MemberList) -> frozenset[str]:
    """Return the members whose rows jobs can read."""
    return frozenset(members.data_members) & {*members.owners, *members.handing_over}


def held_shares(
    owners: Sequence[str], backups: Backups, wanted: int, members: MemberList
) -> tuple[HeldShare, ...]:
    """Return the shares of a version. ``owners``: the owner of each partition when the version was made;
    ``wanted``: the number of backups that the table asks for."""
    present, held = readable(members), dict(backups)
    possible = len({*members.owners} - {NOBODY}) - 1
    partitions: dict[str, list[int]] = {}
    for partition, owner in enumerate(owners):
        partitions.setdefault(owner, []).append(partition)
    shares = []
    for owner, reader in readers_of(owners, backups, present).items():
        holders = tuple(name for name in held.get(owner, ()) if name in present and name != reader)
        state = _state(reader, len(holders), wanted, possible)
        shares.append(HeldShare(owner, tuple(partitions[owner]), reader, holders, state))
    return tuple(shares)


def _state(reader: str | None, made: int, wanted: int, possible: int) -> BackupState:
    if reader is None:
        return BackupState.LOST
    if made >= wanted:
        return BackupState.COMPLETE
    return BackupState.BEING_MADE if made < possible else BackupState.PENDING
