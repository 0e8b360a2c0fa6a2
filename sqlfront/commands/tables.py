"""Statements that change what tables there are and what they hold."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront.cache import CachedTable, writable
from sqlfront.commands.run import NOTHING, Made, Run, last_part, not_found, origin_of, tables_of, wrote
from sqlfront_connectors import registry
from sqlfront_connectors.base import Table, TableDefinition, WritableTable
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_engine.errors import DataError, ProgrammingError
from sqlfront_engine.types import VOID
from sqlfront_planner.binder.context import NO_ARGUMENTS
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry, already_exists
from sqlfront_planner.insertion import assign
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statement import (
    CacheTable,
    CreateTable,
    CreateView,
    Drop,
    Insert,
    RefreshTable,
    RelationKind,
    UncacheTable,
)

if TYPE_CHECKING:
    from sqlfront.session import Session

#: The format of CREATE TABLE without USING.
DEFAULT_FORMAT: Final = "memory"


def create_table(run: Run, statement: CreateTable) -> Made:
    """CREATE TABLE: entered in the catalog only when it holds its rows."""
    catalog = run.session.catalog
    present = None if statement.temporary else catalog.lookup(tuple(statement.name.split(".")))
    if present is not None and not present.temporary:
        if statement.if_not_exists:
            return NOTHING
        if not statement.replace:
            raise already_exists(present)
    query = None if statement.query is None else run.bind(statement.query)
    if query is not None and statement.schema is not None:
        raise ProgrammingError("CREATE TABLE ... AS SELECT takes no column list; its columns are the query's")
    schema = _storable(query.schema) if query is not None else statement.schema
    table = _make(run, statement, schema)
    written = None
    try:
        if query is not None:
            written = _fill(run, table, statement.name, query)
        entry = TableEntry(last_part(statement.name), table, statement.temporary)
        replaced = catalog.add(entry, replace=statement.replace)
    except BaseException:
        table.drop()
        raise
    _forget(replaced)
    return wrote(written)


def _make(run: Run, statement: CreateTable, schema: pa.Schema | None) -> Table:
    if schema is not None:
        _check_unique(schema.names)
    in_memory = (statement.format or DEFAULT_FORMAT).lower() == DEFAULT_FORMAT
    placed = in_memory or statement.location is not None or "path" in map(str.lower, statement.options)
    definition = TableDefinition(
        last_part(statement.name),
        schema,
        statement.options,
        statement.location,
        None if placed else run.session.home,
        statement.partitioned_by,
        statement.clustered_by,
        statement.buckets,
    )
    if in_memory:
        return run.memory_table(definition)
    return registry.create(statement.format or DEFAULT_FORMAT, definition)


def _storable(schema: pa.Schema) -> pa.Schema:
    """The schema of a table made from a query; refuses void columns, as Spark does for files."""
    for field in schema:
        if field.type == VOID:
            raise ProgrammingError(
                f"column `{field.name}` has no type (it is always null); cast it",
                condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
                sqlstate="0A000",
            )
    return schema


def _check_unique(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ProgrammingError(
                f"The column `{name}` already exists. Choose another name or rename the existing column.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
            )
        seen.add(name.lower())


def _fill(run: Run, table: Table, name: str, query: LogicalPlan, columns: tuple[str, ...] = ()) -> int:
    assert isinstance(table, WritableTable)
    names = columns or (tuple(query.schema.names) if columns == () and _is_permuted(table, query) else ())
    return run.store(table, assign(query, name, table.schema, names))


def _is_permuted(table: Table, query: LogicalPlan) -> bool:
    """Whether the table (partition columns last) has the query's columns in another order."""
    return list(table.schema.names) != list(query.schema.names) and sorted(table.schema.names) == sorted(
        query.schema.names
    )


def create_view(run: Run, statement: CreateView) -> Made:
    """CREATE VIEW: its query is bound once, so that a wrong one is refused here."""
    catalog = run.session.catalog
    view = ViewEntry(last_part(statement.name), statement.query.text, statement.columns, statement.temporary)
    plan = run.bind(statement.query)
    if statement.columns and len(statement.columns) != len(plan.schema):
        raise ProgrammingError(
            f"view `{view.name}` names {len(statement.columns)} columns, its query gives {len(plan.schema)}",
            condition="CREATE_VIEW_COLUMN_ARITY_MISMATCH",
            sqlstate="21S01",
        )
    _check_unique(statement.columns or plan.schema.names)
    present = catalog.lookup((view.name,))
    if present is not None and present.temporary == view.temporary and statement.if_not_exists:
        return NOTHING
    catalog.add(view, replace=statement.replace)
    return NOTHING


def cache(run: Run, statement: CacheTable) -> Made:
    """CACHE TABLE: a copy in memory takes the place of the table or view."""
    catalog = run.session.catalog
    if statement.query is not None:
        origin: Entry = ViewEntry(last_part(statement.name), statement.query.text, (), temporary=True)
        if catalog.lookup((statement.name,)) is not None:
            catalog.add(origin)
        plan = run.bind(statement.query)
    else:
        origin = origin_of(run.entry(statement.name))
        plan = run.all_rows(statement.name, origin)
    definition = TableDefinition(
        last_part(statement.name), plan.schema, clustered_by=statement.clustered_by, buckets=statement.buckets
    )
    copy = run.memory_table(definition)
    if isinstance(copy, SpreadTable):
        copy.reloaded = True
    try:
        rows = run.store(copy, plan)
        entry = TableEntry(origin.name, CachedTable(origin, copy), origin.temporary)
        catalog.add(entry, replace=True)
    except BaseException:
        copy.drop()
        raise
    return wrote(rows)


def uncache(run: Run, statement: UncacheTable) -> Made:
    """UNCACHE TABLE: the table or view as it was before."""
    entry = run.session.catalog.lookup(tuple(statement.name.split(".")))
    if entry is None and statement.if_exists:
        return NOTHING
    entry = run.entry(statement.name)
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        run.session.catalog.add(entry.table.origin, replace=True)
        entry.table.copy.drop()
    return NOTHING


def drop(run: Run, statement: Drop) -> Made:
    """DROP TABLE or VIEW; as in Spark, DROP TABLE takes a view too."""
    parts = tuple(statement.name.split("."))
    entry = run.session.catalog.lookup(parts)
    if entry is None:
        if statement.if_exists:
            return NOTHING
        raise not_found(statement.name)
    origin = origin_of(entry)
    if statement.kind is RelationKind.VIEW and isinstance(origin, TableEntry) and not origin.temporary:
        raise ProgrammingError(
            f"The operation DROP VIEW requires a VIEW. But `{entry.name}` is a TABLE. Use DROP TABLE.",
            condition="WRONG_COMMAND_FOR_OBJECT_TYPE",
            sqlstate="42809",
        )
    _forget(run.session.catalog.remove(parts))
    return NOTHING


def insert(run: Run, statement: Insert) -> Made:
    """INSERT INTO or OVERWRITE: all rows or none. Cached views over the table follow."""
    entry = run.entry(statement.name)
    table = writable(entry)
    turn: AbstractContextManager[object] = run.writing(table)
    if statement.overwrite and isinstance(table, MemoryTable | SpreadTable):
        # What is overwritten may be what the query reads: nobody writes in between.
        turn = table.turn()
    with turn, overflow_of(entry):
        plan = assign(run.bind(statement.query), statement.name, table.schema, statement.columns)
        written = run.store(table, plan, overwrite=statement.overwrite)
    refresh_views(run, table)
    return wrote(written)


@contextmanager
def overflow_of(entry: Entry) -> Iterator[None]:
    """Spark's error for a value that doesn't fit into its column."""
    try:
        yield
    except DataError as error:
        if error.condition in ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"):
            raise DataError(
                f"Fail to insert into `{entry.name}`: {error.message}",
                condition="CAST_OVERFLOW_IN_TABLE_INSERT",
                sqlstate="22003",
            ) from error
        raise


def refresh_views(run: Run, changed: Table) -> None:
    """Fill the copies of cached views that read the changed table anew, as Spark does."""
    for entry in run.session.catalog.entries():
        if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
            cached = entry.table
            if isinstance(cached.origin, ViewEntry):
                plan = run.all_rows(entry.name, cached.origin)
                if any(table is changed for table in tables_of(plan)):
                    run.store(cached.copy, plan, overwrite=True)


def refresh(run: Run, statement: RefreshTable) -> Made:
    """REFRESH TABLE: list a file table anew, read a cached one anew."""
    entry = run.entry(statement.name)
    origin = origin_of(entry)
    if isinstance(origin, TableEntry) and isinstance(origin.table, FileTable):
        with run.writing(origin.table):
            origin.table.refresh()
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        run.store(entry.table.copy, run.all_rows(statement.name, origin), overwrite=True)
    return NOTHING


def reload(session: "Session", entry: TableEntry) -> None:
    """Fill a cached table or view anew from where its rows came from."""
    if isinstance(entry.table, CachedTable):
        run = Run(session, NO_ARGUMENTS, None)
        run.store(entry.table.copy, run.all_rows(entry.name, entry.table.origin), overwrite=True)


def _forget(entry: Entry | None) -> None:
    """Free the table of an entry that was taken out."""
    if isinstance(entry, TableEntry):
        entry.table.drop()
