"""``sys.queries``: the statements of this process's sessions, running and ended, and running queries of other
sessions."""

import os
import weakref
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from sqlfront.observability.masking import masked, masked_reason
from sqlfront.observability.observation import Observation, Phase, StatementState
from sqlfront.observability.observer import Observer
from sqlfront_cluster.members.member import Member
from sqlfront_engine.engine import Engine
from sqlfront_engine.job_statistics import JobSummary
from sqlfront_engine.process_user import process_user
from sqlfront_values.settings import EMBEDDED
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP

#: The columns of ``sys.queries``, each with its meaning.
COLUMNS: Final = (
    ("id", BIGINT, "The statement's id, unique in the cluster; `KILL QUERY` takes it."),
    (
        "session",
        BIGINT,
        "The number of the session in this process; NULL for other processes.",
    ),
    (
        "coordinator",
        STRING,
        "The member or client that runs the statement; `embedded` if alone.",
    ),
    ("user", STRING, "The user of the operating system whose process runs the session."),
    ("text", STRING, "The statement's text, at most 4,096 characters, with `?` for literals."),
    ("state", STRING, "`running`, `finished`, `closed`, `failed`, `cancelled` or `timed out`."),
    (
        "lane",
        STRING,
        "`direct`, `light`, `durable`, `mixed`, `spark` or `command`; NULL before the way is decided.",
    ),
    ("reason", STRING, "The reason for the lane, as EXPLAIN shows it, with `?` for quoted values."),
    (
        "plan_cached",
        BOOLEAN,
        "Whether the plan was in the cache; NULL for statements without a plan.",
    ),
    ("started", TIMESTAMP, "The begin of the statement."),
    ("seconds", DOUBLE, "Seconds from the begin to the end, or to now; the reader's own time counts."),
    ("parse_seconds", DOUBLE, "Seconds in which the text became a statement."),
    ("plan_seconds", DOUBLE, "Seconds in which the way and the plan were found or made."),
    ("wait_seconds", DOUBLE, "Seconds of waiting for Spark to start, or for a change of the cluster."),
    ("run_seconds", DOUBLE, "Seconds until the first rows were there, or until a command had ended."),
    ("fetch_seconds", DOUBLE, "Seconds in which the reader waited for further rows."),
    (
        "rows_read",
        BIGINT,
        "Rows that the statement read from tables, by scans and by lookups; NULL if it read none so.",
    ),
    ("bytes_read", BIGINT, "The bytes of rows that scans read, as Arrow data in memory; NULL without jobs."),
    ("rows_given", BIGINT, "Rows that the reader got."),
    ("bytes_given", BIGINT, "The bytes of these rows as Arrow data; NULL if they were no Arrow data."),
    ("rows_written", BIGINT, "Rows that the statement wrote; NULL if it writes none."),
    (
        "memory_peak",
        BIGINT,
        "Bytes that the operators of the jobs held at most; NULL without jobs.",
    ),
    ("spilled_bytes", BIGINT, "Bytes that operators moved to disk; always 0: nothing is spilled yet."),
    (
        "members",
        pa.list_(STRING),
        "The members that took part in the jobs, the coordinator first.",
    ),
    ("error", STRING, "The class of the error that ended the statement, such as `DataError`."),
    ("condition", STRING, "Spark's condition of the error, such as `DIVIDE_BY_ZERO`."),
    ("sqlstate", STRING, "The SQLSTATE of the error."),
)
SCHEMA: Final = pa.schema([(name, kind) for name, kind, _ in COLUMNS])

Row = tuple[object, ...]

#: The histories of this process's open sessions, by the numbers of their observers. Threads and finalizers
#: add and remove some at any time: ``valuerefs`` copies all at once, which a WeakSet's iterator doesn't.
_histories: "Final[weakref.WeakValueDictionary[int, History]]" = weakref.WeakValueDictionary()


class History:
    """The watcher that stores a session's running statements and its last ``size`` ended ones for
    ``sys.queries``. ``literals``: whether shown texts keep their literals. ``runner``: the engine or member
    that runs the session's jobs."""

    def __init__(self, size: int, observer: Observer, runner: Engine | Member, *, literals: bool) -> None:
        self._coordinator = runner.name if isinstance(runner, Member) else EMBEDDED
        self._runner = weakref.ref(runner)
        self._literals = literals
        self._last: deque[Observation] = deque(maxlen=size)
        self._process = os.getpid()
        self._observer = observer
        _histories[observer.number] = self

    def is_of(self, runner: Engine | Member) -> bool:
        """Return whether ``runner`` runs the jobs of this history's session."""
        return self._runner() is runner

    def begun(self, observation: Observation) -> None:
        """Do nothing when a statement begins: the session's observer has the running statements."""

    def ended(self, observation: Observation) -> None:
        """Store the ended statement, and discard the oldest one if there are more than ``size``."""
        self._last.append(observation)

    def close(self) -> None:
        """Discard all statements."""
        _histories.pop(self._observer.number, None)
        self._last.clear()

    def rows(self) -> list[Row]:
        """Return the rows of ``sys.queries`` for the session's statements; no rows in a forked copy of the
        session."""
        if self._process != os.getpid():
            return []
        number, running = self._observer.number, self._observer.running()
        return [self._row(each, number) for each in dict.fromkeys((*self._last.copy(), *running))]

    def _row(self, observation: Observation, number: int) -> Row:
        account, figures = observation.account, observation.figures()
        times = observation.times()
        given, size = observation.rows_given, observation.bytes_given
        if account is not None:
            given, size = account.rows_given, account.bytes_given
        return (
            observation.id,
            number,
            self._coordinator,
            process_user(),
            observation.text if self._literals else masked(observation.text),
            observation.state.value,
            observation.lane or None,
            masked_reason(observation.reason) or None,
            observation.plan_cached,
            datetime.fromtimestamp(observation.began, UTC),
            observation.age,
            *(times[phase] for phase in (Phase.PARSE, Phase.PLAN, Phase.WAIT, Phase.RUN, Phase.FETCH)),
            figures.rows_read,
            figures.bytes_read,
            given,
            size,
            observation.rows_written,
            figures.memory_peak,
            0,
            figures.members,
            observation.error_class or None,
            observation.condition or None,
            observation.sqlstate or None,
        )


def rows(runner: Engine | Member, running: Sequence[JobSummary]) -> list[Row]:
    """Return the rows of ``sys.queries``, oldest first, for the session whose jobs ``runner`` runs: the
    statements that the histories of all sessions of this process have, and the other queries ``running`` in
    the cluster, with null in most columns."""
    histories = [history for kept in _histories.valuerefs() if (history := kept()) is not None]
    found = [row for history in histories for row in history.rows()]
    known = {row[0] for row in found}
    if isinstance(runner, Engine):  # whose ids are its own
        known = set() if not any(each.is_of(runner) for each in histories) else {job.id for job in running}
    found += [_elsewhere(job) for job in running if job.id not in known]
    started = SCHEMA.get_field_index("started")
    return sorted(found, key=lambda row: row[started])


def _elsewhere(job: JobSummary) -> Row:
    """Return the row of ``sys.queries`` for a running query of another process, or of a session without a
    history."""
    known = {
        "id": job.id,
        "coordinator": job.coordinator,
        "text": masked(job.description),
        "state": StatementState.RUNNING.value,
        "started": datetime.fromtimestamp(job.started, UTC),
        "seconds": job.seconds,
        "members": job.participants,
    }
    return tuple(known.get(name) for name in SCHEMA.names)
