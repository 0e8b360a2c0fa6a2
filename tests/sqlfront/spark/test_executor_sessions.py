"""A session whose members live on Spark's executors: its tables, and what an executor's end does to them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.config import Config, Launcher
from sqlfront.session import Session
from sqlfront.spark.attached import AttachedSession
from sqlfront_connectors.spark.rows import SparkRows
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.connectors.spark import executors
from tests.connectors.spark.executors import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with executors.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[Session]:
    with sqlfront.connect(spark=spark, launcher="spark", workers=1, memory_limit=1 << 28) as connection:
        yield connection.session


def test_tables_are_spread_over_the_executors(session: Session) -> None:
    session.sql(
        "CREATE TABLE orders USING memory CLUSTERED BY (k) INTO 271 BUCKETS"
        " AS SELECT id AS k, id % 7 AS g, id * 2 AS v FROM range(20000)"
    )
    owners = session.sql("SELECT count(DISTINCT member) FROM sys.partitions").collect()
    assert owners == [(3,)]
    assert session.sql("SELECT v FROM orders WHERE k = 4711").collect() == [(9422,)]
    groups = session.sql("SELECT g, count(*), sum(v) FROM orders GROUP BY g ORDER BY g").collect()
    assert [tuple(row) for row in groups] == [
        (g, len(range(g, 20000, 7)), 2 * sum(range(g, 20000, 7))) for g in range(7)
    ]
    joined = "SELECT count(*) FROM orders a JOIN orders b ON a.g = b.k"
    assert session.sql(joined).collect() == [(20000,)]


def test_rows_go_from_executors_to_executors(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("rows go through the driver")

    monkeypatch.setattr(SparkRows, "frame", refuse)
    assert isinstance(session, AttachedSession)
    session.execute("CREATE TABLE large USING memory AS SELECT id AS k, id % 7 AS g FROM range(4000000)")
    frame = session.sql("SELECT count(*), sum(k) FROM large TABLESAMPLE (100 PERCENT) REPEATABLE (1)")
    assert frame.stats.lane == "spark"
    assert frame.collect() == [(4_000_000, sum(range(4_000_000)))]
    for text in ("SELECT * FROM large", "SELECT k + 1 AS k, g FROM large"):
        with session.sql(text) as frame:
            assert frame.stats.lane == "light"
            assert frame.groupBy("g").count().where("g = 3").collect()[0][1] == len(range(3, 4_000_000, 7))
    session.execute("DROP TABLE large")


def test_a_copy_is_loaded_again_when_an_executor_was_killed(
    spark: SparkSession, session: Session, tmp_path: Path
) -> None:
    pyarrow.parquet.write_table(pa.table({"k": range(5000)}), tmp_path / "numbers.parquet")
    session.sql(f"CREATE TABLE numbers USING parquet LOCATION '{tmp_path}'")
    session.sql("CACHE TABLE numbers")
    session.sql("CREATE TABLE own USING memory AS SELECT 1 AS a")
    query = "SELECT count(*), sum(k) FROM numbers"
    assert session.sql(query).collect() == [(5000, sum(range(5000)))]
    assert session.cluster is not None
    lost = set(session.cluster.member_list.data_members)

    os.kill(next(iter(executors.executors().values())), signal.SIGKILL)
    until(lambda: not lost & set(answered(session, "SELECT DISTINCT member FROM sys.partitions")))
    until(lambda: answered(session, query) == [5000])
    with pytest.raises(OperationalError, match="`own`"):
        session.sql("SELECT * FROM own").collect()


def answered(session: Session, query: str) -> list[object]:
    """The first column of the answer, empty while there is none."""
    try:
        return [row[0] for row in session.sql(query).collect()]
    except OperationalError:
        return []


def test_members_may_have_a_resource_profile(spark: SparkSession) -> None:
    whole = ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build
    with pytest.raises(
        OperationalError, match=r"3 members need 3 executors with 7 slots .* there are 3 with 6"
    ):
        sqlfront.connect(spark=spark, launcher="spark", resource_profile=whole)
    with pytest.raises(ProgrammingError, match="launcher='spark'"):
        sqlfront.connect(spark=spark, resource_profile=whole)


def test_members_on_executors_need_a_spark_session() -> None:
    with pytest.raises(ProgrammingError, match="need a Spark session"):
        Session(Config(launcher=Launcher.SPARK))
