"""%sql and %%sql in IPython's InteractiveShell, in this process."""

from __future__ import annotations

import _thread
import atexit
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import sqlfront
from sqlfront.jupyter import running
from sqlfront.results.result import Result

ENDLESS = (
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(100000) b CROSS JOIN range(1000) c"
    " WHERE a.id + b.id = -c.id"
)


class Notebook:
    """A notebook without a kernel."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def run(self, cell: str) -> tuple[Any, str]:
        """Run a cell; return its value and what it printed. Raises the cell's error."""
        with capture_output() as captured:
            done = self.shell.run_cell(cell)  # type: ignore[no-untyped-call]
        self.printed = captured.stdout + "".join(shown.data["text/plain"] for shown in captured.outputs)
        done.raise_error()
        return done.result, self.printed

    def fail(self, cell: str) -> str:
        """Run a cell that fails; return what it printed."""
        with pytest.raises(sqlfront.Error):
            self.run(cell)
        return self.printed

    def complete(self, text: str) -> list[str]:
        """The completions at the end of the text."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [found.text for found in self.shell.Completer.completions(text, len(text))]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("load_ext", "sqlfront")
    yield made
    atexit.unregister(made.atexit_operations)
    made.atexit_operations()  # type: ignore[no-untyped-call]
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell: InteractiveShell) -> Iterator[Notebook]:
    with sqlfront.connect(workers=1) as connection:
        shell.user_ns["here"] = connection
        made = Notebook(shell)
        made.run("%sql --connect here")
        yield made
        made.run("%sql --connect")


def test_a_line_and_a_cell(notebook: Notebook) -> None:
    result, _ = notebook.run("%sql SELECT 1 AS x, '{not a frame}' AS y")
    assert result.collect() == [(1, "{not a frame}")]
    result, _ = notebook.run("%%sql\nSELECT 2 AS x\n  -- a comment; with a semicolon\n;")
    assert result.collect() == [(2,)]
    assert notebook.run("found = %sql SELECT 42\nfound.collect()[0][0]")[0] == 42


def test_a_result_is_assigned(notebook: Notebook) -> None:
    assert notebook.run("%%sql big <<\nSELECT id FROM range(100)")[0] is None
    assert notebook.run("len(big.collect())")[0] == 100
    notebook.run("%sql one << SELECT 1 AS x")
    assert notebook.run("one.toPandas()['x'].sum()")[0] == 1


def test_variables_are_parameters_and_frames(notebook: Notebook) -> None:
    notebook.shell.user_ns["frame"] = pa.table({"a": [1, 2, 3]})
    notebook.run('least, word = 2, "it\'s"')
    result, _ = notebook.run("%sql SELECT a, :word AS w FROM {frame} WHERE a >= :least")
    assert result.collect() == [(2, "it's"), (3, "it's")]
    notebook.run("%sql rows << SELECT * FROM {frame}")
    result, _ = notebook.run("%%sql\nSELECT sum(a) FROM {rows}")
    assert result.collect() == [(6,)]
    assert "UNBOUND_SQL_PARAMETER" in notebook.fail("%sql SELECT :nobody")


def test_classes_are_no_parameters(notebook: Notebook) -> None:
    notebook.run("from datetime import date")
    notebook.run("%sql CREATE TABLE days (x STRUCT<day:date>) USING memory")
    assert notebook.run("%sql DESCRIBE days")[0].collect() == [("x", "struct<day:date>", None)]


def test_no_value_is_a_parameter_too(notebook: Notebook) -> None:
    notebook.run("nothing = None")
    assert notebook.run("%sql SELECT :nothing IS NULL AS x")[0].collect() == [(True,)]


def test_several_statements_show_all_results(notebook: Notebook) -> None:
    result, printed = notebook.run(
        "%%sql\nCREATE TABLE t USING memory AS SELECT 1 AS x; SELECT x FROM t; SELECT x + 1 AS y FROM t"
    )
    assert result.collect() == [(2,)]
    assert "|x  |" in printed
    assert notebook.run("%sql DROP TABLE t")[0] is None


def test_errors_point_at_the_place_without_a_traceback(notebook: Notebook) -> None:
    printed = notebook.fail("%%sql\nSELECT id,\n  wrong FROM range(1)")
    assert "LINE 2:   wrong FROM range(1)\n          ^^^^^" in printed
    assert "Traceback" not in printed
    assert len(printed.splitlines()) <= 4
    assert "--nix" in notebook.fail("%sql --nix")
    assert "no statement" in notebook.fail("%%sql\n-- nothing")


def test_an_interrupt_cancels_the_statement(notebook: Notebook) -> None:
    session = notebook.shell.user_ns["here"].session

    def interrupt() -> None:
        deadline = time.monotonic() + 30
        while not session.engine.jobs() and time.monotonic() < deadline:
            time.sleep(0.01)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    printed = notebook.fail(f"%sql {ENDLESS}")
    thread.join(30)
    assert "HY008" in printed
    assert not session.engine.jobs()
    assert notebook.run("%sql SELECT 1")[0].collect() == [(1,)]


def test_an_interrupt_that_comes_too_late_still_ends_the_cell(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.run("%sql CREATE TABLE late (x INT) USING memory")
    wait, interrupts = running._Work.wait, [KeyboardInterrupt]

    def interrupted(work: running._Work, seconds: float) -> bool:
        assert wait(work, 30)
        while interrupts:
            raise interrupts.pop()
        return True

    monkeypatch.setattr(running._Work, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        notebook.run("%%sql\nINSERT INTO late VALUES (1);\nINSERT INTO late VALUES (2)")
    assert notebook.run("%sql SELECT * FROM late")[0].collect() == [(1,)]


def test_connections_are_chosen_and_closed(notebook: Notebook) -> None:
    notebook.run("%sql CREATE TABLE mine (x INT) USING memory")
    notebook.run("%sql --connect")
    assert "TABLE_OR_VIEW_NOT_FOUND" in notebook.fail("%sql SELECT * FROM mine")
    notebook.run("%sql --connect here SELECT * FROM mine")
    notebook.run("number = 1")
    assert "not a connection" in notebook.fail("%sql --connect number")
    notebook.run("here.close()")
    assert "closed" in notebook.fail("%sql SELECT 1")
    notebook.run("%sql --close")


def test_help(notebook: Notebook) -> None:
    assert "%sql name << STATEMENT" in notebook.run("%sql")[1]


def test_names_are_completed_in_sql_alone(notebook: Notebook) -> None:
    notebook.run("%sql CREATE TABLE numbers (kilo INT, `we ird` STRING) USING memory")
    assert notebook.complete("%sql SELECT * FROM num") == ["numbers"]
    assert "kilo" in notebook.complete("%%sql\nSELECT * FROM numbers WHERE k")
    assert notebook.complete("%%sql\nSELECT * FROM numbers n WHERE n.ki") == ["n.kilo"]
    assert notebook.complete("%%sql\nSELECT * FROM numbers WHERE we") == ["`we ird`"]
    assert "numbers" not in notebook.complete("num")


def test_loading_again_changes_nothing(notebook: Notebook) -> None:
    before = len(notebook.shell.Completer.custom_matchers)
    notebook.run("%reload_ext sqlfront")
    assert len(notebook.shell.Completer.custom_matchers) == before


def shown(result: object) -> str:
    assert isinstance(result, Result)
    return result._repr_html_()


def test_html_is_escaped_and_tells_null_from_empty(notebook: Notebook) -> None:
    evil = "<img src=x onerror=alert(1)>&\"'"
    notebook.shell.user_ns["evil"] = pa.table({evil: [evil, None, "", "NULL", "\0\x1b[31m"]})
    page = shown(notebook.run("%sql SELECT * FROM {evil}")[0])
    assert "<img" not in page
    assert page.count("&lt;img") == 2
    assert page.count("<span") == 1
    assert 'pre-wrap"></td>' in page
    assert "\x1b" not in page and "\0" not in page


def test_html_of_many_rows_and_columns(notebook: Notebook) -> None:
    page = shown(notebook.run("%sql SELECT id FROM range(1000)")[0])
    assert page.count("<tr>") == 21
    assert "the first 20 rows" in page
    assert "20 rows ·" in shown(notebook.run("%sql SELECT id FROM range(20)")[0])
    assert "0 rows ·" in shown(notebook.run("%sql SELECT id FROM range(0)")[0])
    notebook.shell.user_ns["wide"] = pa.table({f"c{number}": [1] for number in range(1_000)})
    page = shown(notebook.run("%sql SELECT * FROM {wide}")[0])
    assert "200 of 1,000 columns" in page
    assert page.count("<th") == 201  # and one <thead>


def test_showing_keeps_the_rows(notebook: Notebook) -> None:
    result, _ = notebook.run("%sql SELECT id FROM range(50)")
    assert "first 20 rows" in shown(result)
    assert len(result.collect()) == 50
    consumed, _ = notebook.run("%sql SELECT id FROM range(50)")
    assert len(list(consumed)) == 50
    assert shown(consumed) == "Result[id: bigint]"
