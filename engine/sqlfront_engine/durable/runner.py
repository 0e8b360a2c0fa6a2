"""The contract of a runner of tasks."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec

from sqlfront_engine.durable.event_store.events import Manifest
from sqlfront_engine.durable.tasks import TaskRun
from sqlfront_values.errors import Error, OperationalError


class TaskLostError(OperationalError):
    """The error of a run whose member is gone or does not answer; another run of the task may succeed."""


class TaskEnd(msgspec.Struct, frozen=True):
    """The end of a task's run: its spool files in ``output``, or its ``error``."""

    run: TaskRun
    output: Manifest | None
    error: Error | None = None


class Holdings(msgspec.Struct, frozen=True):
    """The outputs that members hold. ``sizes``: the bytes of each file, by its name. ``silent``: the members
    that are in the cluster and have not said yet what they hold."""

    sizes: Mapping[str, int] = {}
    silent: frozenset[str] = frozenset()


class TaskRunner(Protocol):
    """A runner of a durable job's tasks, on threads of one process or on other members."""

    @property
    def capacity(self) -> int:
        """The number of tasks that can run at a time."""

    @property
    def task_memory(self) -> int | None:
        """The bytes that operators of one task may hold if as many tasks as possible run; None = unknown."""

    @property
    def member(self) -> str:
        """The name of the member that runs the tasks."""

    @property
    def incarnation(self) -> str:
        """The id of the member's process: a restarted member of the same name has another one."""

    @property
    def is_lasting(self) -> bool:
        """Whether runs go on when the coordinator's process is gone, so that its successor may adopt them."""

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        """Start a run, and return at once. ``ended`` is called once, when the run has ended, on any
        thread."""

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        """Have the members keep the runs and outputs of the job that they have from former coordinators, and
        return the outputs. ``awaits``: whether it is worth waiting longer for members that have not answered,
        by the answers so far; the wait has a limit. To be called before :meth:`adopt`."""

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        """Go on with runs that former coordinators of the job have started, and that still run or have ended
        since. To be called before the first :meth:`start`. ``wants``: called for each of these runs before
        this method returns; True: the run counts as started by this runner; False: the run is stopped.
        ``ended``: called once for each run that ``wants`` has accepted, when the run has ended, on any
        thread. ``kept``: the paths of the files that count; members remove all others of the job, except
        those of these runs."""

    def settle(self, end: TaskEnd, *, counts: bool) -> None:
        """Have the runner know whether a run that has ended with files counts. ``counts`` True: the run's
        record is durable, so that no successor needs to be told of the run. False: the files are removed, now
        or soon."""

    def release(self) -> None:
        """Note that the job has ended, so that members need not keep its outputs for a successor."""

    def stop(self) -> None:
        """Have all runs end soon; a run that is not complete ends with an error."""
