"""ALTER TABLE and ALTER VIEW beside prepared plans, concurrent readers and writers, copies, other sessions.

What each statement answers stands in ``tests/slt/alterations.slt``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront import Connection
from sqlfront.commands import columns
from tests.oracle import processes

Rows = list[tuple[object, ...]]
FORMATS = ("memory", "memory CLUSTERED BY (a) INTO 3 BUCKETS", "parquet", "json")


def ask(connection: Connection, text: str) -> Rows:
    return connection.execute(text).fetchall()


@pytest.fixture(params=[1, 3], ids=["alone", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with sqlfront.connect(members=request.param, workers=2) as connection:
        yield connection


@pytest.fixture
def two() -> Iterator[tuple[Connection, Connection]]:
    """Two sessions of a cluster of processes."""
    config = processes.config()
    with sqlfront.connect(config) as one, sqlfront.connect(config) as other:
        yield one, other
        processes.drop_all(one)


def made(connection: Connection, form: str) -> None:
    connection.execute(f"CREATE TABLE t (a INT, b STRING) USING {form}")
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")


@pytest.mark.parametrize("form", FORMATS)
def test_prepared_plans_see_the_added_column(connection: Connection, form: str) -> None:
    made(connection, form)
    everything, one = connection.prepare("SELECT * FROM t"), connection.prepare("SELECT * FROM t WHERE a = ?")
    insert = connection.prepare("INSERT INTO t VALUES (?, ?)")
    assert one.execute([1]).collect() == [(1, "x")]
    insert.execute([3, "z"])

    connection.execute("ALTER TABLE t ADD COLUMN c DOUBLE")

    assert one.execute([1]).collect() == [(1, "x", None)]
    assert sorted(everything.execute().collect()) == [(1, "x", None), (2, "y", None), (3, "z", None)]
    with pytest.raises(sqlfront.ProgrammingError) as raised:
        insert.execute([4, "w"])
    assert (raised.value.condition or "").startswith("INSERT_COLUMN_ARITY_MISMATCH")


@pytest.mark.parametrize("form", FORMATS)
def test_prepared_plans_do_not_find_the_old_name(connection: Connection, form: str) -> None:
    made(connection, form)
    prepared = connection.prepare("SELECT count(*) FROM t WHERE a > ?")
    assert prepared.execute([1]).collect() == [(1,)]

    connection.execute("ALTER TABLE t RENAME TO u")

    with pytest.raises(sqlfront.ProgrammingError) as raised:
        prepared.execute([1])
    assert raised.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    connection.execute("CREATE TABLE t (a INT) USING memory")  # the old name is free, and is another table
    assert prepared.execute([1]).collect() == [(0,)]
    connection.execute("DROP TABLE t")
    assert ask(connection, "SELECT count(*) FROM u") == [(2,)]


def test_a_reader_of_before_reads_on(connection: Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT id AS a FROM range(200000)")
    cursor = connection.execute("SELECT * FROM t")
    first = cursor.fetchmany(10)
    connection.execute("ALTER TABLE t ADD COLUMN b INT")
    connection.execute("ALTER TABLE t RENAME TO u")
    rows = first + cursor.fetchall()
    assert len(rows) == 200000
    assert {len(row) for row in rows} == {1}


@pytest.mark.parametrize("form", ["memory", "parquet"])
def test_no_row_of_a_concurrent_insert_is_lost(connection: Connection, form: str) -> None:
    """An insert that ends while ADD COLUMN makes the other table is in it, or has an error."""
    connection.execute(f"CREATE TABLE t (a INT) USING {form}")
    stop, written, refused = threading.Event(), [0], list[str | None]()

    def insert() -> None:
        while not stop.is_set():
            try:
                connection.execute("INSERT INTO t (a) VALUES (1)")
                written[0] += 1
            except sqlfront.OperationalError as error:
                refused.append(error.sqlstate)

    writers = [threading.Thread(target=insert) for _ in range(2)]
    for writer in writers:
        writer.start()
    for number in range(8):
        connection.execute(f"ALTER TABLE t ADD COLUMN c{number} INT")
    stop.set()
    for writer in writers:
        writer.join()

    assert set(refused) <= {"40001"}
    assert ask(connection, "SELECT count(*), count(c7) FROM t") == [(written[0], 0)]


def test_a_write_to_the_table_of_before_is_refused(connection: Connection) -> None:
    made(connection, "memory")
    before = connection.session.context.catalog.lookup(("t",))
    connection.execute("ALTER TABLE t ADD COLUMN c INT")
    with pytest.raises(sqlfront.OperationalError) as raised:
        before.table.publish([], overwrite=True)  # type: ignore[union-attr]
    assert raised.value.sqlstate == "40001"
    assert len(ask(connection, "SELECT * FROM t")) == 2


def test_indexes_placement_and_comments_stay(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE t (a INT COMMENT 'ca', b STRING NOT NULL) CLUSTERED BY (a) INTO 3 BUCKETS"
    )
    connection.execute("CREATE INDEX i ON t (b)")
    connection.execute("INSERT INTO t VALUES (1, 'x')")
    connection.execute("ALTER TABLE t ADD COLUMN c INT COMMENT 'cc'")
    assert ask(connection, "SHOW INDEXES ON t") == [("i", "b", "hash")]
    assert ask(connection, "SELECT * FROM t WHERE b = 'x'") == [(1, "x", None)]
    assert ask(connection, "SELECT * FROM t WHERE a = 1") == [(1, "x", None)]
    ((text,),) = ask(connection, "SHOW CREATE TABLE t")
    assert "a INT COMMENT 'ca',\n  b STRING COLLATE UTF8_BINARY NOT NULL,\n  c INT COMMENT 'cc')" in str(text)
    assert "INTO 3 BUCKETS" in str(text)
    with pytest.raises(sqlfront.IntegrityError):
        connection.execute("INSERT INTO t VALUES (2, NULL, 3)")


def test_a_failed_addition_leaves_the_table(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    made(connection, "memory")

    def fail(*_: object) -> None:
        raise sqlfront.OperationalError("no memory")

    monkeypatch.setattr(columns, "assign", fail)
    with pytest.raises(sqlfront.OperationalError, match="no memory"):
        connection.execute("ALTER TABLE t ADD COLUMN c INT")
    connection.execute("INSERT INTO t VALUES (3, 'z')")
    assert len(ask(connection, "SELECT * FROM t")) == 3


def test_copies_follow(connection: Connection) -> None:
    made(connection, "parquet")
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.execute("CREATE TEMPORARY VIEW tv AS SELECT count(*) AS n FROM t")
    for name in ("t", "v", "tv"):
        connection.execute(f"CACHE TABLE {name}")
    connection.execute("ALTER TABLE t ADD COLUMN c INT")
    connection.execute("INSERT INTO t VALUES (3, 'z', 4)")
    assert ask(connection, "SELECT * FROM tv") == [(3,)]
    assert len(ask(connection, "SELECT * FROM v")) == 3
    connection.execute("CACHE TABLE tv")
    connection.execute("ALTER VIEW tv RENAME TO tw")
    connection.execute("INSERT INTO t VALUES (4, 'z', 4)")
    assert ask(connection, "SELECT * FROM tw") == [(4,)]
    connection.execute("CACHE TABLE t")
    connection.execute("ALTER TABLE t RENAME TO u")
    with pytest.raises(sqlfront.ProgrammingError, match="`t` cannot be found"):
        connection.execute("SELECT * FROM tw")
    connection.execute("INSERT INTO u VALUES (5, 'z', 4)")
    assert ask(connection, "SELECT count(*) FROM u") == [(5,)]
    connection.execute("UNCACHE TABLE u")
    assert ask(connection, "SELECT count(*) FROM u") == [(5,)]


def test_the_comment_of_the_schema(connection: Connection) -> None:
    comment = "SELECT comment FROM information_schema.schemata WHERE schema_name = 'default'"
    assert ask(connection, comment) == [("default database",)]
    connection.execute("COMMENT ON SCHEMA default IS 'of the fleet'")
    assert ask(connection, comment) == [("of the fleet",)]
    assert ("Comment", "of the fleet") in ask(connection, "DESCRIBE SCHEMA default")
    with pytest.raises(sqlfront.NotSupportedError):
        connection.execute("COMMENT ON SCHEMA sys IS 'x'")


@pytest.mark.parametrize("form", FORMATS)
def test_sessions_of_a_cluster_see_changes_at_once(two: tuple[Connection, Connection], form: str) -> None:
    one, other = two
    made(one, form)
    prepared = other.prepare("SELECT * FROM t WHERE a = ?")
    assert prepared.execute([1]).collect() == [(1, "x")]

    one.execute("ALTER TABLE t ADD COLUMN c INT COMMENT 'cc'")
    assert prepared.execute([1]).collect() == [(1, "x", None)]
    other.execute("INSERT INTO t VALUES (3, 'z', 4)")
    assert sorted(ask(one, "SELECT a, c FROM t"), key=str) == [(1, None), (2, None), (3, 4)]

    other.execute("ALTER TABLE t RENAME TO u")
    with pytest.raises(sqlfront.ProgrammingError, match="`t` cannot be found"):
        one.execute("SELECT * FROM t")
    one.execute("INSERT INTO u VALUES (4, 'w', 5)")
    assert ask(other, "SELECT count(*), sum(c) FROM u") == [(4, 9)]
    assert ask(other, "DESCRIBE u")[2] == ("c", "int", "cc")
    one.execute("CREATE VIEW v AS SELECT 1 AS one")
    with pytest.raises(sqlfront.ProgrammingError) as raised:
        other.execute("ALTER TABLE u RENAME TO v")
    assert raised.value.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_views_and_the_schemas_comment_are_the_clusters(two: tuple[Connection, Connection]) -> None:
    one, other = two
    one.execute("CREATE VIEW v AS SELECT 1 AS a")
    assert ask(other, "SELECT * FROM v") == [(1,)]
    one.execute("ALTER VIEW v AS SELECT 2 AS b, 3 AS c")
    assert ask(other, "SELECT * FROM v") == [(2, 3)]
    other.execute("COMMENT ON SCHEMA default IS 'said by other'")
    assert ("Comment", "said by other") in ask(one, "DESCRIBE SCHEMA default")
    other.execute("COMMENT ON SCHEMA default IS 'default database'")


def test_a_star_means_the_columns_of_the_views_creation(connection: Connection) -> None:
    made(connection, "memory")
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.execute("CREATE VIEW named (x, y) AS SELECT * FROM t")
    connection.execute("CREATE TEMPORARY VIEW tv AS SELECT * FROM t")
    connection.execute("ALTER TABLE t ADD COLUMN c INT")
    for view in ("v", "named", "tv"):
        assert sorted(ask(connection, f"SELECT * FROM {view}")) == [(1, "x"), (2, "y")]
        assert len(ask(connection, f"DESCRIBE {view}")) == 2
        connection.execute(f"CACHE TABLE {view}")
        assert sorted(ask(connection, f"SELECT * FROM {view}")) == [(1, "x"), (2, "y")]
    columns_of = "SELECT column_name FROM information_schema.columns WHERE table_name = 'v'"
    assert ask(connection, columns_of) == [("a",), ("b",)]


def test_a_view_keeps_its_types_and_misses_its_columns(connection: Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT 1 AS a, 'x' AS b")
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.execute("DROP TABLE t")
    connection.execute("CREATE TABLE t USING memory AS SELECT 'x' AS B, 2L AS a, 3 AS c")
    assert connection.execute("SELECT * FROM v").fetch_arrow_table().schema.types == ["int32", "string"]
    connection.execute("DROP TABLE t")
    connection.execute("CREATE TABLE t USING memory AS SELECT 1 AS a")
    with pytest.raises(sqlfront.Error) as raised:
        connection.execute("SELECT * FROM v")
    assert raised.value.condition == "INCOMPATIBLE_VIEW_SCHEMA_CHANGE"


def test_a_temporary_view_reads_what_it_read_when_it_was_made(connection: Connection) -> None:
    made(connection, "memory")
    connection.execute("CREATE TEMPORARY VIEW reader AS SELECT count(*) AS n FROM t")
    connection.execute("CREATE TEMPORARY VIEW t AS SELECT a FROM t WHERE a = 1")
    prepared = connection.prepare("SELECT n FROM reader")
    assert prepared.execute().collect() == [(2,)]
    assert ask(connection, "SELECT * FROM t") == [(1,)]
    assert ask(connection, "DESCRIBE t") == [("a", "int", None)]
    connection.execute("CACHE TABLE t")
    assert ask(connection, "SELECT * FROM t") == [(1,)]
    connection.execute("UNCACHE TABLE t")
    connection.execute("INSERT INTO default.t VALUES (3, 'z')")
    assert prepared.execute().collect() == [(3,)]
    connection.execute("CREATE TEMPORARY VIEW second AS SELECT * FROM t")
    connection.execute("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT 7 AS a")
    assert ask(connection, "SELECT * FROM second") == [(7,)]
