"""Expressions come back as they were."""

import math
import typing
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_cluster.codec import decode, encode
from sqlfront_values import expressions
from sqlfront_values.errors import InterfaceError, OperationalError
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Chain,
    Column,
    EngineExpr,
    Expr,
    FrameUnit,
    HigherOrder,
    Lambda,
    Literal,
    Parameter,
    Previous,
    RunValue,
    SortKey,
    SortOrder,
    WindowCall,
    WindowFrame,
)
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, decimal
from tests.cluster.codec.values import LOGICAL, PHYSICAL, values

COLUMN = Column(DATE, 3, "day")
CALL = Call(BOOLEAN, "less", (COLUMN, Cast(DATE, Literal(STRING, "2024-02-29"), safe=True)))
LISTS = pa.list_(INT)
EXAMPLES = [
    COLUMN,
    Literal(decimal(12, 2), Decimal("1.50")),
    Parameter(BIGINT, 2),
    RunValue(DATE, "current_date"),
    CALL,
    Cast(STRING, COLUMN),
    Case(INT, ((CALL, Literal(INT, 1)), (CALL, Literal(INT, 2))), Literal(INT, None)),
    Previous(INT),
    HigherOrder(
        LISTS,
        "transform",
        (Column(LISTS, 0, "a"),),
        (COLUMN,),
        (Lambda(1, Call(INT, "add", (Column(INT, 0, "x"), Column(INT, 1)))),),
    ),
    Chain(INT, Literal(INT, 1), (Call(INT, "+", (Previous(INT), Literal(INT, 2))),)),
]
ARGUMENTS = (COLUMN, Literal(INT, 1))
CALLS = [
    SortKey(1, SortOrder.DESCENDING),
    WindowFrame(FrameUnit.ROWS, -1, None),
    WindowFrame(FrameUnit.RANGE, Call(INT, "add", ARGUMENTS), 0),
    AggregateCall("sum", ARGUMENTS, BIGINT, distinct=True, filter=CALL),
    AggregateCall("count", (), BIGINT),
    WindowCall("lag", ARGUMENTS, DATE, WindowFrame(FrameUnit.RANGE, None, 0), ignore_nulls=True),
]


def test_there_is_an_example_of_each_kind() -> None:
    own = {kind for kind in Expr.__subclasses__() if kind.__module__ == expressions.__name__}

    assert {type(example) for example in EXAMPLES} == own == set(typing.get_args(EngineExpr))


@pytest.mark.parametrize("expression", EXAMPLES, ids=lambda expression: type(expression).__name__)
def test_an_expression_comes_back(expression: Expr) -> None:
    assert decode(encode(expression), EngineExpr) == expression


@pytest.mark.parametrize("call", CALLS, ids=lambda call: type(call).__name__)
def test_a_call_comes_back(call: object) -> None:
    assert decode(encode(call), type(call)) == call


@pytest.mark.parametrize("data_type", [*LOGICAL, *PHYSICAL], ids=str)
def test_a_type_comes_back(data_type: pa.DataType) -> None:
    for _ in range(2):  # made, then remembered
        back = decode(encode(Column(data_type, 0)), EngineExpr).type
        assert back == data_type
        assert str(back) == str(data_type)


def test_a_schema_comes_back_with_names_nullability_and_metadata() -> None:
    fields = [pa.field("a", INT, nullable=False), pa.field("a", STRING, metadata={"k": "v"})]
    for schema in (pa.schema(fields, metadata={"m": "n"}), pa.schema([])):
        assert decode(encode(schema), pa.Schema).equals(schema, check_metadata=True)


@given(st.data())
def test_the_value_of_a_literal_comes_back_by_its_type(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from([*LOGICAL, *PHYSICAL]))
    value = data.draw(values(data_type))

    back = decode(encode(Literal(data_type, value)), EngineExpr)

    assert isinstance(back, Literal)
    assert repr(back.value) == repr(value)  # for which NaN is NaN, -0.0 isn't 0.0, and 1.50 isn't 1.5


def test_a_literals_value_must_be_of_its_type() -> None:
    with pytest.raises(OperationalError, match="malformed"):
        decode(encode(Literal(DATE, "yesterday")), EngineExpr)
    with pytest.raises(OperationalError, match="malformed"):
        decode(encode(Literal(pa.int8(), 128)), EngineExpr)


def test_not_a_number_is_no_null() -> None:
    back = decode(encode(Literal(DOUBLE, math.nan)), EngineExpr)

    assert isinstance(back, Literal)
    assert isinstance(back.value, float)
    assert math.isnan(back.value)


def test_an_expression_of_the_planners_own_does_not_travel() -> None:
    class Foreign(Expr, frozen=True, tag_field="kind", tag=True):
        ordinal: int

    with pytest.raises(OperationalError, match="Foreign"):
        decode(encode(Foreign(INT, 0)), EngineExpr)


def test_what_cannot_travel_is_refused_where_it_would_start() -> None:
    for value in (object(), Literal(INT, object()), Literal(decimal(38, 0), 10**30), "\ud800"):
        with pytest.raises(InterfaceError, match="can't be sent"):
            encode(value)


def test_an_expression_nested_too_deeply_is_refused_on_both_sides() -> None:
    deep: Expr = COLUMN
    for _ in range(10_000):
        deep = Cast(STRING, deep)
    with pytest.raises(InterfaceError, match="recursion"):
        encode(deep)
    with pytest.raises(OperationalError, match="recursion"):
        decode(b"\x94\xa4Cast\xa6string" * 100_000, EngineExpr)
