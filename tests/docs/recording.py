"""A recording of the interactive shell at a pseudo-terminal, over the flights of New York.

python -m tests.docs.recording [FOLDER]     writes shell.cast (asciicast v2) and shell-session.svg

The shell is real, and so are the answers; only the pauses are those of a reader.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from demo.prepare import prepare
from tests.docs.blocks import ROOT
from tests.docs.screens import Frame, frame, picture
from tests.sqlfront.shell.terminal import Terminal

#: The folder of the recording in the repository.
ASSETS: Final = ROOT / "docs" / "assets"
_LINES, _COLUMNS = 20, 96
_TITLE: Final = "The interactive shell: completion, an answer, an error with a caret, a lookup by key twice"
_TABLES: Final = (
    "CREATE TABLE airlines USING parquet LOCATION 'demo/work/airlines';",
    "CREATE TABLE flights USING parquet LOCATION 'demo/work/flights';",
    "CACHE TABLE flights CLUSTERED BY (tailnum);",
)
#: Typed texts; each is shown while the shell helps, and with its answer.
_STATEMENTS: Final = (
    "SELECT carrier, count(*) FROM flights GROUP BY 1 ORDER BY 2 DESC LIMIT 5;",
    "SELECT tailnum, dest FROM flight;",
    "SELECT count(*), max(distance) FROM flights WHERE tailnum = 'N668DN';",
    "SELECT count(*), max(distance) FROM flights WHERE tailnum = 'N14228';",
)


class Recording:
    """The events and the frames of a session at a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._taken = 0
        self._at = 0.0
        self.frames: list[Frame] = []
        self.events: list[tuple[float, str, str]] = []

    def show(self, seconds: float) -> None:
        """Keep what has come since, and show the screen for some seconds."""
        written = self._terminal.written[self._taken :]
        self._taken += len(written)
        self.events.append((round(self._at, 3), "o", written.decode("utf-8", "replace")))
        self.frames.append(frame(self._terminal.screen, seconds))
        self._at += seconds

    def cast(self) -> str:
        """The recording in the format of asciinema, version 2."""
        head = {"version": 2, "width": _COLUMNS, "height": _LINES, "title": _TITLE}
        return "".join(json.dumps(line) + "\n" for line in (head, *self.events))


def record(folder: Path) -> Recording:
    """Drive the shell in the folder, which gets the flights."""
    prepare(folder / "demo" / "work")
    with Terminal(folder=folder, lines=_LINES, columns=_COLUMNS) as terminal:
        for statement in _TABLES:
            terminal.run(statement)
        terminal.clear()
        recording = Recording(terminal)
        recording.show(1.0)
        _complete(terminal, recording)
        for statement in _STATEMENTS:
            terminal.clear()
            terminal.send(statement)
            terminal.wait(lambda text, end=statement[-12:]: end in text)  # type: ignore[misc]
            recording.show(1.5)
            terminal.enter("")
            terminal.wait(lambda text: text.count("sqlfront>") > 1 and text.endswith("sqlfront>"))
            recording.show(4.0)
        return recording


def _complete(terminal: Terminal, recording: Recording) -> None:
    """Type the beginning of a column of a table in scope, see what there is, and give up."""
    terminal.send("SELECT dep_ FROM flights")
    terminal.wait("FROM flights")
    terminal.send("\x1b[D" * len(" FROM flights"))
    terminal.send("\t")
    terminal.wait("dep_delay")
    recording.show(2.5)
    terminal.send("\x03")
    terminal.wait_for_prompt()


def write(folder: Path) -> None:
    """Record, and write both files into the folder."""
    with tempfile.TemporaryDirectory() as home:
        recording = record(Path(home))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shell.cast").write_text(recording.cast(), "utf-8")
    (folder / "shell-session.svg").write_text(picture(recording.frames, _COLUMNS, _TITLE), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else ASSETS)
