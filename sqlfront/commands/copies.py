"""Copies in memory of tables and views (CACHE TABLE), and the code that keeps the copies current.

A copy always has the rows of its origin, the table or view that was cached. A statement that changes a table
refills the copies that read the table. A copy that can't be refilled, or whose tables were dropped or
replaced, is dropped; queries then read the origin itself, as in Spark. A session of a cluster sees only its
own catalog: each session checks its temporary copies before each of its statements.

A copy enters the catalog while no other writer may change the tables that the copy reads, so that the copy
misses no writer's rows.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sqlfront.commands.run import (
    StatementRun,
    origin_of,
    scans_of,
)
from sqlfront.state.cached_table import CachedTable
from sqlfront.state.context import Context, CopyBasis
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import (
    DEFAULT_DATABASE,
    Catalog,
    Entry,
    Lookups,
    TableEntry,
    ViewEntry,
)
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.routines import RoutineLookup
from sqlfront_planner.statements.dotted_names import last_part
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values import room
from sqlfront_values.errors import Error
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_connectors.spark.table import SparkTable
    from sqlfront_connectors.spark.transfer import loading
else:
    loading = lazy_module("sqlfront_connectors.spark.transfer.loading")

logger = logging.getLogger(__name__)

#: The tables whose writers take turns.
_WITH_TURNS: Final = (KeyedTable, FileTable)


# ---- filling


def fill_and_enter(
    run: StatementRun, present: Entry | None, entry: TableEntry, *, replace: bool
) -> tuple[int, CopyBasis] | None:
    """Fill CACHE TABLE's copy, which is the table of ``entry``, while other statements may write to the
    tables that are read; then enter ``entry`` in the catalog when the copy has all rows. ``present``: the
    relation's entry, to be replaced; None = the name is new, or with ``replace`` may belong to another
    relation.

    Return the number of rows and the copy's basis (the versions of the tables that were read). Return None if
    another statement has meanwhile replaced or dropped the relation, or a relation that it reads. Raises
    OperationalError (40001) if another session has replaced a table over files meanwhile.
    """
    rows, basis = fill(run, entry)
    with _turns(run, basis):
        if not basis.is_current:  # a writer meanwhile didn't know of the copy yet
            lookups = basis.lookups
            rows, basis = fill(run, entry)
            if basis.lookups != lookups:
                return None
        if not enter(run, present, entry, basis.lookups, replace=replace):
            return None
        _keep(run.context, entry, basis)  # another statement may have forgotten the basis meanwhile
    return rows, basis


@contextmanager
def _turns(run: StatementRun, basis: CopyBasis) -> Iterator[None]:
    """A context in which no other writer, of this session or another, changes the tables that ``basis``
    names. The context locks the tables in the order of their names, so that two statements can't wait for
    each other."""
    tables = (_written(table) for table, _ in basis.sources)
    written = {id(table): table for table in tables if isinstance(table, _WITH_TURNS)}
    with ExitStack() as turns:
        for table in sorted(written.values(), key=lambda table: table.name.lower()):
            if turns.enter_context(run.writing(table)):
                refresh_copies(run, table)  # which may lack rows of a writer that is gone
            turns.enter_context(table.turn())
        yield


def enter(
    run: StatementRun, present: Entry | None, entry: TableEntry, lookups: Lookups, *, replace: bool
) -> bool:
    """Put the cached ``entry`` into the catalog, in place of the entry ``present``. With ``present`` None,
    the entry is added; if another relation has the name, ``replace`` decides whether the entry replaces that
    relation or ProgrammingError is raised.

    Return True if the entry is in the catalog now. Return False, and change nothing, if the relation of
    ``present`` was dropped or replaced, or if a name of ``lookups`` (the names that the filling of the copy
    looked up, with the relations found) stands for another relation now. If the relation itself is the same,
    and only its comments or its copy have changed meanwhile, the entry is put into the catalog nevertheless.
    """
    catalog = run.context.catalog
    if present is None:
        drop_copy(catalog.add(entry, replace=replace))
        return True
    copied = _content(present)
    while present is not None and _content(present) == copied:
        if catalog.exchange(present, _with_origin(entry, origin_of(present)), lookups):
            drop_copy(present)
            return True
        if not catalog.agrees(lookups):
            return False
        present = catalog.own(present.parts)
    return False


def _content(entry: Entry) -> object:
    """Return a value that is equal for entries with the same rows: the identity of the table, or the view's
    query."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        return id(origin.table)
    return origin.sql, origin.columns, origin.sees


def _with_origin(entry: TableEntry, origin: Entry) -> TableEntry:
    assert isinstance(entry.table, CachedTable)
    return replace(entry, table=CachedTable(origin, entry.table.copy))


def reload(context: Context, entry: Entry, run: StatementRun | None = None) -> None:
    """Refill CACHE TABLE's copy of the relation ``entry`` from the relation itself; do nothing for an entry
    without a copy. ``run``: the run of the current statement, None = outside of a statement."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        fill(run or StatementRun(context), entry)


def fill(run: StatementRun, entry: TableEntry) -> tuple[int, CopyBasis]:
    """Replace the rows of CACHE TABLE's copy of the relation ``entry`` by the relation's current rows. Return
    the number of rows, and the copy's basis: the versions of the tables that were read."""
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
        rows = replace(run, token=None).store(cached.copy, plan, overwrite=True)
        _keep(context, entry, basis)
    return rows, basis


def _keep(context: Context, entry: TableEntry, basis: CopyBasis) -> None:
    """Remember the basis of the copy (the versions of the tables that were read) for :func:`follow`, if other
    sessions can change these tables: if the session belongs to a cluster, and the copy is that of a temporary
    view."""
    assert isinstance(entry.table, CachedTable)
    if context.config.cluster is not None and entry.temporary and isinstance(entry.table.origin, ViewEntry):
        context.bases[entry.table.copy] = basis


def _fill_from_spark(run: StatementRun, copy: KeyedTable, table: "SparkTable") -> tuple[int, CopyBasis]:
    """Replace the rows of ``copy`` by those of Spark's ``table``. Spark's tasks send the rows to the members
    directly if other processes can reach the members. Return the number of rows, and the copy's basis: the
    table with the version that was read."""
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


# ---- changes of tables


def follow(context: Context) -> None:
    """Refill CACHE TABLE's copies of this session's temporary views if other sessions of the cluster have
    changed tables that the views read. A copy that can't be refilled is dropped; queries then read the view
    itself."""
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
        fill(run, entry)


@contextmanager
def following(run: StatementRun, changed: Callable[[], Table]) -> Iterator[None]:
    """Return a context for a statement that changes the table ``changed()``; when the context ends, CACHE
    TABLE's copies that read the table are refilled. If the statement is interrupted, or fails so that nobody
    knows whether it has changed the table, the copies that may be stale are dropped, a copy of the table
    itself included. ``changed`` is called only at the end of the context, since the statement may find the
    table within it."""
    changing = True
    try:
        yield
        changing = False
        refresh_copies(run, changed())
    except BaseException as error:
        if not changing or _may_have_changed(error):
            table = changed()
            own = tuple(entry for entry in cached_entries(run) if _has_copy(entry, _rows_of(table)))
            for entry in (*own, *_readers(run, table)):
                restore(run, entry)
        raise


def _may_have_changed(error: BaseException) -> bool:
    """Whether a statement that failed with ``error`` may have changed its table nevertheless."""
    return not isinstance(error, Exception) or is_unknown(error)


def is_unknown(error: BaseException) -> bool:
    """Return whether the outcome of a change of the cluster is unknown after ``error``: the connection broke
    before the answer (SQLSTATE 08007), so that the cluster may have made the change or not."""
    return isinstance(error, Error) and error.sqlstate == "08007"


def refresh_copies(run: StatementRun, changed: Table) -> None:
    """Refill all of CACHE TABLE's copies that read the changed table, directly or through other copies. A
    copy that can't be refilled is dropped."""
    for entry in _readers(run, changed):
        try:
            fill(run, entry)
        except Error as error:
            give_up(run, entry, error)


def _readers(run: StatementRun, changed: Table) -> Iterator[TableEntry]:
    """Yield the copies that read the table, directly or through other copies, each copy once, and after the
    copies that it reads. Copies that enter the catalog while the caller works are yielded, too: they may have
    been filled from a copy that lacked the change."""
    seen = list[Table]()
    while found := [entry for entry in _stale(run, changed) if _rows_of(entry.table) not in seen]:
        seen.extend(_rows_of(entry.table) for entry in found)
        yield from found


def _stale(run: StatementRun, changed: Table) -> list[TableEntry]:
    """Return the copies that lack a change of the table, each behind the copies that it reads. The copy of
    ``changed`` itself, if the table is cached, isn't among them: the statement has changed this copy, too."""
    copies = [
        (entry, _read_by(run, entry))
        for entry in cached_entries(run)
        if not _has_copy(entry, _rows_of(changed))
    ]
    if not copies:
        return []
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
    """Return the tables, by ``id``, whose changes the entry's copy has to follow: the copied table, or the
    tables and copies that the copied view reads. If the view can't be bound any more, the copy is dropped and
    the set is empty."""
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
    """Refill CACHE TABLE's copies that read the table of ``entry``. A session calls this when another session
    has died while it wrote to the table, perhaps before it refilled the copies."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        refresh_copies(StatementRun(context), origin.table)


# ---- changes of directories


def follow_directory(run: StatementRun, folder: str) -> None:
    """Refresh all tables over files below the folder, whose files a statement has replaced, and refill CACHE
    TABLE's copies that read such files. A copy that can't be refilled is dropped."""
    for _, table in tables_in(run, folder):
        with suppress(Error), run.writing(table):  # queries of the table get the error
            table.refresh()
        refresh_copies(run, table)
    for entry in cached_entries(run):
        try:
            if is_view_over(run, entry, folder):
                reload(run.context, entry, run)
        except Error as error:
            give_up(run, entry, error)


def tables_in(run: StatementRun, folder: str) -> list[tuple[Entry, FileTable]]:
    """Return the catalog's tables over files in the folder (an absolute path), cached tables included, each
    with its entry."""
    found = []
    for entry in run.context.catalog.entries():
        origin = origin_of(entry)
        table = origin.table if isinstance(origin, TableEntry) else None
        if isinstance(table, FileTable) and lies_in(table, folder):
            found.append((entry, table))
    return found


def is_view_over(run: StatementRun, entry: TableEntry, folder: str) -> bool:
    """Return whether the relation behind the cached ``entry`` is a view that reads files in the folder, an
    absolute path."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry):
        return False
    return any(lies_in(scan.table, folder) for scan in scans_of(run.all_rows(entry.name, origin)))


def lies_in(table: Table, folder: str) -> bool:
    """Return whether the table is a table over files in the folder, an absolute path."""
    if not isinstance(table, FileTable):
        return False
    return os.path.commonpath([os.path.abspath(table.location), folder]) == folder


# ---- the end of copies


def dependents(run: StatementRun, name: str, before: Catalog) -> tuple[TableEntry, ...]:
    """Return the catalog's entries of the views with a copy (CACHE TABLE) that read the relation ``name``,
    directly or through other copies. Call this function after the name has got another meaning: a copy that
    enters the catalog later checks the meaning of its names itself. ``before``: the catalog before the
    change, in which a query of a dropped relation can still be bound."""
    return _readers_of(run, last_part(name).lower(), before)


def callers(run: StatementRun, function: str, before: Catalog) -> tuple[TableEntry, ...]:
    """Return the catalog's entries of the views with a copy (CACHE TABLE) whose queries call the user's
    ``function``, directly or through other copies. ``before``: as of :func:`dependents`."""
    return _readers_of(run, _called(function), before)


def variable_readers(run: StatementRun, variables: Sequence[str]) -> tuple[TableEntry, ...]:
    """Return the catalog's entries of the views with a copy (CACHE TABLE) whose queries read one of the SQL
    ``variables``, directly or through other copies."""
    before = run.context.catalog
    found = [each for name in variables for each in _readers_of(run, _variable(name), before)]
    return tuple(dict.fromkeys(found))


def _readers_of(run: StatementRun, name: str, before: Catalog) -> tuple[TableEntry, ...]:
    """Return the entries of the views with a copy that read ``name``, a name of :func:`_names`."""
    names, found = {name}, list[TableEntry]()
    waiting = [(entry, _names(run, entry, before)) for entry in cached_entries(run)]
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
    ``before``, and of the users' functions that it calls (:func:`_called`) and the variables
    that it reads (:func:`_variable`); empty for a cached table, and for
    a query that can't be bound."""
    origin, context = origin_of(entry), run.context
    if isinstance(origin, TableEntry):
        return frozenset()
    read = set[str]()
    for catalog in (before, context.catalog):
        with suppress(Error):
            seen = catalog.seen_by(origin)
            bound = bind_query(parse_query(origin.sql), seen, context.bind_settings, run.arguments)
            read.update(map(str.lower, bound.relations))
            read.update(map(_variable, bound.variables))
            read.update(_called(key.parts[-1]) for key in bound.lookups if isinstance(key, RoutineLookup))
    return frozenset(read)


def _variable(name: str) -> str:
    """Return the name of a SQL variable among the names of relations."""
    return f"@{name.lower()}"


def _called(function: str) -> str:
    """Return the name of a function among the names of relations, which have no parentheses."""
    return f"{function.lower()}()"


def let_go(run: StatementRun, entries: tuple[TableEntry, ...]) -> None:
    """Drop CACHE TABLE's copies of the ``entries``, so that queries read the relations themselves from now
    on."""
    for entry in entries:
        restore(run, entry)


def give_up(run: StatementRun, entry: Entry, error: Error) -> None:
    """Drop CACHE TABLE's copy of the relation ``entry``, which can't be refilled because of ``error``, and
    log a warning. No error is raised: the statement that changed the table has succeeded, and the next query
    of the view gets the view's error."""
    logger.warning("`%s` is cached no more: %s", entry.name, error)
    restore(run, entry)


def restore(run: StatementRun, entry: Entry) -> None:
    """Undo CACHE TABLE: put the entry that the relation had before into the catalog in place of the cached
    ``entry``, and free the copy. For a copy of a relation of Spark, only remove the entry: Spark has the
    relation. Do nothing for an entry without a copy, or if the name has another entry by now."""
    if not (isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable)):
        return
    catalog, spark = run.context.catalog, run.context.spark
    parts = entry.parts if entry.temporary else (DEFAULT_DATABASE, entry.name)
    with room.watched(lambda: False):  # a copy that may be stale goes also if the statement is stopped
        while (present := catalog.own(parts)) is not None and _has_copy(present, entry.table.copy):
            if spark is not None and spark.origin(entry) is not None:
                drop_copy(catalog.remove(parts))  # Spark has the origin
            elif catalog.exchange(present, origin_of(present)):
                drop_copy(present)


def drop_copy(entry: Entry | None) -> None:
    """Free CACHE TABLE's copy of a relation whose ``entry`` was removed from the catalog; do nothing for None
    and for an entry without a copy."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        entry.table.copy.drop()


def cached_entries(run: StatementRun) -> list[TableEntry]:
    """Return the cached entries of the catalog: those whose table is a copy in memory."""
    entries = run.context.catalog.entries()
    return [
        entry for entry in entries if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable)
    ]


def _has_copy(entry: Entry | None, copy: Table) -> bool:
    return isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable) and entry.table.copy is copy


def _rows_of(table: Table) -> Table:
    """Return the table that has the rows that queries read: the copy of a cached table, another table
    itself."""
    return table.copy if isinstance(table, CachedTable) else table


def _written(table: Table) -> Table:
    """Return the table that stands for a relation when it is written to: of a cached table the table itself,
    which a statement writes to before its copy; of a cached view the copy, its only table; of another table
    that table."""
    if isinstance(table, CachedTable) and isinstance(table.origin, TableEntry):
        return table.origin.table
    return _rows_of(table)


def turn_of(table: Table) -> AbstractContextManager[object]:
    """Return a context in which no other session or statement publishes a new version of the table; it does
    nothing for a table without versions."""
    return table.turn() if isinstance(table, _WITH_TURNS) else nullcontext()
