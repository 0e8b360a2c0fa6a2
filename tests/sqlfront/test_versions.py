"""A query reads one version of each table while others insert, replace and drop it."""

import threading

import pytest

import sqlfront

ACCOUNTS = 64
TOTAL = 64_000


def _create(connection: sqlfront.Connection, clustered: str) -> None:
    values = ", ".join(f"({number}, {TOTAL // ACCOUNTS})" for number in range(ACCOUNTS))
    connection.execute(f"create table accounts (id int, amount int) using memory {clustered}")
    connection.execute(f"insert into accounts values {values}")


@pytest.mark.parametrize("clustered", ["", "clustered by (id) into 7 buckets"])
def test_eight_readers_never_see_a_sum_that_was_never_there(clustered: str) -> None:
    connection = sqlfront.connect(workers=2)
    _create(connection, clustered)
    stop = threading.Event()
    wrong: list[object] = []
    reads = [0] * 8

    def read(number: int) -> None:
        texts = (
            "select sum(amount), count(*) % 64 from accounts",
            """select sum(l.amount + r.amount) / 2, count(*) % 64
               from accounts l join accounts r on l.id = r.id and l.amount = r.amount""",
            "select (select sum(amount) from accounts) , (select count(*) % 64 from accounts)",
        )
        while not stop.is_set():
            found = connection.execute(texts[reads[number] % len(texts)]).fetchall()
            if [float(value) for value in found[0]] != [float(TOTAL), 0.0]:  # type: ignore[arg-type]
                wrong.append((number, found))
            reads[number] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    try:
        for round_number in range(25):
            # Adds 64 rows whose amounts cancel, then spreads the same total differently.
            amount = round_number + 1
            moves = ", ".join(f"({1000 + n}, {amount if n % 2 else -amount})" for n in range(ACCOUNTS))
            connection.execute(f"insert into accounts values {moves}")
            shares = ", ".join(
                f"({n}, {TOTAL // ACCOUNTS + (amount if n % 2 else -amount)})" for n in range(ACCOUNTS)
            )
            connection.execute(f"insert overwrite accounts values {shares}")
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    assert wrong == []
    assert min(reads) > 0


def test_a_dropped_table_is_read_to_the_end_by_who_began() -> None:
    with sqlfront.connect() as connection:
        connection.execute("create table t using memory as select 1 as a union all select 2")
        result = connection.session.execute("select a from t")
        connection.execute("drop table t")

        assert sorted(tuple(row) for row in result.collect()) == [(1,), (2,)]


def test_a_result_that_is_read_late_shows_the_version_of_its_start() -> None:
    with sqlfront.connect() as connection:
        connection.execute("create table t using memory as select 1 as a")
        cursor = connection.execute("select a from t")
        connection.execute("insert into t values (2)")

        assert cursor.fetchall() == [(1,)]
        assert len(connection.execute("select a from t").fetchall()) == 2
