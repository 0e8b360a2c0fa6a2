"""The placement of backups of a spread table: each member's share of a version is held by further members,
too, as a *backup*.

A backup is made of the same changes in the same order as the share, so that it has the same rows under the
same numbers. No query reads a backup as long as the share's member is present.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.member_list import NOBODY, MemberInfo, MemberList
from sqlfront_cluster.members.partition_table import backup_members
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
    """Return the members that hold backups when each owner of partitions has ``count`` backups, as far as
    there are members."""
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
    homes = {owner: home_of(partitions[owner]) for owner, _ in backups}
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
