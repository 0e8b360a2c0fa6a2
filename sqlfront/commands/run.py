"""Shared parts of all commands: the run of a statement, names, and rows to show."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront.information_schema import schemas
from sqlfront.lanes import jobs
from sqlfront.lanes.request import StatementRequest
from sqlfront.results.python_values import rows_batch
from sqlfront.results.result import Result, command_result
from sqlfront.state.cached_table import CachedTable
from sqlfront.state.context import Context
from sqlfront.system_tables import unknown_table
from sqlfront_connectors.base import InsertTarget, Table, TableDefinition, insert_all
from sqlfront_connectors.memory import MemoryConnector, MemoryTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.spread.backups import HOME
from sqlfront_connectors.memory.spread.next_version import NextVersion
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import Arguments, bind, bind_query
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.relations.view_columns import as_created
from sqlfront_planner.catalog import DEFAULT_DATABASE, Entry, Lookups, TableEntry, is_default
from sqlfront_planner.lanes import Lane
from sqlfront_planner.logical import LogicalPlan, LogicalProject, LogicalScan, all_nodes
from sqlfront_planner.lowering import StorageTarget
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.relation_details import RelationDetails
from sqlfront_planner.shared_rows import OWN_TABLES, shared_rows
from sqlfront_planner.statements.dotted_names import dotted, name_parts
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import (
    NO_MEMORY,
    DataError,
    Error,
    NotSupportedError,
    ProgrammingError,
    spark_error,
)
from sqlfront_values.expressions import Column

if TYPE_CHECKING:
    from sqlfront.state.spark_beside import SparkBeside

_NO_REQUEST: Final = StatementRequest()
_NO_COLUMNS: Final = pa.schema([])


class CommandOutcome(msgspec.Struct, frozen=True):
    """The outcome of a command: the columns and rows to show (no columns: nothing to show), and the number of
    rows ``written`` (None: the command writes no rows, or doesn't know their number)."""

    schema: pa.Schema = _NO_COLUMNS
    batches: tuple[pa.RecordBatch, ...] = ()
    written: int | None = None

    def result(self, context: Context, seconds: float) -> Result:
        """Return the outcome as a result for the user; ``seconds``: the time that the command took."""
        return command_result(self.schema, self.batches, context.settings, seconds, self.written)


#: The outcome of a command that shows nothing and writes no rows.
NOTHING: Final = CommandOutcome()


def shown(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> CommandOutcome:
    """Return the outcome of a command that shows these rows of Python values, with the columns of
    ``schema``."""
    return CommandOutcome(schema, (rows_batch(schema, rows),))


@contextmanager
def overflow_of(table: str) -> Iterator[None]:
    """Return a context for writing to the table ``table``, in which the error for a value too large for its
    column becomes Spark's CAST_OVERFLOW_IN_TABLE_INSERT."""
    try:
        yield
    except DataError as error:
        condition = (error.condition or "").partition(".")[0]
        if condition in ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"):
            raise DataError(
                f"Fail to insert into `{table}`: {error.message}",
                condition="CAST_OVERFLOW_IN_TABLE_INSERT",
            ) from error
        raise


@contextmanager
def _backups_told(backups: int) -> Iterator[None]:
    """Return a context whose errors for a lack of memory say that the rows have ``backups`` backups."""
    try:
        yield
    except Error as error:
        if backups and error.sqlstate == NO_MEMORY and error.hint is None:
            times = "twice" if backups == 1 else f"{backups + 1} times"
            error.hint = f"each row is in memory {times}; a table with OPTIONS (backups 0) has no backups"
        raise


class StatementRun(msgspec.Struct, frozen=True):
    """A run of one command: its ``request``, and the ``context`` of the session. A run outside of a statement
    has an empty request. A durable job sets two fields when it has the command put the job's rows into a
    table or directory. ``source``: a plan whose rows replace those of the statement's query, None = the query
    itself is bound and run. ``token``: the job's id, which the names of all written files then contain, and
    which a memory table of a cluster remembers; None = each file has a unique name."""

    context: Context
    request: StatementRequest = _NO_REQUEST
    source: LogicalPlan | None = None
    token: str | None = None

    @property
    def arguments(self) -> Arguments:
        """The values of the command's parameters."""
        return self.request.arguments

    @property
    def timeout(self) -> float | None:
        """The command's timeout in seconds; None = the session's."""
        return self.request.timeout

    @property
    def query(self) -> QueryRun | None:
        """The cancellable run of the statement's query; None = not begun."""
        return self.request.query

    @property
    def limit(self) -> float | None:
        """The seconds that the command may take, by its own timeout or the session's; None = no limit."""
        return self.context.limit(self.request)

    @property
    def spark(self) -> "SparkBeside | None":
        """The access to the Spark session; None without a Spark session, or if ``SET sqlfront.lane = light``
        keeps all statements in sqlfront."""
        context = self.context
        return None if context.options.lane == Lane.LIGHT else context.spark

    def bind(self, query: Query) -> LogicalPlan:
        """Bind the query with the command's arguments, and return the logical plan; if there is a
        :attr:`source`, return the source instead."""
        if self.source is not None:
            return self.source
        return bind(query, self.context.catalog, self.context.bind_settings, self.arguments)

    def read(self, query: Query) -> LogicalPlan:
        """Return the query's logical plan, for a statement that only sqlfront can run. Rows of Spark's
        relations are fetched first, and so are the rows of a query that only Spark can run; the plan reads
        the fetched rows."""
        spark = self.context.spark
        if spark is None or self.source is not None:
            return self.bind(query)
        return spark.read(self.request, query)

    def here(self, plan: LogicalPlan) -> LogicalPlan:
        """Return the plan with rows fetched from Spark in place of the scans of Spark's relations, for a
        statement that only sqlfront can run; ``plan`` itself if it scans none. The catalog by which the plan
        was bound is :meth:`~sqlfront_planner.catalog.Catalog.with_elsewhere`."""
        spark = self.context.spark
        return plan if spark is None else spark.here(self.request, plan)

    def rows(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        """Run a logical plan as a light job; return the rows in physical form."""
        context = self.context
        return self.submit(plan_logical(plan, context.settings, context.target)).batches()

    def submit(self, plan: QueryPlan) -> LightJob:
        """Start a light job that runs the plan, with the command's arguments, timeout and cancellable run;
        return the job."""
        values = self.arguments.values
        return jobs.submit(self.context, plan, values, timeout=self.timeout, query=self.query)

    def memory_table(self, definition: TableDefinition, backups: int | None = None) -> KeyedTable:
        """Create an empty memory table, spread over the session's members if there are several. The table is
        not entered in the catalog. ``backups``: the number of backups of each row, unless the definition says
        one; None = the session's number for tables that can't be loaded again from a source."""
        context = self.context
        cluster, wanted = context.cluster, context.backups if backups is None else backups
        alone = partial(MemoryTable, budget=context.engine.tables)
        return MemoryConnector(alone if cluster is None else cluster.table, wanted).create(definition)

    def store(self, table: InsertTarget, plan: LogicalPlan, *, overwrite: bool = False) -> int:
        """Run ``plan`` and add its rows to a table, or with ``overwrite`` put them in place of the table's
        rows; all rows are written or none. Return the number of rows."""
        if self.context.cluster is None or not isinstance(table, SpreadTable):
            zone = self.context.settings.time_zone
            return insert_all(table, self.rows(plan), overwrite=overwrite, time_zone=zone, token=self.token)
        jobs = () if self.token is None else (self.token,)
        with table.storing(overwrite=overwrite, jobs=jobs) as version:
            return self.publish(version, plan, version.keys)

    def publish(self, version: NextVersion, plan: LogicalPlan, keys: tuple[int, ...]) -> int:
        """Fill ``version``, the next version of a memory table whose rows are spread over members, with the
        plan's rows, and make it the table's current version. ``keys``: the ordinals of the clustering columns
        in the plan. Return the number of rows written."""
        context = self.context
        store = StorageTarget(version.table.name, version.processor, keys, version.backup_processors, HOME)
        planned = plan_logical(plan, context.settings, context.target, store)
        with _backups_told(version.table.backups):
            return version.publish(self.submit(planned).batches())

    def writing(self, table: Table) -> AbstractContextManager[bool]:
        """Return a context in which no other session of the cluster writes to the table's files; at its end,
        all sessions know the new files. The value of the context is True if a writer in another session has
        died, so that CACHE TABLE's copies of the table may lack rows; False otherwise."""
        cluster = self.context.cluster
        return nullcontext(False) if cluster is None else cluster.writing(table)

    def entry(self, name: str) -> Entry:
        """Return the catalog's entry of a dotted name. Raises TABLE_OR_VIEW_NOT_FOUND if no relation has the
        name, REQUIRES_SINGLE_PART_NAMESPACE if no relation can have the name."""
        found = self.context.catalog.lookup(name_parts(name))
        if found is None:
            raise not_found(name, self.context.catalog.names())
        return found

    def all_rows(self, name: str, origin: Entry) -> LogicalPlan:
        """Return the plan that reads all rows of the table or view ``name``. ``origin``: the relation's
        entry, by which a cached relation is read from its copy, or its entry from before CACHE TABLE
        (:func:`origin_of`), by which the relation itself is read."""
        return self.found_rows(name, origin)[0]

    def found_rows(self, name: str, origin: Entry) -> tuple[LogicalPlan, Lookups]:
        """Return the plan that reads all rows of the table or view ``name``, and the names that a view's
        query has looked up, with the entries that were found for them (empty for a table). ``origin``: the
        relation's entry, by which a cached relation is read from its copy, or its entry from before CACHE
        TABLE (:func:`origin_of`), by which the relation itself is read."""
        if isinstance(origin, TableEntry):
            table = origin.table
            return LogicalScan(name, table, table.snapshot(), tuple(range(len(table.schema)))), {}
        catalog, settings = self.context.catalog, self.context.bind_settings
        bound = bind_query(parse_query(origin.sql), catalog.seen_by(origin), settings, self.arguments)
        plan = as_created(bound.plan, bound.plan.schema.names, origin)
        if not origin.columns:
            return plan, bound.lookups
        columns = tuple(Column(field.type, index, field.name) for index, field in enumerate(plan.schema))
        return LogicalProject(plan, columns, origin.columns), bound.lookups


def origin_of(entry: Entry) -> Entry:
    """Return the entry that the relation had before CACHE TABLE; for a relation that isn't cached, ``entry``
    itself."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        return entry.table.origin
    return entry


def details_of(entry: Entry) -> RelationDetails:
    """Return the comments and properties of a relation, cached or not."""
    return origin_of(entry).details


def not_found(name: str, known: tuple[str, ...] = ()) -> Error:
    """Return the error for a dotted name that no relation of the catalog has; the message suggests the
    nearest of the ``known`` names. For a system table, the error is UNSUPPORTED_FEATURE.TABLE_OPERATION,
    since only queries read system tables."""
    parts = name_parts(name)
    schema = schemas.system_schema(parts[:-1])
    if schema is None:
        return spark_error(*shown_names.unknown_relation(parts, known))
    if schemas.is_system_table(parts):
        return only_read(parts, "changes, copies and indexes")
    return unknown_table(schema, parts[-1], schemas.SYSTEM_SCHEMAS[schema])


def only_read(parts: tuple[str, ...], operation: str) -> Error:
    """Return the error for an ``operation`` on a system table, which can only be queried. ``parts``: the
    table's dotted name."""
    return spark_error(
        "UNSUPPORTED_FEATURE.TABLE_OPERATION",
        f"The feature is not supported: Table {shown_names.quoted(parts)} does not support {operation}. "
        "sqlfront itself fills the system tables, which queries read.",
    )


def check_single_schema(name: str) -> None:
    """Raise REQUIRES_SINGLE_PART_NAMESPACE if the qualifier of a relation's dotted name can't be a schema,
    such as an unknown catalog."""
    parts = name_parts(name)
    if not shown_names.has_single_schema(parts):
        raise spark_error("REQUIRES_SINGLE_PART_NAMESPACE", shown_names.needs_single_schema(parts))


def check_new_home(run: StatementRun, name: str) -> None:
    """Raise an error unless the dotted ``name`` of a new permanent relation has no schema or the schema
    ``default``. The error is SCHEMA_NOT_FOUND; with a Spark session beside, NotSupportedError, so that Spark
    makes the relation in a schema of its own."""
    parts = name_parts(name)
    if len(parts) == 1 or is_default(parts[:-1]):
        return
    schema = schemas.system_schema(parts[:-1])
    if schema is not None:
        raise spark_error(
            "SCHEMA_NOT_FOUND",
            f"The schema `{schema}` takes no tables and views, since sqlfront itself fills the schema. The "
            f"schema for tables and views is `{DEFAULT_DATABASE}`.",
        )
    if run.spark is not None:
        raise NotSupportedError(
            f"sqlfront keeps relations in the schema `{DEFAULT_DATABASE}` alone; Spark makes "
            f"{shown_names.quoted(parts)}."
        )
    raise no_database(dotted(parts[:-1]))


def no_database(name: str) -> Error:
    """Return the error SCHEMA_NOT_FOUND for the unknown schema ``name``."""
    return ProgrammingError(
        f"The schema `{name}` cannot be found; there are `{DEFAULT_DATABASE}`, `information_schema` and "
        "`sys`.",
        condition="SCHEMA_NOT_FOUND",
    )


def unsupported_operation(entry: Entry, operation: str, hint: str) -> Error:
    """Return the error UNSUPPORTED_FEATURE.TABLE_OPERATION for a table that doesn't support the
    ``operation``; the ``hint`` names tables that do."""
    return NotSupportedError(
        f"The feature is not supported: Table `{entry.name}` does not support {operation}. {hint}",
        condition="UNSUPPORTED_FEATURE.TABLE_OPERATION",
    )


def scans_of(plan: LogicalPlan) -> Iterator[LogicalScan]:
    """Yield the scans of tables in a bound plan, those in subqueries and in plans whose rows are computed
    once for several readers included."""
    for part in (plan, *(table.plan for table in shared_rows(plan))):
        for node in all_nodes(part):
            if isinstance(node, LogicalScan) and not isinstance(node.table, OWN_TABLES):
                yield node
