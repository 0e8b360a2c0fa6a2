"""A runner of tasks that has one runner run the tasks of some stages, and another runner all other tasks."""

from collections.abc import Callable, Collection
from typing import Protocol

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.runner import Holdings, TaskEnd, TaskRunner
from sqlfront_engine.durable.tasks import TaskRun


class ClosableRunner(TaskRunner, Protocol):
    """A runner with resources of its own, such as threads, which :meth:`close` frees."""

    def close(self) -> None:
        """Free the runner's resources. To be called when all runs have ended."""


class SplitRunner(ClosingContext):
    """A runner of a job's tasks that divides them between two runners. ``here``: runs the tasks that need
    objects of this process. ``vertices``: the names of the vertices of such tasks. ``others``: runs all other
    tasks."""

    def __init__(self, here: ClosableRunner, others: ClosableRunner, vertices: Collection[str]) -> None:
        self.member, self.incarnation = others.member, others.incarnation
        self.is_lasting = others.is_lasting
        self._here, self._others, self._vertices = here, others, frozenset(vertices)

    @property
    def capacity(self) -> int:
        """The number of tasks that the coordinator may start at a time: as many as the runner of the other
        tasks can run. A task that needs objects of this process waits in its own runner, if that runner is
        busy."""
        return self._others.capacity

    @property
    def task_memory(self) -> int | None:
        """The bytes that operators of one task may hold on either runner; None if it is unknown."""
        known = (self._here.task_memory, self._others.task_memory)
        return min((memory for memory in known if memory is not None), default=None)

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        """Have the runner of the task's stage start a run, and return at once. ``ended`` is called once, when
        the run has ended, on any thread."""
        self._runner_of(run).start(run, ended)

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        """Have the other runner's members keep what they have of former coordinators, and return the
        outputs; ``awaits``: whether to wait longer."""
        return self._others.retain(awaits)

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        """Go on with runs of former coordinators that ``wants`` accepts, on the other runner; the runs of the
        stages here have ended with their processes. ``ended``: called with the end of each such run.
        ``kept``: the paths of the files that count."""
        self._others.adopt(wants, ended, kept)

    def release(self) -> None:
        """Note on both runners that the job has ended."""
        self._here.release()
        self._others.release()

    def settle(self, end: TaskEnd, *, counts: bool) -> None:
        """Have the runner of a run that has ended with files know whether the run ``counts``; if it doesn't,
        the files are removed."""
        self._runner_of(end.run).settle(end, counts=counts)

    def _runner_of(self, run: TaskRun) -> ClosableRunner:
        is_here = not self._vertices.isdisjoint(run.tasks.stage.vertices)
        return self._here if is_here else self._others

    def stop(self) -> None:
        """Have all runs end soon, on both runners."""
        self._here.stop()
        self._others.stop()

    def close(self) -> None:
        """Close both runners."""
        self._here.close()
        self._others.close()
