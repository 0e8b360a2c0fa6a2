"""The Spark lane: statements that Spark runs, because it has the tables, or because sqlfront can't run them.

sqlfront tries each statement first. Spark runs a statement that reads relations that only Spark has, that the
planner doesn't cover, that needs more memory than the members have, or that a setting assigns to Spark; but
no statement of which sqlfront has already delivered a row. While Spark runs a statement, tables and views
that only sqlfront knows are temporary views of Spark's.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands import copies
from sqlfront.commands.run import StatementRun, scans_of
from sqlfront.information_schema.schemas import is_system_table
from sqlfront.lanes.request import FOR_SPARK, Cause, Replan, StatementRequest
from sqlfront.lanes.way import Way
from sqlfront.results.python_values import rows_batch
from sqlfront.results.result import Result, Statistics
from sqlfront.spark.copies import has, is_current, origin, origin_of
from sqlfront.spark.copying.copier import Copier
from sqlfront.spark.known import SparkNameCache, reads_here
from sqlfront.spark.lent import LentRelations, words_of
from sqlfront.spark.mixed import fetched, given, mixed_query
from sqlfront.spark.reasons import is_unknown_column, reason_after, too_large
from sqlfront.spark.start import SparkStart
from sqlfront.spark.ways import MixedWay, SparkWay, StartWay
from sqlfront.state.options import TIME_ZONE
from sqlfront.state.same_answers import first_other
from sqlfront.state.spark_beside import CopyCost
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_connectors.spark.types import quoted
from sqlfront_planner.binder import Arguments, bind
from sqlfront_planner.catalog import Entry, FoundElsewhere, TableEntry
from sqlfront_planner.lanes import Lane
from sqlfront_planner.relation_details import RelationDetails
from sqlfront_planner.statement import is_about_jobs, is_query
from sqlfront_planner.statements.dotted_names import WRITTEN_NAME, name_parts
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import Query
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.errors import DataError, Error, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import VOID

if TYPE_CHECKING:
    from sqlfront.results.result import Parameters
    from sqlfront.state.context import Context
    from sqlfront_connectors.files.table_files import TableFiles
    from sqlfront_connectors.spark import file_tables
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.run import SparkRun
    from sqlfront_planner.logical import LogicalPlan
else:
    file_tables = lazy_module("sqlfront_connectors.spark.file_tables")


def _beginning(words: str) -> re.Pattern[str]:
    """Return a pattern that matches the beginning of a text with ``words``, a regular expression in which
    each space stands for blanks and comments. Case doesn't matter; blanks and comments may precede the
    words."""
    gap = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)"
    return re.compile(f"{gap}*{words.replace(' ', f'{gap}+')}", re.IGNORECASE | re.DOTALL)


#: Pattern of the words behind INSERT OVERWRITE that make a directory the target.
_DIRECTORY: Final = r" (?:LOCAL )?DIRECTORY(?: )?(?:r?['\"]|[?:]|USING\b)"
#: Pattern of statements that change a relation; the group is the relation's name.
_TARGET: Final = _beginning(
    rf"(?:INSERT (?:INTO|OVERWRITE(?!{_DIRECTORY}))(?: TABLE)?|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE TABLE"
    r"|ALTER (?:TABLE|VIEW)|DROP (?:TABLE|VIEW)(?: IF EXISTS)?"
    r"|CREATE (?:OR REPLACE )?(?:TEMP(?:ORARY)? |EXTERNAL )?(?:TABLE|VIEW)(?: IF NOT EXISTS)?"
    rf") ({WRITTEN_NAME})"
)
#: Pattern of statements that change the current database.
_USE: Final = _beginning(r"USE\b")
#: Pattern of statements that show a query's plan.
_EXPLAIN: Final = _beginning(r"EXPLAIN\b")

#: Seconds that remain of an expired timeout: as good as none, but positive, as a timeout has to be.
_AT_ONCE: Final = 0.001


class NotStarted(FoundElsewhere):
    """The error for a name that only Spark can resolve, while the Spark session isn't started."""


class SparkLane:
    """The Spark lane of one session: runs statements by the Spark session, and answers questions about
    Spark's names. Implements :class:`~sqlfront.state.spark_beside.SparkBeside`. Safe to use from several
    threads."""

    def __init__(self, start: SparkStart) -> None:
        self._start = start
        # The setting that makes sqlfront's answers differ from Spark's; None if the answers are the same.
        self._other_answers = first_other(start.options)
        #: Whether only Spark knows the time zone; Spark then has to format timestamps itself.
        self.has_own_zone = False

    def join(self, context: "Context") -> None:
        """Set the context of the session that this lane belongs to. Has to be called once, before any other
        method."""
        self._context = context
        self._lent = LentRelations(context, self)
        self._copier = Copier(self, context)
        zone = self._start.options.get(TIME_ZONE)
        if zone is not None:
            self._take_time_zone(zone)

    @property
    def link(self) -> "SparkLink":
        """The link to the Spark session, through which calls to Spark go. Raises :class:`NotStarted` if the
        Spark session isn't started."""
        return self._present("the statement asks for names of Spark").link

    def _present(self, why: str) -> SparkNameCache:
        known = self._start.known
        if known is None:
            raise NotStarted(why)
        return known

    @property
    def is_started(self) -> bool:
        """Whether the Spark session exists: it was given, or is started."""
        return self._start.known is not None

    def ready(self, why: str) -> "SparkLink":
        """Return the link to the Spark session, which is started if needed. ``why``: the purpose for which
        Spark is needed, for the message of the OperationalError if Spark can't be started. Neither a timeout
        nor a cancellation ends the wait; for statements there is :meth:`start`."""
        return self._start.wait(why).link

    @property
    def other_answers(self) -> str | None:
        """The setting that makes Spark's answers differ from sqlfront's, with its value, in words; None if
        the answers are the same."""
        return self._other_answers

    # ---- names

    def has_view(self, name: str) -> bool:
        """Return whether Spark has a temporary view of this name. False if this session has a copy of the
        view (CACHE TABLE), which hides the view."""
        known = self._start.known
        if known is None:  # a new session has no views
            return False
        return known.has_view(name) and origin_of(self._context.catalog.own((name,))) is None

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the full name (catalog, database and name, in parts) of the relation of Spark's that a
        dotted name stands for; None if Spark has no such relation, or sqlfront resolves the name. Raises
        :class:`NotStarted` if the Spark session isn't started."""
        if reads_here(parts):
            return None
        return self._present(f"`{'.'.join(parts)}` is none of this session's tables").whole_name(parts)

    def drop_view(self, name: str) -> bool:
        """Drop the temporary view of Spark's with this name, and CACHE TABLE's copy of it in this session, if
        any. Return whether Spark had the view."""
        known = self._start.known
        if known is None or not known.drop_view(name):
            return False
        copy = self._context.catalog.own((name,))
        if isinstance(copy, TableEntry) and origin_of(copy) is not None:
            copies.let_go(StatementRun(self._context), (copy,))
        return True

    @property
    def is_settled(self) -> bool:
        """Whether plans that sqlfront made are still valid: Spark's names and settings have not changed
        since, and no setting sends all queries to Spark."""
        known = self._start.known
        return (known is None or not known.is_outdated) and self._reason_for_queries() is None

    def _follow(self, known: SparkNameCache) -> None:
        """Adapt the session to changes in Spark, which ``known`` has read: take over time zone and current
        database, make the plans of old names invalid, and drop copies whose rows have changed in Spark."""
        context = self._context
        self._other_answers, self.has_own_zone = known.other_answers, False
        if context.options.settings.time_zone != known.time_zone:
            self._take_time_zone(known.time_zone)
        if (context.settings.catalog, context.settings.database) != known.database:
            context.options.use(*known.database)
        context.catalog.touch()
        for entry in context.catalog.entries():
            table = origin_of(entry)
            if isinstance(entry, TableEntry) and table is not None and not is_current(table):
                copies.let_go(StatementRun(context), (entry,))

    def _take_time_zone(self, name: str) -> None:
        try:
            self._context.options.set(TIME_ZONE, name)
        except Error:  # a zone such as `SystemV/PST8`
            self.has_own_zone = True
            self._other_answers = f"{TIME_ZONE} is {name}"

    # ---- copies

    def origin(self, entry: Entry | None) -> SparkTable | None:
        """Return the table of Spark's of which the entry is CACHE TABLE's copy; None for other entries."""
        return origin_of(entry)

    def has(self, entry: Entry) -> bool:
        """Return whether the entry is CACHE TABLE's copy of a named table or view of Spark's; False for the
        copy of a query."""
        return has(entry)

    def tables(
        self, request: StatementRequest, database: str | None, kind: str = "TABLES"
    ) -> list[tuple[str, str, bool]]:
        """Return Spark's tables and views in ``database`` (None = Spark's current database), or with ``kind``
        VIEWS only its views: each as database, name, and whether it is temporary. Spark is started if needed,
        within the timeout of the statement of ``request``."""
        self.start(request, "the statement asks for the tables of Spark")
        return self.link.tables(database, kind)

    @property
    def epoch(self) -> object:
        """An object that stands for the state of Spark's names and settings: another object after each change
        that was noticed; None before Spark is started."""
        known = self._start.known
        return None if known is None else known.epoch

    def copied(self, parts: tuple[str, ...]) -> CopyCost:
        """Return the cost of a copy of Spark's relation with this dotted name in the members' memory (CACHE
        TABLE): the bytes by Spark's estimate, and whether sqlfront notices changes; nothing is copied. Raises
        Spark's errors, and NotSupportedError for a relation of unknown size or with columns that sqlfront
        can't read."""
        table = self.entry(parts).table
        assert isinstance(table, SparkTable)
        snapshot = table.snapshot()
        size = snapshot.statistics.size
        if size is None:
            raise NotSupportedError(f"the size of `{'.'.join(parts)}` isn't known")
        return CopyCost(size, self.link.is_followed(snapshot.frame))

    def entry(self, parts: tuple[str, ...]) -> TableEntry:
        """Return Spark's relation of a dotted name, as an entry whose rows sqlfront can read. Raises
        TABLE_OR_VIEW_NOT_FOUND if Spark has no such relation."""
        whole = self.whole_name(parts) or parts
        reference = ".".join(map(quoted, whole))
        table = SparkTable(whole[-1], self.link, lambda: self.link.table(whole), reference=reference)
        details = RelationDetails(
            column_comments=tuple((path[0], text) for path, text in table.comments if len(path) == 1),
            field_comments=tuple(sorted((path, text) for path, text in table.comments if len(path) > 1)),
        )
        return TableEntry(whole[-1], table, temporary=True, database=whole[:-1], details=details)

    def table_files(self, parts: tuple[str, ...]) -> "TableFiles | None":
        """Return the description of a table of Spark, by which a writer can put rows into the table's files;
        None if ``parts``, the parts of a dotted name, name a relation of this session, or no relation. Raises
        NotSupportedError for a relation into which only Spark can put rows, and if a setting makes Spark's
        INSERT differ from sqlfront's."""
        is_view = len(parts) == 1 and self.has_view(parts[0])
        own = self._context.catalog.own(parts)
        if own is not None and origin_of(own) is None and not is_view:
            return None
        whole = parts if is_view else self.whole_name(parts)
        if whole is None:
            return None
        if self._other_answers is not None:
            raise NotSupportedError(f"a durable job into a table of Spark while {self._other_answers}")
        return file_tables.table_files(self.link, whole)

    def query(self, name: str, text: str) -> TableEntry:
        """Return a catalog entry called ``name`` whose rows are those of the query ``text``, which Spark
        runs. The entry is not added to the catalog: CACHE TABLE copies its rows."""
        table = SparkTable(
            name,
            self.link,
            lambda: self.link.analysed(text, None, self._lent.views_of(text)),
            reference=f"({text})",
            named=False,
        )
        return TableEntry(name, table, temporary=True)

    def check_view(self, plan: "LogicalPlan") -> None:
        """Raise FoundElsewhere, so that Spark creates the view, if the plan of a new view reads CACHE TABLE's
        copy of a table or view of Spark's."""
        for scan in scans_of(plan):
            table = origin(scan.table)
            if table is not None and table.named:
                raise FoundElsewhere(f"`{scan.name}` is a copy of a relation of Spark")

    def columns_of(self, text: str) -> Sequence[str] | None:
        """Return the column names of the query ``text`` of a new temporary view, if the view has to be this
        session's: only Spark can run the query, but the text may name relations that only this session has.
        Return None if the view can be Spark's, since the text names no such relation, or if ``SET
        sqlfront.lane = light`` keeps all queries from Spark."""
        if self._context.options.lane == Lane.LIGHT or not self.may_read_here(text):
            return None
        schema = self.link.describe(text, views=self._lent.views_of(text))
        return None if schema is None else schema.names

    # ---- which way

    def way(self, request: StatementRequest, replan: Replan | None) -> Way | None:
        """Return the way by which Spark runs a statement, if the text or a setting demands Spark whatever
        relations the statement reads, or if ``replan`` says that Spark has to run the statement; None if
        sqlfront has to try the statement first. ``replan``: the outcome of the way tried before, None = no
        way was tried."""
        match replan:
            case Replan(Cause.FOR_SPARK):
                return self._way_by_spark(request, replan.reason, replan.error, may_copy=True)
            case Replan(Cause.SPARK_NEEDED):
                return StartWay(self, replan.reason)
        reason = self.reason_before(request.text)
        return None if reason is None else SparkWay(self, reason)

    def way_after(self, error: Error, request: StatementRequest, replan: Replan | None) -> Way:
        """Return the way, in the Spark or mixed lane, of a statement that sqlfront can't plan because of
        ``error``. ``replan``: the outcome of the way tried before, None = no way was tried. Raises ``error``
        if Spark can't help, or must not run the statement."""
        found = self.replan_after(error, request)
        if found.cause is Cause.SPARK_NEEDED:
            return StartWay(self, found.reason)
        may_copy = replan is None or replan.cause is not Cause.COPIED
        return self._way_by_spark(request, found.reason, found.error, may_copy=may_copy)

    def replan_after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan that sends a statement to Spark after it has failed in sqlfront with ``error``.
        Raises ``error`` if Spark can't help, or must not run the statement."""
        if isinstance(error, NotStarted):
            return Replan(Cause.SPARK_NEEDED, error.message)
        if not isinstance(error, FOR_SPARK):
            raise error
        reason = self.reason_after(error)
        if reason is None or self.changes_own(request.text) or self._context.options.keeps(request.text):
            raise error
        # Without its frames, which hold the statement's result and would be held by it.
        return Replan(Cause.FOR_SPARK, reason, error.with_traceback(None))

    def _way_by_spark(
        self, request: StatementRequest, reason: str, error: Error | None, *, may_copy: bool
    ) -> Way:
        """Return the way of a statement that sqlfront can't run for the ``reason``, after ``error`` (None:
        none was raised). A query over tables of both sessions goes the mixed way if Spark sends few enough
        bytes for it; any other statement is run by Spark, with advice about copies in the reason or, if
        ``may_copy``, after copies were made. Raises the OperationalError of a mixed query that Spark should
        not run either."""
        text = request.text
        if not isinstance(error, FoundElsewhere) or not is_query(text):
            return SparkWay(self, reason, error)
        if not self.may_read_here(text):
            return self._copier.way(request, SparkWay(self, reason, error), may_copy=may_copy)
        try:
            mixed = mixed_query(self._context, request.parsed or parse_query(text), request.arguments)
            mixed.check()
        except DataError:
            return SparkWay(self, reason, error)
        except FOR_SPARK as later:
            return SparkWay(self, self.reason_for_whole(later, reason), later.with_traceback(None))
        return MixedWay(self, self._context, mixed, reason)

    def reason_for_whole(self, error: Error, reason: str) -> str:
        """Return the reason why Spark should run a whole query whose mixed way ended with ``error``;
        ``reason`` is the reason why sqlfront alone doesn't run the query. Raises ``error`` if Spark should
        not run the query."""
        later = self.reason_after(error)
        if later is None and isinstance(error, OperationalError):
            raise error
        return later or reason

    def start(self, request: StatementRequest, why: str) -> None:
        """Start Spark, unless it is started, and wait until it is ready. ``why``: the purpose for which Spark
        is needed, for the message of an error. Raises OperationalError if Spark can't be started, or if the
        statement is cancelled or exceeds its timeout first."""
        wait = partial(self._start.wait, why, self._context.limit(request), request.query)
        if request.observation is None:
            wait()
        else:
            request.observation.in_wait(wait)

    def _remaining(self, request: StatementRequest) -> float | None:
        """Return the seconds that the request's timeout leaves for running the statement in Spark, at least a
        moment; None = no limit."""
        context, query = self._context, request.query
        limit = context.limit(request)
        if limit is None or query is None:
            return limit
        return max(_AT_ONCE, limit - (context.engine.clock.now() - query.began))

    def may_read_here(self, text: str) -> bool:
        """Return whether the text contains a word that is the name of a relation of this session, so that the
        statement may read the relation; the word may also stand for something else."""
        names = {entry.name.lower() for entry in self._context.catalog.entries()}
        return not names.isdisjoint(words_of(text))

    def reason_before(self, text: str) -> str | None:
        """Return the reason why Spark has to run a statement whatever relations the statement reads; None
        without a reason. If Spark's names or settings have changed, the session adapts to the changes first.
        """
        known = self._start.known
        if known is not None and known.is_outdated:
            known.settle(partial(self._follow, known))
        if not is_query(text):
            return self._reason_for_command(text)
        return None if self._context.options.keeps(text) else self._reason_for_query(text)

    def _reason_for_query(self, text: str) -> str | None:
        """Return the reason why Spark has to run this query, whatever relations it reads: a reason for all
        queries, or a ``${...}`` in the text, which Spark substitutes. None without a reason."""
        reason = self._reason_for_queries()
        if reason is None and "${" in text and self._context.options.lane != Lane.LIGHT:
            return "Spark puts values of settings in the place of ${...}"
        return reason

    def _reason_for_queries(self) -> str | None:
        """Return the reason why Spark has to run all queries: SET sqlfront.lane, or a setting of Spark under
        which its answers differ from sqlfront's. None without a reason."""
        lane = self._context.options.lane
        if lane == Lane.SPARK:
            return "SET sqlfront.lane = spark"
        return None if lane == Lane.LIGHT else self._other_answers

    def _reason_for_command(self, text: str) -> str | None:
        """Return the reason why Spark has to run a statement other than a query, known from its text: the
        statement changes the current database, or a relation of Spark's of which this session has a copy.
        None without a reason: sqlfront tries the statement first."""
        if _USE.match(text) and self._start.known is not None:
            return "the current database is Spark's, too"
        copy = self.copy_changed_by(text)
        return None if copy is None else f"`{copy.name}` is a copy of a relation of Spark"

    def copy_changed_by(self, text: str) -> TableEntry | None:
        """Return the catalog's entry of the table that the statement ``text`` changes, such as an INSERT's,
        if this table is a copy of a relation of Spark's; else None."""
        target = _TARGET.match(text)
        if target is None:
            return None
        try:
            entry = self._context.catalog.lookup(name_parts(target[1]))
        except FoundElsewhere:
            return None
        return entry if isinstance(entry, TableEntry) and has(entry) else None

    def changes_own(self, text: str) -> bool:
        """Return whether Spark can't run a statement because it is about durable jobs, or changes a relation
        that only sqlfront has, such as a system table."""
        if is_about_jobs(text):
            return True
        target = _TARGET.match(text)
        if target is None:
            return False
        parts = name_parts(target[1])
        own = self._context.catalog.own(parts)
        return is_system_table(parts) or (own is not None and origin_of(own) is None)

    def reason_after(self, error: Error) -> str | None:
        """Return the reason why Spark should run a statement that failed in sqlfront with ``error``; None if
        Spark should not."""
        if self._context.options.lane == Lane.LIGHT:
            return None
        known = self._start.known
        if is_unknown_column(error) and known is not None and known.link.has_variables:
            return error.message
        return reason_after(error)

    def check_size(self, size: float) -> None:
        """Raise NotSupportedError if a job's tables, of about ``size`` bytes, are larger than the members'
        memory, so that Spark should run the query. No error if a setting keeps all queries from Spark."""
        context = self._context
        reason = too_large(size, context.memory)
        if reason is not None and context.options.lane != Lane.LIGHT:
            raise NotSupportedError(reason)

    def set_option(self, key: str, value: str) -> None:
        """Set a setting of this session in Spark, too, if the key begins with ``spark.`` and Spark is
        started."""
        if key.startswith("spark.") and self._start.known is not None:  # else set at Spark's start
            self.link.set(key, value)

    def reset_option(self, key: str | None) -> None:
        """Set a setting of Spark's, whose key begins with ``spark.``, or all if ``key`` is None, to the value
        at Spark's start, if Spark is started."""
        if (key is None or key.startswith("spark.")) and self._start.known is not None:
            self.link.reset(key)

    # ---- Spark's turn

    def run(self, request: StatementRequest, reason: str) -> Result:
        """Run a statement by Spark, which is started if needed, and return Spark's result. ``reason``: the
        reason for the Spark lane, which the result shows."""
        began = time.perf_counter()
        begun = self._begin(request.text, request, reason)
        schema, rows = begun.schema, begun.batches()
        if _EXPLAIN.match(request.text):
            rows = _explained(schema, rows, reason)
        statistics = Statistics(Lane.SPARK, reason, time.perf_counter() - began)
        context = self._context
        return Result(schema, rows, statistics, settings=context.settings, job=begun, owner=context)

    def run_with(
        self, parameters: "Parameters", request: StatementRequest, error: ProgrammingError
    ) -> Result:
        """Run the statement of ``request`` by Spark with ``parameters`` that sqlfront doesn't support, and
        return Spark's result. Raises ``error``, sqlfront's error about the parameters, if Spark must not run
        the statement."""
        text = request.text
        if self._context.options.keeps(text) or self.changes_own(text):
            raise error
        reason = self.reason_before(text) or error.message
        names = tuple(parameters) if isinstance(parameters, Mapping) else None
        values = tuple(parameters.values() if isinstance(parameters, Mapping) else parameters)
        arguments = Arguments(values, (VOID,) * len(values), names)
        if request.observation is not None:
            request.observation.runs(SparkWay(self, reason))
        return self.run(replace(request, arguments=arguments), reason)

    def read(self, request: StatementRequest, query: Query) -> "LogicalPlan":
        """Return the logical plan of a query whose rows a statement that sqlfront runs takes, such as INSERT.
        Rows of Spark's relations are fetched from Spark now, and the plan reads the fetched rows. Raises
        NotSupportedError if Spark would give more bytes than the members' memory holds."""
        reason = self._reason_for_query(query.text)
        if reason is None:
            try:
                return self._read_here(request, query)
            except NotStarted:
                raise
            except (NotSupportedError, ProgrammingError) as error:
                reason = self.reason_after(error)
                if reason is None:
                    raise
        return given(self._begin(query.text, request, reason), self._context.memory)

    def _read_here(self, request: StatementRequest, query: Query) -> "LogicalPlan":
        context = self._context
        try:
            return bind(query, context.catalog, context.bind_settings, request.arguments)
        except FoundElsewhere:
            bound = bind(query, context.catalog.with_elsewhere(), context.bind_settings, request.arguments)
            return fetched(context, request, bound, self.link)

    def here(self, request: StatementRequest, plan: "LogicalPlan") -> "LogicalPlan":
        """Return a bound logical plan with rows that are fetched from Spark now in place of the scans of
        Spark's relations, for a statement that sqlfront runs, such as MERGE; ``plan`` itself if it scans no
        relation of Spark's. Raises NotSupportedError if Spark would give more bytes than the members' memory
        holds, and Spark's errors."""
        if not any(isinstance(scan.table, SparkTable) for scan in scans_of(plan)):
            return plan
        return fetched(self._context, request, plan, self.link)

    def _begin(self, text: str, request: StatementRequest, reason: str) -> "SparkRun":
        """Begin to run ``text`` in Spark with the request's parameters and remaining time, and return the
        run. Spark is started if needed; ``reason`` says what for."""
        self.start(request, reason)
        arguments = request.arguments
        values: Mapping[str, object] | Sequence[object] = arguments.values
        if arguments.names is not None:
            values = dict(zip(arguments.names, arguments.values, strict=True))
        views = self._lent.views_of(text)
        return self.link.run(text, values, views=views, timeout=self._remaining(request), query=request.query)


def _explained(schema: pa.Schema, rows: Iterator[pa.RecordBatch], reason: str) -> Iterator[pa.RecordBatch]:
    """Yield Spark's answer to EXPLAIN with a first line for the lane and the reason, as EXPLAIN of sqlfront
    has it."""
    for batch in rows:
        texts = [f"lane: {Lane.SPARK} ({reason})\n{text}" for text in to_python(batch.column(0))]
        yield rows_batch(schema, [(text,) for text in texts])
