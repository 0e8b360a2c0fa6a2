"""Every type of ours is one of Spark's, and values of it go there and back."""

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from sqlfront_connectors.spark.types import logical_schema, logical_type, spark_schema, spark_type
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.types import INTERVALS, PRIMITIVES, ddl

NESTED = [
    pa.decimal128(1, 0),
    pa.decimal128(18, 18),
    pa.decimal128(38, 6),
    pa.list_(pa.null()),
    pa.list_(pa.list_(pa.timestamp("us"))),
    pa.map_(pa.string(), pa.list_(pa.decimal128(10, 2))),
    pa.struct([("a", INTERVALS["DAY", "HOUR"]), ("A b", pa.struct([("x`y", pa.int8())]))]),
    pa.struct([]),
]
ALL = [*PRIMITIVES, *NESTED]


@pytest.mark.parametrize("data_type", ALL, ids=ddl)
def test_a_type_goes_to_spark_and_back(data_type: pa.DataType) -> None:
    there = spark_type(data_type)

    assert there.simpleString() == ddl(data_type)
    assert logical_type(there) == data_type


def test_a_schema_goes_to_spark_and_back() -> None:
    schema = pa.schema([(f"column {ordinal % 5}", kind) for ordinal, kind in enumerate(ALL)])

    assert logical_schema(spark_schema(schema)) == schema


def test_whether_nulls_are_possible_is_not_told() -> None:
    inner = t.StructType([t.StructField("x", t.ArrayType(t.IntegerType(), False), False)])
    schema = t.StructType([t.StructField("a", t.MapType(t.StringType(), inner, False), False)])

    assert logical_schema(schema) == pa.schema(
        [("a", pa.map_(pa.string(), pa.struct([("x", pa.list_(pa.int32()))])))]
    )


@pytest.mark.parametrize(
    "data_type",
    [
        t.CalendarIntervalType(),
        t.StringType("UTF8_LCASE"),
        t.CharType(3),
        t.VarcharType(3),
    ],
    ids=lambda kind: kind.simpleString(),
)
def test_a_type_that_is_none_of_ours_is_refused_by_its_column(data_type: t.DataType) -> None:
    schema = t.StructType([t.StructField("a", t.StructType([t.StructField("b", t.ArrayType(data_type))]))])

    with pytest.raises(NotSupportedError) as refusal:
        logical_schema(schema)

    assert f"`a.b` has Spark's type {data_type.simpleString()}" in str(refusal.value)
