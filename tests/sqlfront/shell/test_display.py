"""Layouts of rows, errors and plans, without a terminal."""

import io
import random
from collections.abc import Iterable, Sequence

import pytest
from wcwidth import wcswidth

import sqlfront
from sqlfront.shell.interactive.display.cells import Heading, ShownRow, blocks_of, headings_of
from sqlfront.shell.interactive.display.failures import caret_lines, failure_lines
from sqlfront.shell.interactive.display.plan_tree import plan_lines
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.table import TableLayout, fitted
from sqlfront.shell.interactive.display.vertical import VerticalLayout
from sqlfront.shell.interactive.display.visible import cells_of, cut, visible
from sqlfront_values.errors import ProgrammingError


class Utf8(io.StringIO):
    """A text file in memory that says that it can hold all characters."""

    encoding = "utf-8"


def screen(coloured: bool = False) -> Screen:
    return Screen(Utf8(), coloured)


def headings(*names: str, right: Iterable[str] = ()) -> list[Heading]:
    return [Heading(name, name in right) for name in names]


def drawn(names: Sequence[Heading], rows: Sequence[ShownRow], width: int | None) -> tuple[str, str]:
    layout = TableLayout(names, width, "NULL", screen())
    return "\n".join(layout.lines(rows)), layout.note


def test_numbers_are_right_aligned_and_null_is_no_empty_string() -> None:
    text, note = drawn(headings("id", "name", right=["id"]), [("1", "a"), ("200", ""), (None, None)], 80)

    assert text.split("\n") == ["   id │ name", "──────┼──────", "    1 │ a", "  200 │", " NULL │ NULL"]
    assert note == ""


def test_wide_values_are_cut_then_columns_are_left_out() -> None:
    text, note = drawn(headings("a", "b"), [("x" * 100, "y")], 30)
    assert max(map(len, text.split("\n"))) <= 30
    assert "…" in text
    assert note == r"long values are cut, \x shows them"

    names = [f"column_{number}" for number in range(30)]
    text, note = drawn(headings(*names), [tuple(names)], 60)
    shown = text.split("\n")[0].replace("│", "").split()
    assert shown == ["column_0", "column_1", "column_2", "…", "column_28", "column_29"]
    assert note == r"5 of 30 columns shown, \x shows all"


def test_wider_rows_of_a_later_block_draw_the_headings_again() -> None:
    layout = TableLayout(headings("a"), 40, "NULL", screen())
    first, later = list(layout.lines([("x",)])), list(layout.lines([("longer",)]))

    assert [line.strip() for line in first] == ["a", "───", "x"]
    assert [line.strip() for line in later] == ["a", "────────", "longer"]


WORDS = ["", "a", "abc", "日本語", "مرحبا", "👍🏽", "👩‍👩‍👧", "e\u0301", "\u200b", "x" * 90, "ß", "한글"]


def test_no_line_is_wider_than_the_terminal_and_bars_stand_below_each_other() -> None:
    chance = random.Random(3)
    for _ in range(400):
        columns = chance.randrange(1, 20)
        names = [visible(chance.choice(WORDS)) for _ in range(columns)]
        rows = [
            tuple(None if chance.random() < 0.2 else visible(chance.choice(WORDS)) for _ in range(columns))
            for _ in range(4)
        ]
        width = chance.choice([12, 20, 40, 80, 200])
        text, _ = drawn(headings(*names, right=names[:1]), rows, width)
        lines = text.split("\n")
        assert all(wcswidth(line) <= width for line in lines)
        bars = {
            tuple(wcswidth(line[:at]) for at, letter in enumerate(line) if letter == "│")
            for line in (lines[0], *lines[2:])
        }
        assert len({places[: min(map(len, bars))] for places in bars}) == 1


@pytest.mark.parametrize("width", [1, 2, 5, 9])
def test_a_terminal_of_few_cells_raises_nothing(width: int) -> None:
    assert drawn(headings("abc", "def"), [("x" * 10, None)], width)
    assert fitted([5] * 50, width).widths


def test_control_characters_and_turned_lines_are_escapes() -> None:
    assert visible("a\x1b]0;x\x07\u202e\ud800\x9b") == r"a\x1b]0;x\a\u202e\ud800\x9b"
    assert visible("日本 مرحبا") == "日本 مرحبا"


def test_cutting_leaves_room_for_the_ellipsis() -> None:
    for text in WORDS:
        for most in range(1, 12):
            assert wcswidth(cut(text, most)) <= most


def test_vertical_rows_show_every_value_whole() -> None:
    layout = VerticalLayout(headings("id", "名前"), "NULL", screen())

    assert list(layout.lines([("1", "x" * 200), ("2", None)])) == [
        "─[ 1 ]──────────",
        "id   │ 1",
        "名前 │ " + "x" * 200,
        "─[ 2 ]──────────",
        "id   │ 2",
        "名前 │ NULL",
    ]


def test_a_caret_stands_below_its_token_behind_wide_characters() -> None:
    sql = "select\n\t'日本語' as a, nope"
    at = sql.index("nope")
    text, caret = caret_lines(sql, (at, at + 4), 80)

    assert text == "LINE 2:     '日本語' as a, nope"
    assert caret.count("^") == 4
    assert wcswidth(text[: text.index("nope")]) == caret.index("^")


def test_a_caret_is_on_the_screen_for_every_place_of_a_long_line() -> None:
    sql = "select " + ", ".join(f"日{number}" for number in range(300))
    for at in range(0, len(sql), 7):
        text, caret = caret_lines(sql, (at, at + 3), 80)
        assert wcswidth(text) <= 80
        assert len(caret) <= 80
        assert "^" in caret


def test_errors_are_red_only_with_colours() -> None:
    error = ProgrammingError("no\x1b[2J", position=(7, 8))
    error.locate("select x")

    plain = list(failure_lines(error, screen()))
    assert plain == [r"ProgrammingError: no\x1b[2J", "LINE 1: select x", "               ^"]
    assert "\x1b[1;31m" in "".join(failure_lines(error, screen(coloured=True)))


def test_a_plan_that_ran_is_a_tree_with_shares_that_sum_up() -> None:
    with sqlfront.Session() as session:
        query = "select a.id, count(*) from range(50000) a join range(1000) b on a.id = b.id group by a.id"
        result = session.execute(f"explain analyze {query}")
        assert result.explanation is not None
        lines = list(plan_lines(result.explanation, screen()))
        assert session.execute(f"explain {query}").explanation is None

    shares = [int(line.partition("%")[0].split()[-1]) for line in lines if "% " in line]
    assert 95 <= sum(shares) <= 105
    assert sum(line.endswith("< hot") for line in lines) == 1
    assert sum("└─ " in line or "├─ " in line for line in lines) == len(shares) - 1
    assert lines[-1].startswith("time ")
    assert all(cells_of(line) <= screen().size.columns for line in lines[1:])


def test_cells_keep_nulls_apart_and_numbers_right() -> None:
    with sqlfront.Session() as session:
        result = session.execute(
            "select 1 as n, cast(null as string) as s, '' as e, X'1b' as b, array(null) as a"
        )
        assert [heading.right for heading in headings_of(result)] == [True, False, False, False, False]
        assert list(blocks_of(result)) == [[("1", None, "", "[1B]", "[NULL]")]]
