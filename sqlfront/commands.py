"""Statements that are not queries: what they do to the session, and what rows they give."""

import fnmatch
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

import pyarrow as pa

from sqlfront.cache import CachedTable, writable
from sqlfront.result import Result, Statistics
from sqlfront_connectors import registry
from sqlfront_connectors.base import Table, TableDefinition, WritableTable, insert_all
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory import MemoryTable, partitioning_of
from sqlfront_engine.arrays import from_values
from sqlfront_engine.errors import (
    DataError,
    Error,
    NotSupportedError,
    ProgrammingError,
    spark_error,
)
from sqlfront_engine.types import BOOLEAN, STRING, VOID, ddl
from sqlfront_planner.binder import Arguments, bind
from sqlfront_planner.catalog import DEFAULT_DATABASE, Entry, TableEntry, ViewEntry, is_default
from sqlfront_planner.explain import explain, explain_analyzed
from sqlfront_planner.insertion import assign
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.planning import plan_logical, plan_query
from sqlfront_planner.statement import (
    CacheTable,
    CreateTable,
    CreateView,
    DescribeQuery,
    DescribeTable,
    Drop,
    Explain,
    ExplainMode,
    Insert,
    Query,
    RefreshTable,
    RelationKind,
    SetOption,
    ShowTables,
    Statement,
    UncacheTable,
    UseDatabase,
)

if TYPE_CHECKING:
    from sqlfront.session import Session

#: The format of CREATE TABLE without USING.
DEFAULT_FORMAT: Final = "memory"
_DESCRIPTION: Final = pa.schema([("col_name", STRING), ("data_type", STRING), ("comment", STRING)])
_TABLES: Final = pa.schema([("namespace", STRING), ("tableName", STRING), ("isTemporary", BOOLEAN)])
_SETTINGS: Final = pa.schema([("key", STRING), ("value", STRING)])
_PLAN: Final = pa.schema([("plan", STRING)])


@dataclass(frozen=True, slots=True)
class Run:
    """One command under way."""

    session: "Session"
    arguments: Arguments
    timeout: float | None

    def bind(self, query: Query) -> LogicalPlan:
        """The query's logical plan."""
        return bind(query, self.session.catalog, self.session.bind_settings, self.arguments)

    def rows(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        """The rows of a logical plan, in physical form."""
        job = self.session.submit(
            plan_logical(plan, self.session.settings), self.arguments, timeout=self.timeout
        )
        return job.batches()


def run(session: "Session", statement: Statement, arguments: Arguments, timeout: float | None) -> Result:
    """Do what the statement says; the result is empty (no columns) unless the statement gives rows."""
    began = time.perf_counter()
    made = _dispatch(Run(session, arguments, timeout), statement)
    seconds = time.perf_counter() - began
    if isinstance(made, Result):
        return made
    schema, batches, affected = made
    statistics = Statistics("command", "a statement that is not a query", seconds, affected)
    return Result(schema, iter(batches), statistics, settings=session.settings)


Made = tuple[pa.Schema, Iterable[pa.RecordBatch], int | None]
_NOTHING: Final[Made] = (pa.schema([]), (), None)


def _dispatch(run: Run, statement: Statement) -> Made | Result:
    match statement:
        case Query():
            plan = plan_query(statement, run.session.catalog, run.session.bind_settings, run.arguments)
            return run.session.run(plan, run.arguments, timeout=run.timeout)
        case Explain():
            return _explain(run, statement)
        case CreateTable():
            return _create_table(run, statement)
        case CreateView():
            return _create_view(run, statement)
        case CacheTable():
            return _cache(run, statement)
        case UncacheTable():
            return _uncache(run, statement)
        case Drop():
            return _drop(run, statement)
        case Insert():
            return _insert(run, statement)
        case ShowTables():
            return _show_tables(run, statement)
        case DescribeTable():
            return _describe_table(run, statement)
        case DescribeQuery():
            return _describe(run.bind(statement.query).schema)
        case SetOption():
            return _set(run, statement)
        case RefreshTable():
            return _refresh(run, statement)
        case UseDatabase():
            return _use(statement)
        case _:
            assert_never(statement)


def _explain(run: Run, statement: Explain) -> Made:
    if not isinstance(statement.statement, Query):
        raise NotSupportedError(f"EXPLAIN of {type(statement.statement).__name__}; EXPLAIN takes a query")
    session = run.session
    plan = plan_query(statement.statement, session.catalog, session.bind_settings, run.arguments)
    if statement.mode is ExplainMode.ANALYZE:
        job = session.submit(plan, run.arguments, timeout=run.timeout)
        for _ in job.batches():
            pass
        text = explain_analyzed(plan, job.statistics())
    else:
        text = explain(plan, extended=statement.mode is ExplainMode.EXTENDED)
    return _PLAN, [_batch(_PLAN, [(text,)])], None


def _create_table(run: Run, statement: CreateTable) -> Made:
    catalog = run.session.catalog
    present = catalog.lookup(tuple(statement.name.split("."))) if not statement.temporary else None
    if present is not None and isinstance(present, ViewEntry | TableEntry) and not present.temporary:
        if statement.if_not_exists:
            return _NOTHING
        if not statement.replace:
            catalog.add(present)
    query = None if statement.query is None else run.bind(statement.query)
    if query is not None and statement.schema is not None:
        raise ProgrammingError("CREATE TABLE ... AS SELECT takes no column list; its columns are the query's")
    schema = _storable(query.schema) if query is not None else statement.schema
    table = _make(run, statement, schema)
    written = None
    try:
        if query is not None:
            written = _fill(run, table, statement.name, query)
        entry = TableEntry(_last(statement.name), table, statement.temporary)
        replaced = catalog.add(entry, replace=statement.replace)
    except BaseException:
        table.drop()
        raise
    _forget(replaced)
    return pa.schema([]), (), written


def _make(run: Run, statement: CreateTable, schema: pa.Schema | None) -> Table:
    if schema is not None:
        _check_unique(schema)
    definition = TableDefinition(
        _last(statement.name),
        schema,
        statement.options,
        statement.location,
        run.session.home,
        statement.partitioned_by,
        statement.clustered_by,
        statement.buckets,
    )
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


def _check_unique(schema: pa.Schema) -> None:
    seen: set[str] = set()
    for name in schema.names:
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
    return insert_all(table, run.rows(assign(query, name, table.schema, names)))


def _is_permuted(table: Table, query: LogicalPlan) -> bool:
    """Whether the table (partition columns last) has the query's columns in another order."""
    return list(table.schema.names) != list(query.schema.names) and sorted(table.schema.names) == sorted(
        query.schema.names
    )


def _create_view(run: Run, statement: CreateView) -> Made:
    catalog = run.session.catalog
    view = ViewEntry(_last(statement.name), statement.query.text, statement.columns, statement.temporary)
    plan = run.bind(statement.query)
    if statement.columns and len(statement.columns) != len(plan.schema):
        raise ProgrammingError(
            f"view `{view.name}` names {len(statement.columns)} columns, its query gives {len(plan.schema)}",
            condition="CREATE_VIEW_COLUMN_ARITY_MISMATCH",
            sqlstate="21S01",
        )
    present = catalog.lookup((view.name,))
    if present is not None and present.temporary == view.temporary and statement.if_not_exists:
        return _NOTHING
    catalog.add(view, replace=statement.replace)
    return _NOTHING


def _cache(run: Run, statement: CacheTable) -> Made:
    catalog = run.session.catalog
    if statement.query is not None:
        origin: Entry = ViewEntry(_last(statement.name), statement.query.text, (), temporary=True)
        if catalog.lookup((statement.name,)) is not None:
            catalog.add(origin)
        plan = run.bind(statement.query)
    else:
        origin = _origin(_entry(run, statement.name))
        plan = _read_all(run, statement.name, origin)
    definition = TableDefinition(
        _last(statement.name), plan.schema, clustered_by=statement.clustered_by, buckets=statement.buckets
    )
    copy = MemoryTable(definition.name, plan.schema, partitioning_of(definition))
    rows = insert_all(copy, run.rows(plan))
    entry = TableEntry(origin.name, CachedTable(origin, copy), origin.temporary)
    catalog.add(entry, replace=True)
    return pa.schema([]), (), rows


def _read_all(run: Run, name: str, origin: Entry) -> LogicalPlan:
    """The plan of all rows of a table (of the origin, if it is cached now) or view."""
    from sqlfront_planner.logical import Scan  # noqa: PLC0415

    if isinstance(origin, TableEntry):
        table = origin.table
        return Scan(name, table, table.snapshot(), tuple(range(len(table.schema))))
    return run.bind(_select_all(name))


def _uncache(run: Run, statement: UncacheTable) -> Made:
    entry = run.session.catalog.lookup(tuple(statement.name.split(".")))
    if entry is None and statement.if_exists:
        return _NOTHING
    entry = _entry(run, statement.name)
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        run.session.catalog.add(entry.table.origin, replace=True)
        entry.table.copy.drop()
    return _NOTHING


def _drop(run: Run, statement: Drop) -> Made:
    parts = tuple(statement.name.split("."))
    entry = run.session.catalog.lookup(parts)
    if entry is None:
        if statement.if_exists:
            return _NOTHING
        raise _not_found(statement.name)
    origin = (
        entry.table.origin
        if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable)
        else entry
    )
    is_view = isinstance(origin, ViewEntry) or origin.temporary
    if (statement.kind is RelationKind.VIEW) != is_view and not (
        statement.kind is RelationKind.TABLE and origin.temporary
    ):
        wanted, found = (
            ("a view", "a table") if statement.kind is RelationKind.VIEW else ("a table", "a view")
        )
        raise ProgrammingError(
            f"'DROP {statement.kind.name}' expects {wanted} but `{entry.name}` is {found}.",
            condition="EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE"
            if statement.kind is RelationKind.VIEW
            else "EXPECT_TABLE_NOT_VIEW.USE_ALTER_VIEW",
            sqlstate="42809",
        )
    _forget(run.session.catalog.remove(parts))
    return _NOTHING


def _insert(run: Run, statement: Insert) -> Made:
    entry = _entry(run, statement.name)
    table = writable(entry)
    plan = assign(run.bind(statement.query), statement.name, table.schema, statement.columns)
    try:
        written = insert_all(table, run.rows(plan), overwrite=statement.overwrite)
    except DataError as error:
        if error.condition in ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"):
            raise DataError(
                f"Fail to insert into `{entry.name}`: {error.message}",
                condition="CAST_OVERFLOW_IN_TABLE_INSERT",
                sqlstate="22003",
            ) from error
        raise
    return pa.schema([]), (), written


def _show_tables(run: Run, statement: ShowTables) -> Made:
    if statement.database is not None and not is_default((statement.database,)):
        raise _no_database(statement.database)
    rows = [
        ("" if entry.temporary else DEFAULT_DATABASE, entry.name.lower(), entry.temporary)
        for entry in run.session.catalog.entries()
        if statement.pattern is None or _matches(entry.name, statement.pattern)
    ]
    return _TABLES, [_batch(_TABLES, sorted(rows))], None


def _matches(name: str, pattern: str) -> bool:
    """Spark's SHOW patterns: ``*`` for any characters, ``|`` between alternatives, case doesn't matter."""
    return any(fnmatch.fnmatchcase(name.lower(), part.strip().lower()) for part in pattern.split("|"))


def _describe_table(run: Run, statement: DescribeTable) -> Made:
    entry = _entry(run, statement.name)
    schema = (
        entry.table.schema if isinstance(entry, TableEntry) else run.bind(_select_all(statement.name)).schema
    )
    rows: list[tuple[str | None, ...]] = [(field.name, ddl(field.type), None) for field in schema]
    origin = _origin(entry)
    if (
        isinstance(origin, TableEntry)
        and isinstance(origin.table, FileTable)
        and origin.table.partition_columns
    ):
        partition = origin.table.partition_columns
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(name, ddl(schema.field(name).type), None) for name in partition]
    if statement.extended:
        rows += _details(entry, origin)
    return _DESCRIPTION, [_batch(_DESCRIPTION, rows)], None


def _details(entry: Entry, origin: Entry) -> list[tuple[str | None, ...]]:
    """What DESCRIBE EXTENDED adds."""
    rows: list[tuple[str | None, ...]] = [
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Database", "" if origin.temporary else DEFAULT_DATABASE, ""),
        ("Table", origin.name, ""),
        ("Type", "VIEW" if isinstance(origin, ViewEntry) else "TABLE", ""),
    ]
    if isinstance(origin, ViewEntry):
        rows.append(("View Text", origin.sql, ""))
    else:
        rows.append(("Provider", origin.table.format, ""))
        if isinstance(origin.table, FileTable):
            rows.append(("Location", f"file:{origin.table.location}", ""))
    if isinstance(entry, TableEntry):
        statistics = entry.table.snapshot().statistics
        rows.append(("Cached", str(isinstance(entry.table, CachedTable)).lower(), ""))
        rows.append(("Statistics", f"{statistics.size} bytes, {statistics.rows} rows", ""))
        placed = entry.table.partitioning
        if placed is not None:
            keys = ", ".join(entry.table.schema.field(column).name for column in placed.columns)
            rows += [("Num Buckets", str(placed.count), ""), ("Bucket Columns", f"[{keys}]", "")]
    return rows


def _describe(schema: pa.Schema) -> Made:
    rows = [(field.name, ddl(field.type), None) for field in schema]
    return _DESCRIPTION, [_batch(_DESCRIPTION, rows)], None


def _set(run: Run, statement: SetOption) -> Made:
    options = run.session.options
    if statement.key is None:
        rows = options.items()
    elif statement.value is None:
        rows = [(statement.key, options.get(statement.key))]
    else:
        rows = [(statement.key, options.set(statement.key, statement.value))]
    return _SETTINGS, [_batch(_SETTINGS, rows)], None


def _refresh(run: Run, statement: RefreshTable) -> Made:
    entry = _entry(run, statement.name)
    origin = _origin(entry)
    if isinstance(origin, TableEntry) and isinstance(origin.table, FileTable):
        origin.table.refresh()
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        insert_all(entry.table.copy, run.rows(_read_all(run, statement.name, origin)), overwrite=True)
    return _NOTHING


def _use(statement: UseDatabase) -> Made:
    if not is_default(tuple(statement.database.split("."))):
        raise _no_database(statement.database)
    return _NOTHING


def _entry(run: Run, name: str) -> Entry:
    entry = run.session.catalog.lookup(tuple(name.split(".")))
    if entry is None:
        raise _not_found(name, run.session.catalog.names())
    return entry


def _origin(entry: Entry) -> Entry:
    """The entry as it was before CACHE TABLE."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        return entry.table.origin
    return entry


def _not_found(name: str, known: tuple[str, ...] = ()) -> Error:
    hint = f" Known are {', '.join(known)}." if known else ""
    return spark_error(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"The table or view `{name}` cannot be found. Verify the spelling and correctness of the name.{hint}",
    )


def _no_database(name: str) -> Error:
    return ProgrammingError(
        f"The schema `{name}` cannot be found; there is one, `{DEFAULT_DATABASE}`.",
        condition="SCHEMA_NOT_FOUND",
        sqlstate="42704",
    )


def _forget(entry: Entry | None) -> None:
    """Free the table of an entry that was taken out."""
    if isinstance(entry, TableEntry):
        entry.table.drop()


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _batch(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> pa.RecordBatch:
    listed = list(rows)
    columns = [from_values([row[index] for row in listed], field.type) for index, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _select_all(name: str) -> Query:
    from sqlfront_planner.statement import parse_query  # noqa: PLC0415

    quoted = ".".join(f"`{part}`" for part in name.split("."))
    return parse_query(f"SELECT * FROM {quoted}")
