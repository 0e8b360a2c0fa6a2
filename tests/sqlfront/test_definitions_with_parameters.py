"""Views and copies that are defined with parameters, and read by statements with parameters of their own."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

import sqlfront
from sqlfront_values.errors import NotSupportedError, ProgrammingError


@pytest.fixture
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(workers=1) as connection:
        yield connection


def test_a_view_keeps_the_values_that_it_was_made_with(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT :x a", {"x": 1})
    connection.execute("CREATE TEMPORARY VIEW w AS SELECT ? a, '?' b, ? c", [1, "it's"])

    assert connection.execute("SELECT * FROM v WHERE a = :x", {"x": 2}).fetchall() == []
    assert connection.execute("SELECT * FROM v").fetchall() == [(1,)]
    assert connection.execute("SELECT * FROM w WHERE 0 < ?", [7]).fetchall() == [(1, "?", "it's")]


def test_a_view_shows_the_text_with_the_values(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT :x a, struct(1 AS x) s", {"x": 1})

    [(text,)] = connection.execute("SHOW CREATE TABLE v").fetchall()
    assert str(text).endswith("AS SELECT 1 a, struct(1 AS x) s\n")


def test_another_query_of_a_view_has_values_too(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT 1 a")
    connection.execute("ALTER VIEW v AS SELECT :x b", {"x": 5})

    assert connection.execute("SELECT b FROM v WHERE b < :x", {"x": 6}).fetchall() == [(5,)]


def test_a_cached_query_is_loaded_again_with_its_values(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t AS SELECT id FROM range(3)")
    connection.execute("CACHE TABLE c AS SELECT id FROM t WHERE id >= :x", {"x": 1})
    connection.execute("INSERT INTO t VALUES (7)")

    assert connection.execute("SELECT id FROM c WHERE id > :x ORDER BY id", {"x": 1}).fetchall() == [
        (2,),
        (7,),
    ]


@pytest.mark.parametrize(
    "value",
    [
        1, -3, 2**40, -(2**63), np.int64(5), np.int8(-5), 1.5, -0.0, float("inf"), np.float32(0.1), True,
        None, "it's", "a\\n$b\n\0", "", Decimal("-1.50"), Decimal("1E+3"), Decimal(10) ** 37, b"ab", b"",
        date(2020, 2, 29), datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC), timedelta(days=-1, microseconds=1),
        [1, 2], ["a", None], [],
    ],
)  # fmt: skip
def test_every_value_comes_back_with_its_type(connection: sqlfront.Connection, value: object) -> None:
    statement = "SELECT :x AS a, typeof(:x) AS b, 1 - length(hex(concat(:x, ''))) AS c"
    if isinstance(value, list):
        statement = "SELECT :x AS a, typeof(:x) AS b"
    direct = connection.execute(statement, {"x": value}).fetchall()
    connection.execute(f"CREATE TEMPORARY VIEW v AS {statement}", {"x": value})

    assert repr(connection.execute("SELECT * FROM v").fetchall()) == repr(direct)


def test_names_of_columns_are_those_of_the_values(connection: sqlfront.Connection) -> None:
    """As PySpark 4.3 names them."""
    for value, name in [(1, "1"), (2**40, "1099511627776"), (1.5, "1.5"), ("it's", "it's"), (None, "NULL")]:
        connection.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT ?", [value])
        cursor = connection.execute("SELECT * FROM v")
        assert cursor.description is not None
        assert [column[0] for column in cursor.description] == [name]


def test_a_marker_needs_an_argument(connection: sqlfront.Connection) -> None:
    with pytest.raises(ProgrammingError, match="UNBOUND_SQL_PARAMETER"):
        connection.execute("CREATE VIEW v AS SELECT :y a")
    with pytest.raises(ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        connection.execute("SELECT * FROM v")


def test_a_marker_that_looks_like_a_field_is_refused(connection: sqlfront.Connection) -> None:
    text = "CREATE VIEW v AS SELECT :int a, CAST(named_struct('x', 1) AS struct<x:int>) b"
    with pytest.raises(NotSupportedError, match="can't be told from a field's name"):
        connection.execute(text, {"int": 1})
