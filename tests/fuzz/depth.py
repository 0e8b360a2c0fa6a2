"""Deep and long statements, each shape in a process of its own: what they cost, and how they end.

A worker process with limits of time and memory runs a statement of each size of :mod:`tests.fuzz.shapes`. It
ends well with an answer, which is compared where arithmetic knows it, or with an error of PEP 249's hierarchy
other than InternalError::

    python -m tests.fuzz.depth                                        all shapes, sizes 10 to 100,000
    python -m tests.fuzz.depth --shapes and joins --sizes 500 10000
    python -m tests.fuzz.depth --failures                             prints nothing but what is wrong
    python -m tests.fuzz.depth --way members --sizes 50 500           by a cluster of three; see WAYS
"""

import argparse
import contextlib
import json
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self

from tests.fuzz.shapes import SHAPES, TABLES, Shape, Statement

if TYPE_CHECKING:
    from sqlfront import Connection

SIZES: Final = (10, 50, 100, 200, 500, 1_000, 5_000, 10_000, 100_000)
#: Where statements go: a cursor, EXPLAIN and EXPLAIN EXTENDED, a prepared statement, ``sqlfront check``, and
#: a cursor of a cluster of three members.
WAYS: Final = ("cursor", "explain", "extended", "prepared", "check", "members")
#: Seconds that no statement may take, an error included.
MOST_SECONDS: Final = 5.0
#: Seconds after which a worker is killed; a loaded machine is slow.
_HANGS: Final = 300.0
#: Bytes of address space that a worker may have.
_MEMORY: Final = 8 << 30


class Ending(NamedTuple):
    """How a statement ended, after so many seconds of the processor: ``kind`` is ``answer`` or the name of an
    error's class, or else ``WRONG`` (another answer), ``RAW`` (an exception outside of the hierarchy),
    ``DEATH`` or ``HANG``."""

    kind: str
    detail: str
    seconds: float


class Outcome(NamedTuple):
    """The ending of one shape at one size, and what is wrong with it ("": nothing)."""

    shape: str
    size: int
    ending: Ending
    fault: str


class Worker:
    """A process that runs statements; a new one takes the place of one that died or hung."""

    def __init__(self) -> None:
        self._process = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def run(self, shape: str, size: int, way: str = "cursor") -> Ending:
        """The ending of a statement."""
        stdin, stdout = self._pipes()
        stdin.write(f"{json.dumps([shape, size, way])}\n")
        stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            line = stdout.readline() if selector.select(_HANGS) else None
        if line:
            return Ending(*json.loads(line))
        code = self._end()
        self._process = self._started()
        return Ending("HANG", "", _HANGS) if line is None else Ending("DEATH", f"code {code}", 0.0)

    def _end(self) -> int:
        """Kill the process; returns its exit code."""
        self._process.kill()
        code = self._process.wait()
        for pipe in self._pipes():
            with contextlib.suppress(BrokenPipeError):  # what it has not read
                pipe.close()
        return code

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _started(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.depth", "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def fault(shape: Shape, size: int, ending: Ending) -> str:
    """What is wrong with an ending, "" for nothing."""
    must_answer = size <= shape.answered
    within = min(shape.within, MOST_SECONDS) if must_answer else MOST_SECONDS
    if ending.kind in ("WRONG", "RAW", "DEATH", "HANG", "InternalError"):
        return ending.kind
    if must_answer and ending.kind != "answer":
        return "NO ANSWER"
    return "SLOW" if ending.seconds > within else ""


def outcomes(names: Sequence[str], sizes: Sequence[int], way: str = "cursor") -> Iterator[Outcome]:
    """Run the shapes at the sizes, in order; one that hangs or dies isn't tried at larger sizes."""
    with Worker() as worker:
        for name in names:
            for size in sizes:
                ending = worker.run(name, size, way)
                yield Outcome(name, size, ending, fault(SHAPES[name], size, ending))
                if ending.kind in ("HANG", "DEATH"):
                    break


def _work() -> None:
    """Answer the requests of :class:`Worker`, one a line."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    import sqlfront

    for line in sys.stdin:
        name, size, way = json.loads(line)
        statement = SHAPES[name].make(size)
        with sqlfront.connect(members=3 if way == "members" else 1) as connection:
            cursor = connection.cursor()
            for table in TABLES:
                cursor.execute(table)
            began = time.process_time()
            try:
                value = _value(connection, statement, way)
            except sqlfront.Error as error:
                kind, detail = type(error).__name__, str(error)
            except BaseException as error:  # noqa: BLE001 - which is what the run is to find
                kind, detail = "RAW", f"{type(error).__name__}: {error}"
            else:
                is_answer = way in ("cursor", "prepared", "members")
                right = not is_answer or statement.value is None or value == statement.value
                kind, detail = ("answer", "") if right else ("WRONG", f"{value!r:.50}")
            seconds = time.process_time() - began
        print(json.dumps([kind, detail[:120], seconds]), flush=True)


def _value(connection: "Connection", statement: Statement, way: str) -> object:
    """The first value of what comes of a statement that goes this way, None if nothing does."""
    cursor = connection.cursor()
    match way:
        case "cursor" | "members":
            cursor.execute(statement.text, statement.parameters)
        case "explain" if not statement.text.upper().startswith("EXPLAIN"):
            cursor.execute(f"EXPLAIN {statement.text}", statement.parameters)
        case "extended" if not statement.text.upper().startswith("EXPLAIN"):
            cursor.execute(f"EXPLAIN EXTENDED {statement.text}", statement.parameters)
        case "prepared":
            found = connection.prepare(statement.text).execute(statement.parameters).collect()
            return found[0][0] if found else None
        case "check":
            return _checked(statement.text)
    rows = cursor.fetchall() if cursor.description else []
    return rows[0][0] if rows else None


def _checked(text: str) -> str:
    """The way that ``sqlfront check`` tells of the last statement of a file, the tables' being the others;
    what it says fails is raised here."""
    import sqlfront
    from sqlfront.check import files

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "statement.sql"
        path.write_text(";\n".join((*TABLES, text)))
        verdict = list(files.check_file(path))[-1].verdict
    if verdict.way == "error":
        raise sqlfront.NotSupportedError(verdict.reason)
    return verdict.way


def main() -> int:
    """Run as the command line says; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N")
    parser.add_argument("--way", choices=WAYS, default="cursor", help="where the statements go")
    parser.add_argument("--failures", action="store_true", help="print what is wrong only")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work()
        return 0
    count = faults = 0
    for name, size, ending, wrong in outcomes(options.shapes, options.sizes, options.way):
        count, faults = count + 1, faults + bool(wrong)
        if wrong or not options.failures:
            detail = ending.detail.replace("\n", " ")
            print(
                f"{name:24}{size:>7} {ending.seconds:8.3f} s  {ending.kind:18} {wrong:10} {detail}",
                flush=True,
            )
    print(f"{count} statements, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
