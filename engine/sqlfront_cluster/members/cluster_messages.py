"""What members and their keeper say to each other: the closed set of messages.

Heartbeats go between keeper and members only. Everything else is rare: members come and go, documents change.
"""

from typing import Final

from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.members.messages import JOB_MESSAGES, Message
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

# ---- from a member


class Join(Message, frozen=True):
    """I want to be a member; ``address``, ``lite``, ``memory`` and ``files`` as in
    :class:`~sqlfront_cluster.members.member_list.MemberInfo`. The answers are the documents, then the
    list."""

    address: str
    lite: bool
    memory: int
    files: FileAccess = EVERYWHERE


class ListAdopted(Message, frozen=True):
    """I use this version of the list. Of somebody who wants to join: I am connected with all of its
    members."""

    version: int


class Heartbeat(Message, frozen=True):
    """I am alive; ``sent`` (of the sender's clock) comes back with the answer. ``missing``: members that I
    haven't been connected with for longer than the limit."""

    sent: float
    missing: tuple[str, ...] = ()


class Leave(Message, frozen=True):
    """I want to leave: new jobs are to avoid me."""


class Left(Message, frozen=True):
    """My last job has ended: I am gone."""


class Rebalance(Message, frozen=True):
    """Give every data member as many partitions as every other one."""


class PutDocument(Message, frozen=True):
    """Store a document under the key (``content`` None: remove it), if its version is ``expected`` (0: there
    is none, None: whatever it is). ``request`` comes back with the answer."""

    request: int
    key: str
    expected: int | None
    content: bytes | None


class DocumentsSeen(Message, frozen=True):
    """I have all changes of documents up to this version."""

    version: int


# ---- from the keeper


class Members(Message, frozen=True):
    """A new version of the member list."""

    list: MemberList


class HeartbeatAnswer(Message, frozen=True):
    """Your heartbeat has arrived: you won't be removed as silent within ``lease`` seconds after it was
    ``sent``."""

    sent: float
    lease: float


class LeaveAllowed(Message, frozen=True):
    """All members know that you are leaving: no new job will come."""


class Removed(Message, frozen=True):
    """You are no member (any more)."""

    reason: str


class ClusterEnded(Message, frozen=True):
    """The keeper ends, and the cluster with it."""

    reason: str


class DocumentKeys(Message, frozen=True):
    """There are documents under these keys and no others; you have been told their contents. That is all
    there is up to ``version``, removals included."""

    keys: tuple[str, ...]
    version: int


class DocumentChanged(Message, frozen=True):
    """A document's new content, None = it is gone. Versions of all documents are counted together, and
    changes come in their order."""

    key: str
    version: int
    content: bytes | None


class DocumentAnswer(Message, frozen=True):
    """The answer to :class:`PutDocument`, sent when every member has the change. ``stored`` False: the
    document has the other ``version`` (0: there is none)."""

    request: int
    stored: bool
    version: int


#: The messages of this module.
CLUSTER_MESSAGES: Final = (
    Join,
    ListAdopted,
    Heartbeat,
    Leave,
    Left,
    Rebalance,
    PutDocument,
    DocumentsSeen,
    Members,
    HeartbeatAnswer,
    LeaveAllowed,
    Removed,
    ClusterEnded,
    DocumentKeys,
    DocumentChanged,
    DocumentAnswer,
)
#: All that members may say to each other: what a transport is made with.
MESSAGES: Final = (*JOB_MESSAGES, *CLUSTER_MESSAGES)
