"""CACHE TABLE and what goes with it: UNCACHE TABLE, REFRESH TABLE, REFRESH path and MSCK REPAIR TABLE.

:mod:`sqlfront.commands.copies` fills the copies and keeps them current.
"""

import os
import re
from typing import Final

from msgspec.structs import replace

from sqlfront.commands import copies
from sqlfront.commands.parameters import with_arguments
from sqlfront.commands.run import (
    NOTHING,
    CommandOutcome,
    StatementRun,
    check_single_schema,
    origin_of,
    scans_of,
)
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import TableDefinition
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.locations.paths import local_path
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import (
    SYSTEM_SCHEMAS,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
    already_exists,
)
from sqlfront_planner.statements.dotted_names import dotted, last_part, name_parts
from sqlfront_planner.statements.structs import (
    CacheTable,
    Query,
    RefreshPath,
    RefreshTable,
    RepairTable,
    UncacheTable,
)
from sqlfront_planner.table_changes.named_columns import check_unique
from sqlfront_values.errors import NotSupportedError, ProgrammingError

#: Pattern of a dotted name in SQL.
_NAME: Final = re.compile(r"(?:\w+|`[^`]+`)(?:\.(?:\w+|`[^`]+`))*")


def cache(run: StatementRun, statement: CacheTable) -> CommandOutcome:
    """CACHE TABLE: make a copy in memory of a table or view of this session or Spark's, or of a query's rows,
    and put the copy in the relation's place in the catalog. Begins again if another statement meanwhile drops
    or replaces the relation, or a relation that the copied view reads. The outcome has the number of rows
    copied."""
    while True:
        present, origin = _to_copy(run, statement)
        entry = _new_copy(run, statement, origin)
        try:
            made = copies.fill_and_enter(run, present, entry, replace=statement.query is None)
        except BaseException as error:
            if not copies.is_unknown(error):  # else the copy may be in the catalog of the cluster
                copies.drop_copy(entry)
            raise
        if made is None:
            copies.drop_copy(entry)
            continue
        rows, basis = made
        if run.context.catalog.agrees(basis.lookups):
            break
        copies.restore(run, entry)
        statement = replace(statement, query=None)  # the view of the query is in the catalog now
    if not basis.is_current:  # a writer in another session didn't know of the copy yet
        try:
            rows, _ = copies.fill(run, entry)
        except BaseException:
            copies.restore(run, entry)
            raise
    return CommandOutcome(written=rows)


def _to_copy(run: StatementRun, statement: CacheTable) -> tuple[Entry | None, Entry]:
    """Return two entries of the catalog: the one in whose place the copy is entered (None: the name is free
    here), and the one to copy. The entry to copy is a table or view of this session (if it is cached already,
    the table or view itself, not its copy), or a relation of the Spark session, or a new view for the
    statement's query."""
    if statement.query is not None:
        return None, _of_query(run, statement.name, statement.query)
    try:
        present = run.entry(statement.name)
    except FoundElsewhere:
        assert run.context.spark is not None
        return None, run.context.spark.entry(name_parts(statement.name))
    return present, origin_of(present)


def _of_query(run: StatementRun, name: str, query: Query) -> Entry:
    """Return a temporary view ``name`` of the query; if only Spark can run the query, an entry whose rows
    Spark gives. Raises TEMP_TABLE_OR_VIEW_ALREADY_EXISTS if a temporary relation has the name,
    NotSupportedError for a query that needs Spark if there is no Spark session."""
    context, query = run.context, with_arguments(query, run.arguments)
    try:
        bound = bind_query(query, context.catalog, context.bind_settings, run.arguments)
    except NotSupportedError:
        if context.spark is None:
            raise
        return context.spark.query(last_part(name), query.text)
    sees = frozenset(map(str.lower, bound.temporary))
    view = ViewEntry(
        last_part(name),
        query.text,
        temporary=True,
        schema=bound.plan.schema,
        sees=sees,
        time_zone=context.bind_settings.time_zone,
        ansi=context.bind_settings.ansi,
    )
    present = context.catalog.lookup(name_parts(name))
    if present is not None and present.temporary:
        raise already_exists(view)
    return view


def _new_copy(run: StatementRun, statement: CacheTable, origin: Entry) -> TableEntry:
    """Return the cached entry for ``origin``, whose copy has no rows yet. Raises NotSupportedError if the
    origin reads a system table: a copy would not follow the changes of a system table."""
    plan = run.all_rows(statement.name, origin)
    for scan in scans_of(plan):
        if isinstance(scan.table, ArrowTable) and name_parts(scan.table.name)[0] in SYSTEM_SCHEMAS:
            raise NotSupportedError(
                f"CACHE TABLE can't copy {scan.table.name}: a copy would not follow changes of the table."
            )
    check_unique(plan.schema.names)
    definition = TableDefinition(
        last_part(statement.name), plan.schema, clustered_by=statement.clustered_by, buckets=statement.buckets
    )
    copy = run.memory_table(definition, backups=0)
    if isinstance(origin, TableEntry) and isinstance(origin.table, KeyedTable):
        copy.set_indexes(origin.table.snapshot().indexes)
    copy.reloaded = True
    return TableEntry(origin.name, CachedTable(origin, copy), origin.temporary, origin.parts[:-1])


def uncache(run: StatementRun, statement: UncacheTable) -> CommandOutcome:
    """UNCACHE TABLE: drop the copy, and restore the table or view in the catalog. Raises
    TABLE_OR_VIEW_NOT_FOUND if no relation has the name, unless IF EXISTS is given; a relation without a copy
    is no error."""
    entry = run.context.catalog.lookup(name_parts(statement.name))
    if entry is None and statement.if_exists:
        check_single_schema(statement.name)
        return NOTHING
    copies.restore(run, run.entry(statement.name))
    return NOTHING


def refresh(run: StatementRun, statement: RefreshTable) -> CommandOutcome:
    """REFRESH TABLE: list the files of a table over files again; for CACHE TABLE's copy of a relation of
    Spark, have Spark read the relation anew. Then refill the copy of the relation, if it is cached, and the
    copies of views that read the relation. Raises TABLE_OR_VIEW_NOT_FOUND for an unknown name."""
    entry = run.entry(statement.name)
    origin, spark = origin_of(entry), run.context.spark
    theirs = None if spark is None else spark.origin(entry)
    if theirs is not None:
        theirs.refresh()
    if isinstance(origin, TableEntry) and isinstance(origin.table, FileTable):
        with run.writing(origin.table):
            origin.table.refresh()
    _reload_with_readers(run, entry)
    return NOTHING


def _reload_with_readers(run: StatementRun, entry: Entry) -> None:
    """Refill the relation's copy, if it is cached, and the copies of views that read the relation."""
    copies.reload(run.context, entry, run)
    if isinstance(entry, TableEntry):
        copies.refresh_copies(run, entry.table)


def refresh_path(run: StatementRun, statement: RefreshPath) -> CommandOutcome:
    """REFRESH path: refresh all tables over files below the path, and refill cached views that read such
    files. If the path is also a table's name, the table is refreshed, too: Spark's manual writes REFRESH
    TABLE without TABLE."""
    if not statement.path:
        raise ProgrammingError("Can not create a Path from an empty string")
    name = statement.path.rstrip(";")
    if not statement.quoted and _NAME.fullmatch(name) and run.context.catalog.lookup(name_parts(name)):
        refresh(run, RefreshTable(name))
    folder = os.path.abspath(local_path(statement.path))
    for entry, _ in copies.tables_in(run, folder):
        refresh(run, RefreshTable(dotted(entry.parts)))
    for entry in copies.cached_entries(run):
        if copies.is_view_over(run, entry, folder):
            copies.reload(run.context, entry, run)
    return NOTHING


def repair(run: StatementRun, statement: RepairTable) -> CommandOutcome:
    """MSCK REPAIR TABLE: list the partition directories of a table over files again, and refill CACHE TABLE's
    copies that read the table. Raises TABLE_OR_VIEW_NOT_FOUND for an unknown name, NOT_A_PARTITIONED_TABLE
    for other relations."""
    entry = run.entry(statement.name)
    origin = origin_of(entry)
    table = origin.table if isinstance(origin, TableEntry) else None
    if not isinstance(table, FileTable) or not table.partition_columns:
        raise ProgrammingError(
            f"Operation MSCK REPAIR TABLE is not allowed for `{entry.name}` because it is not a partitioned "
            "table.",
            condition="NOT_A_PARTITIONED_TABLE",
        )
    with run.writing(table):
        table.recover_partitions()
    _reload_with_readers(run, entry)
    return NOTHING
