"""Layout of rows as a table that fits a width.

The first block of rows decides: columns that are too wide are cut, and if that is not enough, columns in the
middle are left out. Later blocks keep the choice of columns; where a later block has longer values and the
line has free cells, the columns become wider and the headings are drawn again.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from sqlfront.shell.interactive.display.cells import Heading, ShownRow
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.visible import ELLIPSIS, cells_of, cut, padded

#: Cells to which a column is cut at most before columns are left out.
_NARROW: Final = 16
#: Cells between two columns: a blank, a line, a blank.
_BETWEEN: Final = 3
#: Cells before the first column and behind the last.
_MARGINS: Final = 2


class Fit(msgspec.Struct, frozen=True):
    """The columns of a table that fit the screen: each by its position (None: the mark that stands for left
    out columns), and its width in cells."""

    columns: tuple[int | None, ...]
    widths: tuple[int, ...]


class TableLayout:
    """A table that is drawn block by block. ``width``: the greatest number of cells of a line, None = any
    number. ``null``: the text that stands for a null."""

    def __init__(self, headings: Sequence[Heading], width: int | None, null: str, screen: Screen) -> None:
        self._headings, self._width, self._null, self._screen = headings, width, null, screen
        self._needed = [cells_of(heading.name) for heading in headings]
        self._fit: Fit | None = None
        self._cut = False

    def fits(self, rows: Sequence[ShownRow]) -> bool:
        """Return whether the table with these rows as its next block fits the width with nothing cut or left
        out."""
        needed = [max(had, new) for had, new in zip(self._needed, self._needs(rows), strict=True)]
        return self._width is None or _total(needed) <= self._width

    def lines(self, rows: Sequence[ShownRow]) -> Iterator[str]:
        """Yield the lines of the next block of rows. The headings come before the first block, and again
        where the columns become wider."""
        self._needed = [max(had, new) for had, new in zip(self._needed, self._needs(rows), strict=True)]
        kept = None if self._fit is None else self._fit.columns
        fit = fitted(self._needed, self._width, kept)
        if fit != self._fit:
            self._fit = fit
            yield from self._head(fit)
        for row in rows:
            yield self._line(row, fit)

    @property
    def note(self) -> str:
        """The text that says whether columns are left out or values are cut on the screen; empty if neither
        is."""
        shown = () if self._fit is None else [place for place in self._fit.columns if place is not None]
        left_out = len(self._headings) - len(shown)
        if self._fit is not None and left_out:
            return rf"{len(shown)} of {len(self._headings)} columns shown, \x shows all"
        return r"long values are cut, \x shows them" if self._cut else ""

    def _needs(self, rows: Sequence[ShownRow]) -> Iterator[int]:
        """Yield for each column the cells of its widest value in ``rows``, without its heading."""
        null = cells_of(self._null)
        for place in range(len(self._headings)):
            texts = [row[place] for row in rows]
            plain = [text for text in texts if text is not None]
            widest = max(map(cells_of, plain), default=0)
            yield widest if len(plain) == len(texts) else max(widest, null)

    def _head(self, fit: Fit) -> Iterator[str]:
        names = [
            self._screen.painted(self._name(place, size), Paint.HEAD)
            for place, size in zip(fit.columns, fit.widths, strict=True)
        ]
        line, bar, cross = ("─", "│", "┼") if self._screen.draws_lines else ("-", "|", "+")
        yield f" {f' {bar} '.join(names)} ".rstrip()
        yield cross.join(line * (size + 2) for size in fit.widths)

    def _name(self, place: int | None, size: int) -> str:
        """Return the name of the column at position ``place``, cut or padded to ``size`` cells; for None, the
        mark of left out columns."""
        if place is None:
            return ELLIPSIS
        return self._aligned(self._headings[place].name, size, right=self._headings[place].right)

    def _line(self, row: ShownRow, fit: Fit) -> str:
        bar = "│" if self._screen.draws_lines else "|"
        texts = []
        for place, size in zip(fit.columns, fit.widths, strict=True):
            if place is None:
                texts.append(ELLIPSIS)
                continue
            text, right = row[place], self._headings[place].right
            if text is None:
                blank = self._aligned(self._null, size, right=right)
                texts.append(self._screen.painted(blank, Paint.FAINT))
            else:
                texts.append(self._aligned(text, size, right=right))
        return f" {f' {bar} '.join(texts)}".rstrip()

    def _aligned(self, text: str, size: int, *, right: bool = False) -> str:
        shown = cut(text, size)
        if shown is not text and shown != text:
            self._cut = True
        return padded(shown, size, right=right)


def fitted(needed: Sequence[int], width: int | None, kept: Sequence[int | None] | None = None) -> Fit:
    """Return the columns to show and their widths. ``needed``: the cells that each column needs. ``width``:
    the cells of a line, None = any number. ``kept``: the ``columns`` of the :class:`Fit` with which earlier
    rows of the table were drawn, which are shown again; None = no rows were drawn, and columns are chosen.

    >>> fitted([5, 5], 80), fitted([5, 90], 40).widths, fitted([30] * 9, 50).columns
    (Fit(columns=(0, 1), widths=(5, 5)), (5, 30), (0, None, 8))
    """
    places = tuple(kept) if kept is not None else tuple(range(len(needed)))
    sizes = [1 if place is None else needed[place] for place in places]
    if width is None or _total(sizes) <= width:
        return Fit(places, tuple(sizes))
    if kept is None:
        places = _chosen([min(size, _NARROW) for size in needed], width)
        sizes = [1 if place is None else needed[place] for place in places]
    room = width - _MARGINS - _BETWEEN * (len(places) - 1)
    return Fit(places, tuple(_levelled(sizes, room)))


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + _BETWEEN * (len(sizes) - 1) + _MARGINS


def _chosen(sizes: Sequence[int], width: int) -> tuple[int | None, ...]:
    """Return the positions of the columns that fit ``width`` cells if each takes its size: first and last
    columns, with None between them if columns are left out. At least the first column is chosen."""
    if _total(sizes) <= width:
        return tuple(range(len(sizes)))
    left, right = [0], list[int]()
    while len(left) + len(right) < len(sizes):
        on_right = len(right) < len(left)
        place = len(sizes) - 1 - len(right) if on_right else len(left)
        chosen = [sizes[each] for each in (*left, *right, place)]
        if _total([*chosen, 1]) > width:
            break
        if on_right:
            right.append(place)
        else:
            left.append(place)
    return (*left, None, *reversed(right)) if len(sizes) > 1 else (0,)


def _levelled(sizes: Sequence[int], room: int) -> list[int]:
    """Return the sizes with the greatest of them cut to a common level, so that all together take at most
    ``room`` cells (each at least one).

    >>> _levelled([3, 50, 20], 30)
    [3, 14, 13]
    """
    left, result = room, [0] * len(sizes)
    order = sorted(range(len(sizes)), key=lambda place: (sizes[place], -place))
    for done, place in enumerate(order):
        share = max(1, left // (len(sizes) - done))
        result[place] = min(sizes[place], share)
        left -= result[place]
    return result
