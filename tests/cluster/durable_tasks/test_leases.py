"""Outputs on a member's disk, and how long the member keeps them for which coordinator."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag, encode_dag
from sqlfront_cluster.durable_tasks.member_disk import MemberDisk
from sqlfront_cluster.durable_tasks.output_places import OutputNetwork, OutputPlaces
from sqlfront_cluster.durable_tasks.task_messages import (
    AdoptRuns,
    AskEnds,
    ForgetJob,
    JobQuestion,
    LearnJob,
    SettledRun,
    StartTask,
    TaskAnswer,
)
from sqlfront_cluster.durable_tasks.task_service import TaskService
from sqlfront_cluster.members.protocol.member_list import alone
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.division import OutputPlace
from sqlfront_engine.durable.event_store.events import Attempt
from sqlfront_engine.durable.stages import StagePlan, cut
from sqlfront_engine.durable.tasks import StageTasks
from sqlfront_engine.engine import Engine
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError
from sqlfront_values.settings import Settings

JOB = "/store/spool/job-1"
LEASE = 10.0


def _tasks(plan: StagePlan) -> StageTasks:
    """The one task of the plan's first stage."""
    return StageTasks(plan.stages[0], ((0, 32),), 32)


def _dag() -> bytes:
    dag = DAG()
    scan = dag.vertex("scan", Range(0, 1, 100), 1)
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    return encode_dag(dag)


class Holder:
    """A member whose service is asked directly, and whose time a test moves."""

    def __init__(self, folder: Path, engine: Engine, clock: FakeClock) -> None:
        self.folder, self.clock = folder, clock
        self.disk = MemberDisk("m", str(folder))
        network = OutputNetwork(lambda questions, wait: {}, lambda: alone("m"))
        self.service = TaskService(engine, OutputPlaces(network, self.disk))

    def ask(self, question: JobQuestion) -> TaskAnswer:
        return codec.decode(self.service.answer(codec.encode(question)), TaskAnswer)

    def learn(self, epoch: int) -> TaskAnswer:
        """Announce the coordinator ``c`` and the number of its epoch."""
        return self.ask(LearnJob(JOB, epoch, f"c{epoch}", _dag(), Settings(), LEASE, OutputPlace.MEMBERS))

    def run(self, epoch: int = 1, number: int = 1) -> SettledRun:
        """Run the task of the first stage, and return the run, which counts."""
        plan = cut(decode_dag(_dag()))
        request = StartTask(JOB, epoch, _tasks(plan), 0, Attempt(epoch, number), ())
        assert request.task_run(plan).paths
        self.ask(request)
        ends: TaskAnswer = TaskAnswer()
        end = time.monotonic() + 30
        while not ends.ends:
            assert time.monotonic() < end
            ends = self.ask(AskEnds(JOB, epoch))
        assert ends.ends[0].error is None
        return SettledRun(request.run_id, counts=True)

    def leave(self) -> None:
        """All coordinators leave the cluster."""
        self.service.keep_present(lambda name: False)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*/*/*"))


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    clock = FakeClock()
    with Engine(workers=1, clock=clock) as engine:
        holder = Holder(tmp_path, engine, clock)
        yield holder
        holder.service.close()
    assert not [*tmp_path.iterdir()]


def test_a_successor_renews_the_lease(holder: Holder) -> None:
    holder.learn(1)
    holder.run()
    holder.leave()
    holder.clock.advance(LEASE - 1)

    assert holder.learn(2).files.keys() == {*holder.files}
    holder.clock.advance(2 * LEASE)
    assert holder.files

    holder.leave()
    holder.clock.advance(LEASE + 1)
    assert not holder.files
    assert holder.learn(3).files == {}


def test_a_closed_session_leaves_a_lease(holder: Holder) -> None:
    holder.learn(1)
    holder.run()
    holder.ask(ForgetJob(JOB, 1))

    assert holder.files
    holder.clock.advance(LEASE + 1)
    assert not holder.files


def test_the_end_of_a_job_leaves_nothing(holder: Holder) -> None:
    holder.learn(1)
    holder.run()
    holder.ask(ForgetJob(JOB, 1, is_over=True))

    assert not holder.files


def test_only_what_counts_is_kept(holder: Holder) -> None:
    holder.learn(1)
    first, second = holder.run(number=1), holder.run(number=2)
    kept, _ = holder.files
    assert first != second

    holder.learn(2)
    holder.ask(AdoptRuns(JOB, 2, (), (kept,)))

    assert holder.files == [kept]


def test_a_run_that_does_not_count_leaves_nothing(holder: Holder) -> None:
    holder.learn(1)
    run = holder.run()
    holder.ask(AskEnds(JOB, 1, (SettledRun(run.run, counts=False),)))

    assert not holder.files


def test_a_former_coordinator_removes_nothing(holder: Holder) -> None:
    holder.learn(1)
    holder.run()
    holder.learn(2)
    for question in (ForgetJob(JOB, 1, is_over=True), AdoptRuns(JOB, 1, (), ())):
        with pytest.raises(OperationalError, match="must end"):
            holder.ask(question)

    assert holder.files


@pytest.mark.parametrize("job", ["/store/spool/..", "/store/spool/", "", "/store/spool/a b", "x" * 300])
def test_a_job_without_a_name_gets_no_folder(holder: Holder, job: str) -> None:
    """Its tasks fail, and say why."""
    holder.ask(LearnJob(job, 1, "c", _dag(), Settings(), LEASE, OutputPlace.MEMBERS))
    holder.ask(StartTask(job, 1, _tasks(cut(decode_dag(_dag()))), 0, Attempt(1, 1), ()))

    (end,) = holder.ask(AskEnds(job, 1)).ends

    assert end.error is not None
    assert "is no id of a job" in end.error.error().message
    assert not holder.files
