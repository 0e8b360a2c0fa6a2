"""The observer of a session's statements, which tells the session's watchers."""

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
    """A party that hears of a session's statements. Any thread may call the methods, several at once; a
    method must not raise."""

    def begun(self, observation: Observation) -> None:
        """Hear of a statement that begins."""

    def ended(self, observation: Observation) -> None:
        """Hear of a statement that has ended."""

    def close(self) -> None:
        """End the watcher with its session; closing twice is no error."""


class ObservedResult(Protocol):
    """A result: the part of :class:`~sqlfront.results.result.Result` that an observer knows."""

    def count_rows(self, reading: Reading) -> None:
        """Count the rows that the result gives, from now on."""


ResultT = TypeVar("ResultT", bound=ObservedResult)


class Observer:
    """The observer of one session, with a ``number`` unique in this process."""

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
        """Add a watcher, which hears of each statement after the watchers that were added before."""
        self._watchers = (*self._watchers, watcher)

    def observe(self, text: str, query: QueryRun, run: Callable[[QueryRun, Observation], ResultT]) -> ResultT:
        """Run a statement by ``run``, observe it until its result has been read or closed, and return the
        result. Raises the statement's error."""
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
        """The statements that have not ended, oldest first."""
        self.settle()
        return list(self._running.values())

    def settle(self) -> None:
        """Tell the watchers of statements that ended in finalizers."""
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
        """End the observation of results that nobody is reading, then the watchers."""
        for observation in self.running():
            if observation.account is not None:
                observation.account.close()
        self.settle()
        for watcher in self._watchers:
            watcher.close()
