"""``show()``, against what Spark printed (``spark_shows.json`` holds Spark 4.3's ``_show_string``)."""

import json
from pathlib import Path

import pytest

import sqlfront
from sqlfront.boxes import box, vertical, width

STORED = json.loads((Path(__file__).parent / "spark_shows.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(STORED["shows"])))
def test_show_is_sparks_to_the_letter(number: int) -> None:
    case = STORED["shows"][number]
    result = sqlfront.sql(case.get("sql", STORED["sql"]))

    assert result.show_string(case["n"], case["truncate"], case["vertical"]) == case["text"]


def test_wide_characters_take_two_cells() -> None:
    assert [width(text) for text in ("abc", "日本", "é", "🐎")] == [3, 4, 1, 1]


def test_an_empty_box_has_its_header() -> None:
    assert box(["a"], [], 20) == "+---+\n|  a|\n+---+\n+---+\n"


def test_vertical_pads_names_and_values() -> None:
    assert vertical(["name", "x"], [("a", "1")]) == "-RECORD 0---\n name | a   \n x    | 1   \n"
