"""The owners of partitions: dealing, inheriting, balancing.

An owner table is a tuple with the owner's name for each partition.

>>> table = deal(["a", "b"], 5)
>>> table
('a', 'b', 'a', 'b', 'a')
>>> inherit(table, "a", ["b", "c"])
('c', 'b', 'c', 'b', 'b')
>>> balance(table, ["a", "b", "c"])
('a', 'b', 'a', 'b', 'c')
"""

from collections import Counter
from collections.abc import Sequence

from sqlfront_cluster.members.member_list import NOBODY


def deal(members: Sequence[str], count: int) -> tuple[str, ...]:
    """Return a new owner table of ``count`` partitions: partition p belongs to member p modulo the number of
    members. Without members no partition has an owner."""
    if not members:
        return (NOBODY,) * count
    return tuple(members[partition % len(members)] for partition in range(count))


def inherit(owners: Sequence[str], lost: str, heirs: Sequence[str]) -> tuple[str, ...]:
    """Return the table after the loss of the member ``lost``: its partitions, and partitions without an
    owner, go to those of ``heirs`` that own fewest partitions; all others stay. Without heirs these
    partitions have no owner."""
    return _fill([NOBODY if owner == lost else owner for owner in owners], heirs)


def balance(owners: Sequence[str], members: Sequence[str]) -> tuple[str, ...]:
    """Return the table in which all ``members`` own equally many partitions, give or take one; no more
    partitions than necessary change their owner. Without members no partition has an owner."""
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


def _fill(owners: Sequence[str], members: Sequence[str]) -> tuple[str, ...]:
    """Return the table in which each partition without an owner is given to the one of ``members`` that owns
    fewest partitions; without members the table stays unchanged."""
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
