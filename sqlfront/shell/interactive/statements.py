"""The run of a statement that was typed or is in a script: execute, show the rows as they arrive, cancel on
Ctrl-C."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import BinaryIO, Final, cast

import msgspec

from sqlfront.results.result import Result
from sqlfront.shell.interactive.display.cells import ShownRow, blocks_of, headings_of
from sqlfront.shell.interactive.display.failures import failure_lines
from sqlfront.shell.interactive.display.footer import duration, footer
from sqlfront.shell.interactive.display.pager import PagedOutput, keeps_colours, pager_command
from sqlfront.shell.interactive.display.plan_tree import plan_lines
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.display.table import TableLayout
from sqlfront.shell.interactive.display.vertical import VerticalLayout
from sqlfront.shell.interactive.display.visible import visible
from sqlfront.shell.interactive.progress_line import RunLine
from sqlfront.shell.interactive.shell import Expanded, Shell
from sqlfront.shell.interactive.worker import Worker
from sqlfront.shell.output.formats import format_named, write_result
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.variables import substituted, values
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values import evaluation_errors
from sqlfront_values.errors import Error, OperationalError, ProgrammingError

#: Seconds to wait for the end of a cancelled statement before the prompt returns anyway.
_PATIENCE: Final = 0.2
#: Formats that the shell draws itself.
_DRAWN: Final = ("table", "vertical")
#: Lines between two looks at whether the user wants more.
_AT_ONCE: Final = 500


def run_statement(shell: Shell, text: str, place: str = "") -> bool:
    """Run a statement, and show its answer or its error. ``place``: the file and line of a statement in a
    script, empty for a typed statement. Return whether the statement succeeded; False after Ctrl-C, which
    cancels it. In a script, Ctrl-C cancels the statement and raises KeyboardInterrupt, so that the script
    ends, too."""
    began = time.perf_counter()
    shell.last = text
    try:
        sql = substituted(text, shell.variables)
        query = shell.session.begin(sql)
    except Error as error:
        return _failed(shell, error, place)
    line = RunLine(shell.screen, query)
    with Worker() as worker:
        try:
            foot = _run(shell, sql, query, worker, line, began)
        except KeyboardInterrupt:
            query.cancel()
            if not line.close():
                shell.screen.say("")  # the terminal has shown ^C
            ended = worker.settle(_PATIENCE)
            rest = "" if ended else "; its last step is still ending"
            shell.screen.say(f"cancelled after {duration(time.perf_counter() - began)}{rest}", Paint.ERROR)
            if shell.scripts:
                raise
            return False
        except Error as error:
            line.close()
            return _failed(shell, error, place)
        except OSError as error:
            line.close()
            return _failed(shell, OperationalError(f"can't write the answer: {error.strerror}"), place)
        except Exception as error:  # noqa: BLE001 - a fault costs the user a statement, not the session
            line.close()
            return _failed(shell, evaluation_errors.foreign_error(error), place)
    shell.screen.say(foot, Paint.FAINT)  # Ctrl-C cancels nothing any more
    return True


def _failed(shell: Shell, error: Error, place: str) -> bool:
    for line in failure_lines(error, shell.screen, place):
        shell.screen.say(line)
    return False


class _Answer(msgspec.Struct):
    """The part of an answer that was shown: the number of its rows (None: not counted); whether these are all
    rows of the result; and a note for the footer, such as that columns are left out."""

    rows: int | None = None
    whole: bool = True
    note: str = ""


def _run(shell: Shell, sql: str, query: QueryRun, worker: Worker, line: RunLine, began: float) -> str:
    """Execute a statement on the worker, and show its answer. ``line`` shows the progress until the first
    rows; ``began``: the time of ``perf_counter`` at which the statement began. Return the footer."""
    parameters = values(shell.variables) if ":" in sql else None
    execute = partial(shell.session.execute, sql, parameters, query=query)
    result = worker.call(execute, line.tick)
    try:
        answer = _shown(shell, result, worker, line)
        line.close()
        seconds = time.perf_counter() - began if shell.timing else None
        foot = partial(footer, result, answer.rows, seconds, shell.members, whole=answer.whole)
        return worker.call(foot) + (f" ({answer.note})" if answer.note else "")
    finally:
        result.close()


def _shown(shell: Shell, result: Result, worker: Worker, line: RunLine) -> _Answer:
    """Show the rows of a result on the screen, or write them to the output file; return what was shown."""
    if not len(result.schema):
        return _Answer()
    if shell.output is not None:
        return _to_file(shell, result, worker, line)
    command = pager_command(shell.options.pager, os.environ)
    with PagedOutput(shell.screen, command, line.close, result.close) as output:
        if _is_plan(result):
            output.write(worker.call(partial(_plan_lines, result, shell.screen), line.tick))
            answer = _Answer()
        elif shell.format not in _DRAWN:
            answer = _formatted(shell, result, output, worker, line)
        else:
            answer = _drawn(shell, result, output, worker, line)
    if output.failure:
        shell.screen.say(f"sqlfront: {output.failure}", Paint.ERROR)
    return answer


def _is_plan(result: Result) -> bool:
    """Whether the rows are a plan of EXPLAIN: lines of text."""
    return result.columns == ["plan"] and result.stats.lane == "command"


def _plan_lines(result: Result, screen: Screen) -> list[str]:
    """Return the lines that show a result of EXPLAIN; EXPLAIN ANALYZE is drawn as a tree."""
    if result.explanation is not None:
        return list(plan_lines(result.explanation, screen))
    texts = (str(text) for batch in result.batches() for text in batch.column(0).to_pylist())
    return [visible(line) for text in texts for line in text.splitlines()]


Layout = TableLayout | VerticalLayout


def _drawn(shell: Shell, result: Result, output: PagedOutput, worker: Worker, line: RunLine) -> _Answer:
    """Draw the rows as a table or vertically, block by block as they arrive, until all are drawn or the user
    leaves the pager. Return what was drawn."""
    headings = headings_of(result)
    coloured = shell.screen.coloured and keeps_colours(output.command)
    screen, null = Screen(shell.screen.out, coloured), shell.null
    blocks = blocks_of(result)
    first = worker.call(partial(next, blocks, None), line.tick)
    table = TableLayout(headings, screen.size.columns, null, screen)
    layout: Layout = table
    if _is_vertical(shell, table, first or []):
        layout = VerticalLayout(headings, null, screen)
    answer = _Answer(0)
    for block in _rest(first if first is not None else [], blocks, worker, line):
        output.write(list(layout.lines(block)))
        answer.rows = (answer.rows or 0) + len(block)
        if output.left:
            answer.whole = False
            break
    answer.note = layout.note
    return answer


def _is_vertical(shell: Shell, table: TableLayout, first: Sequence[ShownRow]) -> bool:
    if shell.format == "vertical" or shell.expanded is Expanded.ON:
        return True
    return shell.expanded is Expanded.AUTO and not table.fits(first)


def _rest(
    first: list[ShownRow], blocks: Iterator[list[ShownRow]], worker: Worker, line: RunLine
) -> Iterator[list[ShownRow]]:
    """Return the blocks in order: the first, then the others, each of which the worker reads when it is asked
    for."""
    read: Callable[[], list[ShownRow] | None] = partial(next, blocks, None)
    return chain([first], iter(partial(worker.call, read, line.tick), None))


def _formatted(shell: Shell, result: Result, output: PagedOutput, worker: Worker, line: RunLine) -> _Answer:
    """Write the rows to the screen, through the pager, in one of the command's output formats, such as
    ``csv``. Return what was shown. Raises ProgrammingError for a binary format."""
    if format_named(shell.format).binary:
        raise ProgrammingError(rf"format {shell.format} is not for a terminal; \o FILE sends it to a file")
    lines = _PagedLines(output)
    write = partial(write_result, result, shell.format, cast("BinaryIO", lines), _output_options(shell))
    worker.call(result.wait, line.tick)  # a header would end the progress
    try:
        rows = worker.call(write, line.tick)
        lines.finish()
    except BrokenPipeError:
        return _Answer(whole=False)
    return _Answer(rows)


def _output_options(shell: Shell) -> OutputOptions:
    return OutputOptions(shell.options.null)


class _PagedLines(io.RawIOBase):
    """A binary file whose lines of UTF-8 are shown on the screen, through the pager. Raises BrokenPipeError
    once the user has left the pager. Control characters other than line breaks and tabs are shown as
    escapes."""

    def __init__(self, output: PagedOutput) -> None:
        super().__init__()
        self._output, self._rest = output, b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Show the complete lines of ``data``; an incomplete last line is kept for the next call. Return the
        number of bytes, all of which are taken."""
        given = bytes(data)
        *lines, self._rest = (self._rest + given).split(b"\n")
        self._pass_on(lines)
        return len(given)

    def finish(self) -> None:
        """Show the last line if no line break has ended it."""
        rest, self._rest = self._rest, b""
        self._pass_on([rest] if rest else [])

    def _pass_on(self, lines: Sequence[bytes]) -> None:
        for start in range(0, len(lines), _AT_ONCE):
            texts = (line.decode("utf-8", "replace").split("\t") for line in lines[start : start + _AT_ONCE])
            self._output.write(["\t".join(map(visible, parts)) for parts in texts])
            if self._output.left:
                raise BrokenPipeError


def _to_file(shell: Shell, result: Result, worker: Worker, line: RunLine) -> _Answer:
    """Write the rows to the output file in the shell's output format, a plan of EXPLAIN as lines of text;
    return what was written."""
    file = shell.output
    assert file is not None
    if _is_plan(result):
        lines = worker.call(partial(_plan_lines, result, Screen(sys.stdout, coloured=False)), line.tick)
        worker.call(
            partial(_whole, file, lambda: file.write("".join(f"{text}\n" for text in lines).encode()))
        )
        return _Answer()
    name = "vertical" if shell.expanded is Expanded.ON and shell.format == "table" else shell.format
    write = partial(write_result, result, name, file, _output_options(shell))
    return _Answer(worker.call(partial(_whole, file, write), line.tick))


def _whole(file: BinaryIO, write: Callable[[], int]) -> int:
    """Call ``write``, which writes an answer to ``file``, and return its value. If it fails, remove the part
    of the answer that was written; from a pipe or a device nothing can be removed."""
    start = file.tell() if file.seekable() else None
    try:
        written = write()
        file.flush()
    except BaseException:
        if start is not None:
            _cut_back(file, start)
        raise
    return written


def _cut_back(file: BinaryIO, size: int) -> None:
    """Cut a file to its first ``size`` bytes, and write on from there. Errors of the system are ignored."""
    with suppress(OSError):
        os.ftruncate(file.fileno(), size)  # makes room for what the stream still holds
        file.seek(size)
        file.truncate()
