"""The beginning of a keeper that follows another one: its first state, from the reports of the members."""

import logging
from collections.abc import Container

import msgspec

from sqlfront_cluster.members.keeper.keeper_documents import KeeperDocuments
from sqlfront_cluster.members.keeper.known_members import KnownMember, KnownMembers
from sqlfront_cluster.members.keeper.list_changes import pass_on
from sqlfront_cluster.members.keeper.recovery import Recovered, Recovery, first_version, recovered
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList

logger = logging.getLogger(__name__)


class TakenOver(msgspec.Struct, frozen=True):
    """The state with which a keeper goes on that follows another one. ``members``: its first member list.
    ``known``: its records of members and clients, by name. ``removed``: names of removed members, each with
    the reason."""

    members: MemberList
    documents: KeeperDocuments
    known: KnownMembers
    removed: dict[str, str]


def take_over(recovery: Recovery, epoch: int, now: float) -> TakenOver:
    """Return the state that the reports (at least one) show, without the members that have not reported.
    ``epoch``: the new keeper's. ``now``: the time of its clock (s)."""
    found = recovered(recovery.reports)
    documents = KeeperDocuments(
        recovery.documents[found.reporter],
        first_version(epoch, found.version),
        recovery.reports[found.reporter].applied,
    )
    known = _known(recovery, found, epoch, now)
    removed = dict.fromkeys(found.removed, "it was removed by a former keeper")
    for each in found.list.members:
        if each.name not in known:
            removed[each.name] = f"member {each.name} was removed: it didn't answer the new keeper"
            logger.warning("%s", removed[each.name])
    members = first_list(found.list, known, epoch, with_documents=bool(documents.contents))
    documents.keep_only(known)
    return TakenOver(members, documents, known, removed)


def _known(recovery: Recovery, found: Recovered, epoch: int, now: float) -> KnownMembers:
    known = KnownMembers()
    for info in found.list.members:
        report = recovery.reports.get(info.name)
        if report is not None:
            known[info.name] = KnownMember(
                info,
                recovery.peers.get(info.name),
                now,
                joined=True,
                adopted=report.adopted,
                seen=report.seen,
                leaves_with=first_version(epoch, found.list.version) if info.leaving else None,
            )
    for name in found.clients:
        report = recovery.reports.get(name)
        if report is not None:  # another one may have read what nobody else has
            info, peer = MemberInfo(name, lite=True), recovery.peers.get(name)
            known[name] = KnownMember(info, peer, now, joined=True, observes=True, seen=report.seen)
    return known


def first_list(
    latest: MemberList, present: Container[str], epoch: int, *, with_documents: bool
) -> MemberList:
    """Return the first list of the keeper of ``epoch``: the ``latest`` one of the former keeper without the
    members that are not ``present``, whose partitions go to others. ``with_documents``: whether there are any
    documents, hence tables that lose rows."""
    members = tuple(each for each in latest.members if each.name in present)
    lost = [each for each in latest.members if each.name not in present]
    owners = latest.owners
    for each in lost:
        owners = pass_on(owners, each.name, members)
    moved = with_documents and owners != latest.owners
    invalid = moved or any(not each.lite for each in lost)
    version = first_version(epoch, latest.version)
    return latest.followed_by(version, members, owners, epoch, invalidate=invalid)
