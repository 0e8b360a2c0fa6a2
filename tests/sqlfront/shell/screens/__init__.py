"""Screens of the shell as text, one file each, compared with what a terminal shows.

``WRITE_SCREENS=1 make test ARGS=tests/sqlfront/shell`` writes the files anew, for review.
"""

import os
import re
import time
from pathlib import Path
from typing import Final

from tests.sqlfront.shell.terminal import Terminal

_FOLDER: Final = Path(__file__).parent
#: What differs from run to run, and what stands for it in a file.
_MASKS: Final = (
    (r"\d\d:\d\d:\d\d", "CLOCK"),
    (r" *\b[\d.,]+ (?:ms|s)\b", " TIME"),
    (r" +\d+%(?: [▏▎▍▌▋▊▉█]+)?", " SHARE"),
    (r"\b[\d,]+ rows read", "N rows read"),
    (r"(?<=rows), [\d.]+ \w*B\b", ""),
    (r"\b[\d.]+ [KM]iB\b", "N MiB"),
    (r" < hot$", ""),
)


def masked(screen: str) -> str:
    """A screen whose times, shares and sizes are the same in every run."""
    for pattern, text in _MASKS:
        screen = re.sub(pattern, text, screen, flags=re.MULTILINE)
    return f"{screen}\n"


def check_screen(name: str, terminal: Terminal) -> str:
    """Wait until the terminal shows the screen of a name, and return the terminal's screen. AssertionError,
    with both screens, if that doesn't happen."""
    path = _FOLDER / f"{name}.txt"
    if os.environ.get("WRITE_SCREENS"):
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            terminal.pump()
        path.write_text(masked(terminal.text()), encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    try:
        return terminal.wait(lambda text: masked(text) == kept)
    except AssertionError as error:
        raise AssertionError(f"{path.name} shows\n{kept}\nbut the terminal\n{error}") from None
