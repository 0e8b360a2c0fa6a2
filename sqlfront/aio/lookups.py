"""Lookups that an event loop runs itself, without a thread.

In: a statement that a task is about to run. Out: the statement with its plan, if the plan is known to wait
for nothing and to take microseconds; None, at the least doubt, for a thread. A hop to a thread and back takes
three times as long as a lookup by key.

An event loop runs a row program (:mod:`sqlfront_engine.row_programs`) over tables of this process, of
versions that a thread has read by the same program: nothing is parsed, planned, built or read from elsewhere
then. A program that nevertheless takes long is left to threads from then on.
"""

import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from sqlfront.results.result import Parameters, Result, RowsResult
from sqlfront.session import PreparedStatement, Session
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
    """The signal that a thread has to run the statement, of which no trace is left."""


class _Record(msgspec.Struct):
    """The experience with a plan: the ``versions`` of its tables that a thread has read by the plan; a count
    of lookups that took ``long``, from which others are taken off; the runs on threads for which the plan
    ``rests``."""

    versions: tuple[int, ...] = ()
    long: int = 0
    rests: int = 0

    def judge(self, seconds: float) -> None:
        """Count a lookup on an event loop, which took so many seconds."""
        if seconds <= MOST_SECONDS:
            self.long = max(0, self.long - 1)
            return
        self.long += _LONG
        if self.long >= _MOST_LONG:
            self.versions, self.long, self.rests = (), 0, RESTS


class Lookups:
    """The lookups of one session that an event loop may run. Any thread may call the methods."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._records: WeakKeyDictionary[_Cached, _Record] = WeakKeyDictionary()

    def find(self, operation: str | PreparedStatement, parameters: Parameters | None) -> "KnownLookup | None":
        """Return the statement with its plan if an event loop may run it; None if a thread has to."""
        if not self._records:
            return None
        found = self._plan(operation, parameters, self.is_ready)
        return None if found is None else KnownLookup(self, operation, self._records[found[0]], *found)

    def reading(
        self, operation: str | PreparedStatement, parameters: Parameters | None
    ) -> "ThreadReading | None":
        """Return the versions that a thread is about to read by the statement's plan; None if the plan isn't
        known, or isn't for event loops."""
        found = self._plan(operation, parameters, _never_waits)
        if found is None:
            return None
        cached, _ = found
        if isinstance(operation, str):
            cached.hits -= 1  # the thread finds the plan once more
        return ThreadReading(cached, _versions(cached.plan))

    def learn(self, reading: "ThreadReading") -> None:
        """Record that a thread has read."""
        record = self._records.setdefault(reading.cached, _Record())
        if record.rests:
            record.rests -= 1
        else:
            record.versions = reading.versions

    def run(self, lookup: "KnownLookup", query: QueryRun | None) -> Result:
        """Run a lookup, and return its result. Raises Declined if the lookup fails: a thread then runs the
        statement again, and raises the statement's error or runs the statement as a job."""
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
        """Return the statement's plan if it is known and accepted, and the values of its parameters. Takes
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
        """Whether a lookup by the plan finds all that it needs in memory."""
        record = self._records.get(cached)
        if record is None or cached.catalog_version != self._session.context.catalog.version:
            return False
        return bool(record.versions) and record.versions == _versions(cached.plan)


class ThreadReading(msgspec.Struct, frozen=True):
    """The versions of the tables of a ``cached`` plan that a thread reads."""

    cached: _Cached
    versions: tuple[int, ...]


class KnownLookup:
    """A statement with its plan and the values of the plan's parameters. A cursor takes it in place of a
    prepared statement."""

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
        """Run the lookup with the values that it was found with; see :meth:`Lookups.run`. No lookup is so
        long that a timeout would end it."""
        return self._lookups.run(self, query)


def _is_short(operation: str | PreparedStatement, parameters: Parameters | None) -> bool:
    """Whether text and values are so few and small that looking at them takes microseconds."""
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
    """Whether runs by the plan compute and read nothing but rows of tables in this process, by key or all of
    a small table."""
    plan = cached.plan
    return (
        isinstance(plan, RowPlan)
        and all(type(source.table) is MemoryTable for source in plan.sources)
        and all(type(small.table) is MemoryTable for small in plan.tables)
        and all(source.keys is None or isinstance(source.keys, KeyParts) for source in plan.sources)
        and all(map(_is_plain, plan.constants))
    )


def _is_plain(constant: Expr) -> bool:
    """Whether the constant is a given value, perhaps of another type."""
    return all(isinstance(item, (Cast, Literal, Parameter, RunValue)) for item in walk(constant))


def _versions(plan: Plan) -> tuple[int, ...]:
    """The current versions of the tables that a row plan reads, and a first number, so that no versions are
    told from versions of no table."""
    assert isinstance(plan, RowPlan)
    read = [each.table.snapshot().version for each in plan.sources]
    return (0, *read, *[each.table.snapshot().version for each in plan.tables])
