"""Who is in the cluster, and who owns which partition."""

import msgspec

from sqlfront_engine.partitions import DEFAULT_PARTITIONS


class MemberInfo(msgspec.Struct, frozen=True):
    """One member. ``lite``: it owns no partitions and runs only what is placed on the coordinator.
    ``leaving``: it is shutting down, and new jobs avoid it."""

    name: str
    lite: bool = False
    leaving: bool = False


class MemberList(msgspec.Struct, frozen=True):
    """One version of the cluster: its members in the order in which they joined, and the owner of each
    partition. Made by the keeper; everybody else has a copy."""

    version: int
    members: tuple[MemberInfo, ...]
    owners: tuple[str, ...]

    @property
    def data_members(self) -> tuple[str, ...]:
        """The members that new jobs may use."""
        return tuple(member.name for member in self.members if not member.lite and not member.leaving)

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self.members)


def alone(name: str, partition_count: int = DEFAULT_PARTITIONS) -> MemberList:
    """The list of a cluster of one."""
    return MemberList(0, (MemberInfo(name),), (name,) * partition_count)
