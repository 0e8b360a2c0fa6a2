"""The handover: a member that is about to leave moves its rows of memory tables to the other members first.

The leaving member itself moves the rows, because its end waits for them: if it is lost meanwhile, nothing is
left to be moved, and nobody else has to know how far it came. A table is moved step by step, by publishing
versions of the same rows with more and more partitions on the members that own them now
(:func:`~sqlfront_connectors.memory.spread.table.place_anew`), so that queries go on with the former versions,
and a writer waits for one step only. Another session may move a table, too; then less is left to do.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_connectors.memory.spread.room import ROOM, decode_room
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version import LOST
from sqlfront_values.errors import NO_MEMORY, Error, OperationalError

if TYPE_CHECKING:
    from sqlfront.cluster.processes import ProcessMembers

#: Seconds until the next attempt after a failure, and between two looks at ``is_over``.
RETRY: Final = 0.2

logger = logging.getLogger(__name__)


class Handover:
    """The handover of the member of ``membership``. ``members``: the session that moves the tables, on the
    same member. ``bytes_of``: returns the size of the member's share of a version. ``is_over``: returns True
    once the member may wait no longer. ``forced``: the member leaves also where the others have no room, and
    the tables that found no room are lost."""

    def __init__(
        self,
        members: "ProcessMembers",
        membership: Membership,
        bytes_of: Callable[[str], int],
        is_over: Callable[[], bool],
        *,
        forced: bool = False,
    ) -> None:
        self._members = members
        self._membership = membership
        self._bytes_of = bytes_of
        self._is_over = is_over
        self._forced = forced
        # Tables of which parts were lost with other members: nobody can read them.
        self._unreadable: set[str] = set()
        # Tables for which a forced handover has found no room.
        self._homeless: set[str] = set()

    def run(self) -> bool:
        """Move the rows, and return True if no other member misses a row when this member ends: all tables
        are on others, or there is no other member, and the keeper has marked this member as leaving. If all
        members leave at the same time, the last one waits until the others have gone. Return False if
        ``is_over`` came first, the member was removed meanwhile, or a forced handover found no room for some
        tables; the log then names the tables. Raises OperationalError (53200) if the others have no room and
        the handover is not forced; then the member gets its share of the partitions again."""
        try:
            moved = self._run() and not self._homeless
            if not moved:
                self._tell_lost()
            return moved
        except OperationalError:
            if not self._is_over():
                self._membership.hand_over(ends=True)
            raise

    def _run(self) -> bool:
        while self._membership.joined and not self._is_over():
            if self._is_leaving():
                return True
            changes = self._members.documents.changes
            self._go_on(self._members.member_list)
            self._members.documents.await_after(changes, RETRY)
        return False

    def _go_on(self, members: MemberList) -> None:
        """Take the next step. ``members``: the member list that this member uses; if there is another by the
        time when the keeper hears that this member has no rows any more, the keeper does nothing. A version
        with rows here would be made with a list in which this member owns partitions, or from a version with
        rows here. If that is a former list, this member has heard of the version before it used the present
        one."""
        if not self._is_marked(members):
            if not self._forced:
                self._check_room(members)
            self._membership.hand_over()
        elif not self._others(members):
            self._membership.give_up_place(members.version)
        elif self._membership.name in members.owners:
            # The last heir was lost, or the first has come: the keeper chooses anew who gets the partitions.
            self._membership.hand_over(ends=True)
        elif self._move_all():
            self._membership.give_up_place(members.version)

    def _move_all(self) -> bool:
        """Move the tables, and return True if no table has rows here any more."""
        for table in self.tables():
            self._move(table)
        return not self.tables()

    def tables(self) -> tuple[SpreadTable, ...]:
        """Return the tables whose current version has rows on this member, or backups of rows: while rows
        move, backups may be on members that own none of the version's partitions."""
        name = self._membership.name
        return tuple(
            table
            for table in self._members.spread_tables()
            if name in _holders(table.snapshot()) and table.identity not in self._unreadable | self._homeless
        )

    def _tell_lost(self) -> None:
        """Write to the log which tables lose rows when the member ends now, and how many bytes."""
        name = self._membership.name
        for table in self._members.spread_tables():
            held = table.snapshot().held
            if name in held.owners and held.key is not None and not dict(held.backups).get(name):
                size = self._bytes_of(held.key)
                logger.warning("`%s` loses its rows on member %s: %s bytes", table.name, name, f"{size:,}")

    def _others(self, members: MemberList) -> tuple[str, ...]:
        """Return the other members that may hold rows, those included that hand over themselves."""
        return tuple(name for name in members.data_members if name != self._membership.name)

    def _heirs(self, members: MemberList) -> tuple[str, ...]:
        return tuple(name for name in members.heirs if name != self._membership.name)

    def _check_room(self, members: MemberList) -> None:
        """Raise OperationalError (53200) if there are members to hand over to, and they have no room for this
        member's rows."""
        heirs = self._heirs(members)
        if not heirs:
            return
        needed = sum(self._bytes_of(table.snapshot().held.key or "") for table in self.tables())
        try:
            answers = self._members.ask(STORE, dict.fromkeys(heirs, ROOM))
        except OperationalError as error:
            logger.warning("the other members' room is not known: %s", error)
            return
        free = sum(map(decode_room, answers.values()))
        if needed > free:
            raise OperationalError(
                f"the rows of member {self._membership.name} have {needed:,} bytes, and the other"
                f" {len(answers)} members have room for {free:,} bytes",
                sqlstate=NO_MEMORY,
            )

    def _is_marked(self, members: MemberList) -> bool:
        return self._membership.name in members.handing_over

    def _is_leaving(self) -> bool:
        """Return whether the keeper has marked this member as leaving, in the list that is used here."""
        members = self._members.member_list
        return any(each.leaving for each in members.members if each.name == self._membership.name)

    def _move(self, table: SpreadTable) -> None:
        if self._is_over():
            return
        try:
            place_anew(table, self._is_over)
        except Error as error:
            logger.warning("`%s` could not be handed over: %s", table.name, error)
            if error.sqlstate == NO_MEMORY:
                if not self._forced:
                    raise
                self._homeless.add(table.identity)
            if error.sqlstate == LOST:
                self._unreadable.add(table.identity)
        else:
            if not self._is_over():
                logger.info("`%s` was handed over", table.name)


def _holders(version: SpreadSnapshot) -> frozenset[str]:
    """Return the members that hold rows of the version, or backups of them."""
    if version.held.key is None:
        return frozenset()
    return frozenset(version.holders).union(*(holders for _, holders in version.held.backups))
