"""Standing by: a process takes over the jobs of a store whenever no process owns the store."""

import threading
from collections.abc import Callable
from typing import Final

from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront.jobs.service import JobService
from sqlfront_values.errors import InterfaceError, OperationalError

#: Seconds between two looks whether a process owns the store.
_LOOK: Final = 1.0
#: Seconds until a job that could not be taken over is tried again.
_PAUSE: Final = 10.0


class StandBy:
    """A loop that takes over the jobs of the store of ``service`` whenever no process owns the store. Between
    two takeovers the store belongs to nobody, so that other processes can create jobs. ``begins``: called
    whenever the loop begins to wait for a takeover. ``ended``: called with the status of each job that was
    taken over, after the job's end. ``failed``: called with the text of each error that the loop outlives,
    such as the error of a storage that does not answer for a while."""

    def __init__(
        self,
        service: JobService,
        *,
        begins: Callable[[], None],
        ended: Callable[[DurableJobStatus], None],
        failed: Callable[[str], None],
    ) -> None:
        self._service = service
        self._begins, self._ended, self._failed = begins, ended, failed
        self._stopped = threading.Event()

    def run(self) -> None:
        """Stand by until :meth:`stop` is called."""
        pause = 0.0
        while not self._stopped.wait(pause):
            self._begins()
            try:
                pause = self._one_takeover()
            except InterfaceError:
                if not self._stopped.is_set():
                    raise
            self._service.give_up()

    def stop(self) -> None:
        """End the loop: jobs that run here are left to other processes. Returns when these jobs have stopped;
        :meth:`run` returns soon. May be called on any thread."""
        self._stopped.set()
        self._service.close()

    def _one_takeover(self) -> float:
        """Wait until this process has taken over jobs, and until these have ended. Return the seconds to wait
        before the next takeover: some if a job could not be taken over."""
        left: list[DurableJobStatus] = []
        complete, told = False, ""
        while not (self._service.is_owner or self._stopped.wait(_LOOK)):
            try:
                left = [job for job in self._service.jobs() if not job.has_ended]
                complete = self._service.take_over()
            except OperationalError as error:
                if str(error) != told:
                    told = str(error)
                    self._failed(told)
        for job in left:
            try:
                if self._service.status(job.id).phase is not JobPhase.RECOVERING:
                    self._tell_end(self._service.wait(job.id, None))
            except OperationalError as error:
                complete = False
                self._failed(str(error))
        return 0.0 if complete else _PAUSE

    def _tell_end(self, status: DurableJobStatus) -> None:
        if status.has_ended:
            self._ended(status)
