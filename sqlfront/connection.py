"""The connection of PEP 249."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlfront.cursor import Cursor
from sqlfront.prepared import PreparedStatement
from sqlfront.result import Parameters
from sqlfront.session import Session
from sqlfront_values import errors
from sqlfront_values.errors import InterfaceError, NotSupportedError

if TYPE_CHECKING:
    from sqlfront_connectors.arrow import ArrowSource


class Connection:
    """A session behind the interface of PEP 249; threads may share a connection. Every statement is its own
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
        """The session behind the connection."""
        self.check_open()
        return self._session

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or the connection was opened by the parent of this forked
        process."""
        return self._closed or self._session.closed

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.check_open()
        return Cursor(self)

    def execute(
        self, operation: str, parameters: Parameters | None = None, *, timeout: float | None = None
    ) -> Cursor:
        """Run one statement on a new cursor."""
        return self.cursor().execute(operation, parameters, timeout=timeout)

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> Cursor:
        """Run a statement once per set of parameters on a new cursor."""
        return self.cursor().executemany(operation, seq_of_parameters)

    def prepare(self, operation: str) -> PreparedStatement:
        """A statement to run many times with other parameters; its text is looked at once. A cursor takes the
        prepared statement in place of a text."""
        return self.session.prepare(operation)

    def register(self, name: str, frame: "ArrowSource") -> None:
        """Make Arrow data a temporary view ``name``: a pyarrow table, reader or Dataset, a frame of pandas,
        polars (also a LazyFrame) or DuckDB, or any object with the Arrow PyCapsule interface. The rows are
        read now, once."""
        self.session.register(name, frame)

    def unregister(self, name: str) -> None:
        """Drop the temporary view ``name``."""
        self.session.unregister(name)

    def commit(self) -> None:
        """Do nothing: every statement is its own transaction."""
        self.check_open()

    def rollback(self) -> None:
        """Raise NotSupportedError: every statement is its own transaction."""
        self.check_open()
        raise NotSupportedError("rollback: every statement is its own transaction and has ended")

    def close(self) -> None:
        """Free tables, threads and running statements; closing twice is no error."""
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
