"""Members that run inside the session's own process, as ``connect(members=3)`` asks for."""

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront.cluster import Cluster
from sqlfront.config import Config
from sqlfront.observability.tracing.availability import check_tracing
from sqlfront_cluster.launchers.embedded import EmbeddedCluster
from sqlfront_connectors.base import Partitioning, superseded
from sqlfront_connectors.memory.segments.table_memory import TableMemory
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.store import TableStore
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_connectors.memory.spread.version_keys import LiveVersions
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.scheduler import available_cores
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.observability.tracing import part_spans as spans
else:
    spans = lazy_module("sqlfront.observability.tracing.part_spans")


class EmbeddedMembers(Cluster):
    """Members that run in the session's own process; the first member coordinates all jobs. ``files``: the
    files that the members may read and write."""

    def __init__(self, config: Config, files: FileAccess = EVERYWHERE) -> None:
        self._stores: dict[str, TableStore] = {}
        self._turns = itertools.count(1)
        self._live = LiveVersions()
        cores = available_cores() if config.workers is None else config.workers
        size = config.members or 1
        self._members = EmbeddedCluster(
            size,
            workers=max(1, cores // size),
            memory_limit=config.memory_limit,
            resources=self._store,
            files=files,
        )
        for member in self._members.members:
            self._stores[member.name].memory = TableMemory(member.engine.tables)
            if config.tracing:
                check_tracing()
                spans.watch_parts(member)
        super().__init__(self._members.coordinator, config.query_memory_limit)

    def _store(self, member: str) -> TableStore:
        store = self._stores[member] = TableStore(member)
        return store

    def table(
        self, name: str, schema: pa.Schema, partitioning: Partitioning | None, backups: int = 0
    ) -> SpreadTable:
        """Return a new memory table without rows, spread over the members. ``partitioning``: the placement of
        the rows by key columns, None = rows have no fixed member. ``backups``: the number of backups of each
        row, 0 to 2."""
        return SpreadTable(name, schema, partitioning, self, backups=backups)

    def begin_turn(self, table: PublishedTable) -> str:
        """Begin a turn (the right to write to the table) at once, and return the turn's token, a text that no
        other turn has. No turn has to be waited for: all writers are in this process, where the table's own
        lock keeps a writer out while another one writes."""
        return str(next(self._turns))

    def end_turn(self, table: PublishedTable) -> None:
        """Do nothing: the writer holds the table's lock during its turn, and releases the lock itself."""

    def begin_attempt(self, table: PublishedTable) -> None:
        """Return None: a turn costs no message."""

    def end_attempt(self, table: PublishedTable, *, failed: bool) -> None:
        """Do nothing: there are no attempts."""

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        """Make ``version`` the table's current version. Raises OperationalError if ADD COLUMN has replaced
        the table meanwhile."""
        if table.retired:
            raise superseded(table.name)
        self._live.add(version.key)
        table.adopt(version)

    def dropped(self, table: PublishedTable) -> None:
        """Do nothing: no other process reads the table, so none has to be told that the table was dropped."""

    def release(self, key: str) -> None:
        """Free the rows of one version of a table on all members; ``key`` is the key of the version. Called
        when nobody reads the version any more, or when the version could not be published."""
        self._live.forget(key)
        for member, store in list(self._stores.items()):
            for unneeded in self._live.unneeded(key, member, store.keys_held):
                store.free(unneeded)

    def close(self) -> None:
        """Stop the members."""
        self._members.close()
