"""The attributes ``conf`` and ``catalog`` of an attached session, which stand for those of a SparkSession.

Calls that are not about sqlfront's settings, tables and copies are passed on to ``spark.conf`` and
``spark.catalog``.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlfront.commands.run import origin_of
from sqlfront.state.cached_table import CachedTable
from sqlfront.state.context import Context
from sqlfront_connectors.spark.listings import column_listings, table_listing
from sqlfront_connectors.spark.types import quoted
from sqlfront_planner.catalog import Entry, FoundElsewhere, TableEntry, ViewEntry
from sqlfront_planner.statements.dotted_names import dotted, name_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.catalog import Column, Table

    from sqlfront.results.result import Result

#: The beginning of the keys of sqlfront's own settings.
_OWN: Final = "sqlfront."


class BothSides(Protocol):
    """The methods of a session beside Spark (:class:`~sqlfront.spark.attached.AttachedSession`) that
    :class:`SessionConf` and :class:`SessionCatalog` call."""

    context: Context

    @property
    def spark_session(self) -> "SparkSession":
        """The Spark session beside the session, which is started now unless it is started already."""

    def execute(self, text: str) -> "Result":
        """Run one statement, and return its result."""

    def sql(self, text: str) -> object:
        """Run one statement, and return its result; an error is an instance of PySpark's class, too."""

    def unregister(self, name: str) -> None:
        """Drop a temporary view of the session or of Spark; no error if no view has the name."""


class SessionConf:
    """The settings of an attached session, with the methods of ``spark.conf``: keys that begin with
    ``sqlfront.`` are the session's settings, all others Spark's."""

    def __init__(self, session: BothSides) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.spark_session.conf, name)

    def get(self, key: str, *default: str | None) -> str | None:
        """Return the value of a setting. For a setting of Spark without a value, return ``default`` if it is
        given, else raise Spark's error. Raises NotSupportedError for an unknown key that begins with
        ``sqlfront.``."""
        if key.startswith(_OWN):
            return self._session.context.options.get(key)
        return self._session.spark_session.conf.get(key, *default)

    def set(self, key: str, value: str | int | bool) -> None:
        """Set a setting of the session or of Spark. Raises Spark's error; for a key that begins with
        ``sqlfront.``, NotSupportedError if the key is unknown or the value unsupported, ProgrammingError if
        the value is malformed."""
        if key.startswith(_OWN):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self._session.context.options.set(key, text)
        else:
            self._session.spark_session.conf.set(key, value)

    def unset(self, key: str) -> None:
        """Reset a setting of the session or of Spark to its default value."""
        if key.startswith(_OWN):
            self._session.context.options.reset(key)
        else:
            self._session.spark_session.conf.unset(key)


class SessionCatalog:
    """The names of an attached session, with the methods of ``spark.catalog``: tables and views of sqlfront
    and of Spark.

    A copy that CACHE TABLE made counts as the table or view that it copies. ``cacheTable`` and
    ``uncacheTable`` are CACHE TABLE and UNCACHE TABLE of this session.
    """

    def __init__(self, session: BothSides) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.spark_session.catalog, name)

    def listTables(self, dbName: str | None = None, pattern: str | None = None) -> "list[Table]":
        """Return Spark's tables and views, then the session's own. ``dbName``: the database to list, None =
        the current one; ``pattern``: only names that match, as in SHOW TABLES LIKE."""
        theirs = self._session.spark_session.catalog.listTables(dbName, pattern)
        shown = self._session.execute(_show_tables(dbName, pattern)).tuples(naive=True)
        names = {str(name).lower() for _, name, _ in shown}
        return theirs + [_listing(entry) for entry in self._own() if entry.name.lower() in names]

    def tableExists(self, tableName: str, dbName: str | None = None) -> bool:
        """Return whether this session or Spark has a table or view with the name."""
        if dbName is None and self._found(tableName) is not None:
            return True
        return bool(self._session.spark_session.catalog.tableExists(tableName, dbName))

    def getTable(self, tableName: str) -> "Table":
        """Return the description of the table or view with the name. Raises Spark's error for an unknown
        name."""
        entry = self._found(tableName)
        return self._session.spark_session.catalog.getTable(tableName) if entry is None else _listing(entry)

    def listColumns(self, tableName: str, dbName: str | None = None) -> "list[Column]":
        """Return the descriptions of a table's or view's columns. Raises Spark's error for an unknown
        name."""
        entry = self._found(tableName) if dbName is None else None
        if entry is None:
            return self._session.spark_session.catalog.listColumns(tableName, dbName)
        return self._columns(entry)

    def isCached(self, tableName: str) -> bool:
        """Return whether this session has a copy of the table or view, or Spark caches it."""
        entry = self._session.context.catalog.own(name_parts(tableName))
        if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
            return True
        return self._found(tableName) is None and self._session.spark_session.catalog.isCached(tableName)

    def cacheTable(self, tableName: str, storageLevel: object = None) -> None:
        """Copy a table or view into the memory of this session's members; ``storageLevel`` has no effect."""
        self._session.sql(f"CACHE TABLE {written(tableName)}")

    def uncacheTable(self, tableName: str) -> None:
        """Drop this session's copy of a table or view; if there is none, Spark's cache of it."""
        if self._session.context.catalog.own(name_parts(tableName)) is None:
            self._session.spark_session.catalog.uncacheTable(tableName)
        else:
            self._session.sql(f"UNCACHE TABLE {written(tableName)}")

    def clearCache(self) -> None:
        """Drop all copies of this session, and clear Spark's cache."""
        for entry in self._session.context.catalog.entries():
            if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
                self._session.execute(f"UNCACHE TABLE IF EXISTS {dotted(entry.parts)}")
        self._session.spark_session.catalog.clearCache()

    def refreshTable(self, tableName: str) -> None:
        """Read the files of a table again, in sqlfront and in Spark, by REFRESH TABLE."""
        self._session.sql(f"REFRESH TABLE {written(tableName)}")

    def dropTempView(self, viewName: str) -> bool:
        """Drop a temporary view of this session or of Spark. Return False if no view has the name."""
        entry = self._session.context.catalog.own((viewName,))
        own = entry is not None and entry.temporary
        if not own and viewName.lower() not in self._views():
            return False
        self._session.unregister(viewName)
        return True

    def _views(self) -> set[str]:
        assert self._session.context.spark is not None
        return {view.lower() for view in self._session.context.spark.link.views}

    def _found(self, name: str) -> Entry | None:
        """Return the catalog's entry of a table or view that this session has and Spark has not; None if
        there is none with the name. A copy of a relation of Spark's doesn't count."""
        try:
            entry = self._session.context.catalog.lookup(name_parts(name))
        except FoundElsewhere:
            return None
        return entry if entry is not None and self._is_own(entry) else None

    def _own(self) -> Iterator[Entry]:
        return (entry for entry in self._session.context.catalog.entries() if self._is_own(entry))

    def _is_own(self, entry: Entry) -> bool:
        spark = self._session.context.spark
        return spark is None or not spark.has(entry)

    def _columns(self, entry: Entry) -> "list[Column]":
        partitioning = entry.table.partitioning if isinstance(entry, TableEntry) else None
        buckets = () if partitioning is None else partitioning.columns
        rows = self._session.execute(f"SELECT * FROM {dotted(entry.parts)} LIMIT 0")
        return column_listings(rows.schema, buckets)


def _listing(entry: Entry) -> "Table":
    """Return an entry of the catalog as the ``Table`` by which PySpark describes tables and views."""
    database = None if entry.temporary else (entry.parts[-2] if len(entry.parts) > 1 else "default")
    return table_listing(entry.name, database, is_view=isinstance(origin_of(entry), ViewEntry))


def _show_tables(database: str | None, pattern: str | None) -> str:
    """Return the SHOW TABLES statement for a database (None: the current one) and a pattern (None: all
    names)."""
    text = "SHOW TABLES"
    if database is not None:
        text += f" IN {written(database)}"
    if pattern is not None:
        text += " LIKE '" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text


def written(name: str) -> str:
    """Return a dotted name with each part in backticks."""
    return ".".join(map(quoted, name_parts(name)))
