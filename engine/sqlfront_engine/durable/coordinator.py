"""The coordinator of a durable job: hands out tasks, and writes what becomes of them to the job's log.

The coordinator's thread alone changes the job's state. Runners report the ends of tasks, and the log reports
durable records, through one queue. A finished task counts once its record is durable: only then a task of a
later stage may read its files.

A coordinator that dies leaves the log and the spool files. Its successor claims the next epoch, replays the
log, and runs the tasks that have not finished (:mod:`.takeover`). Runs on members of other processes go on
without their coordinator. The successor adopts such runs: it waits for their ends as for the ends of its own
runs.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock
from typing import Final, TypeAlias

import msgspec

from sqlfront_engine.durable import adaptive
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import (
    Attempt,
    CancelRequested,
    CleanupDone,
    Event,
    JobEnd,
    JobEnded,
    JobError,
    Manifest,
    SinkCommitted,
    SinkPrepared,
    TaskFinished,
    TaskId,
    TasksReset,
)
from sqlfront_engine.durable.event_store.settings import LogState
from sqlfront_engine.durable.failures import TaskFailures
from sqlfront_engine.durable.files import remove_others
from sqlfront_engine.durable.held_outputs import awaits_members, lost_on_members
from sqlfront_engine.durable.initialization import initialized
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.plan_changes import replanned
from sqlfront_engine.durable.recovery import Reset, in_order, reset_for
from sqlfront_engine.durable.runner import TaskEnd, TaskLostError, TaskRunner
from sqlfront_engine.durable.speculation import Speculation
from sqlfront_engine.durable.split_assignments import SplitAssignments
from sqlfront_engine.durable.stages import JobStage, SplitKind, StagePlan
from sqlfront_engine.durable.target import JobTarget, TargetUnavailableError
from sqlfront_engine.durable.tasks import StageTasks, TaskRun
from sqlfront_engine.processors.sources.split_scan import SourceUnavailableError
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.errors import Error, InternalError

logger: Final = logging.getLogger(__name__)

#: The class of the SQLSTATEs of lost connections.
_CONNECTION: Final = "08"


class _Written(msgspec.Struct, frozen=True):
    """The news that the record of a run's ``end`` is durable (``error`` is None), or that the record could
    not be written and never will be (``error`` says why)."""

    end: TaskEnd
    event: TaskFinished
    error: Error | None


class _Suspended(msgspec.Struct, frozen=True):
    """The news that this coordinator is to leave the job to a successor."""


class _Look(msgspec.Struct, frozen=True):
    """The news that it is time to look for slow tasks."""


#: The news that a coordinator waits for.
_News: TypeAlias = TaskEnd | _Written | CancelRequested | _Suspended | _Look


class Coordinator:
    """The coordinator of one durable job in one epoch.

    ``plan``: the stages of the job, as at its creation. ``state``: the job's state by the events that are
    durable so far; the coordinator updates it. ``log``: takes the events. ``runner``: runs the tasks.
    ``folder``: the directory or URL of the job's spool files. ``options``: the options of the job, such as
    the number of attempts at a task. ``target``: the directory or table that takes the job's rows; None if
    the rows stay in spool files, which are the result. ``splits``: gives out the splits of the job's SPLIT
    SCANs, also to the ``runner``; None if the job has no SPLIT SCAN. ``speculation``: chooses tasks for
    second attempts; None if no task gets one. ``check_sources``: raises SourceUnavailableError if what the
    tasks of a stage read has changed since the job's creation; called at the end of each run, whose rows then
    don't count."""

    def __init__(
        self,
        plan: StagePlan,
        state: JobState,
        log: EventLog,
        runner: TaskRunner,
        folder: str,
        options: JobOptions = JobOptions(),  # noqa: B008 - frozen
        target: JobTarget | None = None,
        splits: SplitAssignments | None = None,
        speculation: Speculation | None = None,
        check_sources: Callable[[JobStage], None] = lambda _: None,
    ) -> None:
        self.plan, self.state, self._target = replanned(plan, state.changes), state, target
        self._exchanges = adaptive.exchanges(self.plan)
        self._splits = SplitAssignments(plan, {}, state) if splits is None else splits
        self._log, self._runner, self._folder, self._options = log, runner, folder, options
        self._news: SimpleQueue[_News] = SimpleQueue()
        # The runs that have not ended, or whose record is not durable yet.
        self._running: dict[TaskId, TaskRun] = {}
        # Second attempts at tasks whose first attempt is among these and has not ended.
        self._seconds: dict[TaskId, TaskRun] = {}
        self._speculation, self._check_sources = speculation, check_sources
        # The number of runs that have not ended, with those that were given up.
        self._busy = 0
        # The tasks to hand out, and the files to read, of the stages that have begun.
        self._waiting: dict[int, deque[int]] = {}
        self._inputs: dict[int, tuple[tuple[SpoolFile, ...], ...]] = {}
        self._attempts: Counter[TaskId] = Counter()
        self._failures = TaskFailures(options.attempts)
        # Guards the request to cancel, and whether the end of the job is decided.
        self._deciding = Lock()
        self._asked = state.cancelled
        self._decided = state.prepared is not None
        # The parts of divided rows are the same in all epochs.
        self._buckets = next((begun.buckets for begun in state.stages.values()), options.buckets)

    # ---- the loop

    def run(self) -> JobEnded:
        """Run the job to its end, and return the event of the end, whose record is durable by then. A job
        that fails or is cancelled has an end, too. Raises :class:`JobSuspended` after a call of
        :meth:`suspend`; the error of the log if the log can't be written; and the error of a source or of the
        target if it can't be reached, or the connection with the target is lost. After such an error the job
        has no end yet: a successor goes on with the job."""
        try:
            if self.state.ended is None:
                if self._log.epoch > 1:
                    self._adopt()
                self._write(self._end())
        finally:
            self._end_runs()
        assert self.state.ended is not None
        self._runner.release()
        self._clean_up(self.state.ended.result)
        return self.state.ended

    def _clean_up(self, result: Manifest | None) -> None:
        """Remove the job's spool files, except the files of ``result``."""
        kept = set() if result is None else {file.path for file in result.files}
        if self._remove_others(kept) and not self.state.is_clean:
            self._write(CleanupDone())

    def _remove_others(self, kept: Collection[str]) -> bool:
        """Remove the job's spool files except those at the paths ``kept``, and return True. If a file can't
        be removed, log a warning and return False; the job goes on."""
        try:
            remove_others(self._folder, kept)
        except OSError as error:
            logger.warning("files of the job in %s can't be removed: %s", self._folder, error)
            return False
        return True

    def _end(self) -> JobEnded:
        """Run all stages, and return the event of the job's end; the caller writes it to the log."""
        try:
            ended = self._settled()
            while ended is None:
                self._run_stages()
                ended = self._delivered()
        except _CancelledError:
            ended = JobEnded(JobEnd.CANCELLED)
        except Error as error:
            if self._log.failure is not None or self._is_unsettled(error):
                raise
            ended = JobEnded(JobEnd.FAILED, error=JobError.of(error))
        with self._deciding:
            self._decided = True
            return ended if self._asked is None else JobEnded(JobEnd.CANCELLED)

    def _is_unsettled(self, error: Error) -> bool:
        """Return whether ``error`` leaves the end of the job to a successor: a source or the target can't be
        reached, or the connection with the target was lost (SQLSTATE class 08) when the target may have taken
        the rows."""
        if isinstance(error, TargetUnavailableError | SourceUnavailableError):
            return True
        is_lost = (error.sqlstate or "").startswith(_CONNECTION)
        return is_lost and self.state.prepared is not None and self.state.committed is None

    def _settled(self) -> JobEnded | None:
        """Return the end of a job whose rows a former coordinator has put into the target, after completing
        its commit; None if no rows are in the target, so that the stages have to run."""
        prepared = self.state.prepared
        if self._target is None or prepared is None:
            return None
        if self.state.committed is None:
            if not self._target.settle(prepared.token):
                return None
            self._write(SinkCommitted(prepared.token))
        return JobEnded(JobEnd.FINISHED, prepared.rows)

    def _delivered(self) -> JobEnded | None:
        """Put the rows into the target, and return the end of the job. Without a target, return the spool
        files of the last stage as the result. Returns None if a file of the rows is damaged: the task that
        wrote it runs again."""
        last = self.plan.stages[-1]
        files = self.state.files_of(last.number, len(last.outputs) - 1)
        rows = sum(file.rows for file in files)
        if self._target is None:
            return JobEnded(JobEnd.FINISHED, rows, Manifest(files))
        self._decide()
        assert self.state.submitted is not None
        token = self.state.submitted.job
        self._write(SinkPrepared(token, rows=rows))
        try:
            self._target.put(token, files)
        except SpoolDamaged as error:
            self._reset_producer(error)
            return None
        self._write(SinkCommitted(token))
        return JobEnded(JobEnd.FINISHED, rows)

    def _decide(self) -> None:
        """Refuse requests to cancel from now on. Raises ``_CancelledError`` if the job was cancelled
        before."""
        with self._deciding:
            if self._asked is not None:
                raise _CancelledError
            self._decided = True

    def cancel(self, request: CancelRequested) -> bool:
        """Cancel the job on request of a user. May be called on any thread. Returns True when the request is
        durable: the job will end as cancelled. Returns False, and does nothing, if the job's end is already
        decided."""
        with self._deciding:
            if self._decided:
                return False
            self._log.append_durably(request)
            self._asked = request
        self._news.put(request)
        return True

    def suspend(self) -> None:
        """Have :meth:`run` stop the running tasks and raise :class:`JobSuspended`, so that a successor goes
        on with the job. Returns at once; may be called on any thread. If rows are being written to the
        target, :meth:`run` completes that first."""
        self._news.put(_Suspended())

    def _run_stages(self) -> None:
        last = self.plan.stages[-1].number
        while not self.state.is_complete(last):
            if self._asked is not None:
                raise _CancelledError
            self._hand_out()
            self._speculate()
            if not self._running and not self._busy:
                raise InternalError("the job can't go on: no task runs, and none is ready")
            self._take(self._next())

    def _next(self) -> _News:
        """Wait for the next item of the news queue and return it. A simulation overrides this to decide
        which event happens next."""
        return self._news.get()

    def _take(self, news: _News) -> None:
        match news:
            case TaskEnd():
                self._busy -= 1
                if self._speculation is not None:
                    self._speculation.ended(news)
                self._take_end(news)
            case _Written():
                if news.error is not None:
                    raise news.error
                run = news.end.run
                counts = self._running.get(run.id) is run  # else a reset has taken the record back
                if counts:
                    del self._running[run.id]
                    self.state.apply(news.event)
                self._runner.settle(news.end, counts=counts)
            case CancelRequested():
                self.state.apply(news)
            case _Look():
                if self._speculation is not None:
                    self._speculation.looked()
            case _Suspended():
                raise JobSuspended

    def _write(self, event: Event) -> None:
        self._log.append_durably(event)
        self.state.apply(event)

    # ---- the runs of former coordinators

    def _adopt(self) -> None:
        """Have the tasks run again whose outputs are lost with members, and go on with the runs of former
        coordinators that fit the job's state. Then remove the files that belong neither to these runs nor to
        finished tasks."""
        held = self._runner.retain(lambda found: awaits_members(self.plan, self.state, found))
        reset = lost_on_members(self.plan, self.state, held)
        if reset.tasks:
            self._reset(reset, "members that are gone had the outputs")
        self._runner.adopt(self._adopts, self._news.put, self.state.files)
        adopted = self._running.values()
        if adopted:
            logger.info("epoch %d of the job has adopted %d tasks", self._log.epoch, len(adopted))
        self._remove_others(self.state.files.union(*(run.paths for run in adopted)))

    def _adopts(self, run: TaskRun) -> bool:
        """Return whether the run of a former coordinator is adopted; if so, the run counts as running from
        now on. A run is adopted if its task has to run, no other run of the task is adopted, and the run
        reads the very files that a new run would read. After the loss of files, these may be other files than
        those that the former coordinator knew."""
        task = run.id
        if task.stage not in self.state.stages or not self._is_ready(stage := self.plan.stages[task.stage]):
            return False
        if stage.splits is not SplitKind.LISTED:
            return False  # its splits were given out by the former coordinator
        waiting = self._waiting[task.stage]
        if task.task not in waiting or run != self._run(stage, task.task, run.attempt):
            return False
        waiting.remove(task.task)
        self._running[task] = run
        self._busy += 1
        return True

    # ---- handing out

    def _hand_out(self) -> None:
        """Start waiting tasks until the runner has no capacity left, those of early stages first."""
        self._save_exchanges()
        for stage in self.plan.stages:
            if stage.vertices and not self._waits(stage) and self._is_ready(stage):
                waiting = self._waiting[stage.number]
                while waiting and not self._is_full:
                    self._start(stage, waiting.popleft())

    @property
    def _is_full(self) -> bool:
        """Whether as many tasks run as may run at a time."""
        return self._busy >= min(self._runner.capacity, self._failures.most_runs)

    def _save_exchanges(self) -> None:
        """Change the plan so that joins of which the held rows came out few need no exchange."""
        memory = self._runner.task_memory
        while change := adaptive.broadcast(self._exchanges, self.state, self._options, memory):
            self._write(change)
            self.plan = replanned(self.plan, [change])
            self._exchanges = adaptive.exchanges(self.plan)

    def _waits(self, stage: JobStage) -> bool:
        """Return whether the stage should wait, since the exchange of its rows may turn out unnecessary."""
        memory = self._runner.task_memory
        return adaptive.waits(stage.number, self._exchanges, self.state, self._options, memory)

    def _is_ready(self, stage: JobStage) -> bool:
        """Return whether all inputs of the stage are complete. If they are, also begin the stage: write the
        number of its tasks to the log, and collect the tasks to hand out and the files that they read."""
        number, state = stage.number, self.state
        if not all(state.is_complete(source.stage) for source in stage.inputs):
            return False
        if number not in state.stages:
            self._share_buckets(stage)
            memory = self._runner.task_memory
            self._write(initialized(self.plan, state, stage, self._buckets, self._options, memory))
        if number not in self._waiting:
            tasks = range(state.stages[number].parallelism)
            self._waiting[number] = deque(
                task for task in tasks if TaskId(number, task) not in state.finished
            )
        if number not in self._inputs:
            self._inputs[number] = tuple(adaptive.files_of(state, source) for source in stage.inputs)
        return True

    def _start(self, stage: JobStage, number: int) -> None:
        task = TaskId(stage.number, number)
        self._running[task] = run = self._run(stage, number, self._next_attempt(task))
        self._begin(run)

    def _next_attempt(self, task: TaskId) -> Attempt:
        self._attempts[task] += 1
        return Attempt(self._log.epoch, self._attempts[task])

    def _begin(self, run: TaskRun) -> None:
        self._busy += 1
        self._splits.begin(run)
        if self._speculation is not None:
            self._speculation.began(run)
        self._runner.start(run, self._news.put)

    def _speculate(self) -> None:
        """Start second attempts at tasks that take long, while the runner has capacity, and look again soon.
        Tasks that are given their splits while they run get none, since quick tasks read more splits than
        slow ones; and so do tasks one of whose files was lost, which are about to fail."""
        if self._speculation is None or not self._running:
            return
        for run in self._speculation.slow(self._running.values()):
            stage = run.tasks.stage
            is_able = stage.splits is SplitKind.LISTED and run.files == self._inputs.get(stage.number)
            if self._is_full or not is_able or run.id in self._seconds:
                continue
            second = msgspec.structs.replace(run, attempt=self._next_attempt(run.id))
            self._seconds[run.id] = second
            self._begin(second)
        self._speculation.look_later(lambda: self._news.put(_Look()))

    def _run(self, stage: JobStage, number: int, attempt: Attempt) -> TaskRun:
        """Return a run of a task of a stage that has begun, over the present files of the stage's inputs."""
        return TaskRun(self._tasks(stage), number, attempt, self._inputs[stage.number], self._folder)

    def _wait_again(self, tasks: Iterable[TaskId]) -> None:
        """Append the tasks to the queues of waiting tasks of their stages. Tasks of stages that have not
        begun are skipped."""
        for task in tasks:
            if task.stage in self._waiting:
                self._waiting[task.stage].append(task.task)

    def _share_buckets(self, stage: JobStage) -> None:
        """Decide whether several tasks of the stage, which begins, share its large buckets, unless a former
        coordinator has decided so."""
        memory = self._runner.task_memory
        change = adaptive.split(self.plan, self.state, stage, self._buckets, self._options, memory)
        if change is not None and stage.number not in self.state.splits:
            self._write(change)

    def _tasks(self, stage: JobStage) -> StageTasks:
        begun = self.state.stages[stage.number]
        return StageTasks(stage, begun.ranges, begun.buckets, self.state.splits.get(stage.number))

    # ---- the ends of tasks

    def _take_end(self, end: TaskEnd) -> None:
        if not self._is_awaited(end):
            self._discard(end)  # the run was given up meanwhile
            return
        stage = end.run.tasks.stage
        self._check_sources_of(end)
        if end.output is not None:
            issued, splits = self._splits.finish(end.run)
            event = TaskFinished(
                end.run.id,
                end.run.attempt,
                self._runner.member,
                self._runner.incarnation,
                end.output,
                stage.is_deterministic,
                splits,
                rows_out=sum(file.rows for file in end.output.files),
            )
            try:
                for splits_issued in issued:
                    self._write(splits_issued)
                # The run stays in `_running` until its record is durable.
                self._log.append(event, lambda error: self._news.put(_Written(end, event, error)))
            except Error:
                self._discard(end)
                raise
            return
        if self._running[end.run.id] is end.run:  # else another attempt goes on
            del self._running[end.run.id]
            self._splits.give_up(end.run)
            self._wait_again([end.run.id])
        assert end.error is not None
        if isinstance(end.error, SpoolDamaged):
            self._reset_producer(end.error)
        else:
            self._note_failure(end.run.id, end.error)
        if stage.splits is SplitKind.PASSED_ONCE:
            siblings = [task for task in self.state.finished if task.stage == stage.number]
            reset = reset_for(self.plan, self.state, siblings)
            self._reset(reset, f"the splits of task {end.run.task} can't be read again", {stage.number})

    def _is_awaited(self, end: TaskEnd) -> bool:
        """Return whether the end is that of a run that was not given up. Of two attempts at a task, the first
        one that ends with files is the task's run from now on; the other one is given up. If one ends with an
        error, the other one goes on alone."""
        task = end.run.id
        first, second = self._running.get(task), self._seconds.get(task)
        if end.run is not first and end.run is not second:
            return False
        if second is not None:
            del self._seconds[task]
            assert first is not None
            other = second if end.run is first else first
            self._running[task] = other if end.output is None else end.run
        return True

    def _check_sources_of(self, end: TaskEnd) -> None:
        """Raise the error of a source that has changed since the job's creation, if the run has read from it;
        then its files are removed, which may have rows of two versions."""
        try:
            self._check_sources(end.run.tasks.stage)
        except Error:
            self._discard(end)
            raise

    def _discard(self, end: TaskEnd) -> None:
        """Remove the files of a run that doesn't count, if the run has files. If a successor has claimed the
        next epoch, leave the files: the successor may have adopted the run."""
        if end.output is not None and self._log.state is not LogState.FENCED:
            self._runner.settle(end, counts=False)

    def _note_failure(self, task: TaskId, error: Error) -> None:
        """Count a failure of a task; raise the error if it ends the job in this epoch."""
        is_parallel = self.plan.stages[task.stage].is_parallel
        self._failures.note(task, error, is_parallel=is_parallel, busy=self._busy)

    def _reset_producer(self, error: SpoolDamaged) -> None:
        """Run the task again whose spool file is missing or damaged, and all tasks whose output depends on
        that file; with a lost member, the tasks of all its files. Does nothing if the tasks run again
        already. Raises the error if a task has failed too often."""
        lost = {
            task
            for task, finish in self.state.finished.items()
            if any(error.concerns(file.path) for file in finish.output.files)
        }
        reset = reset_for(self.plan, self.state, lost)
        if not reset.tasks:
            return  # the task that made the file runs again already
        cause = TaskLostError(str(error)) if error.place else error
        for task in lost:
            self._note_failure(task, cause)
        self._reset(reset, str(error))

    def _reset(self, reset: Reset, reason: str, failed: Collection[int] = ()) -> None:
        """Have the tasks of ``reset`` run again, and the running tasks that read other rows then, for the
        ``reason``. ``failed``: stages in which a run has failed that passed once over the sources: all tasks
        of such a stage run again, as they do if one of them has to because of the reset."""
        again = {task.stage for task in reset.tasks} | {*failed}
        changed = {
            stage.number
            for stage in self.plan.stages
            if any(source.stage in reset.changed for source in stage.inputs)
        }
        passes = self.plan.passed_once & (again | changed)
        stale = {task for task in self._running if task.stage in changed | passes}
        tasks = in_order(reset.tasks | stale)
        if tasks:
            # A stale run may have a record that is about to be durable: the reset takes it back.
            self._write(TasksReset(tasks, reason))
        for task in stale:
            self._splits.give_up(self._running.pop(task))
            self._seconds.pop(task, None)
        self._splits.restart(passes)
        self._inputs.clear()
        self._wait_again(tasks)

    def _end_runs(self) -> None:
        """Stop the running tasks, wait for their ends, and remove the files that they wrote. If a successor
        has claimed the next epoch, also remove the files of this epoch that the successor doesn't accept."""
        self._runner.stop()
        self._splits.close()
        while self._busy:
            news = self._next()
            if isinstance(news, TaskEnd):
                self._busy -= 1
                self._discard(news)
        # The successor adopts or removes what lasting runs have written.
        if self._log.state is LogState.FENCED and not self._runner.is_lasting:
            self._leave_to_successor()

    def _leave_to_successor(self) -> None:
        """Remove the files of this epoch that the successor doesn't accept. If the successor has not written
        its first record yet, remove nothing: the successor will then find the files itself."""
        with suppress(OSError):
            state = JobState.of(self._log.read())
            if state.epoch > self._log.epoch:
                remove_others(self._folder, state.files, self._log.epoch)


class _CancelledError(Exception):
    """The error that ends the job's stages because a user has cancelled the job."""


class JobSuspended(Exception):
    """The error of :meth:`Coordinator.run` when the coordinator has left its job to a successor."""
