"""Which segments of a memory table are rewritten when rows come and go."""

from __future__ import annotations

import random
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments import merging
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment, build_segment, copy_segment
from sqlfront_values.types import BIGINT, STRING

SCHEMA: Final = pa.schema([("k", BIGINT), ("s", STRING)])
PARTITIONING: Final = Partitioning((0,), 7)
GROUP: Final = 1_000


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "GROUP_ROWS", GROUP)


def rows(first: int, count: int) -> pa.RecordBatch:
    keys = range(first, first + count)
    return pa.RecordBatch.from_arrays(
        [pa.array(keys, BIGINT), pa.array([f"s{key % 9}" for key in keys], STRING)], schema=SCHEMA
    )


def keys_of(segment: Segment) -> list[int]:
    found: list[int] = segment.batch.column(0).take(pa.array(segment.live_rows())).to_pylist()
    return found


def some(segments: tuple[Segment, ...], chosen: random.Random, share: float) -> dict[int, RowNumbers]:
    """Return positions of live rows, by their segments."""
    found = {
        number: np.array([row for row in segment.live_rows() if chosen.random() < share], np.int64)
        for number, segment in enumerate(segments)
    }
    return {number: gone for number, gone in found.items() if len(gone)}


@pytest.mark.parametrize("partitioning", [None, PARTITIONING])
@pytest.mark.parametrize("seed", range(6))
def test_a_change_rewrites_one_group_at_most_and_segments_stay_few(
    seed: int, partitioning: Partitioning | None
) -> None:
    chosen = random.Random(seed)
    next_key = chosen.choice([10, 3 * GROUP])
    segments: tuple[Segment, ...] = (build_segment([rows(0, next_key)], SCHEMA, partitioning),)
    live = set(range(next_key))
    for _ in range(80):
        count = chosen.choice([0, 1, 3, 40, 700, 2 * GROUP] if chosen.random() < 0.1 else [1, 20, 180])
        gone = some(segments, chosen, chosen.choice([0.001, 0.1])) if chosen.random() < 0.3 else {}
        live -= {
            key
            for number, places in gone.items()
            for key in segments[number].batch.column(0).take(pa.array(places)).to_pylist()
        }
        live |= set(range(next_key, next_key + count))
        added = [rows(next_key, count)] if count else []
        made = merged(segments, SCHEMA, partitioning, added, gone=gone)
        assert sorted(key for segment in made for key in keys_of(segment)) == sorted(live)
        known = {id(segment.batch) for segment in segments}
        fresh = [segment.rows for segment in made if id(segment.batch) not in known]
        if not gone:
            assert all(size <= max(GROUP, count) for size in fresh)
            assert sum(fresh) <= max(GROUP, count) + GROUP
        else:
            assert all(size <= max(GROUP, count, 3 * GROUP) for size in fresh)
        # Two neighbouring groups have more rows than the limit together. In a group, a segment has more than
        # four times the rows behind it, but for the last three.
        assert len(made) <= (2 * len(live) / GROUP + 1) * 9
        next_key += count
        segments = made


def test_rows_that_come_to_a_large_segment_leave_it_alone() -> None:
    large = build_segment([rows(0, 10 * GROUP)], SCHEMA, PARTITIONING)
    segments: tuple[Segment, ...] = (large,)
    first = 10 * GROUP
    for _ in range(40):
        segments = merged(segments, SCHEMA, PARTITIONING, [rows(first, GROUP // 4)])
        first += GROUP // 4
        assert segments[0] is large
    assert len(segments) <= 2 * 10 + 4


def test_a_large_segment_loses_its_deleted_rows_alone() -> None:
    large = build_segment([rows(0, 10 * GROUP)], SCHEMA, PARTITIONING)
    behind = build_segment([rows(10 * GROUP, GROUP)], SCHEMA, PARTITIONING)
    gone = np.arange(0, 10 * GROUP, 3, dtype=np.int64)
    rewritten, same = merged((large, behind), SCHEMA, PARTITIONING, gone={0: gone})
    assert rewritten.deleted is None
    assert rewritten.rows == 10 * GROUP - len(gone)
    assert same is behind


def test_small_segments_between_full_ones_are_merged() -> None:
    full = [build_segment([rows(number * GROUP, GROUP)], SCHEMA, PARTITIONING) for number in range(2)]
    small = [build_segment([rows((number + 2) * GROUP, 200)], SCHEMA, PARTITIONING) for number in range(3)]
    segments = (full[0], *small, full[1])
    made = merged(segments, SCHEMA, PARTITIONING)
    assert [segment.rows for segment in made] == [GROUP, 600, GROUP]
    assert made[0] is full[0]
    assert made[2] is full[1]


def test_a_share_and_its_backup_keep_the_same_segments() -> None:
    """Their strings may be in other forms, since they were written in batches of other sizes."""
    chosen = random.Random(7)
    share: tuple[Segment, ...] = ()
    backup: tuple[Segment, ...] = ()
    first = 0
    for _ in range(120):
        count = chosen.choice([1, 30, 300, 600])
        batch = rows(first, count)
        parts = [batch.slice(start, 7) for start in range(0, count, 7)]
        gone = some(share, chosen, 0.05)
        share = merged(share, SCHEMA, PARTITIONING, [batch], gone=gone)
        backup = merged(backup, SCHEMA, PARTITIONING, parts, gone=gone)
        assert [keys_of(segment) for segment in share] == [keys_of(segment) for segment in backup]
        first += count


@pytest.mark.parametrize("partitioning", [None, PARTITIONING, Partitioning((1, 0), 271)])
def test_a_copied_segment_has_the_rows_in_the_same_order_and_partitions(
    partitioning: Partitioning | None,
) -> None:
    shuffled = list(range(3000))
    random.Random(1).shuffle(shuffled)
    segment = build_segment([rows(0, 3000).take(pa.array(shuffled))], SCHEMA, partitioning)
    parts = [segment.batch.slice(start, 64) for start in range(0, 3000, 64)]
    copied = copy_segment(parts, SCHEMA, partitioning)
    assert copied.batch.equals(segment.batch)
    if segment.offsets is None:
        assert copied.offsets is None
    else:
        assert copied.offsets is not None
        assert copied.offsets.tolist() == segment.offsets.tolist()
