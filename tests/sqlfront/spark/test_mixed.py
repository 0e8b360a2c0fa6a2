"""Queries over tables of both sides: what Spark is asked for, and that the answers are Spark's."""

import json
import time
from collections.abc import Iterator
from typing import Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.session import Session
from sqlfront.spark import mixed
from sqlfront.spark.attached import AttachedSession
from sqlfront_values.errors import DataError, OperationalError
from tests.connectors.spark.conftest import jvm_context
from tests.oracle.answers import difference
from tests.oracle.subject import answer
from tests.sampling import sampled
from tests.sqlfront.spark.conftest import Sessions
from tests.tpch.answers import NAMES, expected, is_ordered, query
from tests.tpch.data import TABLES, tpch_folder

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def beside(spark: Sessions) -> SparkSession:
    """A Spark session with one view, ``events``."""
    session = spark.new_session()
    session.sql(
        "CREATE TEMP VIEW events AS SELECT id, id % 7 AS kind, CAST(id AS DECIMAL(10, 2)) / 4 AS price, "
        "concat('it''s ', id) AS name, timestamp_micros(id) AS at, array(id) AS ids FROM range(100)"
    )
    return session


@pytest.fixture(scope="module")
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """A session beside it with a table of its own, ``kinds``, which Spark has by another name, too."""
    with AttachedSession(beside) as session:
        session.execute(
            "CREATE TABLE kinds USING memory CLUSTERED BY (kind) INTO 8 BUCKETS AS "
            "SELECT id AS kind, concat('k', id) AS label, id * 1.5D AS weight FROM range(0, 7)"
        )
        yield session


def parts(session: Session, text: str) -> tuple[str, ...]:
    """The texts that Spark gets for a query's parts, as EXPLAIN shows them."""
    plan = str(session.execute(f"EXPLAIN {text}").collect()[0][0])
    return tuple(sorted({line.split("Scan: ")[1] for line in plan.splitlines() if "Scan: SELECT" in line}))


#: Queries, and what Spark is asked for.
QUERIES: Final = {
    "SELECT label, id FROM events JOIN kinds USING (kind) WHERE id < 50 AND name > 'it''s 4'": (
        (
            "SELECT `id` AS c0, `kind` AS c1 FROM `events` WHERE (`id` < 50L) AND "
            "(`name` > CAST(X'697427732034' AS STRING))"
        ),
    ),
    "SELECT label, count(*), max(price), min(name) FROM events JOIN kinds USING (kind) GROUP BY label": (
        (
            "SELECT `kind` AS c0, count(*) AS c1, max(`price`) AS c2, min(`name`) AS c3 FROM `events` "
            "GROUP BY `kind`"
        ),
    ),
    "SELECT label FROM kinds WHERE kind IN (SELECT kind FROM events WHERE price > 20.5)": (
        "SELECT `kind` AS c0 FROM `events` WHERE (`price` > CAST('20.500000' AS DECIMAL(14,6)))",
    ),
    "SELECT label, (SELECT max(price) FROM events WHERE kind = k.kind AND id < 9 + 1) AS p FROM kinds k": (
        "SELECT `kind` AS c0, max(`price`) AS c1 FROM `events` WHERE (`id` < 10L) GROUP BY `kind`",
    ),
    "SELECT label FROM kinds LEFT JOIN (SELECT kind k, max(id) AS most FROM events GROUP BY kind "
    "HAVING max(id) > 95) ON k = kind": (
        "SELECT `kind` AS c0 FROM `events` GROUP BY `kind` HAVING (max(`id`) > 95L)",
    ),
    "SELECT label, n, t FROM (SELECT n, count(*) AS t FROM (SELECT 9 AS n, id FROM events) GROUP BY n) "
    "JOIN kinds ON t > weight": (
        "SELECT CAST(9 AS INT) AS c0, count(*) AS c1 FROM `events` GROUP BY CAST(9 AS INT)",
    ),
    "SELECT kind, weight FROM kinds EXCEPT SELECT kind, CAST(id AS DOUBLE) FROM events": (
        "SELECT `kind` AS c0, CAST(`id` AS DOUBLE) AS c1 FROM `events`",
    ),
    "WITH e AS (SELECT kind, avg(id) AS mean FROM events GROUP BY kind) "
    "SELECT a.mean, b.mean, label FROM e a JOIN e b ON a.kind + 1 = b.kind JOIN kinds k ON k.kind = a.kind": (
        "SELECT `kind` AS c0, avg(`id`) AS c1 FROM `events` GROUP BY `kind`",
    ),
    "SELECT ids, label, at FROM events JOIN kinds ON id = kinds.kind WHERE weight * 2 > 3": (
        "SELECT `id` AS c0, `at` AS c1, `ids` AS c2 FROM `events`",
    ),
}


@pytest.mark.parametrize("text", sampled(QUERIES, 3))
def test_spark_runs_a_part(session: AttachedSession, beside: SparkSession, text: str) -> None:
    found = session.execute(text)
    assert found.stats.lane == "mixed"
    assert found.stats.reason == "Spark filters, projects and groups `events`"
    session.execute("SET sqlfront.lane = spark")
    try:
        theirs = session.execute(text)
    finally:
        session.execute("SET sqlfront.lane = auto")
    assert theirs.stats.lane == "spark"
    assert found.schema == theirs.schema
    assert sorted(map(str, found.collect())) == sorted(map(str, theirs.collect()))
    assert parts(session, text) == QUERIES[text]


@pytest.mark.cluster
def test_rows_of_a_view_that_differ_each_time_are_read_once(
    session: AttachedSession, beside: SparkSession
) -> None:
    beside.sql("CREATE OR REPLACE TEMP VIEW dice AS SELECT id, rand() AS x FROM range(1000)")
    text = (
        "WITH thrown AS (SELECT id, x FROM dice WHERE id < 500) SELECT count(*) FROM thrown a "
        "JOIN thrown b ON a.id = b.id JOIN kinds ON kind = a.id % 7 WHERE a.x < 0.5 AND b.x >= 0.5"
    )
    found = session.execute(text)
    assert (found.collect(), found.stats.lane) == ([(0,)], "mixed")
    assert beside.sql(text.replace("JOIN kinds", "JOIN (SELECT id AS kind FROM range(7))")).collect() == [
        (0,)
    ]


def test_what_needs_no_row_of_sparks(session: AttachedSession) -> None:
    found = session.execute("SELECT label FROM kinds JOIN events USING (kind) WHERE 1 > 2")
    assert (found.collect(), found.stats.lane) == ([], "mixed")
    assert found.stats.reason == "the query needs no row of Spark's"


def test_parameters_are_values_of_the_part(session: AttachedSession) -> None:
    text = "SELECT label, price FROM events JOIN kinds USING (kind) WHERE id = :id"
    assert session.sql(text, {"id": 9}).collect() == [("k2", 2.25)]
    assert session.sql(text, {"id": 16}).collect() == [("k2", 4)]


@pytest.mark.cluster
def test_what_would_be_much_is_left_to_spark(
    session: AttachedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT label, name FROM events JOIN kinds USING (kind) WHERE id < 90"
    monkeypatch.setattr(mixed, "MOST_MOVED", 400)
    found = session.execute(text)
    assert (found.stats.lane, len(found.collect())) == ("spark", 90)
    assert found.stats.reason.startswith("Spark would send about")
    monkeypatch.setattr(mixed.MixedQuery, "check", lambda query: None)  # as if it had been estimated as less
    found = session.execute(text)
    assert (found.stats.lane, len(found.collect())) == ("spark", 90)
    assert found.stats.reason.startswith("Spark would send more than")


def test_a_copy_is_read_beside_the_rest(session: AttachedSession, beside: SparkSession) -> None:
    beside.range(1000).selectExpr("id", "id % 10 AS digit").createOrReplaceTempView("digits")
    text = "SELECT count(*) FROM digits JOIN events USING (id) WHERE digit = 3"
    assert session.execute(text).stats.lane == "spark"
    session.execute("CACHE TABLE digits CLUSTERED BY (id)")
    found = session.execute(text)
    assert (found.collect(), found.stats.lane) == ([(10,)], "mixed")


def test_errors_in_a_part_are_the_querys(session: AttachedSession) -> None:
    with pytest.raises(DataError) as found:
        session.execute("SELECT label FROM kinds JOIN events USING (kind) WHERE 1 / (id - 5) > 0").collect()
    assert found.value.condition == "DIVIDE_BY_ZERO"
    with pytest.raises(sqlfront.ProgrammingError) as missing:
        session.execute("SELECT label FROM kinds JOIN events USING (kind) WHERE nothing > 0")
    assert missing.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


@pytest.mark.cluster
def test_rows_that_find_no_partner_do_no_harm(session: AttachedSession) -> None:
    text = (
        "SELECT label, sum(1 DIV (events.kind - 6)) AS s FROM events JOIN kinds ON events.kind = kinds.kind "
        "WHERE label < 'k2' GROUP BY label"
    )
    rows = [("k0", 0), ("k1", 0)]
    (plan,) = session.execute(f"EXPLAIN {text}").collect()
    assert "sum((1L div (`kind` - 6L)))" in str(plan)  # of all rows
    assert sorted(session.execute(text).collect()) == rows
    session.execute(f"CREATE TABLE sums USING memory AS {text}")
    assert sorted(session.execute("SELECT * FROM sums").collect()) == rows


@pytest.mark.cluster
def test_a_timeout_ends_the_part(
    session: AttachedSession, beside: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside.sql("CREATE OR REPLACE TEMP VIEW many AS SELECT id, id % 7 AS kind FROM range(1000000000000)")
    monkeypatch.setattr(mixed, "MOST_MOVED", 1 << 60)
    text = "SELECT label FROM kinds JOIN many USING (kind) WHERE sin(id) > 2"
    with pytest.raises(OperationalError, match="timeout of 1 s"):
        session.execute(text, timeout=1).collect()
    tracker = jvm_context().statusTracker()
    until = time.monotonic() + 0.5
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.01)
    assert not tracker.getActiveJobsIds()


def test_own_tables_take_rows_of_sparks(session: AttachedSession) -> None:
    session.execute(
        "CREATE TABLE late USING memory AS SELECT id, label FROM events JOIN kinds USING (kind) WHERE id > 97"
    )
    session.execute("INSERT INTO late SELECT id, name FROM events WHERE id = 3")
    found = session.execute("SELECT * FROM late ORDER BY id")
    assert (found.collect(), found.stats.lane) == ([(3, "it's 3"), (98, "k0"), (99, "k1")], "light")


@pytest.mark.cluster
@pytest.mark.parametrize("theirs", ["lineitem", "orders", "nation"])
def test_tpch_with_one_table_in_spark(spark: Sessions, theirs: str) -> None:
    beside = spark.new_session()
    with sqlfront.connect(spark=beside) as connection:
        for table in TABLES:
            path = tpch_folder() / f"{table}.parquet"
            if table == theirs:
                beside.read.parquet(str(path)).createOrReplaceTempView(table)
            else:
                connection.session.register(table, pq.read_table(path))
        for name in NAMES:
            found = answer(connection, query(name))
            differs = difference(expected(name), found, ordered=is_ordered(name))
            assert differs is None, (name, differs)
            words = query(name).lower()
            lane = connection.session.execute(query(name)).stats.lane
            assert (lane == "light") == (theirs not in words), (name, lane)


def test_the_time_of_explain_analyze_includes_sparks(session: AttachedSession) -> None:
    text = "SELECT label, count(*) FROM events JOIN kinds USING (kind) GROUP BY label"
    began = time.perf_counter()
    found = session.execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").collect()
    seconds = time.perf_counter() - began
    job = json.loads(str(found[0][0]))["job"]
    by_spark = [scan["spark_seconds"] for scan in job["scans"] if scan["spark_seconds"] is not None]

    assert len(by_spark) == 1
    assert 0.005 < by_spark[0] < job["seconds"] < seconds
    (shown,) = session.execute(f"EXPLAIN ANALYZE {text}").collect()
    assert "GROUP BY `kind`: computed by Spark in " in str(shown[0])
