"""``show()``, against what Spark printed (``spark_shows.json`` holds Spark 4.3's ``_show_string``)."""

import json
from pathlib import Path

import pytest

import sqlfront
from sqlfront.results.boxes import box, vertical, width

STORED = json.loads((Path(__file__).parent / "spark_shows.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(STORED["shows"])))
def test_show_is_sparks_to_the_letter(number: int) -> None:
    case = STORED["shows"][number]
    result = sqlfront.sql(case.get("sql", STORED["sql"]))

    assert result.show_string(case["n"], case["truncate"], case["vertical"]) == case["text"]


@pytest.mark.parametrize("n", [0, -1])
def test_no_rows_are_shown_of_some(n: int) -> None:
    result = sqlfront.sql("SELECT id FROM range(3)")
    assert result.show_string(n).endswith("+---+\nonly showing top 0 rows")
    assert result.show_string(n, vertical=True) == "(0 rows)"


def test_a_negative_number_of_rows_is_refused() -> None:
    result = sqlfront.sql("SELECT id FROM range(3)")
    for ask in (result.take, result.head, result.limit):
        with pytest.raises(sqlfront.ProgrammingError, match="but got -1") as error:
            ask(-1)
        assert error.value.condition == "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"


def test_wide_characters_take_two_cells() -> None:
    assert [width(text) for text in ("abc", "日本", "é", "🐎")] == [3, 4, 1, 1]


def test_an_empty_box_has_its_header() -> None:
    assert box(["a"], [], 20) == "+---+\n|  a|\n+---+\n+---+\n"


def test_vertical_pads_names_and_values() -> None:
    assert vertical(["name", "x"], [("a", "1")]) == "-RECORD 0---\n name | a   \n x    | 1   \n"
