"""Columns of many JSON texts, read at a path as text by text."""

import random
from typing import Final

import pyarrow as pa
import pytest

from tests.values.functions.kernel_cases import run

_NUMBERS: Final = ("1", "0", "-0", "12345678901234567890", "007")
_FRACTIONS: Final = ("1.0", "-0.0", "1e5", "0.10", "1e-7", "12.25")
_TEXTS: Final = ('"x"', '""', '"é\\n\\u00e9"', '"\\ud83d"', '"\\ud83d\\ude00"', '"2024-01-02 03:04:05"')
_REST: Final = ("null", "true", "false", "NaN", "{}", '{"x": 1.50}', "[1, 2]", "[]")
#: Values that may occur together.
_KINDS: Final = (
    _TEXTS[:3],
    _TEXTS,
    _NUMBERS[:2],
    _NUMBERS,
    ("1.5", "0.10", "3.25", "7", "2.0"),
    _FRACTIONS,
    ("true", "false", "null"),
    ("null",),
    (*_TEXTS, *_NUMBERS, *_FRACTIONS, *_REST),
)
_ODD: Final = (
    "",
    "{",
    "[1]",
    "{'a': 1}",
    '{"a": 1} x',
    '{"a": 1}{"b": 2}',
    ' {"a": {"b": 1}}',
    '{"a":null,"a":2}',
)


def _texts(chance: random.Random, values: tuple[str, ...], *, odd: bool) -> list[str | None]:
    texts: list[str | None] = []
    for _ in range(1500):
        value, other = chance.choice(values), chance.choice(values)
        members = [f'"a": {value}', f'"b": {{"c": {other}, "d": [{value},{other}]}}', '"e": [{"f": 1}]']
        text = "{" + ", ".join(member for member in members if chance.random() < 0.9) + "}"
        is_odd = odd and chance.random() < 0.01
        texts.append(None if chance.random() < 0.05 else chance.choice(_ODD) if is_odd else text)
    return texts


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("values", _KINDS)
@pytest.mark.parametrize("path", ["$.a", "$.b.c", "$.b.d[1]", "$.b", "$.e[0].f", "$.a[0]", "$.none.x"])
def test_a_column_has_the_values_of_its_texts(path: str, values: tuple[str, ...], odd: bool) -> None:
    texts = _texts(random.Random(1), values, odd=odd)
    column = pa.array(texts)
    many, *few = (
        run("get_json_object", part, pa.scalar(path))
        for part in (column, *(column.slice(start, 100) for start in range(0, len(column), 100)))
    )
    assert many.to_pylist() == pa.concat_arrays(few).to_pylist()
