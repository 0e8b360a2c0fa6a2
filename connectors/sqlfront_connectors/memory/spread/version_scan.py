"""The source of a version of a spread table for a job that doesn't run on the table's members, such as a
durable job."""

from collections.abc import Iterable
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa

from sqlfront_connectors.base import ScanRequest
from sqlfront_engine.processor import END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import EngineExpr


@runtime_checkable
class VersionRows(Protocol):
    """The rows of one version of a spread table, which are on the members of the cluster."""

    @property
    def holders(self) -> tuple[str, ...]:
        """The names of the members that have rows of the version, in a fixed order."""

    def read(self, holder: str, request: ScanRequest) -> Iterable[pa.RecordBatch]:
        """Fetch the version's rows on one member, and return the rows, in the same order each time.
        ``holder``: the member, one of :attr:`holders`. ``request``: the columns to return; the filters of the
        request are hints, by which the member may leave out rows. Raises OperationalError if members with
        rows are lost."""


class VersionScan(Processor, frozen=True):
    """A source of the rows of one version of a spread table, which are fetched from the members that hold
    them; instance i of n fetches the rows of the members i, i + n, and so on. ``resource``: the key of the
    version, under which the job's resources have the :class:`VersionRows`. ``table``: the name of the table,
    for errors. ``columns``: the ordinals of the columns to emit. ``filters``: conjuncts by which members may
    leave out rows. ``limit``: the most rows that the query needs of each member, None if it needs all."""

    cooperative: ClassVar[bool] = False
    reads_table: ClassVar[bool] = True

    resource: str
    table: str
    columns: tuple[int, ...]
    filters: tuple[EngineExpr, ...] = ()
    limit: int | None = None

    def run(self, context: ProcessorContext) -> Steps:
        rows = context.resources.get(self.resource)
        if not isinstance(rows, VersionRows):
            raise OperationalError(f"the version of `{self.table}` that the job reads is not at hand")
        request = ScanRequest(self.columns, self.filters, limit=self.limit)
        index, count, holders = context.global_index, context.total_parallelism, rows.holders
        for holder in holders[index::count]:
            yield from rows.read(holder, request)
            yield END_OF_PIECE
        yield from last_round(len(holders), index, count)

    def describe(self) -> str:
        return f"VersionScan: {self.table}"
