"""Clients of a started cluster while members come, go and die, and keepers are killed; and proof that the
ledgers find lies."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from tests.sqlfront.cluster_chaos import ClusterChaos
from tests.sqlfront.key_writes import CREATE as CREATE_NOTES
from tests.sqlfront.key_writes import KeyWrites, wrong_notes
from tests.sqlfront.transfers import CREATE, Ledger, Wrong, check_all


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("seconds", "keepers"), [(15, 1), (120, 2)])
def test_every_answer_is_right_and_every_error_tells_the_truth(
    seconds: int, keepers: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    chaos = ClusterChaos(tmp_path / "run", seed=seconds)
    try:
        chaos.run(seconds, clients=8, keepers=keepers)
    finally:
        print("\n".join(chaos.lines()))
        chaos.close()
    assert len(chaos.takeovers) >= keepers
    assert (
        min(chaos.figures.answers[kind] for kind in ("read", "lookup", "join", "write", "write by key")) > 0
    )


# ---- the ledgers


@pytest.fixture
def written() -> Iterator[tuple[sqlfront.Connection, Ledger]]:
    """Accounts, and the ledger of a client that has written to them without an error."""
    with sqlfront.connect() as connection:
        connection.execute(CREATE[0])
        ledger = Ledger(0)
        connection.execute(f"INSERT INTO account VALUES ({ledger.own_key}, 0, 0, '')")
        for _ in range(12):
            statement = ledger.next_statement()
            connection.execute(ledger.sql(statement))
            ledger.note(statement, None)
        yield connection, ledger


def test_a_ledger_without_lies_is_right(written: tuple[sqlfront.Connection, Ledger]) -> None:
    connection, ledger = written
    check_all([ledger], connection)
    sql, right = ledger.inserted()
    assert connection.execute(sql).fetchall()[0][0] in right


@pytest.mark.parametrize("number", [3, 10])
def test_a_statement_that_was_refused_and_carried_out_is_found(
    written: tuple[sqlfront.Connection, Ledger], number: int
) -> None:
    connection, ledger = written
    ledger.note(ledger.confirmed.pop(number), sqlfront.OperationalError("nothing changed", sqlstate="08006"))
    with pytest.raises(Wrong, match=rf"statements \[{number}\] were refused and carried out"):
        check_all([ledger], connection)


def test_a_statement_of_unknown_outcome_may_have_been_carried_out(
    written: tuple[sqlfront.Connection, Ledger],
) -> None:
    connection, ledger = written
    for statement in (ledger.confirmed.pop(4), ledger.next_statement()):  # one was, one was not
        ledger.note(statement, sqlfront.OperationalError("it may have been made", sqlstate="08007"))
    check_all([ledger], connection)


def test_a_confirmed_statement_that_was_lost_is_found(written: tuple[sqlfront.Connection, Ledger]) -> None:
    connection, ledger = written
    ledger.note(ledger.next_statement(), None)
    with pytest.raises(Wrong, match=r"statements \[13\] were confirmed and lost"):
        check_all([ledger], connection)


def test_a_transfer_that_was_carried_out_twice_is_found(
    written: tuple[sqlfront.Connection, Ledger],
) -> None:
    connection, ledger = written
    connection.execute(ledger.sql(ledger.confirmed[5]))
    with pytest.raises(Wrong, match=r"statements \[5\] were carried out twice"):
        check_all([ledger], connection)


def test_half_a_transfer_is_found(written: tuple[sqlfront.Connection, Ledger]) -> None:
    connection, ledger = written
    connection.execute("UPDATE account SET v = v + 1 WHERE k = 7")
    with pytest.raises(Wrong, match=r"balances differ from the ledgers: {7: "):
        check_all([ledger], connection)


# ---- writes by key


def test_rows_hold_what_their_client_was_told() -> None:
    refused = sqlfront.OperationalError("nothing changed", sqlstate="08006")
    unknown = sqlfront.OperationalError("it may have been made", sqlstate="08007")
    with sqlfront.connect() as connection:
        connection.execute(CREATE_NOTES)
        clients = [KeyWrites(number) for number in range(3)]
        for number in range(200):
            client, error = clients[number % 3], (None, refused, unknown, unknown)[number % 4]
            sql, key, after = client.next_write()
            if error is None or number % 8 == 2:  # half of those of unknown outcome were carried out
                connection.execute(sql)
            client.note(key, after, error, "08007")
            looked, key = client.next_read()
            assert client.check(key, [tuple(row) for row in connection.execute(looked).fetchall()]) is None
        assert wrong_notes(clients, connection) == []


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE note SET n = 7777 WHERE k = {key}",
        "DELETE FROM note WHERE k = {key}",
        "INSERT INTO note VALUES ({key}, 1)",
        "UPDATE note SET n = 7777 WHERE k = 12",
        "DELETE FROM note WHERE k = 12",
        "INSERT INTO note VALUES (100000, 1)",
    ],
)
def test_a_row_that_holds_something_else_is_found(lie: str) -> None:
    client = KeyWrites(0)
    with sqlfront.connect() as connection:
        connection.execute(CREATE_NOTES)
        sql, key, after = client.next_write()
        connection.execute(sql)
        client.note(key, after, None, "08007")
        assert wrong_notes([client], connection) == []

        connection.execute(lie.format(key=key))
        assert wrong_notes([client], connection) != []
