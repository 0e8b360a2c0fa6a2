"""A runner of durable jobs' tasks on the members of a cluster."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks.task_door import TASKS
from sqlfront_cluster.durable_tasks.task_service import (
    AdoptRuns,
    AskEnds,
    ForgetJob,
    LearnJob,
    SettledRun,
    StartTask,
    StopTasks,
    TaskAnswer,
    TaskQuestion,
)
from sqlfront_cluster.members.member_list import CHANGED, MemberList
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.runner import TaskEnd, TaskLostError
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_values.errors import Error, OperationalError

logger: Final = logging.getLogger(__name__)

#: Seconds between two questions for the tasks that have ended.
_PERIOD: Final = 0.005
#: Seconds for which a task waits for a member: Spark starts a lost executor anew within some seconds, and all
#: members with it.
PATIENCE: Final = 60.0


class Named(Protocol):
    """An object with a name, such as a member."""

    @property
    def name(self) -> str:
        """The name, unique in the cluster."""


class TaskMembers(Protocol):
    """The members of a cluster, with the methods that a runner of tasks needs."""

    @property
    def coordinator(self) -> "Named":
        """The member in this process."""

    @property
    def member_list(self) -> MemberList:
        """The present member list."""

    def ask(self, service: str, questions: Mapping[str, bytes]) -> Mapping[str, bytes | memoryview]:
        """Send questions to members, and return the answers by the members' names. ``service``: the name of
        the service that answers on each member. ``questions``: an encoded question for each member, by the
        member's name. Raises OperationalError if a member is gone."""


class MemberRunner(ClosingContext):
    """A runner of a job's tasks on the members of a cluster: each task runs on the member with the fewest
    tasks. The tasks of a lost member end with an OperationalError. Every member needs access to the directory
    or the object storage of the spool files.

    ``plan``: the stages of the job. ``learn``: the message by which this process announces itself to each
    member as the coordinator of the job. ``threads``: the number of tasks that a member runs at a time.
    ``incarnation``: the unique id of this process."""

    #: The members go on with the runs for a time if this process ends.
    is_lasting: Final = True

    def __init__(
        self, members: TaskMembers, plan: StagePlan, learn: LearnJob, *, threads: int, incarnation: str
    ) -> None:
        self.member, self.incarnation = learn.coordinator, incarnation
        self._members, self._threads = members, threads
        self._plan, self._job, self._epoch = plan, learn.job, learn.epoch
        self._learn = codec.encode(learn)
        # Held while a member is told of the job.
        self._teaching = threading.Lock()
        self._lock = threading.Lock()
        # Guarded by the lock: the members that know the job; those that did not answer, as long as the member
        # list has them; the tasks that run; those that wait for a member, each with the time at which its
        # wait ends; the members of runs that have ended with files; and what to tell members of such runs.
        self._taught: set[str] = set()
        self._silent: set[str] = set()
        self._tasks: dict[RunId, tuple[str, TaskRun, Callable[[TaskEnd], None]]] = {}
        self._waiting: list[tuple[float, TaskRun, Callable[[TaskEnd], None]]] = []
        self._ended: dict[RunId, str] = {}
        self._settled: defaultdict[str, list[SettledRun]] = defaultdict(list)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._ask_on, name="sqlfront-task-ends", daemon=True)
        self._thread.start()

    @property
    def capacity(self) -> int:
        """The number of tasks that can run at a time."""
        return max(1, len(self._present()) * self._threads)

    @property
    def task_memory(self) -> int | None:
        """The bytes that operators of one task may hold on the member with the least memory; None while the
        cluster has no member, and if a member does not tell its memory."""
        memory = [info.memory for info in self._members.member_list.members if not info.lite]
        return min(memory, default=0) // self._threads or None

    def _present(self) -> list[str]:
        return [info.name for info in self._members.member_list.members if not info.lite]

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        """Begin the run of a task on a member, and return at once; ``ended`` is called with the task's end,
        on any thread, even before this method returns. While the cluster has no member, the task waits for
        one, but at most :data:`PATIENCE` seconds."""
        member = self._chosen(run)
        if member is None:
            with self._lock:
                self._waiting.append((time.monotonic() + PATIENCE, run, ended))
        else:
            self._start(member, run, ended)

    def _chosen(self, run: TaskRun) -> str | None:
        """Return the member for a run, None if the cluster has no member. If another attempt at the run's
        task is under way, the member is another one, if there is one."""
        with self._lock:
            others = {member for member, other, _ in self._tasks.values() if other.id == run.id}
            busy = Counter(member for member, _, _ in self._tasks.values())
            present = self._present()
            self._silent.intersection_update(present)
            answering = [name for name in present if name not in self._silent]
            return min(answering or present, key=lambda name: (name in others, busy[name]), default=None)

    def _start(self, member: str, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        with self._lock:
            self._tasks[run.run_id] = member, run, ended
        try:
            if self._teach(member):
                self._ask(member, AdoptRuns(self._job, self._epoch, ()))
            self._ask(member, StartTask.of(self._epoch, run))
        except Error as error:
            self._lose(member, error)

    def _start_waiting(self) -> None:
        """Begin the tasks that wait for a member, if there is one now; end those that have waited too
        long."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for deadline, run, ended in waiting:
            member = self._chosen(run)
            if member is not None:
                self._start(member, run, ended)
            elif time.monotonic() < deadline:
                with self._lock:
                    self._waiting.append((deadline, run, ended))
            else:
                ended(TaskEnd(run, None, OperationalError("the cluster has no member for a task of the job")))

    def adopt(self, wants: Callable[[TaskRun], bool], ended: Callable[[TaskEnd], None]) -> None:
        """Go on with runs that former coordinators of the job have started on members. The runner asks each
        member for its runs of the job. A run that ``wants`` accepts counts as started by this runner, and
        ``ended`` is called with its end, on any thread; the other runs are stopped. A member that doesn't
        answer is skipped: its runs end when the member next gets a task of the job, or with the lease of the
        former coordinator."""
        for member in self._present():
            try:
                found = [request.task_run(self._plan) for request in self._teach(member)]
                adopted = [run for run in found if wants(run)]
                with self._lock:
                    self._tasks |= {run.run_id: (member, run, ended) for run in adopted}
                if found:
                    runs = tuple(run.run_id for run in adopted)
                    self._ask(member, AdoptRuns(self._job, self._epoch, runs))
            except Error as error:
                self._lose(member, error)

    def _teach(self, member: str) -> tuple[StartTask, ...]:
        """Announce the job to a member that doesn't know it yet, and return the requests by which the
        member's runs of the job were started; return nothing for a member that knows the job."""
        with self._teaching:
            if member in self._taught:
                return ()
            runs = codec.decode(self._answer(member, self._learn), TaskAnswer).runs
            with self._lock:
                self._taught.add(member)
        return runs

    def _ask(self, member: str, question: TaskQuestion) -> TaskAnswer:
        return codec.decode(self._answer(member, codec.encode(question)), TaskAnswer)

    def _answer(self, member: str, question: bytes) -> bytes | memoryview:
        """Return the member's answer. A member refuses a question while the two sides know different versions
        of the member list, which they agree on soon: the question is then sent again."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self._members.ask(TASKS, {member: question})[member]
            except Error as error:
                is_refused = error.sqlstate == CHANGED and member in self._present()
                if not is_refused or time.monotonic() > end:
                    raise
            time.sleep(_PERIOD)

    # ---- the ends of tasks

    def _ask_on(self) -> None:
        while not self._closed.wait(_PERIOD):
            if self._waiting:
                self._start_waiting()
            self._ask_all()

    def _ask_all(self) -> None:
        """Ask all members with tasks once for the tasks that have ended; members that don't know the job yet
        are left out."""
        with self._lock:
            busy = {member for member, _, _ in self._tasks.values() if member in self._taught}
        for member in sorted(busy):
            try:
                question = AskEnds(self._job, self._epoch, self._take_settled(member))
                self._take(self._ask(member, question))
            except Error as error:
                self._lose(member, error)

    def _take_settled(self, member: str) -> tuple[SettledRun, ...]:
        with self._lock:
            return tuple(self._settled.pop(member, ()))

    def _take(self, answer: TaskAnswer) -> None:
        for each in answer.ends:
            with self._lock:
                task = self._tasks.pop(each.run, None)
                if task is not None and each.output is not None:
                    self._ended[each.run] = task[0]
            if task is not None:
                _, run, ended = task
                ended(each.end(run))

    def settle(self, end: TaskEnd, *, counts: bool) -> None:
        """Have the run's member learn, with the next question, whether a run that has ended with files
        counts: the member removes the files of a run that doesn't, unless a later coordinator has announced
        itself there."""
        run = end.run.run_id
        with self._lock:
            member = self._ended.pop(run, None)
            if member is not None:
                self._settled[member].append(SettledRun(run, counts))

    def _lose(self, member: str, error: Error) -> None:
        """End the tasks of a member that did not answer, because of ``error``; each task ends with a
        TaskLostError."""
        with self._lock:
            self._taught.discard(member)
            self._silent.add(member)
            lost = [run for run, task in self._tasks.items() if task[0] == member]
            tasks = [self._tasks.pop(run) for run in lost]
        if tasks:
            logger.warning("%d tasks of a durable job on %s are lost: %s", len(tasks), member, error)
        for _, run, ended in tasks:
            ended(TaskEnd(run, None, TaskLostError(f"the task on {member} is lost: {error}")))

    def stop(self) -> None:
        """Ask the members to end all runs, without waiting for the ends; end the runs that wait for a
        member."""
        with self._lock:
            taught = sorted(self._taught)
            waiting, self._waiting = self._waiting, []
        for _, run, ended in waiting:
            ended(TaskEnd(run, None, OperationalError("the task was stopped before a member ran the task")))
        for member in taught:
            try:
                self._ask(member, StopTasks(self._job, self._epoch))
            except Error as error:
                self._lose(member, error)

    def close(self) -> None:
        """Stop asking members for ended tasks, and tell the members to forget the job."""
        self._closed.set()
        self._thread.join()
        for member in sorted(self._taught):
            with suppress(Error):
                self._ask(member, ForgetJob(self._job, self._epoch, self._take_settled(member)))
