"""The failures of a job's tasks in one epoch, and the failures after which the job fails."""

import math
from collections import Counter
from typing import Final

from sqlfront_engine.durable.event_store.events import TaskId
from sqlfront_engine.durable.runner import TaskLostError
from sqlfront_engine.processors.sources.split_scan import SourceUnavailableError
from sqlfront_values.errors import NO_MEMORY, Error, OperationalError

#: The losses of a task, with the members that ran it, after which the job fails.
MOST_LOSSES: Final = 20

#: The hint of a lack of memory that more tasks, each with fewer rows, would help.
MORE_MEMORY: Final = (
    "a larger limit of the memory gives a task enough, and so do more parts (CREATE JOB ... OPTIONS (buckets"
    " n)), unless the rows share one key"
)
_ONE_TASK: Final = "one task has to hold these rows; a larger limit of the memory gives it enough"


class TaskFailures:
    """The failures of a job's tasks so far. ``attempts``: the failures of one task that fail the job."""

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self._failures: Counter[TaskId] = Counter()
        self._losses: Counter[TaskId] = Counter()
        #: The most runs at a time: all that the runner has room for, or fewer once the memory did not suffice
        #: for all of them.
        self.most_runs: float = math.inf

    def note(self, task: TaskId, error: Error, *, is_parallel: bool, busy: int) -> None:
        """Count a failure of a task, and raise the error if it ends the job in this epoch: if the task has
        failed too often, or if the error is no OperationalError, so that another attempt would fail, too.
        After a lack of memory, fewer tasks run at a time. Losses of members are counted apart: a task that
        was lost :data:`MOST_LOSSES` times fails the job, since the task may be what kills the members. An
        error of a source that can't be reached is raised, too: it leaves the job to a successor.
        ``is_parallel``: whether several tasks divide the work of the task's stage. ``busy``: the runs that
        have not ended."""
        if isinstance(error, SourceUnavailableError):
            raise error
        if isinstance(error, TaskLostError):
            self._losses[task] += 1
            if self._losses[task] >= MOST_LOSSES:
                raise error
            return
        self._failures[task] += 1
        if error.sqlstate == NO_MEMORY:
            self.most_runs = max(1, busy // 2)
            error.hint = MORE_MEMORY if is_parallel else _ONE_TASK
        if not isinstance(error, OperationalError) or self._failures[task] >= self._attempts:
            raise error
