"""Copies that sqlfront makes without CACHE TABLE: ``SET sqlfront.autocache = n``."""

import logging
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlfront.commands import caching, copies
from sqlfront.commands.run import StatementRun
from sqlfront.lanes.request import Cause, Replan, StatementRequest
from sqlfront.results.result import Result
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_planner.lanes import Lane
from sqlfront_planner.statements.dotted_names import dotted
from sqlfront_planner.statements.structs import CacheTable
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlfront.lanes.way import QueryWay
    from sqlfront.state.context import Context
    from sqlfront_planner.statements.structs import Explain

logger = logging.getLogger(__name__)

#: SQLSTATEs of a statement that its user, or its timeout, has ended.
_ENDED: Final = frozenset({"HY008", "57014"})


class AutomaticCopies:
    """The in-memory copies of Spark's relations that sqlfront has made by itself, without CACHE TABLE, oldest
    first. When memory is short, the oldest copy is dropped; queries then read Spark's relation again."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._lock = threading.Lock()
        self._made: list[Entry] = []
        if context.cluster is None:
            relief = partial(_relieve, weakref.WeakMethod(self.relieve))  # the engine may outlive the session
            for budget in (context.engine.memory, context.engine.tables):
                budget.relief = relief

    def make(self, name: tuple[str, ...], request: StatementRequest) -> None:
        """Copy the relation of Spark's whose name has the parts ``name``; the copying counts as a part of the
        statement of ``request``, with its timeout. Raises Spark's errors, and OperationalError if the copy
        doesn't fit."""
        caching.cache(StatementRun(self._context, request), CacheTable(dotted(name)))
        entry = self._context.catalog.lookup(name)
        if entry is not None:
            with self._lock:
                self._made = [*filter(self._is_there, self._made), entry]

    def _is_there(self, entry: Entry) -> bool:
        return self._context.catalog.own(entry.parts) is entry

    def relieve(self) -> bool:
        """Drop the oldest copy that still exists; return False if none exists. Called when memory is
        short."""
        while True:
            with self._lock:
                if not self._made:
                    return False
                entry = self._made.pop(0)
            if isinstance(entry, TableEntry) and self._is_there(entry):
                copies.let_go(StatementRun(self._context), (entry,))
                self._context.plans.clear()  # plans that read the copy hold its rows
                logger.info("the automatic copy of `%s` made room", entry.name)
                return True


def _relieve(relieve: "weakref.WeakMethod[Callable[[], bool]]") -> bool:
    method = relieve()
    return method is not None and method()


class CopyWay:
    """The way of a query that copies the relations ``names`` of Spark's first; then the query's way is chosen
    again. If a relation can't be copied, the way ``otherwise`` runs the query."""

    lane = Lane.SPARK

    def __init__(
        self,
        names: "Sequence[tuple[str, ...]]",
        copies: AutomaticCopies,
        otherwise: "QueryWay",
        begun: "Callable[[], None]",
        failed: "Callable[[], None]",
    ) -> None:
        """``begun`` is called before the relations are copied, ``failed`` if one of the relations can't be
        copied."""
        self._names = names
        self._copies = copies
        self._otherwise = otherwise
        self._begun = begun
        self._failed = failed
        self.reason = otherwise.reason

    def run(self, request: StatementRequest) -> Result | Replan:
        """Copy the relations, and return a Replan; if that fails, return the result of the way ``otherwise``.
        Raises the error of a statement that was cancelled or timed out."""
        self._begun()
        try:
            for name in self._names:
                self._copies.make(name, request)
        except Error as error:
            if error.sqlstate in _ENDED:
                raise
            logger.warning("no automatic copy of %s: %s", " and ".join(map(dotted, self._names)), error)
            self._failed()
            return self._otherwise.run(request)
        return Replan(Cause.COPIED, self.reason)

    def explain(self, request: StatementRequest, statement: "Explain") -> Result | Replan:
        """Return what the way ``otherwise`` answers to EXPLAIN; nothing is copied."""
        return self._otherwise.explain(request, statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan of the way ``otherwise`` after the query has failed with ``error``; raise
        ``error`` if that way has none."""
        return self._otherwise.after(error, request)
