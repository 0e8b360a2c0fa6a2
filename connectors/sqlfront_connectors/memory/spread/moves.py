"""The steps by which the rows of a version come to the members that own the partitions now.

Each step is a version of its own, so that writers wait for one step only, and a step's additional memory is
small. First the shares get the backups that they will have (:class:`CopyStep`); then each step moves some
partitions (:class:`MoveStep`), with the backups of their rows. Between the steps some partitions have their
new owners, and the others still their former ones, as the version's ``owners`` say.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.numbering import home_of
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment
from sqlfront_connectors.memory.spread.backups import Backups, backups_of
from sqlfront_connectors.memory.spread.version import MIXED, TableVersion
from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.partitioning.partitions import partition_ids

#: Bytes that one step moves, about: as long as the step takes, writers of the table wait.
STEP_BYTES: Final = 16 << 20


class MoveStep(msgspec.Struct, frozen=True):
    """The partitions that one step moves. ``owners``: the owner of each partition before the step. ``stays``:
    the members that own partitions now. ``moving``: the partitions that move, and ``homes``: for each of them
    an integer whose hash is in a partition of the new owner, by which a job sends rows there."""

    owners: tuple[str, ...]
    stays: tuple[str, ...]
    moving: tuple[int, ...]
    homes: tuple[int, ...]

    def batches(
        self, owner: str, segments: Sequence[Segment], partitioning: Partitioning | None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows that leave the share of ``owner``, each time with the home that they move to.
        ``segments``: those of the share. ``partitioning``: the table's."""
        for segment, (rows, homes) in zip(
            segments, self._leaving(owner, segments, partitioning), strict=True
        ):
            for home in np.unique(homes).tolist():
                yield home, segment.batch.take(from_numpy(rows[homes == home], pa.int64()))

    def moved(
        self,
        owner: str,
        segments: Sequence[Segment],
        schema: pa.Schema,
        partitioning: Partitioning | None,
        added: Sequence[pa.RecordBatch],
        indexes: Sequence[tuple[int, ...]],
    ) -> tuple[Segment, ...]:
        """Return the segments of the share of ``owner``, or of its backup, after the step. ``added``: the
        rows that have come. A share that will have no rows is not written anew."""
        leaving = (rows for rows, _ in self._leaving(owner, segments, partitioning))
        gone = {number: rows for number, rows in enumerate(leaving) if len(rows)}
        if owner in self.stays:
            return merged(segments, schema, partitioning, added, indexes, gone)
        left = (segment.without(gone.get(number, _NONE)) for number, segment in enumerate(segments))
        return tuple(segment for segment in left if segment.rows)

    def _leaving(
        self, owner: str, segments: Sequence[Segment], partitioning: Partitioning | None
    ) -> list[tuple[RowNumbers, RowNumbers]]:
        """Return, for each segment, the positions of the rows that leave, ascending, and the home of each."""
        moving = zip(self.moving, self.homes, strict=True)
        homes = {number: home for number, home in moving if self.owners[number] == owner}
        if not homes:
            return [(_NONE, _NONE)] * len(segments)
        count = len(self.owners)
        if partitioning is None:
            owned = [number for number, name in enumerate(self.owners) if name == owner]
            return _shared_out(segments, owned, homes)
        if partitioning.count == count:
            return [_ranges(segment, homes) for segment in segments]
        return [_hashed(segment, partitioning, homes, count) for segment in segments]


class CopyStep(msgspec.Struct, frozen=True):
    """The backups that are made anew, of shares that keep their rows. ``owners``: the owner of each
    partition. ``copied``: the owners of the shares that are sent to the holders of their backups; the other
    shares have the same backups as before."""

    owners: tuple[str, ...]
    copied: tuple[str, ...]


Step: TypeAlias = MoveStep | CopyStep


class PlacedStep(msgspec.Struct, frozen=True):
    """A step, and the fields ``owners``, ``dealt`` and ``backups`` of the version that it makes."""

    step: Step
    owners: tuple[str, ...]
    dealt: int
    backups: Backups


_NONE: Final[RowNumbers] = np.zeros(0, np.int64)


def next_step(version: TableVersion, members: MemberList, count: int) -> PlacedStep | None:
    """Return the next step by which the rows of ``version`` come to the owners that their partitions have in
    ``members``; None if no step can lead there, since fewer members are left than the shares have backups:
    then the version has to be written anew. ``count``: the number of backups that the table is to have. All
    members with shares must be present."""
    owners, final = version.owners, backups_of(members, count)
    placed = _placed(owners, version.backups, members, final)
    if placed is None:
        return None
    pending = [number for number, owner in enumerate(owners) if owner != members.owners[number]]
    copy = _copy(owners, version.backups, placed)
    if copy is not None:
        return PlacedStep(copy, owners, MIXED if pending else members.dealt, placed)
    at_once = max(1, STEP_BYTES * len(owners) // max(version.known.size, 1))
    step = _move(owners, members.owners, tuple(pending[:at_once]))
    if len(step.moving) == len(pending):
        return PlacedStep(step, members.owners, members.dealt, final)
    mixed = list(owners)
    for number in step.moving:
        mixed[number] = members.owners[number]
    return PlacedStep(step, tuple(mixed), MIXED, placed)


def _move(owners: tuple[str, ...], new: Sequence[str], moving: tuple[int, ...]) -> MoveStep:
    homes = _homes(new)
    return MoveStep(owners, tuple(sorted(homes)), moving, tuple(homes[new[number]] for number in moving))


def _homes(owners: Sequence[str]) -> dict[str, int]:
    owned: dict[str, list[int]] = {}
    for number, owner in enumerate(owners):
        owned.setdefault(owner, []).append(number)
    return {owner: home_of(numbers) for owner, numbers in owned.items()}


def _placed(owners: Sequence[str], backups: Backups, members: MemberList, final: Backups) -> Backups | None:
    """Return the holders of backups as long as partitions move: those that the present owners will have, and
    for the other members with shares, which lose their partitions, as many. None if there would be fewer than
    the shares have now."""
    levels = len(final[0][1]) if final else 0
    former = dict(backups)
    if levels < max(map(len, former.values()), default=0):
        return None
    if not levels:
        return ()
    held = Counter(holder for _, holders in final for holder in holders)
    present = [name for name in dict.fromkeys(members.owners) if name != NOBODY]
    found = dict(final)
    for owner in dict.fromkeys(owners):
        if owner not in found:
            kept = [holder for holder in former.get(owner, ()) if holder in present][:levels]
            free = sorted((name for name in present if name not in kept), key=held.__getitem__)
            found[owner] = (*kept, *free[: levels - len(kept)])
            held.update(found[owner])
    return tuple(found.items())


def _copy(owners: Sequence[str], backups: Backups, placed: Backups) -> CopyStep | None:
    """Return the step that makes the backups of ``placed`` that are not among ``backups``; None if there are
    no such ones."""
    former = dict(backups)
    fresh = {owner for owner, holders in placed if not {*holders} <= {*former.get(owner, ())}}
    return CopyStep(tuple(owners), tuple(sorted(fresh & {*owners}))) if fresh else None


# ---- the rows that move


def _ranges(segment: Segment, homes: dict[int, int]) -> tuple[RowNumbers, RowNumbers]:
    """Return the rows of the partitions that are keys of ``homes``, and their homes; the segment has the
    cluster's partitions."""
    assert segment.offsets is not None
    moving = sorted(homes)
    bounds = [(int(segment.offsets[number]), int(segment.offsets[number + 1])) for number in moving]
    rows = np.concatenate([np.arange(first, last, dtype=np.int64) for first, last in bounds])
    found = np.repeat([homes[number] for number in moving], [last - first for first, last in bounds])
    return _live(segment, rows, found)


def _hashed(
    segment: Segment, partitioning: Partitioning, homes: dict[int, int], count: int
) -> tuple[RowNumbers, RowNumbers]:
    """Return the rows of the partitions that are keys of ``homes``, and their homes, by the rows' keys."""
    keys = [segment.batch.column(ordinal) for ordinal in partitioning.columns]
    by_partition = np.full(count, -1, np.int64)
    by_partition[list(homes)] = list(homes.values())
    found = by_partition[partition_ids(keys, segment.batch.num_rows, count)]
    rows = np.flatnonzero(found >= 0).astype(np.int64, copy=False)
    return _live(segment, rows, found[rows])


def _live(segment: Segment, rows: RowNumbers, homes: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
    if segment.deleted is None:
        return rows, homes
    stays = np.isin(rows, segment.deleted, assume_unique=True, invert=True)
    return rows[stays], homes[stays]


def _shared_out(
    segments: Sequence[Segment], owned: Sequence[int], homes: dict[int, int]
) -> list[tuple[RowNumbers, RowNumbers]]:
    """Return, for each segment of a table without a partition key, the rows that move, and their homes. Each
    of the ``owned`` partitions stands for an equal part of the rows, in their order."""
    total, first, found = sum(segment.rows for segment in segments), 0, []
    by_place = np.asarray([homes.get(number, -1) for number in owned], np.int64)
    for segment in segments:
        rows = segment.live_rows()
        placed = by_place[np.arange(first, first + len(rows)) * len(owned) // total]
        found.append((rows[placed >= 0], placed[placed >= 0]))
        first += len(rows)
    return found
