"""Batch mode: statements run one after the other, and their rows go to the output."""

import sys
import time
from collections.abc import Iterable, Mapping
from typing import BinaryIO

import msgspec

from sqlfront.results.result import Result
from sqlfront.session import Session
from sqlfront.shell.output.destination import OutputError, failure
from sqlfront.shell.output.formats import format_named, write_result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.progress import ProgressLine
from sqlfront.shell.variables import Variable, substituted, values
from sqlfront_planner.lanes import Lane
from sqlfront_planner.script import split_statements


class Batch(msgspec.Struct, frozen=True):
    """The way in which a batch writes results: the format's name, the stream of bytes, the name of the output
    for messages (None: standard output), and ``variables``. ``quiet``: no lines on stderr but errors."""

    format_name: str
    out: BinaryIO
    path: str | None = None
    options: OutputOptions = OutputOptions()
    variables: Mapping[str, Variable] = {}
    quiet: bool = False


def run_batch(session: Session, statements: Iterable[str], batch: Batch) -> None:
    """Run the statements, and write the rows of each. Raises the error of the first statement that fails,
    BrokenPipeError if nobody reads the output any more, and OutputError if the output can't be written."""
    results = 0
    for text in statements:
        known = substituted(text, batch.variables) if batch.variables else text
        for statement in (text,) if known is text else split_statements(known):
            with _execute(session, statement, batch) as result:
                results += bool(len(result.schema))
                if results > 1 and format_named(batch.format_name).one_result:
                    raise OutputError(
                        f"a {batch.format_name} file holds the rows of one statement, not of two"
                    )
                _write(result, batch)
    if not results and format_named(batch.format_name).one_result:
        raise OutputError(f"no statement has rows for a {batch.format_name} file")


def _execute(session: Session, statement: str, batch: Batch) -> Result:
    """Run a statement, and return its result. In a terminal, Spark's progress is shown until the first rows
    have arrived."""
    parameters = values(batch.variables)
    if batch.quiet or session.spark is None or not sys.stderr.isatty():
        return session.execute(statement, parameters)
    query = session.begin(statement)
    with ProgressLine(query.progress, sys.stderr):
        result = session.execute(statement, parameters, query=query)
        if result.stats.lane == Lane.SPARK:
            result.wait()
    return result


def _write(result: Result, batch: Batch) -> None:
    """Write all rows and, for formats that people read, a line with row count, time and lane to stderr."""
    began = time.perf_counter()
    try:
        rows = write_result(result, batch.format_name, batch.out, batch.options)
        batch.out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failure(batch.path, error) from error
    if format_named(batch.format_name).has_footer and not batch.quiet:
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
