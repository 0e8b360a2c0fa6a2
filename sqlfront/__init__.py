"""sqlfront: interactive SQL over Spark's data; the same SQL, the same answers as ``spark.sql``.

Three entry points::

    import sqlfront

    sqlfront.sql("select 1 as x").show()                   # the spark.sql-style helper
    with sqlfront.connect() as connection:                 # PEP 249
        connection.execute("select ?", [1]).fetchall()
    # $ sqlfront -c "select 1"                             # the command line

``sqlfront_planner`` turns text into a statement and a plan; ``sqlfront_engine`` runs the plan as a light job
over the tables of ``sqlfront_connectors``; this package composes these packages. Reading order: ``session``
(composes the ``state`` of a session, and runs statements), ``decide`` (chooses the way of a statement) and
``walk`` (runs the way), ``lanes`` (the ways of queries), ``commands`` (statements other than queries),
``results``, ``connection``, ``cluster`` (a session's members), ``spark`` (a Spark session beside a session),
``system_tables``, ``shell``, ``check``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from sqlfront_engine.garbage import keep_all, uncollected

with uncollected():
    from sqlfront.api import attach, connect, sql
    from sqlfront.config import Config
    from sqlfront.results.result import Result
    from sqlfront.results.row import Row
    from sqlfront.session import Session
    from sqlfront_values.errors import (
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

    keep_all()

if TYPE_CHECKING:
    from sqlfront.connection import Connection, Cursor
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

__version__ = "0.1.0"

#: PEP 249: version of the specification, level of thread safety (threads may share connections), parameter
#: style.
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
    "attach",
    "connect",
    "paramstyle",
    "sql",
    "threadsafety",
]

#: Names by the module that defines them; each module is loaded at its first use: the PEP 249 interface, and
#: the function that ``%load_ext sqlfront`` calls.
_LATE: Final = {
    "sqlfront.connection": ("Connection", "Cursor"),
    "sqlfront.db_types": (
        "BINARY",
        "DATETIME",
        "NUMBER",
        "ROWID",
        "STRING",
        "Binary",
        "Date",
        "DateFromTicks",
        "Time",
        "TimeFromTicks",
        "Timestamp",
        "TimestampFromTicks",
    ),
    "sqlfront.jupyter.extension": ("load_ipython_extension",),
}
#: Packages that are loaded when a program first names them, as ``sqlfront.aio``.
_PACKAGES: Final = ("aio",)
_MODULES: Final = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    """Return the object ``name``, such as ``Cursor``, that is imported only when it is first needed, or the
    package ``aio``. The first access imports the module that defines the object, and makes the object an
    attribute of this package. Raises AttributeError for any other name."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value
