"""The shell at a terminal, driven by keys and read off the screen."""

import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sqlfront.shell.screens import check_screen
from tests.sqlfront.shell.terminal import Terminal

#: A join of five hundred million pairs: minutes of work.
LONG = "select count(*) from range(30000) a join range(30000) b on a.id + b.id < 0;"


def test_rows_with_their_footer(terminal: Terminal) -> None:
    terminal.run("select id, cast(null as string) as s, '' as e from range(9, 11);")
    check_screen("rows", terminal)


def test_several_lines_and_statements(terminal: Terminal) -> None:
    terminal.clear()
    terminal.enter("select ';")
    terminal.wait("...>")
    check_screen("open quote", terminal)
    terminal.run_on("' as a; select 2 as b;")
    check_screen("several statements", terminal)


def test_an_error_has_a_caret_below_its_token_behind_wide_letters(terminal: Terminal) -> None:
    shown = terminal.run("select '日本語' as a, nope from range(1);").split("\n")

    line = next(number for number, text in enumerate(shown) if text.startswith("LINE 1:"))
    assert shown[line + 1].index("^") == terminal.cells(shown[line].partition("nope")[0])
    assert "UNRESOLVED_COLUMN" in "".join(shown)
    check_screen("error with caret", terminal)


def test_data_do_not_drive_the_terminal(terminal: Terminal) -> None:
    before = len(terminal.written)
    terminal.run(
        r"select concat(chr(27), ']0;x', chr(7)) as e, X'1b5b00' as b, 'مرحبا' as rtl, '👩‍👩‍👧' as z;"
    )

    check_screen("unicode", terminal)
    assert b"\x1b]0;x" not in terminal.written[before:]


def test_wide_rows_show_fewer_columns_or_stand_vertically(terminal: Terminal) -> None:
    columns = ", ".join(f"'{'x' * 20}' as c{number}" for number in range(12))
    shown = terminal.run(f"select {columns};")
    check_screen("too wide", terminal)
    assert all(terminal.cells(line) <= 100 for line in shown.split("\n"))

    terminal.run(r"\x auto")
    terminal.run(f"select {columns};")
    check_screen("vertical", terminal)
    assert "─[ 1 ]" not in terminal.run("select 1 as a;")
    terminal.run(r"\x off")


def test_a_resized_terminal_takes_other_widths(terminal: Terminal) -> None:
    terminal.wait_for_prompt()
    terminal.resize(40, 60)
    shown = terminal.run("select repeat('x', 200) as a;")
    check_screen("resized", terminal)
    terminal.resize(40, 100)

    assert max(map(len, (line for line in shown.split("\n") if "…" in line))) == 59


def test_tab_completes_a_column_in_scope(terminal: Terminal) -> None:
    terminal.run("create table flights using memory as select 1 as flight_number, 'x' as carrier;")
    terminal.clear()
    terminal.send("select f. from flights f;" + "\x02" * len(" from flights f;"))
    terminal.send("fli")
    terminal.wait("flight_number  int of f")
    terminal.send("\t")
    terminal.wait("select f.flight_number from flights f;")
    terminal.send("\r")  # takes the completion
    terminal.wait(lambda shown: "int of f" not in shown)
    terminal.send("\r")
    terminal.wait(" flight_number\n")
    terminal.wait_for_prompt()


def test_the_menu_shows_functions_with_their_signatures(terminal: Terminal) -> None:
    terminal.clear()
    terminal.send("select date_ad")
    check_screen("menu", terminal)
    terminal.send("\x03")
    terminal.wait_for_prompt()


def test_the_history_is_searched(terminal: Terminal) -> None:
    terminal.run("select 'needle' as a;")
    terminal.run("select 2 as b;")
    terminal.clear()
    terminal.send("\x12needle")
    check_screen("history search", terminal)
    terminal.send("\r")
    terminal.send("\r")
    terminal.wait(lambda shown: " needle\n" in shown)
    terminal.wait_for_prompt()


def test_no_history_keeps_values_and_secrets(terminal: Terminal, folder: Path) -> None:
    terminal.run(r"\set pin 471100815")
    terminal.run("select 'x://me:hunter2@host/' as url;")
    terminal.run("select :pin as p;")

    kept = (folder / "state" / "sqlfront" / "history").read_text()
    assert "hunter2" not in kept
    assert "471100815" not in kept
    assert "select :pin as p;" in kept
    assert (folder / "state" / "sqlfront" / "history").stat().st_mode & 0o77 == 0


def test_ctrl_c_cancels_a_query_and_the_shell_goes_on(terminal: Terminal) -> None:
    terminal.clear()
    terminal.enter(LONG)
    check_screen("progress", terminal)
    began = time.perf_counter()
    terminal.send("\x03")
    terminal.wait("cancelled after")
    seconds = time.perf_counter() - began
    print(f"cancelled in {seconds * 1000:.0f} ms")
    assert seconds < 10
    check_screen("cancelled", terminal)

    assert "1 row" in terminal.run("select 1 as a;")


def test_ctrl_c_twice_leaves_no_draft(terminal: Terminal) -> None:
    terminal.wait_for_prompt()
    terminal.send("select hidden\x03\x03")
    terminal.wait_for_prompt()
    shown = terminal.run("select 5 as five;")

    assert " five" in shown
    assert "hidden" not in shown


def test_variables_are_typed_parameters_and_texts(terminal: Terminal) -> None:
    terminal.run(r"\set day DATE'2024-02-29'")
    terminal.run(r"\set t range(3)")

    assert "2024-03-01" in terminal.run("select :day + 1 as next from ${t} limit 1;")
    assert "no variable has the name dya; did you mean day?" in terminal.run("select ${dya};")


def test_commands_tell_what_there_is(terminal: Terminal) -> None:
    terminal.run("create or replace temporary view vw as select 1 as a;")
    terminal.run("create table keyed (k int) using memory clustered by (k) into 7 buckets;")
    terminal.run("create index by_k on keyed (k);")

    assert " keyed" in terminal.run(r"\dt")
    assert " vw" in terminal.run(r"\dv")
    assert " keyed.by_k" in terminal.run(r"\di")
    assert "upper(str)" in terminal.run(r"\df upp")
    assert " default" in terminal.run(r"\l")
    terminal.run(r"\d keyed")
    check_screen("description", terminal)
    assert "members: this process" in terminal.run(r"\conninfo")
    assert r"the nearest known is \timing" in terminal.run(r"\timming")
    assert r"\watch [SECONDS]" in terminal.run(r"\?")
    assert "partitions 1 of 7" in terminal.run("select * from keyed where k = 1;")


def test_a_plan_that_ran_is_drawn_as_a_tree(terminal: Terminal) -> None:
    shown = terminal.run("explain analyze select count(*) from range(100000) where id % 3 = 1;")

    check_screen("plan that ran", terminal)
    assert "< hot" in shown
    assert "%" in shown
    terminal.run("select 7 as a;")
    assert "lane: direct" in terminal.run(r"\explain")
    assert "lane: direct" in terminal.run(r"\explain analyze")


def test_watch_repeats_until_ctrl_c(terminal: Terminal) -> None:
    terminal.run("select 'tick' as a;")
    terminal.enter(r"\watch 0.05")
    terminal.wait(lambda shown: shown.count(" tick\n") > 2)
    terminal.send("\x03")
    terminal.wait_for_prompt()
    terminal.clear()
    terminal.enter(r"\watch 60")
    terminal.wait("1 row")
    terminal.send("\x03")
    check_screen("watch", terminal)
    assert "a positive number of seconds" in terminal.run(r"\watch no")


def test_scripts_nest_and_do_not_run_themselves(terminal: Terminal, folder: Path) -> None:
    (folder / "scripts").mkdir()
    (folder / "outer.sql").write_text("select 'outer' as a;\n\\i scripts/inner.sql\n")
    (folder / "scripts" / "inner.sql").write_text("select 'inner' as a;\n\n\\i loop.sql\n")
    (folder / "scripts" / "loop.sql").write_text("\\i ../outer.sql\nselect 'never' as a;")

    shown = terminal.run(r"\i outer.sql")
    assert " outer\n" in shown
    assert " inner\n" in shown
    assert "loop.sql:1: scripts/../outer.sql is running already" in shown
    assert "never" not in shown
    assert "can't read missing.sql" in terminal.run(r"\i missing.sql")


def test_results_go_to_a_file(terminal: Terminal, folder: Path) -> None:
    terminal.run(r"\o out.txt")
    terminal.run("select repeat('x', 300) as a;")
    terminal.run(r"\format csv")
    terminal.run("select 1 as b, cast(null as int) as c;")
    terminal.run(r"\format table")
    terminal.run(r"\o")

    lines = (folder / "out.txt").read_text().split("\n")
    assert f"|{'x' * 300}|" in lines
    assert "b,c" in lines
    assert "results go to the screen" in terminal.run(r"\o")
    assert "can't write" in terminal.run(r"\o missing/out.txt")
    assert "the nearest known is csv" in terminal.run(r"\format csw")


def test_the_footer_without_time(terminal: Terminal) -> None:
    terminal.run(r"\timing off")
    assert "\n1 row, direct" in terminal.run("select 1 as a;")
    terminal.run(r"\timing on")


@pytest.mark.parametrize(
    ("number", "running"),
    [
        (signal.SIGTERM, False),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.doors),
        pytest.param(signal.SIGHUP, False, marks=pytest.mark.doors),
        pytest.param(signal.SIGHUP, True, marks=pytest.mark.doors),
    ],
)
def test_a_signal_ends_the_shell_and_restores_the_terminal(
    tmp_path: Path, number: signal.Signals, running: bool
) -> None:
    with Terminal(folder=tmp_path) as shell:
        shell.wait_for_prompt()
        echoes = shell.echoes()
        if running:
            shell.enter(LONG)
            shell.wait("(Ctrl-C cancels)")
        shell.signal(number)
        assert shell.ended() == 128 + number
        assert not echoes


def test_without_the_extra_a_plain_prompt_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['prompt_toolkit'] = None; from sqlfront.shell.main import main; main()"
    with Terminal(folder=tmp_path, program=[sys.executable, "-c", program]) as shell:
        assert "pip install 'sqlfront[shell]'" in shell.wait_for_prompt()
        shell.enter("select")
        shell.wait("...>")
        shell.enter("1 as one;")
        shell.wait("1 row")
        shell.wait_for_prompt()
        shell.enter("exit")
        assert shell.ended() == 0


@pytest.mark.doors
def test_a_signal_ends_the_shell_that_waits_for_its_pager(tmp_path: Path) -> None:
    with Terminal(folder=tmp_path, environment={"PAGER": "cat > /dev/null; echo paging; sleep 60"}) as shell:
        shell.wait_for_prompt()
        shell.enter("select id from range(100);")
        shell.wait("paging")
        shell.signal(signal.SIGTERM)
        assert shell.ended() == 128 + signal.SIGTERM


@pytest.fixture(scope="module")
def equipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, Path]]:
    """A shell without colours, with an editor and a pager that the tests write, and whose history can't be
    written; and its folder."""
    folder = tmp_path_factory.mktemp("equipped")
    (folder / "file").write_text("")
    environment = {"EDITOR": "./editor", "PAGER": "./pager", "NO_COLOR": "1"}
    environment["SQLFRONT_HISTORY"] = str(folder / "file" / "history")
    with Terminal(folder=folder, environment=environment) as shell:
        assert "the history is not kept" in shell.wait_for_prompt()
        yield shell, folder
        shell.wait_for_prompt()
        shell.send("\x04")
        assert shell.ended() == 0


def script(path: Path, text: str) -> None:
    """Write a program of the system's shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_history_that_cannot_be_written_is_said_once(equipped: tuple[Terminal, Path]) -> None:
    shell, _ = equipped
    assert "history" not in shell.run("select 1 as a;")
    assert "history" not in shell.run("select nope;")
    assert b"\x1b[1;31m" not in shell.written


def test_the_editor_changes_the_next_statement(equipped: tuple[Terminal, Path]) -> None:
    shell, folder = equipped
    script(folder / "editor", "sed -i 's/1/42/' \"$1\"")
    shell.run("select 1 as a;")
    shell.enter(r"\e")
    shell.wait("select 42 as a;")
    shell.send("\r")
    shell.wait(" 42\n")
    script(folder / "editor", "exit 3")
    assert "the editor ./editor ended with exit code 3" in shell.run(r"\e")
    (folder / "editor").unlink()
    assert "can't start the editor ./editor: No such file" in shell.run(r"\e")


def test_long_rows_go_through_the_pager_until_it_ends(equipped: tuple[Terminal, Path]) -> None:
    shell, folder = equipped
    script(folder / "pager", "head -n 3 > seen")
    shown = shell.run("select id from range(50000000);")
    assert re.search(r"first [\d,]+ rows", shown)
    assert (folder / "seen").read_text().split("\n")[2].strip() == "0"
    script(folder / "pager", "exit 9")
    assert "the pager `pager` failed with exit code 9" in shell.run("select id from range(1000);")
    (folder / "pager").unlink()
    shell.clear()
    shell.enter("select id from range(1000);")
    shown = shell.wait("failed with exit code 127")
    assert [line.strip() for line in shown.splitlines()].count("17") == 1  # the first rows, at least
    assert "1 row" in shell.run("select 1 as a;")


def test_a_config_file_sets_prompt_null_and_format(tmp_path: Path) -> None:
    file = tmp_path / "config" / "sqlfront" / "sqlfront.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        '[shell]\nprompt = "sql> "\nnull = "<nil>"\nformat = "vertical"\nkeys = "vi"\npager = ""\n'
    )
    with Terminal(folder=tmp_path) as shell:
        shell.wait("sql>")
        shell.enter("select cast(null as int) as a;")
        shell.wait("a │ <nil>")
        shell.wait(lambda text: text.endswith("sql>"))
        shell.send("\x04")
        assert shell.ended() == 0


@pytest.mark.doors
def test_a_config_file_with_an_unknown_format_or_key_ends_the_shell(tmp_path: Path) -> None:
    file = tmp_path / "config" / "sqlfront" / "sqlfront.toml"
    file.parent.mkdir(parents=True)
    for text, said in (
        ('format = "tabel"', "no format is called tabel; the nearest known is table"),
        ('promt = "x"', "prompt"),
    ):
        file.write_text(f"[shell]\n{text}\n")
        with Terminal(folder=tmp_path) as shell:
            assert shell.ended() == 2
            assert said in shell.text()
