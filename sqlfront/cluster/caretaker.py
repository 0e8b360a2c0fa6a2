"""The caretaker of tables when members are lost: it moves shares to the new owners of the partitions, and
loads lost rows again from their source."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlfront.cluster.catalog import ClusterCatalog
from sqlfront.cluster.documents import Documents
from sqlfront.cluster.relations import RELATION, decode_relation, tables_of
from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.memory.spread.documents import TABLE, TURN, decode_table, turn_of
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version import LOST
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.commands import copies
    from sqlfront.state.context import Context
else:
    copies = lazy_module("sqlfront.commands.copies")

#: Seconds until the next attempt after a failure, at first and at most. The pause doubles, so that a short
#: absence of a member ends soon and a long absence costs little.
RETRY: Final = 1.0
LONGEST_RETRY: Final = 60.0

logger = logging.getLogger(__name__)


class Caretaker:
    """An object that repairs tables when members are lost: the cluster's permanent tables if ``everybodys``,
    else one session's temporary tables. It works on a thread, which starts at the first :meth:`wake`.
    ``context`` returns the session's context, None once the session is gone, which ends the thread."""

    def __init__(
        self, context: "Callable[[], Context | None]", documents: Documents, *, everybodys: bool
    ) -> None:
        self._context = context
        self._documents = documents
        self._everybodys = everybodys
        self._awake = threading.Event()
        self._closed = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Ask the caretaker's thread to examine the tables after a change of the cluster; returns at once."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="sqlfront-caretaker", daemon=True)
                self._thread.start()
        self._awake.set()

    def close(self) -> None:
        """End the caretaker's thread once its present work is done; returns at once."""
        self._closed = True
        self._awake.set()

    def _run(self) -> None:
        pause: float | None = None
        while not self._closed:
            woken = self._awake.wait(pause)
            self._awake.clear()
            context = self._context()
            if context is None or self._closed:
                return
            try:
                done = self._look(context)
            except Exception:
                done = self._closed
                if not done:
                    logger.exception("looking after tables failed")
            del context
            pause = None if done else RETRY if woken or pause is None else min(2 * pause, LONGEST_RETRY)

    def _look(self, context: "Context") -> bool:
        """Repair the tables that this caretaker is responsible for, where possible. Return True if nothing is
        left to do now, False if a later attempt may repair more."""
        done = True
        if self._everybodys:
            self._renew(context)
            self._tidy_up()
            done = self._deal(context)
        for entry in context.catalog.entries():
            if entry.temporary == self._everybodys or not isinstance(entry, TableEntry):
                continue
            table = entry.table.copy if isinstance(entry.table, CachedTable) else entry.table
            if isinstance(table, SpreadTable) and not table.in_place:
                done &= self._mend(context, entry, table)
        return done

    def _mend(self, context: "Context", entry: TableEntry, table: SpreadTable) -> bool:
        try:
            try:
                place_anew(table, lambda: self._closed)
            except OperationalError:
                if not table.reloaded:
                    raise
                copies.reload(context, entry)
        except Error as error:
            if self._closed:
                return True
            logger.warning("`%s` could not be placed anew: %s", entry.name, error)
            return error.sqlstate == LOST and not table.reloaded
        logger.info("`%s` was placed anew", entry.name)
        return True

    def _renew(self, context: "Context") -> None:
        """Reload the cached copies of tables to which a member was adding files when it was lost."""
        catalog, cluster = context.catalog, context.cluster
        assert isinstance(catalog, ClusterCatalog)
        assert cluster is not None
        for entry in catalog.entries():
            if isinstance(entry, TableEntry) and catalog.is_abandoned(entry.table):
                with cluster.writing(entry.table) as abandoned:
                    if abandoned:
                        copies.recover(context, entry)

    def _deal(self, context: "Context") -> bool:
        """Return whether all members own partitions; if not, ask the keeper to redistribute them. The request
        may get lost."""
        assert context.cluster is not None
        members = context.cluster.member_list
        if {*members.heirs} <= {*members.owners}:
            return True
        self._documents.rebalance()
        return False

    def _tidy_up(self) -> None:
        """Remove the documents that lost members have left: reservations of tables for writing, and
        definitions of memory tables that no relation uses."""
        documents = self._documents
        for key in documents.keys(TURN):
            found = documents.get(key)
            if found is not None and not documents.is_present(turn_of(found).holder):
                documents.put(ConditionalChange(key, None, found.version))
        orphans: dict[str, int] = {}
        for key in documents.keys(TABLE):
            found = documents.get(key)
            if found is not None and not documents.is_present(decode_table(found.content).creator):
                orphans[key.removeprefix(TABLE)] = found.version
        # Relations are read last: a member that has gone adds no further names of tables.
        for key in documents.keys(RELATION):
            found = documents.get(key)
            for identity in () if found is None else tables_of(decode_relation(found.content)):
                orphans.pop(identity, None)
        for identity, version in orphans.items():
            documents.put(ConditionalChange(f"{TABLE}{identity}", None, version))
