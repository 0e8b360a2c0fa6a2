"""The changes of the member list that the keeper makes when members come, go or hand over.

Each function returns the members and the owners of the partitions of the next list.

>>> from sqlfront_cluster.members.protocol.member_list import alone
>>> members, owners = with_newcomer(alone("a", 4), MemberInfo("b"), anew=True)
>>> [each.name for each in members], owners
(['a', 'b'], ('a', 'b', 'a', 'b'))
>>> without(alone("a", 4).followed_by(1, members, owners, 1, invalidate=False), "b")[1]
('a', 'a', 'a', 'a')
"""

from typing import TypeAlias

from msgspec.structs import replace

from sqlfront_cluster.members.keeper.partition_table import balance, deal, inherit
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList

#: The members and the owners of the partitions of a list.
MembersAndOwners: TypeAlias = tuple[tuple[MemberInfo, ...], tuple[str, ...]]


def with_newcomer(latest: MemberList, newcomer: MemberInfo, *, anew: bool) -> MembersAndOwners:
    """Add a member; with ``anew``, deal all partitions anew, else they stay where they are."""
    members = (*latest.members, newcomer)
    if not anew:
        return members, latest.owners
    return members, deal([each.name for each in members if not each.lite], len(latest.owners))


def with_departing(latest: MemberList, marked: MemberInfo) -> MembersAndOwners:
    """Replace the entry of a member by ``marked``, by which the member leaves or hands over: its partitions
    go to others."""
    members = _with_entry(latest, marked)
    return members, pass_on(latest.owners, marked.name, members)


def with_returning(latest: MemberList, marked: MemberInfo) -> MembersAndOwners:
    """Replace the entry of a member by ``marked``, by which the member hands over no more: it gets its share
    of the partitions."""
    members = _with_entry(latest, marked)
    return members, balance(latest.owners, replace(latest, members=members).heirs)


def without(latest: MemberList, name: str) -> MembersAndOwners:
    """Remove the member ``name``: its partitions go to others."""
    members = tuple(each for each in latest.members if each.name != name)
    return members, pass_on(latest.owners, name, members)


def _with_entry(latest: MemberList, info: MemberInfo) -> tuple[MemberInfo, ...]:
    return tuple(info if each.name == info.name else each for each in latest.members)


def pass_on(owners: tuple[str, ...], name: str, members: tuple[MemberInfo, ...]) -> tuple[str, ...]:
    """Return the owners of the partitions after the member ``name`` has gone or hands over: its partitions go
    to those of ``members`` that may own partitions."""
    return inherit(owners, name, MemberList(0, members, owners).heirs)
