"""The coordinator's part in the exchange of rows: :class:`SpreadLoad` lets other processes bring rows to the
members of a spread table, :class:`HeldVersion` lets them read rows from the members."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.memory.exchange.fetching import (
    LOST_MEMBER,
    MOST_BYTES,
    MOST_ROWS,
    Origin,
    Piece,
    ShareCopy,
    member_gone,
)
from sqlfront_connectors.memory.exchange.pushing import DeliveredRows, LoadTarget, attempts_by_member
from sqlfront_connectors.memory.exchange.service import (
    EXCHANGE,
    BeginLoad,
    EndLoad,
    Hold,
    Release,
    StagedRows,
)
from sqlfront_connectors.memory.spread.backups import readable
from sqlfront_connectors.memory.spread.next_version import stored
from sqlfront_connectors.memory.spread.row_path import MemberRequests
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.store import partitions_moved
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.dag import DAG
from sqlfront_values.errors import Error, NotSupportedError, OperationalError


class SpreadLoad:
    """A load of rows into a table whose rows are spread over members, in the form of a context manager.
    Within its block other processes may push rows to :attr:`target`, each process in attempts of its own.
    :meth:`publish` makes a new version with the rows of those attempts that the caller names; at the end of
    the block all other rows are dropped.

    ``holder``: the name of the coordinating member; when that member leaves the cluster, the load ends.
    Raises NotSupportedError if the members have no address for other processes (such as members in this
    process), OperationalError with SQLSTATE 08001 if no member is left."""

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
        """Publish a version with the rows of successful attempts: with ``overwrite`` in place of all present
        rows, otherwise in addition to them. ``brought``: the rows that each attempt to include has delivered
        to each member. Return the number of these new rows. To be called once. Raises OperationalError with
        SQLSTATE 40001 if partitions have changed their owners since the load began."""
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
    """A version of a table whose rows are spread over members; until :meth:`close`, other processes may read
    it from the members, even if the table changes meanwhile. :attr:`pieces` are the ranges of its rows;
    :func:`~sqlfront_connectors.memory.exchange.fetching.fetch` reads them from :attr:`origin`.

    ``columns``: the ordinals of the columns to read. ``parts``: the number of pieces of about the same size
    into which the rows of each member are divided; fewer if there are fewer rows. ``holder``: the name of the
    coordinating member; when that member leaves the cluster, the version is released. The backups of shares
    are held, too, and read if a member is lost. Raises OperationalError if the version is gone, or rows are
    lost, with SQLSTATE 40001 if the query may be run again; NotSupportedError if the members have no address
    for other processes.
    """

    def __init__(self, snapshot: SpreadSnapshot, columns: tuple[int, ...], parts: int, holder: str) -> None:
        self._members = snapshot.members
        self._token = secrets.token_hex(8)
        shares = _copies(snapshot)
        self.origin = Origin(snapshot.held.key or "", snapshot.name, columns, shares, _step(snapshot))
        try:
            counts = self._hold(holder)
        except OperationalError as error:
            self.close()
            raise error if error.sqlstate not in LOST_MEMBER else member_gone(snapshot.name, error) from error
        except BaseException:
            self.close()
            raise
        #: The number of rows, deleted rows included.
        self.rows = sum(counts)
        self.pieces = tuple(
            Piece(share, start, min(start + size, count))
            for share, count in enumerate(counts)
            for size in (max(1, -(-count // parts)),)
            for start in range(0, count, size)
        )

    def _hold(self, holder: str) -> list[int]:
        """Have all members with rows of the version keep it, and return the number of rows of each share."""
        read = [copies[0] for copies in self.origin.shares]
        readers = {copy.member for copy in read}
        others = {copy.member: copy for copies in self.origin.shares for copy in copies}
        waiting = [*read, *(copy for name, copy in others.items() if name not in readers)]
        counts: dict[ShareCopy, int] = {}
        while waiting:  # each member is asked one question at a time
            asked = {copy.member: copy for copy in waiting}
            answers = self._members.ask(
                EXCHANGE, {name: self._question(asked[name], holder) for name in asked}
            )
            counts |= {asked[name]: codec.decode(answer, int) for name, answer in answers.items()}
            waiting = [copy for copy in waiting if copy not in counts]
        return [counts[copy] for copy in read]

    def _question(self, copy: ShareCopy, holder: str) -> bytes:
        return codec.encode(Hold(self.origin.version, self.origin.table, self._token, holder, copy.owner))

    def close(self) -> None:
        """End the hold on the version, so that the members may free it; do nothing the second time."""
        names = {copy.member: copy.address for copies in self.origin.shares for copy in copies}
        _tell_each(self._members, tuple(names.items()), Release(self.origin.version, self._token))


def _tell_each(
    members: MemberRequests, names: Sequence[tuple[str, str]], question: EndLoad | Release
) -> None:
    """Send the question to each of the members, one by one, and ignore members that can't be reached.
    ``names``: names and addresses of the members."""
    for name, _ in names:
        with suppress(Error):
            members.ask(EXCHANGE, {name: codec.encode(question)})


def _copies(snapshot: SpreadSnapshot) -> tuple[tuple[ShareCopy, ...], ...]:
    """Return, for each share of the version, its copies on present members, the owner's first. Raises
    OperationalError if a share has none; NotSupportedError if other processes can't reach the members."""
    snapshot.check_complete()
    held, members = snapshot.held, snapshot.members.member_list
    present, backups = readable(members), dict(held.backups)
    owners = dict.fromkeys(() if held.key is None else held.owners)
    return tuple(
        tuple(
            ShareCopy(name, address, None if name == owner else owner)
            for name, address in _addresses(
                snapshot.name, members, [each for each in (owner, *backups.get(owner, ())) if each in present]
            )
        )
        for owner in owners
        if owner != NOBODY
    )


def _addresses(table: str, members: MemberList, owners: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the name and the address of each member in ``owners``, once. ``owners``: for each partition the
    name of its member. Raises NotSupportedError, which names ``table``, if an owner has no address for other
    processes."""
    addresses = {each.name: each.address for each in members.members}
    names = [name for name in dict.fromkeys(owners) if name != NOBODY]
    if not all(addresses.get(name) for name in names):
        raise NotSupportedError(f"the members that hold `{table}` can't be reached by other processes")
    return tuple((name, addresses[name]) for name in names)


def _step(snapshot: SpreadSnapshot) -> int:
    """Return the number of rows to fetch with one question: at most MOST_ROWS rows, about MOST_BYTES bytes,
    and at least one row."""
    rows, size = snapshot.statistics.rows or 0, snapshot.statistics.size or 0
    return max(1, min(MOST_ROWS, MOST_BYTES * rows // size)) if size else MOST_ROWS
