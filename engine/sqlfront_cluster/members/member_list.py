"""Who is in the cluster, and who owns which partition."""

import msgspec

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS

#: In the place of the owner of a partition that has none.
NOBODY = ""


class MemberInfo(msgspec.Struct, frozen=True):
    """One member. ``lite``: it owns no partitions and runs only what is placed on the coordinator.
    ``leaving``: it is shutting down, and new jobs avoid it. ``address``: where the others connect to it;
    empty for one that only connects to others, as clients do. ``memory``: bytes that jobs may hold on it
    together, 0 = it hasn't told. ``files``: those that jobs may open on it."""

    name: str
    lite: bool = False
    leaving: bool = False
    address: str = ""
    memory: int = 0
    files: FileAccess = EVERYWHERE


class MemberList(msgspec.Struct, frozen=True):
    """One version of the cluster: its members in the order in which they joined, and the owner of each
    partition (:data:`NOBODY` = none). Made by the keeper; everybody else has a copy.

    ``valid_from``: jobs planned with this version or a later one can run; since then no member was lost and
    no partition has changed its owner. ``dealt``: the version since which no partition has changed its owner.
    """

    version: int
    members: tuple[MemberInfo, ...]
    owners: tuple[str, ...]
    valid_from: int = 0
    dealt: int = 0

    @property
    def data_members(self) -> tuple[str, ...]:
        """The members that new jobs may use."""
        return tuple(member.name for member in self.members if not member.lite and not member.leaving)

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self.members)

    def is_client(self, name: str) -> bool:
        """Whether that is a member without data."""
        return any(member.name == name and member.lite for member in self.members)

    def accepts(self, version: int) -> bool:
        """Whether a job that was planned with that version can run where this one is known."""
        return self.valid_from <= version <= self.version


def alone(name: str, partition_count: int = DEFAULT_PARTITIONS) -> MemberList:
    """The list of a cluster of one."""
    return MemberList(0, (MemberInfo(name),), (name,) * partition_count)


def nobody(partition_count: int = DEFAULT_PARTITIONS) -> MemberList:
    """The list of a cluster that nobody has joined yet."""
    return MemberList(0, (), (NOBODY,) * partition_count)


def topology_changed(theirs: int, ours: int) -> OperationalError:
    """A job or a request was planned for other members than there are now."""
    return OperationalError(
        f"the cluster has changed (member list {theirs} is now {ours}); run the query again", sqlstate="40001"
    )
