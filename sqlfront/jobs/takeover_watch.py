"""The watch over a job store: jobs go on without RESUME JOB when the process that ran them is gone."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from sqlfront_values.errors import Error

logger: Final = logging.getLogger(__name__)

#: Seconds between two attempts to take over the jobs of a store.
INTERVAL: Final = 1.0


class TakeoverWatch:
    """A thread that calls ``take_over`` at once and then each :data:`INTERVAL` seconds, until a call returns
    True: all jobs of the store run in this process, or have ended. An error is logged, but not again while it
    stays the same."""

    def __init__(self, take_over: Callable[[], bool]) -> None:
        self._take_over = take_over
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="sqlfront-job-takeover", daemon=True).start()

    def _run(self) -> None:
        told = ""
        while not self._stopped.is_set():
            try:
                if self._take_over():
                    return
                told = ""
            except Error as error:
                if error.message != told:
                    logger.warning("the jobs of the store are not taken over yet: %s", error)
                told = error.message
            self._stopped.wait(INTERVAL)

    def stop(self) -> None:
        """End the watch without waiting for a call that is under way."""
        self._stopped.set()
