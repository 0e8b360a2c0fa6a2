"""The tables of ``information_schema``, made when a statement names them.

Rows that are still right are reused: a table's rows until the catalog's version changes, and the rows of a
relation's columns until a name that they depend on stands for another relation. So a lookup among a thousand
tables takes no longer than a scan of the rows.
"""

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront.information_schema import relations, rows
from sqlfront.information_schema.column_batches import DescribedColumns, columns_batch
from sqlfront.information_schema.columns import INFORMATION_SCHEMA, INFORMATION_TABLES
from sqlfront.information_schema.rows import Described, Row
from sqlfront.information_schema.schemas import COMMENTS, SYSTEM_SCHEMAS
from sqlfront.results.python_values import rows_batch
from sqlfront.system_tables import unknown_table
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_engine.process_user import process_user
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    SESSION_SCHEMA,
    Entry,
    Lookups,
)
from sqlfront_planner.lanes import Lane
from sqlfront_values.errors import InterfaceError

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside


class _ColumnRows(msgspec.Struct, frozen=True):
    """The rows of one relation's columns: ``count`` rows of ``batch`` from the row ``start`` on. ``lookups``:
    the names on which the columns depend, with the relations found for them when the rows were made; None =
    the rows have to be made anew for each statement."""

    entry: Entry
    lookups: Lookups | None
    batch: pa.RecordBatch
    start: int
    count: int


#: A relation with the lookups of its columns, and its columns, which are empty if they aren't known.
_Fresh = tuple[Entry, Lookups | None, DescribedColumns]


class InformationSchema:
    """The tables of ``information_schema`` for one session. Any thread may call the methods."""

    def __init__(self, context: "weakref.ref[Context]") -> None:
        """Take a weak reference to the state of the session that the tables describe."""
        self._context = context
        self._lock = threading.RLock()
        # Guarded by the lock: whether a table is being made, each table with the state that it shows, and the
        # rows of the columns of each relation, by the entry's identity.
        self._busy = False
        self._made: dict[str, tuple[object, ArrowTable]] = {}
        self._columns: dict[int, _ColumnRows] = {}

    def table(self, name: str) -> ArrowTable:
        """Return the table ``information_schema.<name>`` with its current rows. Since a view may itself read
        the table, a view that is bound while the rows are made gets the table without rows: else the work
        would never end. Raises TABLE_OR_VIEW_NOT_FOUND for an unknown name."""
        key = name.lower()
        schema = INFORMATION_TABLES.get(key)
        if schema is None:
            raise unknown_table(INFORMATION_SCHEMA, name, INFORMATION_TABLES)
        with self._lock:
            if self._busy:
                return ArrowTable.of(f"{INFORMATION_SCHEMA}.{key}", schema, ())
            self._busy = True
            try:
                return self._current(key, schema)
            finally:
                self._busy = False

    def _current(self, name: str, schema: pa.Schema) -> ArrowTable:
        context = self._context()
        if context is None:
            raise InterfaceError("the session is closed")
        state = context.catalog.version, context.options.key
        made = self._made.get(name)
        if made is not None and made[0] == state and state[1] is not None:
            return made[1]
        table = ArrowTable.of(f"{INFORMATION_SCHEMA}.{name}", schema, self._batches(name, schema, context))
        if name == "columns" and any(each.lookups is None for each in self._columns.values()):
            self._made.pop(name, None)
        else:
            self._made[name] = state, table
        return table

    def _batches(self, name: str, schema: pa.Schema, context: "Context") -> Sequence[pa.RecordBatch]:
        """Return the current rows of the table ``name``, in one batch."""
        if name != "columns":
            return (rows_batch(schema, _MAKERS[name](context)),)
        parts = self._own_columns(context)
        others = columns_batch(_other_columns(context))
        (whole,) = pa.Table.from_batches([*_joined(parts), others]).combine_chunks().to_batches()
        self._columns = _placed(parts, whole)
        return (whole,)

    def _own_columns(self, context: "Context") -> list[_ColumnRows]:
        """Return the rows of the columns of this session's relations, a part for each relation. Parts that
        are still right are reused."""
        kept: dict[int, _ColumnRows] = {}
        fresh: list[_Fresh] = []
        entries = relations.own_entries(context)
        for entry in entries:
            known = self._columns.get(id(entry))
            if known is not None and known.entry is entry and _is_right(known, context):
                kept[id(entry)] = known
                continue
            schema, lookups = relations.columns_of(entry, context)
            columns = relations.described(entry), pa.schema([]) if schema is None else schema
            fresh.append((entry, lookups, columns))
        kept.update((id(each.entry), each) for each in _made(fresh))
        return [kept[id(entry)] for entry in entries]


def _is_right(known: _ColumnRows, context: "Context") -> bool:
    """Return whether the rows still describe the relation: the names that its columns depend on stand for the
    same relations as when the rows were made."""
    lookups = known.lookups
    return lookups is not None and (not lookups or context.catalog.agrees(lookups))


def _made(fresh: list[_Fresh]) -> Iterator[_ColumnRows]:
    """Yield the rows of the columns of each relation; all relations share one batch, which is made at
    once."""
    whole = columns_batch([columns for *_, columns in fresh])
    start = 0
    for entry, lookups, (_, schema) in fresh:
        yield _ColumnRows(entry, lookups, whole, start, len(schema))
        start += len(schema)


def _joined(parts: list[_ColumnRows]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all parts in order, with neighbouring parts of one batch as a single slice."""
    for _, run in groupby(parts, key=lambda part: id(part.batch)):
        begin = end = 0
        for part in run:
            batch = part.batch
            if part.start != end:
                yield batch.slice(begin, end - begin)
                begin = part.start
            end = part.start + part.count
        yield batch.slice(begin, end - begin)


def _placed(parts: list[_ColumnRows], whole: pa.RecordBatch) -> dict[int, _ColumnRows]:
    """Return the parts, by the ``id`` of their entries, as slices of ``whole``, a batch that begins with the
    rows of all parts in order."""
    placed, start = {}, 0
    for part in parts:
        placed[id(part.entry)] = _ColumnRows(part.entry, part.lookups, whole, start, part.count)
        start += part.count
    return placed


def _spark(context: "Context") -> "SparkBeside | None":
    """Return the Spark session whose relations the tables describe, too; None without a Spark session, or if
    ``SET sqlfront.lane = light`` hides it."""
    return None if context.options.lane == Lane.LIGHT else context.spark


def _described(context: "Context") -> list[Described]:
    """Return the descriptions of all relations: the session's, Spark's, and the system tables."""
    spark = _spark(context)
    own = map(relations.described, relations.own_entries(context))
    sparks = () if spark is None else relations.sparks_relations(spark)
    system = (relation for relation, _ in relations.system_relations(SYSTEM_SCHEMAS))
    return [*own, *sparks, *system]


def _other_columns(context: "Context") -> list[DescribedColumns]:
    """Return the descriptions and columns of the system tables and of Spark's relations."""
    spark = _spark(context)
    found = list(relations.system_relations(SYSTEM_SCHEMAS))
    if spark is not None:
        for relation in relations.sparks_relations(spark):
            schema = relations.sparks_columns(spark, relation)
            found += [] if schema is None else [(relation, schema)]
    return found


def _table_rows(context: "Context") -> list[Row]:
    owner = process_user()
    return [rows.table_row(relation, owner) for relation in _described(context)]


def _view_rows(context: "Context") -> list[Row]:
    return [rows.view_row(each) for each in _described(context) if each.kind == relations.VIEW]


def _schema_rows(context: "Context") -> list[Row]:
    """Return the rows of ``information_schema.schemata``: this session's schemas, and Spark's if there is a
    Spark session."""
    spark = _spark(context)
    theirs = {} if spark is None else dict.fromkeys(spark.link.schemas)
    catalog = DEFAULT_CATALOG if spark is None else spark.link.database[0]
    known: dict[str, str | None] = {DEFAULT_DATABASE: context.catalog.comment, **theirs}
    known |= {GLOBAL_TEMP[0]: "global temporary views", **COMMENTS}
    if spark is not None and catalog != DEFAULT_CATALOG:
        known.pop(DEFAULT_DATABASE)
    session = rows.schema_rows(SESSION_SCHEMA[0], [(SESSION_SCHEMA[1], "temporary views of this session")])
    return [*rows.schema_rows(catalog, list(known.items())), *session]


def _routine_rows(_: "Context") -> list[Row]:
    return list(rows.routine_rows())


_MAKERS: "Final[dict[str, Callable[[Context], list[Row]]]]" = {
    "routines": _routine_rows,
    "schemata": _schema_rows,
    "tables": _table_rows,
    "views": _view_rows,
}
