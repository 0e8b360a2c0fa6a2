"""Durable jobs for tests: a DAG with a join, a grouping and an order, whose tasks write a ledger, and
programs that run a job until they are killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import JobEnded, JobSubmitted, Manifest, TaskId
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.split_assignments import SplitAssignments
from sqlfront_engine.durable.stages import StagePlan, cut
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.project import Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.system_calls import SystemCalls
from sqlfront_values.expressions import AggregateCall, Call, Cast, Column, Expr, Literal, SortKey
from sqlfront_values.types import BIGINT, DOUBLE
from tests.engine.durable.logs import CLUSTER, JOB, owned

#: Orders, and the lines of all orders.
ORDERS, LINES, CUSTOMERS = 3_000, 200_000, 97
SUBMITTED = JobSubmitted(
    job=JOB,
    name="a job",
    statement="",
    user="",
    now=0,
    seed=0,
    plan=b"",
    plan_hash="",
    engine_version="",
    arrow_version="",
)
OPTIONS = JobOptions(parallelism=3, buckets=6, task_size=1, adaptive=False)


class Variant(msgspec.Struct, frozen=True):
    """A variant of the job. ``options``: those of the coordinator. ``is_skewed``: nine of ten lines are of
    order 0, so that several tasks of the join share a bucket unless the options forbid it."""

    options: JobOptions = OPTIONS
    is_skewed: bool = False


#: The job with a plan that stays as it is; a job in which the join needs no exchange of the lines, since the
#: orders are few; and a job in which tasks share a bucket.
VARIANTS = {
    "fixed": Variant(),
    "broadcast": Variant(replace(OPTIONS, adaptive=True)),
    "split": Variant(replace(OPTIONS, adaptive=True, broadcast_size=0), is_skewed=True),
}


class Ledger(Processor, frozen=True):
    """A processor that passes rows on, and notes in a file that its task began: the name of the vertex and
    the number of the task."""

    path: str
    name: str

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def run(self, context: ProcessorContext) -> Steps:
        line = f"{self.name} {context.global_index}\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(descriptor, line.encode())
        os.close(descriptor)
        while (batch := (yield Take(0))) is not None:
            yield batch


def _column(place: int, name: str) -> Column:
    return Column(BIGINT, place, name)


def _modulo(expression: Expr, number: int) -> Expr:
    return Call(BIGINT, "mod", (expression, Literal(BIGINT, number)))


def _without_effect(number: Expr) -> Expr:
    """Return an expression for the number plus a random number times zero."""
    chance = Cast(BIGINT, Call(DOUBLE, "rand", (Literal(BIGINT, 1),)))
    return Call(BIGINT, "add", (number, Call(BIGINT, "multiply", (chance, Literal(BIGINT, 0)))))


def _sum(place: int, name: str) -> AggregateCall:
    return AggregateCall("sum", (_column(place, name),), BIGINT)


class Building:
    """A DAG in which a ledger follows each vertex of a chain."""

    def __init__(self, ledger: str) -> None:
        self.dag = DAG()
        self.ledger = ledger

    def noted(self, vertex: Vertex, name: str) -> Vertex:
        noted = self.dag.vertex(f"ledger {name}", Ledger(self.ledger, name), 1)
        self.dag.edge(Edge.between(vertex, noted))
        return noted


def join_dag(ledger: str, lines: int = LINES, *, random: bool = False, is_skewed: bool = False) -> DAG:
    """Return a DAG that sums the numbers of lines by customer, in the order of the customers. Its stages:
    orders (0) and lines (1) are exchanged by order, joined and grouped (2), exchanged by customer and grouped
    (3), and sorted (4, one task). ``random``: each line's number is computed with a random number, which
    doesn't change it, so that the stage of the lines is not deterministic. ``is_skewed``: as for
    :class:`Variant`."""
    building = Building(ledger)
    dag, noted = building.dag, building.noted
    number = _column(0, "id")
    orders = dag.vertex("orders", Range(0, 1, ORDERS), 1)
    owners = dag.vertex(
        "owners",
        Project((number, _modulo(number, CUSTOMERS)), pa.schema([("o", BIGINT), ("c", BIGINT)])),
        1,
    )
    dag.edge(Edge.between(orders, owners))
    line = dag.vertex("lines", Range(0, 1, lines), 1)
    counted = _without_effect(number) if random else number
    ordered = _modulo(number, ORDERS)
    if is_skewed:
        of_last = Call(BIGINT, "div", (_modulo(number, 10), Literal(BIGINT, 9)))
        ordered = Call(BIGINT, "multiply", (ordered, of_last))
    of_orders = dag.vertex(
        "of orders", Project((ordered, counted), pa.schema([("o", BIGINT), ("n", BIGINT)])), 1
    )
    dag.edge(Edge.between(line, of_orders))
    schemas = pa.schema([("o", BIGINT), ("n", BIGINT)]), pa.schema([("o", BIGINT), ("c", BIGINT)])
    join = dag.vertex("join", HashJoin(JoinKind.INNER, (0,), (0,), None, *schemas), 1)
    dag.edge(Edge(noted(of_orders, "lines"), 0, join, 0).partitioned((0,)).distributed())
    dag.edge(Edge(noted(owners, "orders"), 0, join, 1).partitioned((0,)).distributed())
    grouped = pa.schema([("c", BIGINT), ("n", BIGINT)])
    partial = dag.vertex("partial", Aggregate((3,), (_sum(1, "n"),), AggregateMode.PARTIAL, grouped), 1)
    dag.edge(Edge.between(noted(join, "join"), partial))
    final = dag.vertex("final", Aggregate((0,), (_sum(1, "n"),), AggregateMode.FINAL, grouped), 1)
    dag.edge(Edge.between(partial, final).partitioned((0,)).distributed())
    order = dag.vertex("sort", Sort((SortKey(0),)), 1)
    dag.edge(Edge.between(noted(final, "final"), order))
    result = dag.vertex("result", ResultSink(), 1)
    merged = Edge.between(order, noted_result := dag.vertex("ledger sorted", Ledger(ledger, "sorted"), 1))
    dag.edge(merged.to_one().distribute_to().ordered((SortKey(0),)))
    dag.edge(Edge.between(noted_result, result))
    return dag


def right_answer(lines: int = LINES, *, is_skewed: bool = False) -> list[tuple[int, int]]:
    """Return the rows that :func:`join_dag` must give, computed without the engine."""
    sums = dict.fromkeys(range(CUSTOMERS), 0)
    for line in range(lines):
        order = line % ORDERS * (line % 10 // 9 if is_skewed else 1)
        sums[order % CUSTOMERS] += line
    return sorted(sums.items())


#: The names that the tasks of each stage write to the ledger.
LEDGER_NAMES = ("orders", "lines", "join", "final", "sorted")


class KilledAt(SystemCalls):
    """System calls of a process that kills itself at its fsync number ``number``, before or ``after`` the
    call."""

    def __init__(self, number: int, *, after: bool) -> None:
        self._left, self._after = number, after

    def sync(self, descriptor: int) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        super().sync(descriptor)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Signalled(SystemCalls):
    """System calls of a process that sends itself a signal, once, as soon as the job below ``folder`` has
    durably ``reached`` a state."""

    def __init__(self, folder: Path, reached: Callable[[JobState], bool], number: signal.Signals) -> None:
        self._folder, self._reached, self._number = folder, reached, number
        self._is_done = False

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        if not self._is_done and self._reached(state_in(self._folder)):
            self._is_done = True
            os.kill(os.getpid(), self._number)


class InTurn(Coordinator):
    """A coordinator that starts a task only when the record of the former one is durable. So each write of
    the log has the end of one task at most, however late the log writes."""

    @property
    def _is_full(self) -> bool:
        return bool(self._running)


def run_job(
    folder: Path,
    ledger: str,
    calls: SystemCalls | None = None,
    threads: int = 1,
    *,
    random: bool = False,
    variant: str = "fixed",
    options: JobOptions | None = None,
    policy: FailurePolicy = FailurePolicy.FAIL,
    spool: Path | None = None,
    is_owner: bool = True,
    dag: DAG | None = None,
    sources: Mapping[str, object] = MappingProxyType({}),
    in_turn: bool = False,
) -> JobEnded:
    """Begin or take over the job in a store below ``folder``, and run it to its end. ``random``: whether the
    stage of the lines is not deterministic. ``variant``: a name of :data:`VARIANTS`; ``options``: other ones
    than those of the variant. ``policy``: what the job does if its log can't be written. ``spool``: the
    folder for the spool files, if it isn't one below ``folder``. ``is_owner``: False for a member of a
    cluster that owns the store already. ``dag``: the DAG, if it isn't that of :func:`join_dag`; ``sources``:
    the objects that its sources need. ``in_turn``: the coordinator is one of :class:`InTurn`."""
    store = JobStore(LocalFolder(str(folder / "store"), calls), SystemClock())
    chosen = VARIANTS[variant]
    plan = cut(dag or join_dag(ledger, random=random, is_skewed=chosen.is_skewed))
    outputs = str(spool or folder / "spool")
    with owned(store) if is_owner else nullcontext(), Engine(workers=1) as engine:
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="member-1")
        settings = LogSettings(group_window=0.0, policy=policy)
        if JobState.of(claim.replay).submitted is None:
            log, state = submit(claim, SUBMITTED, incarnation="i", settings=settings)
        else:
            log, state = take_over(claim, plan, outputs, incarnation="i", settings=settings)
        splits, config = SplitAssignments(plan, sources, state), JobConfig(resources=sources)
        me = {"member": "member-1", "incarnation": "i"}
        runner = ThreadRunner(engine, plan, config, threads=threads, **me, splits=splits)
        with log, runner:
            kind = InTurn if in_turn else Coordinator
            coordinator = kind(plan, state, log, runner, outputs, options or chosen.options, splits=splits)
            return coordinator.run()


def rows_of(manifest: Manifest | None) -> list[tuple[object, ...]]:
    """Return the rows of a job's result."""
    assert manifest is not None
    batches = [batch for file in manifest.files for batch in read_spool(file)]
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch), strict=True)]


def state_in(folder: Path) -> JobState:
    """Return the job's state by the log below ``folder``."""
    return JobState.of(JobStore(LocalFolder(str(folder / "store")), SystemClock()).read(JOB))


def all_tasks(state: JobState) -> set[TaskId]:
    """Return the tasks of all stages that have begun."""
    return {TaskId(stage.stage, task) for stage in state.stages.values() for task in range(stage.parallelism)}


def noted_tasks(ledger: Path, plan: StagePlan) -> list[TaskId]:
    """Return the tasks that began, as they noted it in the ledger."""
    stage_of = {
        name.removeprefix("ledger "): stage.number
        for stage in plan.stages
        for name in stage.vertices
        if name.startswith("ledger ")
    }
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    # A stage may have the vertices of several: its tasks are counted by the last one.
    last = {stage: name for name, stage in stage_of.items()}
    noted = [(name, int(task)) for name, task in (line.split() for line in lines)]
    return [TaskId(stage_of[name], task) for name, task in noted if last[stage_of[name]] == name]


def is_counted(what: str, threads: int) -> bool:
    """Return whether a moment of :func:`calls_of` counts tasks or changes, and must not come later than the
    count says: a process with one thread begins tasks in turn then (:class:`InTurn`)."""
    return threads == 1 and what in ("finished", "changed", "stopped")


def calls_of(folder: Path, what: str, number: int) -> SystemCalls:
    """Return the system calls of a process that kills itself or stops, at the moment ``what``: "before" or
    "after" its fsync with this number; when so many tasks have "finished"; when so many changes of the plan
    are "changed"; when the job has "ended"; when nothing is left of the job but its result ("clean"); or,
    without being killed, is "stopped" when so many tasks have finished."""
    match what:
        case "before" | "after":
            return KilledAt(number, after=what == "after")
        case "finished":
            return Signalled(folder, lambda state: len(state.finished) >= number, signal.SIGKILL)
        case "changed":
            return Signalled(folder, lambda state: len(state.changes) >= number, signal.SIGKILL)
        case "stopped":
            return Signalled(folder, lambda state: len(state.finished) >= number, signal.SIGSTOP)
        case "ended":
            return Signalled(folder, lambda state: state.ended is not None, signal.SIGKILL)
        case "clean":
            return Signalled(folder, lambda state: state.is_clean, signal.SIGKILL)
        case _:
            raise ValueError(what)


_PROGRAM = """
import sys
from pathlib import Path
from tests.engine.durable.durable_jobs import calls_of, is_counted, run_job
folder, ledger, what, number, threads, random, variant = sys.argv[1:]
calls, threads = calls_of(Path(folder), what, int(number)), int(threads)
in_turn = is_counted(what, threads)
run_job(Path(folder), ledger, calls, threads, random=bool(random), variant=variant, in_turn=in_turn)
"""


def begin_in_process(
    folder: Path,
    ledger: Path,
    what: str,
    number: int = 0,
    *,
    threads: int = 1,
    random: bool = False,
    variant: str = "fixed",
) -> subprocess.Popen[str]:
    """Run the job in another process, and return the process. ``what`` and ``number``: the moment at which
    the process kills itself or stops, as :func:`calls_of` names it."""
    words = (str(number), str(threads), "random" if random else "", variant)
    arguments = (str(folder), str(ledger), what, *words)
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )


def run_in_process(
    folder: Path,
    ledger: Path,
    what: str,
    number: int = 0,
    *,
    threads: int = 1,
    random: bool = False,
    variant: str = "fixed",
) -> int:
    """Run the job as :func:`begin_in_process` does, and return the exit code of the process when it is
    gone."""
    with begin_in_process(
        folder, ledger, what, number, threads=threads, random=random, variant=variant
    ) as process:
        _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode
