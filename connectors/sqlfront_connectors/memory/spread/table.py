"""Memory tables whose rows are distributed over the members of a cluster.

A table is a sequence of versions, and each member has its share of each version in its
:class:`~sqlfront_connectors.memory.spread.store.TableStore`. A query names the version with which it was
planned, so every member reads the same version without any message. Writing is a job: each row goes to the
member that owns the row's partition, each member makes its share of the new version, and one step publishes
the version (:meth:`ClusterAccess.publish`). A failure before the publication leaves shares of an unpublished
version, which are freed.

A version records which members owned the partitions when it was made. If partitions have changed owners
since, jobs expect the rows on other members than those that have them. As long as all members with rows are
present, queries read the rows where they are, and changes by key are made there; other writes first move the
rows to the present owners. The rows move step by step (``moves``), each step a version with some partitions
at their new owners. If a member with rows is lost, an error names the lost partitions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Final

import pyarrow as pa

from sqlfront_cluster.members.protocol.member_list import CHANGED
from sqlfront_connectors.base import Key, RowValues, ScanRequest
from sqlfront_connectors.memory.keyed_table import KeyedTable, NewValues
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.row_paths import batch_of
from sqlfront_connectors.memory.spread.moved_version import MovedVersion
from sqlfront_connectors.memory.spread.moves import next_step
from sqlfront_connectors.memory.spread.next_version import ChangeMode, NextVersion, stored
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.row_change_version import RowChangeVersion
from sqlfront_engine.dag import DAG, OnlyOn
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sources.held_rows import HeldBatches, HeldRows
from sqlfront_values.errors import OperationalError

_ROWS: Final = "rows"


class SpreadTable(PublishedTable):
    """A memory table whose rows are distributed over the members of a cluster, one share on each member.
    ``members``: the access to the cluster. ``identity``: the name under which the cluster knows the table,
    which no other table ever gets; None = make a new one."""

    def next_version(
        self,
        how: ChangeMode,
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
    ) -> NextVersion:
        """Return a context manager that makes a new version, during which no other session writes.

        ``how``: the relation of the new version's rows to the present rows. ``indexes``: the indexes of the
        new version, None = the indexes of the present version. ``jobs``: the ids of the durable jobs whose
        rows the version takes. Entering raises OperationalError if present rows stay and partitions have
        moved or members with rows are lost, and if the table has the rows of one of the ``jobs`` already.
        """
        return NextVersion(self, how, indexes, jobs)

    @contextmanager
    def storing(
        self,
        *,
        overwrite: bool,
        indexes: tuple[IndexDefinition, ...] | None = None,
        jobs: tuple[str, ...] = (),
    ) -> Iterator[NextVersion]:
        """Return a context manager that makes a new version to which rows are added, or with ``overwrite`` a
        version in which new rows replace all present rows; no other session writes meanwhile. If present rows
        stay and their partitions have changed owners, the rows are first moved to the present owners.
        ``indexes``: the indexes of the new version, None = the indexes of the present version. ``jobs``: the
        ids of the durable jobs whose rows the version takes."""
        if not overwrite:
            place_anew(self)  # others may write between the steps
        with self.turn():
            if not overwrite:
                place_anew(self)  # partitions may have changed their owners again
            how = ChangeMode.OVERWRITE if overwrite else ChangeMode.APPEND
            with self.next_version(how, indexes, jobs) as version:
                yield version

    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool, job: str | None = None) -> int:
        """Send the rows to the members that own their partitions, and publish a new version with these rows
        after all present rows, or with ``overwrite`` in place of all present rows. Returns the number of rows
        sent. ``job``: the id of the durable job whose rows these are, None = no job's. Raises
        OperationalError if the table has the job's rows already."""
        with self.storing(overwrite=overwrite, jobs=() if job is None else (job,)) as version:
            return self._publish(version, batches)

    def change_rows(self, rows: Sequence[RowValues], *, stores: bool, query: QueryRun | None = None) -> None:
        """Publish a version in which some rows are deleted or, with ``stores``, replaced, by one request to
        each member with such rows, without a job. Each item of ``rows`` ends with the number of the row to
        delete; the values before it are the new row (with ``stores``) or the deleted row's values of
        :attr:`home_columns`. The table must have a partition key. ``query``: when this query ends, the method
        stops waiting for members."""
        if rows:
            with RowChangeVersion(self, _mode(stores=stores)) as version:
                version.change_rows(rows, query)

    def change_found(
        self, find: Callable[[], Sequence[RowValues]], *, stores: bool, query: QueryRun | None = None
    ) -> int:
        """Change the rows that ``find`` returns, as :meth:`change_rows` does, and return their number. The
        first attempt does without the reservation of :meth:`turn`, which costs two changes of documents; if
        another session writes to the table meanwhile, the rows are found and changed again in a turn."""
        count = self._attempt(
            find, _mode(stores=stores), lambda version, rows: version.change_rows(rows, query)
        )
        return super().change_found(find, stores=stores, query=query) if count is None else count

    def change_keys(
        self, keys: Sequence[Key], new: NewValues | None, query: QueryRun | None = None
    ) -> int | None:
        """Change the rows with these keys by one question to each owner of a key, and to the holders of
        backups, which find the rows themselves. Return their number; None, and nothing is changed, if the
        table has no partition key or no rows, or if members with rows or backups are gone. Like
        :meth:`change_found`, the method first tries without a reservation. For the rest see
        :meth:`KeyedTable.change_keys`."""
        how = _mode(stores=new is not None)

        def change(version: RowChangeVersion, keys: Sequence[Key]) -> int:
            return version.change_keys(keys, new, query)

        if not self._has_changeable_rows():
            return None
        count = self._attempt(lambda: keys, how, change)
        if count is not None:
            return count
        with self.turn():
            if not self._has_changeable_rows():
                return None
            with RowChangeVersion(self, how) as version:
                return change(version, keys) if keys else 0

    def _has_changeable_rows(self) -> bool:
        """Return whether the table has rows that can be changed on the members where the rows' partition key
        says they are."""
        return self.partitioning is not None and self._current.held.key is not None and self.takes_row_changes

    def add_rows(self, rows: Sequence[RowValues], query: QueryRun | None = None) -> None:
        """Publish a version with a few rows after all present rows, unless ``rows`` is empty: by one request
        to each member that owns the partition of a row, and to the holders of backups, without a job; by a
        job if the table has no rows yet or no partition key. ``query``: when this query ends, the method
        stops waiting for members."""
        if not rows:
            return
        attempted = self._attempt(
            lambda: rows, ChangeMode.APPEND, lambda version, rows: version.change_rows(rows, query)
        )
        if attempted is not None:
            return
        with self.turn():
            if not self._has_changeable_rows():
                self.publish([batch_of(rows, self.schema)], overwrite=False)
                return
            with RowChangeVersion(self, ChangeMode.APPEND) as version:
                version.change_rows(rows, query)

    def _attempt(
        self,
        find: Callable[[], Sequence[RowValues]],
        how: ChangeMode,
        change: Callable[[RowChangeVersion, Sequence[RowValues]], int],
    ) -> int | None:
        """Change rows without a reservation; return their number, None if another session may have changed
        the table meanwhile, or a job has to make the change, so that nothing was changed. ``find``: finds the
        rows, or tells their keys. ``change``: makes and publishes the version with these rows changed, and
        returns their number; 0 = no share was made."""
        if self.partitioning is None:
            return None
        with self._writer:
            before = self._current
            possible = before.held.key is not None and not self._turns
            token = self.members.begin_attempt(self) if possible else None
            if token is None:
                return None
            count, failed, published = 0, False, False
            try:
                rows = find()
                if rows:
                    failed = True
                    with RowChangeVersion(self, how, turn=nullcontext(token)) as version:
                        if version.base is not before.held:
                            return None
                        count = change(version, rows)
                        published = version.is_published
                    failed = False
                # Whoever has published has changed what was there before, though it be no row.
                if not (count or published) and self._current is not before:
                    return None
            except OperationalError as error:
                if error.sqlstate != CHANGED:
                    raise
                return None
            finally:
                self.members.end_attempt(self, failed=failed)
            return count

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes; first every member makes its share
        with the indexes."""
        with self.storing(overwrite=False, indexes=indexes) as version:
            self._publish(version, ())

    def succeed(self, former: KeyedTable) -> None:
        """Take the indexes of ``former``, the spread table that this table is about to replace in the
        catalog: publish a version with the same rows and these indexes. The version also lists the jobs that
        have put their rows into ``former``."""
        assert isinstance(former, SpreadTable)
        held = former.snapshot().held
        with self.storing(overwrite=False, indexes=held.indexes, jobs=held.jobs) as version:
            self._publish(version, ())

    def _publish(self, version: NextVersion, batches: Sequence[pa.RecordBatch]) -> int:
        """Run a job that distributes the batches and makes every member's share of ``version``, publish the
        version, and return the number of rows written."""
        dag = DAG()
        columns = tuple(range(len(self.schema)))
        source = dag.vertex("rows", HeldRows(_ROWS, self.name, columns), 1, OnlyOn())
        rows = HeldBatches(tuple(batches))
        return version.publish(self.members.run(stored(dag, source, self, version), {_ROWS: rows}))


def _mode(*, stores: bool) -> ChangeMode:
    return ChangeMode.UPDATE if stores else ChangeMode.DELETE


def place_anew(table: SpreadTable, is_over: Callable[[], bool] = lambda: False) -> None:
    """Move the table's rows to the members that now own the rows' partitions, by publishing versions of the
    same rows, step by step; between the steps other sessions may write. Does nothing if the rows are on the
    right members. ``is_over``: asked between the steps; True ends the move before all rows have moved."""
    while not (table.in_place or is_over()):
        with table.turn():
            if not table.in_place:
                _take_step(table)


def _take_step(table: SpreadTable) -> None:
    """Move some of the rows; all of them if a member with a share is lost. The caller has the table's
    turn."""
    current = table.snapshot()
    current.check_complete()
    held, members = current.held, table.members.member_list
    step = next_step(held, members, table.backups) if held.is_readable(members) else None
    if step is None:
        _store_anew(table)
        return
    with MovedVersion(table, step, held, members) as version:
        version.publish(table.members.run(version.dag(), {f"{held.key} in use": current}))


def _store_anew(table: SpreadTable) -> None:
    """Publish a version of the same rows, made from nothing on the members that own the rows' partitions."""
    planned = table.snapshot().scan(ScanRequest(tuple(range(len(table.schema)))))
    with table.next_version(ChangeMode.OVERWRITE) as version:
        dag = DAG()
        source = dag.vertex(f"scan {table.name}", planned.source, 1)
        version.publish(table.members.run(stored(dag, source, table, version), planned.resources))
