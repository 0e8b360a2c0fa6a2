"""ALTER TABLE and ALTER VIEW ... RENAME TO."""

from msgspec.structs import replace

from sqlfront.commands.alteration import check_table_not_view, check_view, own_entry
from sqlfront.commands.copies import dependents, drop_copy, let_go
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, origin_of
from sqlfront.state.cached_table import CachedTable
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.catalog import DEFAULT_DATABASE, Entry, TableEntry, ViewEntry
from sqlfront_planner.statements.dotted_names import check_permanent, dotted, last_part, name_parts
from sqlfront_planner.statements.structs import RelationKind, RenameRelation
from sqlfront_values.errors import spark_error


def rename(run: StatementRun, statement: RenameRelation) -> CommandOutcome:
    """RENAME TO: give a relation another name. A permanent relation that is cached stays cached; a temporary
    one loses its copy. Copies of views that read the relation by its old name are dropped. Raises
    TABLE_OR_VIEW_ALREADY_EXISTS; EXPECT_TABLE_NOT_VIEW for ALTER TABLE of a view, EXPECT_VIEW_NOT_TABLE for
    ALTER VIEW of a table; and Spark's errors for a name in another schema or with other characters than
    letters, digits and underscores."""
    catalog = run.context.catalog
    while True:
        entry = own_entry(run, statement.name)
        _check_parts(statement.target)
        _check_kind(entry, statement.kind)
        _check_target(entry, statement.target)
        if isinstance(origin_of(entry), ViewEntry) and not entry.temporary:
            run.all_rows(statement.name, origin_of(entry))  # as in Spark, the query has to be valid
        catalog.lookup(name_parts(statement.target))  # raises FoundElsewhere for a relation of Spark's
        renamed, before = _renamed(entry, last_part(statement.target)), catalog.pinned()
        if catalog.rename(entry, renamed):
            if entry.temporary:
                drop_copy(entry)
            let_go(run, dependents(run, statement.name, before))
            return NOTHING


def _check_kind(entry: Entry, kind: RelationKind) -> None:
    """Raise EXPECT_TABLE_NOT_VIEW or EXPECT_VIEW_NOT_TABLE if a permanent relation isn't of the ``kind`` that
    the statement names; ALTER TABLE and ALTER VIEW both rename a temporary relation."""
    if not entry.temporary:
        check = check_view if kind is RelationKind.VIEW else check_table_not_view
        check(entry, f"ALTER {kind.name} ... RENAME TO")


def _check_parts(target: str) -> None:
    if len(name_parts(target)) > 2:
        raise spark_error(
            "IDENTIFIER_TOO_MANY_NAME_PARTS",
            f"{quoted(name_parts(target))} is not a valid identifier as it has more than 2 name parts.",
        )


def _check_target(entry: Entry, target: str) -> None:
    """Raise an error if the relation can't have the name ``target``: a name in another schema, or, for a
    permanent relation, a name with other characters than letters, digits and underscores."""
    *qualifier, name = name_parts(target)
    home = entry.database or (DEFAULT_DATABASE,)
    if qualifier and qualifier[0].lower() != home[0]:
        raise spark_error(
            "RENAME_TABLE_SOURCE_DESTINATION_DATABASE_MISMATCH",
            f"RENAME TABLE source and destination databases do not match: `{home[0]}` != `{qualifier[0]}`.",
        )
    if qualifier and entry.temporary and not entry.database:
        raise spark_error(
            "RENAME_TEMP_VIEW_WITH_DATABASE",
            f"RENAME TEMPORARY VIEW from `{entry.name}` to {quoted(name_parts(target))}: cannot specify "
            f"database name `{qualifier[0]}` in the destination table.",
        )
    if not entry.temporary:
        check_permanent(dotted((name,)))


def _renamed(entry: Entry, name: str) -> Entry:
    """Return the entry under another name. A cached temporary relation is returned without its copy, since
    copies of temporary relations are looked up by name."""
    if not isinstance(entry, TableEntry) or not isinstance(entry.table, CachedTable):
        return replace(entry, name=name)
    cached = entry.table
    origin = replace(cached.origin, name=name)
    return origin if entry.temporary else replace(entry, name=name, table=CachedTable(origin, cached.copy))
