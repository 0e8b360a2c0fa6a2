"""Durable jobs in a simulation: real coordinators, logs and recovery over a model of tasks, and one source of
chance that decides what happens next.

A task's output is a small file with rows of integers. Each row names the attempts of the non-deterministic
tasks through which it has come. At the end the result must be what the accepted attempts give
(:func:`right_rows`), whatever died or was lost on the way.
"""

import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from zlib import crc32

from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import (
    Attempt,
    BroadcastJoin,
    CancelRequested,
    Event,
    JobEnd,
    JobEnded,
    Manifest,
    SplitBuckets,
    TaskFinished,
    TaskId,
)
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.durable.files import remove_output
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.plan_changes import replanned
from sqlfront_engine.durable.runner import Holdings, TaskEnd
from sqlfront_engine.durable.speculation import Speculation
from sqlfront_engine.durable.split_assignments import SplitAssignments
from sqlfront_engine.durable.stages import DIVIDED, JobStage, OutputKind, StageInput, StageOutput, StagePlan
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.tasks import RunId, StageTasks, TaskRun
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from tests.engine.durable.durable_jobs import SUBMITTED
from tests.engine.durable.logs import CLUSTER, JOB, Disk, owned

#: A row: its number, and the attempts of the tasks without determinism that it has come through.
Row = tuple[int, tuple[str, ...]]
Rows = list[Row]
#: The rows of each bucket.
Buckets = list[Rows]

#: The rows that a stage without inputs makes, and those of them that have the same key if it is skewed.
SPLITS, OF_ONE_KEY = 16, 11
#: The key of a row is its number divided by this.
KEY = 100


class Crash(BaseException):
    """The end of the coordinator's process."""


# ---- the model of a plan


def random_plan(chance: random.Random) -> StagePlan:
    """A plan of two to six stages, each of which reads up to two earlier ones. Each stage is the vertex of
    its number, or of its number and "skewed": of the rows that the latter makes, most have the same key."""
    count, has_joins = chance.randint(2, 6), chance.random() < 0.5
    counts = [0, 0, 0, 1, 2] if has_joins else [0, 1, 1, 2, 2]  # of inputs
    parallel = [chance.random() < (0.95 if has_joins else 0.8) for _ in range(count - 1)] + [False]
    deterministic = [chance.random() < 0.7 for _ in range(count)]
    dag = DAG()
    skews = ["skewed" if chance.random() < 0.6 else "" for _ in range(count)]
    vertices = [dag.vertex(f"{number} {skew}", Forward(), 1) for number, skew in enumerate(skews)]
    inputs: list[list[StageInput]] = [[] for _ in range(count)]
    outputs: list[list[StageOutput]] = [[] for _ in range(count)]
    alike = [*range(count)]
    for number in range(count):
        sources = chance.sample(range(number), min(number, chance.choice(counts)))
        if number == count - 1:  # nothing may be left that nobody reads
            sources = sorted({*sources, *(one for one in range(number) if not outputs[one])})
        unread = [one for one in range(number) if not outputs[one] and parallel[one]]
        is_join = has_joins and parallel[number] and len(unread) > 1 and chance.random() < 0.7
        if is_join:
            sources, deterministic[number] = chance.sample(unread, 2), True
        for source in sources:
            kind = OutputKind.BY_KEY if is_join else _random_kind(chance, parallel[source], parallel[number])
            if kind is OutputKind.KEPT:
                first, other = sorted((alike[source], alike[number]))
                alike = [first if one == other else one for one in alike]
            output = StageOutput(vertices[source].name, kind, (0,) if kind is OutputKind.BY_KEY else ())
            if output not in outputs[source]:
                outputs[source].append(output)
            ordinals = len(dag.outbound(vertices[source])), len(inputs[number])
            inputs[number].append(StageInput(source, outputs[source].index(output), len(dag.edges)))
            dag.edge(Edge(vertices[source], ordinals[0], vertices[number], ordinals[1]).broadcast())
    outputs[-1].append(StageOutput(vertices[-1].name, OutputKind.RESULT))
    stages = [
        JobStage(
            number,
            (vertices[number].name,),
            parallel[number],
            (*inputs[number],),
            (*outputs[number],),
            deterministic[number],
        )
        for number in range(count)
    ]
    plan = StagePlan(dag, tuple(stages), tuple(alike))
    return replace(plan, stages=tuple(_with_free_inputs(chance, plan, stage) for stage in stages))


def _random_kind(chance: random.Random, source: bool, target: bool) -> OutputKind:
    kinds = [OutputKind.ALL]
    if target:
        kinds += [OutputKind.BY_KEY, OutputKind.BY_KEY, OutputKind.DEALT]
    if source == target:
        kinds.append(OutputKind.KEPT)
    return chance.choice(kinds)


def _with_free_inputs(chance: random.Random, plan: StagePlan, stage: JobStage) -> JobStage:
    """The stage, which may join the rows of its other inputs to those of a free one (:func:`_made`)."""
    kinds = [plan.output_of(source).kind for source in stage.inputs]
    joined = {OutputKind.BY_KEY, OutputKind.ALL}
    is_join = stage.is_parallel and stage.is_deterministic and plan.is_alone(stage.number)
    if not is_join or OutputKind.BY_KEY not in kinds or not joined.issuperset(kinds):
        return stage
    by_key = [place for place, kind in enumerate(kinds) if kind is OutputKind.BY_KEY]
    return replace(stage, free=(chance.choice(by_key),)) if chance.random() < 0.8 else stage


def _read(run: StageTasks, task: int, place: int, kind: OutputKind, outputs: list[Buckets]) -> Rows:
    """The rows that a task reads of the outputs of a stage's tasks, at the stage's input ``place``."""
    if kind is OutputKind.KEPT:
        outputs = outputs[task : task + 1]
    first, last = run.ranges[task] if kind in DIVIDED else (0, 1)
    if run.stage.inputs[place].is_whole:
        first, last = 0, run.buckets
    rows = [row for buckets in outputs for rows in buckets[first:last] for row in rows]
    if run.split is None or place not in run.split.inputs:
        return rows
    part, parts = run.split.parts[task]
    return rows[len(rows) * part // parts : len(rows) * (part + 1) // parts]


def _made(
    plan: StagePlan, tasks: StageTasks, run: RunId, read: Mapping[int, Rows], scanned: Rows | None
) -> Rows:
    """The rows that a run makes of what it has ``read``, by the numbers of the edges. ``plan``: the plan of
    the job's creation, whose stages are the vertices of the stages of a changed plan. ``scanned``: the rows
    of the stage's splits, None if the stage's sources list them."""
    task, attempt = run.task.task, run.attempt
    made: dict[int, Rows] = {}
    for vertex in tasks.stage.vertices:
        number, skew = vertex.split(" ")
        stage = plan.stages[int(number)]
        given = [read[each.edge] if each.edge in read else made[each.stage] for each in stage.inputs]
        if stage.free:
            rows = _joined(stage, given)
        elif given or scanned is not None:
            rows = [row for each in (*given, scanned or ()) for row in each]
        else:
            rows = [row for row in _of_source(bool(skew)) if row[0] % tasks.parallelism == task]
        if not stage.is_deterministic:
            mark = f"{number}.{task}:{attempt.epoch}.{attempt.number}"
            rows = [(row, (*seen, mark)) for row, seen in rows]
        made[stage.number] = rows
    return made[tasks.stage.number]


def _of_source(is_skewed: bool) -> Rows:
    keys = [0 if is_skewed and split < OF_ONE_KEY else split for split in range(SPLITS)]
    return [(key * KEY + split, ()) for split, key in enumerate(keys)]


def _joined(stage: JobStage, given: list[Rows]) -> Rows:
    """Each row of the free input, with a mark that stands for all rows of the same key of the others."""
    (free,) = stage.free
    partners: defaultdict[int, Rows] = defaultdict(list)
    for place, rows in enumerate(given):
        for row in rows if place != free else ():
            partners[row[0] // KEY].append(row)
    marks = {key: f"{stage.number}+{crc32(repr(sorted(rows)).encode())}" for key, rows in partners.items()}
    return [(number, (*seen, marks.get(number // KEY, "none"))) for number, seen in given[free]]


def _written(stage: JobStage, output: StageOutput, rows: Rows, buckets: int, attempt: Attempt) -> Buckets:
    """The rows in their buckets. Rows by key come in another order in each attempt. Rows are dealt otherwise
    in each attempt, unless the stage is deterministic: then the order in which they come must not matter."""
    written: Buckets = [[] for _ in range(buckets if output.kind in DIVIDED else 1)]
    if output.kind is OutputKind.DEALT:
        rows = sorted(rows)
    if output.kind is OutputKind.BY_KEY or (output.kind is OutputKind.DEALT and not stage.is_deterministic):
        turn = (attempt.epoch * 5 + attempt.number * 3) % max(1, len(rows))
        rows = rows[turn:] + rows[:turn]
    for place, row in enumerate(rows):
        bucket = row[0] // KEY if output.kind is OutputKind.BY_KEY else place
        written[bucket % len(written)].append(row)
    return written


def tasks_of(plan: StagePlan, state: JobState, stage: int) -> StageTasks:
    """The division of a stage that has begun, as the log has it. ``plan``: that of the job's creation."""
    begun = state.stages[stage]
    changed = replanned(plan, state.changes)
    return StageTasks(changed.stages[stage], begun.ranges, begun.buckets, state.splits.get(stage))


def right_rows(plan: StagePlan, state: JobState, scanned: Mapping[RunId, Rows]) -> Rows:
    """The result that follows from the accepted attempts of all tasks. ``scanned``: the rows of the splits
    that runs have read."""
    made: dict[int, list[tuple[Rows, Attempt]]] = {}
    for number in sorted(state.stages):
        tasks = tasks_of(plan, state, number)
        made[number] = []
        for task in range(tasks.parallelism):
            read: dict[int, Rows] = {}
            for place, source in enumerate(tasks.stage.inputs):
                output = plan.output_of(source)
                stage = tasks_of(plan, state, source.stage).stage
                files = [_written(stage, output, rows, tasks.buckets, by) for rows, by in made[source.stage]]
                read[source.edge] = _read(tasks, task, place, output.kind, files)
            attempt = state.finished[TaskId(number, task)].attempt
            run = RunId(TaskId(number, task), attempt)
            made[number].append((_made(plan, tasks, run, read, scanned.get(run)), attempt))
    return made[plan.stages[-1].number][0][0]


# ---- the world in which a coordinator runs


class ForgetfulClock(FakeClock):
    """A clock whose timers can be dropped, like the timers of a process that died."""

    def forget_all(self) -> None:
        self._timers.clear()


class World:
    """The things that outlive a coordinator: the disk, the store, and tasks that don't know that their
    coordinator is gone. ``faults``: the share of steps at which something goes wrong. All decisions are made
    by chance from ``seed``."""

    #: What the errors say that may end a job.
    errors: tuple[str, ...] = ("out of order", "spool file")

    def __init__(self, folder: Path, seed: int, faults: float) -> None:
        self.chance = random.Random(seed)
        self.faults = faults
        self.plan = random_plan(self.chance)
        self.disk = Disk(self._disturb)
        self.clock = ForgetfulClock()
        self.store = JobStore(LocalFolder(str(folder / "store"), self.disk), self.clock, lambda call: call())
        self.spool = str(folder / "spool")
        self.zombies: list[TaskRun] = []
        self.steps = self.damages = 0
        self.crashes = 0
        self.cancels = self.chance.random() < 0.1
        self.told_cancelled = False
        #: The rows of the splits that runs have read; see :mod:`tests.engine.durable.simulated_splits`.
        self.scanned: dict[RunId, Rows] = {}
        self.target = SimulatedTarget(self) if self.chance.random() < 0.5 else None

    def fault(self, share: float = 1.0) -> bool:
        """Return whether something goes wrong now."""
        return self.chance.random() < self.faults * share

    def _disturb(self, number: int, name: str) -> None:
        if self.fault(0.3):
            raise Crash

    def run(self) -> JobEnded:
        """Run the job to its end, through all crashes of its coordinators."""
        while True:
            try:
                with owned(self.store):
                    return self._run_epoch()
            except Crash:
                self.crashes += 1
                self.crashed()
                self.faults *= 0.9  # so that every job ends
                if self.chance.random() < 0.5:
                    self.clock.forget_all()  # else the former coordinator's log goes on, as a zombie's does
                if self.chance.random() < 0.5:
                    self.disk.lose_unsynced(self.chance.randrange(2**30))

    def _run_epoch(self) -> JobEnded:
        claim = self.store.take_epoch(JOB, cluster=CLUSTER, member="m")
        # Nothing damages the log, and a power failure must not: what it takes was never accepted.
        assert claim.replay.damage is None, f"the log has lost records: {claim.replay.damage}"
        settings = LogSettings(file_size=4000)
        if JobState.of(claim.replay).submitted is None:
            log, state = submit(claim, SUBMITTED, incarnation="i", settings=settings)
        else:
            log, state = take_over(claim, self.plan, self.spool, incarnation="i", settings=settings)
        splits = self.splits(state)
        runner = self.runner(log.epoch)
        ended = SimulatedCoordinator(self, state, log, runner, splits).run()
        runner.close()
        log.close()
        return ended

    def runner(self, epoch: int) -> "SimulatedRunner":
        """Return the runner of the tasks of an epoch's coordinator."""
        return SimulatedRunner(self)

    def crashed(self) -> None:
        """Note that the coordinator has died just now."""

    def leave_runs(self, runner: "SimulatedRunner") -> None:
        """Decide which runs of a coordinator that is about to die go on without it."""
        self.zombies += [run for run, _ in runner.runs if self.chance.random() < 0.5]

    def check_start(self, run: TaskRun) -> None:
        """Check that a run may begin: what it reads is durable, and what it makes is not there yet."""
        self.check_reading(run)
        assert run.id not in JobState.of(self.store.read(JOB)).finished, "runs again for nothing"

    def check_reading(self, run: TaskRun) -> None:
        """Check that a run follows the plan, and reads files that count."""
        state = JobState.of(self.store.read(JOB))
        assert run.tasks == tasks_of(self.plan, state, run.id.stage), "runs by another plan than the log's"
        durable = {file for finish in state.finished.values() for file in finish.output.files}
        assert durable.issuperset(file for files in run.files for file in files), "read before it is durable"

    def splits(self, state: JobState) -> SplitAssignments | None:
        """The splits that an epoch's coordinator gives to tasks. ``state``: at the beginning of the epoch."""
        return None

    def speculation(self) -> Speculation | None:
        """Chooses tasks for second attempts; None = there are none."""
        return None

    def right_rows(self, state: JobState) -> Rows:
        """The result that follows from the accepted attempts of all tasks."""
        return right_rows(self.plan, state, self.scanned)

    def check(self, state: JobState) -> None:
        """Raise AssertionError unless the log of the ended job is right."""
        assert self.damages or not state.resets, "a finished task ran again for nothing"

    # ---- tasks

    def carry_out(self, run: TaskRun) -> Manifest:
        """Do a task's work. Raises SpoolDamaged for a file that is lost."""
        return self.write(run, self.rows(run))

    def rows(self, run: TaskRun) -> Rows:
        """The rows that a task makes. Raises SpoolDamaged for a file that is lost."""
        read: dict[int, Rows] = {}
        for place, source in enumerate(run.tasks.stage.inputs):
            kind, files = self.plan.output_of(source).kind, run.files[place]
            needed = files[run.task : run.task + 1] if kind is OutputKind.KEPT else files
            found = [_loaded(file, self.place(file.path)) if file in needed else [] for file in files]
            read[source.edge] = _read(run.tasks, run.task, place, kind, found)
        return _made(self.plan, run.tasks, run.run_id, read, self.scanned.get(run.run_id))

    def write(self, run: TaskRun, rows: Rows) -> Manifest:
        """Write the rows that a task has made."""
        stage = run.tasks.stage
        return Manifest(
            tuple(
                self._save(run.path(number), _written(stage, output, rows, run.tasks.buckets, run.attempt))
                for number, output in enumerate(stage.outputs)
            )
        )

    def _save(self, path: str, buckets: Buckets) -> SpoolFile:
        os.makedirs(self.spool, exist_ok=True)
        text = json.dumps(buckets)
        Path(self.place(path)).write_text(text)
        counts = tuple(map(len, buckets))
        batches = tuple(bucket for bucket, rows in enumerate(buckets) for _ in rows)
        checksums = (crc32(text.encode()),)
        return SpoolFile(path, sum(counts), len(text), batches, (), checksums, counts, counts, "")

    def place(self, path: str) -> str:
        """The path at which a spool file is now. Raises SpoolDamaged for a file whose place is lost."""
        return path

    def present_files(self) -> list[Path]:
        """The spool files that are there, in an order that depends on the seed alone."""
        return sorted(Path(self.spool).iterdir()) if os.path.isdir(self.spool) else []

    def disturb_files(self) -> None:
        """Perhaps lose or damage a file; perhaps let a task of a dead coordinator end."""
        if self.zombies and self.chance.random() < 0.3:
            zombie = self.zombies.pop(self.chance.randrange(len(self.zombies)))
            try:
                for file in self.carry_out(zombie).files:
                    os.unlink(file.path)  # its process removes what nobody asked for
            except SpoolDamaged:
                pass
        if self.fault(0.5) and (files := self.present_files()):
            self.damages += 1
            path = self.chance.choice(files)
            match self.chance.choice(["missing", "short", "flipped"]):
                case "missing":
                    path.unlink()
                case "short":
                    path.write_text(path.read_text()[:-1])
                case _:
                    path.write_text("x" * len(path.read_text()))


def _loaded(file: SpoolFile, path: str | None = None) -> Buckets:
    """The rows of a file, which is at ``path``, None = where its description says."""
    try:
        text = Path(path or file.path).read_text()
    except FileNotFoundError:
        raise SpoolDamaged(file.path, "is missing") from None
    if (crc32(text.encode()),) != file.checksums:
        raise SpoolDamaged(file.path, "has another checksum")
    return [[(number, tuple(seen)) for number, seen in rows] for rows in json.loads(text)]


def _check_rows(rows: Rows, right_ones: Rows) -> None:
    found, right = Counter(rows), Counter(right_ones)
    assert found == right, f"the result lacks {right - found} and has {found - right} too much"


def check_changes(plan: StagePlan, state: JobState) -> None:
    """Raise AssertionError if a decision about the plan was made again."""
    decided = [event.change for event in state.changes]
    joined = [change.streamed for change in decided if isinstance(change, BroadcastJoin)]
    shared = [change.stage for change in decided if isinstance(change, SplitBuckets)]
    assert len(joined) == len(set(joined)), f"decided again: {decided}"
    assert len(shared) == len(set(shared)), f"decided again: {decided}"
    assert state.stages.keys().isdisjoint(joined), "a stage runs that is a part of another one"
    left = {stage.number for stage in plan.stages} - set(joined)
    if state.ended is not None and state.ended.state is JobEnd.FINISHED:
        assert set(state.stages) == left, "a stage was left out"


def result_rows(ended: JobEnded) -> Rows:
    assert ended.result is not None, "the job has no result"
    return [row for file in ended.result.files for rows in _loaded(file) for row in rows]


class SimulatedTarget:
    """A target that takes all rows at once. The process may die just before that moment and just after it."""

    def __init__(self, world: World) -> None:
        self._world = world
        #: The rows of each job that the target has.
        self.rows: dict[str, Rows] = {}

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        rows = [row for file in files for rows in _loaded(file) for row in rows]
        _check_rows(rows, self._world.right_rows(JobState.of(self._world.store.read(JOB))))
        self._perhaps_crash()
        assert token not in self.rows, "the rows are put into the target twice"
        self.rows[token] = rows
        self._perhaps_crash()

    def settle(self, token: str) -> bool:
        self._perhaps_crash()
        return token in self.rows

    def _perhaps_crash(self) -> None:
        if self._world.fault(4.0):
            raise Crash


class SimulatedRunner:
    """A runner whose tasks end when chance says so."""

    member, incarnation, is_lasting = "m", "i", False
    task_memory = None

    def __init__(self, world: World) -> None:
        self._world = world
        self.capacity = world.chance.randint(1, 4)
        self.runs: list[tuple[TaskRun, Callable[[TaskEnd], None]]] = []
        self.stopped = False

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        self._world.check_start(run)
        self.runs.append((run, ended))

    def close(self) -> None:
        pass

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        return Holdings()

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        pass

    def release(self) -> None:
        pass

    def settle(self, end: TaskEnd, *, counts: bool) -> None:
        if not counts:
            remove_output(end.output)

    def stop(self) -> None:
        self.stopped = True

    def end_one(self) -> None:
        """Let one of the runs end: well, or with an error."""
        run, ended = self.runs.pop(self._world.chance.randrange(len(self.runs)))
        if self.stopped and self._world.chance.random() < 0.5:
            ended(TaskEnd(run, None, OperationalError("cancelled")))
            return
        if self._world.fault(0.3):
            ended(TaskEnd(run, None, OperationalError("the machine is out of order")))
            return
        try:
            end = TaskEnd(run, self._world.carry_out(run))
        except SpoolDamaged as error:
            end = TaskEnd(run, None, error)
        ended(end)


class SimulatedCoordinator(Coordinator):
    """A coordinator for which chance decides what happens next."""

    def __init__(
        self,
        world: World,
        state: JobState,
        log: EventLog,
        runner: SimulatedRunner,
        splits: SplitAssignments | None,
    ) -> None:
        speculation = world.speculation()
        chance = world.chance
        options = JobOptions(
            parallelism=chance.choice([1, 2, 3, 4, 5, 5]),
            buckets=chance.randint(4, 8),
            task_size=1,
            adaptive=chance.random() < 0.8,
            broadcast_size=chance.choice([0, 0, SPLITS, 10 * SPLITS]),
        )
        super().__init__(
            world.plan, state, log, runner, world.spool, options, world.target, splits, speculation
        )
        self._world, self._simulated = world, runner

    def _next(self):  # type: ignore[no-untyped-def]
        world, runner = self._world, self._simulated
        while True:
            world.steps += 1
            assert world.steps < 3_000, "the job is stuck"
            world.disturb_files()
            if world.fault(0.5) and not runner.stopped:
                world.leave_runs(runner)
                raise Crash
            if world.cancels and world.chance.random() < 0.05 and not runner.stopped:
                world.cancels = False
                world.told_cancelled = self.cancel(CancelRequested("ada", 1))
            choices = ["clock"] if self._log_waits() else []
            if runner.runs:
                choices.append("task")
            if not self._news.empty():
                choices.append("news")
            match world.chance.choice(choices):
                case "clock":
                    world.clock.advance(0.01)
                case "task":
                    runner.end_one()
                case _:
                    return self._news.get()

    def _log_waits(self) -> bool:
        statistics = self._log.statistics()
        return statistics.durable < statistics.appended

    def _end_runs(self) -> None:
        if not isinstance(sys.exception(), Crash):
            super()._end_runs()


def _check_finishes(state: JobState, events: list[Event]) -> None:
    """Check that each task has one accepted output at a time."""
    for event in events:
        if isinstance(event, TaskFinished):
            assert event.task not in state.finished, "a task is finished twice"
        state.apply(event)


def check(world: World, ended: JobEnded) -> None:
    """Raise AssertionError unless the job has ended as it must: with the right rows, in one place, and
    without files that nobody needs."""
    replay = world.store.read(JOB)
    plan, state = world.plan, JobState.of(replay)
    assert replay.damage is None, f"the log has lost records: {replay.damage}"
    assert state.ended == ended, f"the log has another end: {state.ended}, not {ended}"
    _check_finishes(JobState(), [record.event() for record in replay.records])
    world.check(state)
    if world.target is not None:
        taken = world.target.rows.get(SUBMITTED.job)
        assert (taken is not None) == (ended.state is JobEnd.FINISHED), f"{ended} with {taken} in the target"
        if taken is not None:
            assert ended.rows == len(taken), f"the target has {len(taken)} rows, not {ended.rows}"
    if world.told_cancelled:
        assert ended.state is JobEnd.CANCELLED, f"an acknowledged cancellation was lost: {ended}"
    if ended.state is JobEnd.FINISHED:
        if world.target is None:
            try:
                rows = result_rows(ended)
            except SpoolDamaged:
                return  # lost behind the end
            _check_rows(rows, world.right_rows(state))
        for number, stage in state.stages.items():
            same = state.stages[plan.alike[number]].ranges
            assert stage.ranges == same, "kept rows are divided in another way"
    elif ended.state is JobEnd.FAILED:
        assert ended.error is not None, "the job failed without an error"
        message = ended.error.message
        assert any(part in message for part in world.errors), f"no fault gives this error: {message}"
    check_changes(plan, state)
    left = set(os.listdir(world.spool)) if os.path.isdir(world.spool) else set()
    kept = set() if ended.result is None else {os.path.basename(file.path) for file in ended.result.files}
    assert left <= kept, f"files are left: {left - kept}"
