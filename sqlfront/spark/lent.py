"""The tables and views of sqlfront that are lent to Spark: while Spark runs a statement that names them, they
are temporary views of Spark's."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sqlfront.commands.run import StatementRun
from sqlfront.spark import straight
from sqlfront.spark.copies import has
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.scan import FileScan
from sqlfront_connectors.spark.types import quoted, spark_schema
from sqlfront_planner.catalog import TableEntry, ViewEntry
from sqlfront_planner.logical import LogicalScan
from sqlfront_values.errors import NotSupportedError, OperationalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside
    from sqlfront_connectors.base import Snapshot
    from sqlfront_connectors.spark.link import SparkLink

#: Pattern of the words of a text, quoted words included.
_WORDS: Final = re.compile(r"`([^`]+)`|(\w+)")


class LentRelations:
    """The tables and views of a session that are lent to Spark: made DataFrames, so that statements that
    Spark runs can read them. Safe to use from several threads."""

    def __init__(self, context: "Context", lane: "SparkBeside") -> None:
        self._context = context
        self._lane = lane
        # DataFrames of tables, by the table's version: made once for each version, and kept as long as a
        # reader holds the version, the version is current, or a statement of Spark's uses the DataFrame.
        self._frames: WeakKeyDictionary[Snapshot, DataFrame] = WeakKeyDictionary()

    def views_of(self, text: str) -> "dict[str, DataFrame]":
        """Return a DataFrame for each table and view that only sqlfront knows and that the text may name, by
        name. Tables and views that a view reads are included."""
        entries = {entry.name.lower(): entry for entry in self._context.catalog.entries() if not has(entry)}
        found: dict[str, DataFrame] = {}

        def find(words: str) -> None:
            for word in words_of(words):
                entry = entries.pop(word, None)
                if entry is None or self._lane.has_view(entry.name):
                    continue
                if isinstance(entry, ViewEntry):
                    find(entry.sql)
                    found[entry.name] = self._lane.link.analysed(_query_of(entry), None, found)
                else:
                    found[entry.name] = self._frame(entry)

        find(text)
        return found

    def _frame(self, entry: TableEntry) -> "DataFrame":
        """Return the current version of a table as a Spark DataFrame, which is made once per version. If
        sqlfront can't read the table's files, Spark reads them."""
        snapshot = entry.table.snapshot()
        known = self._frames.get(snapshot)
        if known is not None:
            return known
        context, link, schema = self._context, self._lane.link, entry.table.schema
        if isinstance(entry.table, FileTable) and not _is_readable(context, entry.table):
            return _read_by_spark(link, entry.table)
        scan = LogicalScan(entry.name, entry.table, snapshot, tuple(range(len(schema))))
        held = straight.of_table(context, link, scan)
        if held is None:
            held = link.frame(schema, StatementRun(context).rows(scan))
        held.close_with_data(context.engine.call)
        self._frames[snapshot] = held.data
        return held.data


def words_of(text: str) -> Iterator[str]:
    """Return the words of a statement in lower case; a text in backticks is one word.

    >>> list(words_of("SELECT A FROM `a b`"))
    ['select', 'a', 'from', 'a b']
    """
    return ((in_quotes or word).lower() for in_quotes, word in _WORDS.findall(text))


def _is_readable(context: "Context", table: FileTable) -> bool:
    """Return whether sqlfront can read the table's files: it is allowed to, and the format's options are
    covered."""
    try:
        everything = tuple(range(len(table.schema)))
        scan = FileScan(table.version, table.name, everything)
        scan.check(context.files, context.settings, context.engine.memory)
    except (NotSupportedError, OperationalError):
        return False
    return True


def _read_by_spark(link: "SparkLink", table: FileTable) -> "DataFrame":
    """Return a DataFrame of the table's files, which Spark reads with the table's options and schema."""
    version = table.version
    options = {**version.options, **version.listing.as_options()}
    reader = link.spark.read.format(version.format).schema(spark_schema(version.schema))
    return reader.options(**options).load(table.location)


def _query_of(view: ViewEntry) -> str:
    """Return the text of a view's query in which the columns have the view's names.

    Invariant: the names are part of the text, not of a DataFrame derived from another, since over Spark
    Connect a DataFrame is gone once this process has no reference to it."""
    if not view.columns:
        return view.sql
    return f"SELECT * FROM ({view.sql}\n) AS named({', '.join(map(quoted, view.columns))})"
