"""Lookups that an event loop runs itself, without a thread.

In: a statement that a task is about to run. Out: the statement with its plan, if the plan is known to wait
for nothing and to take microseconds; None in all doubtful cases, in which a thread runs the statement. A hop
to a thread and back takes three times as long as a lookup by key.

An event loop runs a row program (:mod:`sqlfront_engine.row_programs`) over tables of this process, in
versions that a thread has read before by the same program, so that nothing has to be parsed, planned, built
or read from elsewhere. A program that takes long nevertheless is left to threads from then on.
"""

import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from sqlfront.prepared import PreparedStatement
from sqlfront.results.result import Parameters, Result, RowsResult
from sqlfront.session import Session
from sqlfront.state.plans import Plan
from sqlfront_connectors.memory.table import MemoryTable
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.row_programs.keys import KeyParts
from sqlfront_planner.plan_cache import CachedPlan
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Cast, Expr, Literal, Parameter, RunValue, walk

#: Seconds that a lookup may take on an event loop. A plan of which more than every fifth lookup takes longer
#: rests, not one of a single long lookup: a busy machine makes any lookup long now and then.
MOST_SECONDS: Final = 0.001
_LONG: Final = 4
_MOST_LONG: Final = 12
#: The runs on threads for which a plan rests. A row program takes some ten milliseconds at most.
RESTS: Final = 500
#: Limits up to which it takes microseconds to look at a statement: values, and characters of each of them.
_MOST_VALUES: Final = 64
_LONGEST: Final = 4096
_SHORT: Final = frozenset((int, float, bool, type(None), Decimal, date, datetime))

_Cached: TypeAlias = CachedPlan[Plan]
#: A plan that was found, and the values of its parameters.
_Found: TypeAlias = tuple[_Cached, Sequence[object]]


class Declined(Exception):
    """The signal that a lookup on the event loop has failed, without any effect, so that a thread has to run
    the statement."""


class _Record(msgspec.Struct):
    """Facts about a plan, known from its runs: ``versions``, the versions of its tables that a thread has
    read by the plan; ``long``, a score that slow lookups increase and fast ones decrease; ``rests``, the
    number of runs on threads for which the event loop doesn't run the plan, since it was slow too often."""

    versions: tuple[int, ...] = ()
    long: int = 0
    rests: int = 0

    def judge(self, seconds: float) -> None:
        """Count a lookup by this plan that took ``seconds`` on an event loop. If too many lookups were slow,
        only threads run the plan for the next ``RESTS`` runs."""
        if seconds <= MOST_SECONDS:
            self.long = max(0, self.long - 1)
            return
        self.long += _LONG
        if self.long >= _MOST_LONG:
            self.versions, self.long, self.rests = (), 0, RESTS


class Lookups:
    """The statements of one session that an event loop may run itself, because their plans are known to be
    row programs over tables in memory, which take microseconds and wait for nothing. All methods are safe to
    call from any thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records: WeakKeyDictionary[_Cached, _Record] = WeakKeyDictionary()

    def find(self, operation: str | PreparedStatement, parameters: Parameters | None) -> "KnownLookup | None":
        """Return the statement with its plan and values if the event loop may run it; None if a thread has to
        run it."""
        if not self._records:
            return None
        found = self._plan(operation, parameters, self.is_ready)
        return None if found is None else KnownLookup(self, operation, self._records[found[0]], *found)

    def reading(
        self, operation: str | PreparedStatement, parameters: Parameters | None
    ) -> "ThreadReading | None":
        """Return the current versions of the tables that the statement's plan reads; to be called before a
        thread runs the statement, and passed to :meth:`learn` afterwards. Return None if the plan isn't in
        the cache, or can never run on an event loop."""
        found = self._plan(operation, parameters, _never_waits)
        if found is None:
            return None
        cached, _ = found
        if isinstance(operation, str):
            cached.hits -= 1  # the thread finds the plan once more
        return ThreadReading(cached, _versions(cached.plan))

    def learn(self, reading: "ThreadReading") -> None:
        """Record that a thread has read the tables in the versions that ``reading`` has, so that the event
        loop may run the plan as long as these versions are current."""
        record = self._records.setdefault(reading.cached, _Record())
        if record.rests:
            record.rests -= 1
        else:
            record.versions = reading.versions

    def run(self, lookup: "KnownLookup", query: QueryRun | None) -> Result:
        """Run a lookup on the calling thread, the event loop's, and return its result. Raises Declined if the
        lookup fails for any reason: the caller then runs the statement on a thread, as usual."""
        plan, values = lookup.cached.plan, lookup.values
        assert isinstance(plan, RowPlan)
        settings, began = self._session.settings, time.perf_counter()
        try:
            rows = plan.rows(values, settings, query)
        except Exception as error:
            raise Declined from error
        seconds = time.perf_counter() - began
        lookup.record.judge(seconds)
        return RowsResult(plan, values, rows, settings, seconds)

    def _plan(
        self,
        operation: str | PreparedStatement,
        parameters: Parameters | None,
        accept: Callable[[_Cached], bool],
    ) -> _Found | None:
        """Return the statement's plan from the cache, and the values of the plan's parameters; None if there
        is no plan for which ``accept`` returns True, or if the statement isn't fit for an event loop. Takes
        microseconds."""
        session, context = self._session, self._session.context
        if context.spark is not None or context.bases or context.observer is not None or session.closed:
            return None
        if not _is_short(operation, parameters):
            return None
        try:
            arguments = session.arguments(parameters)
        except Error:  # the thread raises it
            return None
        if isinstance(operation, str):
            found = context.plans.find(operation, arguments, context.plan_key, context.catalog, accept)
        else:
            found = operation.held_plan(arguments, accept)
        if found is None:
            return None
        cached, literals = found
        return cached, (*arguments.values, *literals) if literals else arguments.values

    def is_ready(self, cached: _Cached) -> bool:
        """Return whether the event loop may run the plan ``cached`` now: a thread has run it before, and the
        tables still have the versions that the thread has read, so that their rows are in memory."""
        record = self._records.get(cached)
        if record is None or cached.catalog_version != self._session.context.catalog.version:
            return False
        return bool(record.versions) and record.versions == _versions(cached.plan)


class ThreadReading(msgspec.Struct, frozen=True):
    """The ``versions`` of the tables that the plan ``cached`` reads, noted before a thread runs the plan."""

    cached: _Cached
    versions: tuple[int, ...]


class KnownLookup:
    """A statement with its plan and the values of the plan's parameters, to be run on the event loop. A
    cursor accepts this object instead of a prepared statement."""

    __slots__ = ("_lookups", "cached", "record", "text", "values")

    def __init__(
        self,
        lookups: Lookups,
        operation: str | PreparedStatement,
        record: _Record,
        cached: _Cached,
        values: Sequence[object],
    ) -> None:
        self._lookups = lookups
        self.record = record
        #: The statement's text.
        self.text = operation if isinstance(operation, str) else operation.text
        self.cached = cached
        self.values = values

    def execute(
        self,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> Result:
        """Run the statement on the calling thread, the event loop's, and return its result. ``parameters``
        and ``timeout`` are ignored: the object holds the values, and no such statement runs long enough for a
        timeout. Raises Declined if the run fails for any reason, so that the caller runs the statement on a
        thread."""
        return self._lookups.run(self, query)


def _is_short(operation: str | PreparedStatement, parameters: Parameters | None) -> bool:
    """Return whether the text and the values are so short and few that examining them takes microseconds."""
    if isinstance(operation, str) and len(operation) > _LONGEST:
        return False
    if parameters is None:
        return True
    if not isinstance(parameters, (list, tuple, dict)) or len(parameters) > _MOST_VALUES:
        return False
    for value in parameters.values() if isinstance(parameters, dict) else parameters:
        kind = type(value)
        if kind not in _SHORT and (kind not in (str, bytes) or len(value) > _LONGEST):
            return False
    return True


def _never_waits(cached: _Cached) -> bool:
    """Return whether the plan is a row program that reads only memory tables of this process, by key or
    completely, and whose constants are given values."""
    plan = cached.plan
    return (
        isinstance(plan, RowPlan)
        and all(type(source.table) is MemoryTable for source in plan.sources)
        and all(type(small.table) is MemoryTable for small in plan.tables)
        and all(source.keys is None or isinstance(source.keys, KeyParts) for source in plan.sources)
        and all(map(_is_plain, plan.constants))
    )


def _is_plain(constant: Expr) -> bool:
    """Return whether the constant is a literal, a parameter or a value of the run, perhaps cast to another
    type."""
    return all(isinstance(item, (Cast, Literal, Parameter, RunValue)) for item in walk(constant))


def _versions(plan: Plan) -> tuple[int, ...]:
    """Return the current versions of the tables that a row plan reads, after a leading 0, so that the result
    is never an empty tuple."""
    assert isinstance(plan, RowPlan)
    read = [each.table.snapshot().version for each in plan.sources]
    return (0, *read, *[each.table.snapshot().version for each in plan.tables])
