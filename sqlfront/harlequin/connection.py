"""A connection of Harlequin: statements that can be limited and cancelled, the catalog, completions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
from harlequin import HarlequinCompletion, HarlequinConnection, HarlequinCursor
from harlequin.catalog import Catalog
from harlequin.exception import HarlequinQueryError

from sqlfront.connection import Connection
from sqlfront.harlequin.tree import catalog_items, type_label
from sqlfront.results.result import Result
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_text
from sqlfront_planner.script import split_statements
from sqlfront_planner.syntax.check import check_syntax
from sqlfront_planner.syntax.grammar import spark_grammar
from sqlfront_values.errors import Error, OperationalError

#: The SQLSTATE of a cancelled statement.
_CANCELLED: Final = "HY008"
_KEYWORD_PRIORITY: Final = 100
_FUNCTION_PRIORITY: Final = 1000


class SqlfrontConnection(HarlequinConnection):  # type: ignore[misc]
    """A session in the form that Harlequin requires of a connection; several threads may call the methods.
    ``init_message``: a text that Harlequin shows when the connection opens."""

    def __init__(self, connection: Connection, init_message: str = "") -> None:
        self.init_message = init_message
        self._connection = connection
        self._lock = threading.Lock()
        # Guarded by the lock: the runs whose rows have not been fetched.
        self._running: set[QueryRun] = set()

    def execute(self, query: str) -> "SqlfrontCursor | None":
        """Run one statement; return a cursor over its rows, or None if the statement gives no rows or was
        cancelled. Raises HarlequinQueryError for an error of the statement."""
        session = self._connection.session
        run = session.begin(query)
        with self._lock:
            self._running.add(run)
        result: Result | None = None
        try:
            with query_errors():
                result = session.execute(query, query=run)
                if len(result.columns):
                    result.wait()
        except _Cancelled:
            result = None
        finally:
            if result is None or not len(result.columns):
                self.forget(run)
        return None if result is None or not len(result.columns) else SqlfrontCursor(self, result, run)

    def forget(self, run: QueryRun) -> None:
        """Note that the statement's ``run`` has ended, so that :meth:`cancel` no longer cancels it."""
        with self._lock:
            self._running.discard(run)

    def cancel(self) -> None:
        """Cancel all statements that run, or whose rows are being fetched."""
        with self._lock:
            running = tuple(self._running)
        for run in running:
            run.cancel()

    def get_catalog(self) -> Catalog:
        """Return the tree of catalogs and schemas; the items below a schema are read when Harlequin opens the
        schema."""
        with query_errors():
            return Catalog(items=catalog_items(self._connection))

    def get_completions(self) -> list[HarlequinCompletion]:
        """Return the completions: Spark's keywords, and the functions that can be called, each labelled with
        its call."""
        words = (kind for kind in spark_grammar().kinds if kind.isidentifier() and kind.isupper())
        keywords = [
            HarlequinCompletion(word.lower(), "kw", word.lower(), _KEYWORD_PRIORITY, None)
            for word in sorted(words)
        ]
        names = (name for name in function_names() if name[0].isalpha())
        return keywords + [
            HarlequinCompletion(_signature(name), "fn", name, _FUNCTION_PRIORITY, None) for name in names
        ]

    def validate_sql(self, text: str) -> str:
        """Return the text if Spark's grammar accepts all its statements, else an empty text; no names are
        looked up."""
        statements = split_statements(text)
        try:
            for statement in statements:
                check_syntax(statement)
        except Error:
            return ""
        return text if statements else ""

    def close(self) -> None:
        """Cancel the running statements, and close the session."""
        self.cancel()
        self._connection.close()


class SqlfrontCursor(HarlequinCursor):  # type: ignore[misc]
    """The rows of one statement, in the form that Harlequin requires of a cursor."""

    def __init__(self, connection: SqlfrontConnection, result: Result, run: QueryRun) -> None:
        self._connection, self._result, self._run = connection, result, run
        self._limit: int | None = None

    def columns(self) -> list[tuple[str, str]]:
        """Return the columns, each with its name and a short label of its type, such as ``#.#`` for a
        decimal."""
        return [(name, type_label(kind)) for name, kind in self._result.dtypes]

    def set_limit(self, limit: int) -> "SqlfrontCursor":
        """Limit the number of rows that :meth:`fetchall` reads, and return this cursor; further rows are not
        computed."""
        self._limit = limit
        return self

    def fetchall(self) -> pa.Table | None:
        """Return the rows as an Arrow table; None if there are no rows, or if the statement was cancelled.
        Raises HarlequinQueryError for an error of the statement."""
        try:
            with query_errors():
                table = pa.Table.from_batches(self._batches(), schema=self._result.arrow_schema)
        except _Cancelled:
            return None
        finally:
            self._result.close()
            self._connection.forget(self._run)
        return table if table.num_rows else None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        left = self._limit
        for batch in self._result.batches():
            yield batch if left is None else batch.slice(0, left)
            if left is not None:
                left -= min(left, batch.num_rows)
                if not left:
                    return


class _Cancelled(Exception):
    """The error by which :func:`query_errors` reports that the user has cancelled the statement."""


@contextmanager
def query_errors() -> Iterator[None]:
    """Return a context that turns errors of sqlfront into HarlequinQueryError, which Harlequin shows in a
    window; the error of a cancelled statement becomes :class:`_Cancelled`, which the caller handles."""
    try:
        yield
    except OperationalError as error:
        if error.sqlstate == _CANCELLED:
            raise _Cancelled from error
        raise _shown(error) from error
    except Error as error:
        raise _shown(error) from error


def _shown(error: Error) -> HarlequinQueryError:
    kind = error.condition or type(error).__name__
    return HarlequinQueryError(msg=str(error), title=f"sqlfront could not run the statement: {kind}")


def _signature(name: str) -> str:
    """Return the first call in Spark's description of the function ``name``, such as ``abs(expr)``; the name
    itself if there is no such call."""
    text = function_text(name)
    return text.call if text is not None and text.call.startswith(name) else name
