"""sqlfront: interactive SQL over Spark's data; the same SQL, the same answers as ``spark.sql``.

Three doors to one house::

    import sqlfront

    sqlfront.sql("select 1 as x").show()                   # the spark.sql-style helper
    with sqlfront.connect() as connection:                 # PEP 249
        connection.execute("select ?", [1]).fetchall()
    # $ sqlfront -c "select 1"                             # the command line

Text becomes a statement and a plan in ``sqlfront_planner``, which ``sqlfront_engine`` runs as a light job
over the tables of ``sqlfront_connectors``; this package composes them. Reading order: ``session`` (text to
result), ``commands`` (statements that are not queries), ``result``, ``connection`` and ``cursor``, ``shell``.
"""

from sqlfront.api import connect, sql
from sqlfront.config import Config
from sqlfront.connection import Connection
from sqlfront.cursor import Cursor
from sqlfront.db_types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from sqlfront.result import Result
from sqlfront.row import Row
from sqlfront.session import Session
from sqlfront_engine.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)

__version__ = "0.1.0"

#: PEP 249: version of the specification, level of thread safety (connections may be shared), parameter style.
apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Config",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Result",
    "Row",
    "Session",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "sql",
    "threadsafety",
]
