"""How large what a function makes can get."""

import pyarrow as pa
import pytest

from sqlfront_values.functions.growth import sizes

MAP = pa.map_(pa.string(), pa.int32())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["ab", None, "", "é" * 3]), [0.25, 0.0, 0.0, 0.75]),
        (pa.array(["ab", None, "abc", "abc"]).dictionary_encode(), [0.25, 0.0, 0.375, 0.375]),
        (pa.array([1, 2, None, 4]), [0.25, 0.25, 0.25, 0.25]),
        (pa.array([[1], None, [], [2, 3, 4]]), [0.25, 0.0, 0.0, 0.75]),
        (pa.array([[("a", 1)], None, [], [("b", 1), ("c", 2), ("d", 3)]], MAP), [0.25, 0.0, 0.0, 0.75]),
        (pa.array([{"a": "x" * 900}, None, {"a": ""}, {"a": "y" * 900}]), [0.5, 0.0, 0.0, 0.5]),
        (pa.nulls(3), [0.0, 0.0, 0.0]),
    ],
    ids=["text", "dictionary", "number", "array", "map", "struct", "void"],
)
def test_what_each_value_takes(column: pa.Array, expected: list[float]) -> None:
    found = sizes(column)

    assert (found / max(found.sum(), 1.0)).tolist() == pytest.approx(expected)
    assert sizes(column[1:])[0] == pytest.approx(found[1], abs=8)
