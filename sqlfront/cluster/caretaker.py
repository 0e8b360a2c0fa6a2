"""Who sees to it that tables outlive lost members: shares are placed anew when the partitions were dealt
anew, and what is lost is loaded again from where it came from."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlfront.cache import CachedTable
from sqlfront.cluster.documents import TURN, Documents, turn_of
from sqlfront.cluster.relations import RELATION, TABLE, decode_relation, decode_table, tables_of
from sqlfront.config import Config
from sqlfront_connectors.memory.spread import SpreadTable, place_anew
from sqlfront_engine.errors import Error, OperationalError
from sqlfront_engine.launchers.running import RunningMember
from sqlfront_engine.lazy_modules import lazy_module
from sqlfront_planner.catalog import TableEntry

if TYPE_CHECKING:
    from sqlfront import session as sessions
    from sqlfront.cluster import processes
    from sqlfront.commands import tables as table_commands
else:
    sessions = lazy_module("sqlfront.session")
    processes = lazy_module("sqlfront.cluster.processes")
    table_commands = lazy_module("sqlfront.commands.tables")

#: Seconds until what could not be done is tried again.
RETRY: Final = 1.0

logger = logging.getLogger(__name__)


class Caretaker:
    """Looks after the tables of a session: those of the cluster if it is ``everybodys``, else the session's
    own temporary ones. It works on a thread of its own, which begins with the first :meth:`wake`.
    ``session`` gives the session as long as there is one."""

    def __init__(
        self, session: "Callable[[], sessions.Session | None]", documents: Documents, *, everybodys: bool
    ) -> None:
        self._session = session
        self._documents = documents
        self._everybodys = everybodys
        self._awake = threading.Event()
        self._closed = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Something has changed; returns at once."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="sqlfront-caretaker", daemon=True)
                self._thread.start()
        self._awake.set()

    def close(self) -> None:
        """Begin nothing any more."""
        self._closed = True
        self._awake.set()

    def _run(self) -> None:
        done = True
        while not self._closed:
            self._awake.wait(None if done else RETRY)
            self._awake.clear()
            session = self._session()
            if session is None or self._closed:
                return
            try:
                done = self._look(session)
            except Exception:
                done = True
                logger.exception("looking after tables failed")
            del session

    def _look(self, session: "sessions.Session") -> bool:
        """Mend what can be; False if something may be mendable later."""
        if self._everybodys:
            self._tidy_up()
            self._deal(session)
        done = True
        for entry in session.catalog.entries():
            if entry.temporary == self._everybodys or not isinstance(entry, TableEntry):
                continue
            table = entry.table.copy if isinstance(entry.table, CachedTable) else entry.table
            if isinstance(table, SpreadTable) and not table.in_place:
                done &= self._mend(session, entry, table)
        return done

    def _mend(self, session: "sessions.Session", entry: TableEntry, table: SpreadTable) -> bool:
        try:
            try:
                place_anew(table)
            except OperationalError:
                if not table.reloaded:
                    raise
                table_commands.reload(session, entry)
        except Error as error:
            logger.warning("`%s` could not be placed anew: %s", entry.name, error)
            return not table.reloaded
        logger.info("`%s` was placed anew", entry.name)
        return True

    def _deal(self, session: "sessions.Session") -> None:
        """Have a member that is new get its part of the partitions."""
        assert session.cluster is not None
        members = session.cluster.member_list
        if not {*members.data_members} <= {*members.owners}:
            self._documents.rebalance()

    def _tidy_up(self) -> None:
        """Remove the documents of those who have gone."""
        documents = self._documents
        for key in documents.keys(TURN):
            found = documents.get(key)
            if found is not None and not documents.is_present(turn_of(found).holder):
                documents.put(key, None, found.version)
        named: set[str] = set()
        for key in documents.keys(RELATION):
            found = documents.get(key)
            if found is not None:
                named.update(tables_of(decode_relation(found.content)))
        for key in documents.keys(TABLE):
            found = documents.get(key)
            if found is None or key.removeprefix(TABLE) in named:
                continue
            if not documents.is_present(decode_table(found.content).creator):
                documents.put(key, None, found.version)


def of_cluster(running: RunningMember) -> Caretaker:
    """The caretaker of the cluster's tables on one of its members."""
    members = processes.ProcessMembers(running)
    session = sessions.Session(Config(), members)
    return Caretaker(lambda: session, members.documents, everybodys=True)
