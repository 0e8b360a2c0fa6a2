"""The number of backups that a table has: by its kind, by the configuration, by its options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.catalog import TableEntry
from tests.sqlfront.test_cluster import SECRET, address, ask, started

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("cluster sessions")

#: A table of its own for each test.
MADE = "CREATE OR REPLACE TABLE t USING memory CLUSTERED BY (k)"
ROWS = "AS SELECT id AS k FROM range(100)"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with started() as cluster:
        yield cluster


def joined(cluster: LocalCluster, backups: int | None = None) -> sqlfront.Connection:
    return sqlfront.connect(address(cluster), secret=SECRET, workers=1, backups=backups)


@pytest.fixture
def connection(cluster: LocalCluster) -> Iterator[sqlfront.Connection]:
    with joined(cluster) as connection:
        yield connection


def table_of(connection: sqlfront.Connection, name: str = "t") -> KeyedTable:
    entry = connection.session.context.catalog.lookup((name,))
    assert isinstance(entry, TableEntry)
    table = entry.table.copy if isinstance(entry.table, CachedTable) else entry.table
    assert isinstance(table, KeyedTable)
    return table


def backups_of(connection: sqlfront.Connection, name: str = "t") -> set[int]:
    """How many members hold a backup of each share; the table's own number says the same."""
    table = table_of(connection, name)
    made = {len(holders) for _, holders in table.snapshot().held.backups} or {0}  # type: ignore[attr-defined]
    assert made == {table.backups}
    return made


def test_a_table_without_a_source_has_one_backup(connection: sqlfront.Connection) -> None:
    connection.execute(f"{MADE} {ROWS}")
    assert backups_of(connection) == {1}
    connection.execute("CREATE OR REPLACE TABLE t (k BIGINT)")
    connection.execute("INSERT INTO t SELECT id FROM range(100)")
    assert backups_of(connection) == {1}
    connection.execute("INSERT OVERWRITE t SELECT id FROM range(10)")
    assert backups_of(connection) == {1}


def test_a_copy_has_no_backup(connection: sqlfront.Connection) -> None:
    connection.execute(f"{MADE} {ROWS}")
    connection.execute("CREATE OR REPLACE VIEW v AS SELECT k + 1 AS l FROM t")
    connection.execute("CACHE TABLE v")
    assert backups_of(connection, "v") == {0}
    connection.execute("DROP VIEW v")


def test_the_option_has_precedence_over_the_configuration(cluster: LocalCluster) -> None:
    with joined(cluster, backups=2) as two, joined(cluster, backups=0) as none:
        two.execute(f"{MADE} {ROWS}")
        assert backups_of(two) == backups_of(none) == {2}
        none.execute("INSERT INTO t VALUES (-1)")  # a writer's configuration says nothing
        assert backups_of(two) == {2}
        none.execute(f"{MADE} {ROWS}")
        assert backups_of(two) == {0}
        none.execute(f"{MADE} OPTIONS (backups 1) {ROWS}")
        assert backups_of(two) == {1}
        two.execute(f"{MADE} OPTIONS (BACKUPS 0) {ROWS}")
        assert backups_of(none) == {0}


def test_further_columns_change_no_backup(cluster: LocalCluster) -> None:
    with joined(cluster, backups=0) as connection:
        connection.execute(f"{MADE} OPTIONS (backups 2) {ROWS}")
        connection.execute("ALTER TABLE t ADD COLUMNS (v INT)")
        assert backups_of(connection) == {2}


def test_show_create_table_says_the_number(cluster: LocalCluster) -> None:
    with joined(cluster) as connection, joined(cluster, backups=0) as none:
        for session, option, shown in ((connection, "0", "0"), (none, "2", "2"), (none, "0", "")):
            session.execute(f"{MADE} OPTIONS (backups {option}) {ROWS}")
            [(text,)] = ask(session, "SHOW CREATE TABLE t")
            assert ("OPTIONS" in str(text)) == bool(shown)
            assert f"'backups' = '{shown}'" in str(text) or not shown
            session.execute("DROP TABLE t")
            session.execute(str(text))
            assert table_of(session).backups == int(option)


def test_members_in_one_process_have_backups_only_where_asked_for() -> None:
    with sqlfront.connect(members=2, workers=1) as connection:
        connection.execute(f"{MADE} {ROWS}")
        assert backups_of(connection) == {0}
        connection.execute(f"{MADE} OPTIONS (backups 1) {ROWS}")
        assert backups_of(connection) == {1}
    with sqlfront.connect(members=2, workers=1, backups=1) as connection:
        connection.execute(f"{MADE} {ROWS}")
        assert backups_of(connection) == {1}


@pytest.mark.parametrize("value", ["3", "-1", "'many'", "''", "' 1'", "1.0", "true"])
def test_another_number_is_refused(value: str) -> None:
    with sqlfront.connect() as connection:
        with pytest.raises(sqlfront.ProgrammingError, match=r"table t: backups must be 0, 1 or 2, not '"):
            connection.execute(f"CREATE TABLE t (k BIGINT) USING memory OPTIONS (backups {value})")
        assert ask(connection, "SHOW TABLES") == []


def test_tables_with_a_source_take_no_number(tmp_path: object) -> None:
    with sqlfront.connect() as connection:
        with pytest.raises(sqlfront.ProgrammingError, match="CACHE TABLE takes no option backups"):
            connection.execute("CACHE TABLE t OPTIONS ('Backups' = '1') AS SELECT 1 AS k")
        with pytest.raises(sqlfront.NotSupportedError, match="option backups of USING parquet"):
            connection.execute(
                f"CREATE TABLE t (k INT) USING parquet OPTIONS (backups 1) LOCATION '{tmp_path}/t'"
            )
        assert ask(connection, "SHOW TABLES") == []
