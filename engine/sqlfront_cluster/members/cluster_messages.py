"""All messages between members and their keeper.

Each class's docstring names the sender and says what the sender states (*I* is the sender, *you* the
receiver). Only heartbeats are frequent; the other messages come when members come or go, and when documents
change.
"""

from typing import Final, TypeAlias

from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.members.messages import JOB_MESSAGES, Message
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

#: Keys of documents, each with the version that the document has to have (0: there is no document).
Premises: TypeAlias = tuple[tuple[str, int], ...]

# ---- from a member


class JoinCluster(Message, frozen=True):
    """Newcomer: I want to be a member. ``address``, ``lite``, ``memory`` and ``files``: the fields of my
    :class:`~sqlfront_cluster.members.member_list.MemberInfo`. The keeper answers with the documents and then
    the member list, or with :class:`Removed`."""

    address: str
    lite: bool
    memory: int
    files: FileAccess = EVERYWHERE


class ListAdopted(Message, frozen=True):
    """Member: I use this version of the member list. From a newcomer also: I am connected with all members of
    the list."""

    version: int


class Heartbeat(Message, frozen=True):
    """Member: I am alive. ``sent``: the time by my clock (s), which the answer repeats. ``missing``: members
    that have had no connection to me for longer than the limit."""

    sent: float
    missing: tuple[str, ...] = ()


class Leave(Message, frozen=True):
    """Member: I want to leave; new jobs are to avoid me."""


class Left(Message, frozen=True):
    """Member: my last job has ended, and I end now."""


class Rebalance(Message, frozen=True):
    """Member: assign the partitions anew, so that all members that may own partitions (neither lite nor
    leaving) own equally many."""


class PutDocument(Message, frozen=True):
    """Member: store ``content`` (None: remove the document) under ``key``, if the document's version is
    ``expected`` (0: no such document exists, None: any version), and if other documents, the ``premises``,
    still have the versions given with their keys. ``request``: a number that the answer repeats."""

    request: int
    key: str
    expected: int | None
    content: bytes | None
    premises: Premises = ()


class DocumentsSeen(Message, frozen=True):
    """Member: I have all changes of documents up to this version."""

    version: int


# ---- from the keeper


class MemberListChanged(Message, frozen=True):
    """Keeper: here is a new version of the member list."""

    list: MemberList


class HeartbeatAnswer(Message, frozen=True):
    """Keeper: your heartbeat has arrived; I won't remove you as silent before ``lease`` seconds after
    ``sent``, the time in your heartbeat."""

    sent: float
    lease: float


class LeaveAllowed(Message, frozen=True):
    """Keeper: all members know that you are leaving; you will get no new jobs."""


class Removed(Message, frozen=True):
    """Keeper: you are no member (any more), for this reason."""

    reason: str


class ClusterEnded(Message, frozen=True):
    """Keeper: the cluster has ended, for this reason."""

    reason: str


class DocumentKeys(Message, frozen=True):
    """Keeper: documents exist under exactly these ``keys``, and I have sent you their contents. All changes
    up to ``version`` are included, also removals."""

    keys: tuple[str, ...]
    version: int


class DocumentChanged(Message, frozen=True):
    """Keeper: this is the new content of a document, None = the document was removed. ``version``: the number
    of this change; the changes of all documents are counted together, and arrive in order."""

    key: str
    version: int
    content: bytes | None


class DocumentAnswer(Message, frozen=True):
    """Keeper: the answer to :class:`PutDocument` with the number ``request``. ``stored`` True: every member
    has the change, and ``version`` is the document's new version. ``stored`` False: nothing was changed,
    since the document or a premise (another document) didn't have the version that you expected; ``version``
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
