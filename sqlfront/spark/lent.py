"""What only sqlfront knows, lent to Spark: its tables and views are temporary views of Spark's while that
runs a statement that names them."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sqlfront.commands.run import Run
from sqlfront.spark import straight
from sqlfront.spark.copies import has
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.scan import FileScan
from sqlfront_connectors.spark.types import quoted, spark_schema
from sqlfront_planner.binder import NO_ARGUMENTS
from sqlfront_planner.catalog import TableEntry, ViewEntry
from sqlfront_planner.logical import Scan
from sqlfront_values.errors import NotSupportedError, OperationalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlfront.session import Session
    from sqlfront.spark.lane import SparkLane
    from sqlfront_connectors.base import Snapshot
    from sqlfront_connectors.spark.link import SparkLink

#: The words of a text, quoted ones included.
_WORDS: Final = re.compile(r"`([^`]+)`|(\w+)")


class Lent:
    """See the module. Safe to use from several threads."""

    def __init__(self, session: "Session", lane: "SparkLane") -> None:
        self._session = session
        self._lane = lane
        # What was handed to Spark of tables, by their versions: made once for each, and there for as long as
        # somebody reads that, or it is the current one, or a statement of Spark's has it.
        self._frames: WeakKeyDictionary[Snapshot, DataFrame] = WeakKeyDictionary()

    def views_of(self, text: str) -> "dict[str, DataFrame]":
        """The tables and views that only sqlfront knows and that the text may name."""
        entries = {entry.name.lower(): entry for entry in self._session.catalog.entries() if not has(entry)}
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
        """The current version of a table as a frame of Spark's."""
        snapshot = entry.table.snapshot()
        known = self._frames.get(snapshot)
        if known is not None:
            return known
        session, link, schema = self._session, self._lane.link, entry.table.schema
        if isinstance(entry.table, FileTable) and not _is_readable(session, entry.table):
            return _read_by_spark(link, entry.table)
        scan = Scan(entry.name, entry.table, snapshot, tuple(range(len(schema))))
        held = straight.of_table(session, link, scan)
        if held is None:
            held = link.frame(schema, Run(session, NO_ARGUMENTS, None).rows(scan))
        held.close_with_data(session.engine.call)
        self._frames[snapshot] = held.data
        return held.data


def words_of(text: str) -> Iterator[str]:
    """The words of a statement, quoted ones included, in lower case.

    >>> list(words_of("SELECT A FROM `a b`"))
    ['select', 'a', 'from', 'a b']
    """
    return ((in_quotes or word).lower() for in_quotes, word in _WORDS.findall(text))


def _is_readable(session: "Session", table: FileTable) -> bool:
    """Whether the table's files can be read here."""
    try:
        everything = tuple(range(len(table.schema)))
        scan = FileScan(table.version, table.name, everything)
        scan.check(session.files, session.settings, session.engine.memory)
    except (NotSupportedError, OperationalError):
        return False
    return True


def _read_by_spark(link: "SparkLink", table: FileTable) -> "DataFrame":
    """The table's files as Spark reads them."""
    version = table.version
    options = {**version.options, **version.listing.as_options()}
    reader = link.spark.read.format(version.format).schema(spark_schema(version.schema))
    return reader.options(**options).load(table.location)


def _query_of(view: ViewEntry) -> str:
    """The text of a view's query with its names of columns. Invariant: these are no frame made of another,
    which over Spark Connect is gone as soon as nobody here has it."""
    if not view.columns:
        return view.sql
    return f"SELECT * FROM ({view.sql}\n) AS named({', '.join(map(quoted, view.columns))})"
