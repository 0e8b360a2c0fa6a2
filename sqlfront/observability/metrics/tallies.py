"""Counts of statements, for metrics."""

from bisect import bisect_left
from threading import RLock
from typing import Final

import msgspec

from sqlfront.observability.observation import Observation, StatementState

#: Upper bounds of the histogram's buckets, in seconds: from a lookup to a query that Spark runs.
BUCKETS: Final = (
    0.00005,
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.05,
    0.1,
    0.5,
    1.0,
    5.0,
    30.0,
    300.0,
)
#: The lane of statements that failed before their way was decided.
NO_LANE: Final = "none"


class LaneTally(msgspec.Struct):
    """The counts of one lane's ended statements. ``buckets``: the numbers of statements by their seconds of
    work; the upper bounds are :data:`BUCKETS`, and the last number is for longer statements. ``seconds``: the
    sum of the seconds of work. ``outcomes``: the numbers of statements by their state."""

    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    outcomes: dict[StatementState, int] = msgspec.field(default_factory=dict)
    seconds: float = 0.0
    rows_read: int = 0
    bytes_read: int = 0
    rows_given: int = 0
    rows_written: int = 0
    plan_hits: int = 0
    plan_misses: int = 0

    def add(self, observation: Observation) -> None:
        """Add an ended statement to the counts."""
        seconds, state = observation.busy, observation.state
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.outcomes[state] = self.outcomes.get(state, 0) + 1
        self.seconds += seconds
        self.rows_read += observation.rows_read or 0
        self.bytes_read += observation.bytes_read or 0
        self.rows_given += observation.rows_given
        self.rows_written += observation.rows_written or 0
        self.plan_hits += observation.plan_cached is True
        self.plan_misses += observation.plan_cached is False


class StatementTallies:
    """The watcher that counts the statements of one or several sessions, by lane."""

    def __init__(self) -> None:
        # Guards the next fields. The finalizer of another session may count while its thread has the lock.
        self._lock = RLock()
        self._lanes: dict[str, LaneTally] = {}
        self._begun = self._ended = 0

    def begun(self, observation: Observation) -> None:
        """Count a statement that begins."""
        with self._lock:
            self._begun += 1

    def ended(self, observation: Observation) -> None:
        """Count an ended statement."""
        with self._lock:
            self._ended += 1
            self._lanes.setdefault(observation.lane or NO_LANE, LaneTally()).add(observation)

    @property
    def running(self) -> int:
        """The number of statements that have begun and not ended."""
        with self._lock:
            return self._begun - self._ended

    def lanes(self) -> dict[str, LaneTally]:
        """Return a copy of the counts by lane; statements that had no lane yet are under :data:`NO_LANE`."""
        with self._lock:
            return {
                name: msgspec.convert(msgspec.to_builtins(each), LaneTally)
                for name, each in self._lanes.items()
            }

    def close(self) -> None:
        """Do nothing: other sessions may still be counted by this object."""
