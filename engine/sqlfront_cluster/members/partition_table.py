"""The assignment of partitions to members: a new one, one after a loss, and a balanced one.

The functions work on a tuple with the name of each partition's owner.

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
