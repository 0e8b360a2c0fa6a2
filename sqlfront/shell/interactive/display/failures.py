"""Errors on the screen: the message, and carets below the part of the statement that caused it."""

from collections.abc import Iterator
from typing import Final

from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.visible import cells_of, visible
from sqlfront_values.errors import Error

#: Cells of the statement that stand before the place at least, if the line is too long for the screen.
_BEFORE: Final = 20
_LEFT_OUT: Final = "…"


def failure_lines(error: Error, screen: Screen, place: str = "") -> Iterator[str]:
    """Yield the lines that show an error: message, the line of the statement with a caret, hint. ``place``:
    the file and line of the statement in a script, empty for a statement that was typed at the prompt."""
    head = f"[{error.condition}] {error.message}" if error.condition else error.message
    if error.sqlstate:
        head = f"{head} SQLSTATE: {error.sqlstate}"
    before = f"{place}: " if place else ""
    first, *more = f"{before}{head}".splitlines() or [""]
    yield screen.painted(f"{type(error).__name__}: ", Paint.ERROR) + visible(first)
    yield from map(visible, more)
    if error.sql is not None and error.position is not None:
        text, caret = caret_lines(error.sql, error.position, screen.size.columns)
        yield text
        yield screen.painted(caret, Paint.ERROR)
    if error.hint is not None:
        yield f"HINT: {visible(error.hint)}"


def caret_lines(sql: str, position: tuple[int, int], width: int) -> tuple[str, str]:
    r"""Return the line of ``sql`` in which the range ``position`` (half-open, in characters) begins, and a
    line with carets below it; both take at most ``width`` cells.

    >>> print(*caret_lines("select\n  日本, x", (13, 14), 80), sep="\n")
    LINE 2:   日本, x
                    ^
    """
    start = min(max(position[0], 0), len(sql))
    first = sql.rfind("\n", 0, start) + 1
    last = sql.find("\n", start)
    last = len(sql) if last < 0 else last
    prefix = f"LINE {sql.count(chr(10), 0, start) + 1}: "
    before, behind = _shown(sql[first:start]), _shown(sql[start:last])
    marked = _shown(sql[start : min(max(position[1], start), last)])
    room = max(width - len(prefix) - 1, 2 * _BEFORE)
    if cells_of(before) + cells_of(behind) > room:
        before = _ending(before, max(_BEFORE, room - cells_of(behind)))
        behind = _beginning(behind, room - cells_of(before))
    carets = "^" * max(1, min(cells_of(marked), cells_of(behind)))
    return f"{prefix}{before}{behind}", " " * (len(prefix) + cells_of(before)) + carets


def _shown(text: str) -> str:
    """Return the text with four blanks for each tab, and escapes for other control characters."""
    return visible(text.replace("\t", "    "))


def _ending(text: str, most: int) -> str:
    """Return the longest end of a text that takes at most ``most`` cells; an ellipsis stands for a cut
    beginning."""
    if cells_of(text) <= most:
        return text
    while cells_of(text) > most - 1:
        text = text[max(1, len(text) - most) :] if len(text) > most else text[1:]
    return _LEFT_OUT + text


def _beginning(text: str, most: int) -> str:
    """Return the longest beginning of a text that takes at most ``most`` cells; an ellipsis stands for a cut
    end."""
    if cells_of(text) <= most:
        return text
    text = text[:most]
    while cells_of(text) > most - 1:
        text = text[:-1]
    return text + _LEFT_OUT
