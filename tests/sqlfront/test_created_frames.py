"""``createDataFrame`` without Spark. The expected types and rows are those of PySpark 4.3."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sqlfront
from sqlfront.results.row import Row

Point = namedtuple("Point", ["x", "y"])
DAY = dt.date(2024, 1, 2)
NAIVE = dt.datetime(2024, 1, 2, 3, 4, 5)
AWARE = NAIVE.replace(tzinfo=dt.UTC)
FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[5, 7])

#: Data, schema, and what Spark makes of them.
CASES: dict[str, tuple[Any, Any, list[tuple[str, str]], list[tuple[Any, ...]]]] = {
    "tuples": ([(1, "a"), (2, None)], None, [("_1", "bigint"), ("_2", "string")], [(1, "a"), (2, None)]),
    "names": ([(1, "a")], ("k", "v"), [("k", "bigint"), ("v", "string")], [(1, "a")]),
    "too few names": ([(1, "a")], ["k"], [("k", "bigint"), ("_2", "string")], [(1, "a")]),
    "dicts": (
        [{"b": 1, "a": "x"}, {"a": "y", "c": 2.5}],
        None,
        [("a", "string"), ("b", "bigint"), ("c", "double")],
        [("x", 1, None), ("y", None, 2.5)],
    ),
    "dicts and names": ([{"b": 1, "a": "x"}], ["q", "r"], [("q", "string"), ("r", "bigint")], [("x", 1)]),
    "dicts and types": (
        [{"b": 1, "a": "x", "z": 3}, {"a": "z"}],
        "a STRING, b INT",
        [("a", "string"), ("b", "int")],
        [("x", 1), ("z", None)],
    ),
    "rows": ([Row(("b", "a"), (1, "x"))], None, [("b", "bigint"), ("a", "string")], [(1, "x")]),
    "named tuples": ([Point(1, "z")], None, [("x", "bigint"), ("y", "string")], [(1, "z")]),
    "lists": ([[1, "a"]], ["k", "v"], [("k", "bigint"), ("v", "string")], [(1, "a")]),
    "a generator": (
        ((i, i) for i in range(2)),
        ["a", "b"],
        [("a", "bigint"), ("b", "bigint")],
        [(0, 0), (1, 1)],
    ),
    "single values": ([1, None], "int", [("value", "int")], [(1,), (None,)]),
    "colons": (
        [(1, [1, 2])],
        "a: int, b: array<bigint>",
        [("a", "int"), ("b", "array<bigint>")],
        [(1, [1, 2])],
    ),
    "a type's own text": ([(1, "x")], "struct<a:int,b:string>", [("a", "int"), ("b", "string")], [(1, "x")]),
    "structs": (
        [((2, "x"),), ({"q": "x", "p": 2},)],
        "s STRUCT<p: INT, q: STRING>",
        [("s", "struct<p:int,q:string>")],
        [((2, "x"),), ((2, "x"),)],
    ),
    "a map": ([({"q": 2},)], "m MAP<STRING, INT>", [("m", "map<string,int>")], [({"q": 2},)]),
    "numbers for texts": ([(1,), (True,)], "a STRING", [("a", "string")], [("1",), ("true",)]),
    "texts among others": (
        [(1,), ("x",), (True,), (None,)],
        ["a"],
        [("a", "string")],
        [("1",), ("x",), ("true",), (None,)],
    ),
    "no values": ([(None,)], "a INT", [("a", "int")], [(None,)]),
    "no rows": ([], "a INT, b STRING", [("a", "int"), ("b", "string")], []),
    "a list with texts": ([([1, None, "x"],)], ["a"], [("a", "array<string>")], [(["1", None, "x"],)]),
    "decimals": ([(Decimal("1.555"),)], "a DECIMAL(5,2)", [("a", "decimal(5,2)")], [(Decimal("1.56"),)]),
    "a datetime as date": ([(NAIVE,)], "a DATE", [("a", "date")], [(DAY,)]),
    "without a zone": ([(NAIVE,)], "a TIMESTAMP_NTZ", [("a", "timestamp_ntz")], [(NAIVE,)]),
    "names twice": ([(1, 2)], ["a", "a"], [("a", "bigint"), ("a", "bigint")], [(1, 2)]),
    "odd names": ([(1, 2)], ["", "a.b`{c}"], [("", "bigint"), ("a.b`{c}", "bigint")], [(1, 2)]),
    "pandas": (FRAME, None, [("a", "bigint"), ("b", "string")], [(1, "x"), (2, None)]),
    "pandas and names": (FRAME, ["p", "q"], [("p", "bigint"), ("q", "string")], [(1, "x"), (2, None)]),
    "pandas and types": (FRAME, "p INT, q STRING", [("p", "int"), ("q", "string")], [(1, "x"), (2, None)]),
    "integers for names": (pd.DataFrame([[1, 2]]), None, [("0", "bigint"), ("1", "bigint")], [(1, 2)]),
    "arrow": (pa.table({"a": [1]}), "a INT", [("a", "int")], [(1,)]),
    "polars": (pl.DataFrame({"a": [1]}), None, [("a", "bigint")], [(1,)]),
}


@pytest.fixture(scope="module")
def session() -> Iterator[sqlfront.Session]:
    with sqlfront.Session(sqlfront.Config(workers=1, time_zone="America/New_York")) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_rows_and_frames_have_sparks_types(session: sqlfront.Session, name: str) -> None:
    data, schema, kinds, rows = CASES[name]
    made = session.createDataFrame(data, schema)
    assert made.dtypes == kinds
    assert [tuple(row) for row in made.collect()] == rows


def test_the_types_follow_from_the_values(session: sqlfront.Session) -> None:
    row = (
        True, 1, 2.5, "s", b"b", bytearray(b"c"), Decimal("1.5"), DAY, NAIVE, dt.timedelta(days=1), [1],
        {"a": 1}, Row(("p", "q"), (1, "x")), (1, "t"),
    )  # fmt: skip
    made = session.createDataFrame([row, (None,) * len(row)])
    assert [kind for _, kind in made.dtypes] == [
        "boolean", "bigint", "double", "string", "binary", "binary", "decimal(38,18)", "date", "timestamp",
        "interval day to second", "array<bigint>", "map<string,bigint>", "struct<p:bigint,q:string>",
        "struct<_1:bigint,_2:string>",
    ]  # fmt: skip
    assert [tuple(each) for each in made.collect()] == [row, (None,) * len(row)]


def test_a_datetime_without_a_zone_is_in_the_sessions(session: sqlfront.Session) -> None:
    rows = session.createDataFrame([(NAIVE,), (AWARE,)], ["t"])
    assert [row[0] for row in rows.collect()] == [NAIVE, dt.datetime(2024, 1, 1, 22, 4, 5)]
    for frame in (pd.DataFrame({"t": [NAIVE, AWARE.replace(tzinfo=None)]}), pa.table({"t": [NAIVE]})):
        made = session.createDataFrame(frame)
        assert made.dtypes == [("t", "timestamp")]
        assert made.collect()[0][0] == NAIVE


def test_the_rows_become_a_view(session: sqlfront.Session) -> None:
    before = session.sql("SHOW VIEWS").collect()
    made = session.createDataFrame([("UA", 1), ("B6", 2)], "carrier STRING, n INT")
    assert session.sql("SHOW VIEWS").collect() == before
    made.createOrReplaceTempView("flights")
    assert made.count() == 2
    assert session.sql("SELECT sum(n) FROM flights WHERE carrier = 'B6'").collect()[0][0] == 2
    with pytest.raises(AttributeError, match=r"sqlfront\.attach"):
        made.filter("n > 1")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("data", "schema", "text"),
    [
        ([("1",)], "a INT", r"row 1, column a: '1' \(str\) is no value of int"),
        ([(1,), (True,)], "a INT", "row 2, column a: True"),
        ([(1,)], "a DOUBLE", r"1 \(int\) is no value of double"),
        ([(2**40,)], "a INT", "is no value of int"),
        ([(2**70,)], None, "is no value of bigint"),
        ([(Decimal("12345.5"),)], "a DECIMAL(5,2)", r"no value of decimal\(5,2\)"),
        ([(Decimal("NaN"),)], "a DECIMAL(5,2)", "no value of decimal"),
        ([(DAY,)], "a TIMESTAMP", "no value of timestamp"),
        ([(1,)], "a INT, b INT", "row 1 has 1 values, the schema has 2 columns"),
        ([(1, 2), (3,)], ["a", "b"], "row 2 has 1 values"),
        ([(1,), (2.5,)], ["a"], "types bigint and double have no common type"),
        ([(None,)], ["a"], "column a tell no type"),
        ([({},)], ["a"], "column a tell no type"),
        ([], ["a"], "without rows there are no types"),
        ([1], None, "Single values need a schema"),
        ([(1,), None], "a INT", "row 2 is None"),
        ([{1: 2}], None, "a dict of texts"),
        ([({1},)], None, "of the class set has no type"),
        ([(1,)], ["a", "b"], "names 2 columns, the rows have 1"),
        ([(1,)], "a INT) USING x", "a schema of createDataFrame is"),
        ([(1,)], "a INT>, b STRUCT<c INT", "a schema of createDataFrame is"),
        ([(1,)], "a INTT", 'Unsupported data type "INTT"'),
        ([(1,)], "a INT NOT NULL", "NOT NULL"),
        ([(1,)], "a INTERVAL YEAR", "no intervals but"),
        ([(1,)], 5, "not 5"),
        ([()], None, "needs a column"),
        ({"a": [1]}, None, "not a dict"),
        ("abc", None, "not a str"),
        (None, None, "not a NoneType"),
        (FRAME, ["p"], "names 1 columns, the frame has 2"),
        (FRAME["a"], None, "not a Series"),
        (pd.DataFrame({"a": [2**40]}), "a INT", "not in range"),
        (pa.table({"a": ["x"]}), "a INT", "x"),
    ],
)
def test_what_does_not_fit_says_so(session: sqlfront.Session, data: Any, schema: Any, text: str) -> None:
    with pytest.raises(sqlfront.Error, match=text):
        session.createDataFrame(data, schema)


def test_all_values_are_verified(session: sqlfront.Session) -> None:
    assert session.createDataFrame([(1,)], ["a"], samplingRatio=0.5, verifySchema=True).count() == 1
    with pytest.raises(sqlfront.NotSupportedError, match="verifySchema"):
        session.createDataFrame([("x",)], "a INT", verifySchema=False)


def test_pysparks_rows_and_types_need_no_jvm(session: sqlfront.Session) -> None:
    from pyspark.sql import Row as SparkRow
    from pyspark.sql.types import StructType

    schema = StructType().add("a", "integer").add("b", "string")
    assert session.createDataFrame([SparkRow(a=1, b="x")], schema).dtypes == [("a", "int"), ("b", "string")]
    assert session.createDataFrame([SparkRow(b=1, a="x")]).dtypes == [("b", "bigint"), ("a", "string")]
    with pytest.raises(sqlfront.NotSupportedError, match="nullable=False"):
        session.createDataFrame([], StructType().add("a", "integer", nullable=False))
