"""The recording of the shell, made anew and as it is kept."""

import json
from pathlib import Path

import pyte
import pytest

from tests.docs.recording import ASSETS, write


def _screens(path: Path) -> list[str]:
    """The screens that a recording shows, one an event."""
    head, *events = map(json.loads, path.read_text("utf-8").splitlines())
    screen = pyte.Screen(head["width"], head["height"])
    stream, shown = pyte.Stream(screen), []
    for _, _, written in events:
        stream.feed(written)
        shown.append("\n".join(screen.display))
    return shown


def test_the_kept_recording_shows_completion_an_answer_and_an_error_with_a_caret() -> None:
    text = "\n".join(_screens(ASSETS / "shell.cast"))

    for shown in ("dep_delay", "54635", "TABLE_OR_VIEW_NOT_FOUND", "^", "partitions 1 of 271"):
        assert shown in text


@pytest.mark.doors
def test_a_new_recording_shows_the_answers_of_the_kept_one(tmp_path: Path) -> None:
    write(tmp_path)

    new, kept = _screens(tmp_path / "shell.cast"), _screens(ASSETS / "shell.cast")
    assert len(new) == len(kept)
    assert (tmp_path / "shell-session.svg").read_text("utf-8").startswith("<svg ")
    assert [line for line in "\n".join(kept).splitlines() if "│" in line] == [
        line for line in "\n".join(new).splitlines() if "│" in line
    ]
