"""A statement's facts for operators, from its beginning to its end."""

import time
from collections.abc import Callable, Sequence
from enum import Enum, IntEnum
from threading import Lock
from typing import Final, Protocol, TypeVar

import msgspec

from sqlfront.observability import masking
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.errors import Error


class StatementState(Enum):
    """The state of an observed statement."""

    RUNNING = "running"
    """The statement runs, or its result has rows left to read."""
    FINISHED = "finished"
    """The statement has ended, and its last row was given."""
    CLOSED = "closed"
    """The result was closed or dropped before its last row was given."""
    FAILED = "failed"
    """The statement ended with an error."""
    CANCELLED = "cancelled"
    """The statement was cancelled, by its user, by KILL QUERY or by Ctrl-C."""
    TIMED_OUT = "timed out"
    """The statement exceeded its timeout."""


class Phase(IntEnum):
    """The phases into which an observation divides a statement's time."""

    PARSE = 0
    """The text becomes a statement."""
    PLAN = 1
    """The way and the plan are found or made."""
    WAIT = 2
    """The statement waits for Spark to start, or for a change of the cluster."""
    RUN = 3
    """The statement runs, until its first rows are there."""
    FETCH = 4
    """The reader waits for further rows."""
    IDLE = 5
    """The reader does other things; no time of the statement."""


ValueT = TypeVar("ValueT")

#: The text of a pipeline in listings.
PIPELINE: Final = "a pipeline"
#: The phases in which sqlfront works on the statement.
BUSY: Final = (Phase.PARSE, Phase.PLAN, Phase.WAIT, Phase.RUN, Phase.FETCH)


class DecidedWay(Protocol):
    """The attributes of a way (:mod:`sqlfront.lanes.way`) that an observation records."""

    @property
    def lane(self) -> str:
        """The lane that answers the statement."""

    @property
    def reason(self) -> str:
        """The reason for the lane."""


class JobFigures(msgspec.Struct, frozen=True):
    """Figures of what a statement's jobs have read and used; the fields are those of :class:`Observation`.
    None = the statement had no job, and for ``rows_read`` no row program either."""

    rows_read: int | None = None
    bytes_read: int | None = None
    memory_peak: int | None = None
    members: tuple[str, ...] = ()


class RowCounts(Protocol):
    """The counts of the rows that a result gives, as an observation reads them; implemented by
    :class:`~sqlfront.observability.account.RowAccount`."""

    @property
    def rows_given(self) -> int:
        """The number of rows given so far."""

    @property
    def bytes_given(self) -> int | None:
        """The bytes of the rows given so far; None if bytes aren't counted."""

    def close(self) -> None:
        """End the observation of the result's statement."""


class Observation:
    """The facts about one statement. The statement's threads write the facts; any thread may read them.

    ``began`` is in seconds since the epoch, times of phases are in seconds. ``rows_read`` and ``bytes_read``
    count the rows that scans of tables gave to the statement's jobs; ``rows_read`` also counts the rows that
    a row program has read. ``rows_given`` and ``bytes_given`` count the rows that the reader got. Bytes are
    the sizes of Arrow batches in memory, None = not counted. ``rows_written`` is None for a statement that
    writes no rows. ``memory_peak``: the most bytes that the statement's operators held at a time; for other
    members, an upper bound. Of an error, only the name of its class, Spark's condition and the SQLSTATE are
    stored (empty = none): its text may quote literals and values of parameters.
    """

    __slots__ = (
        "_ended",
        "_phase",
        "_since",
        "_start",
        "_tell",
        "account",
        "began",
        "bytes_given",
        "bytes_read",
        "condition",
        "error_class",
        "id",
        "lane",
        "members",
        "memory_peak",
        "phases",
        "plan_cached",
        "query",
        "reason",
        "rows_given",
        "rows_read",
        "rows_written",
        "seconds",
        "span",
        "sqlstate",
        "state",
        "text",
    )

    def __init__(self, text: str, query: QueryRun, tell: "Callable[[Observation, bool], None]") -> None:
        """Begin the observation of the statement ``text``, which ``query`` runs. ``tell`` is called once,
        when the statement has ended, with the observation and the ``later`` of :meth:`end`."""
        self.id = query.id
        self.text = masking.kept(text)
        #: The statement's run; None once the statement has ended.
        self.query: QueryRun | None = query
        self.began = time.time()
        self.state = StatementState.RUNNING
        #: The lane and its reason; empty until the way is decided.
        self.lane = self.reason = ""
        #: Whether the plan was found in the cache; None for statements without a plan.
        self.plan_cached: bool | None = None
        self.phases = [0.0] * len(Phase)
        #: Seconds from the begin to the end; None before the end.
        self.seconds: float | None = None
        self.rows_given = 0
        self.bytes_given: int | None = None
        self.rows_read: int | None = None
        self.bytes_read: int | None = None
        self.rows_written: int | None = None
        self.memory_peak: int | None = None
        self.members: tuple[str, ...] = ()
        self.error_class = self.condition = self.sqlstate = ""
        #: The account of the rows that the result gives; None as long as there is no result.
        self.account: RowCounts | None = None
        #: A watcher's own object, such as the statement's span.
        self.span: object = None
        self._tell = tell
        self._ended = Lock()
        self._phase = Phase.PLAN
        self._start = self._since = time.perf_counter()
        query.jobs = []

    # ---- the way of the statement

    def enter(self, phase: Phase) -> Phase:
        """End the present phase and begin the given one; return the phase that has ended."""
        now, before = time.perf_counter(), self._phase
        self.phases[before] += now - self._since
        self._since, self._phase = now, phase
        return before

    def in_parse(self, call: Callable[[], ValueT]) -> ValueT:
        """Call a function in the phase PARSE; return its result, or raise its error."""
        return self._within(Phase.PARSE, call)

    def in_wait(self, call: Callable[[], ValueT]) -> ValueT:
        """Call a function in the phase WAIT; return its result, or raise its error."""
        return self._within(Phase.WAIT, call)

    def _within(self, phase: Phase, call: Callable[[], ValueT]) -> ValueT:
        before = self.enter(phase)
        try:
            return call()
        finally:
            self.enter(before)

    def plans(self) -> None:
        """Begin the phase PLAN, in which the statement's way is chosen."""
        self.enter(Phase.PLAN)

    def runs(self, way: DecidedWay) -> None:
        """Record the lane and reason of the statement's way, and begin the phase RUN."""
        self.lane, self.reason = str(way.lane), way.reason
        if self.plan_cached is None and getattr(way, "plan", None) is not None:
            self.plan_cached = True
        self.enter(Phase.RUN)

    # ---- figures

    @property
    def busy(self) -> float:
        """The seconds that sqlfront has worked on the statement; the time in which the reader does other
        things is not included."""
        return sum(self.times().values())

    def times(self) -> dict[Phase, float]:
        """Return the seconds of each phase so far; the phase IDLE is not included."""
        found, phase, since = {each: self.phases[each] for each in BUSY}, self._phase, self._since
        if self.state is StatementState.RUNNING and phase in found:
            found[phase] += max(0.0, time.perf_counter() - since)
        return found

    @property
    def age(self) -> float:
        """The seconds from the statement's beginning to its end; for a running statement, to now."""
        return time.perf_counter() - self._start if self.seconds is None else self.seconds

    def figures(self) -> JobFigures:
        """Return the figures of the statement's jobs so far; once the statement has ended, the final
        figures."""
        query = self.query
        jobs = None if query is None else query.jobs
        if jobs is None:
            return JobFigures(self.rows_read, self.bytes_read, self.memory_peak, self.members)
        assert query is not None
        if not jobs:
            return JobFigures(query.rows_by_programs)
        return _figures([(job.statistics(), job.scans) for job in tuple(jobs)])

    # ---- the end

    def end(self, state: StatementState, *, later: bool = False) -> None:
        """End the observation in this state, record the final figures, and report the end; only the first
        call has an effect. ``later``: whether the caller is a finalizer, in which no watcher may run; the
        watchers are then called later."""
        if not self._ended.acquire(blocking=False):
            return
        self.enter(Phase.IDLE)
        figures = self.figures()
        self.rows_read, self.bytes_read = figures.rows_read, figures.bytes_read
        self.memory_peak, self.members = figures.memory_peak, figures.members
        self.seconds = time.perf_counter() - self._start
        query, self.query = self.query, None
        if query is not None:
            query.jobs = None  # else query and jobs would hold each other
        self.state = state
        self._tell(self, later)

    def fail(self, error: BaseException, *, later: bool = False) -> None:
        """End the observation as cancelled, timed out or failed, depending on ``error``, and record the
        error. ``later``: whether the caller is a finalizer, in which no watcher may run; the watchers are
        then called later."""
        if self.state is StatementState.RUNNING:
            self.error_class = type(error).__name__
            if isinstance(error, Error):
                self.condition, self.sqlstate = error.condition or "", error.sqlstate or ""
            self.end(state_after(error), later=later)

    @property
    def error_type(self) -> str:
        """Spark's condition of the error, or the name of the error's class; empty without an error."""
        return self.condition or self.error_class


def state_after(error: BaseException) -> StatementState:
    """Return the state of a statement that has ended with ``error``: cancelled, timed out or failed."""
    if not isinstance(error, Exception):  # Ctrl-C, and the end of a task
        return StatementState.CANCELLED
    if isinstance(error, Error):
        if error.condition == "OPERATION_CANCELED" or error.sqlstate == "HY008":
            return StatementState.CANCELLED
        if error.sqlstate == "57014":
            return StatementState.TIMED_OUT
    return StatementState.FAILED


def _figures(runs: Sequence[tuple[JobStatistics, frozenset[str]]]) -> JobFigures:
    """Return the figures of a statement's jobs. ``runs``: the statistics of each job, with the names of its
    vertices that read tables."""
    scanned = [_scanned(found, scans) for found, scans in runs]
    return JobFigures(
        sum(rows for rows, _ in scanned),
        sum(size for _, size in scanned),
        # The jobs of a statement share its budget here, and run one after the other.
        max(found.memory.peak for found, _ in runs) + max(_elsewhere(found) for found, _ in runs),
        tuple(dict.fromkeys(name for found, _ in runs for name in found.participants)),
    )


def _scanned(found: JobStatistics, scans: frozenset[str]) -> tuple[int, int]:
    """Return the numbers of rows and bytes that the job's vertices with the names ``scans`` have emitted, on
    all members that report their numbers."""
    vertices = [vertex for vertex in found.vertices() if vertex.name in scans]
    return sum(each.rows_out for each in vertices), sum(each.bytes_out or 0 for each in vertices)


def _elsewhere(found: JobStatistics) -> int:
    """Return an upper bound of the bytes that the job's operators have held at a time on other members."""
    return sum(tasklet.memory_peak for tasklets in found.others.values() for tasklet in tasklets)
