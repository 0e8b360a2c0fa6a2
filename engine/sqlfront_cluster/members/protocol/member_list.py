"""The member list: the members of the cluster, and the owners of partitions."""

from typing import Final

import msgspec

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS

#: The owner's name for a partition without an owner.
NOBODY = ""
#: The SQLSTATE of the error with which a member refuses a job or request that was sent under another version
#: of the member list; the sender may repeat it.
CHANGED: Final = "40001"


class MemberInfo(msgspec.Struct, frozen=True):
    """A member's entry in the member list.

    ``lite``: the member owns no partitions, and runs only those vertices of its own jobs that are placed on
    the coordinator. ``hands_over``: the member is about to leave and owns no partitions, but jobs still read
    the rows that it holds, until these rows are on other members. ``leaving``: the member is shutting down,
    and new jobs avoid it. ``address``: the address at which other members connect to the member; empty for a
    client, to which nobody connects. ``memory``: bytes that all jobs together may hold on the member, 0 =
    unknown. ``files``: the files that jobs may open on the member.
    """

    name: str
    lite: bool = False
    leaving: bool = False
    address: str = ""
    memory: int = 0
    files: FileAccess = EVERYWHERE
    hands_over: bool = False

    @property
    def role(self) -> str:
        """The member's role, as operators see it: ``client``, ``leaving`` or ``member``."""
        return "client" if self.lite else "leaving" if self.leaving or self.hands_over else "member"


class MemberList(msgspec.Struct, frozen=True):
    """One version of the member list, made by the keeper; all members have copies.

    ``members``: in the order of joining. ``owners``: the owner of each partition, :data:`NOBODY` = none.
    ``valid_from``: members still accept jobs that were planned with this version or a later one, because
    since then only clients were lost, and no partition of a table has changed its owner. ``dealt``: the
    version in which a partition last changed its owner. ``epoch``: the epoch of the keeper that made this
    version.
    """

    version: int
    members: tuple[MemberInfo, ...]
    owners: tuple[str, ...]
    valid_from: int = 0
    dealt: int = 0
    epoch: int = 1

    @property
    def data_members(self) -> tuple[str, ...]:
        """The names of the members that may run parts of new jobs: neither lite nor leaving."""
        return tuple(member.name for member in self.members if not member.lite and not member.leaving)

    @property
    def handing_over(self) -> tuple[str, ...]:
        """The names of the data members that own no partitions and hold rows until these are on others."""
        return tuple(member.name for member in self.members if member.hands_over and not member.leaving)

    @property
    def heirs(self) -> tuple[str, ...]:
        """The names of the members that may own partitions: the data members that don't hand over; if all
        of them do, all data members."""
        staying = tuple(name for name in self.data_members if name not in self.handing_over)
        return staying or self.data_members

    def __contains__(self, name: object) -> bool:
        return any(member.name == name for member in self.members)

    def is_client(self, name: str) -> bool:
        """Return whether ``name`` is a lite member of this list."""
        return any(member.name == name and member.lite for member in self.members)

    def is_leaving(self, name: str) -> bool:
        """Return whether ``name`` is a member of this list that is shutting down."""
        return any(member.name == name and member.leaving for member in self.members)

    def accepts(self, version: int) -> bool:
        """Return whether this version of the list agrees with ``version`` in all that matters to a job: then
        a member that uses this version may run a part of a job that was planned with ``version``."""
        return self.valid_from <= version <= self.version

    def followed_by(
        self,
        version: int,
        members: tuple[MemberInfo, ...],
        owners: tuple[str, ...],
        epoch: int,
        *,
        invalidate: bool,
    ) -> "MemberList":
        """Return the next version of the list, made by the keeper of ``epoch``. ``invalidate``: True makes
        members refuse jobs that were planned with earlier versions."""
        valid_from = version if invalidate else self.valid_from
        dealt = self.dealt if owners == self.owners else version
        return MemberList(version, members, owners, valid_from, dealt, epoch)


def alone(name: str, partition_count: int = DEFAULT_PARTITIONS) -> MemberList:
    """Return the list of a cluster with the single member ``name``, the owner of all partitions."""
    return MemberList(0, (MemberInfo(name),), (name,) * partition_count)


def nobody(partition_count: int = DEFAULT_PARTITIONS) -> MemberList:
    """Return the list of a cluster without members, whose partitions have no owners."""
    return MemberList(0, (), (NOBODY,) * partition_count)


def topology_changed(theirs: int, ours: int) -> OperationalError:
    """Return the error (SQLSTATE 40001) of a job or request that a member doesn't accept, because it was
    planned with version ``theirs`` of the member list, and the member uses version ``ours``."""
    return OperationalError(
        f"the cluster has changed (member list {theirs} is now {ours}); run the query again", sqlstate=CHANGED
    )


def member_lost(member: str) -> OperationalError:
    """Return the error (SQLSTATE 08006) of a job or request that needs ``member``, which can't be reached."""
    return OperationalError(f"member {member} was lost while the query ran on it", sqlstate="08006")


def member_left(member: str) -> OperationalError:
    """Return the error (SQLSTATE 40001) of a job or request that has come too late for ``member``: the member
    has left, once its jobs had ended, or was lost before."""
    return OperationalError(
        f"member {member} is no longer in the cluster; run the query again", sqlstate=CHANGED
    )


def left_or_lost(members: MemberList, member: str) -> OperationalError:
    """Return the error of a request to ``member``, to which there is no connection: :func:`member_lost` if
    the member is to stay in ``members``, the list in use, else :func:`member_left`."""
    stays = member in members and not members.is_leaving(member)
    return member_lost(member) if stays else member_left(member)
