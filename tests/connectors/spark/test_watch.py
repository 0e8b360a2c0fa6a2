"""Changes of tables and views through this process are noticed, reading is not."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakSet

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.sessions import watch
from sqlfront_connectors.spark.sessions.watch import Watcher, may_change
from tests.connectors.spark.conftest import CONNECT


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  -- insert\n\t(Select 1)",
        "/* a\n b */VALUES (1)",
        "with a as (select 1) select * from a",
        "FROM t |> WHERE a > 1",
        "show tables",
        "EXPLAIN INSERT INTO t VALUES (1)",
        "describe t",
    ],
)
def test_a_text_that_only_reads(text: str) -> None:
    assert not may_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "insert into t values (1)",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "FROM t INSERT INTO u SELECT *",
        "/**/ -- x\ncreate temp view v as select 1",
        "CACHE TABLE v AS SELECT 1",
        "USE other",
        "refresh table t",
        "BEGIN INSERT INTO t VALUES (1); END",
        "",
    ],
)
def test_a_text_that_may_change_something(text: str) -> None:
    assert may_change(text)


class Session:
    """What stands for PySpark's."""

    def sql(self, text: str) -> str:
        return text


def test_what_others_put_around_a_method_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_CLASSIC", ((__name__, "Session", "sql"),))
    monkeypatch.setattr(watch, "_watchers", WeakSet())
    monkeypatch.setattr(watch, "_hooks", {})
    calls: list[str] = []
    original = Session.sql
    watcher = Watcher(lambda: calls.append("we"))
    telling = Session.sql

    def theirs(self: Session, text: str) -> str:
        calls.append("they")
        return telling(self, text)

    monkeypatch.setattr(Session, "sql", theirs)
    assert Session().sql("USE other") == "USE other"
    assert calls == ["they", "we"]
    watcher.close()
    assert Session().sql("USE other") == "USE other"
    assert calls == ["they", "we", "they"]
    monkeypatch.setattr(Session, "sql", original)
    Watcher(lambda: None).close()
    assert Session.sql is original


class Slow(WeakSet[Watcher]):
    """Who goes through it takes a while."""

    def __iter__(self) -> Iterator[Watcher]:
        for each in super().__iter__():
            time.sleep(0.02)
            yield each


def test_a_session_may_begin_while_a_change_in_another_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_CLASSIC", ())
    monkeypatch.setattr(watch, "_watchers", Slow())
    calls: list[None] = []
    watchers = [Watcher(lambda: calls.append(None)) for _ in range(3)]
    beginning = threading.Timer(0.03, lambda: watchers.append(Watcher(lambda: None)))
    beginning.start()

    watch.tell()
    beginning.join()

    assert len(calls) == 3
    assert len(watchers) == 4


def test_a_session_may_be_forgotten_by_a_finalizer_while_another_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_CLASSIC", ((__name__, "Session", ""),))
    monkeypatch.setattr(watch, "_watchers", WeakSet())
    forgotten = Watcher(lambda: None)
    monkeypatch.setattr(watch, "_hook", lambda *_: forgotten.close())
    beginning = threading.Thread(target=Watcher, args=(lambda: None,), daemon=True)
    beginning.start()
    beginning.join(10)

    assert not beginning.is_alive()


@pytest.fixture
def told(link: SparkLink) -> Iterator[list[None]]:
    """Grows by one with every call back."""
    calls: list[None] = []
    other = SparkLink(link.spark)
    other.watch(lambda: calls.append(None))
    yield calls
    other.close()


@pytest.mark.spark
def test_changes_are_told(link: SparkLink, told: list[None], tmp_path: Path) -> None:
    spark = link.spark
    frame = spark.range(3)
    changes: list[Callable[[], object]] = [
        lambda: spark.sql("CREATE TABLE watched (id BIGINT) USING parquet"),
        lambda: link.run("INSERT INTO watched VALUES (1)").schema,
        lambda: frame.write.insertInto("watched"),
        lambda: frame.write.mode("append").saveAsTable("watched"),
        lambda: frame.write.parquet(str(tmp_path / "files")),
        lambda: spark.catalog.refreshByPath(str(tmp_path / "files")),
        lambda: spark.catalog.refreshTable("watched"),
        lambda: frame.createOrReplaceTempView("watched_view"),
        lambda: frame.select(sf.col("id")).createOrReplaceTempView("watched_view"),
        lambda: spark.catalog.dropTempView("watched_view"),
        lambda: (spark if CONNECT else spark.newSession()).sql("TRUNCATE TABLE watched"),
        lambda: spark.sql("DROP TABLE watched"),
    ]
    for change in changes:
        before = len(told)
        change()
        assert len(told) > before


@pytest.mark.spark
def test_reading_isn_t_told_nor_what_the_link_does_for_itself(link: SparkLink, told: list[None]) -> None:
    held = link.frame(pa.schema([("a", pa.int64())]), [])
    rows = link._rows
    rows.large, large = -1, rows.large
    try:
        run = link.run("SELECT * FROM ours, range(3)", views={"ours": held.data})
        assert sum(batch.num_rows for batch in run.batches()) == 0
    finally:
        rows.large = large
    link.spark.sql("SELECT 1").collect()
    assert link.whole_name(["nothing"]) is None
    assert link.spark.catalog.tableExists("nothing") is False

    assert told == []


@pytest.mark.spark
def test_a_link_that_is_forgotten_or_closed_isn_t_told(link: SparkLink) -> None:
    calls: list[None] = []
    forgotten, closed = SparkLink(link.spark), SparkLink(link.spark)
    for other in (forgotten, closed):
        other.watch(lambda: calls.append(None))
    closed.close()
    del forgotten, other
    gc.collect()

    link.spark.range(1).createOrReplaceTempView("unseen")
    link.spark.catalog.dropTempView("unseen")

    assert calls == []
