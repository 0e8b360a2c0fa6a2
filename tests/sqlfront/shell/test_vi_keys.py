"""The editor with vi's keys, driven by keys and read off the screen."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sqlfront.shell.terminal import Terminal

ESC = "\x1b"


@pytest.fixture(scope="module")
def vi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A shell with vi's keys, whose tests leave it at an empty prompt."""
    folder: Path = tmp_path_factory.mktemp("vi")
    file = folder / "config" / "sqlfront" / "sqlfront.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[shell]\nkeys = "vi"\n')
    with Terminal(folder=folder) as shell:
        shell.wait_for_prompt()
        yield shell
        shell.wait_for_prompt()
        shell.send("\x04")
        assert shell.ended() == 0


def escape(shell: Terminal) -> None:
    """Type Esc, and wait until the editor has taken it for the key."""
    shell.send(ESC)
    while shell.pump(1.0):
        pass


def answer(shell: Terminal, keys: str) -> str:
    """Type keys, the last of which runs a statement; return the screen up to the next prompt."""
    shell.send(keys)
    return shell.wait(lambda text: "1 row" in text and text.endswith("\nsqlfront>"))


def test_enter_runs_what_was_inserted(vi: Terminal) -> None:
    assert " 41\n" in vi.run("select 41 as a;")


def test_commands_change_the_text_and_enter_runs_it(vi: Terminal) -> None:
    vi.clear()
    vi.send("selekt 'one two' as b;")
    escape(vi)
    vi.send("0fkrc")  # the wrong letter
    vi.send("fowciwfour")  # a word within the quotes
    escape(vi)
    vi.send("$x")  # the semicolon: Enter runs the text as it is
    vi.wait(lambda text: text.endswith("select 'one four' as b"))
    assert " one four\n" in answer(vi, "\r")


def test_deleted_text_comes_back(vi: Terminal) -> None:
    vi.clear()
    vi.send("select 5 as five;")
    escape(vi)
    vi.send("dd")
    vi.wait(lambda text: text.endswith("sqlfront>"))
    vi.send("u")
    vi.wait(lambda text: text.endswith("select 5 as five;"))
    assert " five\n" in answer(vi, "\r")


def test_the_history_is_walked_and_searched(vi: Terminal) -> None:
    vi.run("select 'needle' as c;")
    vi.run("select 2 as d;")
    vi.clear()
    escape(vi)
    vi.send("k")
    vi.wait(lambda text: text.endswith("select 2 as d;"))
    vi.send("k")
    vi.wait(lambda text: text.endswith("select 'needle' as c;"))
    vi.send("jj")
    vi.wait(lambda text: text.endswith("sqlfront>"))
    vi.send("/needle\r")
    vi.wait(lambda text: text.endswith("select 'needle' as c;"))
    assert " needle\n" in answer(vi, "\r")


def test_a_text_of_several_lines_is_edited(vi: Terminal) -> None:
    vi.clear()
    vi.enter("select 1 as a,")
    vi.send("2 as b;")
    vi.wait("...> 2 as b;")
    escape(vi)
    vi.send("k0f1r7")
    vi.wait("select 7 as a,")
    assert " 7 " in answer(vi, "\r")
