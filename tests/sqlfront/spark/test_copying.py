"""Advice about copies of Spark's relations, and copies that sqlfront makes by itself."""

import random
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from sqlfront.config import Config
from sqlfront.spark.attached import AttachedSession
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import OperationalError
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark

QUERY = "SELECT kind, count(*) AS n FROM events GROUP BY kind"


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    """A Spark session with one view, ``events``."""
    session = spark.new_session()
    session.range(100).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    return session


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    with AttachedSession(beside) as session:
        yield session


def explained(session: AttachedSession) -> str:
    return "\n".join(str(line) for (line,) in session.execute(f"EXPLAIN {QUERY}").collect())


def reason(session: AttachedSession, text: str = QUERY) -> str:
    result = session.execute(text)
    result.collect()
    assert result.stats.lane == "spark"
    return result.stats.reason


def lane(session: AttachedSession, text: str = QUERY) -> str:
    result = session.execute(text)
    result.collect()
    return result.stats.lane


def copies(session: AttachedSession) -> set[str]:
    return {entry.name for entry in session.context.catalog.entries() if isinstance(entry, TableEntry)}


def test_the_second_reading_says_what_a_copy_would_cost(session: AttachedSession) -> None:
    assert "CACHE TABLE" not in reason(session)
    again = reason(session, "SELECT max(id) FROM events")
    assert again.endswith(
        "; CACHE TABLE events would make it light: about 1.2 KiB, less than 1% of the free memory"
    )
    assert again.startswith(reason(session, "SELECT id FROM events").partition(";")[0])

    session.execute("CACHE TABLE events")
    assert lane(session) == "light"


@pytest.mark.doors
def test_advice_names_each_relation(session: AttachedSession, beside: SparkSession) -> None:
    beside.sql("CREATE TEMP VIEW `odd name` AS SELECT id FROM range(7)")
    text = "WITH few AS (SELECT * FROM events) SELECT count(*) FROM few JOIN `odd name` o ON few.kind = o.id"
    reason(session, text)

    assert "CACHE TABLE `odd name` and CACHE TABLE events would make it light" in reason(session, text)


@pytest.mark.doors
def test_explain_shows_the_advice_and_counts_nothing(session: AttachedSession) -> None:
    for _ in range(3):
        assert "CACHE TABLE" not in explained(session)
    reason(session)
    reason(session)
    assert "CACHE TABLE events would make it light" in explained(session)


@pytest.mark.doors
def test_nothing_is_advised_that_would_not_help(session: AttachedSession, beside: SparkSession) -> None:
    covered_by_spark = "SELECT count(*) FROM events GROUP BY kind WITH CUBE"
    too_large = "SELECT count(*) FROM huge"
    beside.range(10**13).createOrReplaceTempView("huge")
    assert session.context.memory < 8 * 10**13
    for _ in range(3):
        assert "CACHE TABLE" not in session.execute(too_large).stats.reason
    session.execute("SET sqlfront.lane = spark")
    for _ in range(3):
        assert "CACHE TABLE" not in reason(session)
    assert covered_by_spark


def test_what_was_read_often_is_copied(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("SET sqlfront.autocache = 3")
    expected = sorted(map(tuple, beside.sql(QUERY).collect()))

    lanes = []
    for _ in range(5):
        result = session.execute(QUERY)
        assert sorted(result.collect()) == expected
        lanes.append(str(result.stats.lane))
    assert lanes == ["spark", "spark", "light", "light", "light"]
    assert copies(session) == {"events"}

    beside.range(10).selectExpr("id", "id AS kind").createOrReplaceTempView("events")
    assert lane(session) == "spark"
    assert sorted(session.execute(QUERY).collect()) == [(kind, 1) for kind in range(10)]


def test_explain_leaves_a_due_copy_due(session: AttachedSession) -> None:
    for _ in range(2):
        assert lane(session) == "spark"
    session.execute("SET sqlfront.autocache = 2")
    session.execute(f"EXPLAIN {QUERY}").collect()

    assert copies(session) == set()
    assert lane(session) == "light"


@pytest.mark.doors
def test_a_first_reading_may_be_enough(session: AttachedSession) -> None:
    session.execute("SET sqlfront.autocache = 1")
    assert lane(session) == "light"
    assert session.conf.get("sqlfront.autocache") == "1"
    session.execute("UNCACHE TABLE events")
    session.execute("SET sqlfront.autocache = 0")
    assert lane(session) == "spark"


@pytest.mark.doors
def test_copies_that_are_gone_are_forgotten(session: AttachedSession) -> None:
    session.execute("SET sqlfront.autocache = 1")
    for _ in range(3):
        assert lane(session) == "light"
        session.execute("UNCACHE TABLE events")
    assert session.spark is not None
    assert len(session.spark._copier._copies._made) == 1


@pytest.mark.doors
@pytest.mark.parametrize("changing", ["rand()", "current_timestamp()", "uuid()", "now()"])
def test_rows_that_change_by_themselves_are_not_copied(
    session: AttachedSession, beside: SparkSession, changing: str
) -> None:
    beside.sql(f"SELECT {changing} AS now FROM range(3)").createOrReplaceTempView("moving")
    session.execute("SET sqlfront.autocache = 1")

    for _ in range(3):
        assert lane(session, "SELECT now FROM moving") == "spark"
    assert copies(session) == set()


def test_short_memory_takes_the_oldest_automatic_copy(beside: SparkSession) -> None:
    for name in ("first", "second"):
        beside.range(1_000_000).createOrReplaceTempView(name)
    with AttachedSession(beside, Config(memory_limit=48 * 2**20)) as session:
        session.execute("SET sqlfront.autocache = 1")
        for name in ("first", "second"):
            assert lane(session, f"SELECT count(*) FROM {name} WHERE id < 9") == "light"
        assert copies(session) == {"first", "second"}

        session.execute("CREATE TABLE own USING memory AS SELECT id FROM range(4400000)")

        assert "first" not in copies(session)
        assert session.execute("SELECT count(*) FROM first").collect() == [(1_000_000,)]


def write(rng: random.Random, beside: SparkSession, session: AttachedSession) -> None:
    """Change the table ``t`` or the view ``v`` over it, by one of both sides."""
    match rng.randrange(6):
        case 0:
            beside.sql(f"INSERT INTO t SELECT id + {rng.randrange(100)} FROM range({rng.randrange(1, 9)})")
        case 1:
            session.sql(f"INSERT INTO t VALUES ({rng.randrange(100)})").collect()
        case 2:
            beside.sql(f"INSERT OVERWRITE t SELECT id FROM range({rng.randrange(1, 99)})")
        case 3:
            beside.range(rng.randrange(9)).write.mode("append").insertInto("t")
        case 4:
            beside.sql(f"CREATE OR REPLACE TEMP VIEW v AS SELECT id FROM t WHERE id > {rng.randrange(99)}")
        case _:
            beside.sql("TRUNCATE TABLE t")


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.doors), pytest.param(2, marks=pytest.mark.doors)]
)
def test_copies_are_never_stale(beside: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    queries = [
        "SELECT count(*), sum(id) FROM t",
        "SELECT max(id) FROM t WHERE id % 2 = 0",
        "SELECT count(*) FROM v",
    ]
    beside.sql("DROP TABLE IF EXISTS t")
    beside.sql("CREATE TABLE t (id BIGINT) USING parquet")
    beside.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT id FROM t WHERE id > 50")
    light = 0
    with AttachedSession(beside) as session:
        session.execute("SET sqlfront.autocache = 2")
        for _ in range(30):
            if rng.random() < 0.3:
                write(rng, beside, session)
            text = rng.choice(queries)
            answer = session.execute(text)
            assert [*map(tuple, answer.collect())] == [*map(tuple, beside.sql(text).collect())], text
            light += answer.stats.lane != "spark"
    beside.sql("DROP TABLE t")
    assert light > 3


@pytest.mark.doors
def test_a_memory_table_that_is_too_large_says_so(beside: SparkSession) -> None:
    with AttachedSession(beside, Config(memory_limit=2**20)) as session:
        with pytest.raises(OperationalError, match="memory"):
            session.execute("CREATE TABLE large USING memory AS SELECT id FROM range(4400000)")


@pytest.mark.doors  # a change by another session of the process begins the advice anew
def test_a_new_text_over_the_same_relations_is_not_asked_about_again(session: AttachedSession) -> None:
    texts = [f"SELECT max(id) FROM events WHERE kind = {kind}" for kind in range(5)]
    advised = ["CACHE TABLE" in reason(session, text) for text in texts]
    again = ["CACHE TABLE" in reason(session, text) for text in texts]

    assert advised == [False, True, False, False, False]
    assert again == [True] * 5
