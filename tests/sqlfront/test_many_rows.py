"""`executemany` with one statement for all rows gives what a statement per row gives."""

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sqlfront
from sqlfront import many_rows
from sqlfront.connection import Connection
from sqlfront_values.types import YEAR_MONTH_INTERVAL

#: Values that a column of each type takes; those of one list may stand in one column of parameters.
_VALUES: dict[str, list[Any]] = {
    "bigint": [0, 1, -(2**31), 2**40, None, True, "12"],
    "int": [0, 7, None, 2**31],
    "string": ["", "it's", 1, 2**40, 1.5, Decimal("1.5"), Decimal("1.50"), Decimal(3), True, None, b"x"],
    "decimal(10,2)": [Decimal("1.5"), Decimal("-2.125"), 3, 2**40, None, 1.25, "2.5"],
    "double": [1.5, float("nan"), 2, None, Decimal("0.1")],
    "timestamp": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), None],
    "date": [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 2, 3), None],
    "binary": [b"", b"\xff", bytearray(b"a"), None],
    "interval year to month": [pa.scalar(3, YEAR_MONTH_INTERVAL), None],
    "array<bigint>": [[1], [], [2**40], [None], None],
    "struct<a:int>": [pa.scalar({"a": 1}, pa.struct([("a", pa.int32())])), None],
}


def _after(connection: Connection, rows: list[tuple[Any, ...]], *, together: bool) -> object:
    """What the table holds after the rows went in by one call or by one call each, or the error's class."""
    statement = "INSERT INTO t (b, a) VALUES (?, ?)"
    try:
        if together:
            assert connection.executemany(statement, rows).rowcount == len(rows)
        else:
            for row in rows:
                connection.execute(statement, row)
    except sqlfront.Error as error:
        connection.execute("DELETE FROM t")
        return type(error)
    found = connection.execute("SELECT * FROM t ORDER BY 1, 2").fetchall()
    connection.execute("DELETE FROM t")
    return repr(found)


@pytest.mark.parametrize("kind", _VALUES)
def test_rows_together_are_rows_one_by_one(kind: str) -> None:
    random.seed(kind)
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE t (a int, b {kind})")
        for _ in range(8):
            few = random.sample(_VALUES[kind], k=min(len(_VALUES[kind]), random.choice((1, 2, 3))))
            rows = [(random.choice(few), place) for place in range(random.randrange(2, 6))]

            assert _after(connection, rows, together=True) == _after(connection, rows, together=False), rows


@pytest.mark.parametrize(
    ("statement", "sets"),
    [
        ("INSERT INTO t VALUES (?, 1)", [(1,), (2,)]),
        ("INSERT OVERWRITE t VALUES (?, ?)", [(1, 2), (3, 4)]),
        ("INSERT INTO t VALUES (?, ?)", [(1, 2)]),
        ("INSERT INTO t VALUES (?, ?)", [(1, 2), (3,)]),
        ("INSERT INTO t VALUES (?, ?)", [("a", 2), (3, 4)]),
        ("INSERT INTO nosuch VALUES (?, ?)", [(1, 2), (3, 4)]),
        ("INSERT INTO t VALUES (:a, :b)", [{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
        ("UPDATE t SET a = ? WHERE b = ?", [(1, 2), (3, 4)]),
    ],
)
def test_other_statements_run_one_by_one(statement: str, sets: list[Any]) -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (a bigint, b bigint)")

        assert many_rows.many_rows(connection.session, statement, sets) is None


def test_a_row_that_cannot_be_stored_leaves_the_table_as_it_was() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (a int)")
        with pytest.raises(sqlfront.Error, match="CAST_OVERFLOW"):
            connection.executemany("insert into `t` (`a`) values (?)", [(1,), (2**40,)])

        assert connection.execute("SELECT * FROM t").fetchall() == []
        assert [row[1] for row in connection.execute("SHOW TABLES").fetchall()] == ["t"]


def test_names_in_backticks_and_line_breaks_are_understood() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (`a ?b` int, `c``,d` string)")
        statement = "\n insert  into table default.`t`\n(`a ?b`, `c``,d`)\nvalues ( ? ,?\n) ;"
        together = many_rows.many_rows(connection.session, statement, [(1, "x"), (2, None)])
        connection.executemany(statement, [(1, "x"), (2, None)])

        assert together is not None
        assert connection.execute("SELECT * FROM t ORDER BY 1").fetchall() == [(1, "x"), (2, None)]


@pytest.mark.parametrize("columns", ["", "(id, price, label)", "(`Label`, ID, Price)"])
def test_decimals_of_several_digits_are_one_statement_beside_a_column_of_texts(columns: str) -> None:
    """Prices have digits of any number; only in a column of texts would a common scale show."""
    prices: list[Any] = [Decimal("0.5"), Decimal("0.25"), 3, None]
    rows: list[tuple[Any, ...]] = [(place, price, f"r{place}") for place, price in enumerate(prices)]
    if columns.startswith("(`"):
        rows = [(label, place, price) for place, price, label in rows]
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (id int, price decimal(10, 2), label string)")
        statement = f"INSERT INTO t {columns} VALUES (?, ?, ?)"

        assert many_rows.many_rows(connection.session, statement, rows) is not None
        connection.executemany(statement, rows)
        assert connection.execute("SELECT price FROM t ORDER BY id").fetchall() == [
            (None if price is None else Decimal(price),) for price in prices
        ]
        other = "INSERT INTO t (label) VALUES (?)"
        assert many_rows.many_rows(connection.session, other, [(Decimal("0.5"),), (Decimal("0.25"),)]) is None
