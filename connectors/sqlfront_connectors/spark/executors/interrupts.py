"""A handler of Ctrl-C that spares the members' job: PySpark's own handler cancels all jobs."""

import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkContext

#: Time limit for cancelling the other jobs (s): the user has pressed Ctrl-C and waits.
_TIMEOUT: Final = 1.0
#: The job groups that Ctrl-C spares.
_spared: Final[set[str]] = set()


def spare(context: "SparkContext", group: str) -> None:
    """Let Ctrl-C cancel all of Spark's jobs except the jobs of the job group ``group``, and of the groups of
    earlier calls, so that the members of clusters, which are jobs, go on. The handler is installed only in
    the main thread, and only in place of PySpark's handler: a handler that the user's program has installed
    stays."""
    _spared.add(group)
    in_place = getattr(signal.getsignal(signal.SIGINT), "__module__", None)
    if threading.current_thread() is threading.main_thread() and in_place == "pyspark.core.context":
        signal.signal(signal.SIGINT, partial(_interrupted, context))


def _interrupted(context: "SparkContext", number: int, frame: object) -> None:
    # Cancel on a separate thread: the interrupted thread may be in the middle of a call to the JVM.
    others = threading.Thread(target=_cancel_others, args=(context,), daemon=True)
    others.start()
    others.join(_TIMEOUT)
    raise KeyboardInterrupt


def _cancel_others(context: "SparkContext") -> None:
    tracker = context.statusTracker()
    ours = {job for group in _spared for job in tracker.getJobIdsForGroup(group)}
    for job in tracker.getActiveJobsIds():
        if job not in ours:
            context._jsc.sc().cancelJob(job)
