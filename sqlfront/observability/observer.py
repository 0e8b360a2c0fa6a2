"""The observer of a session's statements, which calls the session's watchers."""

import itertools
import os
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from sqlfront.observability.account import Reading, RowAccount
from sqlfront.observability.observation import Observation
from sqlfront_engine.jobs.query_run import QueryRun

#: The numbers of the process's observers.
_NUMBERS: Final = itertools.count(1)


class StatementWatcher(Protocol):
    """A receiver of the beginnings and ends of a session's statements, such as a logger. Any thread may call
    the methods, several threads at once; a method must not raise an error."""

    def begun(self, observation: Observation) -> None:
        """Note that the statement of ``observation`` begins."""

    def ended(self, observation: Observation) -> None:
        """Note that the statement of ``observation`` has ended; its facts are final."""

    def close(self) -> None:
        """Close the watcher at the end of its session; closing twice is no error."""


class ObservedResult(Protocol):
    """The method of a result (:class:`~sqlfront.results.result.Result`) that an observer calls."""

    def count_rows(self, reading: Reading) -> None:
        """Begin to count the rows that the result gives to its reader; ``reading`` refers to the account that
        counts them."""


ResultT = TypeVar("ResultT", bound=ObservedResult)


class Observer:
    """The observer of one session, which makes the statements' observations. ``number``: its number, unique
    in this process."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        #: The address at which the session's metrics are served; None without metrics.
        self.metrics_address: str | None = None
        self._watchers: tuple[StatementWatcher, ...] = ()
        self._process = os.getpid()
        self._running: dict[int, Observation] = {}
        # Statements that ended in finalizers; told with the next statement, or when someone looks.
        self._late: deque[Observation] = deque()

    def add(self, watcher: StatementWatcher) -> None:
        """Add a watcher; the watchers are called in the order in which they were added."""
        self._watchers = (*self._watchers, watcher)

    def observe(self, text: str, query: QueryRun, run: Callable[[QueryRun, Observation], ResultT]) -> ResultT:
        """Run the statement ``text`` by calling ``run`` with ``query`` (the statement's cancellable run) and
        a new observation, and return the result. The observation lasts until the result has been read, closed
        or dropped. Raises the statement's error, which ends the observation."""
        self.settle()
        observation = Observation(text, query, self._ended)
        self._running[id(observation)] = observation
        for watcher in self._watchers:
            watcher.begun(observation)
        try:
            answer = run(query, observation)
        except BaseException as error:
            observation.fail(error)
            raise
        answer.count_rows(Reading(RowAccount(observation)))
        return answer

    def running(self) -> list[Observation]:
        """Return the observations of the statements that have not ended, oldest first."""
        self.settle()
        return list(self._running.values())

    def settle(self) -> None:
        """Call the watchers for the statements that ended in finalizers, where no watcher may be called."""
        while self._late:
            try:
                observation = self._late.popleft()
            except IndexError:  # another thread was quicker
                return
            self._ended(observation, later=False)

    def _ended(self, observation: Observation, later: bool) -> None:
        self._running.pop(id(observation), None)
        if self._process != os.getpid():  # a forked copy: the statement is the parent's
            return
        if later:
            self._late.append(observation)
            return
        for watcher in self._watchers:
            watcher.ended(observation)

    def close(self) -> None:
        """End the observations of results that are still open, and close the watchers."""
        for observation in self.running():
            if observation.account is not None:
                observation.account.close()
        self.settle()
        for watcher in self._watchers:
            watcher.close()
