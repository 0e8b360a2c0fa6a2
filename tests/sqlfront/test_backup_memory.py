"""The memory of members counts rows and backups alike."""

from __future__ import annotations

import pytest

import sqlfront
from sqlfront.cluster.embedded import EmbeddedMembers
from sqlfront_cluster.launchers.local import LocalCluster
from tests.sqlfront.held_shares import shares
from tests.sqlfront.quick_service import SERVICE
from tests.sqlfront.test_cluster import SECRET, Rows, address, ask, kill, unless_lost, until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("cluster sessions")

SIZES = "SELECT member, sum(bytes), sum(backup_bytes) FROM sys.shares GROUP BY 1 ORDER BY 1"


def charged(connection: sqlfront.Connection) -> dict[str, int]:
    """The bytes of tables that each member has charged to its account."""
    cluster = connection.session.cluster
    assert isinstance(cluster, EmbeddedMembers)
    return {member.name: member.engine.tables.used for member in cluster._members.members}


@pytest.mark.parametrize("backups", [0, 1, 2])
def test_rows_are_charged_once_more_for_each_backup(backups: int) -> None:
    with sqlfront.connect(members=3, workers=3, backups=backups) as connection:
        connection.execute("CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(9000)")
        sizes = {name: rows + held for name, rows, held in ask(connection, SIZES)}  # type: ignore[operator]
        # Threads of members may still hold what a statement gives back.
        until(lambda: charged(connection) == sizes)
        assert sum(sizes.values()) == (1 + backups) * 9000 * 8

        connection.execute("INSERT INTO t SELECT id FROM range(9000, 10000)")
        until(lambda: sum(charged(connection).values()) == (1 + backups) * 10_000 * 8)
        connection.execute("DROP TABLE t")
        until(lambda: not any(charged(connection).values()))


def test_a_table_whose_backups_have_no_room_is_refused_by_name() -> None:
    with (
        LocalCluster(
            2, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0, memory_limit=16 << 20
        ) as cluster,
        sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection,
    ):
        # 4.8 MB on each member, and while they are loaded twice that.
        rows = "SELECT id, id FROM range(600000)"
        for name, backups in (("alone", 0), ("backed", 1)):
            connection.execute(
                f"CREATE TABLE {name} (k BIGINT, v BIGINT) USING memory CLUSTERED BY (k)"
                f" OPTIONS (backups {backups})"
            )
        connection.execute("INSERT INTO alone VALUES (1, 1)")
        connection.execute("INSERT INTO backed VALUES (1, 1)")
        before, held = ask(connection, SIZES), shares(connection)
        with pytest.raises(
            sqlfront.OperationalError, match=r"Table `backed` needs .* MiB more memory"
        ) as error:
            connection.execute(f"INSERT INTO backed {rows}")
        assert error.value.sqlstate == "53200"
        assert (
            error.value.hint == "each row is in memory twice; a table with OPTIONS (backups 0) has no backups"
        )
        assert ask(connection, "SELECT count(*) FROM backed") == [(1,)]
        assert ask(connection, SIZES) == before
        until(lambda: shares(connection) == held)
        connection.execute(f"INSERT INTO alone {rows}")
        assert ask(connection, "SELECT count(*) FROM alone") == [(600_001,)]


@pytest.mark.cluster
def test_a_table_without_room_for_missing_backups_can_be_read_and_overwritten() -> None:
    with (
        LocalCluster(
            3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0, memory_limit=16 << 20
        ) as cluster,
        sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection,
    ):
        # Rows and backups take 6.4 MB on each member; on two members 9.6 MB, beside the former 6.4.
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, 1L AS v FROM range(600000)"
        )
        # Who holds whose backup depends on the order in which the members have joined.
        holders = ask(connection, "SELECT member, backups[0] FROM sys.shares ORDER BY 1")
        expected = [(each[0], "being made" if "local-2" in each else "complete") for each in holders]
        kill(cluster, "local-2")
        with pytest.raises(sqlfront.OperationalError, match=r" t needs .* more memory, but the member"):
            until(lambda: not _is_refused(connection, "INSERT INTO t VALUES (-1, 1)"))
        until(lambda: _unless_short(connection, "SELECT count(*), sum(v) FROM t") == [(600_000, 600_000)])
        states = "SELECT member, state FROM sys.shares ORDER BY 1"
        until(lambda: unless_lost(connection, states) == expected)

        connection.execute("INSERT OVERWRITE t VALUES (1, 1)")
        assert ask(connection, "SELECT DISTINCT size(backups), state FROM sys.shares") == [(1, "complete")]


def _is_refused(connection: sqlfront.Connection, sql: str) -> bool:
    """Run the statement; True if the cluster was changing, so that it is to be run again."""
    try:
        connection.execute(sql)
    except sqlfront.OperationalError as error:
        if error.sqlstate not in ("40001", "08006"):
            raise
        return True
    return False


def _unless_short(connection: sqlfront.Connection, sql: str) -> Rows:
    """The answer; none if the attempts to place the rows anew take the memory."""
    try:
        return unless_lost(connection, sql)
    except sqlfront.OperationalError as error:
        if error.sqlstate != "53200":
            raise
        return []
