"""What members in processes of their own have or compute is read there by Spark's tasks, and doesn't come
through this process."""

import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.config import Launcher
from sqlfront.spark import straight
from sqlfront.spark.attached import AttachedSession
from sqlfront.spark.frame import Frame
from sqlfront_connectors.memory.exchange.loads import HeldVersion
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.rows import SparkRows
from sqlfront_connectors.spark.transfer import loading
from tests.sqlfront.spark.conftest import Sessions

pytestmark = pytest.mark.spark

ROWS = 10_000


@pytest.fixture(scope="module")
def beside(spark: Sessions) -> SparkSession:
    """A Spark session with a view, ``events``."""
    session = spark.new_session()
    session.range(100).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    return session


@pytest.fixture(scope="module")
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """A session beside it with two members and a table of theirs, ``own``."""
    config = sqlfront.Config(members=2, workers=1, launcher=Launcher.LOCAL)
    with AttachedSession(beside, config) as session:
        session.execute(
            "CREATE TABLE own USING memory CLUSTERED BY (id) INTO 8 BUCKETS AS "
            f"SELECT id, id % 7 AS kind, concat('text ', id) AS text FROM range({ROWS})"
        )
        yield session


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the straight way whatever there is, though the master is a local one."""
    monkeypatch.setattr(straight, "SMALL", 0)
    monkeypatch.setattr(SparkLink, "has_executors", True)


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as plain tuples, whatever order they came in."""
    return sorted(map(tuple, rows), key=repr)


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few rows, none of them goes from this process to Spark."""
    always(monkeypatch)

    def refuse(*_: object) -> None:
        raise AssertionError("rows go through this process")

    monkeypatch.setattr(SparkRows, "frame", refuse)


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[str]:
    """The versions that members need hold no more, one after the other."""
    versions: SimpleQueue[str] = SimpleQueue()
    close = HeldVersion.close

    def note(held: HeldVersion) -> None:
        close(held)
        versions.put(held.origin.table)

    monkeypatch.setattr(HeldVersion, "close", note)
    return versions


@pytest.mark.usefixtures("nothing_here")
def test_a_table_in_a_statement_of_sparks(session: AttachedSession, beside: SparkSession) -> None:
    sample = "TABLESAMPLE (100 PERCENT) REPEATABLE (1)"
    text = f"SELECT count(*), sum(own.id), max(text) FROM own {sample} JOIN events USING (id)"
    frame = session.sql(text)
    assert frame.stats.lane == "spark"
    assert frame.collect() == [(100, 4950, "text 99")]


@pytest.mark.cluster
@pytest.mark.usefixtures("nothing_here")
def test_files_and_frames_in_a_statement_of_sparks(
    session: AttachedSession, released: SimpleQueue[str], tmp_path: Path
) -> None:
    pq.write_table(
        pa.table({"Id": range(ROWS), "twice": range(0, 2 * ROWS, 2)}), tmp_path / "numbers.parquet"
    )
    session.execute(f"CREATE TABLE numbers USING parquet LOCATION '{tmp_path}'")
    session.register("texts", pa.table({"id": [1, 2], "text": ["one", None]}))
    frame = session.sql(
        "SELECT n.*, texts.text FROM numbers TABLESAMPLE (100 PERCENT) REPEATABLE (1) AS n "
        "JOIN texts USING (id) ORDER BY id"
    )
    assert (frame.columns, frame.stats.lane) == (["Id", "twice", "text"], "spark")
    assert frame.collect() == [(1, 2, "one"), (2, 4, None)]
    session.execute("DROP TABLE numbers")
    session.unregister("texts")
    del frame
    gc.collect()
    assert [released.get(timeout=30), released.get(timeout=30)] == ["result", "result"]


@pytest.mark.usefixtures("nothing_here")
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("SELECT * FROM own", None),
        pytest.param("SELECT text AS t, id, id FROM own", None, marks=pytest.mark.cluster),
        ("SELECT kind, count(*) AS n, sum(id) AS n, min(text) FROM own GROUP BY kind", None),
        ("SELECT id + :more AS id, upper(text) FROM own WHERE id % 2 = :rest", {"more": 1, "rest": 0}),
        pytest.param(
            "SELECT own.id, other.text FROM own JOIN own AS other ON own.id = other.kind",
            None,
            marks=pytest.mark.cluster,
        ),
        pytest.param("SELECT id FROM own WHERE id < 0", None, marks=pytest.mark.cluster),
        pytest.param("SELECT * FROM range(10000)", None, marks=pytest.mark.cluster),
        ("SELECT map(id, array(id)) AS m, struct(text) AS s, NULL AS n FROM own", None),
    ],
    ids=["all", "columns", "groups", "arguments", "a join", "no rows", "no table", "nested"],
)
def test_the_rows_of_a_query(
    session: AttachedSession, text: str, arguments: dict[str, object] | None
) -> None:
    with session.sql(text, arguments) as frame:
        assert frame.stats.lane == "light"
        there = frame.to_spark()
        assert there.columns == frame.columns
        assert there.schema == frame.schema
        rows = in_order(there.collect())
        assert rows == in_order(frame.collect())
        assert rows == in_order(session.sql(text, arguments).collect())


@pytest.mark.usefixtures("nothing_here")
def test_methods_of_sparks_on_what_members_compute(session: AttachedSession) -> None:
    frame = session.sql("SELECT id, id % 10 AS digit FROM own")
    small = frame.filter("digit = 3").groupBy("digit").count()
    del frame
    gc.collect()
    assert small.collect() == [(3, ROWS // 10)]
    assert session.table("own").where("id = 7").select("text").collect() == [("text 7",)]


@pytest.mark.cluster
@pytest.mark.usefixtures("nothing_here")
def test_values_that_differ_from_run_to_run_stay_what_they_were(session: AttachedSession) -> None:
    frame = session.sql("SELECT id, rand() AS r FROM own")
    there = frame.to_spark()
    assert in_order(there.collect()) == in_order(there.collect()) == in_order(frame.collect())


@pytest.mark.cluster
@pytest.mark.usefixtures("nothing_here")
def test_the_rows_are_those_of_then(session: AttachedSession) -> None:
    session.execute("CREATE TABLE earlier USING memory AS SELECT id FROM own WHERE id < 5000")
    whole, computed = session.sql("SELECT * FROM earlier"), session.sql("SELECT id + 1 AS id FROM earlier")
    there = [whole.to_spark(), computed.to_spark()]
    session.execute("DROP TABLE earlier")
    assert in_order(there[0].collect()) == in_order((number,) for number in range(5000))
    assert in_order(there[1].collect()) == in_order((number,) for number in range(1, 5001))
    assert in_order(computed.collect()) == in_order((number,) for number in range(1, 5001))


@pytest.mark.cluster
@pytest.mark.usefixtures("nothing_here")
def test_closing_a_frame_frees_what_members_hold_for_it(
    session: AttachedSession, released: SimpleQueue[str]
) -> None:
    for text, held in (("SELECT id + 1 AS id FROM own", "result"), ("SELECT id FROM own", "own")):
        with session.sql(text) as frame:
            assert frame.to_spark().count() == ROWS
            assert released.empty()
        assert released.get_nowait() == held


@pytest.mark.cluster
@pytest.mark.usefixtures("nothing_here")
def test_a_version_is_held_for_statements_as_long_as_it_is_the_current_one(
    session: AttachedSession, released: SimpleQueue[str]
) -> None:
    session.execute("CREATE TABLE changed USING memory AS SELECT id FROM own WHERE id < 50")
    count = "SELECT count(*) FROM changed TABLESAMPLE (100 PERCENT) REPEATABLE (1)"
    for _ in range(2):
        assert session.sql(count).collect() == [(50,)]
    gc.collect()
    assert released.empty()
    session.execute("INSERT INTO changed SELECT id FROM own WHERE id < 5")
    gc.collect()
    assert released.get(timeout=30) == "changed"
    assert session.sql(count).collect() == [(55,)]
    session.execute("DROP TABLE changed")
    gc.collect()
    assert released.get(timeout=30) == "changed"


def test_what_was_read_is_what_spark_gets(session: AttachedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    frame = session.sql("SELECT id, rand() AS r FROM own")
    first = frame.first()
    assert first is not None
    with patch.object(loading, "spread_frame") as spread:
        assert in_order(frame.to_spark().where(f"id = {first[0]}").collect()) == [tuple(first)]
    assert not spread.called


def test_an_order_is_kept(session: AttachedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    frame: Frame = session.sql("SELECT id FROM own ORDER BY id DESC")
    assert [row.id for row in frame.to_spark().take(3)] == [ROWS - 1, ROWS - 2, ROWS - 3]


@pytest.mark.parametrize("why", ["few rows", "a local master"])
def test_what_comes_through_this_process(
    session: AttachedSession, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "few rows":
        monkeypatch.setattr(SparkLink, "has_executors", True)
    else:
        monkeypatch.setattr(straight, "SMALL", 0)
    with patch.object(loading, "spread_frame") as spread:
        assert session.sql("SELECT * FROM own").to_spark().count() == ROWS
    assert not spread.called
