"""A statement while Spark runs it: what stops it leaves no job behind, and its errors are ours."""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.run import SparkRun
from sqlfront_engine.engine import Engine
from sqlfront_values import errors
from tests.connectors.spark.conftest import CONNECT, jvm_context

pytestmark = pytest.mark.spark

#: Never ends by itself; the second runs one job after the other.
ENDLESS = "SELECT count(*) FROM range(0, 1000000000000, 1, 4) WHERE sin(id) > 2"
ENDLESS_COMMAND = f"CREATE TABLE never USING parquet AS {ENDLESS.replace('count(*)', 'count(*) AS n')}"
#: How long Spark may take to end what was stopped (s).
SOON = 0.5
#: How often that is tried.
ATTEMPTS = 4
#: How long anything may take on a busy machine (s).
LONG = 60.0


def active() -> bool:
    """Whether Spark has a job that hasn't ended: these tests are alone in it."""
    return bool(jvm_context().statusTracker().getActiveJobsIds())


def until(condition: Callable[[], bool], limit: float = LONG) -> float:
    """How long it took for the condition to come true (s)."""
    began = time.perf_counter()
    while not condition():
        assert time.perf_counter() - began < limit
        time.sleep(0.005)
    return time.perf_counter() - began


def started(run: SparkRun) -> SparkRun:
    """The run, once Spark has a job of it."""
    until(active)
    return run


def assert_soon(stop: Callable[[], float]) -> None:
    """Spark ends soon what ``stop`` stops, which tells how long that took. What else the machine does must
    not decide, so that it is tried again where it took longer."""
    took: list[float] = []
    while len(took) < ATTEMPTS and min(took, default=SOON) >= SOON:
        took.append(stop())
    assert min(took) < SOON, took


def ended(run: SparkRun) -> float:
    """How long Spark takes to end the jobs of a run that was stopped (s)."""
    took = until(lambda: not active())
    assert run.join(LONG)
    return took


TEXTS = pytest.mark.parametrize("text", [ENDLESS, ENDLESS_COMMAND], ids=["query", "command"])


@TEXTS
def test_cancelling_ends_the_waiting_and_the_job(link: SparkLink, text: str) -> None:
    def stop() -> float:
        run = started(link.run(text))
        threading.Timer(0.05, run.cancel).start()
        with pytest.raises(errors.OperationalError) as stopped:
            list(run.batches())
        assert (stopped.value.condition, stopped.value.sqlstate) == ("OPERATION_CANCELED", "HY008")
        return ended(run)

    assert_soon(stop)


def test_a_timeout_ends_the_waiting_and_the_job(link: SparkLink) -> None:
    def stop() -> float:
        run = link.run(ENDLESS, timeout=1.5)
        with pytest.raises(errors.OperationalError, match=r"longer than its timeout of 1\.5 s") as stopped:
            list(run.batches())
        assert stopped.value.sqlstate == "57014"
        return ended(run)

    assert_soon(stop)


@TEXTS
def test_ctrl_c_in_the_waiting_thread_ends_the_job(link: SparkLink, text: str) -> None:
    assert threading.current_thread() is threading.main_thread()

    def stop() -> float:
        run = started(link.run(text))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            list(run.batches())
        return ended(run)

    assert_soon(stop)


def test_what_cancels_the_query_cancels_the_run(link: SparkLink) -> None:
    with Engine(1) as engine:
        query = engine.begin_query(text=ENDLESS)
        run = started(link.run(ENDLESS, query=query))

        query.cancel("KILL")

        with pytest.raises(errors.OperationalError, match="cancelled by KILL"):
            list(run.batches())
        ended(run)
        late = link.run(ENDLESS, query=query)
        with pytest.raises(errors.OperationalError, match="cancelled by KILL"):
            _ = late.schema
        assert late.join(LONG)


def test_what_is_cancelled_before_it_begins_changes_nothing(link: SparkLink) -> None:
    with Engine(1) as engine:
        query = engine.begin_query(text="DROP VIEW kept")
        query.cancel()
        link.spark.range(3).createTempView("kept")
        run = link.run("DROP VIEW kept", query=query)
        with pytest.raises(errors.OperationalError, match="cancelled"):
            _ = run.schema
        assert run.join(LONG)
        assert link.drop_view("kept")


def test_a_run_that_is_forgotten_is_cancelled(link: SparkLink) -> None:
    runs = [started(link.run(ENDLESS))]
    ended = runs[0]._attempt.ended
    runs.clear()
    gc.collect()

    assert ended.wait(LONG)
    assert not active()


def test_a_result_that_is_forgotten_leaves_no_files(link: SparkLink) -> None:
    other = SparkLink(link.spark)
    other._rows.large = -1
    run = other.run("SELECT id FROM range(10)")
    assert run.join(LONG)
    directory = os.path.dirname(other._rows.exchange.place())
    assert os.listdir(directory) != []

    del run
    gc.collect()

    assert os.listdir(directory) == []
    other.close()
    assert not os.path.exists(directory)


@pytest.mark.cluster
def test_progress_tells_stages_and_tasks(link: SparkLink) -> None:
    run = started(link.run(ENDLESS))
    until(lambda: run.progress().tasks > 0)
    progress = run.progress()
    run.cancel()

    assert progress.stages >= 1
    assert progress.tasks >= 4
    assert (progress.stages_done, progress.tasks_done) == (0, 0)
    assert run.join(LONG)


@pytest.mark.cluster
@pytest.mark.skipif(CONNECT, reason="a quick query may end before the server tells of its progress")
def test_progress_ends_with_everything_done(link: SparkLink) -> None:
    run = link.run("SELECT id % 2, count(*) FROM range(0, 1000, 1, 3) GROUP BY 1")
    assert sum(batch.num_rows for batch in run.batches()) == 2

    until(lambda: not active())
    progress = run.progress()
    assert progress.stages == progress.stages_done >= 2
    assert progress.tasks == progress.tasks_done >= 3


@pytest.mark.cluster
@pytest.mark.skipif(CONNECT, reason="a thread has no properties over Spark Connect")
def test_jobs_inherit_what_is_set_for_the_thread_that_asks(link: SparkLink) -> None:
    context = link.spark.sparkContext
    context.setLocalProperty("spark.job.description", "theirs")
    try:
        run = started(link.run(ENDLESS))
        jobs = context._jsc.sc().statusStore().jobsList(None)
        described = {
            jobs.apply(i).description().get()
            for i in range(jobs.length())
            if jobs.apply(i).description().isDefined()
        }
        run.cancel()
        assert "theirs" in described
        assert run.join(LONG)
    finally:
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "condition", "sqlstate", "fragment"),
    [
        ("SELEC 1", errors.ProgrammingError, "PARSE_SYNTAX_ERROR", "42601", None),
        ("SELECT nix", errors.ProgrammingError, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703", "nix"),
        ("SELECT * FROM nix", errors.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01", "nix"),
        ("SELECT nix(1)", errors.ProgrammingError, "UNRESOLVED_ROUTINE", "42883", "nix(1)"),
        ("SELECT ?", errors.ProgrammingError, "UNBOUND_SQL_PARAMETER", "42P02", "?"),
        ("SELECT 1/id FROM range(3)", errors.DataError, "DIVIDE_BY_ZERO", "22012", "1/id"),
        (
            "SELECT CAST(s AS INT) FROM VALUES ('x') AS v(s)",
            errors.DataError,
            "CAST_INVALID_INPUT",
            "22018",
            "CAST(s AS INT)",
        ),
        ("SELECT raise_error('boo')", errors.DataError, "USER_RAISED_EXCEPTION", "P0001", None),
        ("SELECT * FROM parquet.`/no/where`", errors.ProgrammingError, "PATH_NOT_FOUND", "42K03", None),
        ("INSERT INTO nix VALUES (1)", errors.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01", "nix"),
    ],
)
def test_an_error_of_spark_is_one_of_ours(
    link: SparkLink,
    capfd: pytest.CaptureFixture[str],
    text: str,
    kind: type[errors.Error],
    condition: str,
    sqlstate: str,
    fragment: str | None,
) -> None:
    with pytest.raises(kind) as failure:
        list(link.run(text).batches())

    error = failure.value
    assert (error.condition, error.sqlstate) == (condition, sqlstate)
    assert error.message
    assert "SQLSTATE" not in error.message
    assert not error.message.startswith("[")
    assert (text[slice(*error.position)] if error.position else None) == fragment
    assert capfd.readouterr().err == ""


def test_a_job_that_somebody_else_cancels_is_the_world_s_fault(link: SparkLink) -> None:
    run = started(link.run(ENDLESS))

    jvm_context().cancelAllJobs()

    with pytest.raises(errors.OperationalError, match="cancelled"):
        list(run.batches())


@pytest.fixture
def through_memory(link: SparkLink) -> Iterator[None]:
    """Answers of any size come through the driver's memory, and not as files."""
    rows = link._rows
    rows.large, large = 1 << 60, rows.large
    yield
    rows.large = large


@pytest.mark.usefixtures("through_memory")
def test_rows_come_before_the_query_ends(link: SparkLink) -> None:
    run = link.run(
        "SELECT id FROM range(0, 100000, 1, 1) UNION ALL "
        "SELECT id FROM range(0, 1000000000000, 1, 2) WHERE sin(id) > 2"
    )
    batches = run.batches()
    assert next(batches).column(0).to_pylist()[:3] == [0, 1, 2]
    assert not run.join(0.0)

    run.cancel()

    with pytest.raises(errors.OperationalError, match="cancelled"):
        list(batches)
    ended(run)


@pytest.mark.cluster
@pytest.mark.usefixtures("through_memory")
def test_an_error_after_the_first_rows_is_raised(link: SparkLink) -> None:
    run = link.run(
        "SELECT id FROM range(0, 100000, 1, 1) UNION ALL "
        "SELECT 1 DIV (max(id) - 39999999) FROM range(0, 40000000, 1, 1)"
    )
    found: list[pa.RecordBatch] = []
    with pytest.raises(errors.DataError) as failure:
        found.extend(run.batches())

    assert failure.value.condition == "DIVIDE_BY_ZERO"
    assert run.join(LONG)


def test_rows_keep_the_order_of_partitions_some_of_which_have_none(link: SparkLink) -> None:
    run = link.run(
        "SELECT id FROM range(0, 100000, 1, 9) WHERE id > 30000 AND id NOT BETWEEN 50000 AND 70000"
    )

    found = [number for batch in run.batches() for number in batch.column(0).to_pylist()]

    assert found == [*range(30001, 50000), *range(70001, 100000)]


@pytest.mark.parametrize(
    "text",
    [
        "VALUES (1), (2), (3), (4)",
        pytest.param("SELECT * FROM VALUES (1), (2), (3), (4) AS v(n) LIMIT 4", marks=pytest.mark.cluster),
    ],
)
def test_rows_that_spark_has_without_a_job_keep_their_order(link: SparkLink, text: str) -> None:
    for _ in range(10):
        assert [number for batch in link.run(text).batches() for number in batch.column(0).to_pylist()] == [
            1,
            2,
            3,
            4,
        ]
