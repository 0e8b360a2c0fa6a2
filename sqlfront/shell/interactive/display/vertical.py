"""Layout of rows with one line for each value."""

from collections.abc import Iterator, Sequence

from sqlfront.shell.interactive.display.cells import Heading, ShownRow
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.visible import cells_of, padded


class VerticalLayout:
    """A layout that shows each row as lines of a column's name and its value, block by block; no value is
    cut."""

    def __init__(self, headings: Sequence[Heading], null: str, screen: Screen) -> None:
        self._names = [heading.name for heading in headings]
        self._size = max(map(cells_of, self._names), default=0)
        self._null, self._screen, self._number = null, screen, 0

    #: Nothing is ever missing.
    note = ""

    def lines(self, rows: Sequence[ShownRow]) -> Iterator[str]:
        """Yield the lines of the next block of rows; rows are numbered over all blocks."""
        line, bar = ("─", "│") if self._screen.draws_lines else ("-", "|")
        for row in rows:
            self._number += 1
            yield f"{line}[ {self._number} ]".ljust(self._size + 12, line)
            for name, text in zip(self._names, row, strict=True):
                shown = self._screen.painted(self._null, Paint.FAINT) if text is None else text
                yield f"{padded(name, self._size)} {bar} {shown}".rstrip()
