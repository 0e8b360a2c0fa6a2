"""Sources, sinks and services are closed on every exit, and what goes wrong in closing is ignored."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.user_code.services import MapUsingService, Service, ServiceScope
from sqlfront_engine.processors.user_code.sinks import FunctionSink
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_engine.shares import SharedObject
from sqlfront_values.errors import DataError, OperationalError
from sqlfront_values.user_functions import UserFunction

ROWS = pa.schema({"n": pa.int64()})
BATCH = pa.RecordBatch.from_pydict({"n": [1, 2]})


class First(Processor, frozen=True):
    """One batch, and no more."""

    def run(self, context: ProcessorContext) -> Steps:
        yield (yield Take(0))


class Fails(Processor, frozen=True):
    """Raises at its first batch."""

    def run(self, context: ProcessorContext) -> Steps:
        yield (yield Take(0))
        raise OSError("a fault")


class Said(list[str]):
    """What happened, from any thread; `made` are things to open that say so, and may fail in closing."""

    def endless(self, context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        self.append("open")
        try:
            while True:
                yield BATCH
        finally:
            self.append("close")
            raise OSError("closing fails")

    def source(self) -> FunctionSource:
        return FunctionSource(ROWS, UserFunction(self.endless))

    def service(self, scope: ServiceScope) -> Service:
        def close(opened: object) -> None:
            self.append(f"close {opened}")
            raise OSError("closing fails")

        return Service(UserFunction(self._open), UserFunction(close), scope)

    def _open(self, context: ProcessorContext) -> str:
        self.append("open")
        return f"service of {context.member_index}"


def dag_of(*processors: Processor, parallelism: int = 1) -> DAG:
    dag = DAG()
    before = None
    for number, processor in enumerate(processors):
        one = isinstance(processor, ResultSink) or not number
        vertex = dag.vertex(f"v{number}", processor, 1 if one else parallelism)
        if before is not None:
            dag.edge(Edge.between(before, vertex))
        before = vertex
    return dag


def test_a_source_is_closed_when_nobody_wants_more_and_the_job_succeeds() -> None:
    said = Said()
    with Engine(workers=1) as engine:
        batches = list(engine.run(dag_of(said.source(), First(), ResultSink())).batches())

    assert len(batches) == 1
    assert said == ["open", "close"]


def test_a_source_is_closed_when_the_job_fails_elsewhere() -> None:
    said = Said()
    with Engine(workers=1) as engine, pytest.raises(OperationalError, match="a fault"):
        list(engine.run(dag_of(said.source(), Fails(), ResultSink())).batches())

    assert said == ["open", "close"]


def test_a_source_is_closed_when_the_job_is_cancelled() -> None:
    said = Said()
    with Engine(workers=1) as engine:
        job = engine.run(dag_of(said.source(), ResultSink()))
        next(job.batches())
        job.cancel()
        with pytest.raises(OperationalError, match="cancelled"):
            job.join(30)

    assert said == ["open", "close"]


class Writes:
    """A writer that fails at the second batch."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def write(self, batch: pa.RecordBatch) -> None:
        if "write" in self.said:
            raise ValueError("full")
        self.said.append("write")

    def finish(self) -> None:
        self.said.append("finish")

    def close(self) -> None:
        self.said.append("close")


def test_a_sink_that_fails_is_closed_but_not_finished() -> None:
    source, said = Said(), list[str]()
    sink = FunctionSink(ROWS, UserFunction(lambda context: Writes(said)))
    with Engine(workers=1) as engine, pytest.raises(DataError, match="full"):
        engine.run(dag_of(source.source(), sink)).join()

    assert said == ["write", "close"]
    assert source == ["open", "close"]


@pytest.mark.parametrize(("scope", "times"), [(ServiceScope.MEMBER, 1), (ServiceScope.INSTANCE, 3)])
def test_a_service_is_opened_and_closed_once_for_whom_it_is(scope: ServiceScope, times: int) -> None:
    said = Said()
    numbers = UserFunction(lambda context: iter([BATCH] * 9))
    mapped = MapUsingService(said.service(scope), UserFunction(lambda service, n: n), ROWS, ROWS)
    with Engine(workers=2) as engine:
        dag = dag_of(FunctionSource(ROWS, numbers), mapped, ResultSink(), parallelism=3)
        assert sum(batch.num_rows for batch in engine.run(dag).batches()) == 18

    assert sorted(said) == sorted(["open", "close service of 0"] * times)


def test_a_shared_service_is_closed_after_the_last_instance_also_of_a_failed_job() -> None:
    said = Said()
    gate = threading.Event()

    def call(service: object, n: int) -> int:
        if gate.is_set():
            said.append("late")
            return n
        gate.set()
        raise ValueError("first")

    mapped = MapUsingService(said.service(ServiceScope.MEMBER), UserFunction(call), ROWS, ROWS)
    with Engine(workers=2) as engine, pytest.raises(DataError, match="first"):
        list(engine.run(dag_of(Said().source(), mapped, ResultSink(), parallelism=3)).batches())

    assert (said[0], said[-1]) == ("open", "close service of 0")
    assert said.count("open") == 1


def test_a_share_that_was_never_opened_has_nothing_to_close() -> None:
    share = SharedObject("v", 2)
    share.leave()
    share.leave()


def test_a_share_whose_making_failed_is_made_by_the_next() -> None:
    share = SharedObject("v", 2)

    def fails() -> int:
        raise OSError

    with pytest.raises(OSError):
        share.open(fails)

    assert share.open(lambda: 1) == share.open(lambda: 2) == 1


class Stubborn(Processor, frozen=True):
    """Raises when it is closed."""

    def run(self, context: ProcessorContext) -> Steps:
        try:
            while True:
                yield BATCH
        finally:
            raise OSError("in finally")


@pytest.mark.parametrize("inline", [True, False])
def test_an_error_in_closing_a_processor_is_logged_and_ignored(
    inline: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with Engine(workers=1) as engine:
        job = engine.run(dag_of(Stubborn(), First(), ResultSink()), JobConfig(inline=inline))
        assert len(list(job.batches())) == 1

    assert "closing v0 failed" in caplog.text


class Counts(Processor, frozen=True):
    """Takes for ever what comes; says how much."""

    def run(self, context: ProcessorContext) -> Steps:
        taken = context.resources["taken"]
        assert isinstance(taken, list)
        stop = context.resources["stop"]
        while (batch := (yield Take(0))) is not None:
            taken.append(batch.num_rows)
            if len(taken) == 3:
                stop()  # type: ignore[operator]


def test_a_stop_is_noticed_at_the_next_yield() -> None:
    taken: list[int] = []
    jobs: list[LightJob] = []

    def stop() -> None:
        for job in jobs:
            job.cancel()

    with Engine(workers=1) as engine:
        resources = {"taken": taken, "stop": stop}
        batches = UserFunction(lambda context: iter([BATCH] * 100))
        config = JobConfig(resources=resources, inline=True)
        jobs.append(engine.run(dag_of(FunctionSource(ROWS, batches), Counts()), config))
        with pytest.raises(OperationalError, match="cancelled"):
            jobs[0].join()

    assert taken == [2, 2, 2]


class Finishes(Processor, frozen=True):
    """Takes everything, and says when that was all."""

    cooperative = False

    def run(self, context: ProcessorContext) -> Steps:
        said = context.resources["said"]
        assert isinstance(said, list)
        while (yield Take(0)) is not None:
            pass
        said.append("all")
        yield from ()


@pytest.mark.parametrize("inline", [True, False])
def test_an_input_that_ends_by_a_failure_has_not_come_to_its_end(inline: bool) -> None:
    said: list[str] = []
    with Engine(workers=1) as engine:
        for _ in range(3 if inline else 200):
            config = JobConfig(resources={"said": said}, inline=inline)
            job = engine.run(dag_of(Said().source(), Fails(), Finishes()), config)
            with pytest.raises(OperationalError, match="a fault"):
                job.join()

    assert said == []
