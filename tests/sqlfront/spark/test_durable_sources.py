"""Durable jobs that read tables and views of Spark: all rows of a stage come from one run of Spark's
query."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from tests.oracle.spark import SparkOracle
from tests.programs import printed
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.killed import NAME, run_killed
from tests.sqlfront.jobs.waiting import wait_until
from tests.sqlfront.spark.durable_sources import QUERY, SOURCE, make_source
from tests.sqlfront.spark.test_durable_targets import open_session, resumed
from tests.sqlfront.spark.written_values import KINDS, source

pytestmark = pytest.mark.spark

STATEMENT = "INSERT OVERWRITE DIRECTORY '{}/out' USING parquet " + QUERY


@pytest.fixture
def beside(spark: SparkOracle, tmp_path: Path) -> Iterator[SparkSession]:
    """A Spark session with the table that jobs read."""
    session = spark.new_session()
    make_source(session, tmp_path)
    yield session
    session.sql(f"DROP TABLE IF EXISTS {SOURCE}")


@pytest.fixture
def connection(beside: SparkSession, tmp_path: Path) -> Iterator[sqlfront.Connection]:
    with open_session(beside, tmp_path) as connection:
        yield connection


def killed_at(folder: Path, step: str, number: int = 1) -> None:
    """Have another process, with a Spark of its own, begin the job, and be killed at the step."""
    program = "tests.sqlfront.spark.durable_sources"
    ended = run_killed(folder, STATEMENT.format(folder), step, number, program=program, timeout=300)
    assert ended == -signal.SIGKILL


def right(spark: SparkSession) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(QUERY).collect())


def written(connection: sqlfront.Connection, folder: Path) -> list[tuple[object, ...]]:
    return sorted(connection.execute(f"SELECT k, n, total FROM parquet.`{folder}/out`").fetchall())


def tasks_of(connection: sqlfront.Connection, stage: int) -> int:
    """The number of tasks of a stage of the job."""
    query = "SELECT tasks FROM sys.job_stages WHERE stage = ?"
    ((tasks,),) = connection.execute(query, (stage,)).fetchall()
    assert isinstance(tasks, int)
    return tasks


QUERIES = [
    QUERY,
    f"SELECT k, count(*) AS n FROM {SOURCE} WHERE id > 10 GROUP BY k",
    f"SELECT count(*) FROM {SOURCE}",
    f"SELECT id FROM {SOURCE} ORDER BY k, id DESC LIMIT 3",
    f"SELECT k FROM {SOURCE} WHERE id < 5 UNION ALL SELECT k FROM {SOURCE} WHERE id < 5",
    f"SELECT a.k, b.n FROM seen a JOIN (SELECT k, count(*) AS n FROM {SOURCE} GROUP BY k) b ON a.k = b.k",
    f"SELECT k FROM {SOURCE} WHERE id < 0",
    f"SELECT (SELECT max(id) FROM {SOURCE}) AS m, x.id FROM range(2) x",
]


@pytest.mark.cluster
def test_the_answers_are_sparks(connection: sqlfront.Connection, beside: SparkSession) -> None:
    beside.sql(f"CREATE TEMP VIEW seen AS SELECT DISTINCT k FROM {SOURCE} WHERE k > 2")
    for query in QUERIES:
        rows = connection.session.submit_job(query).result().collect()
        assert sorted(map(tuple, rows)) == sorted(map(tuple, beside.sql(query).collect())), query


@pytest.mark.cluster
def test_values_of_all_types(connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path) -> None:
    """Odd values of each type pass Spark, the splits and the job's files."""
    query = f"SELECT {', '.join(KINDS)} FROM {source(beside, tmp_path)}"
    beside.sql(f"CREATE TEMP VIEW odd AS {query}")

    rows = connection.session.submit_job("SELECT * FROM odd").result().toArrow()

    assert sorted(map(repr, rows.to_pylist())) == sorted(map(repr, beside.sql(query).toArrow().to_pylist()))


@pytest.mark.cluster
def test_a_limit_ends_sparks_query(connection: sqlfront.Connection) -> None:
    query = f"SELECT a.id FROM {SOURCE} a JOIN range(20000) r ON a.id = r.id LIMIT 5"
    assert len(connection.session.submit_job(query).result().collect()) == 5


@pytest.mark.cluster
def test_opaque_source_unfinished(beside: SparkSession, tmp_path: Path) -> None:
    """Neither RESUME JOB nor job_recovery goes on without a Spark that has the table. With it, all tasks of
    the stage run again, in one run of Spark's query."""
    killed_at(tmp_path, "task")
    with open_session(None, tmp_path) as connection:
        with pytest.raises(sqlfront.OperationalError, match=f"table .*{SOURCE}.* has no Spark session"):
            connection.execute(f"RESUME JOB {NAME}")
        before = job_of(connection).status()
    assert (before.phase, before.tasks_done) == (JobPhase.RECOVERING, 1)
    beside.sql(f"DROP TABLE {SOURCE}")
    with open_session(beside, tmp_path, recovers=True) as connection:
        with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            connection.execute(f"RESUME JOB {NAME}")
        make_source(beside, tmp_path)
        wait_until(lambda: job_of(connection).status().phase is JobPhase.FINISHED)
        status = job_of(connection).status()
        assert (status.restored, status.rerun) == (0, 1)
        assert written(connection, tmp_path) == right(beside)
        assert tasks_of(connection, 0) > 1
    assert os.listdir(tmp_path / "store" / "spool") == []


@pytest.mark.cluster
def test_opaque_source_finished(beside: SparkSession, tmp_path: Path) -> None:
    """What all tasks have read is kept, so that the job needs no Spark any more."""
    killed_at(tmp_path, "stage", 0)
    with open_session(None, tmp_path) as connection:
        status = resumed(connection)
        assert (status.phase, status.rerun) == (JobPhase.FINISHED, 0), status
        assert status.restored >= tasks_of(connection, 0) > 1
        assert written(connection, tmp_path) == right(beside)


@pytest.mark.cluster
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_opaque_source_finished_and_an_output_lost(beside: SparkSession, tmp_path: Path, how: str) -> None:
    """If one output is lost, all tasks read Spark again, and the job waits for a Spark until then."""
    killed_at(tmp_path, "stage", 0)
    (spool,) = (tmp_path / "store" / "spool").iterdir()
    lost = max(
        (path for path in spool.iterdir() if path.name.startswith("0.")), key=lambda path: path.stat().st_size
    )
    if how == "missing":
        lost.unlink()
    else:
        lost.write_bytes(bytes(lost.stat().st_size))
    with open_session(None, tmp_path) as connection:
        if how == "missing":
            with pytest.raises(sqlfront.OperationalError, match="has no Spark session"):
                connection.execute(f"RESUME JOB {NAME}")
        else:
            connection.execute(f"RESUME JOB {NAME}")
            with pytest.raises(sqlfront.OperationalError, match="has no Spark session"):
                job_of(connection).wait(60)
    with open_session(beside, tmp_path) as connection:
        status = resumed(connection)
        assert status.phase is JobPhase.FINISHED
        assert status.rerun >= tasks_of(connection, 0)
        assert written(connection, tmp_path) == right(beside)


@pytest.mark.cluster
def test_a_changed_table_is_named(beside: SparkSession, tmp_path: Path) -> None:
    """A table that has other rows or columns, and another time zone, are refused; the job waits."""
    killed_at(tmp_path, "task")
    zone = str(beside.conf.get("spark.sql.session.timeZone"))
    with open_session(beside, tmp_path) as connection:
        beside.sql(f"INSERT INTO {SOURCE} VALUES (-1, 3)")
        _refused(connection, "has changed since the job was created")
        beside.sql(f"DROP TABLE {SOURCE}")
        beside.sql(f"CREATE TEMP VIEW {SOURCE} AS SELECT 'a' AS id, 1 AS k")
        with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            connection.execute(f"RESUME JOB {NAME}")
        beside.sql(f"DROP VIEW {SOURCE}")
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with open_session(beside, tmp_path) as connection:
        make_source(beside, tmp_path)
        _refused(connection, "that of Spark is Asia/Tokyo")
    beside.conf.set("spark.sql.session.timeZone", zone)


def _refused(connection: sqlfront.Connection, words: str) -> None:
    with pytest.raises(sqlfront.OperationalError, match=words) as caught:
        connection.execute(f"RESUME JOB {NAME}")
    assert caught.value.sqlstate == "40001"
    assert job_of(connection).status().phase is JobPhase.RECOVERING


#: A program whose Spark ends while a task reads rows.
STOPPED = """
from pathlib import Path
import sqlfront
from sqlfront_connectors.spark.query_splits import QuerySplits
from tests.sqlfront.spark.durable_sources import make_source
from tests.sqlfront.spark.killed_target import open_spark

spark = open_spark(Path({folder!r}))
make_source(spark, Path({folder!r}))

def next_without_spark(self):
    spark.stop()
    return next(self._batches, None)

QuerySplits.next_split = next_without_spark
store = {folder!r} + "/store"
with sqlfront.connect(spark=spark, job_store=store, workers=2, collect_rows=100) as connection:
    job = connection.session.submit_job({statement!r}, name={name!r})
    try:
        job.wait(60)
    except sqlfront.OperationalError as error:
        print(error.sqlstate)
    print(job.status().phase.value)
    print(job.status().error)
"""


@pytest.mark.cluster
def test_a_job_whose_spark_ends_waits_for_another(beside: SparkSession, tmp_path: Path) -> None:
    statement = STATEMENT.format(tmp_path)
    lines = printed(STOPPED.format(folder=str(tmp_path), statement=statement, name=NAME))
    assert lines == ["08003", "recovering", "None"]
    with open_session(beside, tmp_path) as connection:
        assert resumed(connection).phase is JobPhase.FINISHED
        assert written(connection, tmp_path) == right(beside)


@pytest.mark.cluster
def test_with_members_the_tasks_that_read_spark_run_in_the_session(
    beside: SparkSession, tmp_path: Path
) -> None:
    store = str(tmp_path / "store")
    with sqlfront.connect(
        spark=beside, job_store=store, launcher="local", members=2, workers=1, collect_rows=100
    ) as connection:
        rows = connection.session.submit_job(QUERY, options={"parallelism": "3"}).result().collect()
        assert sorted(map(tuple, rows)) == right(beside)


@pytest.mark.cluster
@pytest.mark.parametrize("how", ["cancelled", "closed"])
def test_a_job_that_waits_for_spark_can_be_ended(beside: SparkSession, tmp_path: Path, how: str) -> None:
    """Spark's query ends, too."""
    slow = "SELECT a.id, a.id % 3 AS k FROM range(60000) a JOIN range(60000) b ON a.id * b.id % 7 = 3"
    beside.sql(f"CREATE OR REPLACE TEMP VIEW slow AS {slow}")
    tracker = beside.sparkContext.statusTracker()
    with open_session(beside, tmp_path) as connection:
        job = connection.session.submit_job(QUERY.replace(SOURCE, "slow"), name=NAME)
        wait_until(lambda: bool(tracker.getActiveJobsIds()))
        if how == "cancelled":
            assert job.cancel()
            assert job.wait(10).phase is JobPhase.CANCELLED
    wait_until(lambda: not tracker.getActiveJobsIds())
    with open_session(beside, tmp_path) as connection:
        phase = JobPhase.CANCELLED if how == "cancelled" else JobPhase.RECOVERING
        assert job_of(connection).status().phase is phase
        connection.execute(f"DROP JOB {NAME}")
    assert os.listdir(tmp_path / "store" / "spool") == []


@pytest.mark.cluster
def test_an_error_of_sparks_query_ends_the_job(connection: sqlfront.Connection) -> None:
    job = connection.session.submit_job(f"SELECT 1 / (id - 5) AS x FROM {SOURCE}")
    status: DurableJobStatus = job.wait(60)
    assert status.error is not None
    assert (status.phase, status.error.condition) == (JobPhase.FAILED, "DIVIDE_BY_ZERO")


@pytest.mark.cluster
def test_what_no_job_can_read_is_refused_by_name(
    connection: sqlfront.Connection, beside: SparkSession
) -> None:
    connection.execute(
        f"CACHE TABLE copied AS SELECT k, java_method('java.lang.Math', 'abs', 1) FROM {SOURCE}"
    )
    with pytest.raises(sqlfront.NotSupportedError, match="`copied`"):
        connection.execute("CREATE JOB j AS SELECT * FROM copied")
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        connection.execute("CREATE JOB j AS SELECT * FROM nowhere")
    beside.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(sqlfront.NotSupportedError, match="ansi"):
        connection.execute(f"CREATE JOB j AS SELECT * FROM {SOURCE}")
    assert connection.execute("SHOW JOBS").fetchall() == []
