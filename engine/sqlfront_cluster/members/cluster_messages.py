"""All messages between members and their keeper.

Each class's docstring names the sender and says what the message tells the receiver. Only heartbeats are
frequent; the other messages come when members come or go, and when documents change.
"""

from typing import Final, TypeAlias

from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.members.messages import JOB_MESSAGES, Message
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

#: Keys of documents, each with the version that the document has to have (0: there is no document).
Premises: TypeAlias = tuple[tuple[str, int], ...]

# ---- from a member


class JoinCluster(Message, frozen=True):
    """A newcomer's request to become a member. ``address``, ``lite``, ``memory`` and ``files``: the fields of
    the newcomer's :class:`~sqlfront_cluster.members.member_list.MemberInfo`. The keeper answers with the
    documents and then the member list, or with :class:`Removed`."""

    address: str
    lite: bool
    memory: int
    files: FileAccess = EVERYWHERE


class ListAdopted(Message, frozen=True):
    """A member's message that it uses the member list of this version. If it comes from a newcomer, the
    newcomer is also connected with all members of the list."""

    version: int


class Heartbeat(Message, frozen=True):
    """A member's message that it is alive. ``sent``: the time by the member's clock, in seconds, which the
    answer repeats. ``missing``: the members that have had no connection to the sender for longer than the
    limit."""

    sent: float
    missing: tuple[str, ...] = ()


class Leave(Message, frozen=True):
    """A member's message that it wants to leave, so that new jobs avoid it."""


class Left(Message, frozen=True):
    """The last message of a member that leaves: its last job has ended, and it ends now."""


class Rebalance(Message, frozen=True):
    """A member's request to assign the partitions anew, so that all members that may own partitions (neither
    lite nor leaving) own equally many."""


class PutDocument(Message, frozen=True):
    """A member's request to store ``content`` (None: remove the document) under ``key``, if the document's
    version is ``expected`` (0: no such document exists, None: any version), and if other documents, the
    ``premises``, still have the versions given with their keys. ``request``: a number that the answer
    repeats."""

    request: int
    key: str
    expected: int | None
    content: bytes | None
    premises: Premises = ()


class DocumentsSeen(Message, frozen=True):
    """A member's message that it has all changes of documents up to this version."""

    version: int


# ---- from the keeper


class MemberListChanged(Message, frozen=True):
    """The keeper's message with a new version of the member list."""

    list: MemberList


class HeartbeatAnswer(Message, frozen=True):
    """The keeper's answer to a heartbeat: it won't remove the member as silent before ``lease`` seconds have
    passed since ``sent``, the time in the heartbeat."""

    sent: float
    lease: float


class LeaveAllowed(Message, frozen=True):
    """The keeper's message to a member that wants to leave: all members know that it is leaving, and it will
    get no new jobs."""


class Removed(Message, frozen=True):
    """The keeper's message that the receiver is no member (any more), with the ``reason``."""

    reason: str


class ClusterEnded(Message, frozen=True):
    """The keeper's message that the cluster has ended, with the ``reason``."""

    reason: str


class DocumentKeys(Message, frozen=True):
    """The keeper's message that documents exist under exactly these ``keys``, after it has sent their
    contents. All changes up to ``version`` are included, also removals."""

    keys: tuple[str, ...]
    version: int


class DocumentChanged(Message, frozen=True):
    """The keeper's message with the new content of a document, None if the document was removed. ``version``:
    the number of this change; the changes of all documents are counted together, and arrive in order."""

    key: str
    version: int
    content: bytes | None


class DocumentAnswer(Message, frozen=True):
    """The keeper's answer to the :class:`PutDocument` with the number ``request``. ``stored`` True: every
    member has the change, and ``version`` is the document's new version. ``stored`` False: nothing was
    changed, since the document or a premise (another document) didn't have the expected version; ``version``
    is the document's present version (0: it doesn't exist)."""

    request: int
    stored: bool
    version: int


#: The messages of this module.
CLUSTER_MESSAGES: Final = (
    JoinCluster,
    ListAdopted,
    Heartbeat,
    Leave,
    Left,
    Rebalance,
    PutDocument,
    DocumentsSeen,
    MemberListChanged,
    HeartbeatAnswer,
    LeaveAllowed,
    Removed,
    ClusterEnded,
    DocumentKeys,
    DocumentChanged,
    DocumentAnswer,
)
#: All messages between members and keeper: the argument of a transport.
MESSAGES: Final = (*JOB_MESSAGES, *CLUSTER_MESSAGES)
