"""Statements that create, drop and fill tables and views."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.alteration import own_entry, whole_name
from sqlfront.commands.column_comments import query_comments
from sqlfront.commands.copies import (
    dependents,
    drop_copy,
    is_unknown,
    let_go,
)
from sqlfront.commands.parameters import with_arguments
from sqlfront.commands.run import (
    NOTHING,
    CommandOutcome,
    StatementRun,
    check_new_home,
    check_single_schema,
    not_found,
    origin_of,
)
from sqlfront.information_schema.schemas import is_system_table
from sqlfront_connectors import registry
from sqlfront_connectors.base import Table, TableDefinition, WritableTable
from sqlfront_connectors.files import FileTable
from sqlfront_planner.binder import bind_query
from sqlfront_planner.catalog import (
    GLOBAL_TEMP,
    Catalog,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
    already_exists,
)
from sqlfront_planner.coercion import refuse_time
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.relation_details import ColumnComments, RelationDetails
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.dotted_names import check_permanent, last_part, name_parts
from sqlfront_planner.statements.structs import (
    AlterView,
    CreateTable,
    CreateView,
    Drop,
    Query,
    RelationKind,
    RelationScope,
)
from sqlfront_planner.table_changes.insertion import assign
from sqlfront_planner.table_changes.named_columns import check_partition_columns, check_unique
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError, spark_error
from sqlfront_values.types import VOID

#: The format of CREATE TABLE without USING.
DEFAULT_FORMAT: Final = "memory"
#: The condition of the error for an existing name.
TAKEN: Final = "TABLE_OR_VIEW_ALREADY_EXISTS"
#: The sub-condition of too few or (True) too many columns of a view's query.
_ARITY: Final = ("NOT_ENOUGH_DATA_COLUMNS", "TOO_MANY_DATA_COLUMNS")


def create_table(run: StatementRun, statement: CreateTable) -> CommandOutcome:
    """CREATE TABLE or CREATE TEMPORARY VIEW ... USING: make a table, fill it with the rows of AS SELECT, and
    only then add its entry to the catalog. The outcome has the number of rows written, None without AS
    SELECT. With a Spark session, raises NotSupportedError for a table that Spark should store."""
    catalog, spark = run.context.catalog, run.spark
    is_temporary, mode = statement.scope.is_temporary, statement.mode
    if is_temporary:
        _give_way(run, statement)
    else:
        check_single_schema(statement.name)
        check_permanent(statement.name)
    present = None if is_temporary else catalog.lookup(name_parts(statement.name))
    if present is None and _is_sparks(run, statement):
        raise NotSupportedError("Spark makes tables that have neither USING memory nor a LOCATION.")
    in_memory = (statement.format or "").lower() == DEFAULT_FORMAT
    bind = run.read if in_memory else run.bind  # other formats: Spark may run the statement
    query = None if statement.query is None else bind(statement.query)
    if query is not None and statement.schema is not None:
        raise ProgrammingError("CREATE TABLE ... AS SELECT takes no column list; its columns are the query's")
    schema = _storable(query.schema) if query is not None else statement.schema
    if not is_temporary:
        if schema is not None:
            check_unique(schema.names)
            check_partition_columns(statement.name, schema.names, statement.partitioned_by)
        if present is not None and not present.temporary:
            if mode is CreateMode.SKIP:
                return NOTHING
            if mode is CreateMode.ERROR:
                raise already_exists(present)
        check_new_home(run, statement.name)
    if schema is not None and not run.context.options.takes_time:
        _refuse_time(statement, schema)
    table = _make(run, statement, schema)
    written = None
    try:
        if query is not None:
            if isinstance(table, FileTable) and mode is not CreateMode.REPLACE:
                table.check_empty()
            written = _fill(run, table, statement.name, query)
        entry = TableEntry(
            last_part(statement.name),
            table,
            is_temporary,
            _database(statement.scope),
            _details(run, statement, table.schema.names if query is None else query.schema.names),
        )
        if spark is not None and is_temporary and mode is CreateMode.REPLACE:
            spark.drop_view(entry.name)
        before = catalog.pinned()
        replaced = catalog.add(entry, replace=mode is CreateMode.REPLACE)
    except BaseException as error:
        if not is_unknown(error):  # else the table may be in the catalog of the cluster
            table.drop()
        if mode is CreateMode.SKIP and isinstance(error, Error) and error.condition == TAKEN:
            return NOTHING  # another session was quicker
        raise
    _forget(replaced)
    if replaced is not None:
        let_go(run, dependents(run, entry.name, before))
    return CommandOutcome(written=written)


def _refuse_time(statement: CreateTable, schema: pa.Schema) -> None:
    """Raise UNSUPPORTED_TIME_TYPE for a column of TIME, but for a partition column, as Spark does."""
    for field in schema:
        if field.name not in statement.partitioned_by:
            refuse_time(field.type)


def check_new_table(statement: CreateTable, schema: pa.Schema) -> None:
    """Raise the errors of CREATE TABLE that can be found without making the table, such as those for an
    unknown format or for two columns of one name; ``schema``: the columns of the rows of the statement's
    query."""
    check_single_schema(statement.name)
    check_permanent(statement.name)
    registry.check_format(statement.format or DEFAULT_FORMAT)
    names = _storable(schema).names
    check_unique(names)
    check_partition_columns(statement.name, names, statement.partitioned_by)


def _details(run: StatementRun, statement: CreateTable, names: Sequence[str]) -> RelationDetails:
    """Return the comments and properties of the new table, whose columns are ``names``. The columns of AS
    SELECT have the comments of the query's columns. For a table over files NOT NULL is not recorded: such
    tables take nulls, as in Spark."""
    details = statement.details
    if not _in_memory(statement):
        details = replace(details, required=())
    if statement.query is None:
        return details
    return _commented(details, names, query_comments(run, statement.query))


def _commented(
    details: RelationDetails, names: Sequence[str], comments: Sequence[ColumnComments]
) -> RelationDetails:
    """Return the details with the ``comments`` of a query's columns added; ``names`` are the names of these
    columns in the new relation. A comment in ``details`` has precedence."""
    given = dict(zip(names, comments, strict=False))
    own = dict(details.column_comments)
    return details.with_comments(
        {name: replace(each, text=own.get(name, each.text)) for name, each in given.items()}
    )


def _give_way(run: StatementRun, statement: CreateTable | CreateView) -> None:
    """Raise an error that passes the statement to Spark, if Spark has to make the temporary relation: because
    Spark has a temporary view with the name, or because all of Spark's sessions should see the relation. The
    errors are NotSupportedError and its subclass FoundElsewhere."""
    if run.spark is None:
        return
    if statement.scope is RelationScope.GLOBAL_TEMPORARY:
        raise NotSupportedError("Spark makes global temporary views, so that all sessions of Spark see them.")
    if statement.mode is not CreateMode.REPLACE and run.spark.has_view(last_part(statement.name)):
        raise FoundElsewhere(f"`{statement.name}` is a temporary view of Spark's")


def _database(scope: RelationScope) -> tuple[str, ...]:
    """Return the qualifier of a relation's name by its scope: ``global_temp`` for a global temporary
    relation, else empty."""
    return GLOBAL_TEMP if scope is RelationScope.GLOBAL_TEMPORARY else ()


def _in_memory(statement: CreateTable) -> bool:
    return (statement.format or DEFAULT_FORMAT).lower() == DEFAULT_FORMAT


def _is_placed(statement: CreateTable) -> bool:
    """Return whether the statement itself says where the table's rows are stored: in memory, or at a
    location. The rows of other tables are stored in the session's directory."""
    has_path = statement.location is not None or "path" in map(str.lower, statement.options)
    return has_path or _in_memory(statement)


def _is_sparks(run: StatementRun, statement: CreateTable) -> bool:
    """Return whether Spark should store the table: sqlfront would store its rows in a directory that is
    removed at the end of the session."""
    if run.spark is None or run.context.config.warehouse is not None:
        return False
    return not statement.scope.is_temporary and (statement.format is None or not _is_placed(statement))


def _make(run: StatementRun, statement: CreateTable, schema: pa.Schema | None) -> Table:
    definition = TableDefinition(
        last_part(statement.name),
        schema,
        statement.options,
        statement.location,
        None if _is_placed(statement) else run.context.home_path(),
        statement.partitioned_by,
        statement.clustered_by,
        statement.buckets,
        must_exist=statement.is_view,
        catalogued=not statement.scope.is_temporary,
        time_zone=run.context.settings.time_zone,
        files=run.context.files,
        memory=run.context.engine.memory,
    )
    if _in_memory(statement):
        return run.memory_table(definition)
    table = registry.create(statement.format or DEFAULT_FORMAT, definition)
    check_unique(table.schema.names)  # as in Spark, after checks of a view's files and partition columns
    return table


def _storable(schema: pa.Schema) -> pa.Schema:
    """Return ``schema``, that of a query's rows, if a new table can have it. Raises
    UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE for a column that is always null (type void), as Spark does for
    files."""
    for field in schema:
        if field.type == VOID:
            raise ProgrammingError(
                f"column `{field.name}` has no type (it is always null); cast it",
                condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
            )
    return schema


def _fill(run: StatementRun, table: Table, name: str, query: LogicalPlan) -> int:
    assert isinstance(table, WritableTable)
    names = tuple(query.schema.names) if _is_permuted(table, query) else ()
    return run.store(table, assign(query, name, table.schema, names))


def _is_permuted(table: Table, query: LogicalPlan) -> bool:
    """Return whether the table has the query's columns in another order, as a table does whose partition
    columns come last."""
    return list(table.schema.names) != list(query.schema.names) and sorted(table.schema.names) == sorted(
        query.schema.names
    )


def create_view(run: StatementRun, statement: CreateView) -> CommandOutcome:
    """CREATE VIEW: bind the view's query, so that an invalid query is refused now, and add the view to the
    catalog. CACHE TABLE's copies that read a replaced view are dropped. Raises TABLE_OR_VIEW_ALREADY_EXISTS
    without OR REPLACE or IF NOT EXISTS, EXPECT_VIEW_NOT_TABLE for OR REPLACE of a table, RECURSIVE_VIEW for a
    query that reads the view, and the binder's errors."""
    catalog, query = run.context.catalog, with_arguments(statement.query, run.arguments)
    replaces = statement.mode is CreateMode.REPLACE
    if statement.scope.is_temporary:
        _give_way(run, statement)
    else:
        check_single_schema(statement.name)
        check_permanent(statement.name)
    view = ViewEntry(
        last_part(statement.name),
        query.text,
        statement.columns,
        statement.scope.is_temporary,
        _database(statement.scope),
        statement.details,
        time_zone=run.context.bind_settings.time_zone,
        ansi=run.context.bind_settings.ansi,
    )
    schema, read = _columns_of_view(run, query, view)
    names = schema if isinstance(schema, tuple) else schema.names
    _check_arity(view, names)
    _check_temporary(view, read)
    parts = view.parts if view.temporary else name_parts(statement.name)
    present = catalog.own(parts, temporary=view.temporary)
    if present is not None:
        if not view.temporary and _stays(present, statement.mode):
            return NOTHING
        if replaces and read is not None:
            _check_reads_not_itself(run, query, view)
    check_unique(statement.columns or names)
    if not view.temporary:
        check_new_home(run, statement.name)
    if isinstance(schema, pa.Schema):
        comments = query_comments(run, query)
        details = _commented(view.details, statement.columns or names, comments)
        view = replace(view, schema=schema, details=details, sees=_seen(view, read))
    spark = run.context.spark
    if spark is not None and view.temporary and replaces:
        spark.drop_view(view.name)
    former, before = catalog.lookup(view.parts), catalog.pinned()
    try:
        drop_copy(_add_view(catalog, view, replace=replaces))
    except ProgrammingError as error:
        if statement.mode is CreateMode.SKIP and error.condition == TAKEN:
            return NOTHING  # another session was quicker
        raise
    if former is not None:
        let_go(run, dependents(run, view.name, before))
    return NOTHING


def _check_arity(view: ViewEntry, names: Sequence[str]) -> None:
    """Raise CREATE_VIEW_COLUMN_ARITY_MISMATCH if the view has a list of columns that is shorter or longer
    than ``names``, the columns of its query."""
    if view.columns and len(view.columns) != len(names):
        raise ProgrammingError(
            f"view `{view.name}` names {len(view.columns)} columns, its query gives {len(names)}",
            condition=f"CREATE_VIEW_COLUMN_ARITY_MISMATCH.{_ARITY[len(view.columns) < len(names)]}",
        )


def _stays(present: Entry, mode: CreateMode) -> bool:
    """Return whether CREATE VIEW in this ``mode`` leaves the permanent relation ``present``, of the same
    name, as it is: True for IF NOT EXISTS, False for OR REPLACE of a view. Raises
    TABLE_OR_VIEW_ALREADY_EXISTS without OR REPLACE or IF NOT EXISTS, EXPECT_VIEW_NOT_TABLE for OR REPLACE of
    a table."""
    if mode is CreateMode.ERROR:
        raise already_exists(present)
    if mode is CreateMode.REPLACE:
        _check_replaceable(present)
    return mode is CreateMode.SKIP


def _add_view(catalog: Catalog, view: ViewEntry, *, replace: bool) -> Entry | None:
    """Add the view to the catalog; return the entry that the view replaces, None if the name was free. Raises
    the errors of :meth:`~sqlfront_planner.catalog.Catalog.add`, and EXPECT_VIEW_NOT_TABLE if a permanent view
    would replace a table."""
    while replace and not view.temporary and (present := catalog.own(view.parts, temporary=False)):
        _check_replaceable(present)
        if catalog.exchange(present, view):
            return present
    return catalog.add(view, replace=replace and view.temporary)


def _check_replaceable(present: Entry) -> None:
    """Raise EXPECT_VIEW_NOT_TABLE if ``present`` is a table, which CREATE OR REPLACE VIEW can't replace."""
    if isinstance(origin_of(present), TableEntry):
        raise _view_expected(present, "CREATE OR REPLACE VIEW")


def _view_expected(entry: Entry, operation: str) -> Error:
    message = f"The table {whole_name(entry)} does not support {operation}."
    return spark_error("EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE", message)


def alter_view(run: StatementRun, statement: AlterView) -> CommandOutcome:
    """ALTER VIEW ... AS: give a view another query. The columns get the query's names and comments; the
    view's own comment and properties stay. CACHE TABLE's copy of the view is dropped, and so are copies that
    read the view. Raises EXPECT_VIEW_NOT_TABLE for a table, RECURSIVE_VIEW for a query that reads the view,
    and the errors of CREATE VIEW."""
    catalog, query = run.context.catalog, with_arguments(statement.query, run.arguments)
    while True:
        entry = own_entry(run, statement.name)
        origin = origin_of(entry)
        if not isinstance(origin, ViewEntry):
            raise _view_expected(entry, "ALTER VIEW ... AS")
        settings = run.context.bind_settings
        view = replace(origin, sql=query.text, columns=(), time_zone=settings.time_zone, ansi=settings.ansi)
        schema, read = _columns_of_view(run, query, view)
        names = schema if isinstance(schema, tuple) else schema.names
        _check_temporary(view, read)
        if read is not None:
            _check_reads_not_itself(run, query, view)
        check_unique(names)
        comments = query_comments(run, query)
        details = replace(view.details, column_comments=(), field_comments=())
        details = _commented(details, names, comments)
        known = schema if isinstance(schema, pa.Schema) else None
        before = catalog.pinned()
        if catalog.exchange(entry, replace(view, schema=known, details=details, sees=_seen(view, read))):
            drop_copy(entry)
            let_go(run, dependents(run, statement.name, before))
            return NOTHING


def _columns_of_view(
    run: StatementRun, query: Query, view: ViewEntry
) -> tuple[pa.Schema | tuple[str, ...], tuple[str, ...] | None]:
    """Bind the view's query; return the columns of the query, and the names of the temporary relations that
    it reads. If only Spark can run the query of a temporary view, return the names of the columns, from
    Spark, and None. Raises the binder's error, INVALID_TEMP_OBJ_REFERENCE for a permanent view that calls a
    temporary function or reads a variable, and FoundElsewhere for one that reads a copy of a relation of
    Spark."""
    context = run.context
    try:
        bound = bind_query(query, context.catalog, context.bind_settings, run.arguments)
    except NotSupportedError:
        spark = context.spark
        if spark is None or not view.temporary or spark.has_view(view.name):
            raise
        theirs = spark.columns_of(view.sql)
        if theirs is None:
            raise
        return tuple(theirs), None
    for kind, names in (("FUNCTION", bound.routines), ("VARIABLE", bound.variables)):
        if names and not view.temporary:
            raise _refers_to_temporary(view, names[0], kind)
    if not view.temporary and context.spark is not None:
        context.spark.check_view(bound.plan)
    return bound.plan.schema, tuple(bound.temporary)


def _check_temporary(view: ViewEntry, read: tuple[str, ...] | None) -> None:
    """Raise INVALID_TEMP_OBJ_REFERENCE if the view is permanent and reads temporary relations; ``read``: the
    names of these, None = unknown."""
    if read and not view.temporary:
        raise _refers_to_temporary(view, read[0], "VIEW")


def _seen(view: ViewEntry, read: tuple[str, ...] | None) -> frozenset[str] | None:
    """Return the lower-case names of the temporary relations that a temporary view's query may see in later
    statements; None for all (see :class:`~sqlfront_planner.catalog.ViewEntry`). ``read``: the names that the
    query reads now, None = unknown."""
    return None if read is None or not view.temporary else frozenset(map(str.lower, read))


def _check_reads_not_itself(run: StatementRun, query: Query, view: ViewEntry) -> None:
    """Raise RECURSIVE_VIEW if the ``query`` reads the view whose query it is to become."""
    context = run.context
    itself = _with_view(context.catalog, replace(view, schema=None, sees=None))
    if itself is not None:
        bind_query(query, itself, context.bind_settings, run.arguments)


def _with_view(catalog: Catalog, view: ViewEntry) -> Catalog | None:
    """Return the catalog in which the view has replaced its predecessor of the same name, and cached views
    are read by their queries, not their copies: binding the view's query in this catalog raises
    RECURSIVE_VIEW if the query reads the view. None if the view replaces nothing."""
    group = catalog.pinned() if view.temporary else catalog.without_temporary()
    replaced = group.own(view.parts, temporary=view.temporary)
    if replaced is None or replaced.temporary != view.temporary:
        return None
    return catalog.mapped(lambda entry: view if entry is replaced else _uncopied(entry))


def _uncopied(entry: Entry) -> Entry:
    """Return the view's own entry for a cached view; another entry itself."""
    origin = origin_of(entry)
    return origin if isinstance(origin, ViewEntry) else entry


def _refers_to_temporary(view: ViewEntry, name: str, kind: str) -> Error:
    made = f"`spark_catalog`.`default`.`{view.name}`"
    return spark_error(
        "INVALID_TEMP_OBJ_REFERENCE",
        f"Cannot create the persistent object {made} of the type VIEW because it references to the "
        f"temporary object `{name}` of the type {kind}. Please make the temporary object `{name}` "
        f"persistent, or make the persistent object {made} temporary.",
    )


def drop(run: StatementRun, statement: Drop) -> CommandOutcome:
    """DROP TABLE or VIEW: remove the relation from the catalog, free its rows, and drop CACHE TABLE's copies
    that read it. As in Spark, DROP TABLE drops a view, too; DROP VIEW of a table raises ProgrammingError.
    Raises TABLE_OR_VIEW_NOT_FOUND unless IF EXISTS is given."""
    parts = name_parts(statement.name)
    entry = run.context.catalog.lookup(parts)
    if entry is None:
        check_single_schema(statement.name)
        if statement.if_exists and not is_system_table(parts):
            return NOTHING
        raise not_found(statement.name)
    origin = origin_of(entry)
    if statement.kind is RelationKind.VIEW and isinstance(origin, TableEntry) and not origin.temporary:
        raise ProgrammingError(
            f"The operation DROP VIEW requires a VIEW. But `{entry.name}` is a TABLE. Use DROP TABLE.",
            condition="WRONG_COMMAND_FOR_OBJECT_TYPE",
        )
    before = run.context.catalog.pinned()
    _forget(run.context.catalog.remove(parts))
    let_go(run, dependents(run, statement.name, before))
    return NOTHING


def _forget(entry: Entry | None) -> None:
    """Free the rows of a table whose entry was removed from the catalog; do nothing for a view and for
    None."""
    if isinstance(entry, TableEntry):
        entry.table.drop()
