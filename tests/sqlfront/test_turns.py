"""Writers that wait for their turn."""

import time
from threading import Event, Thread

import pytest

import sqlfront
from sqlfront.cluster.documents import ANSWER_TIMEOUT, Documents
from sqlfront.cluster.processes import ProcessMembers
from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.spread.documents import TURN, Turn
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.catalog import TableEntry
from sqlfront_values import room
from sqlfront_values.errors import OperationalError
from tests.cluster.members.kept import Kept
from tests.sqlfront.simulated import Statement, TableTown


def held() -> tuple[TableTown, ProcessMembers, SpreadTable]:
    """A cluster, its session client-0, and a table for which this session has the turn."""
    town = TableTown("m0", "m1", "client-0", "client-1", seed=1)
    town.create("client-0", None, ((1, 1),))
    session = town.sessions["client-0"]
    (table,) = session.spread_tables()

    def hold() -> None:
        session.begin_turn(table)

    town.complete(Statement("client-0", hold))
    town.simulation.pass_time(0.5)
    return town, session, table


def test_a_session_that_the_cluster_has_given_up_waits_no_longer_for_its_turn() -> None:
    """It hears of no change any more: it waited until the time was over, and named another session."""
    town, _, _ = held()
    waiting = town.update("client-1", 2)
    town.resume(waiting)
    town.keeper.remove("client-1", "its process was killed")
    began = town.simulation.time
    with pytest.raises(
        OperationalError, match="was removed: its process was killed; nothing was changed"
    ) as error:
        town.complete(waiting)
    assert error.value.sqlstate == "08006"
    assert town.simulation.time < began + 3


def test_a_turn_for_a_table_that_was_replaced_meanwhile_asks_for_another_try() -> None:
    """Its rows may be gone by then with a member that has left: that was told as the loss of rows."""
    town, session, table = held()
    waiting = town.update("client-1", 2)
    town.resume(waiting)

    def drop() -> None:
        session.dropped(table)
        session.end_turn(table)

    town.complete(Statement("client-0", drop))
    town.keeper.remove("m0", "its process was killed")
    with pytest.raises(OperationalError, match="was dropped or changed by another session") as error:
        town.complete(waiting)
    assert error.value.sqlstate == "40001"


def test_a_statement_that_is_stopped_waits_no_longer_for_its_turn() -> None:
    """Its timeout, or a cancellation, counted only once it had its turn, after a minute perhaps."""
    town, _, _ = held()
    over = town.simulation.time + 2

    def change() -> None:
        with room.watched(lambda: town.simulation.time > over):
            town.sessions["client-1"].begin_turn(town.sessions["client-1"].spread_tables()[0])

    with pytest.raises(room.StoppedError):
        town.complete(Statement("client-1", change))
    assert over <= town.simulation.time < over + 1


def test_a_change_that_has_found_no_keeper_is_given_up_with_its_statement() -> None:
    """It waited for a minute, whatever the timeout, and was then made by the next keeper, perhaps."""
    kept = Kept("m0", "client")
    kept.kill(KEEPER)
    kept.simulation.pass_time(0.2)
    documents = Documents(kept.memberships["client"])
    with room.watched(lambda: True), pytest.raises(room.StoppedError):
        documents.put(ConditionalChange("table", b"1", 0))
    kept.take_over()
    kept.simulation.pass_time(3)
    assert kept.memberships["client"].keeper.epoch == 2
    assert "table" not in kept.keeper.documents


def test_a_change_without_an_answer_at_the_timeout_may_have_been_made() -> None:
    kept = Kept("m0", "client")
    documents = Documents(kept.memberships["client"])
    with room.watched(lambda: True), pytest.raises(OperationalError, match="may have been made") as error:
        documents.put(ConditionalChange("table", b"1", 0))
    assert error.value.sqlstate == "08007"
    kept.simulation.pass_time(1)
    assert "table" in kept.keeper.documents


def test_a_turn_that_came_too_late_for_its_statement_is_given_back() -> None:
    """Nothing is written without a turn, so that the error is the timeout's."""
    kept = Kept("m0", "client")
    documents = Documents(kept.memberships["client"])
    with room.watched(lambda: True), pytest.raises(room.StoppedError):
        documents.begin_turn("table", "`table`", "token")
    kept.simulation.pass_time(0.5)
    assert f"{TURN}table" in kept.keeper.documents
    kept.simulation.pass_time(2)
    assert not kept.keeper.documents


def test_a_stopped_statement_that_ends_its_turn_does_not_wait_for_a_keeper() -> None:
    """It waited for a minute, long after its timeout."""
    kept = Kept("m0", "client")
    membership, key = kept.memberships["client"], f"{TURN}table"
    taken = ConditionalChange(key, codec.encode(Turn("client", "token")), 0)
    membership.put(taken, lambda outcome: None)
    assert kept.run(lambda: key in membership.documents, 1)
    documents = Documents(membership)
    documents._tokens[key] = "token"
    kept.kill(KEEPER)
    kept.simulation.pass_time(0.2)

    began = time.monotonic()
    with room.watched(lambda: True):
        documents.end_turn("table")
    assert time.monotonic() - began < ANSWER_TIMEOUT / 2
    kept.take_over()
    assert kept.run(lambda: membership.keeper.epoch == 2 and key not in membership.documents, 6)


@pytest.mark.parametrize("statement", ["INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = 3 WHERE k = 1"])
@pytest.mark.parametrize("members", [1, 2])
def test_a_statement_waits_for_other_threads_of_its_session_until_its_timeout(
    members: int, statement: str
) -> None:
    """It waited as long as the other thread wrote."""
    with sqlfront.connect(members=members) as connection:
        connection.execute("CREATE TABLE t (k INT, v INT) USING memory CLUSTERED BY (k) INTO 4 BUCKETS")
        connection.execute("INSERT INTO t VALUES (1, 1)")
        entry = connection.session.context.catalog.lookup(("t",))
        assert isinstance(entry, TableEntry) and isinstance(entry.table, KeyedTable)
        table = entry.table
        began, ended = Event(), Event()

        def write() -> None:
            with table.turn():
                began.set()
                ended.wait(30)

        writer = Thread(target=write)
        writer.start()
        try:
            assert began.wait(30)
            with pytest.raises(OperationalError, match="timeout") as error:
                connection.execute(statement, timeout=0.2)
        finally:
            ended.set()
            writer.join()
        assert error.value.sqlstate == "57014"
        assert connection.execute("SELECT * FROM t").fetchall() == [(1, 1)]
        connection.execute(statement)


def test_whoever_ends_a_turn_leaves_the_turn_of_another_session() -> None:
    town, session, table = held()
    key = f"{TURN}{table.identity}"
    other = codec.encode(Turn("client-1", "client-1.1"))
    version = session.documents.version(key)
    town.memberships["client-1"].put(ConditionalChange(key, other, version), lambda outcome: None)
    town.simulation.pass_time(0.5)

    def end() -> None:
        session.end_turn(table)

    town.complete(Statement("client-0", end))
    document = session.documents.get(key)
    assert document is not None
    assert document.content == other


def test_a_turn_that_has_ended_is_free() -> None:
    town, session, table = held()

    def end() -> None:
        session.end_turn(table)

    town.complete(Statement("client-0", end))
    assert session.documents.get(f"{TURN}{table.identity}") is None
