"""ALTER and COMMENT ON: statements that change the comments and properties of a table or view."""

from collections.abc import Callable

from msgspec.structs import replace

from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, details_of, origin_of
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.files import FileTable
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    Entry,
    FoundElsewhere,
    TableEntry,
    ViewEntry,
)
from sqlfront_planner.relation_details import RelationDetails, changed
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import (
    ChangeProperties,
    CommentOnColumn,
    CommentOnTable,
    RelationKind,
)
from sqlfront_planner.table_changes.named_columns import named_column
from sqlfront_values.errors import Error, spark_error

#: The property that stands for the comment.
_COMMENT = "comment"


def change_properties(run: StatementRun, statement: ChangeProperties) -> CommandOutcome:
    """ALTER TABLE or VIEW SET or UNSET TBLPROPERTIES: change properties; the property ``comment`` is the
    relation's comment. UNSET of a missing key is no error, with or without IF EXISTS. ALTER TABLE raises
    EXPECT_TABLE_NOT_VIEW for a view; ALTER VIEW raises EXPECT_VIEW_NOT_TABLE for a table, and
    EXPECT_PERMANENT_VIEW_NOT_TEMP for a temporary view."""
    word = "UNSET" if statement.unset else "SET"
    operation = f"ALTER {statement.kind.name} ... {word} TBLPROPERTIES"
    if statement.kind is RelationKind.VIEW:
        check = check_view
    else:
        check = check_table_not_view
    return _change(run, statement.name, operation, check, lambda entry: _with_properties(entry, statement))


def _with_properties(entry: Entry, statement: ChangeProperties) -> RelationDetails:
    details, given = details_of(entry), dict(statement.properties)
    comment = given.pop(_COMMENT, None if _COMMENT in statement.unset else details.comment)
    return replace(details, comment=comment, properties=changed(details.properties, given, statement.unset))


def comment_on_table(run: StatementRun, statement: CommentOnTable) -> CommandOutcome:
    """COMMENT ON TABLE: change the table's comment. Raises EXPECT_TABLE_NOT_VIEW for a view."""
    return _change(
        run,
        statement.name,
        "COMMENT ON TABLE",
        check_table,
        lambda entry: replace(details_of(entry), comment=statement.comment),
    )


def comment_on_column(run: StatementRun, statement: CommentOnColumn) -> CommandOutcome:
    """COMMENT ON COLUMN, or ALTER COLUMN ... COMMENT: change the comment of a table's column. Raises
    EXPECT_TABLE_NOT_VIEW for a view, UNRESOLVED_COLUMN for an unknown column,
    UNSUPPORTED_FEATURE.TABLE_OPERATION for a field inside of a column, and CANNOT_ALTER_PARTITION_COLUMN for
    a partition column."""
    return _change(
        run,
        statement.name,
        statement.operation,
        check_table,
        lambda entry: _with_column_comment(entry, statement),
    )


def _with_column_comment(entry: Entry, statement: CommentOnColumn) -> RelationDetails:
    assert isinstance(entry, TableEntry)
    schema, (name, *inner) = entry.table.schema, name_parts(statement.column)
    column = schema.names[named_column(schema, name)]
    if inner:
        raise spark_error(
            "UNSUPPORTED_FEATURE.TABLE_OPERATION",
            f"The feature is not supported: Table {whole_name(entry)} does not support ALTER COLUMN with "
            "qualified column.",
        )
    origin = origin_of(entry)
    table = origin.table if isinstance(origin, TableEntry) else None
    if isinstance(table, FileTable) and column in table.partition_columns:
        raise spark_error(
            "CANNOT_ALTER_PARTITION_COLUMN",
            "ALTER TABLE (ALTER|CHANGE) COLUMN is not supported for partition columns, but found the "
            f"partition column {quoted((column,))} in the table {whole_name(entry)}.",
        )
    return details_of(entry).commented(column, statement.comment)


# ---- the change


def _change(
    run: StatementRun,
    name: str,
    operation: str,
    check: Callable[[Entry, str], None],
    details: Callable[[Entry], RelationDetails],
) -> CommandOutcome:
    """Replace the comments and properties of the relation ``name`` by the result of ``details`` for its
    entry, after ``check(entry, operation)`` has passed. If another session changes the entry at the same
    time, check and change the new entry instead, so that no change is lost."""
    catalog = run.context.catalog
    while True:
        entry = own_entry(run, name)
        check(entry, operation)
        if catalog.exchange(entry, _with(entry, details(entry))):
            return NOTHING


def own_entry(run: StatementRun, name: str) -> Entry:
    """Return the catalog's entry of a dotted name. Raises TABLE_OR_VIEW_NOT_FOUND if no relation has the
    name, REQUIRES_SINGLE_PART_NAMESPACE if no relation can have the name, and FoundElsewhere, so that Spark
    runs the statement, if the entry is a copy of a relation of Spark."""
    entry = run.entry(name)
    if run.spark is not None and run.spark.has(entry):
        raise FoundElsewhere(f"`{entry.name}` is a copy of a relation of Spark")
    return entry


def _with(entry: Entry, details: RelationDetails) -> Entry:
    """Return the entry with the ``details`` (comments and properties) in place of its own; in a cached entry,
    the relation behind the copy gets the details."""
    if isinstance(entry, TableEntry) and isinstance(entry.table, CachedTable):
        cached = entry.table
        return replace(entry, table=CachedTable(replace(cached.origin, details=details), cached.copy))
    return replace(entry, details=details)


# ---- the kind of relation


def _is_view(entry: Entry) -> bool:
    """Return whether the relation counts as a view: every view, cached or not, and every temporary
    relation."""
    return entry.temporary or isinstance(origin_of(entry), ViewEntry)


def check_table(entry: Entry, operation: str) -> None:
    """Raise EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE for a view or a temporary relation. ``operation``: the
    statement, for the message."""
    if _is_view(entry):
        raise _no_table(entry, operation, "NO_ALTERNATIVE", "")


def check_table_not_view(entry: Entry, operation: str) -> None:
    """Raise EXPECT_TABLE_NOT_VIEW.USE_ALTER_VIEW for a view or a temporary relation. ``operation``: the
    statement, for the message."""
    if _is_view(entry):
        raise _no_table(entry, operation, "USE_ALTER_VIEW", "Please use ALTER VIEW instead.")


def _no_table(entry: Entry, operation: str, condition: str, advice: str) -> Error:
    return spark_error(
        f"EXPECT_TABLE_NOT_VIEW.{condition}",
        f"'{operation}' expects a table but {whole_name(entry)} is a view. {advice}".rstrip(),
    )


def check_view(entry: Entry, operation: str) -> None:
    """Raise EXPECT_PERMANENT_VIEW_NOT_TEMP for a temporary relation, EXPECT_VIEW_NOT_TABLE for a table.
    ``operation``: the statement, for the message."""
    if entry.temporary:
        raise spark_error(
            "EXPECT_PERMANENT_VIEW_NOT_TEMP",
            f"'{operation}' expects a permanent view but {whole_name(entry)} is a temp view.",
        )
    if not _is_view(entry):
        raise spark_error(
            "EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE",
            f"The table {whole_name(entry)} does not support {operation}. Please use ALTER TABLE instead.",
        )


def whole_name(entry: Entry) -> str:
    """Return the relation's name with catalog and database in front, each part in backticks, joined by dots;
    a temporary relation's name has only the qualifier that the relation was made with, if any."""
    return quoted(entry.parts if entry.temporary else (DEFAULT_CATALOG, DEFAULT_DATABASE, entry.name.lower()))
