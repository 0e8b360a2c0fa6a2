"""PEP 249's connection and cursor."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from sqlfront.db_types import ColumnDescription, describe
from sqlfront.results.result import Parameters, Result, Statistics
from sqlfront.session import Session
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.jobs.query_run import Progress, QueryRun
from sqlfront_planner.tokens.parameters import refuse_surplus
from sqlfront_values import errors
from sqlfront_values.errors import InterfaceError, NotSupportedError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import pandas
    import polars

    from sqlfront import many_rows
    from sqlfront.prepared import PreparedStatement
    from sqlfront_connectors.arrow import ArrowSource
else:
    many_rows = lazy_module("sqlfront.many_rows")


class Executable(Protocol):
    """An object that a cursor executes in place of a statement's text, such as a
    :class:`~sqlfront.prepared.PreparedStatement`."""

    @property
    def text(self) -> str:
        """The statement's text."""

    def execute(
        self,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> Result:
        """Run the statement, and return its result. ``parameters``: a sequence of values for ``?``, or a
        mapping for ``:name``. ``timeout`` in seconds; ``query``: the statement's cancellable run, None = a
        new run."""


class Connection:
    """A connection of PEP 249 to a session; threads may share a connection. Every statement is its own
    transaction."""

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: Session) -> None:
        self._session = session
        self._closed = False

    @property
    def session(self) -> Session:
        """The session that runs the statements. Raises InterfaceError if the connection is closed."""
        self.check_open()
        return self._session

    @property
    def closed(self) -> bool:
        """Whether the connection can't be used any more: :meth:`close` was called, or this process is a fork
        of the process that opened the connection."""
        return self._closed or self._session.closed

    def cursor(self) -> "Cursor":
        """Return a new cursor. Raises InterfaceError if the connection is closed."""
        self.check_open()
        return Cursor(self)

    def execute(
        self, operation: str, parameters: Parameters | None = None, *, timeout: float | None = None
    ) -> "Cursor":
        """Run one statement on a new cursor, and return the cursor. ``parameters``: a sequence of values for
        ``?``, or a mapping for ``:name``; ``timeout`` in seconds. Raises the statement's errors, and
        OperationalError after the timeout."""
        return self.cursor().execute(operation, parameters, timeout=timeout)

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> "Cursor":
        """Run a statement once for each item of ``seq_of_parameters`` on a new cursor, and return the cursor,
        whose ``rowcount`` is the sum over all runs. Raises ProgrammingError if the statement gives rows."""
        return self.cursor().executemany(operation, seq_of_parameters)

    def prepare(self, operation: str) -> "PreparedStatement":
        """Return a prepared statement, whose text is parsed once, to be run many times with other parameters:
        by its own ``execute``, or by a cursor, which takes it in place of a text."""
        return self.session.prepare(operation)

    def register(self, name: str, frame: "ArrowSource") -> None:
        """Make Arrow data a temporary view ``name``. ``frame``: a pyarrow table, reader or Dataset, a frame
        of pandas, polars (also a LazyFrame) or DuckDB, or any object with the Arrow PyCapsule interface. Its
        rows are read by this call, and never again."""
        self.session.register(name, frame)

    def unregister(self, name: str) -> None:
        """Drop the temporary view ``name``; no error if no temporary view has the name."""
        self.session.unregister(name)

    def commit(self) -> None:
        """Do nothing: every statement is its own transaction."""
        self.check_open()

    def rollback(self) -> None:
        """Raise NotSupportedError: every statement is its own transaction."""
        self.check_open()
        raise NotSupportedError("rollback: every statement is its own transaction and has ended")

    def close(self) -> None:
        """Close the session: cancel running statements, free tables and stop threads. Closing twice is no
        error."""
        if not self._closed:
            self._closed = True
            self._session.close()

    def __enter__(self) -> "Connection":
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check_open(self) -> None:
        """Raise InterfaceError if the connection is closed."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        self._session.check_open()


class Cursor(ClosingContext):
    """A cursor that runs statements and fetches their rows. Threads may not share a cursor (but may share
    its connection).

    A TIMESTAMP comes as an aware datetime in the session's time zone, a TIMESTAMP_NTZ as a naive datetime.
    The methods that fetch rows raise ProgrammingError if no statement was run, or if the last statement gave
    no rows.
    """

    def __init__(self, connection: "Connection", begin: Callable[[str], QueryRun] | None = None) -> None:
        """Make a cursor of the connection. ``begin`` returns the run by which a statement's text can be
        cancelled; None = the session's function."""
        self._connection = connection
        self._begin = connection.session.context.begin if begin is None else begin
        # The run of the current or last statement; set before the statement begins, for cancel().
        self._query: QueryRun | None = None
        self._result: Result | None = None
        # The remaining rows, once the first row was fetched.
        self._rows: Iterator[tuple[object, ...]] | None = None
        self._closed = False
        # The rows that the last statement wrote, once the cursor is closed.
        self._written = -1
        #: Default number of rows for :meth:`fetchmany`.
        self.arraysize = 1

    @property
    def connection(self) -> "Connection":
        """The connection that made the cursor."""
        return self._connection

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def rows_at_hand(self) -> bool:
        """Whether all rows of the last statement's result are in memory as Python values, so that fetching
        rows never waits."""
        return self._result is not None and self._result.rows_at_hand

    @property
    def description(self) -> list[ColumnDescription] | None:
        """The columns of the last statement's rows, each as a tuple of name, type code, None, internal size,
        precision, scale and null_ok; None if the statement gives no rows, or no statement was run."""
        if self._result is None or not len(self._result.schema):
            return None
        return describe(self._result.schema)

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement wrote; -1 for a query (its rows are not counted before
        they are read), for another statement that writes no rows, and if no statement was run."""
        if self._result is None or self._result.affected is None:
            return self._written
        return self._result.affected

    @property
    def stats(self) -> Statistics | None:
        """Lane, reason and time of the last statement; None if no statement was run."""
        return None if self._result is None else self._result.stats

    @property
    def progress(self) -> Progress | None:
        """Spark's progress with the current or last statement, in stages and tasks; None if Spark doesn't run
        the statement. Any thread may read the property."""
        result, query = self._result, self._query
        if result is not None:
            return result.progress
        return None if query is None else query.progress()

    def execute(
        self,
        operation: str | Executable,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
    ) -> "Cursor":
        """Run one statement, and return this cursor. ``parameters``: a sequence of values for ``?``, a
        mapping from names for ``:name``. ``timeout`` in seconds. Unread rows of the cursor's last statement
        are discarded. Raises ProgrammingError if there are more values than the statement has parameters
        (:func:`sqlfront.sql` ignores these values, as ``spark.sql`` does), OperationalError after the
        timeout, and the statement's errors."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        if parameters is not None:
            refuse_surplus(operation if isinstance(operation, str) else operation.text, parameters)
        connection = self._connection
        if connection.closed:
            connection.check_open()
        if self._result is not None:
            self._finish()
        if isinstance(operation, str):
            self._query = query = self._begin(operation)
            self._result = connection._session.execute(operation, parameters, timeout=timeout, query=query)
        else:
            self._query = query = self._begin(operation.text)
            self._result = operation.execute(parameters, timeout=timeout, query=query)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> "Cursor":
        """Run the statement once for each item of ``seq_of_parameters``, and return this cursor, whose
        :attr:`rowcount` is then the sum over all runs. An INSERT whose values are all parameters, into a
        table of the session, runs as one statement with all rows: all rows are inserted or none. Raises
        ProgrammingError if the statement gives rows."""
        self._check_open()
        session = self._connection.session
        if self._result is not None:
            self._finish()
        together = many_rows.many_rows(session, operation, seq_of_parameters)
        if together is not None:
            session.register(together.view, together.rows)
            try:
                self._query = query = self._begin(operation)  # operators see the user's text
                self._result = session.execute(together.statement, query=query)
                return self
            finally:
                session.unregister(together.view)
        written = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            if self.description is not None:
                self._finish()
                raise ProgrammingError("executemany() is for statements without a result; use execute()")
            written += max(0, self.rowcount)
        if self._result is not None:
            self._result.affected = written
        return self

    def fetchone(self) -> tuple[object, ...] | None:
        """Return the next row; None after the last row."""
        row = next(self._remaining(), None)
        if row is None:
            self._check_whole()
        return row

    def fetchmany(self, size: int | None = None) -> list[tuple[object, ...]]:
        """Return the next ``size`` rows (None: ``arraysize`` rows): fewer rows at the end, an empty list
        after the last row."""
        wanted = self.arraysize if size is None else size
        rows = list(islice(self._remaining(), wanted))
        if not rows:
            self._check_whole()
        return rows

    def fetchall(self) -> list[tuple[object, ...]]:
        """Return all remaining rows; an empty list after the last row."""
        rows = list(self._remaining())
        if not rows:
            self._check_whole()
        return rows

    def fetch_arrow_table(self) -> pa.Table:
        """Return all rows as an Arrow table of logical types. Raises InterfaceError if a row was fetched
        before."""
        return self._check_result().toArrow()

    fetchallarrow = fetch_arrow_table

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """Return a reader of all rows as Arrow batches of logical types; the query computes the rows while
        the reader is read."""
        result = self._check_result()
        return pa.RecordBatchReader.from_batches(result.arrow_schema, result.batches())

    def fetch_df(self) -> "pandas.DataFrame":
        """Return all rows as a pandas DataFrame (extra ``pandas``)."""
        return self._check_result().toPandas()

    fetchdf = fetch_df

    def fetch_polars(self) -> "polars.DataFrame":
        """Return all rows as a polars DataFrame (extra ``polars``)."""
        return self._check_result().toPolars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._check_result().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        rows = self._remaining()
        self._check_whole()
        return rows

    def cancel(self) -> None:
        """Cancel the running statement, which ends with an OperationalError (SQLSTATE HY008). Any thread may
        call the method."""
        query = self._query
        if query is not None:
            query.cancel()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Do nothing (PEP 249 allows that)."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing (PEP 249 allows that)."""

    def close(self) -> None:
        """Cancel the running statement, and free its rows; from then on, only :attr:`rowcount` can be
        used."""
        self._written = self.rowcount
        self._finish()
        self._closed = True

    def _finish(self) -> None:
        if self._result is not None:
            self._result.close()
        self._result = self._rows = None

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self._connection.check_open()

    def _remaining(self) -> Iterator[tuple[object, ...]]:
        """Return the iterator over the rows that have not been fetched yet; each call returns the same
        one."""
        if self._rows is None:
            self._rows = self._check_result().tuples(naive=False)
        else:
            self._check_open()
        return self._rows

    def _check_whole(self) -> None:
        """Raise InterfaceError if an error has cut the rows short, so that the end of the rows isn't taken
        for the end of the result."""
        if self._result is not None:
            self._result.check_whole()

    def _check_result(self) -> Result:
        self._check_open()
        if self._result is None or not len(self._result.schema):
            raise ProgrammingError("there are no rows to fetch: the last statement has no result")
        return self._result
