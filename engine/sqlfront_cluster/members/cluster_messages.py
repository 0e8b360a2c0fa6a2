"""The closed set of messages between members and their keeper.

Heartbeats go only between keeper and members. All other messages are rare: members come and go, documents
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
    """Newcomer: I want to be a member; ``address``, ``lite``, ``memory`` and ``files`` as in
    :class:`~sqlfront_cluster.members.member_list.MemberInfo`. The keeper answers with the documents, then the
    member list, or with :class:`Removed`."""

    address: str
    lite: bool
    memory: int
    files: FileAccess = EVERYWHERE


class ListAdopted(Message, frozen=True):
    """Member: I use this version of the member list. From a newcomer also: I am connected with all members of
    the list."""

    version: int


class Heartbeat(Message, frozen=True):
    """Member: I am alive; ``sent`` (of the sender's clock) comes back with the answer. ``missing``: members
    without a connection to me for longer than the limit."""

    sent: float
    missing: tuple[str, ...] = ()


class Leave(Message, frozen=True):
    """Member: I want to leave; new jobs are to avoid me."""


class Left(Message, frozen=True):
    """Member: my last job has ended; I am gone."""


class Rebalance(Message, frozen=True):
    """Member: give all data members equally many partitions."""


class PutDocument(Message, frozen=True):
    """Member: store a document under the key (``content`` None: remove it), if its version is ``expected``
    (0: no document exists, None: any version), and if each document of ``premises`` has the version given
    there, too. ``request`` comes back with the answer."""

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
    """A new version of the member list."""

    list: MemberList


class HeartbeatAnswer(Message, frozen=True):
    """Keeper: your heartbeat has arrived; you won't be removed as silent within ``lease`` seconds after
    ``sent``."""

    sent: float
    lease: float


class LeaveAllowed(Message, frozen=True):
    """Keeper: all members know of your leaving; no new job will come."""


class Removed(Message, frozen=True):
    """Keeper: you are no member (any more), for this reason."""

    reason: str


class ClusterEnded(Message, frozen=True):
    """Keeper: the cluster ends with me."""

    reason: str


class DocumentKeys(Message, frozen=True):
    """Keeper: documents exist exactly under these keys, and you have their contents. All changes up to
    ``version`` are covered, including removals."""

    keys: tuple[str, ...]
    version: int


class DocumentChanged(Message, frozen=True):
    """Keeper: the new content of a document, None = removed. Versions count the changes of all documents
    together, and changes arrive in order."""

    key: str
    version: int
    content: bytes | None


class DocumentAnswer(Message, frozen=True):
    """Keeper: the answer to :class:`PutDocument`. ``stored`` True: every member has the change, whose version
    is ``version``. ``stored`` False: nothing was changed, since the document, which has the version
    ``version`` (0: there is no document), or one of the premises has not the expected version."""

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
