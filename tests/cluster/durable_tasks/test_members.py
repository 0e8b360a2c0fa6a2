"""A durable job's tasks on members that report an end twice, or are restarted."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag, encode_dag
from sqlfront_cluster.durable_tasks.member_runner import MemberRunner
from sqlfront_cluster.durable_tasks.output_places import OutputNetwork, OutputPlaces
from sqlfront_cluster.durable_tasks.task_messages import (
    AskEnds,
    LearnJob,
    StartTask,
    TaskAnswer,
    TaskQuestion,
)
from sqlfront_cluster.durable_tasks.task_service import TaskService
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList, alone
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import JobEnded, TaskFinished
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.durable.stages import cut
from sqlfront_engine.durable.takeover import submit
from sqlfront_engine.engine import Engine
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_values.decoders import make_decoder
from sqlfront_values.settings import Settings
from tests.engine.durable.durable_jobs import SUBMITTED, rows_of
from tests.engine.durable.logs import CLUSTER, JOB, owned

ROWS = 20_000
_decode = make_decoder(TaskQuestion, codec.decode_hook)


class OneMember:
    """A cluster with one member, whose service is asked directly."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.coordinator = MemberInfo("m")
        self.member_list: MemberList = alone("m")
        self.begin()

    def begin(self) -> None:
        """Begin a process of the member."""
        network = OutputNetwork(lambda questions, wait: {}, lambda: self.member_list)
        self.service = TaskService(self.engine, OutputPlaces(network))

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: Wait | None = None
    ) -> Mapping[str, bytes | memoryview]:
        return {name: self.answer(question) for name, question in questions.items()}

    def answer(self, question: bytes) -> bytes:
        return self.service.answer(question)


class Repeating(OneMember):
    """The member reports each end of a task again with every later answer."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._ends = TaskAnswer()

    def answer(self, question: bytes) -> bytes:
        answer = super().answer(question)
        if not isinstance(_decode(question), AskEnds):
            return answer
        self._ends = TaskAnswer((*self._ends.ends, *codec.decode(answer, TaskAnswer).ends))
        return codec.encode(self._ends)


class Restarted(OneMember):
    """The member's process is another one, of the same name, after the first task has begun."""

    is_restarted = False

    def answer(self, question: bytes) -> bytes:
        answer = super().answer(question)
        if isinstance(_decode(question), StartTask) and not self.is_restarted:
            self.is_restarted = True
            self.begin()
        return answer


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(workers=1) as engine:
        yield engine


def run(folder: Path, members: OneMember) -> tuple[JobEnded, Counter[object]]:
    """Run a job of four tasks and one that collects the rows; return the end, and the number of records of
    each task."""
    dag = DAG()
    scan = dag.vertex("scan", Range(0, 1, ROWS), 1)
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    encoded = encode_dag(dag)
    plan, store = cut(decode_dag(encoded)), JobStore(LocalFolder(str(folder / "store")), SystemClock())
    spool = str(folder / "spool")
    learn = LearnJob(spool, 1, "m", encoded, Settings(), 300.0)
    runner = MemberRunner(members, plan, learn, threads=2, incarnation="i")
    with owned(store), runner:
        claim = store.take_epoch(JOB, cluster=CLUSTER, member="m")
        log, state = submit(claim, SUBMITTED, incarnation="i", settings=LogSettings())
        with log:
            options = JobOptions(parallelism=4)
            ended = Coordinator(plan, state, log, runner, spool, options).run()
    events = [record.event() for record in store.read(JOB).records]
    return ended, Counter(event.task for event in events if isinstance(event, TaskFinished))


def test_duplicate_finish(tmp_path: Path, engine: Engine) -> None:
    ended, records = run(tmp_path, Repeating(engine))

    assert sorted(rows_of(ended.result)) == [(number,) for number in range(ROWS)]
    assert list(records.values()) == [1] * 5


def test_tasks_share_the_memory_that_the_job_may_hold(engine: Engine) -> None:
    dag = DAG()
    dag.vertex("result", ResultSink(), 1)
    for memory, limit, share in ((100, None, 50), (100, 30, 15), (20, 30, 10)):
        members = OneMember(engine)
        members.member_list = MemberList(1, (MemberInfo("m", memory=memory),), ())
        learn = LearnJob("job", 1, "m", encode_dag(dag), Settings(), 300.0, memory_limit=limit)
        with MemberRunner(members, cut(dag), learn, threads=2, incarnation="i") as runner:
            assert runner.task_memory == share
        job = members.service._learned(learn)
        assert job._runner.task_memory == (engine.memory.limit if limit is None else limit)
        job.close()


def test_restarted_member(tmp_path: Path, engine: Engine) -> None:
    """The new process knows nothing of the task, which runs again; what the former one made doesn't count."""
    members = Restarted(engine)

    ended, records = run(tmp_path, members)

    assert members.is_restarted
    assert sorted(rows_of(ended.result)) == [(number,) for number in range(ROWS)]
    assert list(records.values()) == [1] * 5
