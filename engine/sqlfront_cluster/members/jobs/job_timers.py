"""The periodic work for the jobs of a member, which goes on as long as there are any."""

from collections.abc import Callable

from sqlfront_cluster.members.jobs.checker import CHECK_PERIOD
from sqlfront_cluster.members.jobs.job_table import JobTable
from sqlfront_engine.edges.exchange import FLOW_CONTROL_PERIOD
from sqlfront_engine.scheduler import Clock


class JobTimers:
    """The timers for the jobs of one member: the checks of what other members know of the jobs (``check``),
    and the flow control of streams."""

    def __init__(self, jobs: JobTable, clock: Clock, check: Callable[[], None]) -> None:
        self._jobs = jobs
        self._clock = clock
        self._check_jobs = check
        # Whether the next check, and the next adaptation, are scheduled; guarded by the jobs' lock.
        self._checking = self._adapting = False

    def watch(self) -> None:
        """Schedule the next periodic checks (of jobs, of the flow control of streams) if there is anything to
        check."""
        jobs, clock = self._jobs, self._clock
        with jobs.lock:
            check = not self._checking and not jobs.is_empty
            adapt = not self._adapting and any(
                each.has_streams for each in list(jobs.participations.values())
            )
            self._checking |= check
            self._adapting |= adapt
        if check:
            clock.call_at(clock.now() + CHECK_PERIOD, self._check)
        if adapt:
            clock.call_at(clock.now() + FLOW_CONTROL_PERIOD, self._adapt)

    def _adapt(self) -> None:
        with self._jobs.lock:
            self._adapting = False
            participations = list(self._jobs.participations.values())
        for participation in participations:
            participation.adapt(self._clock.now())
        self.watch()

    def _check(self) -> None:
        with self._jobs.lock:
            self._checking = False
        self._check_jobs()
        self.watch()
