"""The service for the durable jobs of a session's store: their beginning, their takeover and their end."""

import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.jobs import interpreter_end
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_options import job_settings, with_defaults
from sqlfront.jobs.job_plan import JobPlan, PlannedJob, check_of_sources, decode_job_plan, settings_of
from sqlfront.jobs.job_resources import JobResources
from sqlfront.jobs.job_session import JobSession
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase, status_of, unreadable
from sqlfront.jobs.running_job import RunningJob
from sqlfront.jobs.spark_reads import JobSource
from sqlfront.jobs.spooled_rows import SpooledRows
from sqlfront.jobs.stored_jobs import StoredJob, StoredJobs
from sqlfront.jobs.takeover_watch import TakeoverWatch
from sqlfront_cluster.durable_tasks.member_runner import MemberRunner, TaskMembers, places_of
from sqlfront_cluster.durable_tasks.task_messages import LearnJob
from sqlfront_connectors.memory.spread.version_scan import VersionScan
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.division import JobOptions, OutputPlace, buckets_for
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CancelRequested, JobSubmitted
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner, Ownership
from sqlfront_engine.durable.event_store.replay import Replay
from sqlfront_engine.durable.files import sizes_of
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.plan_changes import replanned
from sqlfront_engine.durable.recovery import reset_after_loss
from sqlfront_engine.durable.speculation import Speculation
from sqlfront_engine.durable.split_assignments import SplitAssignments
from sqlfront_engine.durable.split_runner import ClosableRunner, SplitRunner
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.target import JobTarget
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.forks import inherited
from sqlfront_engine.process_user import process_user
from sqlfront_engine.processors.sources.split_scan import SplitScan
from sqlfront_engine.spool.places import PLACES
from sqlfront_engine.storage.addresses import open_folder
from sqlfront_values.errors import (
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    spark_error,
)
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront.results.result import Result

logger: Final = logging.getLogger(__name__)

_SPOOL: Final = "spool"
#: Seconds for which a waiting client allows that no process runs the job: a successor takes a job over within
#: a few seconds, or not at all.
PATIENCE: Final = 15.0
#: Seconds between two looks at a job that another process runs; on an object storage each look is a request.
_PAUSE: Final = 0.1
_REMOTE_PAUSE: Final = 1.0


class JobService(ClosingContext):
    """The durable jobs of the store at ``address``, a directory or the URL of an object storage. One process
    owns a store at a time, and changes its jobs; other processes only read the store. This process becomes
    the owner when it first has to change a job. Safe to use from several threads."""

    def __init__(
        self,
        address: str,
        engine: Engine,
        session: JobSession,
        members: TaskMembers | None = None,
        memory_limit: int | None = None,
        job_options: Mapping[str, str | float] | None = None,
    ) -> None:
        """Open the store; nothing is created before the first job. ``engine``: runs the tasks, unless there
        are ``members`` of a cluster to run them. ``session``: the session that the service belongs to.
        ``memory_limit``: the bytes that the tasks of one job may hold together in a process, None = all that
        the process has. ``job_options``: the options of new jobs that don't give them, None = the defaults.
        Raises OperationalError for a URL of a storage that can't hold jobs, or whose library
        is not installed."""
        self._store = JobStore.open(address, clock=engine.clock)
        self._stored = StoredJobs(self._store)
        self._engine, self._session, self._members = engine, session, members
        self._memory_limit, self._job_options = memory_limit, dict(job_options or {})
        self._incarnation = secrets.token_hex(8)
        self._member = f"process-{os.getpid()}" if members is None else members.coordinator.name
        self._lock = threading.RLock()
        # Guarded by the lock: the ownership, and by job: the runs here, and what their sources need.
        self._ownership: Ownership | None = None
        self._running: dict[str, RunningJob] = {}
        self._resources = JobResources()
        # The errors by which this process's coordinators have lost jobs.
        self._lost: dict[str, Error] = {}
        # The message of the last warning about each job that could not be taken over.
        self._warned: dict[str, str] = {}
        # The reason for which the jobs can't be changed or watched any more; empty = they can.
        self._closed = ""
        self._process = os.getpid()
        #: The jobs whose rows this process has put into their targets.
        self.delivered: set[str] = set()
        #: The jobs whose rows only a result in this process reads; :meth:`close` removes these jobs.
        self.passing: set[str] = set()
        self._watch: TakeoverWatch | None = None
        if self._store.is_remote:
            interpreter_end.close_before_pools_end(self)

    @property
    def address(self) -> str:
        """The directory of the store, or its URL."""
        return self._store.address

    # ---- the beginning of jobs

    def submit(
        self,
        name: str,
        statement: str,
        planned: PlannedJob,
        settings: Settings,
        options: Mapping[str, str],
        replaces: str | None = None,
    ) -> DurableJob:
        """Accept a job, durably, and begin to run it; return its handle. ``statement``: the text of the
        statement of CREATE JOB ... AS. ``options``: the options of CREATE JOB. ``replaces``: the id of the
        job of the same name that the new job replaces, and that doesn't run; None = there is no such job.
        Raises ProgrammingError for a wrong option, and for a name that another job of the store has;
        OperationalError if the store can't be written, or another process owns it."""
        options = with_defaults(options, self._job_options)
        chosen = job_settings(options)
        self._check_outputs(chosen.tasks, planned.plan)
        with self._changing():
            self._remove_leftovers()
            present = self.find(name)
            if present is not None and present.id != replaces:
                raise ProgrammingError(
                    f"there is a job `{name}` already; DROP JOB removes it, CREATE OR REPLACE JOB replaces it"
                )
            now = time.time_ns()
            job = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now // 10**9))}-{secrets.token_hex(4)}"
            submitted = JobSubmitted(
                job=job,
                name=name,
                statement=statement,
                user=process_user(),
                now=now // 1000,
                seed=0,
                plan=planned.plan.encoded(),
                plan_hash=planned.plan.fingerprint,
                engine_version=version("sqlfront"),
                arrow_version=pa.__version__,
                settings=_texts(settings),
                options=options,
                replaces=replaces,
            )
            target = self._session.target(submitted)
            self._resources.keep(job, planned.resources)
            try:
                claim = self._store.take_epoch(job, cluster=self._incarnation, member=self._member)
                log, state = submit(claim, submitted, incarnation=self._incarnation, settings=chosen.log)
            except BaseException:
                self._resources.release(job)
                raise
            coordinator, runner = self._coordinator(submitted, state, log, planned.stages, target)
            self._start(submitted, coordinator, log, runner)
            return DurableJob(self, job, name)

    def _check_outputs(self, options: JobOptions, plan: JobPlan) -> None:
        """Raise NotSupportedError if the outputs of a job can't be where the options say."""
        if options.outputs is OutputPlace.MEMBERS and (self._members is None or plan.held):
            raise NotSupportedError(
                "a durable job with the option outputs = members, whose tasks don't run on members in"
                " processes of their own"
            )

    def replace(
        self,
        former: str,
        name: str,
        statement: str,
        planned: PlannedJob,
        settings: Settings,
        options: Mapping[str, str],
    ) -> DurableJob:
        """Accept a job in place of the job with the id ``former``, durably, and begin to run it; return its
        handle. Whenever the process is killed, the store has one of the two jobs under the name ``name``. A
        former job that runs is stopped before; if it has begun to put its rows into its target, it is
        completed. If the new job can't be accepted, the former job goes on. The parameters, and the errors
        raised, are those of :meth:`submit`."""
        with self._changing():
            runs = former in self._running
        try:
            job = None
            while job is None:  # a watch may have resumed the former job meanwhile
                self._set_aside(former)
                with self._changing():
                    if former not in self._running:
                        job = self.submit(name, statement, planned, settings, options, former)
        except BaseException:
            if runs:
                self._is_resumed(self._stored.read(former))
            raise
        try:
            self.remove(former)
        except Error as error:
            logger.warning("what is left of the replaced job %s can't be removed yet: %s", former, error)
        return job

    def _set_aside(self, job: str) -> None:
        """Stop the job with the id ``job`` if it runs here; if it has begun to put its rows into its target,
        run it to its end. Raises the error of a target that can't be reached."""
        run = self._running.get(job)
        if run is not None:
            run.suspend()
        stored = self._stored.find(job)
        if isinstance(stored, StoredJob) and stored.state.is_delivering:
            self.cancel(job)
            self.wait(job, None)

    def resume(self, job: str, cancel: CancelRequested | None = None) -> bool:
        """Take over a job whose coordinator is gone, and begin to run it; do nothing for a job that runs here
        or has ended. ``cancel``: a request to cancel, by which the job ends as cancelled instead, unless its
        rows may be in the target already. Return whether the job was resumed, or with ``cancel``, whether it
        was cancelled. Raises OperationalError if files or tables that the job reads have changed, and if the
        job reads a memory table of a process that has ended."""
        stored = self._stored.read(job)
        if stored.state.ended is not None:
            return False
        with self._changing():
            if job in self._running:
                return False
            submitted = stored.submitted
            plan = decode_job_plan(submitted.plan)
            stages = plan.stages()
            is_cancelled = cancel is not None or stored.state.cancelled is not None
            target = self._session.target(submitted)
            if target is not None and not is_cancelled:
                target.check(job)
            if not is_cancelled:
                again = _stages_again(stages, stored.state, self._folder(job))
                self._find_sources(submitted, plan, stages, again)
            claim = self._store.take_epoch(job, cluster=self._incarnation, member=self._member)
            log, state = take_over(
                claim,
                stages,
                self._folder(job),
                incarnation=self._incarnation,
                settings=job_settings(submitted.options).log,
            )
            coordinator, runner = self._coordinator(submitted, state, log, stages, target)
            done = cancel is None or coordinator.cancel(cancel)
            self._start(submitted, coordinator, log, runner)
            return done

    def watch(self) -> None:
        """Have a thread call :meth:`take_over` until all jobs of the store run here or have ended."""
        self._watch = TakeoverWatch(self.take_over)

    def take_over(self) -> bool:
        """Resume the jobs that have not ended, if no other process owns the store; this process becomes the
        owner if there are such jobs. Return whether this process owns the store and runs all these jobs. A
        job that can't be resumed, for example because the session doesn't know the job's target yet, is left
        as it is; the error is logged, but not again while it stays the same."""
        if self.is_coordinated_elsewhere() or (not self.is_owner and not self._left()):
            return False
        with self._changing():
            resumed = [self._is_resumed(job) for job in self._left()]
        return all(resumed)

    def _left(self) -> list[StoredJob]:
        return [job for job in self._stored if job.state.ended is None and job.id not in self._running]

    def _is_resumed(self, job: StoredJob) -> bool:
        try:
            self.resume(job.id)
        except Error as error:
            if self._warned.get(job.id) != error.message:
                self._warned[job.id] = error.message
                logger.warning("the job %s can't be taken over: %s", job.submitted.name, error)
            return False
        self._warned.pop(job.id, None)
        return True

    def _find_sources(
        self, submitted: JobSubmitted, plan: JobPlan, stages: StagePlan, again: Collection[int]
    ) -> None:
        """Find the tables and files that a job, which is taken over, reads: as they were when the job was
        created. ``again``: the stages with tasks that have to run. Raises OperationalError for a table or a
        file that has changed, and for one that is gone, if such a task reads it."""
        job = submitted.job
        if job not in self._resources:
            if again and plan.held:
                raise OperationalError(
                    f"the job reads the memory table `{plan.held[0]}`, whose rows have gone with the process"
                    " that created the job; create the job anew"
                )
            if (again and plan.versions) or plan.reads:
                found = self._session.sources(plan, settings_of(submitted), versions=bool(again))
                self._resources.keep(job, found)
        if again:
            plan.check_files()
        for key in stages.split_sources(again):
            source = self._resources.of(job).get(key)
            if isinstance(source, JobSource):
                source.check()

    def _coordinator(
        self,
        submitted: JobSubmitted,
        state: JobState,
        log: EventLog,
        stages: StagePlan,
        target: JobTarget | None,
    ) -> tuple[Coordinator, ClosableRunner]:
        """Return a coordinator for a job, and the runner of the job's tasks. ``state`` and ``log``: the state
        of the job, and its log in the epoch that the coordinator has claimed."""
        plan, options = decode_job_plan(submitted.plan), job_settings(submitted.options).tasks
        splits = SplitAssignments(stages, self._resources.of(submitted.job), state)
        runner = self._runner(submitted, plan, stages, log.epoch, options, splits)
        options = replace(options, buckets=buckets_for(plan.input_size, options, runner.task_memory))
        folder = self._folder(submitted.job)
        speculation = Speculation(self._engine.clock) if options.speculation else None
        check = check_of_sources(plan, stages.dag)
        coordinator = Coordinator(
            stages, state, log, runner, folder, options, target, splits, speculation, check
        )
        return coordinator, runner

    def _runner(
        self,
        submitted: JobSubmitted,
        plan: JobPlan,
        stages: StagePlan,
        epoch: int,
        options: JobOptions,
        splits: SplitAssignments,
    ) -> ClosableRunner:
        """Return a runner of a job's tasks in an epoch: on the members of the cluster, or on threads of this
        process if there is no cluster, or if the job reads memory tables of this process. Tasks that read
        spread tables, or sources that can't list their splits, run on threads of this process in any case.
        ``options``: the job's options about its tasks. ``splits``: gives out the splits of such sources."""
        settings, threads = settings_of(submitted), self._engine.workers
        resources = self._resources.of(submitted.job)
        if self._members is not None:
            resources = {**resources, PLACES: places_of(self._members).located}
        config = JobConfig(
            settings=settings,
            resources=resources,
            memory_limit=self._memory_limit,
            description=submitted.job,
        )

        def here() -> ThreadRunner:
            return ThreadRunner(
                self._engine,
                stages,
                config,
                threads=threads,
                member=self._member,
                incarnation=self._incarnation,
                splits=splits,
            )

        if self._members is None or plan.held:
            return here()
        learn = LearnJob(
            self._folder(submitted.job),
            epoch,
            self._member,
            plan.dag,
            settings,
            options.lease,
            options.outputs,
            self._memory_limit,
        )
        others = MemberRunner(
            self._members,
            stages,
            learn,
            threads=threads,
            incarnation=self._incarnation,
            patience=options.recovery_timeout,
        )
        bound = stages.vertices_of(VersionScan) | stages.vertices_of(SplitScan)
        return SplitRunner(here(), others, bound) if bound else others

    def _start(
        self,
        submitted: JobSubmitted,
        coordinator: Coordinator,
        log: EventLog,
        runner: ClosableRunner,
    ) -> None:
        run = RunningJob(submitted, coordinator, log, runner, self._forget)
        self._lost.pop(submitted.job, None)
        # A waiter may join the thread as soon as the run is known; the run's end waits for the lock.
        run.start()
        self._running[submitted.job] = run

    def _forget(self, run: RunningJob) -> None:
        with self._lock:
            if self._running.get(run.submitted.job) is run:
                del self._running[run.submitted.job]
            if run.lost is not None:
                self._lost[run.submitted.job] = run.lost
        if run.status.has_ended:
            self._resources.release(run.submitted.job)

    def _remove_leftovers(self) -> None:
        """Remove what is left of jobs that were never accepted, or were replaced, because their process died
        before, and the files of jobs that were dropped: a process or member that ran such a job without
        knowing of the DROP JOB may have completed a file afterwards. Raises OperationalError if the files
        can't be listed or removed."""
        for job in self._stored.leftovers():
            self._store.remove(job)
        try:
            spool = open_folder(self._spool)
            for job in set(spool.names()).difference(self._store.jobs()):
                spool.folder(job).remove()
        except OSError as error:
            raise OperationalError(f"{self._spool} can't be cleaned up: {error}") from error

    def _own(self) -> None:
        if not self.is_owner:
            owner = Owner(self._incarnation, self._member)
            self._ownership = self._store.own(owner)

    def give_up(self) -> None:
        """Give up the ownership of the store, so that other processes can change its jobs. Does nothing while
        jobs run here."""
        with self._lock:
            if self._ownership is not None and not self._running and not self._closed:
                self._ownership.release()
                self._ownership = None

    # ---- the jobs of the store

    def jobs(self) -> list[DurableJobStatus]:
        """Return the status of each job of the store: first of the jobs whose logs can be read, in the order
        of creation, then of the other jobs."""
        return [self._status(job) for job in self._stored] + self._stored.unreadable()

    @property
    def is_owner(self) -> bool:
        """Whether this process owns the store."""
        return self._ownership is not None and self._ownership.is_held

    def stored(self) -> list[StoredJob]:
        """Return the jobs whose logs can be read, in the order of creation."""
        return list(self._stored)

    def log(self, job: str) -> Replay:
        """Read the log of the job with the id ``job``. Raises OperationalError for a log in a form that this
        version of sqlfront doesn't know."""
        return self._store.read(job)

    def find(self, name: str) -> DurableJob | None:
        """Return the job with this name, in any case of letters, or with this id; None if there is no such
        job."""
        for job in reversed(self.jobs()):
            if name == job.id or job.name.lower() == name.lower():
                return DurableJob(self, job.id, job.name)
        return None

    def status(self, job: str) -> DurableJobStatus:
        """Return the present status of the job with the id ``job``. Raises OperationalError if there is no
        such job, InterfaceError in a forked process."""
        self._check_process()
        run = self._running.get(job)
        if run is not None:
            return run.status
        found = self._stored.find(job)
        return unreadable(job, found) if isinstance(found, Error) else self._status(self._stored.read(job))

    def _status(self, job: StoredJob) -> DurableJobStatus:
        run = self._running.get(job.id)
        if run is not None:
            return run.status
        coordinated = job.state.ended is None and self.is_coordinated_elsewhere()
        return status_of(job.submitted, job.state, coordinated=coordinated)

    def is_coordinated_elsewhere(self) -> bool:
        """Return whether another process owns the store, and so may run the jobs that don't run here."""
        return not self.is_owner and self._store.owner() is not None

    def wait(self, job: str, timeout: float | None) -> DurableJobStatus:
        """Wait for the end of the job with the id ``job``, and return the job's status. Returns the present
        status after ``timeout`` seconds (None: without a limit), and when this service is closed. A
        failed job raises nothing. Raises the error that kept the coordinator in this process from running the
        job on, such as that of a log that can't be written, and OperationalError if no process has run the
        job for :data:`PATIENCE` seconds."""
        self._check_process()
        now = time.monotonic()
        end, given_up = now + (math.inf if timeout is None else timeout), now + PATIENCE
        while True:
            run = self._running.get(job)
            if run is not None:
                run.wait(None if timeout is None else max(0.0, end - time.monotonic()))
                if run.status.has_ended:  # the log may be gone already, by DROP JOB
                    return run.status
            if job in self._lost:
                raise self._lost[job]
            status, now = self.status(job), time.monotonic()
            if status.has_ended or status.phase is JobPhase.UNREADABLE or now >= end or self._closed:
                return status
            if status.phase is not JobPhase.RECOVERING:
                given_up = now + PATIENCE
            elif now >= given_up:
                raise OperationalError(
                    f"no process runs the job `{status.name}` of {self.address}; RESUME JOB goes on with it"
                )
            time.sleep(min(_REMOTE_PAUSE if self._store.is_remote else _PAUSE, end - now))

    def cancel(self, job: str) -> bool:
        """Cancel the job durably, and return True; return False if the job has ended, or if it is too late to
        stop its end."""
        request = CancelRequested(process_user(), time.time_ns() // 1000)
        with self._changing():
            run = self._running.get(job)
            if run is None:
                return self.resume(job, request)
        return run.cancel(request)

    def remove(self, job: str) -> None:
        """Remove a job that doesn't run here, with its files and its log. Raises OperationalError for a job
        that runs here."""
        with self._changing():
            if job in self._running:
                raise OperationalError(f"the job {job} runs; CANCEL JOB first")
            stored = self._stored.find(job)
            if isinstance(stored, StoredJob) and stored.submitted.replaces is not None:
                self._erase(stored.submitted.replaces)  # else it would be there again
            self._erase(job)
            self._resources.release(job)
            self._stored.forget(job)

    def _erase(self, job: str) -> None:
        try:
            open_folder(self._folder(job)).remove()
        except OSError as error:
            # In a directory it may be that the job's coordinator removes the same files. A storage that
            # doesn't answer keeps them, so that the job must be dropped again.
            if self._store.is_remote:
                raise OperationalError(f"the files of the job {job} can't be removed: {error}") from error
        self._store.remove(job)

    def rows(self, job: str) -> SpooledRows:
        """Return the rows of the finished job with the id ``job``, as a table. Raises the error of a failed
        job, and OperationalError for a job that has not finished, was cancelled, or has put its rows into a
        target."""
        stored = self._stored.read(job)
        if stored.state.ended is None:
            name, phase = stored.submitted.name, self._status(stored).phase.value
            raise OperationalError(f"the job `{name}` is {phase}, and has no rows before its end")
        return stored.rows

    def table(self, name: str) -> SpooledRows:
        """Return the rows of the finished job with this name or id, as a table. Raises
        TABLE_OR_VIEW_NOT_FOUND if there is no such job, the error of a failed job, and OperationalError for a
        job whose rows can't be read here: it has not finished, was cancelled, or has put its rows into a
        target."""
        job = self.find(name)
        if job is None:
            raise spark_error("TABLE_OR_VIEW_NOT_FOUND", f"There is no job `{name}` in {self.address}.")
        return self.rows(job.id)

    def read(self, job: str) -> "Result":
        """Return the rows of the finished job with the id ``job`` as a result. Raises the error of a failed
        job, and OperationalError for a job that has not finished, was cancelled, or has put its rows into a
        target."""
        return self._session.read(self.rows(job).plan())

    def submitted(self, job: str) -> JobSubmitted:
        """Return the event by which the job with the id ``job`` was accepted. Raises OperationalError if
        there is no such job, or its log can't be read."""
        return self._stored.read(job).submitted

    @property
    def _spool(self) -> str:
        return os.path.join(self.address, _SPOOL)

    def _folder(self, job: str) -> str:
        return os.path.join(self._spool, job)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """A context in which no other thread changes jobs, and this process owns the store. Raises
        InterfaceError after :meth:`close` and in a forked process, OperationalError if another process owns
        the store."""
        self._check_process()
        with self._lock:
            if self._closed:
                raise InterfaceError(self._closed)
            self._own()
            yield

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise InterfaceError(f"{inherited('the session')}; open one here")

    def close(self) -> None:
        """Stop the coordinators of this process, and give up the ownership of the store; another process can
        resume the jobs."""
        with self._lock:
            self._closed = "the session is closed"
            running = list(self._running.values())
        if self._watch is not None:
            self._watch.stop()
        for run in running:
            run.suspend()
        if self._ownership is not None and self._ownership.is_held:
            try:
                for job in self.passing:
                    self._erase(job)
            finally:
                self._ownership.release()


def _stages_again(stages: StagePlan, state: JobState, folder: str) -> set[int]:
    """Return the numbers of the stages with tasks that still have to run, so that the stages' sources are
    read. ``stages``: the plan of the job's creation. ``folder``: the directory or URL of the job's spool
    files."""
    stages = replanned(stages, state.changes)
    again = {task.stage for task in reset_after_loss(stages, state, sizes_of(folder)).tasks}
    if state.is_complete(stages.stages[-1].number) and not again:
        return again
    return again | {stage.number for stage in stages.stages if not state.is_complete(stage.number)}


def _texts(settings: Settings) -> dict[str, str]:
    """Return the session's settings, all of which are texts; the number of an instance isn't among them."""
    fields = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return {name: value for name, value in fields.items() if isinstance(value, str)}
