"""Bound expressions as texts: Spark takes them for what they are."""

import datetime
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pytest

from sqlfront_connectors.spark.expression_texts import NoText, aggregate_text, expression_text
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_values.expressions import AggregateCall, Call, Case, Cast, Column, Expr, Literal
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
)

NOON: Final = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
VALUES: Final[list[tuple[pa.DataType, object]]] = [
    (VOID, None),
    (BOOLEAN, True),
    (BOOLEAN, None),
    (TINYINT, -128),
    (SMALLINT, 32767),
    (INT, -2147483648),
    (BIGINT, -9223372036854775808),
    (FLOAT, 0.10000000149011612),
    (DOUBLE, 1e-300),
    (DOUBLE, float("inf")),
    (pa.decimal128(38, 10), Decimal("-1234567890123456789012345678.0123456789")),
    (pa.decimal128(5, 2), Decimal("0.10")),
    (STRING, ""),
    (STRING, "it's a \\ and ${spark.app.name} \n\t%_\u00e9\U0001f600"),
    (STRING, "plain \u00e4"),
    (BINARY, b"\x00'\xff"),
    (DATE, datetime.date(1, 1, 1)),
    (DATE, datetime.date(9999, 12, 31)),
    (TIMESTAMP, NOON.replace(tzinfo=datetime.UTC)),
    (TIMESTAMP, datetime.datetime(1500, 1, 1, tzinfo=datetime.UTC)),
    (TIMESTAMP_NTZ, NOON),
    (pa.list_(INT), None),
]
A: Final = Column(BIGINT, 0, "a")
S: Final = Column(STRING, 1, "s")


@pytest.mark.spark
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_literals_are_what_they_are(link: SparkLink, escaped: str) -> None:
    texts = [expression_text(Literal(kind, value), ()) for kind, value in VALUES]
    link.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        run = link.run(f"SELECT {', '.join(f'{text} AS c{place}' for place, text in enumerate(texts))}")
        assert run.schema.types == [kind for kind, _ in VALUES]
        (batch,) = run.batches()
    finally:
        link.set("spark.sql.parser.escapedStringLiterals", "false")
    assert [column[0].as_py() for column in batch.columns] == [value for _, value in VALUES]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (
            Call(BOOLEAN, "and", (Call(BOOLEAN, "is_null", (S,)), Call(BOOLEAN, "not", (S,)))),
            "((s IS NULL) AND (NOT s))",
        ),
        (Call(BOOLEAN, "in", (A, Literal(BIGINT, 1), Literal(BIGINT, -2))), "(a IN (1L, -2L))"),
        (Call(BOOLEAN, "like", (S, Literal(STRING, "a%"))), "(s LIKE 'a%')"),
        (Call(BOOLEAN, "like", (S, Literal(STRING, "a%"), Literal(STRING, "!"))), "like(s, 'a%', '!')"),
        (Cast(pa.decimal128(9, 1), A), "CAST(a AS DECIMAL(9,1))"),
        (Cast(INT, S, safe=True), "TRY_CAST(s AS INT)"),
        (Call(BIGINT, "negative", (Call(BIGINT, "subtract", (A, Literal(BIGINT, -1))),)), "(- (a - -1L))"),
        (
            Case(INT, ((Call(BOOLEAN, "is_null", (A,)), Literal(INT, 1)),), Literal(INT, None)),
            "CASE WHEN (a IS NULL) THEN 1 ELSE CAST(NULL AS INT) END",
        ),
        (Call(STRING, "upper", (S,)), "upper(s)"),
    ],
)
def test_expressions(expression: Expr, text: str) -> None:
    assert expression_text(expression, ("a", "s")) == text


@pytest.mark.parametrize(
    "expression",
    [
        Literal(DAY_TIME_INTERVAL, datetime.timedelta(1)),
        Cast(STRING, Literal(DAY_TIME_INTERVAL, datetime.timedelta(1))),
        Literal(pa.list_(INT), [1]),
        Call(INT, "dayofweek_iso", (Column(DATE, 0, "d"),)),
        Call(INT, "get_item", (Column(pa.list_(INT), 0, "l"), Literal(INT, 0))),
    ],
)
def test_what_has_no_text(expression: Expr) -> None:
    with pytest.raises(NoText):
        expression_text(expression, ("a",))


def test_aggregates() -> None:
    call = AggregateCall("sum", (A,), BIGINT, distinct=True, filter=Call(BOOLEAN, "is_not_null", (S,)))
    assert aggregate_text(call, ("a", "s")) == "sum(DISTINCT a) FILTER (WHERE (s IS NOT NULL))"
