"""A runner of durable jobs' tasks on the members of a cluster."""

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks.task_door import TASKS
from sqlfront_cluster.durable_tasks.task_service import (
    AskEnds,
    ForgetJob,
    LearnJob,
    StartTask,
    StopTasks,
    TaskEnds,
    TaskQuestion,
)
from sqlfront_cluster.members.member_list import CHANGED, MemberList
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.tasks import TaskRun
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.settings import Settings

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
        """Send each member its question for the service with the key ``service``; return the answers by the
        members' names. ``questions``: encoded questions by the members' names. Raises OperationalError if a
        member is gone."""


class MemberRunner(ClosingContext):
    """A runner of a durable job's tasks on the members of a cluster: each task runs on the member with the
    fewest tasks. The tasks of a lost member end with an OperationalError. Every member needs access to the
    directory of the spool files. ``dag``: the encoded DAG of the job; ``threads``: the number of tasks that a
    member runs at a time; ``member`` and ``incarnation``: the name and the unique id of this process."""

    def __init__(
        self,
        members: TaskMembers,
        dag: bytes,
        settings: Settings,
        *,
        threads: int,
        member: str,
        incarnation: str,
    ) -> None:
        self.member, self.incarnation = member, incarnation
        self._members, self._threads = members, threads
        self._run = secrets.token_hex(8)
        self._learn = codec.encode(LearnJob(self._run, member, dag, settings))
        self._lock = threading.Lock()
        # Guarded by the lock: the members that know the job; those that did not answer, as long as the member
        # list has them; the tasks that run, by number; and those that wait for a member, each with the time
        # at which its wait ends.
        self._taught: set[str] = set()
        self._silent: set[str] = set()
        self._tasks: dict[int, tuple[str, TaskRun, Callable[[TaskEnd], None]]] = {}
        self._waiting: list[tuple[float, TaskRun, Callable[[TaskEnd], None]]] = []
        self._number = 0
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
        member, number = self._chosen()
        if member is None:
            with self._lock:
                self._waiting.append((time.monotonic() + PATIENCE, run, ended))
        else:
            self._start(member, number, run, ended)

    def _chosen(self) -> tuple[str | None, int]:
        """Return the member for the next task, None if the cluster has no member, and the task's number."""
        with self._lock:
            busy = Counter(member for member, _, _ in self._tasks.values())
            present = self._present()
            self._silent.intersection_update(present)
            answering = [name for name in present if name not in self._silent]
            self._number += 1
            return min(answering or present, key=lambda name: busy[name], default=None), self._number

    def _start(self, member: str, number: int, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        question = StartTask(
            self._run,
            number,
            run.tasks.stage.number,
            run.tasks.ranges,
            run.tasks.buckets,
            run.task,
            run.attempt,
            run.files,
            run.folder,
        )
        with self._lock:
            self._tasks[number] = member, run, ended
        try:
            self._teach(member)
            self._ask(member, question)
        except Error as error:
            self._lose(member, error)

    def _start_waiting(self) -> None:
        """Begin the tasks that wait for a member, if there is one now; end those that have waited too
        long."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for deadline, run, ended in waiting:
            member, number = self._chosen()
            if member is not None:
                self._start(member, number, run, ended)
            elif time.monotonic() < deadline:
                with self._lock:
                    self._waiting.append((deadline, run, ended))
            else:
                ended(TaskEnd(run, None, OperationalError("the cluster has no member for a task of the job")))

    def _teach(self, member: str) -> None:
        with self._lock:
            if member in self._taught:
                return
            self._taught.add(member)
        self._answer(member, self._learn)

    def _ask(self, member: str, question: TaskQuestion) -> TaskEnds:
        return codec.decode(self._answer(member, codec.encode(question)), TaskEnds)

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
            with self._lock:
                busy = {member for member, _, _ in self._tasks.values()}
            for member in busy:
                try:
                    self._take(self._ask(member, AskEnds(self._run)))
                except Error as error:
                    self._lose(member, error)

    def _take(self, answer: TaskEnds) -> None:
        for each in answer.ends:
            with self._lock:
                task = self._tasks.pop(each.number, None)
            if task is not None:
                _, run, ended = task
                ended(each.end(run))

    def _lose(self, member: str, error: Error) -> None:
        """End the tasks of a member that does not answer because of ``error``: each with an
        OperationalError."""
        with self._lock:
            self._taught.discard(member)
            self._silent.add(member)
            lost = [number for number, task in self._tasks.items() if task[0] == member]
            tasks = [self._tasks.pop(number) for number in lost]
        if tasks:
            logger.warning("%d tasks of a durable job on %s are lost: %s", len(tasks), member, error)
        for _, run, ended in tasks:
            ended(TaskEnd(run, None, OperationalError(f"the task on {member} is lost: {error}")))

    def stop(self) -> None:
        """Ask the members to end all runs; return before the runs have ended."""
        with self._lock:
            taught = list(self._taught)
            waiting, self._waiting = self._waiting, []
        for _, run, ended in waiting:
            ended(TaskEnd(run, None, OperationalError("the task was stopped before a member ran the task")))
        for member in taught:
            try:
                self._ask(member, StopTasks(self._run))
            except Error as error:
                self._lose(member, error)

    def close(self) -> None:
        """Stop asking members for ended tasks, and tell the members to forget the job."""
        self._closed.set()
        self._thread.join()
        for member in self._taught:
            with suppress(Error):
                self._ask(member, ForgetJob(self._run))
