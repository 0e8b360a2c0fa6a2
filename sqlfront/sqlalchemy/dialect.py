"""The dialects: ``sqlfront://`` and ``sqlfront+cluster://``."""

import re
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sqlalchemy import event, pool, schema
from sqlalchemy import types as sqltypes
from sqlalchemy.engine import URL
from sqlalchemy.engine import cursor as cursors
from sqlalchemy.engine.default import DefaultExecutionContext

import sqlfront
from sqlfront.connection import Connection as OpenConnection
from sqlfront.connection import Cursor
from sqlfront.sqlalchemy import types
from sqlfront.sqlalchemy.compiler import SqlfrontCompiler
from sqlfront.sqlalchemy.ddl import TABLE_OPTIONS, SqlfrontDDLCompiler
from sqlfront.sqlalchemy.elements import DriverConnection, Element, Keywords, Option
from sqlfront.sqlalchemy.identifiers import SqlfrontIdentifierPreparer
from sqlfront.sqlalchemy.reflection import DEFAULT_SCHEMA, SqlfrontReflection
from sqlfront.sqlalchemy.shared_session import SharedConnection, SharedSession, named_session
from sqlfront.sqlalchemy.type_compiler import SqlfrontTypeCompiler
from sqlfront.sqlalchemy.urls import engine_url

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

#: The only isolation level: each statement is its own transaction.
AUTOCOMMIT = "AUTOCOMMIT"


class SqlfrontExecutionContext(DefaultExecutionContext):
    """The execution context of one statement. The driver's cursors always stream, so that ``stream_results``
    needs no special cursor; with it, SQLAlchemy fetches rows only as they are asked for."""

    cursor_fetch_strategy: Element

    def create_server_side_cursor(self) -> Element:
        """Return a new cursor of the driver, for ``stream_results``."""
        return self._dbapi_connection.cursor()

    def post_exec(self) -> None:
        """Tell SQLAlchemy that a statement without columns has no rows. With ``stream_results``, SQLAlchemy
        would otherwise read the first row of every statement."""
        if not self.cursor.description:
            self.cursor_fetch_strategy = cursors._NO_CURSOR_DML


class SqlfrontDialect(SqlfrontReflection):
    """The dialect ``sqlfront://``: sessions in this process. The connections of an engine share a session;
    every statement is its own transaction, so that COMMIT and ROLLBACK do nothing."""

    name = "sqlfront"
    driver = "sqlfront"
    default_paramstyle = "qmark"
    statement_compiler = SqlfrontCompiler
    ddl_compiler = SqlfrontDDLCompiler
    type_compiler_cls = type_compiler = SqlfrontTypeCompiler
    preparer: type[Any] = SqlfrontIdentifierPreparer
    execution_ctx_cls = SqlfrontExecutionContext
    construct_arguments = [(schema.Table, TABLE_OPTIONS)]  # noqa: RUF012 - SQLAlchemy's form
    colspecs = {  # noqa: RUF012 - SQLAlchemy's form
        sqltypes.TIMESTAMP: types.TIMESTAMP,
        sqltypes.DateTime: types.DATETIME,
        sqltypes.Date: types.DATE,
        sqltypes.Interval: types.INTERVAL,
        sqltypes.ARRAY: types.ARRAY,
    }
    ischema_names: dict[str, Any] = {}  # noqa: RUF012 - SQLAlchemy's form
    max_identifier_length = 255
    supports_statement_cache = True
    supports_alter = False
    supports_comments = True
    inline_comments = True
    supports_default_values = False
    supports_default_metavalue = False
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sequences = False
    supports_server_side_cursors = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    supports_is_distinct_from = True
    postfetch_lastrowid = False
    cte_follows_insert = True
    div_is_floordiv = False
    tuple_in_values = False
    _cluster = False

    #: The name by which Great Expectations chooses ``regexp_like`` and LIKE, which are Spark's too; it
    #: refuses patterns for a dialect that has none of the names it knows.
    TrinoDialect = True

    #: Whether other engines share the session.
    _named = False

    def __init__(self, **kw: Option) -> None:
        super().__init__(**kw)
        self._session = SharedSession()

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the PEP 249 driver, the module ``sqlfront``."""
        return sqlfront

    dbapi: Any = import_dbapi  # its name in SQLAlchemy 1.4

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Return the class of the pool, a queue of connections. Connections are cheap, since they share a
        session."""
        return pool.QueuePool

    @classmethod
    def engine_created(cls, engine: "Engine") -> None:
        """Register a listener for a new engine, so that ``Engine.dispose`` closes the engine's session."""
        event.listen(engine, "engine_disposed", _disposed)

    def create_connect_args(self, url: URL) -> tuple[list[str], Keywords]:
        """Return the arguments of :func:`sqlfront.connect` for a URL. Raises ProgrammingError for a URL with
        unknown options."""
        parts = engine_url(url, cluster=self._cluster)
        if parts.session is not None:
            key = (parts.session, self._cluster, tuple(sorted(parts.keywords.items())))
            self._session, self._named = named_session(key), True
        return [], parts.keywords

    def connect(self, *arguments: Option, **keywords: Option) -> SharedConnection:
        """Return a connection to the engine's session, which the first call opens; the arguments are those of
        :func:`sqlfront.connect`."""
        return self._session.connect(lambda: sqlfront.connect(*arguments, **keywords))

    def disposed(self) -> None:
        """Close the engine's session once no connection uses it; called after ``Engine.dispose``. A session
        with a name (given in the URL) stays open, since other engines may share it."""
        if not self._named:
            self._session.release()

    def _get_default_schema_name(self, connection: "Connection") -> str:
        return DEFAULT_SCHEMA

    def _get_server_version_info(self, connection: "Connection") -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", sqlfront.__version__)[:3]))

    # ---- transactions: each statement is its own

    def do_begin(self, dbapi_connection: DriverConnection) -> None:
        """Do nothing: a transaction is one statement."""

    def do_commit(self, dbapi_connection: DriverConnection) -> None:
        """Do nothing: the statements have taken effect."""

    def do_rollback(self, dbapi_connection: DriverConnection) -> None:
        """Do nothing: the statements have taken effect, and can't be undone."""

    def get_isolation_level_values(self, dbapi_connection: DriverConnection) -> list[str]:
        """Return AUTOCOMMIT, the only isolation level, in a list."""
        return [AUTOCOMMIT]

    def get_default_isolation_level(self, dbapi_connection: DriverConnection) -> str:
        """Return AUTOCOMMIT, the only isolation level."""
        return AUTOCOMMIT

    def get_isolation_level(self, dbapi_connection: DriverConnection) -> str:
        """Return AUTOCOMMIT, the only isolation level."""
        return AUTOCOMMIT

    def set_isolation_level(self, dbapi_connection: DriverConnection, level: str) -> None:
        """Do nothing: there is one isolation level."""

    def do_ping(self, dbapi_connection: DriverConnection) -> bool:
        """Run ``SELECT 1``, and return True. Raises the driver's error if the session is closed or the query
        fails."""
        dbapi_connection.execute("SELECT 1").close()
        return True

    def is_disconnect(self, error: Exception, connection: DriverConnection, cursor: Option) -> bool:
        """Return whether an error means that the connection's session is closed or its cluster gone, so that
        SQLAlchemy discards the connection."""
        used = getattr(connection, "dbapi_connection", connection)
        if used is None and isinstance(cursor, Cursor):
            used = cursor.connection
        lost = isinstance(error, sqlfront.Error) and (error.sqlstate or "").startswith("08")
        return lost or (isinstance(used, OpenConnection) and used.closed)


class SqlfrontClusterDialect(SqlfrontDialect):
    """The dialect ``sqlfront+cluster://:secret@host:port``: sessions of a running cluster."""

    driver = "cluster"
    supports_statement_cache = True
    _cluster = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the PEP 249 driver, the module ``sqlfront``."""
        return sqlfront


def _disposed(engine: "Engine") -> None:
    dialect = engine.dialect
    if isinstance(dialect, SqlfrontDialect):
        dialect.disposed()
