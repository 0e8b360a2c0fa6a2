"""Screens of a terminal as pictures: one screen, or several one after the other."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

import msgspec
import pyte

_CELL, _LINE, _EDGE = 8.4, 18, 12
_GROUND, _TEXT = "#fafafa", "#24292f"
#: The colours of a terminal by pyte's names; other colours are pyte's six hexadecimal digits.
_COLOURS: Final = {
    "black": "#24292f",
    "red": "#c62828",
    "green": "#2e7d32",
    "brown": "#8d6e00",
    "blue": "#1565c0",
    "magenta": "#8e24aa",
    "cyan": "#00838f",
    "white": "#d0d7de",
}


class Span(msgspec.Struct, frozen=True):
    """Characters of one look that stand side by side; ``column`` and ``width`` in cells."""

    column: int
    width: int
    text: str
    colour: str
    ground: str | None
    bold: bool


class Frame(msgspec.Struct, frozen=True):
    """A screen's lines, and the seconds for which the screen is shown."""

    lines: tuple[tuple[Span, ...], ...]
    seconds: float


def frame(screen: pyte.Screen, seconds: float) -> Frame:
    """What a screen shows now."""
    return Frame(tuple(tuple(_spans(screen, line)) for line in range(screen.lines)), seconds)


def _spans(screen: pyte.Screen, line: int) -> Iterator[Span]:
    cells = [(column, screen.buffer[line][column]) for column in range(screen.columns)]
    for look, group in groupby(cells, key=lambda cell: _look(cell[1])):
        found = list(group)
        text = "".join(cell.data for _, cell in found)
        if text.strip() or look[1]:
            yield Span(found[0][0], len(found), text, *look)


def _look(cell: Any) -> tuple[str, str | None, bool]:
    """The colour, the ground (None = the terminal's) and the weight of a cell."""
    colour, ground = _colour(cell.fg, _TEXT), _colour(cell.bg, None)
    if cell.reverse:
        colour, ground = ground or _GROUND, colour
    return colour or _TEXT, ground, cell.bold


def _colour(name: str, default: str | None) -> str | None:
    if name == "default":
        return default
    return _COLOURS.get(name.removeprefix("bright")) or f"#{name}"


def picture(frames: Sequence[Frame], columns: int, title: str) -> str:
    """The frames as an SVG picture that shows one after the other, for ever; who wants no motion sees the
    last."""
    height = max(len(one.lines) for one in frames) * _LINE + 2 * _EDGE
    width = columns * _CELL + 2 * _EDGE
    body = "".join(f'<g class="f f{at}">{_drawn(one)}</g>' for at, one in enumerate(frames))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">'
        f"<title>{escape(title)}</title><style>{_style(frames)}</style>"
        f'<rect width="100%" height="100%" rx="6" fill="{_GROUND}"/>{body}</svg>\n'
    )


def _style(frames: Sequence[Frame]) -> str:
    total, begun, rules = sum(one.seconds for one in frames), 0.0, []
    for at, one in enumerate(frames):
        start, end = 100 * begun / total, 100 * (begun + one.seconds) / total
        before = "" if at == 0 else "0%{opacity:0}"
        after = "" if at == len(frames) - 1 else f"{end:.2f}%{{opacity:0}}"
        steps = f"{before}{start:.2f}%{{opacity:1}}{after}100%{{opacity:{int(not after)}}}"
        rules.append(f"@keyframes k{at}{{{steps}}}")
        rules.append(f".f{at}{{animation:k{at} {total:.1f}s step-end infinite}}")
        begun += one.seconds
    text = f"text{{font:14px monospace;white-space:pre}}.f{{opacity:0}}.f{len(frames) - 1}{{opacity:1}}"
    return f"{text}@media (prefers-reduced-motion:no-preference){{{''.join(rules)}}}"


def _drawn(one: Frame) -> str:
    return "".join(_span(span, _EDGE + at * _LINE) for at, line in enumerate(one.lines) for span in line)


def _span(span: Span, top: int) -> str:
    left, width = _EDGE + span.column * _CELL, span.width * _CELL
    ground = (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_LINE}" fill="{span.ground}"/>'
        if span.ground
        else ""
    )
    weight = ' font-weight="bold"' if span.bold else ""
    text = span.text.rstrip()
    if not text:
        return ground
    blanks = len(text) - len(text.lstrip())
    begin, length = left + blanks * _CELL, (len(text) - blanks) * _CELL
    return (
        f'{ground}<text x="{begin:.1f}" y="{top + 14}" fill="{span.colour}"{weight} textLength="{length:.1f}"'
        f' lengthAdjust="spacingAndGlyphs">{escape(text.lstrip())}</text>'
    )
