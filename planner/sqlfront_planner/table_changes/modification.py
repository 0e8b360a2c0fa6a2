"""Plans of DELETE and UPDATE. For a memory table, which finds a row again by its number, they yield the
affected rows with their numbers; for any other table, all rows as they are after the statement.

Source: Spark's row-level operations. A statement affects the rows for which the condition is true, and no
rows for which the condition is null. New values are computed from the old row, for affected rows only, and
stored as INSERT stores values.
"""

import pyarrow as pa
from msgspec import structs

from sqlfront_connectors.base import Table
from sqlfront_planner.expressions.rewriting import is_random
from sqlfront_planner.logical import LogicalFilter, LogicalPlan, LogicalProject, LogicalScan
from sqlfront_planner.table_changes.assignments import assigned_columns, updated_row
from sqlfront_values.errors import InternalError, OperationalError, ProgrammingError, spark_error
from sqlfront_values.expressions import Call, Case, Column, Expr, Literal
from sqlfront_values.types import BOOLEAN, VOID, sql_name


def deleted(bound: LogicalPlan, numbered: Table, keys: tuple[int, ...]) -> LogicalPlan:
    """Plan the rows that DELETE removes; the result's columns are ``keys`` (ordinals of the table) and the
    row number. ``bound`` is the bound query of the statement: the table's columns and the condition.
    ``numbered`` is the memory table with the row number, by which the table finds the row again, as an
    additional last column; columns that tell the row's member may stand before it."""
    rows = _meant(bound, numbered)
    row = rows.row()
    return _select(rows, (*(row[key] for key in keys), row[-1]))


def changed(bound: LogicalPlan, numbered: Table, count: int, name: str) -> LogicalPlan:
    """Plan the rows that UPDATE changes: the table's columns with their new values, then the additional
    columns of ``numbered``. That is the memory table, usually with the row number, by which the table finds
    the row again, as an additional last column; columns that tell the row's member may stand before it.
    ``bound`` is the bound query of the statement: the table's columns, ``count`` assigned columns, a value
    for each of them, and the condition. ``name`` is the table's name."""
    rows = _meant(bound, numbered)
    items: list[Expr] = list(rows.row())
    for place, stored in _assignments(bound, count, name, _scan(bound).table.schema).items():
        items[place] = stored
    return _select(rows, tuple(items))


def marked(bound: LogicalPlan, schema: pa.Schema) -> LogicalPlan:
    """Plan all rows of the table, and in a last column whether the statement affects the row, which is never
    null. ``bound`` is the bound query of the statement: the table's columns, for UPDATE the new values, and
    the condition; ``schema`` is the table's."""
    rows = _with_condition(bound, schema)
    *columns, condition = rows.row()
    meant = Call(BOOLEAN, "coalesce", (condition, Literal(BOOLEAN, False)))
    return LogicalProject(rows, (*columns, meant), (*schema.names, ""))


def remaining(bound: LogicalPlan, schema: pa.Schema) -> LogicalPlan:
    """Plan the rows that DELETE keeps. ``bound`` is the bound query of the statement: the table's columns and
    the condition; ``schema`` is the table's."""
    rows = marked(bound, schema)
    kept = LogicalFilter(rows, Call(BOOLEAN, "not", (rows.row()[-1],)))
    return LogicalProject(kept, kept.row()[:-1], tuple(schema.names))


def updated(bound: LogicalPlan, count: int, table: str, schema: pa.Schema) -> LogicalPlan:
    """Plan all rows of the table as they are after UPDATE. ``bound`` is the bound query of the statement: the
    table's columns, ``count`` assigned columns, a value for each of them, and the condition. ``table`` is the
    table's name, ``schema`` its columns."""
    rows = updated_and_marked(bound, count, table, schema)
    return LogicalProject(rows, rows.row()[:-1], tuple(schema.names))


def updated_and_marked(bound: LogicalPlan, count: int, table: str, schema: pa.Schema) -> LogicalPlan:
    """Plan the rows of :func:`updated`, and in a last column whether UPDATE affects the row, which is never
    null."""
    rows = marked(bound, schema)
    *old, meant = rows.row()
    items: list[Expr] = list(old)
    for place, stored in _assignments(bound, count, table, schema).items():
        items[place] = Case(stored.type, ((meant, stored),), old[place])
    return LogicalProject(rows, (*items, meant), (*schema.names, ""))


def check_table(bound: LogicalPlan, table: Table, name: str) -> None:
    """Raise OperationalError with SQLSTATE 40001 unless ``bound`` reads ``table``: otherwise the name
    ``name`` stands for another table than before the statement was bound."""
    check_same_table(_scan(bound), table, name)


def check_same_table(scan: LogicalScan, table: Table, name: str) -> None:
    """Raise OperationalError with SQLSTATE 40001 unless the scan reads ``table``, see
    :func:`check_table`."""
    if scan.table is not table:
        raise OperationalError(f"`{name}` was replaced; run the statement again", sqlstate="40001")


def assigned(bound: LogicalPlan, count: int, schema: pa.Schema) -> frozenset[int]:
    """Return the ordinals of the columns that UPDATE sets, entirely or in a field. ``bound`` is the bound
    query of the statement, with ``count`` assigned columns behind the columns of ``schema``."""
    assert isinstance(bound, LogicalProject)
    return assigned_columns(bound.expressions[len(schema) : len(schema) + count])


def _assignments(bound: LogicalPlan, count: int, table: str, schema: pa.Schema) -> dict[int, Expr]:
    """Return the new values of the columns that UPDATE sets, as they are stored, by the columns' ordinals.
    Raises the errors of :func:`~sqlfront_planner.table_changes.assignments.updated_row`."""
    assert isinstance(bound, LogicalProject)
    width = len(schema)
    keys, values = bound.expressions[width : width + count], bound.expressions[width + count : -1]
    row = updated_row(schema, bound.expressions[:width], list(zip(keys, values, strict=True)), table)
    return {place: row[place] for place in sorted(assigned_columns(keys))}


def _meant(bound: LogicalPlan, numbered: Table) -> LogicalFilter:
    """Plan the rows of ``numbered``, with all its columns, for which the statement's condition is true."""
    scan = _scan(bound)
    rows = _with_condition(bound, scan.table.schema)
    columns = tuple(range(len(numbered.schema)))
    source = structs.replace(scan, table=numbered, snapshot=numbered.snapshot(), columns=columns)
    return LogicalFilter(source, rows.expressions[-1])


def _scan(bound: LogicalPlan) -> LogicalScan:
    """Return the scan of the statement's table. Raises UNSUPPORTED_EXPR_FOR_OPERATOR if ``bound`` is anything
    but a projection over a scan, as it is with an aggregate function or a window function."""
    if not isinstance(bound, LogicalProject) or not isinstance(bound.input, LogicalScan):
        raise spark_error(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            "DELETE and UPDATE take no window functions, aggregate functions, and generator functions.",
        )
    return bound.input


def _select(rows: LogicalPlan, items: tuple[Expr, ...]) -> LogicalPlan:
    return LogicalProject(rows, items, tuple(str(place) for place in range(len(items))))


def _with_condition(bound: LogicalPlan, schema: pa.Schema) -> LogicalProject:
    """Project the scan to the table's columns, followed by the condition. Raises
    DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN if the condition is not boolean, and
    INVALID_NON_DETERMINISTIC_EXPRESSIONS for a random function in the condition or a new value."""
    scan = _scan(bound)
    assert isinstance(bound, LogicalProject)
    condition = bound.expressions[-1]
    if condition.type == VOID:
        condition = Literal(BOOLEAN, None)
    if condition.type != BOOLEAN:
        raise ProgrammingError(
            f'Filter expression "{bound.names[-1]}" of type "{sql_name(condition.type)}" is not a boolean.',
            condition="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
        )
    if any(map(is_random, bound.expressions)):
        raise spark_error(
            "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
            "The operator expects a deterministic expression, but the actual expression is"
            f' "{bound.names[-1]}".',
        )
    columns = bound.expressions[: len(schema)]
    if any(not isinstance(item, Column) or item.ordinal != place for place, item in enumerate(columns)):
        raise InternalError("a table's columns are bound in their order")
    return LogicalProject(scan, (*columns, condition), (*schema.names, ""))
