"""One run of a DAG on this member, from the start of its tasklets to the end of the last tasklet."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from threading import Lock, RLock
from typing import Final

import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, BatchQueue, Polled
from sqlfront_engine.job_statistics import JobStatistics, JobStatus, TaskletStatistics
from sqlfront_engine.jobs.query_run import QueryRun, stopped_error
from sqlfront_engine.plans.execution_plan import ExecutionPlan
from sqlfront_engine.processors.registry import is_registered
from sqlfront_engine.processors.user_code.calls import own_failure
from sqlfront_engine.scheduler import BlockingRunner, Clock, InlineRunner, Workers
from sqlfront_engine.tasklet import Tasklet
from sqlfront_values.errors import Error, InterfaceError, InternalError
from sqlfront_values.evaluation_errors import foreign_error
from sqlfront_values.settings import EMBEDDED

#: Seconds between two checks for a deadlock by a thread that waits for a job on threads: the error comes so
#: late at most.
STUCK_CHECK: Final = 1.0
#: Limits on running an inline job in the thread that delivers data to it: seconds, and rows made; other jobs'
#: data waits meanwhile. Rows are not counted in the first UNCOUNTED seconds.
PUMP_SHARE: Final = 0.01
PUMP_ROWS: Final = 50_000
UNCOUNTED: Final = 0.001
#: Rows taken by the tasklets of an inline job up to which the job's reader runs them while it keeps other
#: members waiting: a step with more rows may take long.
ATTENDED_ROWS: Final = 10_000


class Execution:
    """A run of a DAG on this member. The run's tasklets report their ends and errors to this object; the
    queue of the result wakes the thread that reads the result through this object.

    The execution ends when all tasklets have ended and all holds (:meth:`hold`) are released, such as a hold
    for the answer of another member. After :meth:`stop`, the execution waits for its tasklets only.

    :meth:`stop` may be called anywhere, also in a finalizer: no code that it calls waits for a lock which the
    same thread may have.
    """

    def __init__(
        self,
        number: int,
        query: QueryRun,
        clock: Clock,
        timeout: float | None,
        member: str = EMBEDDED,
    ) -> None:
        """``number``: the job's id. ``query``: the query that the job belongs to. ``timeout``: the seconds
        from the begin of the query after which the job is stopped, None = no limit. ``member``: the name of
        this member."""
        self.id = number
        self.query = query
        self.member = member
        #: The members that take part in the job, this one first.
        self.participants: tuple[str, ...] = (member,)
        self.status = JobStatus.RUNNING
        self.error: Error | None = None
        #: The names of the vertices that read tables; known if the job's bytes are counted.
        self.scans: frozenset[str] = frozenset()
        self._clock = clock
        self._timeout = timeout
        self._elapsed: float | None = None
        self._deadline = None if timeout is None else query.began + timeout
        self._forget_deadline: Callable[[], None] | None = None
        self._on_end: Callable[[Execution], None]
        # Functions that are called at the end, besides.
        self._watchers: tuple[Callable[[Execution], None], ...] = ()
        #: Called once when the job is being stopped, for any reason.
        self.on_stop: Callable[[], None] | None = None
        #: Set for an inline job with other members: while the reader waits, handles their messages until the
        #: given function returns True; returns False if this thread can't handle messages (any more).
        self.attend: Callable[[Callable[[], bool]], bool] | None = None
        self._tasklets: Sequence[Tasklet] = ()
        #: Whether the job has a result to read.
        self.has_result = False
        # None once read to its end, so that no cycle keeps an ended job alive.
        self._result: BatchQueue | None = None
        # The other members' reported tasklets.
        self._noted: dict[str, tuple[TaskletStatistics, ...]] = {}
        # The number of tasklets that have not ended (plus one until all are started), and the number of
        # holds.
        self._remaining = 1
        self._held = 0
        self._has_ended = False
        #: Why the job is being stopped, or was; None = it was not, or it has failed.
        self.stopped_as: JobStatus | None = None
        # Guards the count and the outcome; reentrant, since a finalizer may stop the job at any point.
        self._lock = RLock()
        # Held until the job has ended.
        self._running = Lock()
        self._running.acquire()
        # Free when there may be news for the reader.
        self._news = Lock()
        self._runner: InlineRunner | None = None
        # Held by the thread that runs an inline job's tasklets.
        self._driving = Lock()

    # ---- starting

    def start(self, plan: ExecutionPlan, on_end: "Callable[[Execution], None]", runner: InlineRunner) -> None:
        """Start an inline job: put all tasklets of ``plan`` into the queue of ``runner``. They run on the
        thread that reads the result, joins, or calls :meth:`pump`. ``on_end`` is called when the job has
        ended."""
        self._adopt(plan, on_end)
        self._runner = runner
        schedule = runner.schedule
        if self._held:  # then other members may wake a tasklet while the reader waits for news
            self._watch_deadline()

            def schedule(tasklet: Tasklet) -> None:
                runner.schedule(tasklet)
                self.wake()

        for tasklet in plan.tasklets:
            tasklet.start(schedule, self._clock.now)
        self._started_all()

    def start_on_threads(
        self,
        plan: ExecutionPlan,
        on_end: "Callable[[Execution], None]",
        workers: Workers,
        dedicated: BlockingRunner,
    ) -> None:
        """Start a job on threads: hand the tasklets of cooperative processors to ``workers``, all other
        tasklets to threads of their own from ``dedicated``. ``on_end`` is called when the job has ended."""
        self._adopt(plan, on_end)
        self._watch_deadline()
        for tasklet in plan.tasklets:
            schedule = workers.schedule if tasklet.cooperative else dedicated.assign()
            tasklet.start(schedule, self._clock.now)
        self._started_all()

    def hold(self, count: int = 1) -> None:
        """Keep the job from ending until :meth:`release` has been called ``count`` times. To be called
        before the start."""
        self._held += count

    def _adopt(self, plan: ExecutionPlan, on_end: "Callable[[Execution], None]") -> None:
        self._on_end = on_end
        self._tasklets = plan.tasklets
        self._result = plan.result
        self.has_result = plan.result is not None
        self._remaining += len(plan.tasklets)

    def _started_all(self) -> None:
        if self.query.cancelled:
            self.stop(JobStatus.CANCELLED)
        if self._stopping:  # perhaps from a time before there were tasklets to stop
            self._stop_all()
            self._sweep()
        self._count_down()

    def _watch_deadline(self) -> None:
        if self._deadline is not None:
            self._forget_deadline = self._clock.call_at(self._deadline, self._time_out)

    # ---- reports of the tasklets

    def failed(self, tasklet: Tasklet, error: BaseException) -> None:
        """Fail the job because ``tasklet`` raised ``error``. An interrupt (an error that isn't an Exception,
        such as KeyboardInterrupt) cancels the job instead."""
        if not isinstance(error, Exception):
            self.stop(JobStatus.CANCELLED)
            return
        self.fail(_attributed(error, tasklet, self.member))

    def ended(self, tasklet: Tasklet) -> None:
        """Record that ``tasklet`` has ended. The job ends with its last tasklet, or later if there are
        holds."""
        self._count_down()

    def fail(self, error: Error) -> None:
        """Fail the job because of an error here or on another member: store ``error`` unless there is one
        already, and stop all tasklets. If the job was cancelled before, it counts as failed."""
        with self._lock:
            if self._has_ended:
                return
            if self.error is None:
                self.error = error
        self._stop_all()
        self._sweep()
        self._count_down(0)  # the tasklets may have ended before, with only the rest to wait for

    def release(self) -> None:
        """Release one of the holds that :meth:`hold` has set, each of which keeps the job from ending. To be
        called once for each hold."""
        self._count_down(0, released=1)
        if not self._held:  # a waiting reader checks whether the job can go on
            self.wake()

    def _count_down(self, tasklets: int = 1, released: int = 0) -> None:
        with self._lock:
            self._remaining -= tasklets
            self._held -= released
            if self._remaining or self._has_ended or (self._held and not self._stopping):
                return
            self._elapsed = self._clock.now() - self.query.began
            if self.error is not None:
                self.status = JobStatus.FAILED
            else:
                self.status = self.stopped_as or JobStatus.COMPLETED
            self._has_ended = True
        self._tell_end()

    def _tell_end(self) -> None:
        """Announce the job's end to the clock, ``on_end``, and the threads that wait. Harmless if called
        twice, which happens after an interrupt."""
        if self._forget_deadline is not None:
            self._forget_deadline()
        self.attend = None
        self._on_end(self)
        watchers, self._watchers = self._watchers, ()
        for watcher in watchers:
            watcher(self)
        if self._running.locked():
            self._running.release()
        self.wake()

    def when_ended(self, call: "Callable[[Execution], None]") -> None:
        """Have ``call`` called when the job has ended, or now if it has. ``call`` may come in a finalizer."""
        with self._lock:
            if not self._has_ended:
                self._watchers = (*self._watchers, call)
                return
        call(self)

    def wake(self) -> None:
        """Wake the thread that reads the result, since the result's queue has changed."""
        if self._news.locked():
            try:
                self._news.release()
            except RuntimeError:  # another thread was quicker
                return

    # ---- stopping

    def stop(self, status: JobStatus) -> None:
        """Stop all tasklets; ``status`` says why and becomes the job's status. Does nothing if the job has
        ended or was stopped before."""
        with self._lock:
            if self._has_ended or self.stopped_as is not None:
                return
            self.stopped_as = status
        self._stop_all()
        self._sweep()
        self._count_down(0)  # the tasklets may have ended before, with only the rest to wait for

    def _time_out(self) -> None:
        self.stop(JobStatus.TIMED_OUT)

    def _stop_all(self) -> None:
        on_stop, self.on_stop = self.on_stop, None
        if on_stop is not None:
            on_stop()
        for tasklet in self._tasklets:
            tasklet.stopped = True
            tasklet.wake()
        if self._result is not None:
            self._result.abandon()
        self.wake()

    @property
    def _stopping(self) -> bool:
        return self.stopped_as is not None or self.error is not None

    # ---- reading and waiting

    @property
    def awaits_reader(self) -> bool:
        """Whether the result is full, so that its producer waits for a reader."""
        return self._result is not None and self._result.is_full

    def next_batch(self) -> pa.RecordBatch | None:
        """Wait for the next batch of the result and return it, None after the last. Raises the job's error
        once the job has ended; InterfaceError if the job has no result."""
        if not self.has_result:
            raise InterfaceError("the job's DAG has no result")
        if self._runner is not None:
            return self._run_until_batch(self._runner)
        while self._result is not None and not self._stopping:
            batch = self._result.poll()
            if batch is None:
                self._result = None
            elif batch is NOTHING:
                while not self._news.acquire(timeout=STUCK_CHECK):
                    self._fail_if_stuck()
            else:
                return batch
        self.wait()
        return None

    def poll_batch(self) -> Polled:
        """Return the next batch of the result, without waiting, for a job on threads: NOTHING if there is no
        batch yet, None after the last batch. Raises the job's error once the job has ended; InterfaceError if
        the job has no result."""
        if self._result is not None and not self._stopping:
            batch = self._result.poll()
            if batch is not None:
                return batch
            self._result = None
        if not self._has_ended:
            return NOTHING
        self._raise_failure()
        return None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the job's end and return True; return False if a job on threads still runs after
        ``timeout`` seconds (None = no limit). An inline job is run to its end. Raises the job's error, or
        OperationalError if the job was stopped."""
        if self._runner is not None:
            self._run_out(self._runner)
        elif not self._await_end(timeout):
            return False
        self._raise_failure()
        return True

    def _raise_failure(self) -> None:
        failure = self.failure()
        if failure is not None:
            raise failure

    def failure(self) -> Error | None:
        """Return the error that ends the job or has ended it: its first error, or OperationalError if it was
        stopped; None if there is none."""
        if self.error is not None or self.stopped_as is None:
            return self.error
        return stopped_error(self.stopped_as, self._timeout, self.query.cancelled_by)

    @property
    def is_inline(self) -> bool:
        """Whether the job has no threads of its own: it runs on the thread that reads or joins."""
        return self._runner is not None

    def _await_end(self, timeout: float | None) -> bool:
        """Wait for the end of a job on threads, at most ``timeout`` seconds (None = no limit); returns
        whether the job has ended."""
        left = inf if timeout is None else timeout
        while not self._running.acquire(timeout=max(0.0, min(left, STUCK_CHECK))):
            left -= STUCK_CHECK
            if left <= 0:
                return False
            self._fail_if_stuck()
        self._running.release()
        return True

    def _fail_if_stuck(self) -> None:
        """End a job on threads if every tasklet waits for another tasklet, as when two paths of a DAG meet
        again and the queues are too small. Does nothing while there are holds: tasklets may then wait for
        other members."""
        if self._held:
            return
        calls = self._calls_while_blocked()
        # Checked between the two counts: earlier batches are visible, and no later ones come.
        unread = self._result is not None and len(self._result) > 0
        if calls and not unread and calls == self._calls_while_blocked():
            self._fail_stuck()

    def _calls_while_blocked(self) -> list[int]:
        """Return, for each tasklet that has not ended, the number of its calls so far; an empty list if one
        of these tasklets isn't blocked. Two equal answers mean that no tasklet has run in between."""
        calls = [tasklet.calls_while_blocked() for tasklet in self._tasklets if not tasklet.ended]
        known = [count for count in calls if count is not None]
        return known if len(known) == len(calls) else []

    # ---- inline jobs

    def _run_until_batch(self, runner: InlineRunner) -> pa.RecordBatch | None:
        """Run tasklets until the result has a batch, and return the batch; None at the job's end. Raises the
        job's error."""
        self._begin_driving()
        try:
            while self._result is not None and not self._stopping:
                batch = self._result.poll()
                if batch is None:
                    self._result = None
                elif batch is not NOTHING:
                    return batch
                else:
                    self._drive(runner)
        except BaseException as error:
            self._note_interrupt(error)
            raise
        finally:
            self._end_driving()
        self.wait()
        return None

    def _run_out(self, runner: InlineRunner) -> None:
        """Run the tasklets of an inline job until the job has ended."""
        self._begin_driving()
        try:
            while not self._has_ended:
                self._drive(runner)
        except BaseException as error:
            self._note_interrupt(error)
            raise
        finally:
            self._end_driving()

    def pump(self) -> bool:
        """Run the runnable tasklets of an inline job on the calling thread, which has just delivered data of
        another member to the job. Does nothing if another thread is running them.

        Returns True if no tasklet is left to run here. Returns False if the limit of time (``PUMP_SHARE``) or
        rows (``PUMP_ROWS``) was reached and tasklets may still be runnable: the caller then has to call this
        again, on a thread that may wait.
        """
        runner, now = self._runner, self._clock.now
        began = now()
        while runner is not None and runner.waiting and self._driving.acquire(False):
            try:
                while runner.run_round():
                    taken = now() - began
                    if taken >= PUMP_SHARE or (taken >= UNCOUNTED and self._is_large()):
                        return False
            finally:
                self._end_driving()
        return True

    def _is_large(self) -> bool:
        return sum(tasklet.rows_out for tasklet in self._tasklets) > PUMP_ROWS

    def _begin_driving(self) -> None:
        if not self._driving.acquire(blocking=False):
            if not self._stopping:
                raise InterfaceError("the job is being read by another thread")
            self._driving.acquire()  # the thread driving a job being stopped is about to end the job

    def _end_driving(self) -> None:
        self._driving.release()
        if self._stopping:  # perhaps stopped by a thread that couldn't sweep in this moment
            self._sweep()

    def _note_interrupt(self, error: BaseException) -> None:
        """End an inline job after an error that isn't an Exception, such as KeyboardInterrupt. As the
        interrupt may have come between any two steps, all tasklets are ended in whatever state they are, and
        never run again."""
        if isinstance(error, Exception):
            return
        self._runner = None
        self.stop(JobStatus.CANCELLED)
        for tasklet in self._tasklets:
            tasklet.give_up()
        self._count_down(self._remaining)
        if self._running.locked():
            self._tell_end()

    def _drive(self, runner: InlineRunner) -> None:
        """Run each runnable tasklet of an inline job once. If there is none, wait until another member or
        thread makes one runnable; fail the job if nothing can. Then stop the job if its timeout is over."""
        # Read first: before a release, the releasing thread has made the affected tasklets runnable.
        awaited = self._held
        if not runner.run_round():
            if self._stopping:
                # Another thread is about to wake the tasklets that it has stopped.
                self._news.acquire(timeout=STUCK_CHECK)
            elif awaited and not self._has_batch():
                attend = self.attend
                if attend is None or not attend(partial(self._run_attending, runner)):
                    self._news.acquire()
            else:
                self._fail_stuck()
        self.stop_if_overdue()

    def stop_if_overdue(self) -> None:
        """Stop the job if its timeout is over."""
        if self._deadline is not None and self._clock.now() >= self._deadline:
            self.stop(JobStatus.TIMED_OUT)

    def _run_attending(self, runner: InlineRunner) -> bool:
        """Run the runnable tasklets of an inline job on the thread that attends the other members, which are
        kept waiting meanwhile. Return whether the thread has to leave them: for work that may take long, to
        read a batch, or at the end."""
        began = self._clock.now()
        while self._held and not (self._stopping or self._has_batch()):
            if not runner.waiting:
                return False
            if self._clock.now() - began >= UNCOUNTED or self._rows_taken() > ATTENDED_ROWS:
                return True
            runner.run_round()
        return True

    def _rows_taken(self) -> int:
        return sum(tasklet.rows_in for tasklet in self._tasklets)

    def _has_batch(self) -> bool:
        return self._result is not None and len(self._result) > 0

    def _sweep(self) -> None:
        """Have the stopped tasklets of an inline job end on this thread. Does nothing if another thread is
        running the job, since that thread ends them."""
        if self._runner is not None and self._driving.acquire(False):
            try:
                while self._runner.run_round():
                    pass
            finally:
                self._driving.release()

    def _fail_stuck(self) -> None:
        """Fail a job that has no runnable tasklet with InternalError. If the result has a batch that was not
        read, raise InterfaceError instead, since the caller has to read the result before joining."""
        if self._has_batch():
            raise InterfaceError("the result has to be read before the job can end")
        waiting = ", ".join(repr(tasklet.vertex) for tasklet in self._tasklets if not tasklet.ended)
        with self._lock:
            if self._has_ended:  # in this moment
                return
            if not self._stopping:
                self.error = InternalError(
                    f"the job can't go on: each of {waiting} waits for another of them"
                )
        self._stop_all()

    # ---- inspecting

    def note(self, member: str, tasklets: tuple[TaskletStatistics, ...]) -> None:
        """Store the counters of another member's tasklets for :meth:`statistics`; ``tasklets`` is empty if
        the member was not asked to count."""
        if tasklets:
            self._noted[member] = tasklets

    def rows_read(self) -> int:
        """Return the number of rows that the job's sources on this member have emitted so far. A tasklet
        counts as a source if it has received no batch."""
        return sum(tasklet.rows_out for tasklet in self._tasklets if not tasklet.batches_in)

    def statistics(self) -> JobStatistics:
        """Return the job's statistics so far. The counters of other members are there once their parts of
        the job have ended."""
        tasklets = tuple(tasklet.statistics() for tasklet in self._tasklets)
        elapsed = self._clock.now() - self.query.began if self._elapsed is None else self._elapsed
        memory = self.query.budget.statistics()
        others = {name: self._noted[name] for name in self.participants[1:] if name in self._noted}
        return JobStatistics(
            self.id, self.status, elapsed, memory, tasklets, self.member, self.participants, others
        )


def _attributed(error: Exception, tasklet: Tasklet, member: str) -> Error:
    """Return ``error`` as an error of sqlfront with the vertex of ``tasklet`` and ``member``, and a note
    that names them. An error that has a vertex already keeps its vertex and member."""
    kind = tasklet.processor_class
    if kind is None or is_registered(kind):
        known = foreign_error(error, repr(tasklet.vertex))
    else:
        known = own_failure(kind, tasklet.vertex, error)
    if known is not error:
        known.__cause__ = error
    if known.vertex is None:
        known.vertex = tasklet.vertex
        known.member = member
        known.add_note(f"raised by vertex {tasklet.vertex!r} on member {member!r}")
    return known
