"""Levenshtein distances of all rows at once."""

import random

import pyarrow as pa

from sqlfront_values.functions.text.edit_distance import distances
from sqlfront_values.functions.text.similarity import levenshtein


def test_columns_have_the_distances_of_their_texts() -> None:
    chance = random.Random(1)
    left, right = (
        ["".join(chance.choices("abc ", k=chance.choice([0, 1, 5, 63, 64]))) for _ in range(500)]
        for _ in range(2)
    )
    expected = [levenshtein(*pair) for pair in zip(left, right, strict=True)]
    found = distances(pa.array(left), pa.array(right))
    assert found is not None
    assert found.tolist() == expected
    sliced = distances(pa.array(left).slice(7), pa.array(right).slice(7))
    assert sliced is not None
    assert sliced.tolist() == expected[7:]


def test_long_texts_and_other_characters_are_left_to_python() -> None:
    assert distances(pa.array(["é"]), pa.array(["e"])) is None
    assert distances(pa.array(["x" * 65]), pa.array(["x"])) is None
