"""The coordinator's side of loads and held versions: other processes bring rows to the members of a spread
table, or fetch rows from the members."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from sqlfront_cluster import codec
from sqlfront_cluster.members.member_list import NOBODY, MemberList
from sqlfront_connectors.memory.exchange.fetching import MOST_BYTES, MOST_ROWS, Origin, Piece
from sqlfront_connectors.memory.exchange.pushing import DeliveredRows, LoadTarget, attempts_by_member
from sqlfront_connectors.memory.exchange.service import (
    EXCHANGE,
    BeginLoad,
    EndLoad,
    Hold,
    Release,
    StagedRows,
)
from sqlfront_connectors.memory.spread.store import partitions_moved
from sqlfront_connectors.memory.spread.table import (
    ClusterAccess,
    SpreadSnapshot,
    SpreadTable,
    stored,
)
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.dag import DAG
from sqlfront_values.errors import Error, NotSupportedError, OperationalError


class SpreadLoad:
    """A load of a spread table, as a context manager: within it, other processes may bring rows to
    :attr:`target`, and :meth:`publish` makes a version of the rows of chosen attempts. At its end all other
    rows are dropped.

    ``holder``: the name of the coordinating member; the load ends with that member. Raises NotSupportedError
    if other processes can't reach the members (such as members in this process), OperationalError with
    SQLSTATE 08001 if no member is left.
    """

    def __init__(self, table: SpreadTable, holder: str) -> None:
        members = table.members.member_list
        if NOBODY in members.owners:
            raise OperationalError(f"no member is left to take the rows of `{table.name}`", sqlstate="08001")
        reached = _addresses(table.name, members, members.owners)
        names = [name for name, _ in reached]
        placed = table.partitioning
        self._table = table
        self._dealt = members.dealt
        self._holder = holder
        self.target = LoadTarget(
            secrets.token_hex(16),
            table.name,
            table.schema,
            () if placed is None else placed.columns,
            tuple(names.index(owner) for owner in members.owners),
            reached,
        )

    def __enter__(self) -> Self:
        target = self.target
        try:
            begin = BeginLoad(target.load, target.table, target.schema, self._dealt, self._holder)
            content = codec.encode(begin)
            self._table.members.ask(EXCHANGE, {name: content for name, _ in target.members})
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def publish(self, brought: Sequence[DeliveredRows], *, overwrite: bool) -> int:
        """Publish a version with the rows of the attempts in ``brought``: alone with ``overwrite``, otherwise
        behind the present rows. Returns the number of rows brought. To be called once. Raises
        OperationalError with SQLSTATE 40001 if partitions have changed their owners since the load began."""
        table = self._table
        with table.storing(overwrite=overwrite) as version:
            if version.processor.dealt != self._dealt:
                raise partitions_moved(table.name)
            dag = DAG()
            rows = StagedRows(self.target.load, table.name, attempts_by_member(brought))
            source = dag.vertex("staged rows", rows, 1)
            return version.publish(table.members.run(stored(dag, source, table, version, here=True), {}))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _tell_each(self._table.members, self.target.members, EndLoad(self.target.load))


class HeldVersion(ClosingContext):
    """A version of a spread table that other processes may read from the members until :meth:`close`, even if
    the table changes meanwhile; :attr:`pieces` are the parts of its rows, to be fetched one by one from
    :attr:`origin`.

    ``columns``: the columns to read. ``parts``: the number of pieces of about the same size into which the
    rows of each member are cut, if there are as many rows. ``holder``: see :class:`SpreadLoad`. Raises
    OperationalError if the version, or some of its members, are gone; NotSupportedError as for
    :class:`SpreadLoad`.
    """

    def __init__(self, snapshot: SpreadSnapshot, columns: tuple[int, ...], parts: int, holder: str) -> None:
        held = snapshot.held
        snapshot.check_complete()
        owners = () if held.key is None else held.owners
        members = _addresses(snapshot.name, snapshot.members.member_list, owners)
        self._members = snapshot.members
        self._token = secrets.token_hex(8)
        self.origin = Origin(held.key or "", snapshot.name, columns, members, _step(snapshot))
        question = codec.encode(Hold(self.origin.version, snapshot.name, self._token, holder))
        try:
            answers = snapshot.members.ask(EXCHANGE, {name: question for name, _ in members})
        except BaseException:
            self.close()
            raise
        counts = [codec.decode(answers[name], int) for name, _ in members]
        #: The number of rows, deleted rows included.
        self.rows = sum(counts)
        self.pieces = tuple(
            Piece(member, start, min(start + size, count))
            for member, count in enumerate(counts)
            for size in (max(1, -(-count // parts)),)
            for start in range(0, count, size)
        )

    def close(self) -> None:
        """Release the version; closing twice is no error."""
        _tell_each(self._members, self.origin.members, Release(self.origin.version, self._token))


def _tell_each(members: ClusterAccess, names: Sequence[tuple[str, str]], question: EndLoad | Release) -> None:
    """Tell the members, one by one, of the end of a load or hold; skip members that can't be reached."""
    for name, _ in names:
        with suppress(Error):
            members.ask(EXCHANGE, {name: codec.encode(question)})


def _addresses(table: str, members: MemberList, owners: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the name and the address of each member among ``owners``, the owners of the partitions. Raises
    NotSupportedError, which names ``table``, if an owner has no address."""
    addresses = {each.name: each.address for each in members.members}
    names = [name for name in dict.fromkeys(owners) if name != NOBODY]
    if not all(addresses.get(name) for name in names):
        raise NotSupportedError(f"the members that hold `{table}` can't be reached by other processes")
    return tuple((name, addresses[name]) for name in names)


def _step(snapshot: SpreadSnapshot) -> int:
    """Return the number of rows of the version to fetch at a time: at most MOST_ROWS rows and about
    MOST_BYTES bytes, at least one row."""
    rows, size = snapshot.statistics.rows or 0, snapshot.statistics.size or 0
    return max(1, min(MOST_ROWS, MOST_BYTES * rows // size)) if size else MOST_ROWS
