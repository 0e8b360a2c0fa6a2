"""Readers, writers and copies of tables that are dropped, replaced or changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront.commands import copies
from sqlfront.commands.copies import refresh_copies
from sqlfront.commands.run import StatementRun
from sqlfront_connectors.base import Table, WritableTable, insert_all
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.statements.query_parser import parse_query


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        yield connection


@pytest.fixture
def spread() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=3, workers=3) as connection:
        yield connection


def table_of(connection: sqlfront.Connection, name: str) -> WritableTable:
    return table_of_entry(connection.session.context.catalog.lookup((name,)))


def table_of_entry(entry: Entry | None) -> WritableTable:
    assert isinstance(entry, TableEntry) and isinstance(entry.table, WritableTable)
    return entry.table


@pytest.mark.parametrize(
    "statement", ["CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(7)", "DROP TABLE t"]
)
def test_who_has_looked_a_name_up_finds_the_rows(connection: sqlfront.Connection, statement: str) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(5)")
    found = table_of(connection, "t")
    connection.execute(statement)

    assert found.snapshot().statistics.rows == 5


def test_uncaching_leaves_its_readers_the_rows(connection: sqlfront.Connection) -> None:
    connection.execute("CACHE TABLE t AS SELECT id FROM range(5)")
    found = table_of(connection, "t")
    connection.execute("UNCACHE TABLE t")

    assert found.snapshot().statistics.rows == 5


def test_a_copy_has_no_two_columns_of_one_name(connection: sqlfront.Connection) -> None:
    with pytest.raises(sqlfront.ProgrammingError) as error:
        connection.execute("CACHE TABLE t AS SELECT 1 AS a, 2 AS A")
    assert error.value.condition == "COLUMN_ALREADY_EXISTS"
    with pytest.raises(sqlfront.ProgrammingError, match="cannot be found"):
        connection.execute("SELECT * FROM t")


def test_a_name_is_one_table_in_the_whole_query(connection: sqlfront.Connection) -> None:
    class Replaced:
        """A table that is replaced as soon as a query has begun to read it."""

        def __init__(self, table: Table) -> None:
            self._table = table

        def __getattr__(self, name: str) -> object:
            return getattr(self._table, name)

        def snapshot(self) -> object:
            connection.execute("CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(100)")
            return self._table.snapshot()

    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    entry = TableEntry("t", Replaced(table_of(connection, "t")))  # type: ignore[arg-type]
    connection.session.context.catalog.add(entry, replace=True)

    assert connection.execute("SELECT count(*) FROM t a CROSS JOIN t b").fetchall() == [(9,)]
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(100,)]


def ask(connection: sqlfront.Connection, sql: str) -> list[tuple[object, ...]]:
    return connection.execute(sql).fetchall()


@pytest.fixture
def cached(connection: sqlfront.Connection) -> sqlfront.Connection:
    """With a table ``t`` of 0 to 2, a cached view ``c`` of what it has, and one over that, ``d``."""
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    connection.execute("CACHE TABLE c AS SELECT 6 div (id - 10) AS x FROM t")
    connection.execute("CACHE TABLE d AS SELECT count(*) AS n FROM c")
    return connection


def test_copies_of_copies_follow_an_insert(cached: sqlfront.Connection) -> None:
    cached.execute("INSERT INTO t VALUES (3)")
    assert ask(cached, "SELECT n FROM d") == [(4,)]


def test_an_insert_succeeds_though_a_copy_cannot_follow(cached: sqlfront.Connection) -> None:
    cached.execute("INSERT INTO t VALUES (10)")

    assert ask(cached, "SELECT count(*) FROM t") == [(4,)]
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        ask(cached, "SELECT x FROM c")
    cached.execute("DELETE FROM t WHERE id = 10")
    assert ask(cached, "SELECT n FROM d") == [(3,)]


def test_copies_go_with_a_table_that_is_dropped(cached: sqlfront.Connection) -> None:
    cached.execute("CREATE TABLE other USING memory AS SELECT 1 AS a")
    cached.execute("DROP TABLE t")

    for name in ("c", "d"):
        with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            ask(cached, f"SELECT * FROM {name}")
    cached.execute("INSERT INTO other VALUES (2)")


def test_a_replaced_tables_rows_are_seen_through_views(cached: sqlfront.Connection) -> None:
    cached.execute("CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(5)")
    assert ask(cached, "SELECT n FROM d") == [(5,)]


def test_a_write_behind_the_copy_is_seen(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    found = connection.session.context.catalog.lookup(("t",))
    assert found is not None
    connection.execute("CACHE TABLE t")
    # As a session does that has looked the table up just before it was cached.
    run = StatementRun(connection.session.context)
    insert_all(table_of_entry(found), run.rows(run.bind(parse_query("SELECT 7L AS id"))))
    refresh_copies(run, table_of_entry(found))

    assert ask(connection, "SELECT max(id) FROM t") == [(7,)]


def cache_that_writes_by(
    write: Refusing, connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cache a table ``t``, whose copy takes rows by ``write``."""
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    connection.execute("CACHE TABLE t")
    copy = connection.session.context.catalog.lookup(("t",)).table.copy  # type: ignore[union-attr]
    monkeypatch.setattr(copy, "begin_insert", lambda **_: write)


def test_rows_that_only_the_origin_took_are_seen(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_that_writes_by(Refusing(), connection, monkeypatch)
    assert connection.execute("INSERT INTO t VALUES (3)").rowcount == 1
    assert ask(connection, "SELECT count(*) FROM t") == [(4,)]


def test_a_view_means_the_same_whatever_is_temporary(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    connection.execute("CREATE VIEW v AS SELECT count(*) AS n FROM t")
    connection.execute("CREATE TEMP VIEW t AS SELECT 1 AS id")

    assert ask(connection, "SELECT n FROM v") == [(3,)]
    connection.execute("CACHE TABLE v")
    assert ask(connection, "SELECT n FROM v") == [(3,)]
    connection.execute("CREATE TEMP VIEW v AS SELECT n + 1 AS n FROM default.v")
    assert ask(connection, "SELECT n FROM v") == [(4,)]


def test_a_view_that_stays_reads_nothing_temporary(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TEMP VIEW t AS SELECT 1 AS id")
    with pytest.raises(sqlfront.ProgrammingError, match="INVALID_TEMP_OBJ_REFERENCE"):
        connection.execute("CREATE VIEW v AS SELECT (SELECT max(id) FROM t) AS n")
    connection.execute("CREATE TEMP VIEW v AS SELECT * FROM t")
    assert ask(connection, "SELECT id FROM v") == [(1,)]


def test_if_not_exists_holds_also_when_somebody_was_quicker(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT 1 AS a")
    monkeypatch.setattr(connection.session.context.catalog, "lookup", lambda parts: None)
    connection.execute("CREATE TABLE IF NOT EXISTS t USING memory AS SELECT 2 AS a")
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        connection.execute("CREATE TABLE t USING memory AS SELECT 2 AS a")
    monkeypatch.undo()

    assert ask(connection, "SELECT a FROM t") == [(1,)]


class Refusing:
    """A write that fails when it is to be published."""

    error: BaseException = sqlfront.OperationalError("as told")

    def append(self, batch: object) -> None:
        """Take it."""

    def commit(self) -> int:
        raise self.error


class Interrupted(Refusing):
    """The same at Ctrl-C."""

    error = KeyboardInterrupt()


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t VALUES (3)", "UPDATE t SET id = 7 WHERE id = 2", "DELETE FROM t WHERE id = 2"],
)
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_an_interrupt_while_copies_follow_leaves_none_behind(
    cached: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch, statement: str, again: bool
) -> None:
    if again:
        cached.execute(statement)
        cached.execute("INSERT OVERWRITE t SELECT id FROM range(3)")
    fill, interrupts = copies.fill, iter([False, True])

    def interrupted(run: StatementRun, entry: TableEntry) -> object:
        if next(interrupts, False):
            raise KeyboardInterrupt
        return fill(run, entry)

    monkeypatch.setattr(copies, "fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached.execute(statement)
    monkeypatch.undo()

    assert ask(cached, "SELECT n FROM d") == ask(cached, "SELECT count(*) FROM t")
    assert ask(cached, "SELECT sum(x) FROM c") == ask(cached, "SELECT sum(6 div (id - 10)) FROM t")
    cached.execute("INSERT INTO t VALUES (30)")
    assert ask(cached, "SELECT n FROM d") == ask(cached, "SELECT count(*) FROM t")


def test_an_interrupt_when_only_the_origin_has_the_rows_leaves_no_copy_behind(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_that_writes_by(Interrupted(), connection, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        connection.execute("INSERT INTO t VALUES (3)")

    assert ask(connection, "SELECT count(*) FROM t") == [(4,)]


@pytest.mark.parametrize("statement", ["INSERT INTO t VALUES (3)", "DELETE FROM t WHERE id = 2"])
def test_a_change_that_nobody_has_confirmed_leaves_no_copy_behind(
    spread: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    spread.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    spread.execute("CACHE TABLE c AS SELECT id FROM t")
    table = table_of(spread, "t")
    assert isinstance(table, SpreadTable)

    @contextmanager
    def unconfirmed(turn: Callable[[], AbstractContextManager[object]]) -> Iterator[object]:
        with turn() as token:
            yield token
        raise sqlfront.OperationalError("the connection with the keeper broke", sqlstate="08007")

    monkeypatch.setattr(table, "turn", partial(unconfirmed, table.turn))
    with pytest.raises(sqlfront.OperationalError, match="keeper broke"):
        spread.execute(statement)
    monkeypatch.undo()

    assert ask(spread, "SELECT sum(id) FROM c") == ask(spread, "SELECT sum(id) FROM t") != [(3,)]


def after_filling(monkeypatch: pytest.MonkeyPatch, *then: Callable[[], object]) -> None:
    """Call the functions, one each, after the next times that a copy is filled."""
    fill, waiting = copies.fill, iter(then)

    def filled(run: StatementRun, entry: TableEntry) -> object:
        outcome = fill(run, entry)
        next(waiting, lambda: None)()
        return outcome

    monkeypatch.setattr(copies, "fill", filled)


@pytest.mark.parametrize("relation", ["TABLE r USING memory", "VIEW r"])
def test_caching_does_not_undo_a_replacement(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch, relation: str
) -> None:
    connection.execute(f"CREATE {relation} AS SELECT 1 AS a")
    change = f"CREATE OR REPLACE {relation} AS SELECT 99 AS a, 'new' AS n"
    after_filling(monkeypatch, lambda: connection.session.execute(change))
    connection.execute("CACHE TABLE r")

    assert ask(connection, "SELECT * FROM r") == [(99, "new")]
    connection.execute("UNCACHE TABLE r")
    assert ask(connection, "SELECT * FROM r") == [(99, "new")]


def test_caching_does_not_undo_a_drop(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    after_filling(monkeypatch, lambda: connection.session.execute("DROP TABLE r"))
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        connection.execute("CACHE TABLE r")

    assert ask(connection, "SHOW TABLES") == []


def test_caching_keeps_a_comment_of_meanwhile(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    fills: list[str] = []
    after_filling(
        monkeypatch,
        lambda: connection.session.execute("COMMENT ON TABLE r IS 'new'"),
        lambda: fills.append("another"),
    )
    connection.execute("CACHE TABLE r")

    assert ("Comment", "new", "") in ask(connection, "DESCRIBE EXTENDED r")
    assert fills == []


def test_uncaching_does_not_undo_a_replacement(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    connection.execute("CACHE TABLE r")
    has_copy = copies._has_copy
    changes = iter(["CREATE OR REPLACE TABLE r USING memory AS SELECT 99 AS a"])

    def then_replaced(entry: Entry | None, copy: Table) -> bool:
        found = has_copy(entry, copy)
        for change in changes:
            connection.session.execute(change)
        return found

    monkeypatch.setattr(copies, "_has_copy", then_replaced)
    connection.execute("UNCACHE TABLE r")

    assert ask(connection, "SELECT * FROM r") == [(99,)]


@pytest.mark.parametrize("error", [sqlfront.OperationalError("timed out"), KeyboardInterrupt()])
def test_a_copy_that_lacks_a_concurrent_insert_is_dropped(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")

    def fail() -> None:
        raise error

    after_filling(monkeypatch, lambda: connection.session.execute("INSERT INTO r VALUES (2)"), fail)
    with pytest.raises(type(error)):
        connection.execute("CACHE TABLE r")
    monkeypatch.undo()

    assert sorted(ask(connection, "SELECT * FROM r")) == [(1,), (2,)]
    assert ("Cached", "false", "") in ask(connection, "DESCRIBE EXTENDED r")


def test_a_cached_query_may_have_the_name_of_the_table_that_it_reads(
    connection: sqlfront.Connection,
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    connection.execute("CACHE TABLE r AS SELECT a + 1 AS a FROM r")

    assert ask(connection, "SELECT * FROM r") == [(2,)]
    connection.execute("UNCACHE TABLE r")
    assert ask(connection, "SELECT * FROM r") == [(2,)]


def test_a_copy_does_not_hide_an_insert_behind_a_copy_that_was_dropped_meanwhile(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    connection.execute("CREATE VIEW v AS SELECT a FROM r")
    connection.execute("CACHE TABLE r")

    def uncache_and_insert() -> None:
        connection.session.execute("UNCACHE TABLE r")
        connection.session.execute("INSERT INTO r VALUES (2)")

    after_filling(monkeypatch, uncache_and_insert)
    connection.execute("CACHE TABLE v")

    assert sorted(ask(connection, "SELECT * FROM v")) == [(1,), (2,)]


def test_a_copy_enters_the_catalog_with_the_rows_of_an_insert_meanwhile(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    connection.execute("CREATE VIEW v AS SELECT a FROM r")
    enter, entered = copies.enter, list[int]()

    def count(run: StatementRun, present: Entry | None, entry: TableEntry, *rest: Any, **how: Any) -> bool:
        entered.append(entry.table.snapshot().statistics.rows or 0)
        return enter(run, present, entry, *rest, **how)

    monkeypatch.setattr(copies, "enter", count)
    for name in ("r", "v"):
        after_filling(monkeypatch, lambda: connection.session.execute("INSERT INTO r VALUES (2)"))
        connection.execute(f"CACHE TABLE {name}")
        monkeypatch.undo()
        monkeypatch.setattr(copies, "enter", count)

    assert entered == [2, 3]


def test_a_copy_never_enters_the_catalog_after_a_name_in_its_query_means_another_table(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    connection.execute("CREATE VIEW v AS SELECT a FROM r")
    enter, shown = copies.enter, list[object]()

    def look(*arguments: Any, **how: Any) -> bool:
        entered = enter(*arguments, **how)
        shown.append(ask(connection, "SELECT a FROM v ORDER BY a"))
        return entered

    def widen_and_insert() -> None:
        connection.session.execute("ALTER TABLE r ADD COLUMN (b INT)")
        connection.session.execute("INSERT INTO r VALUES (2, 2)")

    monkeypatch.setattr(copies, "enter", look)
    after_filling(monkeypatch, widen_and_insert)
    connection.execute("CACHE TABLE v")

    assert shown == [[(1,), (2,)]] * 2
    assert ask(connection, "SELECT a FROM v ORDER BY a") == [(1,), (2,)]


def test_a_copy_that_reads_a_table_and_another_copy_of_it_follows_both(
    connection: sqlfront.Connection,
) -> None:
    connection.execute("CREATE TABLE r USING memory AS SELECT 1 AS a")
    for name, query in (
        ("z_copy", "SELECT a FROM r"),
        ("a_sum", "SELECT sum(c.a) AS s FROM r, z_copy AS c WHERE c.a = r.a"),  # the earlier name
    ):
        connection.execute(f"CREATE VIEW {name} AS {query}")
        connection.execute(f"CACHE TABLE {name}")
    connection.execute("INSERT INTO r VALUES (2)")

    assert ask(connection, "SELECT * FROM a_sum") == [(3,)]


def test_copies_follow_a_temporary_view_over_other_files(
    connection: sqlfront.Connection, tmp_path: Path
) -> None:
    over = "CREATE OR REPLACE TEMPORARY VIEW files USING parquet OPTIONS (path '{}')"
    for number in (1, 2):
        pq.write_table(pa.table({"a": [number]}), tmp_path / f"{number}.parquet")
    connection.execute(over.format(tmp_path / "1.parquet"))
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT a FROM files")
    connection.execute("CACHE TABLE v")
    connection.execute(over.format(tmp_path / "2.parquet"))

    assert ask(connection, "SELECT * FROM v") == [(2,)]


@pytest.mark.parametrize("cached", [(), ("CACHE TABLE files",)])
def test_copies_of_views_follow_the_refresh_of_a_table(
    connection: sqlfront.Connection, tmp_path: Path, cached: tuple[str, ...]
) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    connection.execute(f"CREATE TABLE files USING parquet LOCATION '{tmp_path}'")
    connection.execute("CREATE VIEW v AS SELECT a FROM files")
    for statement in (*cached, "CACHE TABLE v"):
        connection.execute(statement)
    pq.write_table(pa.table({"a": [2]}), tmp_path / "2.parquet")
    connection.execute("REFRESH TABLE files")

    assert sorted(ask(connection, "SELECT * FROM v")) == [(1,), (2,)]
