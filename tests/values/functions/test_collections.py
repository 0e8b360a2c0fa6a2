"""Arrays and maps: every kernel by example, in every form that it may get its arguments in."""

import datetime
from decimal import Decimal
from operator import attrgetter

import pyarrow as pa
import pytest

from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.errors import DataError
from sqlfront_values.types import DAY_TIME_INTERVAL, INT, STRING, VOID
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check, run

INTS = pa.list_(INT)
MAP = pa.map_(STRING, INT)
NAN, NIL = float("nan"), None
DAY = datetime.date(2020, 1, 31)

ELEMENTS: Table = {
    "get_item": [
        ([1, 2], 1, 2),
        (["a", NIL], 1, NIL),
        ([Decimal("1.5"), Decimal("2.5")], 0, Decimal("1.5")),
        ([1, 2], 2, Fails("INVALID_ARRAY_INDEX")),
        ([1, 2], -1, Fails("INVALID_ARRAY_INDEX")),
    ],
    "get": [([1, 2], 1, 2), ([1, 2], 2, Typed(NIL, INT)), ([1, 2], -1, Typed(NIL, INT))],
    "element_at": [
        ([1, 2], 1, 1),
        ([1, 2], -2, 1),
        ([1, 2], 3, Fails("INVALID_ARRAY_INDEX_IN_ELEMENT_AT")),
        ([1, 2], -3, Fails("INVALID_ARRAY_INDEX_IN_ELEMENT_AT")),
        ([1, 2], 0, Fails("INVALID_INDEX_OF_ZERO")),
    ],
    "try_element_at": [
        ([1, 2], 3, Typed(NIL, INT)),
        ([1, 2], -3, Typed(NIL, INT)),
        ([1, 2], 0, Fails("INVALID_INDEX_OF_ZERO")),
    ],
    "size": [([1, NIL], 2), (Typed([], INTS), 0), (Typed([("a", 1)], MAP), 1)],
    "array_size": [([1, NIL], 2)],
}
SEARCH: Table = {
    "array_contains": [
        ([1, 2, NIL], 1, True),
        ([1, 2, NIL], 3, NIL),
        ([1, 2], 3, False),
        ([0.0], -0.0, True),
        ([NAN], NAN, True),
        (["a", "b"], "b", True),
        ([[1], [2]], [2], True),
    ],
    "array_position": [([3, 1, 1], 1, 2), ([3, 2], 5, 0), ([0.0], -0.0, 1)],
    "array_remove": [([1, 2, NIL, 1], 1, [2, NIL]), ([0.0, 1.0], -0.0, [1.0])],
    "array_compact": [([1, NIL, 2], [1, 2]), ([NIL], Typed([], pa.list_(VOID))), ([1], [1])],
    "array_distinct": [
        ([1, 2, 1, NIL, NIL], [1, 2, NIL]),
        ([-0.0, 0.0], [0.0]),
        ([[1], [1], NIL], [[1], NIL]),
        (["b", "a", "b"], ["b", "a"]),
    ],
    "array_union": [([1, 2, NIL], [2, 3, NIL, NIL], [1, 2, NIL, 3]), ([-0.0], [0.0], [0.0])],
    "array_intersect": [([1, 2, NIL, 2], [2, 3, NIL], [2, NIL]), (["a"], ["b"], Typed([], pa.list_(STRING)))],
    "array_except": [([1, 1, 2, NIL], [2, 3], [1, NIL]), ([1, 1, NIL], [NIL, 7], [1])],
    "arrays_overlap": [
        ([1, 2], [2], True),
        ([1, NIL], [2], NIL),
        ([1, NIL], [1], True),
        ([1, NIL], Typed([], INTS), False),
        ([1], [2], False),
    ],
    "sort_array": [
        ([3, 1, NIL, 2], [NIL, 1, 2, 3]),
        ([3, 1, NIL, 2], False, [3, 2, 1, NIL]),
        (["b", "a", "B", "é"], False, ["é", "b", "a", "B"]),
        ([[2], [1, 2], [1]], [[1], [1, 2], [2]]),
    ],
    "array_sort": [([3, 1, NIL, 2], [1, 2, 3, NIL])],
    "array_min": [([NIL, 3, 1], 1), ([Decimal("1.50"), Decimal("1.25")], Decimal("1.25"))],
    "array_max": [([NIL, 3, 1], 3), (["b", "a"], "b"), (Typed([NIL], INTS), Typed(NIL, INT))],
}
SHAPES: Table = {
    "array_append": [([1, 2], 3, [1, 2, 3])],
    "array_prepend": [([1, 2], 3, [3, 1, 2])],
    "array_insert": [
        ([1, 2], 1, 9, [9, 1, 2]),
        ([1, 2], 5, 9, [1, 2, NIL, NIL, 9]),
        ([1, 2], -1, 9, [1, 2, 9]),
        ([1, 2], -2, 9, [1, 9, 2]),
        ([1, 2], -3, 9, [9, 1, 2]),
        ([1, 2], -5, 9, [9, NIL, NIL, 1, 2]),
        ([1, 2], 0, 9, Fails("INVALID_INDEX_OF_ZERO")),
        ([1, 2], 2**31 - 1, 9, Fails("COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION")),
    ],
    "array_repeat": [("a", 2, ["a", "a"]), (1, -1, Typed([], INTS)), ([1], 2, [[1], [1]])],
    "flatten": [([[1, 2], [3]], [1, 2, 3]), ([[1], NIL], Typed(NIL, INTS))],
    "slice": [
        ([1, 2, 3, 4], 2, 2, [2, 3]),
        ([1, 2, 3, 4], -2, 2, [3, 4]),
        ([1, 2, 3], 5, 1, Typed([], INTS)),
        ([1, 2, 3], -5, 1, Typed([], INTS)),
        ([1, 2, 3], 2, 10, [2, 3]),
        ([1, 2], 0, 1, Fails("INVALID_PARAMETER_VALUE.START")),
        ([1, 2], 1, -1, Fails("INVALID_PARAMETER_VALUE.LENGTH")),
    ],
    "reverse": [([1, NIL, 3], [3, NIL, 1]), ("añ😀", "😀ña"), (b"\x01\x02", b"\x02\x01")],
    "array_join": [
        (["a", NIL, "b"], ",", "a,b"),
        (["a", NIL, "b"], ",", "x", "a,x,b"),
        (Typed([], pa.list_(STRING)), ",", ""),
    ],
    "concat": [([1], [2, NIL], [1, 2, NIL])],
}
SEQUENCES: Table = {
    "sequence": [
        (1, 5, [1, 2, 3, 4, 5]),
        (5, 1, [5, 4, 3, 2, 1]),
        (1, 10, 3, [1, 4, 7, 10]),
        (1, 1, 0, [1]),
        (1, 5, -1, Fails(None)),
        (1, 5, 0, Fails(None)),
        (DAY, datetime.date(2020, 2, 2), [DAY, datetime.date(2020, 2, 1), datetime.date(2020, 2, 2)]),
        (DAY, datetime.date(2020, 2, 4), datetime.timedelta(days=3), [DAY, datetime.date(2020, 2, 3)]),
        (2**40, 2**40 + 2, [2**40, 2**40 + 1, 2**40 + 2]),
        (2**40, 2**42, Fails("COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER")),
    ],
}
MAPS: Table = {
    "get_value": [(Typed([("a", 1), ("b", 2)], MAP), "b", 2), (Typed([("a", 1)], MAP), "q", Typed(NIL, INT))],
    "map_contains_key": [(Typed([("a", 1)], MAP), "a", True), (Typed([("a", 1)], MAP), "q", False)],
    "map_keys": [(Typed([("a", 1), ("b", NIL)], MAP), ["a", "b"])],
    "map_values": [(Typed([("a", 1), ("b", NIL)], MAP), [1, NIL])],
    "map_concat": [
        (Typed([("a", 1)], MAP), Typed([("b", 2)], MAP), Typed([("a", 1), ("b", 2)], MAP)),
        (Typed([("a", 1)], MAP), Typed([("a", 2)], MAP), Fails("DUPLICATED_MAP_KEY")),
    ],
    "map_from_arrays": [
        (["a", "b"], [1, NIL], Typed([("a", 1), ("b", NIL)], MAP)),
        (["a", NIL], [1, 2], Fails("NULL_MAP_KEY")),
        (["a", "a"], [1, 2], Fails("DUPLICATED_MAP_KEY")),
        ([0.0, -0.0], [1, 2], Fails("DUPLICATED_MAP_KEY")),
        (["a"], [1, 2], Fails(None)),
    ],
    "str_to_map": [
        ("a:1,b", Typed([("a", "1"), ("b", NIL)], pa.map_(STRING, STRING))),
        ("a1b2", "[0-9]", "x", Typed([("a", NIL), ("b", NIL), ("", NIL)], pa.map_(STRING, STRING))),
        ("a:b", ",", "", Typed([("a", ":b")], pa.map_(STRING, STRING))),
        ("a:1,a:2", Fails("DUPLICATED_MAP_KEY")),
    ],
}


@pytest.mark.parametrize(
    "case",
    [case for table in (ELEMENTS, SEARCH, SHAPES, SEQUENCES, MAPS) for case in cases(table)],
    ids=attrgetter("name"),
)
def test_answer_is_sparks(case: Case) -> None:
    check(case)


def test_nulls_hide_elements_of_lists() -> None:
    """Arrow allows a null row to hold elements; they don't count."""
    offsets = pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]))
    lists = pa.Array.from_buffers(
        INTS, 2, [pa.py_buffer(b"\x02"), offsets], children=[from_values([1, 2, 3], INT)]
    )
    assert run("size", lists).to_pylist() == [NIL, 1]
    assert run("array_distinct", lists).to_pylist() == [NIL, [3]]
    assert run("reverse", lists).to_pylist() == [NIL, [3]]
    assert run("get_item", lists, scalar(0, INT)).to_pylist() == [NIL, 3]


def test_the_fields_of_an_array_of_structs_are_null_where_the_struct_is() -> None:
    lists = from_values(
        [[{"a": 1, "b": "x"}, NIL, {"a": NIL, "b": "y"}], NIL, []],
        pa.list_(pa.struct([("a", INT), ("b", STRING)])),
    )
    name = scalar("a", STRING)
    assert run("get_fields", lists, name).to_pylist() == [[1, NIL, NIL], NIL, []]
    assert run("get_fields", lists.slice(1), scalar("b", STRING)).to_pylist() == [NIL, []]
    assert run("get_fields", scalar([{"a": 7, "b": NIL}], lists.type), name).as_py() == [7]


def test_an_index_under_a_null_array_is_not_looked_at() -> None:
    lists = from_values([[1, 2], NIL], INTS)
    assert run("get_item", lists, from_values([1, 7], INT)).to_pylist() == [2, NIL]
    assert run("element_at", lists, from_values([-1, 0], INT)).to_pylist() == [2, NIL]


def test_sequence_of_dates_steps_by_whole_days_only() -> None:
    step = scalar(datetime.timedelta(hours=12), DAY_TIME_INTERVAL)
    with pytest.raises(DataError, match="day granularity"):
        run("sequence", scalar(DAY, pa.date32()), scalar(DAY, pa.date32()), step)


def test_an_array_of_no_rows() -> None:
    empty = from_values([], INTS)
    for name in ("array_distinct", "sort_array", "reverse", "array_max", "array_compact", "size"):
        assert len(run(name, empty)) == 0
    assert len(run("array_union", empty, empty)) == 0
