"""What a person at the shell waits for, beside DuckDB's shell: both in pseudo-terminals, in turns.

    python -m benchmarks.interactive_shell [--turns 5]

Printed as Markdown: medians of the turns in milliseconds. *Start to prompt*: from the start of the process.
*Answer*: of ``select 1``, from Enter to the row on the screen. *First screen*: of 50 million rows, from Enter
to the first row on the screen; DuckDB shows the first and the last rows of its answer. *Completion*: from Tab
to the completed column (DuckDB), or from the last key to the menu (sqlfront). *Cancel*: of a join of minutes,
from Ctrl-C to the end of the statement. *Memory*: of the process when the first screen stands, in MiB. Needs
``duckdb-cli``.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.sqlfront.shell.terminal import Terminal

_PAGER: Final = {"PAGER": "less -SRX"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    peer = _duckdb()
    measures: dict[str, Callable[[Path], Iterator[tuple[str, float]]]] = {"sqlfront": of_sqlfront}
    if peer is not None:
        measures["duckdb"] = lambda folder: of_duckdb(peer, folder)
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.turns):
            for name, measure in measures.items():
                for what, value in measure(Path(folder)):
                    found.setdefault(what, {}).setdefault(name, []).append(value)
    print(f"| | {' | '.join(measures)} |\n|---{'|---' * len(measures)}|")
    for what, values in found.items():
        print(f"| {what} | {' | '.join(f'{statistics.median(values[name]):,.0f}' for name in measures)} |")


def _duckdb() -> str | None:
    """The program of DuckDB's shell, not the script around it, which Ctrl-C would end; None if the package is
    not installed."""
    package = find_spec("duckdb_cli")
    if package is None or package.origin is None:
        return None
    return str(Path(package.origin).with_name("duckdb"))


def of_sqlfront(folder: Path) -> Iterator[tuple[str, float]]:
    """The measures of one turn of sqlfront's shell."""
    began = time.perf_counter()
    with Terminal(folder=folder, environment=_PAGER, lines=24) as shell:
        shell.wait_for_prompt()
        yield "start to prompt, ms", _since(began)
        shell.run("create table t using memory as select 1 as duration_of_flight;")
        yield "answer, ms", _timed(shell, "select 7777 as a;", lambda text: " 7777\n" in text)
        shell.clear()
        shell.send("select  from t;" + "\x02" * len(" from t;"))
        shell.pump(0.3)
        began = time.perf_counter()
        shell.send("dur")
        shell.wait("duration_of_flight")
        yield "completion, ms", _since(began)
        shell.send("\x03")
        shell.wait_for_prompt()
        rows = "select id, id * 2 as b from range(50000000);"
        yield "first screen of 50 million rows, ms", _timed(shell, rows, lambda text: "   1 │   2" in text)
        yield "memory, MiB", _memory(shell.pid)
        shell.send("q")
        shell.wait_for_prompt()
        shell.enter("select count(*) from range(60000) a join range(60000) b on a.id + b.id < 0;")
        shell.wait("(Ctrl-C cancels)")
        began = time.perf_counter()
        shell.send("\x03")
        shell.wait("cancelled after")
        yield "cancel, ms", _since(began)


def of_duckdb(program: str, folder: Path) -> Iterator[tuple[str, float]]:
    """The measures of one turn of DuckDB's shell."""
    began = time.perf_counter()
    with Terminal(folder=folder, program=[program], lines=24) as shell:
        while b"\x1b[c" not in shell.written:
            shell.pump()
        shell.send("\x1b[?62c")  # the terminal's answer to the question what it is
        _prompt(shell)
        yield "start to prompt, ms", _since(began)
        shell.enter("create table t as select 1 as duration_of_flight;")
        _prompt(shell)
        yield "answer, ms", _timed(shell, "select 7777 as a;", lambda text: "7777 │" in text)
        _prompt(shell)
        shell.send("select  from t;" + "\x02" * len(" from t;"))
        shell.pump(0.3)
        began = time.perf_counter()
        shell.send("dur\t")
        shell.wait("duration_of_flight from")
        yield "completion, ms", _since(began)
        shell.send("\r\r")
        _prompt(shell)
        rows = "select range as id, range * 2 as b from range(50000000);"
        yield (
            "first screen of 50 million rows, ms",
            _timed(shell, rows, lambda text: "(50000000 total)" in text),
        )
        yield "memory, MiB", _memory(shell.pid)
        _prompt(shell)
        shell.enter("select count(*) from range(600000) a(x) join range(600000) b(x) on a.x + b.x < 0;")
        shell.pump(1.5)
        began = time.perf_counter()
        shell.send("\x03")
        shell.wait(lambda text: "^C" in text and text.endswith(" D"))
        yield "cancel, ms", _since(began)


def _prompt(shell: Terminal) -> None:
    """Wait for DuckDB's prompt, whose name of the database stands before ``D``."""
    shell.wait(lambda text: text.endswith(" D"))


def _timed(shell: Terminal, text: str, holds: Callable[[str], bool]) -> float:
    """The milliseconds from Enter behind a text until a condition holds for the screen."""
    began = time.perf_counter()
    shell.enter(text)
    shell.wait(holds)
    return _since(began)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _memory(pid: int) -> float:
    """The resident memory of a process in MiB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


if __name__ == "__main__":
    main()
