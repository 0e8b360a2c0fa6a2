"""The durable jobs of a session's store, and a job as its user sees it."""

import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront.jobs.job_options import job_settings
from sqlfront.jobs.job_plan import JobPlan, PlannedJob, decode_job_plan
from sqlfront.jobs.job_status import DurableJobStatus, status_of
from sqlfront.jobs.member_runner import MemberRunner, TaskMembers
from sqlfront.jobs.running_job import RunningJob
from sqlfront.jobs.spooled_rows import SpooledRows
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import CancelRequested, JobEnd, JobError, JobSubmitted
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner, Ownership
from sqlfront_engine.durable.event_store.replay import Replay
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.takeover import submit, take_over
from sqlfront_engine.durable.target import JobTarget
from sqlfront_engine.durable.thread_runner import ThreadRunner
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.process_user import process_user
from sqlfront_values import errors
from sqlfront_values.errors import (
    Error,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    spark_error,
)
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlfront.results.result import Result
    from sqlfront_planner.logical import LogicalPlan

logger: Final = logging.getLogger(__name__)

_SPOOL: Final = "spool"


class DurableJob:
    """A durable job of a store. The job goes on when this object, or the session, is gone."""

    def __init__(self, service: "JobService", submitted: JobSubmitted) -> None:
        self._service, self._submitted = service, submitted

    @property
    def id(self) -> str:
        """The id, which no other job of the store has."""
        return self._submitted.job

    @property
    def name(self) -> str:
        """The name."""
        return self._submitted.name

    def status(self) -> DurableJobStatus:
        """The present status."""
        return self._service.status(self.id)

    def wait(self, timeout: float | None = None) -> DurableJobStatus:
        """Wait for the end of the job, ``timeout`` seconds at most (None: without a limit); return the status
        then. Raises OperationalError if the coordinator has lost the job."""
        return self._service.wait(self.id, timeout)

    def result(self) -> "Result":
        """The rows of a finished job without a target, as a result of a statement; waits for the end of the
        job. Raises the error that ended the job; OperationalError for a cancelled job, and for one that has
        put its rows into a target."""
        self.wait()
        return self._service.read(self.id)

    def cancel(self) -> bool:
        """Cancel the job; the request is durable when this returns. False if the job has ended, or is about
        to."""
        return self._service.cancel(self.id)

    def __repr__(self) -> str:
        return f"DurableJob({self.name!r}, {self.id}, {self.status().phase.value})"


class JobService(ClosingContext):
    """The durable jobs of the store at ``address``, a directory. The store is opened, and its owner asked,
    when a job needs it; one process owns a store at a time, others read it. Safe to use from several threads.
    """

    def __init__(
        self,
        address: str,
        engine: Engine,
        read: "Callable[[LogicalPlan], Result]",
        target: "Callable[[str, pa.Schema], JobTarget | None]",
        members: TaskMembers | None = None,
    ) -> None:
        """``engine``: runs the tasks, unless ``members`` of a cluster do. ``read``: runs a plan in the
        session. ``target``: makes the target of a statement for rows of a schema, None = the rows stay in the
        job's files. Raises NotSupportedError for a URL."""
        if "://" in address.removeprefix("file://"):
            raise NotSupportedError(f"a job store that is no directory: {address}")
        self._store = JobStore.open(address, clock=engine.clock)
        self._engine, self._read_plan, self._target, self._members = engine, read, target, members
        self._incarnation = secrets.token_hex(8)
        self._member = f"process-{os.getpid()}" if members is None else members.coordinator.name
        self._lock = threading.RLock()
        # Guarded by the lock: the ownership, the jobs that run here, and the rows of memory tables, by job.
        self._ownership: Ownership | None = None
        self._running: dict[str, RunningJob] = {}
        self._held: dict[str, Mapping[str, object]] = {}
        # What never changes: the submission of each job that was read, and the state of each that has ended.
        self._submitted: dict[str, JobSubmitted] = {}
        self._ended: dict[str, JobState] = {}
        #: The jobs whose rows this process has put into their targets.
        self.delivered: set[str] = set()

    @property
    def address(self) -> str:
        """The directory of the store."""
        return self._store.address

    # ---- the beginning of jobs

    def submit(
        self,
        name: str,
        statement: str,
        planned: PlannedJob,
        settings: Settings,
        options: Mapping[str, str],
    ) -> DurableJob:
        """Accept a job, durably, and begin to run it. ``statement``: the text behind AS. ``options``: those
        of CREATE JOB. Raises ProgrammingError for a wrong option, and for a name that another job of the
        store has; OperationalError if the store can't be written, or another process owns it."""
        chosen = job_settings(options)
        with self._lock:
            self._own()
            self._remove_unaccepted()
            if self.find(name) is not None:
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
                options=dict(options),
            )
            claim = self._store.take_epoch(job, cluster=self._incarnation, member=self._member)
            log, state = submit(claim, submitted, incarnation=self._incarnation, settings=chosen.log)
            self._held[job] = planned.resources
            coordinator, runner = self._coordinator(submitted, state, log, planned.stages)
            self._start(submitted, coordinator, log, runner)
            return DurableJob(self, submitted)

    def resume(self, job: str, cancel: CancelRequested | None = None) -> bool:
        """Run a job whose coordinator is gone; do nothing for a job that runs or has ended. ``cancel``: the
        job ends as cancelled instead, unless its rows are on their way into the target already. Return
        whether the job was resumed, or cancelled. Raises OperationalError if files that the job reads have
        changed, or the rows of a memory table are gone."""
        with self._lock:
            submitted, state = self._read(job)
            if job in self._running or state.ended is not None:
                return False
            self._own()
            plan = decode_job_plan(submitted.plan)
            if cancel is None:
                self._check_held(job, plan)
                plan.check_files()
            claim = self._store.take_epoch(job, cluster=self._incarnation, member=self._member)
            stages = plan.stages()
            log, state = take_over(
                claim,
                stages,
                self._folder(job),
                incarnation=self._incarnation,
                settings=job_settings(submitted.options).log,
            )
            coordinator, runner = self._coordinator(submitted, state, log, stages)
            done = cancel is None or coordinator.cancel(cancel)
            self._start(submitted, coordinator, log, runner)
            return done

    def _check_held(self, job: str, plan: JobPlan) -> None:
        if plan.held and job not in self._held:
            raise OperationalError(
                f"the job reads the memory table `{plan.held[0]}`, whose rows have gone with the process that"
                " created the job; create the job anew"
            )

    def _coordinator(
        self, submitted: JobSubmitted, state: JobState, log: EventLog, stages: StagePlan
    ) -> tuple[Coordinator, ThreadRunner | MemberRunner]:
        """The coordinator of a job's next epoch, and the runner of the job's tasks."""
        plan = decode_job_plan(submitted.plan)
        runner = self._runner(submitted, plan, stages)
        options = job_settings(submitted.options).tasks
        target = self._target(submitted.statement, plan.schema)
        folder = self._folder(submitted.job)
        return Coordinator(stages, state, log, runner, folder, options, target), runner

    def _runner(
        self, submitted: JobSubmitted, plan: JobPlan, stages: StagePlan
    ) -> ThreadRunner | MemberRunner:
        """The runner of a job's tasks: the members of the cluster, or threads of this process if there are no
        members, or the job reads rows that this process holds."""
        settings, threads = Settings(**submitted.settings), self._engine.workers
        if self._members is not None and not plan.held:
            name = self._member
            made = self._incarnation
            return MemberRunner(
                self._members, plan.dag, settings, threads=threads, member=name, incarnation=made
            )
        resources = self._held.get(submitted.job, {})
        config = JobConfig(settings=settings, resources=resources, description=submitted.job)
        return ThreadRunner(
            self._engine,
            stages,
            config,
            threads=threads,
            member=self._member,
            incarnation=self._incarnation,
        )

    def _start(
        self,
        submitted: JobSubmitted,
        coordinator: Coordinator,
        log: EventLog,
        runner: ThreadRunner | MemberRunner,
    ) -> None:
        run = RunningJob(submitted, coordinator, log, runner, self._forget)
        self._running[submitted.job] = run
        run.start()

    def _forget(self, run: RunningJob) -> None:
        with self._lock:
            if self._running.get(run.submitted.job) is run:
                del self._running[run.submitted.job]
            if run.status.has_ended:
                self._held.pop(run.submitted.job, None)

    def _remove_unaccepted(self) -> None:
        """Remove what is left of jobs that were never accepted, since their process died before."""
        for job in self._store.jobs():
            if job not in self._submitted and self._is_unaccepted(job):
                self._store.remove(job)

    def _is_unaccepted(self, job: str) -> bool:
        try:
            return self._state(job).submitted is None
        except OperationalError:  # of another version of sqlfront
            return False

    def _own(self) -> None:
        if self._ownership is None or not self._ownership.is_held:
            owner = Owner(self._incarnation, self._member)
            self._ownership = self._store.own(owner)

    # ---- the jobs of the store

    def jobs(self) -> list[DurableJobStatus]:
        """The status of each job, in the order of creation."""
        return [self.status(job) for job in self._accepted()]

    def logs(self) -> list[tuple[str, Replay]]:
        """The id and the log of each job, in the order of creation."""
        return [(job, self._store.read(job)) for job in self._accepted()]

    def states(self) -> list[tuple[str, JobState]]:
        """The id and the state of each job, in the order of creation."""
        return [(job, self._state(job)) for job in self._accepted()]

    def _accepted(self) -> dict[str, JobSubmitted]:
        """The accepted jobs by id, in the order of creation. A log of another version of sqlfront is left
        out, with a warning."""
        found: dict[str, JobSubmitted] = {}
        for job in self._store.jobs():
            submitted = self._submitted.get(job)
            if submitted is None:
                try:
                    submitted = self._state(job).submitted
                except OperationalError as error:
                    logger.warning("the job %s in %s can't be read: %s", job, self.address, error)
            if submitted is not None:
                found[job] = self._submitted[job] = submitted
        return found

    def _state(self, job: str) -> JobState:
        """The sum of the events of a job; that of a job that has ended is read once."""
        state = self._ended.get(job)
        if state is None:
            state = JobState.of(self._store.read(job))
            if state.is_clean:
                self._ended[job] = state
        return state

    def find(self, name: str) -> DurableJob | None:
        """The job with the name, in any case of letters, or with the id; None if there is none."""
        for job, submitted in self._accepted().items():
            if name == job or submitted.name.lower() == name.lower():
                return DurableJob(self, submitted)
        return None

    def status(self, job: str) -> DurableJobStatus:
        """The present status of a job. Raises OperationalError if there is no such job."""
        run = self._running.get(job)
        if run is not None:
            return run.status
        submitted, state = self._read(job)
        return status_of(submitted, state, coordinated=self._is_coordinated())

    def _is_coordinated(self) -> bool:
        """Whether another process may run the jobs that don't run here."""
        return self._ownership is None and self._store.owner() is not None

    def wait(self, job: str, timeout: float | None) -> DurableJobStatus:
        """Wait for the end of a job, ``timeout`` seconds at most; return the status then."""
        run = self._running.get(job)
        if run is not None:
            run.wait(timeout)
            if run.lost is not None:
                raise run.lost
        return self.status(job)

    def cancel(self, job: str) -> bool:
        """Cancel a job, durably; False if the job has ended, or is about to."""
        request = CancelRequested(process_user(), time.time_ns() // 1000)
        with self._lock:
            self._own()
            run = self._running.get(job)
            if run is None:
                return self.resume(job, request)
        return run.cancel(request)

    def remove(self, job: str) -> None:
        """Remove an ended job with its files and its log. Raises OperationalError for a job that runs."""
        with self._lock:
            self._own()
            if job in self._running:
                raise OperationalError(f"the job {job} runs; CANCEL JOB first")
            shutil.rmtree(self._folder(job), ignore_errors=True)
            self._store.remove(job)
            for known in (self._held, self._submitted, self._ended):
                known.pop(job, None)

    def rows(self, job: str) -> SpooledRows:
        """The rows of a finished job. Raises the error of a failed job, OperationalError for a job that is
        not finished, and for one that has put its rows into a target."""
        submitted, state = self._read(job)
        ended = state.ended
        if ended is not None and ended.error is not None:
            raise _as_error(ended.error)
        if ended is None or ended.state is not JobEnd.FINISHED:
            raise OperationalError(f"the job `{submitted.name}` is not finished")
        if ended.result is None:
            raise OperationalError(f"the job `{submitted.name}` has put its rows into its target")
        schema = decode_job_plan(submitted.plan).schema
        return SpooledRows(f"job.`{submitted.name}`", schema, ended.result.files)

    def table(self, name: str) -> SpooledRows:
        """The rows of the finished job with the name or id, as :meth:`rows`. Raises
        TABLE_OR_VIEW_NOT_FOUND if there is no such job."""
        job = self.find(name)
        if job is None:
            raise spark_error("TABLE_OR_VIEW_NOT_FOUND", f"There is no job `{name}` in {self.address}.")
        return self.rows(job.id)

    def read(self, job: str) -> "Result":
        """The rows of a finished job as a result; raises the errors of :meth:`rows`."""
        return self._read_plan(self.rows(job).plan())

    def schema(self, job: str) -> pa.Schema:
        """The logical schema of a job's rows."""
        return decode_job_plan(self._read(job)[0].plan).schema

    def _read(self, job: str) -> tuple[JobSubmitted, JobState]:
        state = self._state(job)
        if state.submitted is None:
            raise OperationalError(f"there is no job {job} in {self.address}")
        return state.submitted, state

    def _folder(self, job: str) -> str:
        return os.path.join(self.address, _SPOOL, job)

    def close(self) -> None:
        """Leave the running jobs to a successor, and give the store up."""
        with self._lock:
            running = list(self._running.values())
        for run in running:
            run.suspend()
        if self._ownership is not None:
            self._ownership.release()


def _as_error(error: JobError) -> Error:
    """The error of a job, as its log has it."""
    kind = getattr(errors, error.kind, errors.OperationalError)
    made: Error = kind(error.message, condition=error.condition, sqlstate=error.sqlstate)
    return made


def _texts(settings: Settings) -> dict[str, str]:
    return {name: getattr(settings, name) for name in settings.__struct_fields__}
