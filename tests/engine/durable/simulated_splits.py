"""Simulated durable jobs whose sources can't list their splits in advance, with and without snapshots."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.dag import DAG
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.split_assignments import SplitAssignments
from sqlfront_engine.durable.stages import JobStage, SplitKind, StagePlan
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_engine.processors.sources.split_scan import SplitScan
from sqlfront_values.errors import OperationalError
from tests.engine.durable.simulated_jobs import KEY, SPLITS, SimulatedRunner, World

#: The vertex of a stage that has the scan.
SCAN = "{} scan"


class SimulatedEnumerator:
    """The splits of one pass: numbers, in an order that chance decides for each pass, unless the source is
    restorable. A split is the number, and that of the pass."""

    def __init__(self, world: "SplitWorld", number: int, *, is_restorable: bool) -> None:
        self._world = world
        order = list(range(SPLITS))
        if not is_restorable:
            random.Random(number).shuffle(order)
        self._splits = [f"{split} {0 if is_restorable else number}".encode() for split in order]
        self._place = 0

    def next_split(self) -> bytes | None:
        self._perhaps_fail()
        if self._place == len(self._splits):
            return None
        self._place += 1
        return self._splits[self._place - 1]

    def snapshot(self) -> bytes:
        self._perhaps_fail()
        return str(self._place).encode()

    def restore(self, state: bytes) -> None:
        self._place = int(state)

    def close(self) -> None:
        self._splits.clear()

    def _perhaps_fail(self) -> None:
        if self._world.fault(0.2):
            raise OperationalError("the source is out of order")


class SimulatedSource:
    """A source with its passes."""

    def __init__(self, world: "SplitWorld", *, is_restorable: bool) -> None:
        self._world, self._is_restorable = world, is_restorable

    def enumerator(self) -> SimulatedEnumerator:
        self._world.passes += 1
        return SimulatedEnumerator(self._world, self._world.passes, is_restorable=self._is_restorable)

    def read(self, split: bytes) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class SplitWorld(World):
    """A world in which some stages read sources that can't list their splits in advance."""

    def __init__(self, folder: Path, seed: int, faults: float) -> None:
        super().__init__(folder, seed, faults)
        self.passes = 0
        chance = random.Random(f"scans {seed}")
        self.plan = _with_scans(self.plan, chance)
        #: The most splits that a task of each stage reads, as under a LIMIT.
        self.limits = [chance.choice([SPLITS, SPLITS, chance.randint(2, 8)]) for _ in self.plan.stages]
        self.assignments: SplitAssignments | None = None

    def splits(self, state: JobState) -> SplitAssignments:
        sources = {
            SCAN.format(stage.number): SimulatedSource(
                self, is_restorable=stage.splits is SplitKind.RESTORABLE
            )
            for stage in self.plan.stages
        }
        self.assignments = SplitAssignments(self.plan, sources, state)
        return self.assignments

    def runner(self, epoch: int) -> SimulatedRunner:
        return SimulatedScanRunner(self)

    def check(self, state: JobState) -> None:
        assert self.damages or self.plan.passed_once or not state.resets, (
            "a finished task ran again for nothing"
        )
        for stage in self.plan.stages:
            if stage.splits is not SplitKind.LISTED and state.is_complete(stage.number):
                self._check_splits(stage, state)

    def _check_splits(self, stage: JobStage, state: JobState) -> None:
        """Check that the accepted runs of the stage have read each split once, in one pass."""
        runs = [
            RunId(task, finish.attempt)
            for task, finish in state.finished.items()
            if task.stage == stage.number
        ]
        read = [row for run in runs for row in self.scanned[run]]
        assert len({number for number, _ in read}) == len(read), "a split is read 2 times"
        wanted = min(len(runs) * self.limits[stage.number], SPLITS)
        assert len(read) == wanted, "splits are not read"
        assert len({seen for _, seen in read}) == 1, "the outputs of a stage are of two passes"


def _with_scans(plan: StagePlan, chance: random.Random) -> StagePlan:
    """The plan with scans in some stages, and at least in the first."""
    stages, scans = list(plan.stages), {}
    for number, stage in enumerate(stages):
        if number and chance.random() > (0.2 if stage.inputs else 0.7):
            continue
        kind = chance.choice([SplitKind.RESTORABLE, SplitKind.PASSED_ONCE])
        is_restorable, name = kind is SplitKind.RESTORABLE, SCAN.format(number)
        scans[stage.vertices[0]] = name, SplitScan(name, name, (), is_restorable)
        stages[number] = replace(
            stage,
            vertices=(name,),
            splits=kind,
            is_deterministic=stage.is_deterministic and is_restorable,
            free=(),
        )
    dag = DAG()
    for vertex in plan.dag:
        dag.vertex(*scans.get(vertex.name, (vertex.name, vertex.processor)))
    return StagePlan(dag, tuple(stages), plan.alike)


class SimulatedScanRunner(SimulatedRunner):
    """Tasks that read a split at a time, when chance says so, until they end."""

    def __init__(self, world: SplitWorld) -> None:
        super().__init__(world)
        self._splits = world

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        # A run has the id of a former one if the claim of its epoch was lost with the disk.
        self._world.scanned.pop(run.run_id, None)
        super().start(run, ended)

    def end_one(self) -> None:
        place = self._world.chance.randrange(len(self.runs))
        run, ended = self.runs.pop(place)
        try:
            goes_on = run.tasks.stage.splits is not SplitKind.LISTED and not self._has_read_all(run)
        except OperationalError as error:
            ended(TaskEnd(run, None, error))
            return
        others, self.runs = self.runs, [(run, ended)]
        if not goes_on:
            super().end_one()
        self.runs += others

    def _has_read_all(self, run: TaskRun) -> bool:
        """Read another split of the run; return whether there is none, so that the run can end."""
        assert self._splits.assignments is not None
        splits = self._splits.assignments.of(run.run_id)
        if splits is None:
            raise OperationalError("the run was given up")
        rows = self._world.scanned.setdefault(run.run_id, [])
        is_enough = len(rows) == self._splits.limits[run.id.stage]
        split = None if is_enough else splits.next_split(SCAN.format(run.id.stage))
        if split is not None:
            rows.append(_row(split))
            return False
        splits.complete()
        return True


def _row(split: bytes) -> tuple[int, tuple[str, ...]]:
    number, passed = split.split()
    return int(number) * KEY, (f"pass {int(passed)}",)
