"""Rows as Python values: what PySpark's collect gives, by ``repr``."""

import datetime
from collections.abc import Iterator

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.results.result import Result, Statistics
from sqlfront.results.row import Row
from sqlfront.session import Session
from sqlfront_values.errors import DataError, InterfaceError, OperationalError

NESTED = {
    "array(timestamp'2020-01-01 01:02:03')": "[datetime.datetime(2020, 1, 1, 1, 2, 3)]",
    "map('a', timestamp'2020-01-01')": "{'a': datetime.datetime(2020, 1, 1, 0, 0)}",
    "struct(1 AS a, timestamp_ntz'2020-01-01' AS b)": "Row(a=1, b=datetime.datetime(2020, 1, 1, 0, 0))",
    "map('a', 1, 'b', null)": "{'a': 1, 'b': None}",
    "array(map(1, 2))": "[{1: 2}]",
    "array(struct(1, 2), null)": "[Row(col1=1, col2=2), None]",
    "map(struct(1, 2), 1)": "{Row(col1=1, col2=2): 1}",
    "named_struct('x', named_struct('y', array(1)))": "Row(x=Row(y=[1]))",
    "struct()": "Row()",
    "array()": "[]",
    "array(x'01')": "[b'\\x01']",
    "array(1.50BD)": "[Decimal('1.50')]",
    "array(true, null)": "[True, None]",
    "array(null)": "[None]",
    "struct(null)": "Row(col1=None)",
    "map(1.5BD, cast(0.1 as float))": "{Decimal('1.5'): 0.10000000149011612}",
    "array(array(timestamp'2020-01-01'), null)": "[[datetime.datetime(2020, 1, 1, 0, 0)], None]",
}


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as session:
        yield session


@pytest.mark.parametrize(("expression", "shown"), NESTED.items())
def test_collect_gives_what_pyspark_gives(session: Session, expression: str, shown: str) -> None:
    [row] = session.sql(f"SELECT {expression} AS c").collect()

    assert repr(row[0]) == shown


def test_nulls_and_slices_of_nested_columns(session: Session) -> None:
    rows = session.sql(
        "SELECT id, CASE WHEN id % 2 = 0 THEN map(id, array(struct(id AS i))) END AS m FROM range(2000)"
    ).collect()

    assert [row.m for row in rows] == [{i: [Row(("i",), (i,))]} if i % 2 == 0 else None for i in range(2000)]


def test_the_driver_gives_aware_datetimes_at_every_depth() -> None:
    moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    with sqlfront.connect() as connection:
        rows = connection.execute("SELECT timestamp'2020-01-01', array(timestamp'2020-01-01')").fetchall()

    assert rows == [(moment, [moment])]
    inner = rows[0][1]
    assert isinstance(inner, list)
    assert inner[0].tzinfo is not None


def test_a_row_knows_its_fields() -> None:
    (row,) = sqlfront.sql("SELECT 1 AS a, array(named_struct('b', map('c', struct(2)))) AS d").collect()

    assert row.__fields__ == ["a", "d"]
    assert ("a" in row, 1 in row) == (True, False)
    assert row.asDict()["d"] == [Row(["b"], [{"c": Row(["col1"], [2])}])]
    assert row.asDict(recursive=True) == {"a": 1, "d": [{"b": {"c": {"col1": 2}}}]}


def _broken_off(error: BaseException) -> Iterator[pa.RecordBatch]:
    """Two rows, and then the error."""
    yield pa.RecordBatch.from_pydict({"x": pa.array([1, 2], pa.int64())})
    raise error


_ZERO = DataError("Division by zero.", condition="DIVIDE_BY_ZERO")


@pytest.mark.parametrize("first", ["collect", "count", "toArrow", "show_string", "toLocalIterator"])
@pytest.mark.parametrize("error", [_ZERO, OperationalError("stopped"), KeyboardInterrupt()])
def test_rows_before_an_error_never_pass_for_all_rows(first: str, error: BaseException) -> None:
    schema = pa.schema([("x", pa.int64())])
    result = Result(schema, _broken_off(error), Statistics("light", "", 0.0))
    assert result.take(2) == [(1,), (2,)]
    with pytest.raises(type(error)):
        list(getattr(result, first)() if first != "count" else [result.count()])
    for again in (result.collect, result.count, result.toArrow, lambda: list(result.toLocalIterator())):
        with pytest.raises(InterfaceError, match="run the statement again"):
            again()
    assert result.take(2) == [(1,), (2,)]


def test_an_error_is_no_end_of_a_cursor_s_rows() -> None:
    with sqlfront.connect(workers=1) as connection:
        cursor = connection.execute("SELECT id AS x FROM range(100000)")
        assert cursor._result is not None
        cursor._result._source = _broken_off(_ZERO)
        with pytest.raises(DataError):
            cursor.fetchall()
        for again in (cursor.fetchall, cursor.fetchmany, cursor.fetchone, lambda: list(cursor)):
            with pytest.raises(InterfaceError, match="DIVIDE_BY_ZERO"):
                again()
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
