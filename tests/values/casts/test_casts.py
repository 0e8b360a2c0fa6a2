"""Casts give Spark's value or Spark's error: strict and safe, as column, slice, dictionary and constant."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import Datum, full_array, plain
from sqlfront_values.casts import can_cast, cast_can_fail, compile_cast
from sqlfront_values.errors import DataError
from sqlfront_values.room import NotConstantError, planning
from sqlfront_values.settings import Settings
from sqlfront_values.types import DATE, INT, STRING, TIMESTAMP, decimal, physical
from tests.values.casts.answers import PATH, TYPES, VALUES, asker, statements

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle

UTC = Settings()
ANSWERS: dict[str, list[tuple[str, str | None]]] = json.loads(PATH.read_text(encoding="utf-8"))


def cast(datum: Datum, source: pa.DataType, target: pa.DataType, *, safe: bool = False) -> Datum:
    return compile_cast(source, target, safe=safe, settings=UTC)(datum)


def column(texts: Sequence[str | None], source: pa.DataType) -> pa.Array:
    return cast(from_values(texts, STRING), STRING, source)


def shown(datum: Datum, data_type: pa.DataType, length: int) -> list[str | None]:
    """The values as Spark shows them."""
    return full_array(cast(datum, data_type, STRING), length).to_pylist()


def pair(key: str) -> tuple[pa.DataType, pa.DataType]:
    source, _, target = key.partition(" > ")
    return TYPES[source], TYPES[target]


@pytest.mark.parametrize("key", ANSWERS)
def test_try_cast_gives_sparks_values_and_null_for_what_it_refuses(key: str) -> None:
    source, target = pair(key)
    texts = [text for text, _ in ANSWERS[key]]
    expected = [None if answer is None or answer.startswith("!") else answer for _, answer in ANSWERS[key]]
    values = column(texts, source)

    result = cast(values, source, target, safe=True)

    assert plain(result).type == physical(target)
    assert shown(result, target, len(texts)) == expected


@pytest.mark.parametrize("key", ANSWERS)
def test_cast_gives_sparks_value_or_its_error(key: str) -> None:
    source, target = pair(key)
    for text, answer in ANSWERS[key]:
        value = column([text], source)
        if answer is not None and answer.startswith("!"):
            with pytest.raises(DataError) as caught:
                cast(value, source, target)
            assert caught.value.condition == answer[1:], (text, str(caught.value))
        else:
            assert shown(cast(value, source, target), target, 1) == [answer], text


@pytest.mark.parametrize("key", ANSWERS)
def test_slices_nulls_and_constants_are_cast_alike(key: str) -> None:
    source, target = pair(key)
    good = [(text, answer) for text, answer in ANSWERS[key] if answer is None or not answer.startswith("!")]
    if not good:
        return
    texts = [text for text, _ in good]
    expected = [answer for _, answer in good]
    values = column([texts[0], texts[0], *texts], source)
    with_nulls = column([texts[0], None, *texts, None], source)

    assert shown(cast(values.slice(2), source, target), target, len(texts)) == expected
    assert shown(cast(with_nulls.slice(1), source, target), target, len(texts) + 2) == [None, *expected, None]
    assert shown(cast(values[2], source, target), target, 1) == expected[:1]
    assert len(cast(values.slice(0, 0), source, target)) == 0


@pytest.mark.parametrize("key", [key for key in ANSWERS if key.startswith("string")])
def test_dictionaries_are_cast_alike(key: str) -> None:
    source, target = pair(key)
    texts = [text for text, _ in ANSWERS[key]]
    expected = [None if answer is None or answer.startswith("!") else answer for _, answer in ANSWERS[key]]
    encoded = from_values([*texts, None, *texts], STRING).dictionary_encode()

    result = cast(encoded, source, target, safe=True)

    assert shown(result, target, 2 * len(texts) + 1) == [*expected, None, *expected]


def test_there_are_no_other_casts() -> None:
    stored = {tuple(key.split(" > ")) for key in ANSWERS}

    for source in VALUES:
        for target in TYPES:
            assert can_cast(TYPES[source], TYPES[target]) == ((source, target) in stored), (source, target)


@pytest.mark.parametrize("key", ANSWERS)
def test_a_cast_that_cannot_fail_never_does(key: str) -> None:
    source, target = pair(key)
    errors = [text for text, answer in ANSWERS[key] if answer is not None and answer.startswith("!")]

    assert cast_can_fail(source, target) or errors == []


def test_the_refused_value_is_named() -> None:
    with pytest.raises(DataError, match=r"The value 'abc' of the type \"STRING\" cannot be cast to \"INT\""):
        cast(from_values(["1", "abc"], STRING), STRING, INT)
    with pytest.raises(DataError, match=r"The value 300 of the type \"INT\" cannot be cast to \"TINYINT\""):
        cast(from_values([1, 300], INT), INT, pa.int8())
    with pytest.raises(DataError, match=r"123456 cannot be represented as Decimal\(4, 0\)"):
        cast(from_values([123456], INT), INT, decimal(4, 0))


def test_a_refused_value_that_no_row_has_is_no_error() -> None:
    values = from_values(["1", "x"], STRING)
    codes = from_values([0, 0, 0], INT)

    result = cast(pa.DictionaryArray.from_arrays(codes, values), STRING, INT)

    assert plain(result).to_pylist() == [1, 1, 1]


def test_refused_values_under_nulls_are_no_errors() -> None:
    numbers = pa.Array.from_buffers(
        INT, 2, [pa.py_buffer(b"\x01"), pa.py_buffer(b"\x01\0\0\0\xff\xff\xff\x7f")]
    )

    assert cast(numbers, INT, pa.int8()).to_pylist() == [1, None]
    assert cast(numbers, INT, decimal(3, 0)).to_pylist()[1] is None


def test_elements_of_arrays_maps_and_structs_are_cast() -> None:
    numbers, texts = pa.list_(INT), pa.list_(STRING)
    assert cast(pa.array([[1, None], None, []], numbers), numbers, texts).to_pylist() == [
        ["1", None],
        None,
        [],
    ]
    assert cast(pa.array([["1", "x"]], texts), texts, numbers, safe=True).to_pylist() == [[1, None]]
    with pytest.raises(DataError, match="CAST_INVALID_INPUT"):
        cast(pa.array([["x"]], texts), texts, numbers)
    assert cast(pa.array([[1], [2, 3], [4]], numbers).slice(1), numbers, texts).to_pylist() == [
        ["2", "3"],
        ["4"],
    ]
    source, target = pa.map_(STRING, INT), pa.map_(INT, STRING)
    assert cast(pa.array([[("1", 2)], None], source), source, target).to_pylist() == [[(1, "2")], None]
    before, after = pa.struct([("a", STRING)]), pa.struct([("b", INT)])
    assert cast(pa.array([{"a": "1"}, None], before), before, after).to_pylist() == [{"b": 1}, None]


def test_nested_values_as_text() -> None:
    lists = pa.list_(STRING)
    assert shown(pa.array([["a", None], []], lists), lists, 2) == ["[a, null]", "[]"]
    maps = pa.map_(STRING, pa.list_(pa.float64()))
    assert shown(pa.array([[("a", [1.5])], None], maps), maps, 2) == ["{a -> [1.5]}", None]
    structs = pa.struct([("x", DATE), ("y", INT)])
    assert shown(pa.array([{"x": None, "y": 1}], structs), structs, 1) == ["{null, 1}"]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2020-07-01 12:00:00"),
        ("Europe/Paris", "2020-07-01 14:00:00"),
        ("America/New_York", "2020-07-01 08:00:00"),
    ],
)
def test_timestamps_show_and_read_the_sessions_clock(zone: str, expected: str) -> None:
    settings = Settings(zone)
    instant = column(["2020-07-01 12:00:00"], TIMESTAMP)
    show = compile_cast(TIMESTAMP, STRING, safe=False, settings=settings)
    read = compile_cast(STRING, TIMESTAMP, safe=False, settings=settings)

    assert show(instant).to_pylist() == [expected]
    assert read(from_values([expected], STRING)) == instant
    assert read(from_values(["2020-07-01 12:00:00 UTC"], STRING)) == instant


def test_a_clock_time_that_a_zone_skips_moves_on_by_the_gap() -> None:
    paris = Settings("Europe/Paris")
    read = compile_cast(STRING, TIMESTAMP, safe=False, settings=paris)
    show = compile_cast(TIMESTAMP, STRING, safe=False, settings=paris)

    assert show(read(from_values(["2020-03-29 02:30:00"], STRING))).to_pylist() == ["2020-03-29 03:30:00"]


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("12:30", "12:30:00"),
        (" 1:2:3.5 ", "01:02:03.5"),
        ("T12", "12:00:00"),
        ("T12:30:00Pacific/Kiritimati", "12:30:00"),
    ],
)
def test_a_time_alone_is_a_timestamp_of_today(text: str, clock: str) -> None:
    zone = "Pacific/Kiritimati"
    read = compile_cast(STRING, TIMESTAMP, safe=False, settings=Settings(zone))
    days = [str(datetime.now(ZoneInfo(zone)).date())]
    result = read(from_values([text], STRING))
    days.append(str(datetime.now(ZoneInfo(zone)).date()))

    assert result in [read(from_values([f"{day} {clock}"], STRING)) for day in days]


def test_a_plan_keeps_no_time_of_today() -> None:
    read = compile_cast(STRING, TIMESTAMP, safe=True, settings=Settings())

    with planning(), pytest.raises(NotConstantError, match="the current day"):
        read(from_values(["12:30"], STRING))


@pytest.mark.parametrize("text", ["12", "12:", "24:00", "12:30:45 Nowhere/City", "T"])
def test_what_is_no_time_either_is_malformed(text: str) -> None:
    read = compile_cast(STRING, TIMESTAMP, safe=True, settings=Settings())

    assert read(from_values([text], STRING)).to_pylist() == [None]


def test_void_casts_to_nulls_of_any_type() -> None:
    for target in TYPES.values():
        result = cast(pa.nulls(2), pa.null(), target)
        assert result.type == physical(target)
        assert result.null_count == 2


#: Of so many casts one is asked live: in the test command, and in `make oracle`.
ONE_OF = [400, pytest.param(40, marks=pytest.mark.cluster)]


@pytest.mark.spark
@pytest.mark.parametrize("one_of", ONE_OF)
def test_the_stored_answers_are_sparks(spark: "SparkOracle", one_of: int) -> None:
    ask = asker(spark)
    for number, (key, text, sql) in enumerate(statements()):
        if number % one_of == 0:
            answer = ask(sql)
            if key in ANSWERS:
                assert dict(ANSWERS[key])[text] == answer, sql
            else:
                assert str(answer).startswith("!DATATYPE_MISMATCH"), sql
