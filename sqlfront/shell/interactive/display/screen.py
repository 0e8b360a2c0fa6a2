"""The terminal that the shell writes to."""

import os
import shutil
from collections.abc import Mapping
from enum import Enum
from typing import Final, TextIO

import msgspec


class Paint(Enum):
    """A colour for a part of the output; the value is the number in the terminal's escape sequence."""

    FAINT = "2"
    """Facts beside the data: a null, the footer."""
    HEAD = "1"
    """Names of columns."""
    ERROR = "1;31"
    """An error, and the caret below its place."""
    HOT = "1;35"
    """The step of a plan that took most of the time."""


_RESET: Final = "\x1b[0m"


class Screen(msgspec.Struct):
    """The terminal: the stream to write to, and whether colours are on."""

    out: TextIO
    coloured: bool

    @classmethod
    def of(cls, out: TextIO, environment: Mapping[str, str]) -> "Screen":
        """Return the screen that writes to the stream ``out``. Colours are on for a terminal, unless NO_COLOR
        is set to a text or TERM is ``dumb``."""
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return cls(out, out.isatty() and not plain)

    @property
    def size(self) -> os.terminal_size:
        """The current number of columns and lines of the terminal; 80 by 24 if it is unknown."""
        try:
            size = os.get_terminal_size(self.out.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return size if size.columns and size.lines else shutil.get_terminal_size()

    @property
    def draws_lines(self) -> bool:
        """Whether the stream's encoding has the characters of Unicode that draw lines, as UTF-8 has."""
        return (self.out.encoding or "").lower().replace("-", "") == "utf8"

    def painted(self, text: str, paint: Paint) -> str:
        """Return the text with the codes of a colour around it, or unchanged if colours are off."""
        return f"\x1b[{paint.value}m{text}{_RESET}" if self.coloured and text else text

    def write(self, text: str) -> None:
        """Write text, and flush the stream; characters that the stream's encoding lacks become question
        marks."""
        encoding = self.out.encoding or "utf-8"
        self.out.write(text.encode(encoding, "replace").decode(encoding))
        self.out.flush()

    def say(self, text: str, paint: Paint | None = None) -> None:
        """Write the text and a line break, in a colour if ``paint`` is given and colours are on."""
        self.write((text if paint is None else self.painted(text, paint)) + "\n")
