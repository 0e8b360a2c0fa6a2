"""What Ctrl-C, or a machine without room, leaves behind that comes between two steps: nothing."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from sqlfront_connectors.spark.executors.capacity import await_capacity
from sqlfront_connectors.spark.failures import GONE
from sqlfront_connectors.spark.run import Arrive, SparkRun, end_runs
from sqlfront_connectors.spark.sessions.temporary_views import TemporaryViews
from sqlfront_engine.engine import Engine
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import OperationalError


class Refusing(threading.Thread):
    """A thread that the machine doesn't start."""

    def start(self) -> None:
        raise RuntimeError("can't start new thread")


class Interrupted(threading.Thread):
    """A thread whose beginning is interrupted as soon as it runs."""

    def start(self) -> None:
        super().start()
        raise KeyboardInterrupt


class Jobs:
    """A session without jobs."""

    def __init__(self, kind: type[threading.Thread]) -> None:
        self._kind = kind

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        return self._kind(target=work, name=name, daemon=True)

    def tag(self, tag: str) -> None: ...

    def cancel(self, tag: str) -> None: ...

    def progress(self, tag: str) -> Progress:
        return Progress()

    def forget(self, tag: str) -> None: ...


class Work:
    """A statement that would have run to its end."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.collected = False

    def analyse(self) -> pa.Schema:
        assert self.may_go_on.wait(60.0)
        return pa.schema([])

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        self.collected = True
        return iter(())


def test_a_run_is_forgotten_by_a_finalizer_while_it_hears_of_its_rows() -> None:
    runs = [SparkRun(Jobs(threading.Thread), Work())]
    attempt = runs[0]._attempt

    def settle() -> None:
        with attempt._lock:
            runs.clear()

    settling = threading.Thread(target=settle, daemon=True)
    settling.start()
    settling.join(10)

    assert not settling.is_alive()
    with pytest.raises(OperationalError, match="cancelled"):
        attempt.analysed.result(0)


@pytest.mark.parametrize(("kind", "error"), [(Refusing, RuntimeError), (Interrupted, KeyboardInterrupt)])
def test_a_statement_that_does_not_begin(kind: type[threading.Thread], error: type[BaseException]) -> None:
    work = Work()
    with Engine(workers=1) as engine:
        before = set(threading.enumerate())
        query = engine.begin_query()
        with pytest.raises(error):
            SparkRun(Jobs(kind), work, timeout=60.0, query=query)
        work.may_go_on.set()
        for thread in set(threading.enumerate()) - before:
            thread.join(50.0)
            assert not thread.is_alive()
        assert query.progress() is None
    assert not work.collected


class Stopping(Jobs):
    """A session whose cancelled jobs let the work go on."""

    def __init__(self, work: Work) -> None:
        super().__init__(threading.Thread)
        self._work = work

    def cancel(self, tag: str) -> None:
        self._work.may_go_on.set()


def test_who_ends_a_sessions_runs_waits_for_them() -> None:
    works = [Work(), Work()]
    sessions = [Stopping(work) for work in works]
    runs = [SparkRun(jobs, work) for jobs, work in zip(sessions, works, strict=True)]
    end_runs(sessions[0])

    assert runs[0].join(0) and not runs[1].join(0)
    assert not works[0].collected
    with pytest.raises(OperationalError, match="cancelled"):
        list(runs[0].batches())
    works[1].may_go_on.set()
    assert list(runs[1].batches()) == []


class Ending:
    """A session that somebody stops while it is asked for its settings."""

    def __init__(self) -> None:
        self.sparkContext = SimpleNamespace(_jsc=object())
        self.conf = SimpleNamespace(get=self._get)

    def _get(self, key: str, default: str) -> str:
        if key == "spark.master":
            self.sparkContext._jsc = None
            return "yarn"
        return default


def test_a_session_that_is_stopped_while_its_slots_are_counted() -> None:
    with pytest.raises(OperationalError) as caught:
        await_capacity(cast("SparkSession", Ending()), None, None)
    assert caught.value.sqlstate == GONE


class Frame:
    """A frame that has become a view when Ctrl-C comes."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def createTempView(self, name: str) -> None:
        self._names.add(name.strip("`"))
        raise KeyboardInterrupt


class Catalog:
    """That of a session whose temporary views have these names."""

    def __init__(self, names: set[str]) -> None:
        self.catalog = self
        self._names = names

    def dropTempView(self, name: str) -> bool:
        self._names.discard(name)
        return True


def test_a_view_that_was_just_made() -> None:
    names: set[str] = set()
    views = TemporaryViews(cast("SparkSession", Catalog(names)))
    frame = cast("DataFrame", Frame(names))
    with pytest.raises(KeyboardInterrupt), views.named({"events": frame}):
        pass
    assert not names
    assert not views.has("events")
