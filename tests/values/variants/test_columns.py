"""Columns of variants are read as their single rows are."""

import json
import random

import pyarrow as pa
import pytest

from sqlfront_values.casts import compile_cast
from sqlfront_values.functions.json.typed.variant_trees import variant_of_text
from sqlfront_values.functions.json.variant_writing import column_texts
from sqlfront_values.settings import DEFAULT_SETTINGS
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    VARIANT,
    decimal,
)
from sqlfront_values.variants.building import rebuilt
from sqlfront_values.variants.columns import OddVariantsError, parts_of
from sqlfront_values.variants.paths import at_path, parse_path
from sqlfront_values.variants.reading import variant_of
from sqlfront_values.variants.texts import json_text

_ATOMS = (
    1,
    -129,
    40_000,
    2**40,
    2**63,
    -(2**63),
    True,
    None,
    "x",
    "é😀",
    "y" * 70,
    "12",
    "2020-01-01",
    0.1,
    1e300,
    12.5,
)


def _value(chance: random.Random, depth: int, longest: int = 300) -> object:
    kind = chance.random() if depth else 1
    if kind < 0.5:
        return {
            name: _value(chance, depth - 1, longest) for name in chance.sample("abé", chance.randrange(4))
        }
    if kind < 0.7:
        return [_value(chance, depth - 1, longest) for _ in range(chance.choice([0, 1, 3, longest]))]
    return chance.choice(_ATOMS)


def _rows(seed: int, depth: int = 3) -> list[bytes | None]:
    chance = random.Random(seed)
    return [
        variant_of_text(json.dumps(_value(chance, depth))) if chance.random() < 0.9 else None
        for _ in range(80)
    ]


@pytest.mark.parametrize("path", ["$", "$.a", "$.a.b", "$.b[0]", "$[1]", "$[2].é", "$.none", "$.a[299]"])
def test_a_path_finds_the_parts_of_all_rows(path: str) -> None:
    steps = parse_path(path)
    assert steps is not None
    rows = _rows(1)
    expected = [None if row is None else at_path(variant_of(row), steps) for row in rows]
    for start in (0, 17):
        parts = parts_of(pa.array(rows, BINARY).slice(start)).at_path(steps)
        wanted = {place: part for place, part in enumerate(expected[start:]) if part is not None}
        assert parts.rows.tolist() == list(wanted)
        plain = parts.only(~parts.are_nested())
        found = plain.plain_rows(len(rows) - start)
        for place in plain.rows.tolist():
            assert found[place].as_py() == rebuilt(wanted[place])
        assert found.null_count == len(found) - len(plain.rows)


@pytest.mark.parametrize(
    "target",
    [BIGINT, INT, STRING, DOUBLE, FLOAT, BOOLEAN, decimal(10, 2), DATE, TIMESTAMP, BINARY],
    ids=str,
)
@pytest.mark.parametrize("depth", [0, 1])
def test_a_column_is_cast_as_its_rows(target: pa.DataType, depth: int) -> None:
    column = pa.array(_rows(2, depth), BINARY)
    cast = compile_cast(VARIANT, target, safe=True, settings=DEFAULT_SETTINGS)
    rows = [cast(column.slice(place, 1)) for place in range(len(column))]
    found = cast(column)
    assert found.equals(pa.concat_arrays(rows))


@pytest.mark.parametrize("seed", range(20))
def test_a_column_has_the_json_texts_of_its_rows(seed: int) -> None:
    chance = random.Random(seed)
    shapes = [random.Random(seed + place).getstate() for place in range(2)]
    rows = []
    for _ in range(200):
        fixed = random.Random()
        fixed.setstate(chance.choice(shapes))
        rows.append(variant_of_text(json.dumps(_filled(_value(fixed, 3, longest=5), chance))))
    column = pa.array(rows, BINARY)
    expected = [json_text(variant_of(row), "UTC") for row in rows]
    assert column_texts(parts_of(column)).to_pylist() == expected
    assert column_texts(parts_of(column.slice(50))).to_pylist() == expected[50:]


def _filled(shape: object, chance: random.Random) -> object:
    """Return a value of the same shape with other atoms."""
    match shape:
        case dict():
            return {name: _filled(value, chance) for name, value in shape.items()}
        case list():
            return [_filled(value, chance) for value in shape]
        case _:
            return chance.choice([atom for atom in _ATOMS if atom != 2**63])


def test_damaged_bytes_are_left_to_the_rows_or_read_as_they_read_them() -> None:
    row = variant_of_text('{"a":"xyz"}')
    quick = 0
    for place in range(4, len(row)):
        for code in (0, 0xFF):
            damaged = row[:place] + bytes([code]) + row[place + 1 :]
            try:
                found = parts_of(pa.array([damaged], BINARY)).at_path(("a",)).plain_rows(1)
            except OddVariantsError:
                continue
            part = at_path(variant_of(damaged), ("a",))
            assert found[0].as_py() == (None if part is None else rebuilt(part))
            quick += 1
    assert quick
