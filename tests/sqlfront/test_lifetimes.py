"""What a reader of rows keeps alive: its session, until the last row is read."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import sqlfront

ROWS = 3_000_000
QUERY = f"SELECT * FROM range({ROWS})"


def _batches(reader: pa.RecordBatchReader) -> int:
    return sum(batch.num_rows for batch in reader)


def _count(rows: Iterator[object]) -> int:
    return sum(1 for _ in rows)


READERS: dict[str, Callable[[], Callable[[], int]]] = {
    "reader": lambda: _later(_batches, sqlfront.connect().execute(QUERY).fetch_record_batch()),
    "stream": lambda: _later(_batches, pa.RecordBatchReader.from_stream(sqlfront.connect().execute(QUERY))),
    "cursor": lambda: _later(_count, iter(sqlfront.connect().execute(f"{QUERY} LIMIT 200000"))),
    "rows": lambda: _later(_count, iter(sqlfront.Session().sql(f"{QUERY} LIMIT 200000"))),
    "kept rows": lambda: _later(_count, sqlfront.Session().sql(f"{QUERY} LIMIT 200000").toLocalIterator()),
    "result": lambda: sqlfront.Session().sql(QUERY).count,
    "members": lambda: _later(_batches, sqlfront.connect(members=3).execute(QUERY).fetch_record_batch()),
    "prepared": lambda: sqlfront.connect().prepare(QUERY).execute().count,
}


def _later(read: Callable[..., int], source: object) -> Callable[[], int]:
    return lambda: read(source)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_outlives_the_name_of_its_connection(name: str) -> None:
    read = READERS[name]()
    gc.collect()

    assert read() == (ROWS if name not in ("cursor", "rows", "kept rows") else 200_000)


def test_the_context_of_a_session_goes_once_the_last_row_is_read() -> None:
    session = sqlfront.Session()
    result = session.sql(QUERY)
    known = weakref.ref(session.context)
    del session
    gc.collect()
    assert known() is not None

    assert result.count() == ROWS
    gc.collect()
    assert known() is None


def test_closing_a_connection_still_ends_its_readers() -> None:
    connection = sqlfront.connect()
    reader = connection.execute(QUERY).fetch_record_batch()
    connection.close()

    with pytest.raises(sqlfront.OperationalError, match="cancelled"):
        reader.read_all()


#: Joins of pairs by the billion, none of which is a row of the answer.
FRUITLESS = {
    "hash join": "a JOIN range(300000) b ON a.id % 7 = b.id % 11 AND a.id + b.id < 0",
    "semi join": "a SEMI JOIN range(300000) b ON a.id % 7 = b.id % 11 AND a.id + b.id < 0",
    "nested loops": "a JOIN range(300000) b ON a.id + b.id < 0",
}


@pytest.mark.parametrize("join", FRUITLESS)
@pytest.mark.timeout(120)
def test_a_join_without_rows_ends_at_its_timeout(join: str) -> None:
    with sqlfront.connect() as connection, pytest.raises(sqlfront.OperationalError, match="timeout"):
        connection.execute(f"SELECT count(*) FROM range(300000) {FRUITLESS[join]}", timeout=0.3)


@pytest.mark.parametrize("join", FRUITLESS)
@pytest.mark.timeout(120)
def test_a_join_without_rows_ends_when_its_connection_is_closed(join: str) -> None:
    connection, pause = sqlfront.connect(), threading.Event()

    def close_in_the_midst() -> None:
        while not connection.session.engine.jobs():
            pause.wait(0.01)
        pause.wait(0.3)
        connection.close()

    closing = threading.Thread(target=close_in_the_midst, daemon=True)
    closing.start()
    with pytest.raises(sqlfront.OperationalError, match="cancelled"):
        connection.execute(f"SELECT count(*) FROM range(300000) {FRUITLESS[join]}")
    closing.join()


# ---- rows that no name stands for any more

#: Queries that leave plans of each kind in the cache.
PLANS = (
    "SELECT v FROM t WHERE k = 1",
    "SELECT sum(v) FROM t",
    "SELECT a.v FROM t AS a JOIN t AS b ON a.k = b.v",
)
TABLE = "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id AS v FROM range(1000)"
FRAME = pa.table({"k": [1, 2], "v": [1, 2]})
LEAVES: dict[str, tuple[Callable[[sqlfront.Connection], object], Callable[[sqlfront.Connection], object]]] = {
    "DROP TABLE": (lambda session: session.execute(TABLE), lambda session: session.execute("DROP TABLE t")),
    "unregister": (lambda session: session.register("t", FRAME), lambda session: session.unregister("t")),
    "register": (
        lambda session: session.register("t", FRAME),
        lambda session: session.register("t", pa.table({"k": [1], "v": [1]})),
    ),
}


@pytest.mark.parametrize("name", LEAVES)
def test_plans_do_not_keep_a_table_that_is_gone(name: str) -> None:
    """Neither the plans in the cache nor those that prepared statements hold."""
    make, leave = LEAVES[name]
    with sqlfront.connect() as connection:
        make(connection)
        prepared = [connection.prepare(text) for text in (*PLANS, "SELECT v FROM t WHERE k = ?")]
        for text in PLANS * 2:
            connection.execute(text).fetchall()
        for statement in prepared * 2:
            statement.execute([1] if "?" in statement.text else None).collect()
        table = weakref.ref(connection.session.context.catalog.lookup(("t",)).table)  # type: ignore[union-attr]
        leave(connection)
        gc.collect()

        assert table() is None


def test_a_prepared_statement_without_its_table_s_plan_runs_again() -> None:
    with sqlfront.connect() as connection:
        statement = connection.prepare("SELECT v FROM t WHERE k = ?")
        for shift in (0, 5):
            connection.execute(TABLE.replace("id AS v", f"id + {shift} AS v"))
            assert [statement.execute([k]).collect() for k in (1, 2)] == [[(1 + shift,)], [(2 + shift,)]]
            connection.execute("DROP TABLE t")
