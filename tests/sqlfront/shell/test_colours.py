"""Colours that can be read on a dark and on a light background, and none with NO_COLOR."""

import re
from pathlib import Path

import pytest
from prompt_toolkit.styles import style_from_pygments_dict
from prompt_toolkit.styles.pygments import pygments_token_to_classname

from sqlfront.shell.interactive.display.screen import Paint
from sqlfront.shell.interactive.prompt.highlighting import COLOURS
from tests.sqlfront.shell.terminal import Terminal

#: The least contrast of WCAG 2 for large text, and for parts of a user interface.
LEAST = 3.0
#: Black, white, and the backgrounds of widespread themes: Solarized, Ubuntu, Visual Studio Code.
BACKGROUNDS = ("000000", "ffffff", "002b36", "fdf6e3", "300a24", "1e1e1e")
#: xterm's colours by the terminal's codes, and the bright ones that some terminals show in bold.
ANSI = {"31": ("cd0000", "ff0000"), "35": ("cd00cd", "ff00ff")}
STEPS = ("00", "5f", "87", "af", "d7", "ff")
#: A code that chooses a colour; codes such as bold and faint are none.
COLOUR_CODE = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")


def luminance(colour: str) -> float:
    """The relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG 2 defines it: from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_typed_text_can_be_read_on_every_background(background: str) -> None:
    style = style_from_pygments_dict(COLOURS)
    for token in COLOURS:
        colour = style.get_attrs_for_style_str(f"class:{pygments_token_to_classname(token)}").color
        assert colour
        assert contrast(colour, background) > LEAST, (token, colour)


def test_typed_text_has_colours_of_the_terminals_palette() -> None:
    colours = [colour for text in COLOURS.values() for colour in re.findall("#(.{6})", text)]
    assert len(colours) == len(COLOURS)
    assert all(part in STEPS for colour in colours for part in re.findall("..", colour))


@pytest.mark.parametrize("paint", Paint)
@pytest.mark.parametrize("background", ["000000", "ffffff"])
def test_answers_can_be_read_on_both_backgrounds(paint: Paint, background: str) -> None:
    codes = [code for code in paint.value.split(";") if code not in ("1", "2")]
    for code in codes:
        assert min(contrast(colour, background) for colour in ANSI[code]) > LEAST


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_turns_all_colours_off(tmp_path: Path, environment: dict[str, str], coloured: bool) -> None:
    with Terminal(folder=tmp_path, environment=environment) as shell:
        shell.clear()
        shell.enter("select 'a' as `b`, 1.5, upper('x') /* c */;")
        shell.wait("1 row")
        shell.run("select nope;")
        shell.run("explain analyze select count(*) from range(10);")
        shell.send(r"\d")
        shell.wait(r"sqlfront> \d")
        shell.send("\x03")
        shell.wait_for_prompt()
        shell.send("\x04")

        assert shell.ended() == 0
        assert (COLOUR_CODE.search(shell.written) is not None) is coloured
