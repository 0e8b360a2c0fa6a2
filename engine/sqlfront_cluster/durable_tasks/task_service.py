"""A service that runs tasks of durable jobs on a member, and reports their ends to the coordinator.

The coordinator (:mod:`.member_runner`) sends questions; the service answers each at once, without waiting for
a task. Each question names the job and the coordinator's epoch. A question of an older epoch than the
service has seen is refused.

A coordinator that leaves the cluster leaves a *lease*: for that time its tasks go on, and the service keeps
what has become of them. A successor that announces a later epoch is told of these runs, and says which of
them it adopts. At the end of the lease without a successor the runs end, and their files are removed.

The service itself removes a file only if no coordinator was told that the file is complete; the record of any
other file may be in the job's log.

If the job's outputs are on the members' own disks, the service also serves them to other members
(:mod:`.output_places`), and keeps them as long as the job: until the coordinator says that the job is over,
or until the end of the lease. A successor learns which outputs there are, and says which of them count.
"""

import logging
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Final

from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag
from sqlfront_cluster.durable_tasks.member_disk import OutputFolder
from sqlfront_cluster.durable_tasks.output_places import OutputBytes, OutputPlaces, ReadOutput, read_output
from sqlfront_cluster.durable_tasks.task_messages import (
    AdoptRuns,
    AskEnds,
    EndedTask,
    ForgetJob,
    JobQuestion,
    LearnJob,
    SettledRun,
    StartTask,
    StopTasks,
    TaskAnswer,
    decode_question,
)
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_engine.durable.division import OutputPlace
from sqlfront_engine.durable.event_store.events import Manifest
from sqlfront_engine.durable.files import remove_output
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.stages import cut
from sqlfront_engine.durable.tasks import RunId
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.spool.places import PLACES
from sqlfront_engine.storage.growing_file import final_name
from sqlfront_values.errors import OperationalError

logger: Final = logging.getLogger(__name__)

#: The number of jobs that are over whose last epoch the service remembers, so that a coordinator of an older
#: epoch can't begin tasks of them anew.
REMEMBERED: Final = 1000


class _HeldRun:
    """A run of a task on this member, from the request for the run until the coordinator has decided whether
    the run counts."""

    def __init__(self, request: StartTask) -> None:
        self.request = request
        #: The end; None while the task runs.
        self.end: EndedTask | None = None
        #: The epoch of the last coordinator that was told of the end, 0 = none.
        self.told = 0


class _JobTasks:
    """The runs of a job's tasks on this member, and their outputs on its disk. ``learned``: the announcement
    of the first coordinator. ``places``: finds spool files, and has the directory of this member."""

    def __init__(self, engine: Engine, learned: LearnJob, places: OutputPlaces) -> None:
        self._plan = cut(decode_dag(learned.dag))
        self._places = places
        config = JobConfig(
            settings=learned.settings,
            description=learned.job,
            resources={PLACES: places.located},
            memory_limit=learned.memory_limit,
        )
        self._runner = ThreadRunner(
            engine, self._plan, config, threads=engine.workers, member="", incarnation=""
        )
        self._lock = Lock()
        # Guarded by the lock: the announcement of the last coordinator, whether that coordinator has left the
        # cluster or the job, the runs, and the folder of the outputs, once it is needed.
        self._learned = learned
        self._is_left = False
        self._runs: dict[RunId, _HeldRun] = {}
        self._outputs: OutputFolder | None = None
        #: Whether the job is over on this member; set with the lock held.
        self.is_dropped = False

    @property
    def epoch(self) -> int:
        """The epoch of the last coordinator that has announced itself to this member."""
        return self._learned.epoch

    def answer(self, question: JobQuestion) -> TaskAnswer:
        """Act on a question and return the answer. Raises OperationalError for a question of an older epoch,
        and for a job that was dropped meanwhile."""
        with self._lock:
            if self.is_dropped:
                raise unknown_job()
            check_epoch(question, self.epoch)
            match question:
                case LearnJob():
                    self._learned, self._is_left = question, False
                    return TaskAnswer(
                        runs=tuple(held.request for held in self._runs.values()), files=self._files()
                    )
                case StartTask():
                    self._start(question)
                case AdoptRuns():
                    self._drop_others(question.runs)
                    if question.kept is not None:
                        self._remove_files_except(question.kept)
                case AskEnds():
                    self._settle(question.settled)
                    return TaskAnswer(ends=self._ends())
                case StopTasks():
                    for run, held in self._runs.items():
                        if held.end is None:
                            self._runner.cancel(run)
                case ForgetJob():
                    self._settle(question.settled)
                    if question.is_over or self._outputs is None:
                        self._drop()
                    else:
                        self._drop_others(())
        return TaskAnswer()

    def _start(self, request: StartTask) -> None:
        self._runs[request.run_id] = held = _HeldRun(request)
        try:
            run = request.task_run(self._plan, self._url())
        except OperationalError as error:
            held.end = EndedTask.of(TaskEnd(request.task_run(self._plan), None, error))
            return

        def ended(end: TaskEnd) -> None:
            with self._lock:
                if self._runs.get(run.run_id) is held:
                    held.end = EndedTask.of(end)
                    return
            self._remove(end.output)  # the run was dropped meanwhile
            if self.is_dropped:
                self._remove_outputs()  # the run may have added files after the first removal

        self._runner.start(run, ended)

    # ---- the outputs on this member's disk

    def _url(self) -> str:
        """Return the URL below which runs write what other tasks read; empty = in the job's folder. Raises
        OperationalError if this member can't make a folder for the job."""
        disk = self._places.disk
        if disk is None or self._learned.outputs is OutputPlace.STORE:
            return ""
        if self._outputs is None:
            self._outputs = disk.begin(os.path.basename(self._learned.job))
        return f"{disk.url}{os.path.basename(self._outputs.address)}"

    def _files(self) -> dict[str, int]:
        """Return the sizes of the job's files on this disk, by their names."""
        sizes = {} if self._outputs is None else self._outputs.sizes()
        return {os.path.basename(path): size for path, size in sizes.items()}

    def _remove_files_except(self, kept: Collection[str]) -> None:
        folder = self._outputs
        if folder is not None:
            runs = [held.request.task_run(self._plan) for held in self._runs.values()]
            names = {*kept, *(os.path.basename(path) for run in runs for path in run.paths)}
            with suppress(OSError):  # then the files stay until the end of the job
                folder.remove_files(name for name in folder.names() if final_name(name) not in names)

    def _remove(self, output: Manifest | None) -> None:
        """Remove the files of a run; a file that can't be removed is left to the coordinator."""
        with suppress(OSError, OperationalError):
            remove_output(output, self._places.located)

    def _remove_outputs(self) -> None:
        if self._outputs is not None:
            self._outputs.remove()

    # ---- the ends of runs

    def _settle(self, settled: Collection[SettledRun]) -> None:
        for each in settled:
            held = self._runs.pop(each.run, None)
            if held is not None and held.end is not None and not each.counts:
                self._remove(held.end.output)

    def _ends(self) -> tuple[EndedTask, ...]:
        """Return the ends of runs that the present coordinator has not been told yet. Ends with errors are
        forgotten then, since no successor needs them."""
        ends = []
        for run, held in [*self._runs.items()]:
            if held.end is not None and held.told < self.epoch:
                held.told = self.epoch
                ends.append(held.end)
                if held.end.output is None:
                    del self._runs[run]
        return tuple(ends)

    def _drop_others(self, adopted: Collection[RunId]) -> None:
        """Cancel and forget the runs that are not ``adopted``. If such a run has ended and no coordinator was
        told of its end, remove its files."""
        for run in self._runs.keys() - set(adopted):
            held = self._runs.pop(run)
            if held.end is None:
                self._runner.cancel(run)
            elif not held.told:
                self._remove(held.end.output)

    def _drop(self) -> None:
        self.is_dropped = True
        self._drop_others(())
        self._runner.end_threads()
        self._remove_outputs()

    def close(self) -> None:
        """End the job on this member, and remove its outputs here."""
        with self._lock:
            if not self.is_dropped:
                self._drop()

    def leave(self, is_present: Callable[[str], bool]) -> LearnJob | None:
        """Begin the lease of the last coordinator if the coordinator has left the cluster and its lease has
        not begun yet. Return the coordinator's announcement if the lease begins now, else None; the caller
        passes the announcement to :meth:`end_lease` when the lease is over. ``is_present``: tells whether the
        member list has a member of a name."""
        with self._lock:
            if self.is_dropped or self._is_left or is_present(self._learned.coordinator):
                return None
            self._is_left = True
            return self._learned

    def end_lease(self, learned: LearnJob) -> bool:
        """Drop the job because a lease is over, unless another coordinator has announced itself since the
        lease began. ``learned``: the announcement of the coordinator whose lease is over. Return whether the
        job was dropped."""
        with self._lock:
            if self.is_dropped or self._learned is not learned:
                return False
            self._drop()
            return True


class TaskService(RequestService):
    """The service that runs tasks of durable jobs on a member, and answers the coordinators' questions."""

    def __init__(self, engine: Engine, places: OutputPlaces) -> None:
        """``engine``: the member's engine, which runs the tasks. ``places``: finds spool files, and has the
        directory for outputs on the member's disk, which the service closes."""
        self._engine, self._places = engine, places
        self._lock = Lock()
        # Guarded by the lock: the jobs, by their directories; and the last epochs of jobs that are over, the
        # oldest first.
        self._jobs: dict[str, _JobTasks] = {}
        self._epochs: dict[str, int] = {}

    def answer(self, content: bytes) -> bytes:
        """Decode a question, act on it, and return the encoded :class:`TaskAnswer`; see
        :meth:`~sqlfront_cluster.members.questions.requests.RequestService.answer`. Raises OperationalError
        for a job that this member doesn't know, and for a question of an older epoch."""
        question = decode_question(content)
        if isinstance(question, ReadOutput):
            return codec.encode(self._read(question))
        job = self._learned(question) if isinstance(question, LearnJob) else self._job(question)
        answer = job.answer(question)
        if isinstance(question, ForgetJob):
            if job.is_dropped:
                self._forget(question.job, job)
            else:
                self._begin_lease(job, lambda name: False)
        return codec.encode(answer)

    def _read(self, question: ReadOutput) -> OutputBytes:
        disk = self._places.disk
        return OutputBytes(None) if disk is None else read_output(disk, question)

    def _learned(self, question: LearnJob) -> _JobTasks:
        with self._lock:
            check_epoch(question, self._epochs.get(question.job, 0))
            job = self._jobs.get(question.job)
            if job is None or job.is_dropped:
                job = self._jobs[question.job] = _JobTasks(self._engine, question, self._places)
            return job

    def _job(self, question: JobQuestion) -> _JobTasks:
        with self._lock:
            job = self._jobs.get(question.job)
        if job is None:
            raise unknown_job()
        return job

    def _forget(self, name: str, job: _JobTasks) -> None:
        """Forget the dropped ``job``, except its last epoch. ``name``: the directory or URL of the job's
        spool files."""
        with self._lock:
            if self._jobs.get(name) is job:
                del self._jobs[name]
            self._epochs.pop(name, None)
            self._epochs[name] = job.epoch
            if len(self._epochs) > REMEMBERED:
                del self._epochs[next(iter(self._epochs))]

    def keep_present(self, is_present: Callable[[str], bool]) -> None:
        """Begin the leases of the coordinators that have left the cluster; ``is_present`` tells whether the
        member list has a name."""
        with self._lock:
            jobs = [*self._jobs.values()]
        for job in jobs:
            self._begin_lease(job, is_present)

    def _begin_lease(self, job: _JobTasks, is_present: Callable[[str], bool]) -> None:
        clock, learned = self._engine.clock, job.leave(is_present)
        if learned is not None:
            clock.call_at(clock.now() + learned.lease, partial(self._end_lease, job, learned))

    def _end_lease(self, job: _JobTasks, learned: LearnJob) -> None:
        if job.end_lease(learned):
            logger.warning("the tasks of the durable job in %s end: it has no coordinator", learned.job)
            self._forget(learned.job, job)

    def close(self) -> None:
        """End all jobs on this member, and remove its outputs."""
        with self._lock:
            jobs = [*self._jobs.values()]
        for job in jobs:
            job.close()
        if self._places.disk is not None:
            self._places.disk.close()


def unknown_job() -> OperationalError:
    """Return the error for a question about a job that this member doesn't know."""
    return OperationalError(
        "this member knows nothing of the durable job: it has been restarted, or the job had no coordinator"
    )


def check_epoch(question: JobQuestion, epoch: int) -> None:
    """Raise OperationalError for a question of an older epoch than ``epoch``, the last one of the job; and
    for a question other than :class:`LearnJob` of a later one."""
    if question.epoch < epoch:
        raise OperationalError(
            f"the coordinator of epoch {epoch} has taken the durable job over; the coordinator of epoch"
            f" {question.epoch} must end"
        )
    if question.epoch > epoch and not isinstance(question, LearnJob):
        raise unknown_job()
