"""The state of a cluster whose keeper has gone, found from the reports of the members.

**The member list** is the latest one that a reporting member has received. **The documents** are those of the
reporting member of that list which has seen most changes; clients without a place in the list count as
members here. That is right, because

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

from sqlfront_cluster.members.protocol.cluster_messages import DocumentCopy, JoinCluster, Report
from sqlfront_cluster.members.protocol.document import Document, complete
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.network.transport import Peer

#: Bits of a version below the epoch: versions of a new keeper are above all versions of the former keepers,
#: also those that no reporting member knows.
_VERSION_BITS = 32


class Recovered(msgspec.Struct, frozen=True):
    """The state with which a new keeper begins. ``list``: the latest member list of the former keeper.
    ``reporter``: the member or client whose documents are taken. ``version``: the number of the last change
    that it has seen. ``removed``: names of former members. ``clients``: the names of the clients without a
    place in the list that every reporting member knows: a client which a member takes for gone may not go on,
    since its writes were given up there."""

    list: MemberList
    reporter: str
    version: int
    removed: tuple[str, ...]
    clients: tuple[str, ...] = ()


def recovered(reports: Mapping[str, Report]) -> Recovered:
    """Return the state that follows from the reports, by the names of members and clients; at least one is of
    a member of the latest list."""
    latest = latest_list(reports)
    listed = {name: report for name, report in reports.items() if name in latest}
    known = frozenset.intersection(*(frozenset(report.clients) for report in listed.values()))
    present = {name: report for name, report in reports.items() if name in listed or name in known}
    reporter = max(present, key=lambda name: present[name].seen)
    removed = {name: None for report in reports.values() for name in report.removed}
    gone = tuple(name for name in removed if name not in latest)
    return Recovered(latest, reporter, present[reporter].seen, gone, tuple(sorted(known)))


def latest_list(reports: Mapping[str, Report]) -> MemberList:
    """Return the latest member list of the reports (at least one)."""
    return max((report.list for report in reports.values()), key=_order)


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
        # When each process was asked last (s, of the keeper's clock).
        self._asked: dict[str, float] = {}

    def ask(self, peer: Peer, now: float) -> None:
        """Begin the report of a member that is asked for it at the time ``now`` (s, the keeper's clock)."""
        self._copies[peer.name] = {}
        self.peers[peer.name] = peer
        self._asked[peer.name] = now

    def lacks(self, name: str, since: float) -> bool:
        """Return whether the process was asked before the time ``since``, and its report has not come, or
        without some of its documents: a message got lost."""
        return name not in self.reports and name not in self.newcomers and self._asked[name] < since

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
                documents = complete(self._copies.pop(name, {}), message.versions)
                if documents is not None:  # else the member is asked again
                    self.reports[name] = message
                    self.documents[name] = documents

    def knows(self, name: str) -> bool:
        """Return whether the process has asked to join, or is a member or client that has reported or of
        which others have. Without the report of a member there is no cluster to go on with."""
        if name in self.newcomers:
            return True
        return self.begun and (
            name in self.reports or any(name in report.clients for report in self.reports.values())
        )

    def lost(self, peer: Peer) -> None:
        """Note that the connection has ended; the report of the member stays, a newcomer must ask again."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
        if self.newcomers.get(peer.name, (None,))[0] is peer:
            del self.newcomers[peer.name]

    @property
    def begun(self) -> bool:
        """True if a member of the latest list has reported."""
        return bool(self.reports) and any(
            each.name in self.reports for each in latest_list(self.reports).members
        )

    @property
    def complete(self) -> bool:
        """True if all members of the latest list have reported, except those that ask to join or have ended,
        and so will not report; and all clients without a place in the list."""
        if not self.begun:
            return False
        found = recovered(self.reports)
        awaited = (*(each.name for each in found.list.members), *found.clients)
        here = (self.reports.keys(), self.newcomers.keys(), self._ended)
        return all(any(name in names for names in here) for name in awaited)
