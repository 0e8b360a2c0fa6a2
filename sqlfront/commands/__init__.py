"""Statements other than queries: their effects on the session, and the rows that they show.

``run`` has the shared parts. ``tables`` (with ``column_comments``), ``insertions``, ``alteration`` (with
``columns`` and ``renaming``), ``modification`` (with ``changes``), ``merging``, ``indexes``, ``directories``
and ``caching`` (with ``copies``) change tables, views, directories and cached copies; ``inspection`` has SHOW
and DESCRIBE; ``settings`` has SET and USE, ``schemas`` CREATE, DROP and COMMENT ON SCHEMA; ``routines``
has SQL functions, ``variables`` SQL variables; ``killing`` ends other sessions' queries; ``jobs`` has the
statements of durable jobs, ``spark_targets`` the tables of Spark that jobs fill.
"""

import time
from typing import assert_never

from sqlfront.commands import (
    alteration,
    caching,
    columns,
    directories,
    indexes,
    insertions,
    jobs,
    killing,
    merging,
    modification,
    renaming,
    routines,
    schemas,
    settings,
    tables,
    variables,
)
from sqlfront.commands.inspection import as_json, creation, describing, functions, listing, partitions
from sqlfront.commands.run import CommandOutcome, StatementRun
from sqlfront.results.result import Result
from sqlfront_planner.statements.immediate_structs import ExecuteImmediate
from sqlfront_planner.statements.merge_structs import Merge
from sqlfront_planner.statements.routine_structs import CreateFunction, DropFunction
from sqlfront_planner.statements.structs import (
    AddColumns,
    AlterView,
    CacheTable,
    CancelJob,
    ChangeColumns,
    ChangeProperties,
    CommentOnColumn,
    CommentOnSchema,
    CommentOnTable,
    CreateIndex,
    CreateJob,
    CreateSchema,
    CreateTable,
    CreateView,
    Delete,
    DescribeColumn,
    DescribeFunction,
    DescribeJob,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
    Drop,
    DropIndex,
    DropJob,
    DropSchema,
    Explain,
    ExplainJob,
    Insert,
    InsertDirectory,
    KillQuery,
    Query,
    RefreshPath,
    RefreshTable,
    RenameRelation,
    RepairTable,
    ResetOption,
    ResumeJob,
    SetCatalog,
    SetOption,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentSchema,
    ShowFunctions,
    ShowIndexes,
    ShowJobs,
    ShowPartitions,
    ShowProperties,
    ShowSchemas,
    ShowTables,
    ShowTablesExtended,
    ShowViews,
    Statement,
    TruncateTable,
    UncacheTable,
    Update,
    UseDatabase,
)
from sqlfront_planner.statements.variable_structs import DeclareVariable, DropVariable, SetVariables
from sqlfront_values.errors import InternalError


def run(run: StatementRun, statement: Statement) -> Result:
    """Run the statement; the result is empty (no columns) unless the statement gives rows."""
    began = time.perf_counter()
    made = dispatch(run, statement)
    return made.result(run.context, time.perf_counter() - began)


def dispatch(run: StatementRun, statement: Statement) -> CommandOutcome:
    """Run the statement by the function for its class, and return the statement's outcome. Raises
    InternalError for a query, EXPLAIN, and EXECUTE IMMEDIATE."""
    match statement:
        case Query() | Explain() | ExecuteImmediate():
            raise InternalError("a query is no command")
        case CreateTable():
            return tables.create_table(run, statement)
        case CreateView():
            return tables.create_view(run, statement)
        case CacheTable():
            return caching.cache(run, statement)
        case UncacheTable():
            return caching.uncache(run, statement)
        case Drop():
            return tables.drop(run, statement)
        case CreateFunction():
            return routines.create_function(run, statement)
        case DropFunction():
            return routines.drop_function(run, statement)
        case DeclareVariable():
            return variables.declare(run, statement)
        case SetVariables():
            return variables.assign(run, statement)
        case DropVariable():
            return variables.drop(run, statement)
        case CreateSchema():
            return schemas.create_schema(run, statement)
        case DropSchema():
            return schemas.drop_schema(run, statement)
        case SetCatalog():
            return schemas.set_catalog(run, statement)
        case ShowPartitions():
            return partitions.show_partitions(run, statement)
        case ChangeProperties():
            return alteration.change_properties(run, statement)
        case CommentOnTable():
            return alteration.comment_on_table(run, statement)
        case CommentOnColumn():
            return alteration.comment_on_column(run, statement)
        case CommentOnSchema():
            return schemas.comment_on_schema(run, statement)
        case RenameRelation():
            return renaming.rename(run, statement)
        case AddColumns():
            return columns.add_columns(run, statement)
        case ChangeColumns():
            return columns.change_columns(run, statement)
        case AlterView():
            return tables.alter_view(run, statement)
        case CreateIndex():
            return indexes.create_index(run, statement)
        case DropIndex():
            return indexes.drop_index(run, statement)
        case ShowIndexes():
            return indexes.show_indexes(run, statement)
        case Insert():
            return insertions.insert(run, statement)
        case TruncateTable():
            return insertions.truncate(run, statement)
        case InsertDirectory():
            return directories.insert_directory(run, statement)
        case Merge():
            return merging.merge(run, statement)
        case Delete() | Update():
            return modification.modify(run, statement)
        case ShowTables():
            return listing.show_tables(run, statement)
        case ShowTablesExtended():
            return listing.show_tables_extended(run, statement)
        case ShowViews():
            return listing.show_views(run, statement)
        case ShowSchemas():
            return listing.show_schemas(run, statement)
        case ShowCatalogs():
            return listing.show_catalogs(run, statement)
        case ShowCurrentSchema():
            return listing.show_current_schema(run)
        case ShowColumns():
            return describing.show_columns(run, statement)
        case ShowProperties():
            return describing.show_properties(run, statement)
        case ShowCreateTable():
            return creation.show_create_table(run, statement)
        case ShowFunctions():
            return functions.show_functions(run, statement)
        case DescribeTable(as_json=True):
            return as_json.describe_as_json(run, statement)
        case DescribeTable():
            return describing.describe_table(run, statement)
        case DescribeColumn():
            return describing.describe_column(run, statement)
        case DescribeFunction():
            return functions.describe_function(run, statement)
        case DescribeSchema():
            return describing.describe_schema(run, statement)
        case DescribeQuery():
            return describing.describe_query(run, statement)
        case SetOption():
            return settings.set_option(run, statement)
        case ResetOption():
            return settings.reset_option(run, statement)
        case KillQuery():
            return killing.kill_query(run, statement)
        case CreateJob():
            return jobs.create_job(run, statement)
        case ExplainJob():
            return jobs.explain_job(run, statement)
        case ShowJobs():
            return jobs.show_jobs(run, statement)
        case DescribeJob():
            return jobs.describe_job(run, statement)
        case CancelJob():
            return jobs.cancel_job(run, statement)
        case ResumeJob():
            return jobs.resume_job(run, statement)
        case DropJob():
            return jobs.drop_job(run, statement)
        case RefreshPath():
            return caching.refresh_path(run, statement)
        case RefreshTable():
            return caching.refresh(run, statement)
        case RepairTable():
            return caching.repair(run, statement)
        case UseDatabase():
            return settings.use_database(statement)
        case _:
            assert_never(statement)
