"""Values go through user code unchanged, whatever their type."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_engine.processors.user_code.transform import Operation, OperationKind, Transform
from sqlfront_engine.processors.user_code.values import to_logical
from sqlfront_engine.testing import verify_processor
from sqlfront_engine.testing.harness import run_processor
from sqlfront_values.types import DAY_TIME_INTERVAL, YEAR_MONTH_INTERVAL, physical
from sqlfront_values.user_functions import UserFunction

UTC = datetime.UTC
VALUES = [
    (pa.int8(), [1, None, -128]),
    (pa.int64(), [2**63 - 1, None, -(2**63)]),
    (pa.float32(), [0.5, None]),
    (pa.float64(), [1.25, float("inf"), None]),
    (pa.bool_(), [True, None, False]),
    (pa.string(), ["a", None, ""]),
    (pa.binary(), [b"a", None, b""]),
    (pa.decimal128(5, 2), [Decimal("1.50"), None]),
    (pa.decimal128(38, 2), [Decimal("123456789012345678901234567890.12"), None]),
    (pa.date32(), [datetime.date(2020, 2, 29), None]),
    (pa.timestamp("us", "UTC"), [datetime.datetime(2020, 1, 1, 12, tzinfo=UTC), None]),
    (pa.timestamp("us"), [datetime.datetime(2020, 1, 1, 12), None]),
    (pa.list_(pa.decimal128(5, 2)), [[Decimal("1.50"), None], None, []]),
    (pa.struct({"a": pa.int64()}), [{"a": 1}, None]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None]),
    (pa.null(), [None, None]),
]


def identity(kind: OperationKind, schema: pa.Schema) -> Transform:
    return Transform(schema, (Operation(kind, "same", UserFunction(lambda value: value), schema),) * 2)


@pytest.mark.parametrize("kind", [OperationKind.MAP, OperationKind.MAP_BATCHES])
@pytest.mark.parametrize(("data_type", "values"), VALUES, ids=[str(data_type) for data_type, _ in VALUES])
def test_values_stay_what_they_are(data_type: pa.DataType, values: list[object], kind: OperationKind) -> None:
    schema = pa.schema({"v": data_type})
    column = pa.array(values, data_type)
    batch = pa.RecordBatch.from_arrays([column.cast(physical(data_type))], names=["v"])

    (output,) = run_processor(identity(kind, schema), [[batch]])

    assert to_logical(output, schema).column(0).equals(column)


@pytest.mark.parametrize("kind", [OperationKind.MAP, OperationKind.MAP_BATCHES])
@pytest.mark.parametrize(
    ("data_type", "column"),
    [
        (DAY_TIME_INTERVAL, pa.array([datetime.timedelta(seconds=1), None], pa.duration("us"))),
        (YEAR_MONTH_INTERVAL, pa.array([14, None], pa.int32())),
    ],
)
def test_intervals_stay_what_they_are(data_type: pa.DataType, column: pa.Array, kind: OperationKind) -> None:
    batch = pa.RecordBatch.from_arrays([column], names=["v"])

    (output,) = run_processor(identity(kind, pa.schema({"v": data_type})), [[batch]])

    assert output.column(0).equals(column)


def test_dictionary_strings_are_strings() -> None:
    schema = pa.schema({"v": pa.string()})
    batch = pa.RecordBatch.from_arrays([pa.array(["a", None, "a"]).dictionary_encode()], names=["v"])

    for kind in (OperationKind.MAP, OperationKind.MAP_BATCHES):
        (output,) = run_processor(identity(kind, schema), [[batch]])
        assert output.column(0).to_pylist() == ["a", None, "a"]


def test_any_order_gives_the_same_rows() -> None:
    schema = pa.schema({"n": pa.int64()})
    steps = (
        (OperationKind.MAP, lambda n: n + 1),
        (OperationKind.FILTER, lambda n: n % 3),
        (OperationKind.FLAT_MAP, range),
    )
    operations = tuple(Operation(kind, kind.value, UserFunction(code), schema) for kind, code in steps)
    batches = [pa.RecordBatch.from_pydict({"n": list(range(start, start + 5))}) for start in (0, 5)]

    expected = [[value] for n in range(10) if (n + 1) % 3 for value in range(n + 1)]
    verify_processor(Transform(schema, operations), [batches], expected, orders=15)
