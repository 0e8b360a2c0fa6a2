"""The assignment of partitions to members: a new one, one after a loss, and a balanced one.

The functions work on a tuple with the name of each partition's owner.

>>> table = deal(["a", "b"], 5)
>>> table
('a', 'b', 'a', 'b', 'a')
>>> inherit(table, "a", ["b", "c"])
('c', 'b', 'c', 'b', 'b')
>>> balance(table, ["a", "b", "c"])
('a', 'b', 'a', 'b', 'c')
>>> backup_members(["a", "b", "c"], 1)
{'a': ('b',), 'b': ('c',), 'c': ('a',)}
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlfront_cluster.members.protocol.member_list import NOBODY


def deal(members: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the owners of ``count`` partitions that are assigned to ``members`` in turn: partition p belongs
    to member p modulo the number of members. Without members all owners are :data:`NOBODY`."""
    if not members:
        return (NOBODY,) * count
    return tuple(members[partition % len(members)] for partition in range(count))


def inherit(owners: Sequence[str], lost: str, heirs: Sequence[str]) -> tuple[str, ...]:
    """Return the owners of the partitions after the loss of the member ``lost``: its partitions, and those
    without an owner, go one by one to the member of ``heirs`` that owns fewest; all others keep their owners.
    Without heirs these partitions get the owner :data:`NOBODY`."""
    return _fill([NOBODY if owner == lost else owner for owner in owners], heirs)


def balance(owners: Sequence[str], members: Sequence[str]) -> tuple[str, ...]:
    """Return owners of the partitions such that all ``members`` own equally many, with a difference of one at
    most; as few partitions as possible change their owner. Without members all owners are :data:`NOBODY`."""
    if not members:
        return (NOBODY,) * len(owners)
    share, larger = divmod(len(owners), len(members))
    counts = Counter(owners)
    # Members with most partitions get the larger shares.
    ranked = sorted(members, key=lambda member: -counts[member])
    quota = {member: share + (rank < larger) for rank, member in enumerate(ranked)}
    kept = []
    for owner in owners:
        stays = quota.get(owner, 0) > 0
        if stays:
            quota[owner] -= 1
        kept.append(owner if stays else NOBODY)
    return _fill(kept, members)


def backup_members(
    members: Sequence[str], count: int, hosts: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return, for each of ``members``, the ``count`` other members that hold the backups of its partitions,
    or all other members if these are fewer. ``hosts``: the host of each member, as far as known. A backup is
    on another host where possible; beyond that, members that hold fewest backups come first, then those that
    follow the owner in the order of ``members``, so that members of one host hold equally many."""
    hosts = {} if hosts is None else hosts
    held = dict.fromkeys(members, 0)
    chosen: dict[str, tuple[str, ...]] = dict.fromkeys(members, ())
    for _ in range(min(count, len(members) - 1)):
        for place, owner in enumerate(members):
            others = [*members[place + 1 :], *members[:place]]
            free = [other for other in others if other not in chosen[owner]]
            near = {hosts[each] for each in (owner, *chosen[owner]) if each in hosts}
            backup = min(free, key=lambda other: (hosts.get(other) in near, held[other]))
            held[backup] += 1
            chosen[owner] = (*chosen[owner], backup)
    return chosen


def _fill(owners: Sequence[str], members: Sequence[str]) -> tuple[str, ...]:
    """Return ``owners`` with each partition without an owner given to the member of ``members`` that owns
    fewest partitions; unchanged without members."""
    if not members:
        return tuple(owners)
    counts = Counter(dict.fromkeys(members, 0))
    counts.update(owner for owner in owners if owner in counts)
    filled = []
    for owner in owners:
        if owner == NOBODY:
            owner = min(members, key=counts.__getitem__)
            counts[owner] += 1
        filled.append(owner)
    return tuple(filled)
