"""The plan of a query that runs as a row program: a DAG, and its functions over rows."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import RowAccess, Table, TooManyRows
from sqlfront_engine.dag import DAG
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.row_programs.keys import Keys
from sqlfront_engine.row_programs.program import Find, NotByRows, ProgramRun, Row, RowFunction, RowStep
from sqlfront_planner import run_values
from sqlfront_planner.binder.names import expression_names
from sqlfront_planner.lanes import Lane
from sqlfront_planner.pruning import constraints
from sqlfront_values.errors import DataError
from sqlfront_values.expressions import Expr, Literal, Parameter, RunValue
from sqlfront_values.settings import Settings

#: Errors of a program for inputs that need a job, such as a timestamp that Python can't represent.
UNFIT: Final = (OverflowError, ValueError, TooManyRows)
#: Rows of a table up to which a row program reads the table whole: a Python loop over more rows takes longer
#: than a job.
SMALL_ROWS: Final = 500


class RowSource(msgspec.Struct, frozen=True, eq=False):
    """A lookup of a table's rows: it reads ``columns`` of the rows by the values of the key columns ``by``
    (both ordinals of the table). ``name`` is for display; ``vertex`` is the name of the scan's vertex.
    ``keys`` computes the keys of a run, None = the rows at the vertex's input give the keys."""

    table: Table
    by: tuple[int, ...]
    columns: tuple[int, ...]
    name: str
    vertex: str
    keys: Keys | None


class SmallTable(msgspec.Struct, frozen=True, eq=False):
    """A table of which a row program reads all rows; ``columns`` are the ordinals of the columns that it
    reads."""

    table: Table
    columns: tuple[int, ...]


class RowPlan(msgspec.Struct, frozen=True, eq=False):
    """A query's DAG in which every vertex has a function over rows, and the inputs that a run needs. Valid
    as long as the names in the query stand for the same relations: a run reads the current version of each
    table.

    ``program``: the function that computes the result's rows; ``steps``: each vertex's function, by the
    vertex's name; ``constants``: the expressions without columns that a run evaluates first; ``sources``
    and ``tables``: what a run reads by key, or entirely. ``timestamps``: the ordinals of the result's
    columns of type TIMESTAMP; ``titles``: the parameters whose values name columns, by the column's
    ordinal."""

    dag: DAG
    program: RowFunction
    steps: Mapping[str, RowStep]
    constants: tuple[Expr, ...]
    sources: tuple[RowSource, ...]
    tables: tuple[SmallTable, ...]
    schema: pa.Schema
    lane: Lane
    reason: str
    timestamps: tuple[int, ...]
    titles: Mapping[int, Parameter] = MappingProxyType({})

    def schema_of(self, arguments: Sequence[object]) -> pa.Schema:
        """Return the schema of a run's result. The schema depends on the arguments if their values name
        columns."""
        if not self.titles:
            return self.schema
        fields = list(self.schema)
        for column, title in self.titles.items():
            literal = Literal(title.type, arguments[title.index])
            fields[column] = pa.field(expression_names.value_text(literal), title.type)
        return pa.schema(fields)

    def run(
        self, arguments: Sequence[object], settings: Settings, query: QueryRun | None = None
    ) -> ProgramRun:
        """Collect the program's inputs for one run: the lookups and small tables, both in the current
        versions, and the values of constants. ``query``: the query in which the rows that are read are
        counted. Raises NotByRows if the query has to run as a job."""
        literal = _literals(arguments, settings)
        snapshots: dict[int, RowAccess] = {}
        finds: list[Find] = []
        for source in self.sources:
            path = _access(source.table, snapshots).row_path(source.by, source.columns, query)
            if path is None:
                raise NotByRows
            finds.append(path.find)
        tables: list[Sequence[Row]] = []
        for small in self.tables:
            rows = _access(small.table, snapshots).small_rows(small.columns, SMALL_ROWS)
            if rows is None:
                raise NotByRows
            tables.append(rows)
        if query is not None and query.jobs is not None:  # somebody observes the query
            query.rows_by_programs = sum(map(len, tables))
            finds = [_counted(find, query) for find in finds]
        constants = [
            arguments[expression.index]
            if type(expression) is Parameter
            else _value(expression, literal, settings)
            for expression in self.constants
        ]
        return ProgramRun(constants, finds, tables, literal)

    def rows(
        self, arguments: Sequence[object], settings: Settings, query: QueryRun | None = None
    ) -> Sequence[Row]:
        """Run the program with ``arguments``, the values of the parameters, and return the result's rows.
        Raises NotByRows if the query has to run as a job; the SQL errors of evaluating the rows; the errors
        of lookups on other members; the error of ``query`` if the query is stopped while a lookup waits for
        members."""
        run = self.run(arguments, settings, query)
        try:
            return self.program(run)
        except UNFIT:
            raise NotByRows from None


def _counted(find: Find, query: QueryRun) -> Find:
    """Return a lookup that finds the same rows as ``find`` and adds their number to
    ``query.rows_by_programs``."""

    def counted(keys: Sequence[Row]) -> Sequence[Sequence[Row]]:
        found = find(keys)
        query.rows_by_programs = (query.rows_by_programs or 0) + sum(map(len, found))
        return found

    return counted


def _access(table: Table, snapshots: dict[int, RowAccess]) -> RowAccess:
    """Return the version of a table that this run reads: the table's current version at the run's first
    call, which ``snapshots`` keeps for further calls."""
    access = snapshots.get(id(table))
    if access is None:
        # Invariant: row plans are made only for tables whose versions all offer row access.
        version: Any = table.snapshot()
        access = snapshots[id(table)] = version
    return access


def _literals(arguments: Sequence[object], settings: Settings) -> Callable[[Expr], Expr]:
    values: list[run_values.RunValues] = []

    def literal(item: Expr) -> Expr:
        if isinstance(item, Parameter):
            return Literal(item.type, arguments[item.index])
        if isinstance(item, RunValue):
            if not values:
                values.append(run_values.RunValues(settings))
            return values[0].literal(item)
        return item

    return literal


def _value(expression: Expr, literal: Callable[[Expr], Expr], settings: Settings) -> object:
    """Return the value of an expression without columns in this run. Raises NotByRows if evaluation fails:
    the query then runs as a job, which raises the SQL error."""
    if type(expression) is Literal:
        return expression.value
    try:
        return constraints.constant(expression, literal, settings)
    except (constraints.UnknownInRun, DataError):  # the job reports the error
        raise NotByRows from None
