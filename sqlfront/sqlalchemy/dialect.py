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
    """One run of a statement. Results of the driver stream always, so that ``stream_results`` needs no other
    cursor, but has SQLAlchemy fetch rows as they are asked for."""

    cursor_fetch_strategy: Element

    def create_server_side_cursor(self) -> Element:
        """A cursor of the driver."""
        return self._dbapi_connection.cursor()

    def post_exec(self) -> None:
        """Keep SQLAlchemy from reading the rows of a statement that has none: with ``stream_results``
        SQLAlchemy would read the first row of every statement."""
        if not self.cursor.description:
            self.cursor_fetch_strategy = cursors._NO_CURSOR_DML


class SqlfrontDialect(SqlfrontReflection):
    """Sessions of this process. The connections of an engine share a session; every statement is its own
    transaction, so that COMMIT and ROLLBACK do nothing."""

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
        """The driver."""
        return sqlfront

    dbapi: Any = import_dbapi  # its name in SQLAlchemy 1.4

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """A queue of connections, which cost nothing: they share a session."""
        return pool.QueuePool

    @classmethod
    def engine_created(cls, engine: "Engine") -> None:
        """Have ``Engine.dispose`` close the engine's session."""
        event.listen(engine, "engine_disposed", _disposed)

    def create_connect_args(self, url: URL) -> tuple[list[str], Keywords]:
        """The arguments of :func:`sqlfront.connect`. Raises ProgrammingError for a URL with unknown
        options."""
        parts = engine_url(url, cluster=self._cluster)
        if parts.session is not None:
            key = (parts.session, self._cluster, tuple(sorted(parts.keywords.items())))
            self._session, self._named = named_session(key), True
        return [], parts.keywords

    def connect(self, *arguments: Option, **keywords: Option) -> SharedConnection:
        """A connection to the engine's session; see :func:`sqlfront.connect`."""
        return self._session.connect(lambda: sqlfront.connect(*arguments, **keywords))

    def disposed(self) -> None:
        """Close the engine's session, unless it has a name, as soon as no connection uses it."""
        if not self._named:
            self._session.release()

    def _get_default_schema_name(self, connection: "Connection") -> str:
        return DEFAULT_SCHEMA

    def _get_server_version_info(self, connection: "Connection") -> tuple[int, ...]:
        return tuple(map(int, re.findall(r"\d+", sqlfront.__version__)[:3]))

    # ---- transactions: each statement is its own

    def do_begin(self, dbapi_connection: DriverConnection) -> None:
        """Nothing: a transaction is one statement."""

    def do_commit(self, dbapi_connection: DriverConnection) -> None:
        """Nothing: the statements have taken effect."""

    def do_rollback(self, dbapi_connection: DriverConnection) -> None:
        """Nothing: the statements have taken effect."""

    def get_isolation_level_values(self, dbapi_connection: DriverConnection) -> list[str]:
        """The only isolation level."""
        return [AUTOCOMMIT]

    def get_default_isolation_level(self, dbapi_connection: DriverConnection) -> str:
        """The only isolation level."""
        return AUTOCOMMIT

    def get_isolation_level(self, dbapi_connection: DriverConnection) -> str:
        """The only isolation level."""
        return AUTOCOMMIT

    def set_isolation_level(self, dbapi_connection: DriverConnection, level: str) -> None:
        """Nothing: there is one isolation level."""

    def do_ping(self, dbapi_connection: DriverConnection) -> bool:
        """Whether the session is open and, if it has members, answers."""
        dbapi_connection.execute("SELECT 1").close()
        return True

    def is_disconnect(self, error: Exception, connection: DriverConnection, cursor: Option) -> bool:
        """Whether the connection's session is closed or its cluster gone."""
        used = getattr(connection, "dbapi_connection", connection)
        if used is None and isinstance(cursor, Cursor):
            used = cursor.connection
        lost = isinstance(error, sqlfront.Error) and (error.sqlstate or "").startswith("08")
        return lost or (isinstance(used, OpenConnection) and used.closed)


class SqlfrontClusterDialect(SqlfrontDialect):
    """Sessions of a running cluster: ``sqlfront+cluster://:secret@host:port``."""

    driver = "cluster"
    supports_statement_cache = True
    _cluster = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The driver."""
        return sqlfront


def _disposed(engine: "Engine") -> None:
    dialect = engine.dialect
    if isinstance(dialect, SqlfrontDialect):
        dialect.disposed()
