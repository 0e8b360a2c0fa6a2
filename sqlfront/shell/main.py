"""Entry point of the ``sqlfront`` command: arguments, the loop over statements, and exit codes."""

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from sqlfront.config import Launcher
from sqlfront.session import Session
from sqlfront.shell import check, cluster, job
from sqlfront.shell.batch import Batch, run_batch
from sqlfront.shell.encryption_arguments import add_encryption
from sqlfront.shell.exit_codes import ExitCode
from sqlfront.shell.output.destination import OutputError, Terminated, opened
from sqlfront.shell.output.formats import FORMATS, format_named
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.scripts import Script, ScriptError, statements
from sqlfront.shell.scripts import check as check_scripts
from sqlfront.shell.session_arguments import add_connection, session_of
from sqlfront.shell.variables import assignment, variable
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.shell import interactive
else:
    interactive = lazy_module("sqlfront.shell.interactive")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``sqlfront`` command with these arguments (None: the arguments of the process), and return its
    exit code. Errors are printed to stderr, not raised."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["member"], ["cluster"]):
        return cluster.main(arguments)
    if arguments[:1] == ["check"]:
        return check.main(arguments[1:])
    is_job = arguments[:1] == ["job"]
    options = job.parser().parse_args(arguments[1:]) if is_job else _parser().parse_args(arguments)
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _interrupt)
        return _job(options) if is_job else _main(options)
    except BrokenPipeError:
        _silence_stdout()
        return ExitCode.OK
    except KeyboardInterrupt:
        return _failed("interrupted", ExitCode.INTERRUPTED)
    except Terminated:
        return _failed("terminated", ExitCode.TERMINATED)
    except _FailedError as error:
        return _failed(str(error), error.code)
    except ScriptError as error:
        return _failed(str(error), ExitCode.USAGE)
    except OutputError as error:
        return _failed(str(error), ExitCode.OUTPUT)
    except Error as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return ExitCode.TIMEOUT if is_timeout(error) else ExitCode.STATEMENT


class _FailedError(Exception):
    """The error that ends the command with a message and an exit code."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


def _failed(message: str, code: ExitCode) -> ExitCode:
    print(f"sqlfront: {message}", file=sys.stderr)
    return code


def _main(options: argparse.Namespace) -> int:
    scripts = options.run
    if not scripts and sys.stdin.isatty():
        return _talk(options)
    scripts = scripts or [Script(path="-")]
    check_scripts(scripts)
    options.format = options.format or "table"
    with opened(options.output) as out:
        if format_named(options.format).binary and out.isatty():
            place = "the terminal" if options.output is None else options.output
            raise _FailedError(f"{place} can't show {options.format}: use --output FILE", ExitCode.USAGE)
        with _session(session_of, options) as session:
            _run(session, scripts, out, options)
    return ExitCode.OK


def _talk(options: argparse.Namespace) -> int:
    """Run the interactive shell, and return its exit code. If stdout is no terminal, print a usage line
    instead. Raises _FailedError for arguments of batch mode."""
    for name, given in (("--output", options.output), ("-v", options.variables), ("--null", options.null)):
        if given:
            raise _FailedError(f"{name} is for statements of -c, -f and stdin", ExitCode.USAGE)
    if not sys.stdout.isatty():
        _parser().print_usage(sys.stderr)
        return ExitCode.USAGE
    with _session(session_of, options) as session:
        return interactive.run(session, options.format)


def _run(session: Session, scripts: Sequence[Script], out: BinaryIO, options: argparse.Namespace) -> None:
    variables = {}
    for name, text in options.variables:
        try:
            variables[name] = variable(text, session)
        except Error as error:
            raise _FailedError(f"-v {name}: {error}", ExitCode.USAGE) from error
    null = OutputOptions(null=options.null)
    batch = Batch(options.format, out, options.output, null, variables, quiet=options.quiet)
    run_batch(session, statements(scripts), batch)


def _silence_stdout() -> None:
    """Send later output on stdout to nowhere, because the reader of the pipe is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _job(options: argparse.Namespace) -> int:
    """Run ``sqlfront job``; return its exit code."""
    if options.action == "watch":
        job.watch(options)
    with _session(job.session_of, options) as session:
        return job.run(session, options)


def _session(of: Callable[[argparse.Namespace], Session], options: argparse.Namespace) -> Session:
    """Open and return the session that the arguments ask for, by calling ``of`` with them. Raises
    _FailedError if that fails."""
    try:
        return of(options)
    except Error as error:
        raise _FailedError(str(error), ExitCode.CONNECT) from error
    except OSError as error:
        raise _FailedError(f"can't read {error.filename}: {error.strerror}", ExitCode.USAGE) from error


def is_timeout(error: Error) -> bool:
    """Return whether a statement failed because it exceeded its time limit; False for a cancelled statement,
    whose SQLSTATE is HY008."""
    return isinstance(error, OperationalError) and error.sqlstate == "57014"


def _interrupt(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


class _Source(argparse.Action):
    """An argparse action that collects the values of -c and -f in one list, in the order of the command
    line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        value = str(values)
        script = Script(text=value) if self.const == "command" else Script(path=value)
        namespace.run = [*(namespace.run or []), script]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sqlfront",
        description="Run Spark SQL. Statements end with a semicolon; without -c and -f stdin is read.",
        epilog="Exit codes: 0 ok, 1 a statement failed, 2 usage, 3 no session, 4 timeout, 6 output,"
        " 130 Ctrl-C. Clusters: sqlfront member --help, sqlfront cluster --help."
        " Files unrun: sqlfront check --help. Durable jobs: sqlfront job --help.",
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
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write results to a file, which appears, or is replaced, once all statements have succeeded",
    )
    parser.add_argument(
        "-v",
        "--variable",
        action="append",
        dest="variables",
        type=_variable,
        default=[],
        metavar="NAME=VALUE",
        help="value of :NAME, a SQL literal or else a string, and text in place of ${NAME} (repeatable)",
    )
    parser.add_argument(
        "--null", metavar="TEXT", help="the text for NULL in formats of text (default: theirs)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print no row counts and no progress")
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="limit of a statement's time")
    parser.add_argument("--time-zone", metavar="NAME", help="time zone of TIMESTAMP values (default: UTC)")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="use a cluster and its tables: sqlfront://host:port, the folder of its files, or sqlfront:// for"
        " the one that `sqlfront cluster start` has started",
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
    parser.add_argument(
        "--job-store",
        metavar="DIR|URL",
        help="directory of durable jobs, or a URL such as s3://bucket/jobs (default: $SQLFRONT_JOB_STORE)",
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


def _variable(text: str) -> tuple[str, str]:
    try:
        return assignment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError("must be positive")
    return value
