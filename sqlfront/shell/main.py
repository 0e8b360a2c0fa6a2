"""Entry point of the ``sqlfront`` command: arguments, the loop over statements, and exit codes."""

import argparse
import math
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from sqlfront.config import Launcher
from sqlfront.results.result import Result
from sqlfront.session import Session
from sqlfront.shell import check, cluster
from sqlfront.shell.encryption_arguments import add_encryption
from sqlfront.shell.output.formats import FORMATS, format_named, write_result
from sqlfront.shell.progress import ProgressLine
from sqlfront.shell.session_arguments import add_connection, session_of
from sqlfront_planner.lanes import Lane
from sqlfront_planner.script import split_statements
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.shell import interactive
else:
    interactive = lazy_module("sqlfront.shell.interactive")


class ExitCode(IntEnum):
    """The exit codes of the process."""

    OK = 0
    """Every statement succeeded."""
    STATEMENT = 1
    """A statement failed."""
    USAGE = 2
    """The arguments are wrong, or a file of statements can't be read."""
    CONNECT = 3
    """The session could not be started."""
    TIMEOUT = 4
    """A statement exceeded --timeout."""
    INTERRUPTED = 130
    """Interrupted by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``sqlfront`` command; return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["member"], ["cluster"]):
        return cluster.main(arguments)
    if arguments[:1] == ["check"]:
        return check.main(arguments[1:])
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        scripts = list(_scripts(options.run or []))
    except OSError as error:
        print(f"sqlfront: can't read {error.filename}: {error.strerror}", file=sys.stderr)
        return ExitCode.USAGE
    talks = not scripts and sys.stdin.isatty()
    if talks and not sys.stdout.isatty():
        _parser().print_usage(sys.stderr)
        return ExitCode.USAGE
    if not scripts and not talks:
        scripts = [sys.stdin.read()]
    try:
        session = session_of(options)
    except Error as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return ExitCode.CONNECT
    except OSError as error:
        print(f"sqlfront: can't read {error.filename}: {error.strerror}", file=sys.stderr)
        return ExitCode.USAGE
    with session:
        if talks:
            return interactive.run(session, options.format)
        return _run(session, scripts, options.format or "table")


def _run(session: Session, scripts: Sequence[str], format_name: str) -> ExitCode:
    try:
        for script in scripts:
            for statement in split_statements(script):
                _print(_execute(session, statement), format_name)
    except BrokenPipeError:
        sys.stderr.close()
        return ExitCode.OK
    except KeyboardInterrupt:
        print("sqlfront: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Error as error:
        sys.stdout.flush()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return ExitCode.TIMEOUT if is_timeout(error) else ExitCode.STATEMENT
    return ExitCode.OK


def _print(result: Result, format_name: str) -> None:
    """Print all rows to stdout and, for formats that people read, a line with row count, time and lane to
    stderr."""
    began = time.perf_counter()
    rows = write_result(result, format_name, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    if format_named(format_name).has_footer:
        _footer(result, rows, result.stats.seconds + time.perf_counter() - began)


def _footer(result: Result, rows: int, seconds: float) -> None:
    stats = result.stats
    took = f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
    if stats.affected is not None:
        what = f"{stats.affected} row{'' if stats.affected == 1 else 's'} written"
    elif len(result.schema):
        what = f"{rows} row{'' if rows == 1 else 's'}"
    else:
        what = "ok"
    print(f"{what}, {took}, {stats.lane}\n", file=sys.stderr, flush=True)


def _execute(session: Session, statement: str) -> Result:
    """Run a statement, and return its result. In a terminal, Spark's progress is shown until the first rows
    have arrived."""
    if session.spark is None or not sys.stderr.isatty():
        return session.execute(statement)
    query = session.begin(statement)
    with ProgressLine(query.progress, sys.stderr):
        result = session.execute(statement, query=query)
        if result.stats.lane == Lane.SPARK:
            result.wait()
    return result


def is_timeout(error: Error) -> bool:
    """Whether the statement exceeded its time limit (a cancelled statement has SQLSTATE HY008)."""
    return isinstance(error, OperationalError) and error.sqlstate == "57014"


def _interrupt(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


class _Source(argparse.Action):
    """An argument action that collects the values of -c and -f in one list, in the given order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        namespace.run = [*(namespace.run or []), (self.const, values)]


def _scripts(sources: Sequence[tuple[str, str]]) -> Iterator[str]:
    for kind, value in sources:
        if kind == "command":
            yield value
        elif value == "-":
            yield sys.stdin.read()
        else:
            with open(value, encoding="utf-8") as file:
                yield file.read()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sqlfront",
        description="Run Spark SQL. Statements end with a semicolon; without -c and -f stdin is read.",
        epilog="Exit codes: 0 ok, 1 a statement failed, 2 usage, 3 no session, 4 timeout, 130 Ctrl-C."
        " Clusters: sqlfront member --help, sqlfront cluster --help. Files unrun: sqlfront check --help.",
    )
    add_connection(parser)
    parser.add_argument(
        "-c", "--command", action=_Source, const="command", metavar="SQL", help="run statements (repeatable)"
    )
    parser.add_argument(
        "-f",
        "--file",
        action=_Source,
        const="file",
        metavar="FILE",
        help="run a file, - for stdin (repeatable)",
    )
    parser.add_argument("--format", choices=FORMATS, help="how results are printed (default: table)")
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="limit of a statement's time")
    parser.add_argument("--time-zone", metavar="NAME", help="time zone of TIMESTAMP values (default: UTC)")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="use a cluster and its tables: sqlfront://host:port, sqlfront:///path/of/its/socket, or sqlfront://"
        " for the one that `sqlfront cluster start` has started",
    )
    parser.add_argument(
        "--secret-file", metavar="FILE", help="holds the cluster's secret (default: $SQLFRONT_SECRET)"
    )
    parser.add_argument(
        "--credentials",
        metavar="FILE",
        help="what `sqlfront cluster start` has written for clients on other machines (default:"
        " $SQLFRONT_CREDENTIALS)",
    )
    add_encryption(parser)
    parser.add_argument(
        "--spark",
        metavar="URL",
        help="have Spark run what sqlfront doesn't know or cover: a master such as local[4], or sc://host for"
        " a server of Spark Connect; it is started when the first statement needs it",
    )
    parser.add_argument("--members", type=int, metavar="N", help="spread tables and queries over N members")
    parser.add_argument(
        "--launcher",
        choices=[launcher.value for launcher in Launcher],
        help="where these live: in this process (default), in local ones of their own, or on the executors of"
        " --spark",
    )
    parser.add_argument("--version", action="version", version="%(prog)s 0.1.0")
    parser.set_defaults(run=None)
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("must be positive")
    return value
