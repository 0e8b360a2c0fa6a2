"""The choice of tasks for which a second attempt is started, because the first attempt takes long.

The cause of a slow attempt is often its member: a busy machine, or a bad disk. A second attempt on another
member may end sooner. The first attempt that ends with files counts, and the other one is given up; a member
removes the files of an attempt that was given up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import median
from typing import Final

from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_engine.scheduler import Clock

#: An attempt is slow if it runs for more than this many times the median of the finished tasks of its stage.
#: A second attempt, which begins anew, then ends before the first, if the first is slow by its place.
SLOWNESS: Final = 2.0
#: The least seconds for which a slow attempt runs: tasks are of unequal sizes, and a second attempt reads its
#: input again, so that it is not worth much less.
LEAST: Final = 5.0
#: The share of the tasks of a stage whose times have to be known: the median of few says little.
KNOWN: Final = 0.5
#: Seconds between two looks at the running attempts.
PERIOD: Final = 0.5


class Speculation:
    """The running times of the tasks of a job, and the choice of slow attempts. Only the coordinator's thread
    calls the methods."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[RunId, float] = {}
        # The seconds that the finished tasks of each stage took.
        self._took: defaultdict[int, list[float]] = defaultdict(list)
        self._is_looking = False

    def began(self, run: TaskRun) -> None:
        """Note that a run begins now."""
        self._began[run.run_id] = self._clock.now()

    def ended(self, end: TaskEnd) -> None:
        """Note that a run ends now."""
        began = self._began.pop(end.run.run_id, None)
        if began is not None and end.output is not None:
            self._took[end.run.id.stage].append(self._clock.now() - began)

    def slow(self, running: Iterable[TaskRun]) -> list[TaskRun]:
        """Return the slow attempts among ``running``, the one that runs longest first."""
        now = self._clock.now()
        return sorted(
            (run for run in running if self._is_slow(run, now)), key=lambda run: self._began[run.run_id]
        )

    def _is_slow(self, run: TaskRun, now: float) -> bool:
        began, took = self._began.get(run.run_id), self._took[run.id.stage]
        if began is None or len(took) < KNOWN * run.tasks.parallelism:
            return False
        return now - began > max(LEAST, SLOWNESS * median(took))

    def look_later(self, look: Callable[[], None]) -> None:
        """Have ``look`` called in :data:`PERIOD` seconds, on any thread; do nothing if a look is due
        already."""
        if not self._is_looking:
            self._is_looking = True
            self._clock.call_at(self._clock.now() + PERIOD, look)

    def looked(self) -> None:
        """Note that the look of :meth:`look_later` has come."""
        self._is_looking = False
