"""Connections and cursors beyond PEP 249's own suite."""

import datetime
import gc
import sys
import threading
import time
from decimal import Decimal

import numpy
import polars
import pyarrow as pa
import pytest

import sqlfront
from sqlfront import Connection
from sqlfront.results.result import Parameters


@pytest.fixture
def connection() -> Connection:
    """A connection with a table of three rows."""
    made = sqlfront.connect()
    made.execute("create table t (id bigint, name string, price decimal(10,2))")
    made.execute("insert into t values (1, 'a', 1.50), (2, 'b', null), (3, null, -0.25)")
    return made


def test_module_globals() -> None:
    assert (sqlfront.apilevel, sqlfront.threadsafety, sqlfront.paramstyle) == ("2.0", 2, "qmark")


def test_rows_are_tuples_of_python_values(connection: Connection) -> None:
    rows = connection.execute("select * from t order by id").fetchall()

    assert rows == [(1, "a", Decimal("1.50")), (2, "b", None), (3, None, Decimal("-0.25"))]
    assert type(rows[0]) is tuple


def test_description_names_types_and_sizes(connection: Connection) -> None:
    description = connection.execute("select id, name, price, date'2024-01-01' d, true b from t").description

    assert description is not None
    assert [(column[0], repr(column[1]), column[4], column[5]) for column in description] == [
        ("id", "bigint", None, None),
        ("name", "string", None, None),
        ("price", "decimal(10,2)", 10, 2),
        ("d", "date", None, None),
        ("b", "boolean", None, None),
    ]
    assert [column[1] == sqlfront.NUMBER for column in description] == [True, False, True, False, False]
    assert description[1][1] == sqlfront.STRING
    assert description[3][1] == sqlfront.DATETIME


def test_qmark_and_named_parameters(connection: Connection) -> None:
    assert connection.execute("select id from t where id > ? and name = ?", [0, "b"]).fetchall() == [(2,)]
    assert connection.execute("select :x + id from t where id = :id", {"x": 10, "id": 1}).fetchall() == [
        (11,)
    ]


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (1, "int"),
        (2**31, "bigint"),
        (1.5, "double"),
        (Decimal("1.50"), "decimal(3,2)"),
        ("é", "string"),
        (b"\x00\xff", "binary"),
        (True, "boolean"),
        (datetime.date(2024, 2, 29), "date"),
        (datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=datetime.UTC), "timestamp"),
        (None, "void"),
    ],
)
def test_parameters_come_back_as_they_were_given(value: object, type_name: str) -> None:
    with sqlfront.connect() as connection:
        cursor = connection.execute("select ? as x", [value])
        assert cursor.description is not None
        assert repr(cursor.description[0][1]) == type_name
        assert cursor.fetchall() == [(value,)]


@pytest.mark.parametrize(
    ("value", "type_name", "back"),
    [
        (numpy.int64(3), "bigint", 3),
        (numpy.int32(3), "int", 3),
        (numpy.int8(-3), "tinyint", -3),
        (numpy.float32(1.5), "float", 1.5),
        (numpy.float64(1.5), "double", 1.5),
        (numpy.bool_(True), "boolean", True),
        (numpy.str_("x"), "string", "x"),
        (numpy.datetime64("2024-02-29"), "date", datetime.date(2024, 2, 29)),
        ((1, 2), "array<int>", [1, 2]),
    ],
)
def test_numpy_scalars_and_tuples_are_parameters(value: object, type_name: str, back: object) -> None:
    with sqlfront.connect() as connection:
        cursor = connection.execute("select ? as x", [value])
        assert cursor.description is not None
        assert repr(cursor.description[0][1]) == type_name
        assert cursor.fetchall() == [(back,)]


def test_a_datetime_without_a_zone_is_in_the_sessions() -> None:
    with sqlfront.connect(time_zone="Europe/Berlin") as connection:
        (row,) = connection.execute(
            "select cast(? as string), unix_seconds(?)", [datetime.datetime(2020, 7, 1, 12)] * 2
        )
    assert row == ("2020-07-01 12:00:00", 1593597600)


@pytest.mark.parametrize("given", [[], [1], {"a": 1}])
def test_parameters_without_a_value_are_unbound(connection: Connection, given: Parameters) -> None:
    with pytest.raises(sqlfront.ProgrammingError) as caught:
        connection.execute("select ?, ?" if isinstance(given, list) else "select :a, :b", given)
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("select ?", [1, 2]),
        ("select '?' -- ?", [1]),
        ("select :a", {"a": 1, "b": 2}),
        ("select :a", {"A": 1, "a": 1}),
        ("select :a", [1]),
        ("select ?", {"a": 1}),
        ("show tables", [1]),
    ],
)
def test_surplus_values_are_the_drivers_to_refuse(sql: str, given: Parameters) -> None:
    with sqlfront.connect() as connection:
        with pytest.raises(sqlfront.ProgrammingError, match="statement has"):
            connection.execute(sql, given)
        with pytest.raises(sqlfront.ProgrammingError, match="statement has"):
            connection.cursor().execute(connection.prepare(sql), given)


@pytest.mark.parametrize(
    ("sql", "args"),
    [("select ?", [1, 2]), ("select 1", [1]), ("select :a", {"a": 1, "b": 2}), ("select 1", {"b": 2})],
)
def test_surplus_values_are_ignored_as_spark_sql_does(sql: str, args: Parameters) -> None:
    assert sqlfront.sql(sql, args).collect() == [(1,)]


def test_fetches_in_pieces(connection: Connection) -> None:
    cursor = connection.execute("select id from t order by id")

    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany(1) == [(2,)]
    assert cursor.fetchmany(5) == [(3,)]
    assert (cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall()) == (None, [], [])


def test_cursors_iterate(connection: Connection) -> None:
    assert [row[0] for row in connection.execute("select id from t order by id")] == [1, 2, 3]


def test_arrow_out(connection: Connection) -> None:
    table = connection.execute("select id, price from t order by id").fetch_arrow_table()

    assert table.schema == pa.schema([("id", pa.int64()), ("price", pa.decimal128(10, 2))])
    assert table.column("id").to_pylist() == [1, 2, 3]
    reader = connection.execute("select id from t order by id").fetch_record_batch()
    assert reader.read_all().num_rows == 3
    assert pa.table(connection.execute("select id from t")).num_rows == 3


def test_rowcount_counts_what_was_written(connection: Connection) -> None:
    assert connection.execute("insert into t select id + 10, name, price from t").rowcount == 3
    assert connection.execute("select * from t").rowcount == -1


def test_executemany_without_sets_forgets_the_last_statement(connection: Connection) -> None:
    cursor = connection.execute("select 1 as x").executemany("insert into t values (?, ?, null)", [])
    assert (cursor.rowcount, cursor.description) == (-1, None)


def test_executemany_sums_up(connection: Connection) -> None:
    cursor = connection.executemany("insert into t values (?, ?, null)", [[7, "x"], [8, "y"]])

    assert cursor.rowcount == 2
    assert connection.execute("select count(*) from t").fetchall() == [(5,)]


def test_registered_frames_are_tables(connection: Connection) -> None:
    connection.register("frame", pa.table({"id": [1, 3], "extra": ["x", "y"]}))

    rows = connection.execute("select t.id, extra from t join frame using (id) order by id").fetchall()
    assert rows == [(1, "x"), (3, "y")]
    connection.unregister("frame")
    with pytest.raises(sqlfront.ProgrammingError, match="frame"):
        connection.execute("select * from frame")


def test_frames_of_pandas_polars_and_duckdb(connection: Connection) -> None:
    import duckdb
    import pandas
    import polars

    frames = {
        "pandas": pandas.DataFrame({"a": [1, 2], "s": ["x", None]}),
        "polars": polars.DataFrame({"a": [1, 2], "s": ["x", None]}),
        "duckdb": duckdb.sql("select * from (values (1, 'x'), (2, null)) t(a, s)"),
    }
    for name, frame in frames.items():
        connection.register(f"from_{name}", frame)
        assert connection.execute(f"select a, s from from_{name} order by a").fetchall() == [
            (1, "x"),
            (2, None),
        ]


def test_what_is_no_frame_is_refused(connection: Connection) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="list"):
        connection.register("frame", [1, 2])  # type: ignore[arg-type]


def test_closed_cursors_and_connections_refuse(connection: Connection) -> None:
    cursor = connection.execute("select 1")
    cursor.close()
    with pytest.raises(sqlfront.InterfaceError):
        cursor.fetchall()
    connection.close()
    connection.close()
    with pytest.raises(sqlfront.InterfaceError):
        connection.execute("select 1")


def test_statements_without_rows_have_none_to_fetch(connection: Connection) -> None:
    cursor = connection.execute("drop table t")

    assert cursor.description is None
    with pytest.raises(sqlfront.ProgrammingError):
        cursor.fetchall()


def test_a_timeout_is_told_apart_from_a_cancel() -> None:
    with sqlfront.connect() as connection:
        big = "select count(*) from range(100000000) a join range(100000000) b on a.id % 7 < b.id % 5"
        with pytest.raises(sqlfront.OperationalError) as caught:
            connection.execute(big, timeout=0.2).fetchall()
        assert caught.value.sqlstate == "57014"
        assert connection.execute("select 1").fetchall() == [(1,)]


def test_many_threads_share_a_connection(connection: Connection) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(20):
            found = connection.execute(
                "select id, ? from t where id = ?", [number, 1 + number % 3]
            ).fetchall()
            if found != [(1 + number % 3, number)]:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_forgotten_connections_end_their_threads() -> None:
    before = threading.active_count()
    connection = sqlfront.connect(workers=2)
    connection.register("numbers", pa.table({"a": list(range(200_000))}))
    assert connection.execute("select sum(a) from numbers").fetchall() == [(19999900000,)]
    del connection
    gc.collect()
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)

    assert threading.active_count() <= before


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_names_the_extra(
    connection: Connection, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    cursor = connection.execute("SELECT 1")
    with pytest.raises(sqlfront.OperationalError, match=rf"pip install 'sqlfront\[{library}\]'"):
        cursor.fetch_df() if library == "pandas" else cursor.fetch_polars()


def test_polars_reads_structs_of_a_connection(connection: Connection) -> None:
    sql = (
        "SELECT * FROM VALUES (1, named_struct('a', 1, 'b', 'x'), array(named_struct('z', 1.5BD))), "
        "(2, NULL, NULL) AS t(k, s, l)"
    )
    frame = polars.read_database(sql, connection)

    assert frame.schema["s"] == polars.Struct({"a": polars.Int64, "b": polars.String})
    assert frame.to_dicts() == [
        {"k": 1, "s": {"a": 1, "b": "x"}, "l": [{"z": Decimal("1.5")}]},
        {"k": 2, "s": None, "l": None},
    ]
    pieces = polars.read_database(sql, connection.cursor(), iter_batches=True, batch_size=1)
    assert [piece.shape for piece in pieces] == [(1, 3), (1, 3)]


@pytest.mark.parametrize(
    "sql, hint",
    [
        (
            "SELECT * FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (1)",
            "a Spark session runs the query: connect(spark=...)",
        ),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "a Spark session runs the statement on Spark's own tables"),
    ],
)
def test_what_is_not_supported_says_that_spark_would_run_it(
    connection: Connection, sql: str, hint: str
) -> None:
    with pytest.raises(sqlfront.NotSupportedError) as raised:
        connection.execute(sql)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith(hint)
    assert str(raised.value).endswith(f"HINT: {raised.value.hint}")


def test_what_spark_would_not_run_either_has_no_hint(connection: Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT 1 AS a")
    with pytest.raises(sqlfront.NotSupportedError, match="does not support UPDATE TABLE") as raised:
        connection.execute("UPDATE v SET a = 2")
    assert raised.value.hint is None
