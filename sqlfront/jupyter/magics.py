"""The magics ``%sql`` and ``%%sql``."""

import sys
from typing import TYPE_CHECKING, Final

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import DisplayHandle, display

from sqlfront import api
from sqlfront.jupyter.completion import completions, is_sql
from sqlfront.jupyter.line import USAGE, MagicCall, read_call
from sqlfront.jupyter.running import Show, run
from sqlfront.results.result import Result
from sqlfront.session import Session
from sqlfront_planner.script import split_statements
from sqlfront_values.errors import Error, InterfaceError, ProgrammingError

if TYPE_CHECKING:
    from IPython.core.completer import MatcherAPIv2 as Matcher

    from sqlfront.connection import Connection

#: The name under which the completion of names is known to IPython.
_MATCHER: Final = "sqlfront_matcher"


@magics_class
class SqlMagics(Magics):
    """The magics of one notebook; ``--connect`` chooses the connection that runs their statements."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._notebook = shell
        self._chosen: Session | None = None
        self._opened: Connection | None = None

    @no_var_expand  # braces are frames of SQL
    @line_cell_magic
    def sql(self, line: str, cell: str | None = None) -> Result | None:
        """Run SQL statements, and return the last result; None if it has no columns, or is stored in a
        variable. ``%sql`` alone prints how to use the magic. Raises the statements' errors."""
        try:
            return self._run(read_call(line, cell))
        except Error as error:
            # IPython calls the method instead of printing a traceback through the engine.
            error._render_traceback_ = _Rendered(error)  # type: ignore[attr-defined]
            raise

    def _run(self, line: MagicCall) -> Result | None:
        if line.close:
            self.close()
        if line.connect is not None:
            self._connect(line.connect)
        if not line.text:
            if line.variable is not None:
                raise ProgrammingError(f"{line.variable} << needs a statement")
            if not line.close and line.connect is None:
                sys.stdout.write(USAGE + "\n")
            return None
        result = self._results(line.text)
        if line.variable is not None:
            self._notebook.user_ns[line.variable] = result
            return None
        return result if len(result.columns) else None

    def _results(self, text: str) -> Result:
        """Run all statements of a text, show the results of all but the last, and return the last result.
        Raises ProgrammingError for a text without statements, and the errors of the statements."""
        session, statements = self.session, split_statements(text)
        if not statements:
            raise ProgrammingError("there is no statement, only comments")
        for statement in statements[:-1]:
            result = run(session, statement, self._notebook.user_ns, _progress_line(self._notebook))
            if len(result.columns):
                display(result)  # type: ignore[no-untyped-call]
        return run(session, statements[-1], self._notebook.user_ns, _progress_line(self._notebook))

    @property
    def session(self) -> Session:
        """The session that runs the magics' statements. Raises InterfaceError if the chosen connection is
        closed."""
        if self._chosen is None:
            return api.default_session()
        if self._chosen.closed:
            raise InterfaceError("the connection of %sql is closed; choose another by %sql --connect")
        return self._chosen

    def _connect(self, target: str) -> None:
        """Choose the connection that runs statements from now on. ``target``: the name of a variable with a
        connection or session, a URL, or the name of a connection in ``sqlfront.toml``; empty = the session of
        :func:`sqlfront.sql`. Raises ProgrammingError for a variable of another class, and the errors of
        connecting."""
        held = self._notebook.user_ns.get(target) if target.isidentifier() else None
        opened = None if held is not None or not target else api.connect(target)
        chosen = held if opened is None else opened
        if not (chosen is None or isinstance(chosen, Session) or hasattr(chosen, "session")):
            raise ProgrammingError(f"the variable {target} is a {type(chosen).__name__}, not a connection")
        self.close()
        self._opened = opened
        self._chosen = chosen if chosen is None or isinstance(chosen, Session) else chosen.session

    def close(self) -> None:
        """Close the connection that ``--connect`` has opened, if any; from now on, the session of
        :func:`sqlfront.sql` runs the statements."""
        opened, self._opened, self._chosen = self._opened, None, None
        if opened is not None:
            opened.close()


class _Rendered:
    """A callable that returns the lines which IPython prints for an error instead of a traceback."""

    def __init__(self, error: Error) -> None:
        self._lines = f"{type(error).__name__}: {error}".splitlines()

    def __call__(self) -> list[str]:
        return self._lines


def _progress_line(shell: InteractiveShell) -> Show:
    """Return the function that shows a statement's progress: on a line of the cell's output in a notebook, on
    the last line in a terminal; the function does nothing for other outputs. Showing None empties the
    line."""
    if hasattr(shell, "kernel"):
        return _NotebookLine().show
    return _terminal_line if sys.stderr.isatty() else _nowhere


class _NotebookLine:
    """A line in the output of a notebook's cell whose text can be replaced."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def show(self, text: str | None) -> None:
        """Replace the text of the line; None empties the line."""
        data = {"text/plain": text or ""}
        if self._handle is not None:
            self._handle.update(data, raw=True)  # type: ignore[no-untyped-call]
        elif text is not None:
            self._handle = DisplayHandle()  # type: ignore[no-untyped-call]
            self._handle.display(data, raw=True)  # type: ignore[no-untyped-call]


def _terminal_line(text: str | None) -> None:
    sys.stderr.write(f"\r\x1b[K{text or ''}")
    sys.stderr.flush()


def _nowhere(_: str | None) -> None:
    """Do nothing; for outputs on which no progress can be shown."""


def load(shell: InteractiveShell) -> None:
    """Register the magics, and the completion of names in their cells."""
    magics = SqlMagics(shell)
    shell.register_magics(magics)
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if getattr(each, "matcher_identifier", "") != _MATCHER]
    matchers.append(_matcher(magics))


def _matcher(magics: SqlMagics) -> "Matcher":
    """Return the matcher by which IPython completes names in cells and lines with SQL; names of Python are
    not offered there."""

    @context_matcher(identifier=_MATCHER)  # type: ignore[untyped-decorator]
    def sqlfront_matcher(context: CompletionContext) -> SimpleMatcherResult:
        if not is_sql(context.full_text, context.cursor_line):
            return {"completions": []}
        try:
            found = completions(context.full_text, context.token, magics.session)
        except Error:
            found = []
        return {"completions": [SimpleCompletion(name) for name in found], "suppress": True}

    return sqlfront_matcher
