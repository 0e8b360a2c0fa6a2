"""Every type goes in and comes out, by parameters, by literals and through reflection."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from sqlalchemy import Column, Engine, Integer, MetaData, Table, inspect, select

from sqlfront.sqlalchemy.types import (
    ARRAY,
    INTERVAL,
    MAP,
    STRUCT,
    TIMESTAMP_NTZ,
    TINYINT,
    arrow_type,
    column_type,
)
from sqlfront_values.errors import DataError, NotSupportedError, ProgrammingError
from sqlfront_values.types import PRIMITIVES, VOID

_UTC = datetime.UTC
_PERSON = STRUCT({"id": Integer, "name": sa.String, "tags": ARRAY(sa.String)})

#: Type, a value, and what comes back if that isn't the value.
CASES: list[tuple[Any, Any, Any]] = [
    (sa.Boolean, True, True),
    (TINYINT, -128, -128),
    (sa.SmallInteger, 32767, 32767),
    (sa.Integer, -(2**31), -(2**31)),
    (sa.BigInteger, -(2**63), -(2**63)),
    (sa.REAL, 0.5, 0.5),
    (sa.Float, 1e300, 1e300),
    (sa.Double, float("-inf"), float("-inf")),
    (sa.Numeric(10, 2), Decimal("-1.5"), Decimal("-1.50")),
    (sa.Numeric(38, 0), Decimal(10**37), Decimal(10**37)),
    (sa.Numeric, Decimal("1.25"), Decimal("1.25")),
    (sa.Numeric(10, 2, asdecimal=False), 1.5, 1.5),
    (sa.String(3), "longer than three", "longer than three"),
    (sa.Text, "it's \\ \n \0 %s ? :x `b` 😀 \u202eabc", None),
    (sa.LargeBinary, b"\x00\xff'", None),
    (sa.Date, datetime.date(1, 1, 1), None),
    (sa.Date, datetime.datetime(2020, 2, 29, 23, 59), datetime.date(2020, 2, 29)),
    (sa.DateTime, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None),
    (sa.DateTime(timezone=True), datetime.datetime(2020, 1, 1, tzinfo=_UTC), None),
    (sa.TIMESTAMP, datetime.datetime(2020, 3, 29, 2, 30), None),
    (TIMESTAMP_NTZ, datetime.datetime(2020, 3, 29, 2, 30), None),
    (sa.Interval, datetime.timedelta(days=-1, microseconds=5), None),
    (INTERVAL("YEAR TO MONTH"), 14, pa.MonthDayNano((14, 0, 0))),
    (INTERVAL("YEAR TO MONTH"), pa.MonthDayNano((-14, 0, 0)), None),
    (sa.ARRAY(sa.Integer), [1, None, -3], None),
    (sa.ARRAY(sa.Integer), [], None),
    (sa.ARRAY(sa.Integer, dimensions=2), [[1], [], None], None),
    (MAP(sa.String, sa.Numeric(5, 1)), {"a": Decimal("1.5"), "b'": None}, None),
    (MAP(sa.Integer, sa.Integer), {}, None),
    (_PERSON, {"id": 1, "name": "it's", "tags": ["x"]}, (1, "it's", ["x"])),
    (_PERSON, (1, None, []), None),
    (STRUCT([("a b`c", sa.DateTime)]), [datetime.datetime(2020, 1, 1)], (datetime.datetime(2020, 1, 1),)),
    (sa.Uuid, __import__("uuid").UUID(int=7), None),
    (sa.Enum("red", "green", name="colour"), "red", None),
]
_IDS = [f"{number}-{case[0]!r:.30}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize(("kind", "value", "shown"), CASES, ids=_IDS)
def test_a_value_comes_back_by_parameter_and_by_literal(
    engine: Engine, kind: Any, value: Any, shown: Any
) -> None:
    expected = value if shown is None else shown
    table = Table("t", MetaData(), Column("x", kind))
    literals = {"literal_binds": True}
    with engine.connect() as connection:
        table.create(connection)
        connection.execute(table.insert(), {"x": value})
        written = table.insert().values(x=value).compile(engine, compile_kwargs=literals)
        connection.exec_driver_sql(str(written))
        connection.execute(table.insert(), [{"x": value}, {"x": value}, {"x": None}])

        assert connection.scalars(select(table.c.x).where(table.c.x.is_not(None))).all() == [expected] * 4
        assert connection.scalar(select(sa.func.count()).where(table.c.x.is_(None))) == 1


@pytest.mark.parametrize("kind", [each for each in PRIMITIVES if each != VOID], ids=str)
def test_reflection_gives_the_type_that_made_the_column(engine: Engine, kind: pa.DataType) -> None:
    nested = pa.struct([("a b", kind), ("`c", pa.list_(pa.map_(pa.string(), kind)))])
    table = Table("t", MetaData(), Column("x", column_type(kind)), Column("y", column_type(nested)))
    with engine.connect() as connection:
        connection.exec_driver_sql("SET spark.sql.timeType.enabled = true")
        table.create(connection)
        columns = inspect(connection).get_columns("t")

        assert [arrow_type(column["type"]) for column in columns] == [kind, nested]


def test_a_time_of_day_comes_back_by_parameter(engine: Engine) -> None:
    table = Table("t", MetaData(), Column("x", sa.Time))
    moment = datetime.time(9, 8, 1, 5)
    with engine.connect() as connection:
        connection.exec_driver_sql("SET spark.sql.timeType.enabled = true")
        table.create(connection)
        connection.execute(table.insert(), [{"x": moment}, {"x": None}])

        assert connection.scalars(select(table.c.x).where(table.c.x == moment)).all() == [moment]


def test_structs_with_other_fields_are_other_statements_to_the_cache(engine: Engine) -> None:
    """Two of them shared a key once: the second statement came back with the first one's fields."""
    with engine.connect() as connection:
        for kind, value in ((STRUCT({"a": Integer}), (1,)), (STRUCT({"b": sa.String}), ("x",))):
            found = connection.scalar(select(sa.cast(sa.bindparam("v", value, kind), kind)))

            assert found is not None
            assert found._fields == tuple(name for name, _ in kind.fields)
            assert found == value


def test_items_of_nested_values_are_reached_by_index(engine: Engine) -> None:
    kinds: dict[str, Any] = {"s": _PERSON, "m": MAP(sa.String, Integer), "a": sa.ARRAY(Integer)}
    table = Table("t", MetaData(), *(Column(name, kind) for name, kind in kinds.items()))
    row = {"s": (7, "x", ["y"]), "m": {"k": 8}, "a": [9, 10]}
    with engine.connect() as connection:
        table.create(connection)
        connection.execute(table.insert(), row)
        s, m, a = table.c.s, table.c.m, table.c.a
        found = connection.execute(select(s["id"], s["tags"][1], m["k"], m["no"], a[2], a[3])).one()

        assert tuple(found) == (7, "y", 8, None, 10, None)
        with pytest.raises(ProgrammingError, match="no field 'nosuch'; its fields: id, name, tags"):
            s["nosuch"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (STRUCT({"a": Integer}), {"b": 1}),
        (STRUCT({"a": Integer}), (1, 2)),
        (STRUCT({"a": Integer}), "x"),
        (sa.ARRAY(Integer), [1.5]),
        (sa.ARRAY(Integer), "12"),
        (sa.ARRAY(Integer), [2**31]),
        (sa.ARRAY(sa.DateTime(timezone=True)), [datetime.datetime(2020, 1, 1)]),
        (sa.ARRAY(sa.DateTime), [datetime.datetime(2020, 1, 1, tzinfo=_UTC)]),
        (MAP(sa.String, Integer), {"a": "b"}),
    ],
)
def test_a_value_that_arrow_would_change_is_refused(engine: Engine, kind: Any, value: Any) -> None:
    with (
        engine.connect() as connection,
        pytest.raises((DataError, sa.exc.StatementError), match="is no value"),
    ):
        connection.execute(select(sa.bindparam("v", value, kind)))


def test_what_is_no_type_of_spark_is_refused() -> None:
    with pytest.raises(ProgrammingError, match="INTERVAL DAY TO MONTH is no type of Spark"):
        INTERVAL("DAY TO MONTH")
    with pytest.raises(NotSupportedError, match="is no type of a value"):
        arrow_type(sa.types.UserDefinedType)


def test_floor_division_of_integers_is_exact_and_rounds_down(engine: Engine) -> None:
    least, most = -(2**63), 2**63 - 1
    numbers = (least, least + 1, -7, -1, 0, 1, 2, 7, 2**53 + 1, most - 1, most)
    pairs = [(a, b) for a in numbers for b in numbers if b and (a, b) != (least, -1)]
    table = Table("t", MetaData(), Column("a", sa.BigInteger), Column("b", sa.BigInteger))
    query = select(table.c.a, table.c.b, table.c.a // table.c.b)
    with engine.connect() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"a": a, "b": b} for a, b in pairs])
        connection.execute(table.insert(), {"a": None, "b": 1})

        expected = {(a, b, a // b) for a, b in pairs} | {(None, 1, None)}
        assert {tuple(row) for row in connection.execute(query)} == expected


def test_floor_division_nests_and_takes_parameters(engine: Engine) -> None:
    seven, two = sa.literal(7), sa.literal(2)
    with engine.connect() as connection:
        quotients = select(seven // two, -seven // two, sa.literal(100) // (seven // two), seven % two // two)
        assert connection.execute(quotients).one() == (3, -4, 33, 0)
        literals = str(quotients.compile(engine, compile_kwargs={"literal_binds": True}))
        assert connection.execute(sa.text(literals)).one() == (3, -4, 33, 0)
