"""A durable job that runs in this process: its coordinator, on a thread of its own."""

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Final

from sqlfront.jobs.job_status import DurableJobStatus, status_of
from sqlfront_engine.durable.coordinator import Coordinator, JobSuspended
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CancelRequested, JobSubmitted
from sqlfront_engine.durable.split_runner import ClosableRunner
from sqlfront_values.errors import Error

logger: Final = logging.getLogger(__name__)


class RunningJob:
    """The run of a job by a coordinator in this process. ``forget`` is called on the coordinator's thread,
    with this object, when the run is over."""

    def __init__(
        self,
        submitted: JobSubmitted,
        coordinator: Coordinator,
        log: EventLog,
        runner: ClosableRunner,
        forget: Callable[["RunningJob"], None],
    ) -> None:
        self.submitted = submitted
        #: The error by which the coordinator has lost the job, such as that of a log that can't be written;
        #: None = no such error so far.
        self.lost: Error | None = None
        self._coordinator, self._log, self._runner, self._forget = coordinator, log, runner, forget
        self._thread = threading.Thread(target=self._run, name=f"sqlfront-{submitted.job}", daemon=True)

    def start(self) -> None:
        """Begin the run on the coordinator's thread, and return."""
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._log, closing(self._runner):
                self._coordinator.run()
        except JobSuspended:
            pass
        except Error as error:
            self.lost = error
            logger.error("the coordinator of job %s has lost the job: %s", self.submitted.job, error)
        finally:
            self._forget(self)

    @property
    def status(self) -> DurableJobStatus:
        """The job's present status."""
        return status_of(self.submitted, self._coordinator.state, coordinated=self.lost is None)

    def cancel(self, request: CancelRequested) -> bool:
        """Cancel the job durably, and return True; return False if the job has ended, or if it is too late to
        stop its end."""
        return self._coordinator.cancel(request)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end of the run, but at most ``timeout`` seconds (None: without a limit); return
        whether the run has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def suspend(self) -> None:
        """End the run before the job is done, and return when the run has ended; another coordinator can take
        the job over."""
        self._coordinator.suspend()
        self._thread.join()
