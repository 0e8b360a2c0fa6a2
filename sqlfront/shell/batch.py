"""Batch mode: statements run one after the other, and their rows go to the output."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import BinaryIO

import msgspec

from sqlfront.results.result import Result
from sqlfront.session import Session
from sqlfront.shell.output.destination import OutputError, failure
from sqlfront.shell.output.formats import format_named, write_result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.progress import ProgressLine
from sqlfront.shell.variables import Variable, substituted, values
from sqlfront_planner.script import split_statements


class Batch(msgspec.Struct, frozen=True):
    """The output of batch mode (SQL from ``-c`` or files), and its form: the name of the output format, its
    options, the stream of bytes ``out``, and ``path``, which names the stream in error messages (None:
    standard output). ``variables``: the shell variables that statements may use, by name. ``quiet``: only
    errors go to stderr."""

    format_name: str
    out: BinaryIO
    path: str | None = None
    options: OutputOptions = OutputOptions()
    variables: Mapping[str, Variable] = {}
    quiet: bool = False


def run_batch(session: Session, statements: Iterable[str], batch: Batch) -> None:
    """Run the statements, and write the rows of each. Raises the error of the first statement that fails, and
    BrokenPipeError if nobody reads the output any more. Raises OutputError if the output can't be written, or
    if the format holds one result (``parquet``) and not exactly one statement has rows."""
    results = 0
    with _progress_line(batch) as line:
        for statement in _substituted(statements, batch):
            began = time.perf_counter()
            with _execute(session, statement, batch, line) as result:
                results += bool(len(result.schema))
                if results > 1 and format_named(batch.format_name).one_result:
                    raise OutputError(
                        f"a {batch.format_name} file holds the rows of one statement, not of two"
                    )
                _write(result, batch, began)
    if not results and format_named(batch.format_name).one_result:
        raise OutputError(f"no statement has rows for a {batch.format_name} file")


def _substituted(statements: Iterable[str], batch: Batch) -> Iterator[str]:
    """Yield the statements with each ``${name}`` replaced by the variable's text. A text with variables is
    split again, since a variable may hold several statements."""
    for text in statements:
        known = substituted(text, batch.variables) if batch.variables else text
        yield from (text,) if known is text else split_statements(known)


def _progress_line(batch: Batch) -> AbstractContextManager[ProgressLine | None]:
    """Return a context with the line that shows the progress of statements on stderr. The context's value is
    None if stderr is no terminal or the batch is quiet."""
    return nullcontext() if batch.quiet or not sys.stderr.isatty() else ProgressLine(sys.stderr)


def _execute(session: Session, statement: str, batch: Batch, line: ProgressLine | None) -> Result:
    """Run a statement, and return its result. ``line``, if given, shows the progress until the first rows
    have arrived."""
    parameters = values(batch.variables)
    if line is None:
        return session.execute(statement, parameters)
    query = session.begin(statement)
    with line.during(query), ExitStack() as undo:
        result = undo.enter_context(session.execute(statement, parameters, query=query))
        result.wait()
        undo.pop_all()
    return result


def _write(result: Result, batch: Batch, began: float) -> None:
    """Write all rows and, for formats that people read, a line with row count, time and lane to stderr.
    ``began``: the value of ``time.perf_counter`` at the begin of the statement."""
    try:
        rows = write_result(result, batch.format_name, batch.out, batch.options)
        batch.out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failure(batch.path, error) from error
    if format_named(batch.format_name).has_footer and not batch.quiet:
        _footer(result, rows, time.perf_counter() - began)


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
