"""The planner of ``sqlfront check``, which finds the lane of each statement, one statement after another.

With a Spark session, the planner also knows the names of Spark's relations, with columns and sizes, and reads
none of their rows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final, cast

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront import commands
from sqlfront.check.outline import OutlineTable
from sqlfront.commands.copies import let_go
from sqlfront.commands.modification import modifiable
from sqlfront.commands.run import StatementRun, scans_of
from sqlfront.config import Config
from sqlfront.decide import decide
from sqlfront.lanes.file_checks import check_files
from sqlfront.lanes.light import LightWay
from sqlfront.lanes.request import StatementRequest
from sqlfront.session import Session
from sqlfront.spark import mixed
from sqlfront.spark.reasons import reason_after, too_large
from sqlfront.state.cached_table import CachedTable
from sqlfront_connectors.base import InsertTarget, Table, TableDefinition
from sqlfront_connectors.memory import MemoryConnector
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_engine.closing import ClosingContext
from sqlfront_planner.binder import Arguments
from sqlfront_planner.catalog import Elsewhere, Entry, FoundElsewhere
from sqlfront_planner.lanes import Lane
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.statement import is_about_jobs, parse
from sqlfront_planner.statements.dotted_names import WRITTEN_NAME, last_part
from sqlfront_planner.statements.query_parser import lead
from sqlfront_planner.statements.structs import (
    CacheTable,
    CancelJob,
    CreateJob,
    CreateTable,
    Delete,
    DescribeJob,
    DropJob,
    Explain,
    ExplainJob,
    InsertDirectory,
    KillQuery,
    Query,
    ResumeJob,
    ShowJobs,
    Statement,
    Update,
)
from sqlfront_planner.table_changes.modification import remaining, updated
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_values.errors import Error, NotSupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sqlfront.spark import ways

#: Substitutes for unknown arguments, tried one after the other: most functions take strings for other types.
_GUESSES: Final[tuple[object, ...]] = ("1", 1)
#: Pattern of statements that create a relation, among the statements that only Spark can run.
_CREATES: Final = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+|EXTERNAL\s+)?(?:TABLE|VIEW)\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?({WRITTEN_NAME})",
    re.IGNORECASE,
)
#: The condition of an unknown name.
_NOT_FOUND: Final = "TABLE_OR_VIEW_NOT_FOUND"


class CheckedLane(StrEnum):
    """The lane of a statement, as far as planning can tell; or UNKNOWN or ERROR."""

    DIRECT = "direct"
    """Rows by their key, without a job."""
    LIGHT = "light"
    """A light job."""
    DURABLE = "durable"
    """A durable job."""
    COMMAND = "command"
    """A statement other than a query, run without Spark."""
    MIXED = "mixed"
    """A light job over rows that Spark filters, projects and groups."""
    SPARK = "spark"
    """Only Spark can run it."""
    UNKNOWN = "unknown"
    """The way is unknown before the program runs."""
    ERROR = "error"
    """The statement fails."""


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of checking a statement: the lane in which it would run (``way``), and the ``reason`` for
    this lane, as one line."""

    way: CheckedLane
    reason: str


class NotKnownYet(Error):
    """The error for a statement whose lane depends on something that is known only when the checked program
    runs, such as a parameter's type."""


class Checker(ClosingContext):
    """A planner that tells the lane of each statement of a program, given in order. It runs no statement, and
    neither reads nor writes rows; of files it reads only columns and sizes. ``registered`` and ``views`` are
    the names of relations that the program's Python code makes, in sqlfront and in Spark; ``spark`` is the
    Spark session beside which the statements would run (None = unknown)."""

    def __init__(
        self,
        registered: Iterable[str] = (),
        views: Iterable[str] = (),
        spark: "SparkSession | None" = None,
    ) -> None:
        """Prepare a session in which the statements are planned. ``registered`` and ``views`` are names that
        the statements may use and whose columns are unknown: views that Python code registers with the
        session, and relations of Spark. ``spark``: the Spark session beside which the statements would run,
        None = unknown."""
        self._session = Session(Config(plan_cache=0), spark=spark)
        self._elsewhere = _Elsewhere(registered, views, self._session.spark)
        #: Tables whose rows the checked statements would have changed.
        self._changed: list[object] = []
        self._session.context.catalog.elsewhere = self._elsewhere

    def check(self, text: str, known: Mapping[int | str, object] | None = None) -> Verdict:
        """Plan one statement, and return its lane with the reason. Raises no error for a wrong statement: its
        lane is ERROR. Later statements know the relations that this statement would create or change.
        ``known``: the known values of the statement's parameters, by position or name; None = no value is
        known."""
        try:
            return self._spark_s(text) or self._planned(parse(self._session.context.usual(text)), known or {})
        except NotKnownYet as error:
            return Verdict(CheckedLane.UNKNOWN, error.message)
        except Error as error:
            return self._refused(text, error)

    def close(self) -> None:
        """Close the session in which the statements were planned."""
        self._session.close()

    # ---- by statement

    def _spark_s(self, text: str) -> Verdict | None:
        """Return the verdict on a statement that Spark has to run whatever relations it reads; None for any
        other statement. If the statement changes a relation of which this session holds a cached copy, the
        copy is dropped."""
        spark = self._session.spark
        reason = None if spark is None else spark.reason_before(text)
        if spark is None or reason is None:
            return None
        changed = spark.copy_changed_by(text)
        if changed is not None:
            let_go(StatementRun(self._session.context), (changed,))
        return Verdict(CheckedLane.SPARK, reason)

    def _planned(self, statement: Statement, known: Mapping[int | str, object]) -> Verdict:
        """Return the verdict on a parsed statement. An unknown argument is replaced by guesses of different
        types, one after another until planning succeeds. If it fails for all guesses, raises the error, or
        NotKnownYet if the guesses give different errors."""
        inner = _inner(statement)
        keys = {_key(node.this) for query in _queries(inner) for node in query.tree.find_all(exp.Placeholder)}
        if isinstance(inner, InsertDirectory):
            keys.update(_key(parameter.name) for parameter in inner.parameters)
        guesses = _GUESSES if any(key not in known for key in keys) else _GUESSES[:1]
        errors: list[Error] = []
        for guess in guesses:
            try:
                return self._plan(statement, _arguments(keys, known, guess))
            except Error as error:
                errors.append(error)
        if len({error.message for error in errors}) > 1:
            raise NotKnownYet(f"the result depends on the types of the parameters: {errors[0].message}")
        raise errors[0]

    def _plan(self, statement: Statement, arguments: Arguments) -> Verdict:
        run = _Rehearsal(self._session.context, StatementRequest(arguments=arguments), changed=self._changed)
        match statement:
            case Query():
                return self._query(run, statement)
            case Explain():
                self._plan(statement.query, arguments)
            case Delete() | Update():
                _change(run, statement)
            case (
                CreateJob(statement=Query() as query)
                | ExplainJob(job=CreateJob(statement=CreateTable(query=Query() as query)))
            ):
                run.rows(run.read(query))
            case CreateJob():
                self._plan(statement.statement, arguments)
            case ExplainJob():
                self._plan(statement.job, arguments)
            case KillQuery() | ShowJobs() | DescribeJob() | CancelJob() | ResumeJob() | DropJob():
                pass
            case _:
                commands.dispatch(run, statement)
        return Verdict(CheckedLane.COMMAND, "not a query, done without Spark")

    def _query(self, run: StatementRun, query: Query) -> Verdict:
        """Return the verdict on a query. If the session can't run the query itself, raises the error that is
        the reason."""
        context = run.context
        if context.options.lane == Lane.SPARK:  # also without a Spark session here
            return Verdict(CheckedLane.SPARK, "SET sqlfront.lane = spark")
        if context.options.lane == Lane.DURABLE:
            run.bind(query)
            return Verdict(CheckedLane.DURABLE, "SET sqlfront.lane = durable")
        way = decide(replace(run.request, text=query.text, parsed=query), context)
        reason = way.reason
        if isinstance(way, LightWay):
            check_files(context, way.plan)
            unknown = {f"`{scan.name}`" for scan in scans_of(way.plan.bound) if self._is_outline(scan.table)}
            if unknown:
                reason = f"a job; how much {', '.join(sorted(unknown))} will hold isn't known here"
            elif context.options.lane != Lane.LIGHT and (
                large := too_large(way.plan.input_size, context.memory)
            ):
                return Verdict(CheckedLane.SPARK, large)
        elif way.lane is Lane.SPARK and (error := cast("ways.SparkWay", way).ours) is not None:
            raise error
        return Verdict(CheckedLane(way.lane), reason)

    def _is_outline(self, table: Table) -> bool:
        """Return whether it is unknown how many rows the table will have when the program runs."""
        if isinstance(table, CachedTable):
            return True
        return isinstance(table, OutlineTable) or any(table is changed for changed in self._changed)

    def _refused(self, text: str, error: Error) -> Verdict:
        """Return the verdict on a statement whose planning failed with ``error``: SPARK if Spark may run the
        statement, else ERROR."""
        reason = f"[{error.condition}] {error.message}" if error.condition else error.message
        reason = " ".join(reason.split())
        spark = self._session.spark
        if spark is None:
            why = None if is_about_jobs(text) else reason_after(error)
        else:
            why = None if spark.changes_own(text) else spark.reason_after(error)
        if self._session.options.keeps(text) or why is None:
            return Verdict(CheckedLane.ERROR, reason)
        self._elsewhere.note(text, error)
        return Verdict(CheckedLane.SPARK, reason)


class _Elsewhere:
    """The relations that the checked program makes by Python code, known by name only, and the relations of
    ``spark``, the Spark session beside which the program runs (None: unknown)."""

    def __init__(self, registered: Iterable[str], views: Iterable[str], spark: "Elsewhere | None") -> None:
        self._spark = spark
        self._registered = {name.lower() for name in registered}
        self._copies: set[str] = set()
        self._relations = {name.lower() for name in views}

    def has_view(self, name: str) -> bool:
        """Return whether Spark has a temporary view of this name. Raises NotKnownYet for a view that Python
        code registers."""
        if name.lower() in self._registered:
            raise NotKnownYet(f"the columns of `{name}` are unknown: Python code registers the view")
        return self._spark is not None and self._spark.has_view(name)

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the full name of the relation of Spark that a dotted name means; None if there is none. A
        relation that the program has made in Spark keeps the name as written. Raises NotKnownYet for a cached
        copy of a relation of Spark."""
        name = parts[-1].lower()
        if name in self._copies:
            raise NotKnownYet(
                f"the columns of `{name}` are unknown: the table is a copy of a relation of Spark"
            )
        if name in self._relations:
            return parts
        return None if self._spark is None else self._spark.whole_name(parts)

    def entry(self, parts: tuple[str, ...]) -> Entry:
        """Return the entry for the relation of Spark that a dotted name means. Raises NotKnownYet if the
        relation's columns are unknown here."""
        if self._spark is None or parts[-1].lower() in self._relations:
            raise NotKnownYet(f"the columns of `{parts[-1]}` are unknown: Spark has the relation")
        return self._spark.entry(parts)

    def note(self, text: str, error: Error) -> None:
        """Register the effects of a statement that Spark has to run because of ``error``: a relation that it
        creates is Spark's from now on; a copy that it caches is a relation with unknown columns."""
        place = lead(text)
        created = None if place is None else _CREATES.match(text, place[0])
        if created is not None:
            self._relations.add(last_part(created[1]).lower())
        elif error.condition == _NOT_FOUND or isinstance(error, NotSupportedError):
            statement = _parsed(text)
            if isinstance(statement, CacheTable):
                self._copies.add(last_part(statement.name).lower())


class _Rehearsal(StatementRun, frozen=True):
    """The run of a command that reads and writes no rows. ``changed`` collects the tables to which a real run
    would write."""

    changed: list[object] = msgspec.field(default_factory=list)

    def read(self, query: Query) -> LogicalPlan:
        """Return the query's bound plan, without the rows that a real run would read from Spark."""
        try:
            return self.bind(query)
        except FoundElsewhere:
            if self.context.spark is None:
                raise
            return mixed.rehearsed(self.context, query, self.arguments)

    def rows(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        """Plan the job that a real run would need, and return no rows. A plan that reads Spark's rows is not
        planned further, since that would read the rows."""
        if not any(isinstance(scan.table, SparkTable) for scan in scans_of(plan)):
            plan_logical(plan, self.context.settings, self.context.target)
        return iter(())

    def memory_table(self, definition: TableDefinition, backups: int | None = None) -> KeyedTable:
        """Make a table without rows (:class:`~sqlfront.check.outline.OutlineTable`) in place of the memory
        table that a real run would create."""
        return MemoryConnector(OutlineTable).create(definition)

    def store(self, table: InsertTarget, plan: LogicalPlan, *, overwrite: bool = False) -> int:
        """Plan the job that a real run would need, and add the table to ``changed``; return 0, the number of
        rows."""
        self.rows(plan)
        self.changed.append(table)
        return 0


def _change(run: StatementRun, statement: Delete | Update) -> None:
    """Plan a DELETE or UPDATE, without running it. Raises the errors that planning finds."""
    (_, table), plan = modifiable(run, statement), run.bind(statement.rows)
    run.rows(
        updated(plan, statement.assigned, statement.name, table.schema)
        if isinstance(statement, Update)
        else remaining(plan, table.schema)
    )


def _parsed(text: str) -> Statement | None:
    try:
        return parse(text)
    except Error:
        return None


def _inner(statement: Statement) -> Statement:
    """Return the statement that the job runs, for CREATE JOB and EXPLAIN CREATE JOB; any other statement is
    returned unchanged."""
    match statement:
        case CreateJob():
            return statement.statement
        case ExplainJob():
            return statement.job.statement
    return statement


def _queries(statement: Statement) -> Iterator[Query]:
    """Yield the statement if it is a query, else the queries in its fields."""
    if isinstance(statement, Query):
        yield statement
    elif isinstance(statement, Explain):
        yield statement.query
    else:
        for name in statement.__struct_fields__:
            part = getattr(statement, name)
            if isinstance(part, Query):
                yield part


def _key(name: str) -> int | str:
    """Return the key of a parameter's value in a mapping: the position for ``?``, else the name."""
    return name.position if isinstance(name, PositionalParameter) else name


def _arguments(keys: Iterable[int | str], known: Mapping[int | str, object], guess: object) -> Arguments:
    """Make arguments for the parameters with these keys: the ``known`` values, and ``guess`` for the unknown
    ones. The arguments are named if any key is a name, else positional."""
    keys = [*keys, *known]
    named = {key: known.get(key, guess) for key in keys if isinstance(key, str)}
    if named:
        return Arguments.of(named)
    count = 1 + max((key for key in keys if isinstance(key, int)), default=-1)
    return Arguments.of([known.get(place, guess) for place in range(count)])
