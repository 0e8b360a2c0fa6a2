"""Types of expressions; all expected types are Spark's answers."""

import pyarrow as pa
import pytest

from sqlfront_planner.types import common_type
from tests.planner.bound_queries import types

TYPES = [
    ("2147483647", "int"),
    ("2147483648", "bigint"),
    ("-2147483648", "int"),
    ("-9223372036854775808", "bigint"),
    ("9223372036854775808", "decimal(19,0)"),
    ("1.5", "decimal(2,1)"),
    (".5", "decimal(1,1)"),
    ("1e0", "double"),
    ("1Y", "tinyint"),
    ("1.5F", "float"),
    ("1Y + 1S", "smallint"),
    ("1 + 1L", "bigint"),
    ("1 / 2", "double"),
    ("1 div 2", "bigint"),
    ("1 + cast(1 as float)", "double"),
    ("1 + 1.5", "decimal(3,1)"),
    ("a + 1.5", "decimal(12,1)"),
    ("1.5 * 2", "decimal(4,1)"),
    ("1.50 / 3", "decimal(7,6)"),
    ("a / 2.5", "decimal(17,6)"),
    ("m * 2Y", "decimal(16,2)"),
    ("m * 3S", "decimal(14,2)"),
    ("1.5 + 1e0", "double"),
    ("cast(1 as decimal(38,0)) + cast(1 as decimal(38,10))", "decimal(38,6)"),
    ("'1' + 1", "bigint"),
    ("'1' * 2.0", "double"),
    ("-'3'", "double"),
    ("null + null", "double"),
    ("1 + null", "int"),
    ("null div null", "bigint"),
    ("coalesce(1, 'a')", "bigint"),
    ("coalesce(1, 1.5)", "decimal(11,1)"),
    ("coalesce(1.5, '2')", "double"),
    ("coalesce(d, ts)", "timestamp"),
    ("coalesce(d, '2020')", "date"),
    ("coalesce(cast(1 as decimal(38,0)), cast(1 as decimal(38,10)))", "decimal(38,0)"),
    ("nullif(1, 2L)", "int"),
    ("case when p then 1 else 'a' end", "bigint"),
    ("d + 1", "date"),
    ("d + interval 1 day", "date"),
    ("d + interval 1 hour", "timestamp"),
    ("d + interval 1 month", "date"),
    ("x'61' || 'b'", "string"),
    ("cast(a as decimal(5))", "decimal(5,0)"),
    ("try_cast(s as date)", "date"),
]


@pytest.mark.parametrize("sql, expected", TYPES)
def test_type_is_sparks(sql: str, expected: str) -> None:
    assert types(f"select {sql} from t") == [expected]


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("sum(1.5)", "decimal(12,1)"),
        ("avg(m)", "decimal(16,6)"),
        ("sum(1Y)", "bigint"),
        ("avg(a)", "double"),
        ("sum('1')", "double"),
        ("count(*)", "bigint"),
    ],
)
def test_type_of_an_aggregate_is_sparks(sql: str, expected: str) -> None:
    assert types(f"select {sql} from t") == [expected]


def test_set_operations_widen_every_column() -> None:
    assert types("select 1, 'a', d from t union all select 2.5, null, ts from t") == [
        "decimal(11,1)",
        "string",
        "timestamp",
    ]


def test_values_take_the_widest_type_of_a_column() -> None:
    assert types("select * from values (1, null), (2.5, 'x')") == ["decimal(11,1)", "string"]


def test_types_are_combined_in_their_order() -> None:
    kinds = [pa.string(), pa.int32(), pa.decimal128(3, 1)]

    assert common_type(kinds) == pa.decimal128(21, 1)
    assert common_type(reversed(kinds)) == pa.float64()
