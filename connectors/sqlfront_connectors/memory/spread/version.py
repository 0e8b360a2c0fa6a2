"""The versions of a table whose rows are spread over members: what all members know of each."""

from typing import Final

import msgspec

from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.backups import Backups, readable
from sqlfront_connectors.memory.spread.share_statistics import ShareStatistics
from sqlfront_values.errors import OperationalError

#: The SQLSTATE of reading a table of which parts are lost for good.
LOST: Final = "58030"
#: Partitions that an error names at most, so that the message stays readable.
_NAMED: Final = 10
#: Durable jobs, the latest ones, whose ids a version keeps: each publication of a version sends the ids to
#: all members, so that the limit bounds the size of the message.
MOST_JOBS: Final = 100
#: The field ``dealt`` of a version of which some partitions have moved and others have not, or have their
#: former owners and the backups of the new ones: partitions and backups are like this in no member list.
MIXED: Final = -1


class TableVersion(msgspec.Struct, frozen=True):
    """The description of one version of a table's rows, which all members know.

    ``number``: grows by 1 with each version. ``key``: the key by which each member's store finds its share,
    see :mod:`~sqlfront_connectors.memory.spread.version_keys`; None if the version has no rows. ``known``:
    the statistics of all rows. ``dealt``: the version of the member list (not of the table) that last changed
    the partitions' owners before the shares were made; :data:`MIXED` while partitions move step by step.
    ``owners``: the owner of each partition at that time, which is the member that has the partition's rows.
    ``indexes``: the indexes that every share has. ``jobs``: the ids of the last :data:`MOST_JOBS` durable
    jobs that have put their rows into the table, with this version or an earlier one, in the order of their
    commits. ``backups``: the members that hold backups of each owner's share, written before the version was
    published."""

    number: int
    key: str | None
    known: ShareStatistics
    dealt: int = 0
    owners: tuple[str, ...] = ()
    indexes: tuple[IndexDefinition, ...] = ()
    jobs: tuple[str, ...] = ()
    backups: Backups = ()

    def is_readable(self, members: MemberList) -> bool:
        """Return whether all members with shares of the version are present, so that each row can be looked
        up on the member that has made the row's share, whoever owns the row's partition in ``members``."""
        return self.dealt == members.dealt or {*self.owners} <= readable(members)

    def is_changeable(self, members: MemberList) -> bool:
        """Return whether all members with shares of the version or backups of them are present, so that rows
        can be changed by their keys on these members."""
        if self.dealt == members.dealt:
            return True
        held = {*self.owners}.union(*(holders for _, holders in self.backups))
        return held <= readable(members)


def partitions_lost(
    table: str, version: TableVersion, partitions: list[int], *, reloaded: bool
) -> OperationalError:
    """Return the error for a table whose ``partitions`` were lost with their members. ``reloaded``: the
    members load the table again from its source, so the error asks to run the query again."""
    named = ", ".join(map(str, partitions[:_NAMED])) + (", ..." if len(partitions) > _NAMED else "")
    owners, held = {version.owners[number] or NOBODY for number in partitions}, dict(version.backups)
    lost = ", ".join(sorted({name for owner in owners for name in (owner, *held.get(owner, ()))}))
    what = (
        f"partitions {named} ({len(partitions)} of {len(version.owners)}) of `{table}` were lost with {lost}"
    )
    if reloaded:
        return OperationalError(
            f"{what}; the members load the table again from its source: run the query again", sqlstate="40001"
        )
    return OperationalError(
        f"{what}, and the table has no source to be loaded from again; overwrite or drop the table",
        sqlstate=LOST,
    )
