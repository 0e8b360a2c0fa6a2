"""Durable jobs that put their rows into tables of Spark."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from tests.connectors.spark.conftest import CONNECT
from tests.oracle.spark import SparkOracle
from tests.programs import printed
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.killed import NAME, run_killed
from tests.sqlfront.jobs.waiting import wait_until
from tests.sqlfront.spark.durable_targets import PARTITIONED, SINK, make_table
from tests.sqlfront.spark.written_values import KINDS, source

pytestmark = pytest.mark.spark

#: A query of several stages, in the words of both.
QUERY = "SELECT id % 7 AS k, count(*) AS n, concat('k', id % 7) AS name FROM range(10000) GROUP BY id % 7"
STATEMENTS = {
    "insert": f"INSERT INTO {{}} (K, n, name) {QUERY}",
    "overwrite": f"INSERT OVERWRITE {{}} (K, n, name) {QUERY}",
}


@pytest.fixture
def beside(spark: SparkOracle, tmp_path: Path) -> Iterator[SparkSession]:
    """A Spark session with the table that jobs fill."""
    session = spark.new_session()
    make_table(session, tmp_path)
    yield session
    session.sql(f"DROP TABLE IF EXISTS {SINK}")


@pytest.fixture
def connection(beside: SparkSession, tmp_path: Path) -> Iterator[sqlfront.Connection]:
    with open_session(beside, tmp_path) as connection:
        yield connection


def open_session(spark: SparkSession | None, folder: Path, *, recovers: bool = False) -> sqlfront.Connection:
    """A session with the store below the folder. Few rows are collected, so that jobs have several stages."""
    store = str(folder / "store")
    return sqlfront.connect(spark=spark, job_store=store, job_recovery=recovers, workers=2, collect_rows=100)


def rows(spark: SparkSession, table: str) -> list[str]:
    """The rows of a table, as Spark reads them, in an order of their own."""
    return sorted(map(repr, spark.table(table).toArrow().to_pylist()))


def expected(spark: SparkSession, folder: Path, statement: str) -> list[str]:
    """The rows of the table after Spark's own INSERT into a table like it."""
    own = "by_spark"
    spark.sql(f"CREATE TABLE {own} LIKE {SINK} LOCATION '{folder}/{own}'")
    try:
        spark.sql(f"INSERT INTO {own} VALUES ('none', -1, NULL)")
        spark.sql(statement.format(own))
        return rows(spark, own)
    finally:
        spark.sql(f"DROP TABLE {own}")


def killed_at(step: str, folder: Path, kind: str) -> None:
    """Have another process, with a Spark of its own, run the statement of the kind, and be killed at the
    step."""
    program, statement = "tests.sqlfront.spark.killed_target", STATEMENTS[kind].format(SINK)
    assert run_killed(folder, statement, step, program=program, timeout=300) == -signal.SIGKILL


def resumed(connection: sqlfront.Connection) -> DurableJobStatus:
    connection.execute(f"RESUME JOB {NAME}")
    return job_of(connection).wait(60)


@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["insert", "overwrite"])
def test_the_rows_are_those_of_sparks_own_insert(
    connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path, kind: str
) -> None:
    beside.sql(f"CACHE TABLE {SINK}")
    held = beside.table(SINK)
    assert held.count() == 1

    job = connection.session.submit_job(STATEMENTS[kind].format(SINK))

    assert job.wait(60).phase is JobPhase.FINISHED
    right = expected(beside, tmp_path, STATEMENTS[kind])
    assert rows(beside, SINK) == right
    assert held.count() == len(right)
    assert connection.execute(f"SELECT count(*) FROM {SINK}").fetchall() == [(len(right),)]


STEPS = ["put", "commit", "placed", "written", "committed"]


@pytest.mark.cluster
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_sink_crash_points_of_spark_tables(
    beside: SparkSession, tmp_path: Path, kind: str, step: str
) -> None:
    """Another process with a Spark of its own is killed; this process goes on with the job."""
    killed_at(step, tmp_path, kind)
    beside.catalog.refreshTable(SINK)

    with open_session(beside, tmp_path) as connection:
        status = resumed(connection)

    assert (status.phase, status.epoch, status.rerun) == (JobPhase.FINISHED, 2, 0), status
    assert status.restored == status.tasks
    assert rows(beside, SINK) == expected(beside, tmp_path, STATEMENTS[kind])
    assert [path.name for path in (tmp_path / SINK).iterdir() if path.is_dir()] == []
    assert os.listdir(tmp_path / "store" / "spool") == []


@pytest.mark.cluster
def test_without_spark_the_job_waits(beside: SparkSession, tmp_path: Path) -> None:
    """Neither RESUME JOB nor job_recovery goes on with the job before there is a Spark with the table."""
    killed_at("put", tmp_path, "insert")
    with open_session(None, tmp_path) as connection:
        connection.execute(f"CREATE TABLE {SINK} (name STRING, k INT, n DECIMAL(10,2)) USING memory")
        with pytest.raises(sqlfront.OperationalError, match="has no Spark session"):
            connection.execute(f"RESUME JOB {NAME}")
        assert job_of(connection).status().phase is JobPhase.RECOVERING
        assert connection.execute(f"SELECT * FROM {SINK}").fetchall() == []
    beside.sql(f"DROP TABLE {SINK}")
    with open_session(beside, tmp_path, recovers=True) as connection:
        with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            connection.execute(f"RESUME JOB {NAME}")
        assert job_of(connection).status().phase is JobPhase.RECOVERING
        make_table(beside, tmp_path)
        wait_until(lambda: job_of(connection).status().phase is JobPhase.FINISHED)
    assert rows(beside, SINK) == expected(beside, tmp_path, STATEMENTS["insert"])


#: A program whose Spark ends when all tasks of the job are finished.
STOPPED = """
from pathlib import Path
import sqlfront
from sqlfront.commands.spark_targets import SparkTarget
from tests.sqlfront.spark.killed_target import open_spark

spark, put = open_spark(Path({folder!r})), SparkTarget.put

def put_without_spark(*arguments):
    spark.stop()
    put(*arguments)

SparkTarget.put = put_without_spark
with sqlfront.connect(spark=spark, job_store={folder!r} + "/store", workers=2) as connection:
    job = connection.session.submit_job({statement!r}, name={name!r})
    try:
        job.wait(60)
    except sqlfront.OperationalError as error:
        print(error.sqlstate)
    print(job.status().phase.value)
"""


@pytest.mark.cluster
def test_a_job_whose_spark_ends_waits_for_another(beside: SparkSession, tmp_path: Path) -> None:
    statement = STATEMENTS["insert"].format(SINK)

    lines = printed(STOPPED.format(folder=str(tmp_path), statement=statement, name=NAME))

    assert lines == ["08003", "recovering"]
    with open_session(beside, tmp_path) as connection:
        status = resumed(connection)
    assert (status.phase, status.rerun) == (JobPhase.FINISHED, 0)
    assert rows(beside, SINK) == expected(beside, tmp_path, STATEMENTS["insert"])


@pytest.mark.cluster
def test_a_resumed_job_fills_the_same_table(beside: SparkSession, tmp_path: Path) -> None:
    """Neither another current database nor tables of the same name there and in the session matter, and a
    table that was altered meanwhile is refused."""
    killed_at("put", tmp_path, "insert")
    columns = "(Name STRING, k INT, n DECIMAL(10,2))"
    with open_session(beside, tmp_path) as connection:
        beside.sql(f"DROP TABLE {SINK}")
        connection.execute(f"CREATE TABLE {SINK} {columns} USING memory")
        make_table(beside, tmp_path)
        beside.sql(f"ALTER TABLE {SINK} ADD COLUMN more INT")
        with pytest.raises(sqlfront.OperationalError, match="altered or made anew") as caught:
            connection.execute(f"RESUME JOB {NAME}")
        assert caught.value.sqlstate == "40001"
        make_table(beside, tmp_path)
        beside.sql("CREATE DATABASE other")
        try:
            beside.sql("USE other")
            beside.sql(f"CREATE TABLE {SINK} {columns} USING parquet")

            assert resumed(connection).phase is JobPhase.FINISHED

            assert rows(beside, SINK) == []
            assert connection.execute(f"SELECT * FROM {SINK}").fetchall() == []
        finally:
            beside.sql("USE default")
            beside.sql("DROP DATABASE other CASCADE")
    assert rows(beside, SINK) == expected(beside, tmp_path, STATEMENTS["insert"])


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("format_name", "options"),
    [("parquet", ""), ("csv", ""), ("csv", "OPTIONS (header 'true', sep '|')"), ("json", "")],
)
def test_values_of_all_types(
    connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path, format_name: str, options: str
) -> None:
    """Odd values of each type that the format has: Spark reads the same as after its own INSERT."""
    kinds = {name: kind for name, kind in KINDS.items() if format_name != "csv" or not kind.endswith(">")}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    query = f"SELECT {', '.join(kinds)} FROM {source(beside, tmp_path)}"
    for table in ("ours", "theirs"):
        where = f"LOCATION '{tmp_path}/{table}'"
        beside.sql(f"CREATE TABLE {table} ({columns}) USING {format_name} {options} {where}")
    try:
        job = connection.session.submit_job(f"INSERT INTO ours {query}")
        beside.sql(f"INSERT INTO theirs {query}")

        assert job.wait(60).phase is JobPhase.FINISHED
        assert rows(beside, "ours") == rows(beside, "theirs")
    finally:
        beside.sql("DROP TABLE ours")
        beside.sql("DROP TABLE theirs")


def condition_of(connection: sqlfront.Connection, statement: str) -> str | None:
    """The condition of the error with which a job for the statement is refused or ends; None if it
    finishes."""
    try:
        ended = connection.session.submit_job(statement).wait(60)
    except sqlfront.Error as error:
        return error.condition
    return None if ended.error is None else ended.error.condition


#: Columns, and the values of one row for them: what store assignment casts, and what it refuses.
ASSIGNED = {
    "(k, st)": "1, named_struct('q', 1, 'z', 2)",
    "(st, K)": "named_struct('b', 1, 'a', 2), 1L",
    "(ar)": "array(named_struct('x', 1L))",
    "(AR)": "array(named_struct('x', '1'))",
    "(m)": "map(1, named_struct('x', 1))",
    "(dt)": "TIMESTAMP'2024-01-01 12:00:00'",
    "(DT)": "'2024-01-01'",
    "(k)": "1.5D",
    "(K)": "5000000000",
    "(d)": "1.005",
    "(D)": "1000",
    "": "1, null, null, null, null, null",
    "(k, K)": "1, 2",
    "(nope)": "1",
    "( k )": "true",
}


@pytest.mark.cluster
def test_casts_and_conditions_are_those_of_sparks_own_insert(
    connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path
) -> None:
    columns = (
        "K INT, st STRUCT<A: INT, b: STRING>, ar ARRAY<STRUCT<u: INT>>, m MAP<STRING, STRUCT<w: BIGINT>>,"
        " dt DATE, d DECIMAL(5, 2)"
    )
    for table in ("ours", "theirs"):
        beside.sql(f"CREATE TABLE {table} ({columns}) USING parquet LOCATION '{tmp_path}/{table}'")
    try:
        for names, values in ASSIGNED.items():
            wanted = None
            try:
                beside.sql(f"INSERT OVERWRITE theirs {names} SELECT {values}")
            except PySparkException as error:
                wanted = error.getCondition()
            assert condition_of(connection, f"INSERT OVERWRITE ours {names} SELECT {values}") == wanted, names
            assert rows(beside, "ours") == rows(beside, "theirs"), names
    finally:
        beside.sql("DROP TABLE ours")
        beside.sql("DROP TABLE theirs")


#: Tests of targets with partitions, which are refused over Spark Connect.
partitioned = pytest.mark.skipif(CONNECT, reason="Spark Connect doesn't tell the directories of partitions")

#: Columns by which a table is partitioned: types, and values.
KEYS = {
    "text": ("STRING", ["'a'", "'x y/z=%25'", "NULL", "''", "'it''s'", r"'a\\\\b'", "'é{[]}^:#?*'"]),
    "date": ("DATE", ["date'2020-02-29'", "NULL", "date'0001-01-01'"]),
    "moment": (
        "TIMESTAMP",
        ["timestamp'2024-03-10 02:30:00.123456'", "timestamp'2024-01-01 00:00:00'", "NULL"],
    ),
    "bigint": ("BIGINT", ["1", "-9223372036854775808", "NULL"]),
    "flag": ("BOOLEAN", ["true", "false", "NULL"]),
    "decimal": ("DECIMAL(5, 2)", ["1.50", "0.00", "-999.99"]),
    "double": ("DOUBLE", ["1.5D", "1e20D", "0.1D", "-0.0D"]),
}


@partitioned
@pytest.mark.cluster
@pytest.mark.parametrize("kind", ["INSERT INTO", "INSERT OVERWRITE"])
def test_partitions_are_those_of_sparks_own_insert(
    connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path, kind: str
) -> None:
    for name, (data_type, values) in KEYS.items():
        for table in ("ours", "theirs"):
            beside.sql(
                f"CREATE TABLE {table} (k INT, P {data_type}, q INT) USING parquet PARTITIONED BY (P, q)"
                f" LOCATION '{tmp_path}/{name}/{table}'"
            )
            beside.sql(f"INSERT INTO {table} SELECT -1, CAST({values[0]} AS {data_type}), 9")
            beside.sql(f"INSERT INTO {table} SELECT -1, CAST({values[0]} AS {data_type}), 0")
        try:
            made = ", ".join(f"(CAST({value} AS {data_type}))" for value in values)
            rows_of = f"SELECT r.id, v.x, r.id % 2 FROM range(20) r CROSS JOIN (VALUES {made}) v (x)"
            beside.sql(f"{kind} theirs {rows_of}")
            job = connection.session.submit_job(f"{kind} ours {rows_of}")
            assert job.wait(60).phase is JobPhase.FINISHED, job.status()
            assert rows(beside, "ours") == rows(beside, "theirs"), name
            assert shown(beside, "ours") == shown(beside, "theirs"), name
            assert list(shown(beside, "ours"))
        finally:
            beside.sql("DROP TABLE ours")
            beside.sql("DROP TABLE theirs")


def shown(spark: SparkSession, table: str) -> list[str]:
    """The registered partitions of a table, as Spark shows them."""
    return [row.partition for row in spark.sql(f"SHOW PARTITIONS {table}").collect()]


@partitioned
@pytest.mark.cluster
@pytest.mark.parametrize("step", ["placed", "written"])
@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_killed_job_leaves_no_partition_unknown(
    beside: SparkSession, tmp_path: Path, kind: str, step: str
) -> None:
    """The process that has put the files there may die before Spark knows their partitions."""
    shutil.rmtree(tmp_path / SINK)
    (tmp_path / PARTITIONED).touch()
    killed_at(step, tmp_path, kind)
    make_table(beside, tmp_path)
    before = shown(beside, SINK)

    with open_session(beside, tmp_path) as connection:
        assert resumed(connection).phase is JobPhase.FINISHED

    counts = {1428, 1429}
    assert before == []
    assert shown(beside, SINK) == [f"n={count}.00" for count in sorted(counts)]
    assert beside.table(SINK).count() == 7
    assert beside.sql(f"SELECT sum(n) FROM {SINK}").collect()[0][0] == 10_000


@partitioned
@pytest.mark.cluster
def test_partitions_elsewhere_are_refused(
    connection: sqlfront.Connection, beside: SparkSession, tmp_path: Path
) -> None:
    beside.sql("CREATE TABLE parted (k INT, p INT) USING parquet PARTITIONED BY (p)")
    insert = "CREATE JOB j AS INSERT OVERWRITE parted SELECT 1, 2"
    try:
        beside.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        with pytest.raises(sqlfront.NotSupportedError, match="partitionOverwriteMode"):
            connection.execute(insert)
        beside.conf.unset("spark.sql.sources.partitionOverwriteMode")
        beside.sql(f"ALTER TABLE parted ADD PARTITION (p = 5) LOCATION '{tmp_path}/five'")
        with pytest.raises(sqlfront.NotSupportedError, match="the partition p=5 with a LOCATION of its own"):
            connection.execute(insert)
    finally:
        beside.sql("DROP TABLE parted")


@pytest.mark.cluster
@pytest.mark.skipif(not CONNECT, reason="the other tests have partitions, without Spark Connect")
def test_partitions_over_spark_connect_are_refused(
    connection: sqlfront.Connection, beside: SparkSession
) -> None:
    beside.sql("CREATE TABLE parted (k INT, p INT) USING parquet PARTITIONED BY (p)")
    try:
        with pytest.raises(sqlfront.NotSupportedError, match="of a table's partitions, over Spark Connect"):
            connection.execute("CREATE JOB j AS INSERT INTO parted SELECT 1, 2")
        connection.execute("INSERT INTO parted SELECT 1, 2")
        assert shown(beside, "parted") == ["p=2"]
    finally:
        beside.sql("DROP TABLE parted")


#: Definitions of tables that only Spark fills, and why.
REFUSED = {
    "(k INT, d CHAR(3)) USING parquet": "the column `d` of type char\\(3\\)",
    "(k INT, d ARRAY<VARCHAR(3)>) USING parquet": "the column `d` of type array<varchar\\(3\\)>",
    "(k INT, d INT) USING orc": "a table of the format orc",
    "(k INT, d INT) USING parquet CLUSTERED BY (k) INTO 2 BUCKETS": "a table with CLUSTERED BY",
    "(k INT, d INTERVAL DAY) USING parquet": "column `d` of type interval day in Parquet files",
    "(k INT, d VARIANT) USING parquet": "column `d` has Spark's type variant",
    "(k INT, d INT) USING parquet OPTIONS (compression 'zstd')": "option compression of USING parquet",
    "(k INT, d INT) USING parquet OPTIONS (pathGlobFilter '*.x')": "the options pathGlobFilter",
    "(k INT, d INT DEFAULT 4) USING parquet": "leaves out the column `d` with a DEFAULT",
}


@pytest.mark.cluster
def test_what_only_spark_fills_is_refused_by_name(
    connection: sqlfront.Connection, beside: SparkSession
) -> None:
    for definition, words in REFUSED.items():
        beside.sql(f"CREATE TABLE refused {definition}")
        try:
            with pytest.raises(sqlfront.NotSupportedError, match=words) as caught:
                connection.execute("CREATE JOB j AS INSERT INTO refused (k) SELECT 1")
            assert "`spark_catalog`.`default`.`refused`" in str(caught.value)
        finally:
            beside.sql("DROP TABLE refused")
    assert connection.execute("SHOW JOBS").fetchall() == []
