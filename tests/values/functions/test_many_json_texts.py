"""Columns of many JSON texts: by Arrow's reader the same values as text by text."""

import random

import pyarrow as pa
import pytest

from sqlfront_values.functions.json.typed.function_options import read_settings
from sqlfront_values.functions.json.typed.many_texts import ManyTexts
from sqlfront_values.functions.json.typed.texts import text_reader

KIND = pa.struct(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("zip", pa.int32()), ("city", pa.string())])),
    ]
)
NUMBERS = ("1", "0", "-0", "-7", "9223372036854775807", "9223372036854775808", "007")
FRACTIONS = ("1.0", "-0.0", "1e5", "0.10")
WORDS = ('"a"', '""', '"-0"', '"NaN"', '"é\\n"', "null", "true", "false", "NaN", "{}", "[1]")
NAMES = (
    NUMBERS[:2],
    NUMBERS[:4],
    ("true", "false"),
    ("null", "5"),
    (*NUMBERS, *FRACTIONS, *WORDS),
    WORDS[:5],
)


def _texts(source: random.Random, names: tuple[str, ...], spaces: tuple[str, ...]) -> list[str | None]:
    texts: list[str | None] = []
    for number in range(1500):
        name, space = source.choice(names), source.choice(spaces)
        price = source.choice((*NUMBERS[:4], *FRACTIONS, "null"))
        members = [f'"id":{space}{number}', f'"name":{space}{name}', f'"price": {price}']
        if source.random() < 0.5:
            members.append(f'"tags": ["x-0", "{number}"], "place": {{"zip": {number}, "city": "c{number}"}}')
        texts.append(f"{space}{{{', '.join(members)}}}{space}" if source.random() < 0.97 else None)
    return texts


@pytest.mark.parametrize("seed", range(24))
def test_many_texts_are_read_as_one_by_one(seed: int) -> None:
    source = random.Random(seed)
    texts = _texts(
        source, NAMES[seed % len(NAMES)], ("", "", " ") if seed % 4 else ("", " ", "\n", "\r", "\t")
    )
    settings = read_settings({})
    read = text_reader(KIND, settings, "UTC")
    column = pa.array(texts, pa.string())

    found = ManyTexts(KIND, settings, "UTC", read).column(column)

    few = [
        ManyTexts(KIND, settings, "UTC", read).column(column.slice(place, 100))
        for place in range(0, 1500, 100)
    ]
    assert found.to_pylist() == pa.concat_arrays(few).to_pylist()
    assert found.type == few[0].type


@pytest.mark.parametrize("names", [NUMBERS[:2], ("true", "false")])
def test_numbers_and_booleans_as_texts_are_read_by_arrow(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f'{{"name": {names[number % 2]}}}' for number in range(2000)]

    def slowly(text: str) -> object:
        raise AssertionError(text)

    found = ManyTexts(pa.struct([("name", pa.string())]), read_settings({}), "UTC", slowly).column(
        pa.array(texts)
    )

    assert found.field(0).to_pylist() == [names[number % 2] for number in range(2000)]
