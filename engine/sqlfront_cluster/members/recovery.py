"""The state of a cluster whose keeper has gone, found from the reports of the members.

**The member list** is the latest one that a reporting member has received. **The documents** are those of the
reporting member of that list which has seen most changes. That is right, because

* every keeper counts its changes together and sends them in order, so that what one member has is the
  beginning of what another one has;
* a change is answered only when every member of the list has it. So each reporting member has every answered
  change, and the member with most changes has them all;
* each change that any reporting member has is kept: somebody may have read it. It is finished, since all
  members get it from the new keeper.

A change that no reporting member has was not answered, and its writer asks for it again.
"""

from collections.abc import Mapping

import msgspec

from sqlfront_cluster.members.cluster_messages import DocumentCopy, JoinCluster, Report
from sqlfront_cluster.members.document import Document
from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.network.transport import Peer

#: Bits of a version below the epoch: versions of a new keeper are above all versions of the former keepers,
#: also those that no reporting member knows.
_VERSION_BITS = 32


class Recovered(msgspec.Struct, frozen=True):
    """The state with which a new keeper begins. ``list``: the latest member list of the former keeper.
    ``reporter``: the member whose documents are taken. ``version``: the number of the last change that this
    member has seen. ``removed``: names of former members. ``clients``: the names of the clients without a
    place in the list that every reporting member knows: a client which a member takes for gone may not go on,
    since its writes were given up there."""

    list: MemberList
    reporter: str
    version: int
    removed: tuple[str, ...]
    clients: tuple[str, ...] = ()


def recovered(reports: Mapping[str, Report]) -> Recovered:
    """Return the state that follows from the reports (at least one), by the members' names."""
    latest = max((report.list for report in reports.values()), key=_order)
    listed = {name: report for name, report in reports.items() if name in latest}
    reporter = max(listed, key=lambda name: listed[name].seen)
    removed = {name: None for report in reports.values() for name in report.removed}
    gone = tuple(name for name in removed if name not in latest)
    known = frozenset.intersection(*(frozenset(report.clients) for report in listed.values()))
    return Recovered(latest, reporter, listed[reporter].seen, gone, tuple(sorted(known)))


def _order(members: MemberList) -> tuple[int, int]:
    return members.epoch, members.version


def first_version(epoch: int, latest: int) -> int:
    """Return the first version that the keeper of ``epoch`` gives, above ``latest``, the latest one known.

    >>> first_version(1, 6), first_version(2, 6), first_version(2, 2**32 + 5)
    (7, 4294967296, 4294967302)
    """
    return max(latest + 1, (epoch - 1) << _VERSION_BITS)


class Recovery:
    """The reports that a new keeper has received so far. ``deadline``: the time until which it waits for
    members that don't report (s, of the keeper's clock). ``ended``: members that are known to have ended, so
    that they won't report."""

    def __init__(self, deadline: float, ended: frozenset[str] = frozenset()) -> None:
        self.deadline = deadline
        self._ended = ended
        self.reports: dict[str, Report] = {}
        self.peers: dict[str, Peer] = {}
        self.documents: dict[str, dict[str, Document]] = {}
        #: The processes that ask to join meanwhile, by name.
        self.newcomers: dict[str, tuple[Peer, JoinCluster]] = {}
        self._copies: dict[str, dict[str, Document]] = {}

    def ask(self, peer: Peer) -> None:
        """Begin the report of a newly connected member from its start."""
        self._copies[peer.name] = {}
        self.peers[peer.name] = peer

    def hear(self, peer: Peer, message: msgspec.Struct) -> None:
        """Take one document of a member, its report, which follows the documents, or a newcomer's request to
        join. Members repeat at the recovery's end whatever else counts."""
        name = peer.name
        match message:
            case JoinCluster():
                self.newcomers[name] = peer, message
            case DocumentCopy():
                document = Document(message.version, message.content)
                self._copies.setdefault(name, {})[message.key] = document
            case Report():
                self.reports[name] = message
                self.documents[name] = self._copies.pop(name, {})

    def knows(self, name: str) -> bool:
        """Return whether the member has reported, or has asked to join; or whether it is a client without a
        place in the list, which has nothing to report, of a member that has reported."""
        if name in self.reports or name in self.newcomers:
            return True
        return any(name in report.clients for report in self.reports.values())

    def lost(self, peer: Peer) -> None:
        """Note that the connection has ended; the report of the member stays, a newcomer must ask again."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
        if self.newcomers.get(peer.name, (None,))[0] is peer:
            del self.newcomers[peer.name]

    @property
    def complete(self) -> bool:
        """True if all members of the latest list have reported, except those that ask to join or have ended,
        and so will not report."""
        if not self.reports:
            return False
        latest = recovered(self.reports).list
        return all(self.knows(each.name) or each.name in self._ended for each in latest.members)
