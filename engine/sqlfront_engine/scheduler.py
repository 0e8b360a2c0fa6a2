"""Threads and time: the runners of tasklets, and clocks.

Three runners share one protocol: ``schedule`` makes a tasklet runnable, then the runner calls the tasklet's
``run``:

* :class:`CooperativeWorkers`: one thread per core of the member; all share one queue of runnable tasklets. An
  idle worker sleeps in the queue's ``get`` and costs nothing; no thread polls.
* :class:`DedicatedThreads`: a thread for each tasklet whose processor may block or take long.
* :class:`InlineRunner`: the caller's thread, for jobs so small that a handover to another thread would cost
  more than running the job.
"""

import heapq
import itertools
import logging
import os
import random
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from sqlfront_engine.tasklet import Tasklet

#: Seconds after which an idle dedicated thread ends: the next query of a session finds the thread, an idle
#: process keeps none.
KEEP_ALIVE: Final = 10.0

logger = logging.getLogger(__name__)


class Clock(Protocol):
    """The engine's source of time."""

    def now(self) -> float:
        """Return the seconds since an arbitrary start; the time never goes back."""

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called soon after ``deadline``, a time of this clock in seconds, on any thread.
        Returns a function that cancels the timer."""


class Runnable(Protocol):
    """A unit of work that a worker runs: a tasklet, or a function."""

    @property
    def vertex(self) -> str:
        """The name of the work for messages: the name of a tasklet's vertex."""

    def run(self) -> bool:
        """Do a part of the work; return whether all of it is done."""


class Workers(Protocol):
    """A runner of cooperative tasklets: a group of threads, or the only thread of a simulation. ``schedule``
    makes a tasklet runnable; the runner then calls its :meth:`Tasklet.run`."""

    @property
    def count(self) -> int:
        """The number of tasklets that can run at the same time, which is the default parallelism of a
        vertex."""

    @property
    def threads(self) -> int:
        """The number of threads started so far."""

    schedule: "Callable[[Tasklet], None]"

    def start(self) -> None:
        """Get ready to run tasklets, such as by starting threads; a second call does nothing."""

    def call(self, function: Callable[[], None]) -> None:
        """Have a worker call ``function`` soon, and return at once. May be called in finalizers."""

    def close(self) -> None:
        """Have the threads end once all tasklets that are now runnable have run."""


class BlockingRunner(Protocol):
    """A runner of tasklets that may block, each on a thread of its own."""

    def assign(self) -> "Callable[[Tasklet], None]":
        """Reserve a thread for one tasklet, and return the function ``schedule`` that starts the tasklet on
        it."""

    def close(self) -> None:
        """End the idle threads; the others end with their tasklets."""


#: Seconds for which the timers' thread waits for another timer, so that a sequence of timeouts starts one
#: thread.
IDLE_TIMERS: Final = 2.0


class SystemClock:
    """The system's monotonic time. Timers run on one daemon thread, which is started with the first timer
    and ends after :data:`IDLE_TIMERS` seconds without timers."""

    def __init__(self) -> None:
        self.now = time.monotonic
        self._changed = Condition()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._thread: Thread | None = None
        self._closed = False

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have ``callback`` called on the timer thread soon after ``deadline``, a time of this clock in
        seconds. Returns a function that cancels the timer."""
        number = next(self._numbers)
        with self._changed:
            if self._closed:
                return lambda: None
            heapq.heappush(self._timers, (deadline, number, callback))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="sqlfront-timer", daemon=True)
                self._thread.start()
            elif self._timers[0][1] == number:
                self._changed.notify()

        def forget() -> None:
            with self._changed:
                self._timers = [timer for timer in self._timers if timer[1] != number]
                heapq.heapify(self._timers)

        return forget

    def close(self) -> None:
        """Drop all timers, and ignore later ones."""
        with self._changed:
            self._closed = True
            self._timers.clear()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._timers or self._timers[0][0] > self.now():
                    told = self._changed.wait(
                        self._timers[0][0] - self.now() if self._timers else IDLE_TIMERS
                    )
                    if self._closed or not (told or self._timers):
                        self._thread = None
                        return
                callback = heapq.heappop(self._timers)[2]
            try:
                callback()
            except Exception:
                logger.exception("a timer failed")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: The threads of this process that run tasklets.
_threads: "WeakSet[Thread]" = WeakSet()


def await_threads(seconds: float) -> None:
    """Wait until the threads that run tasklets have ended, but at most ``seconds``. Close the runners that
    own the threads before, since otherwise the threads don't end."""
    deadline = time.monotonic() + seconds
    for thread in [*_threads]:
        if thread.ident is not None:  # else the interrupt came before the thread's start
            thread.join(max(0.0, deadline - time.monotonic()))


class CooperativeWorkers:
    """A runner of cooperative tasklets on ``count`` threads, which share one queue of runnable tasklets. The
    threads are started with the first tasklet."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._runnable: SimpleQueue[Runnable | None] = SimpleQueue()
        self._threads: list[Thread] = []
        # Reentrant, since a finalizer may start the workers.
        self._lock = RLock()
        self._closed = False
        self.schedule: Callable[[Tasklet], None] = self._runnable.put

    def start(self) -> None:
        """Start the threads unless they have been started or closed before."""
        if self._threads:
            return
        with self._lock:
            while not self._closed and len(self._threads) < self.count:
                name = f"sqlfront-worker-{len(self._threads)}"
                thread = Thread(target=self._work, name=name, daemon=True)
                _threads.add(thread)
                thread.start()
                self._threads.append(thread)

    def _work(self) -> None:
        get = self._runnable.get
        while (tasklet := get()) is not None:
            run_logged(tasklet)
            del tasklet  # so that an idle worker keeps no object alive
        self._run_rest()

    def _run_rest(self) -> None:
        """Run the tasklets that are still queued after this worker has taken its mark, an item of the queue
        that tells one worker to end. A tasklet that was running when the marks were put into the queue may
        have become runnable again, if only to be closed. The marks of other workers are put back."""
        marks = 0
        while True:
            try:
                tasklet = self._runnable.get_nowait()
            except Empty:
                break
            if tasklet is None:
                marks += 1
            else:
                run_logged(tasklet)
        for _ in range(marks):
            self._runnable.put(None)

    def call(self, function: Callable[[], None]) -> None:
        """Have one of the threads call the function; after :meth:`close`, a new thread calls it and ends.
        May be called in finalizers."""
        self._runnable.put(_Function(function))
        if self._closed:
            Thread(target=self._run_rest, name="sqlfront-last-worker", daemon=True).start()

    def close(self) -> None:
        """Have the threads end once no tasklet is runnable any more; return at once."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._runnable.put(None)

    @property
    def threads(self) -> int:
        """The number of threads started so far."""
        return len(self._threads)


class _Function:
    """A function as a unit of work for a worker."""

    vertex = "a function"

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function

    def run(self) -> bool:
        self._function()
        return True


class DedicatedThreads:
    """A runner that gives each tasklet a thread of its own; the thread of a tasklet that has ended is
    reused."""

    def __init__(self) -> None:
        self.idle: deque[_DedicatedThread] = deque()
        self.closed = False
        self._numbers = itertools.count()

    def assign(self) -> "Callable[[Tasklet], None]":
        """Reserve a thread for one tasklet, and return the function ``schedule`` that starts the tasklet on
        it."""
        try:
            thread = self.idle.pop()
        except IndexError:
            thread = _DedicatedThread(self, f"sqlfront-dedicated-{next(self._numbers)}")
            _threads.add(thread)
            thread.start()
        return thread.inbox.put

    def close(self) -> None:
        """Have the idle threads end now, and each other thread at the end of its tasklet; return at once."""
        self.closed = True
        with suppress(IndexError):  # a thread may end by itself meanwhile
            while True:
                self.idle.pop().inbox.put(None)


class _DedicatedThread(Thread):
    def __init__(self, threads: DedicatedThreads, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._owner = threads
        self.inbox: SimpleQueue[Tasklet | None] = SimpleQueue()

    def run(self) -> None:
        tasklet = self.inbox.get()
        while tasklet is not None:
            if run_logged(tasklet):
                del tasklet  # so that an idle thread keeps no object alive
                self._owner.idle.append(self)
                tasklet = self._next_assignment()
            else:
                tasklet = self.inbox.get()

    def _next_assignment(self) -> "Tasklet | None":
        while True:
            try:
                return self.inbox.get(timeout=0 if self._owner.closed else KEEP_ALIVE)
            except Empty:
                try:
                    self._owner.idle.remove(self)
                except ValueError:  # assigned in this moment: the tasklet is about to arrive
                    continue
                return None


def run_logged(tasklet: Runnable) -> bool:
    """Run a tasklet or function, and return whether its work is done. An error is logged and counts as the
    end of the work, since no error may end the thread."""
    try:
        return tasklet.run()
    except BaseException:
        logger.exception("%s was interrupted", tasklet.vertex)
        return True


class InlineRunner:
    """A runner of tasklets on the thread that calls :meth:`run_round`: the oldest runnable tasklet first, or
    with a ``seed`` in random order."""

    __slots__ = ("_random", "_runnable", "schedule")

    def __init__(self, seed: int | None = None) -> None:
        self._runnable: deque[Tasklet] = deque()
        self._random = None if seed is None else random.Random(seed)
        self.schedule: Callable[[Tasklet], None] = self._runnable.append

    @property
    def waiting(self) -> bool:
        """Whether a tasklet is runnable."""
        return bool(self._runnable)

    def run_round(self) -> bool:
        """Run each currently runnable tasklet once, or, with a seed, one random tasklet. Returns whether
        there was a runnable tasklet."""
        runnable = self._runnable
        if not runnable:
            return False
        if self._random is not None:
            runnable.rotate(self._random.randrange(len(runnable)))
            runnable.popleft().run()
            return True
        for _ in range(len(runnable)):
            runnable.popleft().run()
        return True
