"""Memory tables whose rows are on the members of a cluster, as sources of durable jobs.

A job reads the version that a table had when the job was created. While the job runs, its process keeps the
members from freeing the version, and fetches the rows for the tasks that read the table. Another process that
takes the job over finds the table by its identity; the version must still be the table's current one.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.protocol.member_list import CHANGED
from sqlfront_connectors.base import Location, ScanPlan, ScanRequest, TableStatistics
from sqlfront_connectors.memory.exchange.loads import HeldVersion
from sqlfront_connectors.memory.segments.chunks import judged
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version_scan import VersionScan
from sqlfront_engine.closing import ClosingContext
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Expr

#: Attempts to read rows while the cluster changes, and seconds between two attempts: members that join or
#: leave change the cluster several times within a second or two.
_ATTEMPTS: Final = 5
_CHANGE: Final = 0.5


class SourceVersion(msgspec.Struct, frozen=True, array_like=True):
    """A version of a spread table that a job reads, as the job's log stores it. ``name``: the table's name,
    for errors. ``identity``: the table's id in its cluster. ``key``: the key under which the members have the
    rows of the version."""

    name: str
    identity: str
    key: str

    def find(self, tables: Iterable[SpreadTable], holder: str | None) -> "VersionSource":
        """Return the rows of the version, for a process that takes the job over. ``tables``: the spread
        tables that the process knows. ``holder``: the name of the process in the cluster; None if the members
        are in the process. Raises OperationalError if the table is not among ``tables``; with SQLSTATE 40001,
        if the table has another version by now."""
        for table in tables:
            if table.identity != self.identity:
                continue
            snapshot = table.snapshot()
            if snapshot.held.key == self.key:
                return VersionSource(snapshot, holder)
            raise OperationalError(
                f"the memory table `{self.name}`, which the job reads, has changed since the job was created;"
                " create the job anew",
                sqlstate=CHANGED,
            )
        raise OperationalError(
            f"the memory table `{self.name}`, which the job reads, was dropped, or is gone with its cluster;"
            " create the job anew"
        )


class VersionSource(ClosingContext):
    """The rows of one version of a spread table, for the tasks of a job
    (:class:`~sqlfront_connectors.memory.spread.version_scan.VersionRows`). ``holder``: the name of this
    process in the cluster; None if the members are in this process, where the version lives as long as this
    object."""

    def __init__(self, snapshot: SpreadSnapshot, holder: str | None) -> None:
        self._snapshot, self._holder = snapshot, holder
        self._held: HeldVersion | None = None

    def hold(self) -> None:
        """Keep the members from freeing the version until :meth:`close`, or until this process leaves the
        cluster. Raises OperationalError if the version is gone, or members with rows are lost."""
        if self._holder is not None and self._held is None:
            self._held = HeldVersion(self._snapshot, (), 1, self._holder)

    @property
    def holders(self) -> tuple[str, ...]:
        """The names of the members that have rows of the version, in a fixed order."""
        return self._snapshot.holders

    def read(self, holder: str, request: ScanRequest) -> Iterator[pa.RecordBatch]:
        """Fetch the version's rows on one member, and yield the rows, in the same order each time.
        ``holder``: the member, one of :attr:`holders`. ``request``: the columns to return; the filters of the
        request are hints, by which the member may leave out rows. While the cluster is changing, try again,
        for two seconds. Raises OperationalError if members with rows are lost."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                batches = iter(self._snapshot.read(holder, request))
                first = next(batches, None)
            except OperationalError as error:
                if error.sqlstate != CHANGED or not left:
                    raise
                time.sleep(_CHANGE)
                continue
            if first is not None:
                yield first
                yield from batches
            return

    def close(self) -> None:
        """Let the members free the version; a second call does nothing."""
        held, self._held = self._held, None
        if held is not None:
            held.close()


class VersionTable:
    """A spread table as a durable job reads it: a table with one version only, the version that ``table`` has
    when this object is made. The object is its own snapshot. ``holder``: the name of this process in the
    cluster; None if the members are in this process."""

    #: The name of the format of memory tables.
    format: Final = "memory"
    #: None: a task reads the rows of some members, whatever their keys.
    partitioning: Final = None

    def __init__(self, table: SpreadTable, holder: str | None) -> None:
        self._snapshot = snapshot = table.snapshot()
        self._identity, self._holder = table.identity, holder
        #: The logical column names and types.
        self.schema = snapshot.schema
        #: The number of the version.
        self.version = snapshot.version

    @property
    def source(self) -> SourceVersion | None:
        """The description of the version by which another process finds the rows; None if the version has no
        rows."""
        key = self._snapshot.held.key
        return None if key is None else SourceVersion(self._snapshot.name, self._identity, key)

    @property
    def statistics(self) -> TableStatistics:
        """The statistics of the version."""
        return self._snapshot.statistics

    def snapshot(self) -> "VersionTable":
        """Return the table itself, which has one version only."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter, since a scan applies none exactly: the members may leave out rows by the filters,
        and the query has to test the rows that come."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Plan a source of the columns that ``request`` asks for; each instance of the source fetches the
        rows of some members."""
        source = self.source
        if source is None:
            return self._snapshot.scan(request)
        scan = VersionScan(source.key, source.name, request.columns, judged(request.filters), request.limit)
        rows = VersionSource(self._snapshot, self._holder)
        return ScanPlan(scan, {source.key: rows}, Location.ANYWHERE)

    def drop(self) -> None:
        """Do nothing: the rows belong to the table whose version this is."""
