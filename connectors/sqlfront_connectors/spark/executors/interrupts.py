"""Ctrl-C beside members: PySpark answers it by cancelling all jobs, and theirs would be one of them."""

import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkContext

#: Seconds that cancelling the others may take.
_TIMEOUT: Final = 1.0
#: The groups that are spared.
_spared: Final[set[str]] = set()


def spare(context: "SparkContext", group: str) -> None:
    """Have Ctrl-C cancel all jobs but those of the group, and of other groups of which that was said. As
    PySpark's own handler this one is installed by the main thread only, and in its place: somebody else's
    stays."""
    _spared.add(group)
    in_place = getattr(signal.getsignal(signal.SIGINT), "__module__", None)
    if threading.current_thread() is threading.main_thread() and in_place == "pyspark.core.context":
        signal.signal(signal.SIGINT, partial(_interrupted, context))


def _interrupted(context: "SparkContext", number: int, frame: object) -> None:
    # On a thread of its own: the interrupted one may be in the middle of a call to the JVM.
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
