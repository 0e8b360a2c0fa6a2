"""Ctrl-C while the rows of a huge result are being printed."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sqlfront.shell.terminal import PROMPT, Terminal

HUGE = "select id, 'a text beside' as t from range(50000000);"
#: The first row of three billion appears at once, the second in the end.
RARE = "select id from range(3000000000) where id % 2999999999 = 0;"
#: A join of nine hundred million pairs: minutes of work before the first row.
LONG = "select count(*) from range(30000) a join range(30000) b on a.id + b.id < 0;"
#: Lines that may follow Ctrl-C at most: those that are written at once.
MOST_LINES = 800
#: Seconds of the shell's processor time from Ctrl-C to the prompt, which a loaded machine doesn't stretch.
MOST_CPU = 0.3


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has taken so far, by Linux's account."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def printing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, Path]]:
    """A shell whose pager, where there is one, is the script ``pager`` of the folder; and the folder."""
    folder = tmp_path_factory.mktemp("printing")
    with Terminal(folder=folder, environment={"PAGER": "./pager"}) as shell:
        shell.wait_for_prompt()
        yield shell, folder
        shell.wait_for_prompt()
        shell.send("\x04")
        assert shell.ended() == 0


def pager(folder: Path, text: str) -> None:
    path = folder / "pager"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def cancel(shell: Terminal) -> bytes:
    """Type Ctrl-C; return the output up to the prompt, and check the shell's processor time."""
    before = cpu_seconds(shell.pid)
    shell.send("\x03")
    printed = shell.drain(until=PROMPT.rstrip().encode())
    assert cpu_seconds(shell.pid) - before < MOST_CPU
    return printed


@pytest.mark.parametrize("name", ["table", "vertical", "csv", "json"])
def test_ctrl_c_ends_the_printing_at_once(printing: tuple[Terminal, Path], name: str) -> None:
    shell, folder = printing
    pager(folder, "exec cat")
    shell.run(rf"\format {name}")
    shell.clear()
    shell.enter(HUGE)
    shell.drain(500_000)
    printed = cancel(shell)

    assert b"cancelled after" in printed
    assert b"still ending" not in printed
    assert printed.rpartition(b"^C")[2].count(b"\n") < MOST_LINES
    shell.run(r"\format table")
    assert "1 row" in shell.run("select 1 as a;")


def test_ctrl_c_ends_the_query_behind_a_pager_that_stays(printing: tuple[Terminal, Path]) -> None:
    shell, folder = printing
    pager(folder, "trap 'echo interrupted' INT; head -n 100; read answer < /dev/tty")
    shell.clear()
    shell.enter(HUGE)
    shell.wait(" 90 ")
    shell.send("\x03")
    shell.wait("interrupted")
    shell.send("\r")
    shell.wait("cancelled after")

    assert "1 row" in shell.run("select 1 as a;")


@pytest.mark.parametrize("name", ["table", "csv", "jsonl", "none"])
@pytest.mark.parametrize("statement", [RARE, LONG])
def test_progress_is_shown_until_rows_are(printing: tuple[Terminal, Path], name: str, statement: str) -> None:
    shell, _ = printing
    shell.run(rf"\format {name}")
    shell.clear()
    shell.enter(statement)
    shell.wait("(Ctrl-C cancels)")
    shell.send("\x03")
    shell.wait("cancelled after")
    shell.run(r"\format table")


def leave_less(shell: Terminal) -> str:
    """Type Ctrl-C until the prompt is back, as a user does: less answers a Ctrl-C that comes in the moment
    before it waits for a key with a beep, and stays. Return the screen."""
    for _ in range(5):
        shell.send("\x03")
        while shell.pump(1.0):
            pass
        if shell.text().endswith(PROMPT.rstrip()):
            break
    return shell.wait_for_prompt()


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
def test_ctrl_c_leaves_less(tmp_path: Path) -> None:
    with Terminal(folder=tmp_path, environment={"PAGER": "less"}) as shell:
        shell.clear()
        shell.enter(HUGE)
        shell.wait("a text beside\n:")
        assert "cancelled after" in leave_less(shell)
        assert "1 row" in shell.run("select 1 as a;")
        shell.enter("select id from range(1000);")
        shell.wait(" 30\n")
        assert "failed" not in leave_less(shell)  # rows may still be on their way to less
