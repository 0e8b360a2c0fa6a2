"""Bugs planted in the steps by which rows move, each of which the simulation of tables finds."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pytest

from sqlfront.cluster import handover
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.spread import move_processors
from sqlfront_connectors.memory.spread.move_processors import CopyBackup, CopyShare, MoveBackup, MovingRows
from sqlfront_connectors.memory.spread.moved_version import MovedVersion
from sqlfront_connectors.memory.spread.moves import MoveStep
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_engine.dag import DAG
from tests.cluster.seeds import Bug
from tests.sqlfront.simulated import SimulatedSession
from tests.sqlfront.table_chaos import explore

#: Seeds within which each bug is found.
PATIENCE = 1000

Rows = tuple[tuple[Segment, ...], int]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def moved_rows_kept(
    self: MoveBackup, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
) -> Rows:
    """The backup of a share that rows leave keeps them."""
    return merged(present, self.schema, self.partitioning, batches), 0


def moved_rows_left_out(
    self: MoveBackup, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
) -> Rows:
    """The backup of a share to which rows come doesn't get them."""
    return MOVE_BACKUP(self, present, [], owner)


def stayed_but_merged(
    self: CopyBackup, present: tuple[Segment, ...], batches: list[pa.RecordBatch], owner: str
) -> Rows:
    """A share that isn't copied stays in its segments, but its backup doesn't."""
    segments, written = COPY_BACKUP(self, present, batches, owner)
    return merged(segments, self.schema, self.partitioning), written


def deleted_rows_kept(self: CopyShare, segment: Segment) -> Segment:
    """A share that is copied keeps its deleted rows, and with them the numbers of the others."""
    return segment


def copied_as_one(batches: Sequence[pa.RecordBatch], schema: pa.Schema, partitioning: object) -> object:
    """A copy has one segment, though its share has several."""
    one = [batch.set_column(len(schema), "segment", pa.array([0] * batch.num_rows)) for batch in batches]
    return COPIED(one, schema, partitioning)  # type: ignore[arg-type]


def published_after_the_first_report_of_a_move(
    self: SimulatedSession, dag: DAG, resources: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """The version of a step is published before all backups have their rows."""
    moves = any(isinstance(vertex.processor, MovingRows | CopyShare) for vertex in dag)
    for batch in RUN(self, dag, resources):
        yield batch
        if moves:
            return


def to_one_owner(
    self: MoveStep, owner: str, segments: Sequence[Segment], partitioning: object
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """All rows that move go to the same member."""
    for _, batch in BATCHES(self, owner, segments, partitioning):  # type: ignore[arg-type]
        yield self.homes[0], batch


def all_at_present_owners(self: MovedVersion) -> tuple[int, tuple[str, ...]]:
    """A version in the midst of a move passes for one in place."""
    return self.members.dealt, self.members.owners


def without_holders(version: SpreadSnapshot) -> frozenset[str]:
    """A member that has backups only leaves before they are elsewhere."""
    return frozenset(version.holders)


MOVE_BACKUP, COPY_BACKUP, COPIED = MoveBackup.segments, CopyBackup.segments, move_processors._copied
RUN, BATCHES = SimulatedSession.run, MoveStep.batches


@pytest.mark.parametrize(
    ("owner", "name", "bug", "first"),
    [
        (MoveBackup, "segments", moved_rows_kept, 11),
        (MoveBackup, "segments", moved_rows_left_out, 0),
        (CopyBackup, "segments", stayed_but_merged, 0),
        (CopyShare, "_without_deleted", deleted_rows_kept, 0),
        (move_processors, "_copied", copied_as_one, 0),
        (SimulatedSession, "run", published_after_the_first_report_of_a_move, 0),
        pytest.param(MoveStep, "batches", to_one_owner, 26, marks=pytest.mark.soak),
        (MovedVersion, "_placement", all_at_present_owners, 0),
        (handover, "_holders", without_holders, 23),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_bug_planted_in_moves_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, bug: Callable[..., object], first: int
) -> None:
    """``first``: the seed to begin with; seeds from 0 on find each bug, too, if they are given more time."""
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(first, first + PATIENCE), changes=True, backups=1, leaves=True)
    print(found.value)
