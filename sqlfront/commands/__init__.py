"""Statements other than queries: their effects on the session, and the rows that they give.

``run`` has the shared parts. ``tables``, ``modification`` (with ``changes``),
``indexes`` and ``caching`` change tables, views and copies of these; ``inspection`` has statements that show
something; ``killing`` ends other sessions' queries.
"""

import time
from typing import assert_never

from sqlfront.commands import caching, indexes, inspection, killing, modification, tables
from sqlfront.commands.run import CommandOutcome, StatementRun
from sqlfront.results.result import Result
from sqlfront_planner.statements.structs import (
    CacheTable,
    CreateIndex,
    CreateTable,
    CreateView,
    Delete,
    DescribeQuery,
    DescribeTable,
    Drop,
    DropIndex,
    Explain,
    Insert,
    KillQuery,
    Query,
    RefreshPath,
    RefreshTable,
    RepairTable,
    SetOption,
    ShowFunctions,
    ShowIndexes,
    ShowTables,
    Statement,
    UncacheTable,
    Update,
    UseDatabase,
)
from sqlfront_values.errors import InternalError


def run(run: StatementRun, statement: Statement) -> Result:
    """Run the statement; the result is empty (no columns) unless the statement gives rows."""
    began = time.perf_counter()
    made = dispatch(run, statement)
    return made.result(run.context, time.perf_counter() - began)


def dispatch(run: StatementRun, statement: Statement) -> CommandOutcome:
    """Run the statement by the function for its class, and return the statement's outcome. Raises
    InternalError for a query or EXPLAIN."""
    match statement:
        case Query() | Explain():
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
        case CreateIndex():
            return indexes.create_index(run, statement)
        case DropIndex():
            return indexes.drop_index(run, statement)
        case ShowIndexes():
            return indexes.show_indexes(run, statement)
        case Insert():
            return tables.insert(run, statement)
        case Delete() | Update():
            return modification.modify(run, statement)
        case ShowTables():
            return inspection.show_tables(run, statement)
        case ShowFunctions():
            return inspection.show_functions(run, statement)
        case DescribeTable():
            return inspection.describe_table(run, statement)
        case DescribeQuery():
            return inspection.describe(run.bind(statement.query).schema)
        case SetOption():
            return inspection.set_option(run, statement)
        case KillQuery():
            return killing.kill_query(run, statement)
        case RefreshPath():
            return caching.refresh_path(run, statement)
        case RefreshTable():
            return caching.refresh(run, statement)
        case RepairTable():
            return caching.repair(run, statement)
        case UseDatabase():
            return inspection.use_database(statement)
        case _:
            assert_never(statement)
