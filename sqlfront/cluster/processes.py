"""Members in separate processes, which other sessions may use as well as this session."""

import os
import secrets
import socket
import weakref
from contextlib import AbstractContextManager
from threading import Lock
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront.cluster import Cluster, MakeTableCaretaker, TableCaretaker
from sqlfront.cluster.addresses import find
from sqlfront.cluster.catalog import ClusterCatalog
from sqlfront.cluster.cluster_settings import ClusterSettings, begin_with, settings_of
from sqlfront.cluster.credentials import Protection
from sqlfront.cluster.documents import Documents
from sqlfront.config import Config, Launcher
from sqlfront_cluster.launchers.handover_rules import HandoverRules
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.launchers.store_office import keeper_in
from sqlfront_cluster.members.protocol.document import ConditionalChange, Premises
from sqlfront_cluster.members.questions.outsider import ServiceAccess
from sqlfront_connectors.base import Partitioning, Table
from sqlfront_connectors.memory.spread.documents import (
    TABLE,
    TURN,
    decode_table,
    encode_table,
    version_of,
)
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_connectors.memory.spread.version_keys import attempt_token
from sqlfront_connectors.spark.executors import cluster as executors
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.scheduler import SystemClock
from sqlfront_planner.catalog import Catalog, PathTables
from sqlfront_values import room
from sqlfront_values.errors import OperationalError, ProgrammingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maximum number of seconds for leaving the cluster: the exit of the user's program waits so long.
_LEAVE_TIMEOUT: Final = 2.0
#: The service with which members' processes hold tables: ``module:function``.
SERVICE: Final = "sqlfront.cluster.service:service"


class ProcessMembers(Cluster):
    """The members of a cluster in other processes, used by a process that has joined the cluster: as the lite
    member of a session, or as a member that owns partitions. ``running``: this process's own member;
    ``query_memory_limit``: bytes that one query may use, None = no limit. ``door``: the connection settings
    with which a process outside of the cluster, such as a task of Spark, makes requests to the members."""

    door: ServiceAccess

    def __init__(self, running: RunningMember, query_memory_limit: int | None = None) -> None:
        super().__init__(running.member, query_memory_limit)
        self._running = running
        self.door = ServiceAccess(running.membership.name, running.network)
        self._tables: weakref.WeakValueDictionary[str, SpreadTable] = weakref.WeakValueDictionary()
        # Keeps the tables with a document alive.
        self._named: dict[str, SpreadTable] = {}
        # Of the tables that this session writes to: the version of the document that a publication expects,
        # and its premises.
        self._versions: dict[str, tuple[int, Premises]] = {}
        # The version of a table that this session is publishing, with the content of its document.
        self._made: dict[str, tuple[bytes, TableVersion]] = {}
        # The number of the version in each table's document that was heard last, and the document's version.
        self._heard: dict[str, tuple[int, int]] = {}
        # Ensures one table for each identity, also while this session begins.
        self._lock = Lock()
        self._catalog: ClusterCatalog | None = None
        running.membership.watchers.append(self._hear)
        self.documents = Documents(running.membership)
        for key in self.documents.keys(TABLE):
            self._hear(key)

    @property
    def usual_backups(self) -> int:
        """The number of backups of a new table that says nothing about backups and can't be loaded again from
        a source: as the cluster was begun with, else one."""
        wanted = settings_of(self.documents).backups
        return 1 if wanted is None else wanted

    def catalog(self, path_tables: PathTables, files: FileAccess) -> Catalog:
        """Return the catalog of this session, which follows the documents of the cluster. ``path_tables``
        makes the tables of names such as ``parquet.`path```; ``files``: the files that the session may read
        and write."""
        self._catalog = catalog = ClusterCatalog(path_tables, self.documents, self._tables, files)
        catalog.begin()
        return catalog

    def _hear(self, key: str) -> None:
        """Update this session's tables and catalog after the document ``key`` has changed; called on the
        network's thread, in the order of the changes."""
        if key.startswith(TABLE):
            with self._lock:
                self._hear_table(key.removeprefix(TABLE))
        if self._catalog is not None:
            self._catalog.hear(key)

    def _hear_table(self, identity: str) -> None:
        document = self.documents.get(f"{TABLE}{identity}")
        if document is None:
            self._named.pop(identity, None)
            self._heard.pop(identity, None)
            return
        table, made = self._tables.get(identity), self._made.get(identity)
        if table is not None and made is not None and made[0] == document.content:
            version = made[1]
        else:
            found = decode_table(document.content)
            version = version_of(found)
            if table is None:
                table = SpreadTable(
                    found.name, found.schema, found.partitioning, self, identity, found.wanted_backups
                )
                self._tables[identity] = table
            table.reloaded = found.reloaded
        self._named[identity] = table
        self._heard[identity] = version.number, document.version
        table.adopt(version)

    def spread_tables(self) -> tuple[SpreadTable, ...]:
        """Return the cluster's memory tables, with the temporary ones of all sessions."""
        with self._lock:
            return tuple(self._named.values())

    # ---- what spread tables ask

    def table(
        self, name: str, schema: pa.Schema, partitioning: Partitioning | None, backups: int = 0
    ) -> SpreadTable:
        """Create an empty memory table, whose rows will be spread over the members with ``backups`` backups
        of each row, and store the table's document. The table is not entered in the catalog: the caller does
        that once the table has its rows."""
        table = SpreadTable(name, schema, partitioning, self, backups=backups)
        self._tables[table.identity] = table
        content = encode_table(table, table.snapshot().held, self.coordinator.name)
        key = f"{TABLE}{table.identity}"
        try:
            self.documents.put(ConditionalChange(key, content, 0))
        except BaseException:  # also Ctrl-C: the document may have been stored nevertheless
            self.documents.forget(key)
            room.check()  # no answer in the statement's time: a document that no relation names is no table
            raise
        return table

    def begin_turn(self, table: PublishedTable) -> str:
        """Take the turn (the right to write) to the table, after waiting until no other session has the turn.
        Return the turn's token, a text that no other turn has. Raises OperationalError (40001) if the table
        was dropped or replaced meanwhile: its rows may be gone with the members that had them."""
        token = self._token()
        self.documents.begin_turn(table.identity, f"`{table.name}`", token)
        known = self.documents.version(f"{TABLE}{table.identity}")
        if not known:
            self.documents.end_turn(table.identity)
            raise self._not_published(table, known)
        self._versions[table.identity] = known, ()
        return token

    def begin_attempt(self, table: PublishedTable) -> str | None:
        """Begin a change of the table without the turn; :meth:`publish` fails if another session has changed
        the table meanwhile or has the turn. Return the attempt's token, a text that no other attempt has;
        None if another session has the turn, or this session doesn't know the table's present document."""
        number, version = self._heard.get(table.identity, (None, 0))
        turn = f"{TURN}{table.identity}"
        if number != table.snapshot().held.number or self.documents.version(turn):
            return None
        self._versions[table.identity] = version, ((turn, 0),)
        return attempt_token(self._token(), version)

    def end_attempt(self, table: PublishedTable, *, failed: bool) -> None:
        """End the attempt to change the table. ``failed``: members may have shares that were not published;
        the table's document gets a new version, so that the shares can't be published any more and are
        freed."""
        version, premises = self._versions.pop(table.identity)
        if failed:
            self.documents.renew(f"{TABLE}{table.identity}", version, premises)

    def _token(self) -> str:
        return f"{self.coordinator.name}.{secrets.token_hex(4)}"

    def end_turn(self, table: PublishedTable) -> None:
        """Give the turn to write to the table back, so that other sessions may write."""
        self._versions.pop(table.identity, None)
        self.documents.end_turn(table.identity)

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        """Make ``version`` the table's current version for all sessions. ``dealt``: the version of the member
        list with which the shares were made. Raises OperationalError (40001) if the table or the cluster's
        members have changed since the turn began, or the table was dropped."""
        key = f"{TABLE}{table.identity}"
        content = encode_table(table, version, self.coordinator.name)
        known, premises = self._versions[table.identity]
        # So that the session need not decode its own document when it hears of the change.
        self._made[table.identity] = content, version
        try:
            # The keeper compares the owners of partitions: this process may hear of new owners later than
            # they.
            change = ConditionalChange(key, content, known, premises, dealt)
            if not self.documents.put(change):
                raise self._not_published(table, known)
        finally:
            del self._made[table.identity]
        table.adopt(version)
        self._versions[table.identity] = self.documents.version(key), premises

    def _not_published(self, table: PublishedTable, known: int) -> OperationalError:
        """Return the error of a version that the keeper refused. ``known``: the version of the table's
        document when the turn began."""
        if known and self.documents.version(f"{TABLE}{table.identity}") == known:
            why = f"the cluster has changed while `{table.name}` was written; run the statement again"
        else:
            why = f"`{table.name}` was dropped or changed by another session meanwhile"
        return OperationalError(why, sqlstate="40001")

    def dropped(self, table: PublishedTable) -> None:
        """Remove the table's document, so that no session reads the table any more."""
        self.documents.remove(f"{TABLE}{table.identity}")

    def release(self, key: str) -> None:
        """Do nothing: each member itself frees its shares of a version that no document names and nobody
        reads. ``key``: the key of the version, by which a cluster within one process frees it."""

    # ---- the rest

    def writing(self, table: Table) -> AbstractContextManager[bool]:
        """Return a context in which no other session writes to the table's files; when the context ends, all
        sessions know the new list of files. Yields True if an earlier writer has died, so that cached copies
        of the table (CACHE TABLE) may lack rows; False otherwise."""
        assert self._catalog is not None
        return self._catalog.writing(table, self.coordinator.name)

    def await_change(self, seconds: float) -> None:
        """Wait until a document or the member list has changed, but at most ``seconds``."""
        self.documents.await_change(seconds)

    def close(self) -> None:
        """Cancel running jobs and leave the cluster, so that no member waits for an answer of this
        process."""
        self.coordinator.cancel_all()
        if not self._running.ended.is_set():
            self._running.leave(_LEAVE_TIMEOUT)
        self._running.close()


def protection_of(config: Config) -> Protection:
    """Return the settings for a cluster's secret and encryption that the configuration has."""
    return Protection(
        config.secret,
        config.credentials,
        config.certificate,
        config.key,
        config.authority,
        config.insecure or None,
    )


class Client(ProcessMembers):
    """The members of a session whose members are other processes: the session joins the cluster as a lite
    member, or gets no place in the member list (``lite=False``), after starting the cluster's processes if
    the cluster belongs to the session. ``spark``: the Spark session for members on its executors. ``files``:
    the files that started members may read and write."""

    def __init__(
        self, config: Config, spark: "SparkSession | None" = None, files: FileAccess = EVERYWHERE
    ) -> None:
        self._launcher: LocalCluster | executors.ExecutorCluster | None = None
        self._caretakers: list[TableCaretaker] = []
        self._on_executors = config.launcher is Launcher.SPARK
        try:
            super().__init__(self._join(config, spark, files), config.query_memory_limit)
            self._begin_cluster(ClusterSettings(config.backups))
        except BaseException:
            self._end_launcher()
            raise

    def _begin_cluster(self, settings: ClusterSettings) -> None:
        """Give the cluster its settings if the session has started it."""
        if self._launcher is not None:
            begin_with(self._running, settings)

    def _join(self, config: Config, spark: "SparkSession | None", files: FileAccess) -> RunningMember:
        name = f"client-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        if self._on_executors:
            if spark is None:
                raise ProgrammingError("members on executors need a Spark session: pass spark=...")
            self._launcher = executors.ExecutorCluster(
                spark,
                config.members,
                workers=config.workers,
                memory_limit=config.memory_limit,
                silence_limit=config.silence_limit,
                profile=config.resource_profile,
                files=files,
                user_code=config.allow_user_code is not False,
                processor_modules=config.processor_modules or (),
                tls=protection_of(config).tls(),
                insecure=config.insecure,
            )
            return self._launcher.client(name)
        if config.cluster is None:
            self._launcher = LocalCluster(
                config.members or 1,
                workers=config.workers,
                memory_limit=config.memory_limit,
                silence_limit=config.silence_limit,
                service=SERVICE,
                settings=lambda number: {"tracing": "on"} if config.tracing else {},
                files=files,
                user_code=config.allow_user_code is not False,
                processor_modules=config.processor_modules or (),
                tls=protection_of(config).tls(),
                insecure=config.insecure,
                handover=HandoverRules(config.handover_timeout, config.force_leave),
            )
            return self._launcher.client(name)
        place, given = config.cluster, protection_of(config)
        keeper, security = find(place, given)
        options = MemberOptions(
            name,
            keeper,
            workers=config.workers,
            memory_limit=config.memory_limit,
            observes=not config.lite,
        )
        return RunningMember(
            options, security, locate=lambda: self._keeper_in_store(config) or find(place, given)[0]
        )

    def _keeper_in_store(self, config: Config) -> str:
        """Return the address of the keeper that the job store names, empty = none."""
        return "" if config.job_store is None else keeper_in(os.fspath(config.job_store), SystemClock())

    def look_after(self, caretaker: MakeTableCaretaker) -> None:
        """Begin to repair the session's temporary tables after each change of the cluster: a caretaker, made
        by calling ``caretaker``, moves rows to the members that own their partitions now, and refills CACHE
        TABLE's copies whose rows were lost with a member. If the members live on Spark's executors, which
        have neither a parser nor Spark to load a table again, the session also repairs the permanent
        tables."""
        for everybodys in (False, True) if self._on_executors else (False,):
            made = caretaker(self.documents, everybodys=everybodys)
            self._running.membership.list_watchers.append(made.wake)
            self._caretakers.append(made)

    def close(self) -> None:
        """Leave the cluster; end the cluster if it belongs to the session."""
        for caretaker in self._caretakers:
            caretaker.close()
        super().close()
        self._end_launcher()

    def _end_launcher(self) -> None:
        if self._launcher is not None:
            self._launcher.close()
