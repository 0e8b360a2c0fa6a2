"""Arrow data as tables: forms that the engine has to bring into its own."""

import datetime

import pyarrow as pa

from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import ScanRequest
from tests.connectors.reading import read


def column(array: pa.Array) -> list[object]:
    made = ArrowTable("t", pa.table({"c": array}))
    return [row["c"] for row in read(made.snapshot(), [0])]


def test_null_as_a_value_of_a_dictionary_becomes_a_null_index() -> None:
    indices = pa.array([0, 1, 0, 2, None], pa.int32())
    made = ArrowTable(
        "t", pa.table({"c": pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b"]))})
    )

    plan = made.snapshot().scan(ScanRequest((0,)))
    segments = plan.resources[plan.source.resource]  # type: ignore[attr-defined]
    assert isinstance(segments, tuple)
    stored = segments[0].batch.column(0)
    assert stored.to_pylist() == ["a", None, "a", "b", None]
    assert stored.null_count == 2
    assert stored.dictionary.null_count == 0


def test_nanoseconds_are_cut_off() -> None:
    assert column(pa.array([1_500, 2_999], pa.duration("ns"))) == [
        datetime.timedelta(microseconds=1),
        datetime.timedelta(microseconds=2),
    ]


def test_two_tables_never_share_a_resource() -> None:
    tables = [ArrowTable("t", pa.table({"c": [number]})) for number in (1, 2)]
    keys = {key for made in tables for key in made.snapshot().scan(ScanRequest((0,))).resources}

    assert len(keys) == 2
