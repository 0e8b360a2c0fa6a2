"""A runner of durable jobs' tasks on the members of a cluster."""

import logging
import math
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, Protocol

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks.output_places import LOST, OutputNetwork, OutputPlaces
from sqlfront_cluster.durable_tasks.task_door import TASKS
from sqlfront_cluster.durable_tasks.task_messages import (
    AdoptRuns,
    AskEnds,
    ForgetJob,
    JobQuestion,
    LearnJob,
    SettledRun,
    StartTask,
    StopTasks,
    TaskAnswer,
)
from sqlfront_cluster.members.protocol.member_list import CHANGED, MemberList
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.runner import Holdings, TaskEnd, TaskLostError
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_values.errors import Error, OperationalError

logger: Final = logging.getLogger(__name__)

#: Seconds between two questions for the tasks that have ended.
_PERIOD: Final = 0.005
#: Seconds for which a successor waits for each member, although no output that is needed depends on it: the
#: member may run tasks.
COURTESY: Final = 5.0
#: Seconds between two attempts to reach a member that is in the cluster, but without a connection.
_PAUSE: Final = 0.05
#: Seconds before each attempt to have a member forget the job.
_FORGET_PAUSES: Final = (0.0, 0.1, 1.0)
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

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: Wait | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """Send each member its question for the service with the key ``service``; return the answers by the
        members' names. ``questions``: encoded questions by the members' names. ``query``: ends the wait for
        the answers. Raises OperationalError if a member is gone."""


class MemberRunner(ClosingContext):
    """A runner of a job's tasks on the members of a cluster: each task runs on the member with the fewest
    tasks. The tasks of a lost member end with an OperationalError. Every member needs access to the directory
    of the spool files. ``plan``: the stages of the job; ``learn``: the announcement of the job, and of this
    process as its coordinator; ``threads``: the number of tasks that a member runs at a time;
    ``incarnation``: the unique id of this process; ``patience``: the seconds for which :meth:`retain` waits
    at most."""

    #: Seconds until a member that did not answer is asked again.
    retry_after = 1.0
    #: The members go on with the runs for a time if this process ends.
    is_lasting: Final = True

    def __init__(
        self,
        members: TaskMembers,
        plan: StagePlan,
        learn: LearnJob,
        *,
        threads: int,
        incarnation: str,
        patience: float = JobOptions().recovery_timeout,
    ) -> None:
        self.member, self.incarnation = learn.coordinator, incarnation
        self._members, self._threads, self._patience = members, threads, patience
        self._plan, self._job, self._epoch = plan, learn.job, learn.epoch
        self._learn, self._memory_limit = codec.encode(learn), learn.memory_limit
        self._is_over = False
        # Held by member while the member is told of the job.
        self._teaching: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()
        # Guarded by the lock: the members that know the job; those that have known it once in this epoch;
        # those that did not answer, with the time, as long as the member list has them; the tasks that run;
        # those that wait for a member, each with the time at which its wait ends; the members of runs that
        # have ended with files; and what to tell members of such runs.
        self._taught: set[str] = set()
        self._met: set[str] = set()
        self._silent: dict[str, float] = {}
        # Guarded by the lock, and told by the condition: the members that have not said yet what they have
        # from former coordinators; what the others have; and whether the wait for the former is over.
        self._said = threading.Condition(self._lock)
        self._asked: set[str] = set()
        self._found: dict[str, TaskAnswer] = {}
        self._is_late = False
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
        least = min(memory, default=0)
        return (
            least if self._memory_limit is None else min(least, self._memory_limit)
        ) // self._threads or None

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
        """Return the member for a run, None if the cluster has no member that may answer. If another attempt
        at the run's task is under way, the member is another one, if there is one. A member that did not
        answer is asked again if no other one answers, but only after :attr:`retry_after` seconds: if a
        process with all members is lost, the member list has the members for a moment more."""
        with self._lock:
            others = {member for member, other, _ in self._tasks.values() if other.id == run.id}
            busy = Counter(member for member, _, _ in self._tasks.values())
            present, now = self._present(), time.monotonic()
            self._silent = {name: since for name, since in self._silent.items() if name in present}
            answering = [name for name in present if name not in self._silent and name not in self._asked]
            retried = [
                name for name in present if now - self._silent.get(name, -math.inf) >= self.retry_after
            ]
            return min(answering or retried, key=lambda name: (name in others, busy[name]), default=None)

    def _start(self, member: str, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        with self._lock:
            self._tasks[run.run_id] = member, run, ended
        try:
            self._teach(member)
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

    # ---- what members have from former coordinators

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        """Ask all members for the runs and outputs that they have of the job, and have them keep these.
        Return the outputs. The wait ends when all members have answered; after :data:`COURTESY` seconds it
        ends if ``awaits`` returns False for the answers so far; it ends in any case after the runner's
        ``patience``. A member that answers later ends its runs and removes its outputs."""
        present = self._present()
        with self._lock:
            self._asked.update(present)
        for member in present:
            self._begin(partial(self._meet, member))
        with self._said:
            self._said.wait_for(lambda: not self._asked, min(COURTESY, self._patience))
            rest = max(0.0, self._patience - COURTESY)
            self._said.wait_for(lambda: not self._asked or not awaits(self._holdings()), rest)
            self._is_late = True
            if self._asked:
                logger.warning("%s did not say in time what they have of the job", sorted(self._asked))
            return self._holdings()

    def _begin(self, call: Callable[[], None]) -> None:
        """Have a thread make the call."""
        threading.Thread(target=call, name="sqlfront-former-tasks", daemon=True).start()

    def _holdings(self) -> Holdings:
        sizes = {name: size for answer in self._found.values() for name, size in answer.files.items()}
        return Holdings(sizes, frozenset(self._asked))

    def _meet(self, member: str) -> None:
        """Ask a member what it has from former coordinators, until the member answers or leaves the
        cluster."""
        with self._teaching[member]:
            try:
                # A task may have been given to the member before this thread came to ask.
                answer = None if member in self._taught else self._learned(member)
                if answer is not None and not self._is_in_time(member, answer):
                    self._welcome(member, answer)
            except Error as error:
                self._lose(member, error)
        with self._said:
            self._asked.discard(member)
            self._said.notify_all()
        if self._closed.is_set():  # :meth:`close` has not known of the member
            self._forget(member)

    def _learned(self, member: str) -> TaskAnswer | None:
        """Announce the job to the member, again and again as long as there is no connection, and return the
        answer; None if the runner is closed before."""
        while not self._closed.is_set():
            try:
                return self._announce(member)
            except Error as error:
                if error.sqlstate != LOST or member not in self._present():
                    raise
            self._closed.wait(_PAUSE)
        return None

    def _is_in_time(self, member: str, answer: TaskAnswer) -> bool:
        """If :meth:`retain` waits, hand it the answer of the member, and return True."""
        with self._said:
            if self._is_late:
                return False
            self._found[member] = answer
            self._met.add(member)
            self._taught.add(member)
            return True

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        """Adopt those runs that the members have told :meth:`retain` of and that ``wants`` accepts, and have
        the other ones end; have the members remove all files of the job but those of these runs and those at
        the paths ``kept``. What a member has that did not answer ends when the member answers, or with its
        lease."""
        names = {os.path.basename(path) for path in kept}
        for member, answer in self._found.items():
            try:
                runs = [request.task_run(self._plan) for request in answer.runs]
                adopted = [run for run in runs if wants(run)]
                with self._lock:
                    self._tasks |= {run.run_id: (member, run, ended) for run in adopted}
                if answer.runs or answer.files:
                    ids = tuple(run.run_id for run in adopted)
                    files = tuple(names.intersection(answer.files))
                    self._ask(member, AdoptRuns(self._job, self._epoch, ids, files))
            except Error as error:
                self._lose(member, error)
        self._found.clear()

    def _teach(self, member: str) -> None:
        """Announce the job to the member unless it knows of it, and have it end what it has from before."""
        with self._teaching[member]:
            if member not in self._taught:
                self._welcome(member, self._announce(member))

    def _announce(self, member: str) -> TaskAnswer:
        return codec.decode(self._answer(member, self._learn), TaskAnswer)

    def _welcome(self, member: str, answer: TaskAnswer) -> None:
        """Have a member that has learned of the job end its runs, and remove its outputs: nobody counts on
        them, unless the member knew the job before in this epoch. The member may run tasks then."""
        kept = None if member in self._met else ()
        if answer.runs or answer.files:
            self._ask(member, AdoptRuns(self._job, self._epoch, (), kept))
        with self._lock:
            self._met.add(member)
            self._taught.add(member)

    def _ask(self, member: str, question: JobQuestion) -> TaskAnswer:
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
            self._silent[member] = time.monotonic()
            lost = [run for run, task in self._tasks.items() if task[0] == member]
            tasks = [self._tasks.pop(run) for run in lost]
        if tasks:
            logger.warning("%d tasks of a durable job on %s are lost: %s", len(tasks), member, error)
        for _, run, ended in tasks:
            ended(TaskEnd(run, None, TaskLostError(f"the task on {member} is lost: {error}")))

    def release(self) -> None:
        """Note that the job has ended: :meth:`close` has the members remove its outputs."""
        self._is_over = True

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
        """Stop asking members for ended tasks, and tell the members to forget the job. Their outputs are kept
        for a successor unless the job has ended."""
        self._closed.set()
        self._thread.join()
        with self._lock:
            taught = sorted(self._taught)
        for member in taught:
            self._forget(member)

    def _forget(self, member: str) -> None:
        """Tell a member to forget the job, also after a lost connection: then the member might not know that
        the job is over."""
        question = ForgetJob(self._job, self._epoch, self._take_settled(member), is_over=self._is_over)
        for pause in _FORGET_PAUSES:
            time.sleep(pause)
            try:
                self._ask(member, question)
                return
            except Error as error:
                if error.sqlstate != LOST or member not in self._present():
                    return


def places_of(members: TaskMembers) -> OutputPlaces:
    """Return the places of spool files for a process that is no member with outputs of its own; ``members``:
    those whose outputs it reads."""
    return OutputPlaces(OutputNetwork(partial(members.ask, TASKS), lambda: members.member_list))
