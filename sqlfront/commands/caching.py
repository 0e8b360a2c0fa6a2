"""CACHE TABLE: copies in memory of tables and views, and the code that keeps the copies current.

A copy has the rows of its origin, or is dropped. A statement that changes a table refills the copies that
read the table. A copy that can't be refilled, or whose tables were dropped or replaced, is dropped; queries
then read the view itself, as in Spark. A session of a cluster sees only its own catalog: each session checks
its temporary copies before each of its statements.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

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
from sqlfront.state.context import Context, CopyBasis
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import Table, TableDefinition
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.locations.paths import local_path
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import (
    DEFAULT_DATABASE,
    SYSTEM_SCHEMAS,
    Catalog,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
    already_exists,
)
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.statements.dotted_names import dotted, last_part, name_parts
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import (
    CacheTable,
    Query,
    RefreshPath,
    RefreshTable,
    RepairTable,
    UncacheTable,
)
from sqlfront_planner.table_changes.named_columns import check_unique
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_connectors.spark.table import SparkTable
    from sqlfront_connectors.spark.transfer import loading
else:
    loading = lazy_module("sqlfront_connectors.spark.transfer.loading")

logger = logging.getLogger(__name__)

#: The tables whose writers take turns.
_WITH_TURNS: Final = (KeyedTable, FileTable)
#: Pattern of a dotted name in SQL.
_NAME: Final = re.compile(r"(?:\w+|`[^`]+`)(?:\.(?:\w+|`[^`]+`))*")


# ---- statements


def cache(run: StatementRun, statement: CacheTable) -> CommandOutcome:
    """CACHE TABLE: make a copy in memory of a table or view of this session or Spark's, or of a query's
    rows, and put the copy in the entry's place in the catalog. If another statement drops or replaces the
    relation meanwhile, or a relation that the copied view reads, begin again. The outcome has the number of
    rows copied."""
    while True:
        present, origin = _to_copy(run, statement)
        entry = _new_copy(run, statement, origin)
        try:
            made = _fill_and_enter(run, present, entry, replace=statement.query is None)
        except BaseException:
            drop_copy(entry)
            raise
        if made is None:
            drop_copy(entry)
            continue
        rows, basis = made
        if run.context.catalog.agrees(basis.lookups):
            break
        _uncache(run, entry)
        statement = replace(statement, query=None)  # the view of the query is in the catalog now
    if not basis.is_current:  # a writer in another session didn't know of the copy yet
        try:
            rows, _ = _fill(run, entry)
        except BaseException:
            _uncache(run, entry)
            raise
    return CommandOutcome(written=rows)


def _fill_and_enter(
    run: StatementRun, present: Entry | None, entry: TableEntry, *, replace: bool
) -> tuple[int, CopyBasis] | None:
    """Fill the copy beside writers of its tables, then enter the copy in the catalog at a moment at which the
    copy has all their rows; ``present`` and ``replace`` as of :func:`_enter`. Return the number of rows and
    the copy's basis, None if another statement has put something else in the place of the relation, or of
    one that the relation reads."""
    rows, basis = _fill(run, entry)
    with _turns(basis):
        if not basis.is_current:  # a writer meanwhile didn't know of the copy yet
            lookups = basis.lookups
            rows, basis = _fill(run, entry)
            if basis.lookups != lookups:
                return None
        if not _enter(run, present, entry, replace=replace):
            return None
        _keep(run.context, entry, basis)  # another statement may have forgotten the basis meanwhile
    return rows, basis


@contextmanager
def _turns(basis: CopyBasis) -> Iterator[None]:
    """A context in which no other writer changes the tables of the basis. The turns are taken in the order of
    the tables' names, so that no two statements wait for each other."""
    tables = (_written(table) for table, _ in basis.sources)
    written = {id(table): table for table in tables if isinstance(table, _WITH_TURNS)}
    with ExitStack() as turns:
        for table in sorted(written.values(), key=lambda table: table.name.lower()):
            turns.enter_context(table.turn())
        yield


def _to_copy(run: StatementRun, statement: CacheTable) -> tuple[Entry | None, Entry]:
    """The catalog's entry whose place the copy takes (None: the catalog has none), and the entry to copy: a
    table or view of this session (without a copy that it has already), a relation of the Spark session
    beside this session, or the statement's query."""
    if statement.query is not None:
        return None, _of_query(run, statement.name, statement.query)
    try:
        present = run.entry(statement.name)
    except FoundElsewhere:
        assert run.context.spark is not None
        return None, run.context.spark.entry(name_parts(statement.name))
    return present, origin_of(present)


def _of_query(run: StatementRun, name: str, query: Query) -> Entry:
    """A temporary view of the query; if only Spark can run the query, an entry with Spark's rows. Raises
    TEMP_TABLE_OR_VIEW_ALREADY_EXISTS, NotSupportedError for a query that needs Spark if there is no Spark
    session."""
    context, query = run.context, with_arguments(query, run.arguments)
    try:
        bound = bind_query(query, context.catalog, context.bind_settings, run.arguments)
    except NotSupportedError:
        if context.spark is None:
            raise
        return context.spark.query(last_part(name), query.text)
    sees = frozenset(map(str.lower, bound.temporary))
    view = ViewEntry(last_part(name), query.text, temporary=True, schema=bound.plan.schema, sees=sees)
    present = context.catalog.lookup(name_parts(name))
    if present is not None and present.temporary:
        raise already_exists(view)
    return view


def _new_copy(run: StatementRun, statement: CacheTable, origin: Entry) -> TableEntry:
    """The origin's entry with a copy that has no rows yet. Raises NotSupportedError if the origin reads a
    system table, whose changes no copy could follow."""
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
    copy = run.memory_table(definition)
    if isinstance(origin, TableEntry) and isinstance(origin.table, KeyedTable):
        copy.set_indexes(origin.table.snapshot().indexes)
    copy.reloaded = True
    return TableEntry(origin.name, CachedTable(origin, copy), origin.temporary, origin.parts[:-1])


def _enter(run: StatementRun, present: Entry | None, entry: TableEntry, *, replace: bool) -> bool:
    """Put the cached ``entry`` in the place of the ``present`` one; without a present one, add it to the
    catalog (``replace`` as of :meth:`~sqlfront_planner.catalog.Catalog.add`). Return whether the relation was
    still there; other comments of the relation, or another copy, make no difference."""
    catalog = run.context.catalog
    if present is None:
        drop_copy(catalog.add(entry, replace=replace))
        return True
    copied = _content(present)
    while present is not None and _content(present) == copied:
        if catalog.exchange(present, _with_origin(entry, origin_of(present))):
            drop_copy(present)
            return True
        present = catalog.own(present.parts)
    return False


def _content(entry: Entry) -> object:
    """A value that tells what rows the relation has: the identity of the table, or the view's query."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        return id(origin.table)
    return origin.sql, origin.columns, origin.sees


def _with_origin(entry: TableEntry, origin: Entry) -> TableEntry:
    assert isinstance(entry.table, CachedTable)
    return replace(entry, table=CachedTable(origin, entry.table.copy))


def uncache(run: StatementRun, statement: UncacheTable) -> CommandOutcome:
    """UNCACHE TABLE: drop the copy, and restore the table or view in the catalog. Raises
    TABLE_OR_VIEW_NOT_FOUND if no relation has the name, unless IF EXISTS is given; a relation without a copy
    is no error."""
    entry = run.context.catalog.lookup(name_parts(statement.name))
    if entry is None and statement.if_exists:
        check_single_schema(statement.name)
        return NOTHING
    _uncache(run, run.entry(statement.name))
    return NOTHING


def refresh(run: StatementRun, statement: RefreshTable) -> CommandOutcome:
    """REFRESH TABLE: list the files of a file table again, refresh the Spark relation behind a copy, and
    refill the copy of a cached table or view, and the copies that read the relation."""
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
    """Refill the copy of a cached relation, and the copies that read the relation."""
    reload(run.context, entry, run)
    if isinstance(entry, TableEntry):
        refresh_copies(run, entry.table)


def refresh_path(run: StatementRun, statement: RefreshPath) -> CommandOutcome:
    """REFRESH path: refresh all file tables below the path, and refill cached views that read such files. A
    path that is a table's name refreshes this table, too: Spark's manual leaves TABLE out."""
    if not statement.path:
        raise ProgrammingError("Can not create a Path from an empty string")
    name = statement.path.rstrip(";")
    if not statement.quoted and _NAME.fullmatch(name) and run.context.catalog.lookup(name_parts(name)):
        refresh(run, RefreshTable(name))
    folder = os.path.abspath(local_path(statement.path))
    for entry, _ in _tables_in(run, folder):
        refresh(run, RefreshTable(dotted(entry.parts)))
    for entry in _cached(run):
        if _is_view_over(run, entry, folder):
            reload(run.context, entry, run)
    return NOTHING


def follow_directory(run: StatementRun, folder: str) -> None:
    """Refresh all file tables below the folder, whose files a statement has replaced, and refill the copies
    that read such files. Copies that can't be refilled are dropped."""
    for _, table in _tables_in(run, folder):
        with suppress(Error), run.writing(table):  # queries of the table get the error
            table.refresh()
        refresh_copies(run, table)
    for entry in _cached(run):
        try:
            if _is_view_over(run, entry, folder):
                reload(run.context, entry, run)
        except Error as error:
            give_up(run, entry, error)


def _tables_in(run: StatementRun, folder: str) -> list[tuple[Entry, FileTable]]:
    """The tables, cached or not, over files in the folder, each with its entry."""
    found = []
    for entry in run.context.catalog.entries():
        origin = origin_of(entry)
        table = origin.table if isinstance(origin, TableEntry) else None
        if isinstance(table, FileTable) and lies_in(table, folder):
            found.append((entry, table))
    return found


def _is_view_over(run: StatementRun, entry: TableEntry, folder: str) -> bool:
    """Whether the cached entry is a view that reads files in the folder."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        return False
    return any(lies_in(scan.table, folder) for scan in scans_of(run.all_rows(entry.name, origin)))


def lies_in(table: Table, folder: str) -> bool:
    """Whether the table is a table over files in the folder, an absolute path."""
    if not isinstance(table, FileTable):
        return False
    return os.path.commonpath([os.path.abspath(table.location), folder]) == folder


def repair(run: StatementRun, statement: RepairTable) -> CommandOutcome:
    """MSCK REPAIR TABLE: read the files of all existing partition directories."""
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


def reload(context: Context, entry: Entry, run: StatementRun | None = None) -> None:
    """Refill the copy of a cached table or view from its origin; do nothing for other entries. ``run``: the
    run of the current statement, None = outside of a statement."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        _fill(run or StatementRun(context), entry)


# ---- copies and their bases


def _fill(run: StatementRun, entry: TableEntry) -> tuple[int, CopyBasis]:
    """Refill the copy with the current rows of its origin. Return the number of rows, and the copy's
    basis."""
    cached, context = entry.table, run.context
    assert isinstance(cached, CachedTable)
    spark = context.spark
    table = None if spark is None else spark.origin(entry)
    if spark is not None and table is not None:
        work = partial(_fill_from_spark, run, cached.copy, table)
        return spark.link.perform(work, timeout=run.limit, query=run.query)
    with turn_of(_written(cached)), cached.copy.turn():
        version = context.catalog.version
        plan, lookups = run.found_rows(entry.name, cached.origin)
        basis = CopyBasis(entry.name, version, _sources(plan), lookups)
        rows = run.store(cached.copy, plan, overwrite=True)
        _keep(context, entry, basis)
    return rows, basis


def _keep(context: Context, entry: TableEntry, basis: CopyBasis) -> None:
    """Keep the basis of a temporary copy of a view whose tables other sessions can change."""
    assert isinstance(entry.table, CachedTable)
    if context.config.cluster is not None and entry.temporary and isinstance(entry.table.origin, ViewEntry):
        context.bases[entry.table.copy] = basis


def _fill_from_spark(run: StatementRun, copy: KeyedTable, table: "SparkTable") -> tuple[int, CopyBasis]:
    """Refill the copy with Spark's rows. Spark's tasks send the rows to the members directly if other
    processes can reach the members. Return the number of rows, and the copy's basis."""
    cluster = run.context.cluster
    with copy.turn():
        catalog, snapshot = run.context.catalog.version, table.snapshot()
        version = snapshot.version
        if isinstance(copy, SpreadTable) and cluster is not None and cluster.door is not None:
            rows = loading.load(snapshot.frame, copy, cluster.door)
        else:
            plan = LogicalScan(table.name, table, snapshot, tuple(range(len(table.schema))))
            rows = run.store(copy, plan, overwrite=True)
        table.copied = version
    return rows, CopyBasis(table.name, catalog, ((table, version),))


def _sources(plan: LogicalPlan) -> tuple[tuple[Table, int], ...]:
    return tuple((scan.table, scan.snapshot.version) for scan in scans_of(plan))


def follow(context: Context) -> None:
    """Bring the session's temporary copies up to date after changes to their tables by other sessions. A
    copy that can't be refilled is dropped."""
    run = StatementRun(context)
    for copy, basis in context.bases.copy().items():
        entry = context.catalog.lookup((basis.name,))
        if not _has_copy(entry, copy):
            context.bases.pop(copy, None)
            continue
        assert isinstance(entry, TableEntry)
        try:
            if basis.catalog != context.catalog.version or not basis.is_current:
                _follow(run, entry, basis)
        except Error as error:
            give_up(run, entry, error)


def _follow(run: StatementRun, entry: TableEntry, basis: CopyBasis) -> None:
    catalog = run.context.catalog
    version = catalog.version
    if basis.is_current and catalog.agrees(basis.lookups):
        _keep(run.context, entry, replace(basis, catalog=version))
    else:
        _fill(run, entry)


@contextmanager
def following(run: StatementRun, changed: Callable[[], Table]) -> Iterator[None]:
    """A context for a statement that changes the table ``changed()``; at its end the copies that read the
    table are refilled. If the statement is interrupted, or can't tell whether it has changed the table, the
    copies that may be stale are dropped, and so is a copy of the table itself that may lack rows.
    ``changed`` is called only then, since the statement may find the table within the context."""
    changing = True
    try:
        yield
        changing = False
        refresh_copies(run, changed())
    except BaseException as error:
        if not changing or _may_have_changed(error):
            table = changed()
            own = tuple(entry for entry in _cached(run) if _has_copy(entry, _rows_of(table)))
            for entry in (*own, *_readers(run, table)):
                _uncache(run, entry)
        raise


def _may_have_changed(error: BaseException) -> bool:
    """Whether a statement that failed with ``error`` may have changed its table nevertheless."""
    return not isinstance(error, Exception) or (isinstance(error, Error) and error.sqlstate == "08007")


def refresh_copies(run: StatementRun, changed: Table) -> None:
    """Refill the copies that read the changed table, directly or through other copies."""
    for entry in _readers(run, changed):
        try:
            _fill(run, entry)
        except Error as error:
            give_up(run, entry, error)


def _readers(run: StatementRun, changed: Table) -> Iterator[TableEntry]:
    """Yield the copies that read the table, directly or through other copies, each once and after the copies
    that it reads. Copies that enter the catalog while the caller works are among them: such a copy may have
    been filled from one that lacked the change."""
    seen = list[Table]()
    while found := [entry for entry in _stale(run, changed) if _rows_of(entry.table) not in seen]:
        seen.extend(_rows_of(entry.table) for entry in found)
        yield from found


def _stale(run: StatementRun, changed: Table) -> list[TableEntry]:
    """The copies that lack a change of the table, each behind the copies that it reads. A statement that
    changes a table by the name of a cached relation changes the copy, too; this copy isn't among them."""
    copies = [
        (entry, _read_by(run, entry)) for entry in _cached(run) if not _has_copy(entry, _rows_of(changed))
    ]
    known = {id(_written(changed))}
    lacking = list[tuple[TableEntry, set[int]]]()
    while more := [pair for pair in copies if pair not in lacking and pair[1] & known]:
        lacking += more
        known |= {id(_rows_of(entry.table)) for entry, _ in more}
    ordered = list[TableEntry]()
    while lacking:
        left = {id(_rows_of(entry.table)) for entry, _ in lacking}
        ready = [pair for pair in lacking if not pair[1] & left] or lacking  # views changed meanwhile
        ordered += [entry for entry, _ in ready]
        lacking = [pair for pair in lacking if pair not in ready]
    return ordered


def _read_by(run: StatementRun, entry: TableEntry) -> set[int]:
    """The tables (by ``id``) whose changes a copy has to follow: the copied table, or the tables and copies
    that the view reads. Empty for a view that can't be bound any more, whose copy is dropped."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        return {id(origin.table)}
    try:
        read = [table for table, _ in _sources(run.all_rows(entry.name, origin))]
    except Error as error:
        give_up(run, entry, error)
        return set()
    return {id(found) for table in read for found in (_written(table), _rows_of(table))}


def recover(context: Context, entry: Entry) -> None:
    """Refill the copies that read the table of ``entry``, after a writer of the table in another session has
    gone, perhaps without refilling the copies."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        refresh_copies(StatementRun(context), origin.table)


def dependents(run: StatementRun, name: str, before: Catalog) -> tuple[TableEntry, ...]:
    """The copies of views that read the relation with the name, directly or through other copies. Call this
    function after a change of what the name means: a copy that isn't found then enters the catalog later, and
    CACHE TABLE looks whether the names still mean the same. ``before``: the catalog before the change, in
    which a query that reads a dropped relation can be bound."""
    names, found = {last_part(name).lower()}, list[TableEntry]()
    waiting = [(entry, _names(run, entry, before)) for entry in _cached(run)]
    while True:
        more = [(entry, read) for entry, read in waiting if read & names]
        if not more:
            return tuple(found)
        for each in more:
            waiting.remove(each)
            found.append(each[0])
            names.add(each[0].name.lower())


def _names(run: StatementRun, entry: TableEntry, before: Catalog) -> frozenset[str]:
    """The lower-case names of the relations that a cached view's query reads, now or in the catalog
    ``before``; empty for a cached table, and for a query that can't be bound."""
    origin, context = origin_of(entry), run.context
    if isinstance(origin, TableEntry):
        return frozenset()
    read = set[str]()
    for catalog in (before, context.catalog):
        with suppress(Error):
            seen = catalog.seen_by(origin)
            bound = bind_query(parse_query(origin.sql), seen, context.bind_settings, run.arguments)
            read.update(map(str.lower, bound.relations))
    return frozenset(read)


def let_go(run: StatementRun, entries: tuple[TableEntry, ...]) -> None:
    """Drop copies; queries then read the origins."""
    for entry in entries:
        _uncache(run, entry)


def give_up(run: StatementRun, entry: Entry, error: Error) -> None:
    """Drop a copy that can't be brought up to date because of ``error``, and log a warning. No error is
    raised: the statement that changed the table has succeeded, and the next query of the view gets the
    view's error."""
    logger.warning("`%s` is cached no more: %s", entry.name, error)
    _uncache(run, entry)


def _uncache(run: StatementRun, entry: Entry) -> None:
    """Restore the origin of a cached entry, unless the name has another entry by now."""
    if not (isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable)):
        return
    catalog, spark = run.context.catalog, run.context.spark
    parts = entry.parts if entry.temporary else (DEFAULT_DATABASE, entry.name)
    while (present := catalog.own(parts)) is not None and _has_copy(present, entry.table.copy):
        if spark is not None and spark.origin(entry) is not None:
            drop_copy(catalog.remove(parts))  # Spark has the origin
        elif catalog.exchange(present, origin_of(present)):
            drop_copy(present)


def drop_copy(entry: Entry | None) -> None:
    """Free the copy of a cached entry that was removed from the catalog."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        entry.table.copy.drop()


def _cached(run: StatementRun) -> list[TableEntry]:
    entries = run.context.catalog.entries()
    return [
        entry for entry in entries if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable)
    ]


def _has_copy(entry: Entry | None, copy: Table) -> bool:
    return isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable) and entry.table.copy is copy


def _rows_of(table: Table) -> Table:
    """The table with the rows: for a cached table, its copy."""
    return table.copy if isinstance(table, CachedTable) else table


def _written(table: Table) -> Table:
    """The table that a statement changes first: behind the copy of a table, the table itself."""
    if isinstance(table, CachedTable) and isinstance(table.origin, TableEntry):
        return table.origin.table
    return _rows_of(table)


def turn_of(table: Table) -> AbstractContextManager[object]:
    """A context in which no other writer publishes a version of the table; an empty one for tables without
    versions of their own."""
    return table.turn() if isinstance(table, _WITH_TURNS) else nullcontext()
