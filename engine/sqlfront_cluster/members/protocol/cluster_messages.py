"""All messages between members and their keeper.

Each class's docstring names the sender and says what the message tells the receiver. Only heartbeats are
frequent; the other messages come when members come or go, and when documents change. Every message of a
keeper carries the keeper's epoch, so that members ignore a former keeper.
"""

from typing import Final, TypeAlias

from msgspec import field

from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import JOB_MESSAGES, Message
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

#: Heartbeats within the silence limit: so many messages in a row have to be late before a member is given up.
BEATS: Final = 5
#: A change of a document that was made: the writer, the number of the writer's request, and the version.
AppliedChange: TypeAlias = tuple[str, int, int]

# ---- from a member


class JoinCluster(Message, frozen=True):
    """A newcomer's request to become a member. ``address``, ``lite``, ``memory`` and ``files``: the fields of
    the newcomer's :class:`~sqlfront_cluster.members.protocol.member_list.MemberInfo`. The keeper answers with
    the documents and then the member list, or with :class:`Removed`. ``observes``: the sender is a client
    that only gets the documents and the member list, and their changes, without a place in the list."""

    address: str
    lite: bool
    memory: int
    files: FileAccess = EVERYWHERE
    observes: bool = False


class ListAdopted(Message, frozen=True):
    """A member's message that it uses the member list of this version. If it comes from a newcomer, the
    newcomer is also connected with all members of the list."""

    version: int


class Heartbeat(Message, frozen=True):
    """A member's message that it is alive. ``sent``: the time by the member's clock, in seconds, which the
    answer repeats. ``missing``: the members that have had no connection to the sender for longer than the
    limit. ``seen`` and ``adopted``: the versions in the member's last :class:`DocumentsSeen` and
    :class:`ListAdopted`, which may have been lost; None = it has used no list yet."""

    sent: float
    missing: tuple[str, ...] = ()
    seen: int = 0
    adopted: int | None = None


class SendAgain(Message, frozen=True):
    """A member's request for all documents and the member list, since a message of the keeper got lost
    although the connection holds."""


class HandOver(Message, frozen=True):
    """A member's message that it is about to leave, so that other members get its partitions while jobs
    still read the rows that it holds. ``ends``: True if the member stays after all, so that it gets its share
    of the partitions again. The keeper doesn't mark the only member to which other members hand over."""

    ends: bool = False


class Leave(Message, frozen=True):
    """A member's message that it wants to leave, so that new jobs avoid it. ``list_version``: the keeper does
    nothing if the member list has another version by now, None = whichever version it has."""

    list_version: int | None = None


class Left(Message, frozen=True):
    """The last message of a member that leaves: its last job has ended, and it ends now."""


class Rebalance(Message, frozen=True):
    """A member's request to assign the partitions anew, so that all members that may own partitions (neither
    lite nor leaving) own equally many."""


class PutDocument(Message, frozen=True):
    """A member's request to make a change of a document. ``request``: a number that the answer repeats; the
    member's numbers increase. A member sends an unanswered request again after each new connection, and a
    request that was carried out isn't carried out again. ``oldest``: the number of the member's oldest
    unanswered request."""

    request: int
    change: ConditionalChange
    oldest: int = 0


class DocumentsSeen(Message, frozen=True):
    """A member's message that it has all changes of documents up to this version. It comes after each change
    except those that the member itself has asked for, which it gets before the answer."""

    version: int


class Report(Message, frozen=True):
    """A member's answer to the :class:`Inquiry` of a new keeper, after a :class:`DocumentCopy` of each of the
    member's documents (``versions`` by key). ``list``: the latest member list that the member has
    received. ``adopted``: the version of the list that it uses. ``seen``: the version up to which it has all
    changes of documents. ``applied``: the changes that may still be asked for again. ``removed``: the names
    of former members. ``clients``: the names of the clients without a place in the list."""

    list: MemberList
    adopted: int
    seen: int
    applied: tuple[AppliedChange, ...] = ()
    removed: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    versions: dict[str, int] = field(default_factory=dict)


# ---- from the keeper


class KeeperMessage(Message, frozen=True, kw_only=True):
    """The base class of the keeper's messages. ``epoch``: the keeper's epoch. Each keeper of a cluster has a
    higher epoch than the keepers before, and members ignore messages of lower epochs."""

    epoch: int = 1


class Inquiry(KeeperMessage, frozen=True):
    """The first message of a keeper that takes the place of a former one: a member answers with a
    :class:`Report`, a newcomer with :class:`JoinCluster`. A keeper that has all reports goes on with a
    :class:`DocumentKeys` and a new list. Any keeper sends an Inquiry to a newcomer whose JoinCluster was
    lost."""


class DocumentCopy(KeeperMessage, frozen=True):
    """A document in the sender's present version, from the keeper before :class:`DocumentKeys`, or from a
    member before :class:`Report` (then without an epoch)."""

    key: str
    version: int
    content: bytes


class MemberListChanged(KeeperMessage, frozen=True):
    """The keeper's message with a new version of the member list. ``documents``: the number of the last
    change of documents before; a member without that change does not use the list."""

    list: MemberList
    documents: int = 0


class ClientsChanged(KeeperMessage, frozen=True):
    """The keeper's message about the clients without a place in the member list. ``names``: those that have
    come, or with ``gone`` those that have gone. ``version``: the number of this change, which is counted
    together with the changes of documents."""

    names: tuple[str, ...]
    version: int
    gone: bool = False


class HeartbeatAnswer(KeeperMessage, frozen=True):
    """The keeper's answer to a heartbeat: it won't remove the member as silent before ``lease`` seconds have
    passed since ``sent``, the time in the heartbeat. ``documents`` and ``list_version``: the number of the
    last change of documents, and the version of the latest list, so that a member finds out whether a message
    with one of them got lost; None = a new keeper still asks the members."""

    sent: float
    lease: float
    documents: int | None = None
    list_version: int = 0


class LeaveAllowed(KeeperMessage, frozen=True):
    """The keeper's message to a member that wants to leave: all members know that it is leaving, and it will
    get no new jobs."""


class Removed(KeeperMessage, frozen=True):
    """The keeper's message that the receiver is no member (any more), with the ``reason``."""

    reason: str


class ClusterEnded(KeeperMessage, frozen=True):
    """The keeper's message that the cluster has ended, with the ``reason``."""

    reason: str


class DocumentKeys(KeeperMessage, frozen=True):
    """The keeper's message that exactly these documents exist (``versions`` by key), after it has sent a
    :class:`DocumentCopy` of each, and exactly these ``clients`` without a place in the member list. All
    changes up to ``version`` are included, also removals. ``applied``: the changes that their writers may ask
    for again."""

    versions: dict[str, int]
    version: int
    clients: tuple[str, ...] = ()
    applied: tuple[AppliedChange, ...] = ()


class DocumentChanged(KeeperMessage, frozen=True):
    """The keeper's message with the new content of a document, None if the document was removed. ``version``:
    the number of this change; the changes of all documents, and of the clients, are counted together, and
    arrive in order and without a gap, unless one got lost.
    ``writer``: the member that asked for the change, with the fields ``request`` and ``oldest`` of its
    :class:`PutDocument`."""

    key: str
    version: int
    content: bytes | None
    writer: str = ""
    request: int = 0
    oldest: int = 0


class DocumentAnswer(KeeperMessage, frozen=True):
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
    SendAgain,
    HandOver,
    Leave,
    Left,
    Rebalance,
    PutDocument,
    DocumentsSeen,
    Report,
    Inquiry,
    DocumentCopy,
    MemberListChanged,
    ClientsChanged,
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
