"""A new keeper takes the place of a former one, in the simulation."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from sqlfront_cluster.members.keeper import recovery, takeover
from sqlfront_cluster.members.keeper.keeper import Keeper
from sqlfront_cluster.members.keeper.known_members import KnownMembers
from sqlfront_cluster.members.keeper.partition_table import deal
from sqlfront_cluster.members.membership.document_copies import DocumentCopies, PutOutcome
from sqlfront_cluster.members.membership.keeper_connection import KeeperConnection
from sqlfront_cluster.members.protocol.applied_changes import AppliedChanges
from sqlfront_cluster.members.protocol.cluster_messages import (
    DocumentAnswer,
    DocumentChanged,
    Report,
    SendAgain,
)
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.keeper_names import KEEPER, keeper_name
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Endless
from tests.cluster.members.keeper_chaos import explore
from tests.cluster.members.kept import Kept, SimulatedTenure
from tests.cluster.members.membership.test_membership import EVERYTHING, exchanged, put
from tests.cluster.seeds import Bug


def succeeded(kept: Kept) -> bool:
    """Whether the present keeper has taken over, and all use its list."""
    return kept.keeper.members.epoch == kept.epoch and kept.agreed()


def replaced(kept: Kept) -> None:
    """The keeper dies, and another one takes over."""
    kept.kill(keeper_name(kept.epoch))
    kept.take_over()
    assert kept.run(lambda: succeeded(kept), 3)


# ---- what survives


@pytest.mark.parametrize("seed", range(4))
def test_members_partitions_documents_and_jobs_survive(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "client", seed=seed)
    put(kept, "m0", "table", b"1", 0)
    before = kept.keeper.members
    job = kept.submit(exchanged(Endless()), "client")
    kept.simulation.pass_time(0.1)
    replaced(kept)

    after = kept.keeper.members
    assert (after.members, after.owners, after.dealt) == (before.members, before.owners, before.dealt)
    assert after.version > before.version and after.accepts(before.version)
    assert {key: each.content for key, each in kept.keeper.documents.items()} == {"table": b"1"}
    assert kept.ends == {}
    job.cancel()
    assert sorted(kept.read(kept.submit(exchanged(), "client"))) == EVERYTHING
    assert put(kept, "m1", "table", b"2", 1) == DocumentAnswer(1, stored=True, version=2**32 + 1, epoch=2)


def test_keepers_may_follow_each_other() -> None:
    kept = Kept("m0", "m1")
    put(kept, "m0", "table", b"1", 0)
    for _ in range(4):
        replaced(kept)
    assert kept.keeper.members.epoch == 5
    assert kept.memberships["m1"].documents["table"].content == b"1"


def test_a_member_that_does_not_report_is_removed_after_the_silence_limit() -> None:
    kept = Kept("m0", "m1", "m2")
    put(kept, "m0", "table", b"1", 0)
    before = kept.keeper.members
    kept.kill(KEEPER)
    kept.kill("m1")
    kept.take_over()
    assert kept.run(lambda: succeeded(kept), 7)

    after = kept.keeper.members
    assert {each.name for each in after.members} == {"m0", "m2"}
    for old, new in zip(before.owners, after.owners, strict=True):
        assert new == old or (old == "m1" and new in ("m0", "m2"))
    assert not after.accepts(before.version)
    assert sorted(kept.read(kept.submit(exchanged(), "m0"))) == EVERYTHING


def test_a_member_that_has_ended_with_the_keeper_is_not_waited_for() -> None:
    kept = Kept("m0", "m1", "m2")
    put(kept, "m0", "table", b"1", 0)
    kept.kill(KEEPER)
    kept.kill("m1")
    kept.take_over("m1")
    assert kept.run(lambda: succeeded(kept), 2)
    assert {each.name for each in kept.keeper.members.members} == {"m0", "m2"}


def test_a_client_without_a_place_outlasts_the_wait_for_a_lost_member() -> None:
    """It has nothing to report, and lived from its last lease meanwhile."""
    kept = Kept("m0", "m1", "m2", "observer")
    kept.kill(KEEPER)
    kept.kill("m1")
    kept.simulation.pass_time(1)
    kept.take_over()
    assert kept.run(lambda: succeeded(kept), 8)
    kept.simulation.pass_time(5)
    assert kept.ends == {}
    assert put(kept, "observer", "table", b"1", 0) == DocumentAnswer(
        1, stored=True, version=2**32 + 1, epoch=2
    )


def test_a_newcomer_joins_the_new_keeper() -> None:
    kept = Kept("m0", "m1")
    kept.kill(KEEPER)
    kept.take_over()
    kept.add("m2")
    assert kept.run(lambda: kept.memberships["m2"].joined and succeeded(kept), 5)
    assert {each.name for each in kept.keeper.members.members} == {"m0", "m1", "m2"}


def test_a_newcomer_waits_until_the_new_keeper_waits_no_longer_for_a_lost_member() -> None:
    kept = Kept("m0", "m1")
    kept.kill(KEEPER)
    kept.kill("m1")
    kept.take_over()
    kept.add("client")
    assert kept.run(lambda: kept.memberships["client"].joined and succeeded(kept), 10)
    assert kept.ends == {}


def test_a_member_that_was_leaving_leaves() -> None:
    kept = Kept("m0", "m1", "m2")
    job = kept.submit(exchanged(Endless()), "m2")
    kept.memberships["m2"].leave()
    kept.simulation.pass_time(1)
    replaced(kept)
    assert "m2" in kept.keeper.members and "m2" not in kept.keeper.members.data_members
    job.cancel()
    assert kept.run(lambda: kept.ends == {"m2": None})
    assert kept.run(lambda: "m2" not in kept.keeper.members and kept.agreed())


def test_without_a_new_keeper_the_members_end_with_their_leases() -> None:
    kept = Kept("m0", "m1")
    kept.kill(KEEPER)
    outcomes: list[PutOutcome] = []
    kept.simulation.pass_time(1)
    kept.memberships["m0"].put(ConditionalChange("table", b"1", 0), outcomes.append)
    assert kept.run(lambda: not kept.alive, 7)
    (error,) = outcomes
    assert isinstance(error, OperationalError) and error.sqlstate == "08006"
    assert "nothing was changed" in str(error)


# ---- changes that are half done


def lose_changes(kept: Kept, but: tuple[str, ...]) -> None:
    """From now on only the members ``but`` hear of changes; the others don't get them again, either."""
    kept.simulation.drop = lambda sender, receiver, message: (
        (isinstance(message, DocumentChanged) and receiver not in but) or isinstance(message, SendAgain)
    )


@pytest.mark.parametrize("writer", ["client", "observer"])
@pytest.mark.parametrize("has_it", [("m0",), ("m1",), ("m0", "m1"), ()])
@pytest.mark.parametrize("writer_has_it", [False, True])
def test_a_change_is_finished_and_answered_once_whoever_had_it(
    has_it: tuple[str, ...], writer: str, *, writer_has_it: bool
) -> None:
    has_it += (writer,) * writer_has_it
    kept = Kept("m0", "m1", writer)
    put(kept, "m0", "table", b"1", 0)
    lose_changes(kept, has_it)
    outcomes: list[PutOutcome] = []
    expected = kept.keeper.documents["table"].version
    kept.memberships[writer].put(ConditionalChange("table", b"2", expected), outcomes.append)
    kept.simulation.pass_time(0.5)
    assert not outcomes or len(has_it) == 3, "an answer, though somebody does not have the change"
    kept.simulation.drop = lambda sender, receiver, message: False
    replaced(kept)

    assert kept.run(lambda: len(outcomes) == 1, 2)
    assert isinstance(outcomes[0], DocumentAnswer) and outcomes[0].stored
    assert kept.run(
        lambda: all(
            each.documents["table"].content == b"2" and each.documents["table"].version == outcomes[0].version
            for each in kept.memberships.values()
            if isinstance(outcomes[0], DocumentAnswer)
        ),
        1,
    )


def test_a_change_that_only_a_client_without_a_place_has_is_kept() -> None:
    """Somebody may have read it there: the writer was told that it was not made."""
    kept = Kept("m0", "m1", "observer")
    put(kept, "m0", "table", b"1", 0)
    lose_changes(kept, ("observer",))
    outcomes: list[PutOutcome] = []
    expected = kept.keeper.documents["table"].version
    kept.memberships["m0"].put(ConditionalChange("table", b"2", expected), outcomes.append)
    kept.simulation.pass_time(0.5)
    kept.simulation.drop = lambda sender, receiver, message: False
    replaced(kept)
    assert kept.run(lambda: len(outcomes) == 1, 2)
    assert isinstance(outcomes[0], DocumentAnswer) and outcomes[0].stored
    assert kept.keeper.documents["table"].content == b"2"


def test_a_client_without_a_place_ends_with_the_last_member() -> None:
    kept = Kept("m0", "observer")
    kept.kill(KEEPER)
    kept.kill("m0")
    kept.take_over()
    assert kept.run(lambda: "observer" in kept.ends, 7)


def test_a_change_that_waits_for_a_keeper_is_made_by_the_next_one() -> None:
    kept = Kept("m0", "m1")
    kept.kill(KEEPER)
    kept.simulation.pass_time(0.1)
    outcomes: list[PutOutcome] = []
    kept.memberships["m0"].put(ConditionalChange("table", b"1", 0), outcomes.append)
    kept.simulation.pass_time(0.5)
    assert not outcomes
    kept.take_over()
    assert kept.run(lambda: bool(outcomes), 3)
    assert isinstance(outcomes[0], DocumentAnswer) and outcomes[0].stored


# ---- the former keeper


def test_a_former_keeper_that_wakes_up_decides_nothing() -> None:
    kept = Kept("m0", "m1", "client")
    put(kept, "m0", "table", b"1", 0)
    former = kept.keeper
    # These are in its sockets when it goes on.
    kept.memberships["client"].put(ConditionalChange("table", b"2", 1), lambda outcome: None)
    kept.pause(KEEPER, 9)
    kept.simulation.pass_time(2.5)
    kept.take_over()
    assert kept.run(lambda: succeeded(kept), 2)
    content = kept.keeper.documents
    kept.said.clear()
    kept.simulation.pass_time(20)

    assert not [message for sender, _, message in kept.said if sender == KEEPER]
    assert kept.keeper.documents == content
    assert kept.ends == {} and kept.agreed()
    assert not former._confirm()


def test_a_keeper_that_cannot_find_out_whether_it_was_followed_says_nothing_until_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = Kept("m0", "m1")

    def fail(self: SimulatedTenure) -> bool:
        raise OSError("the store doesn't answer")

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedTenure, "is_held", fail)
        kept.simulation.pass_time(1.1)
        kept.said.clear()
        kept.simulation.pass_time(2)
        assert not [message for sender, _, message in kept.said if sender == KEEPER]
    kept.simulation.pass_time(20)
    assert kept.ends == {} and kept.agreed()
    kept.kill("m1")  # it still looks after its members
    assert kept.run(lambda: "m1" not in kept.keeper.members, 8)


def test_members_ignore_messages_of_lower_epochs() -> None:
    kept = Kept("m0", "m1")
    replaced(kept)
    membership = kept.memberships["m0"]
    keeper = membership.keeper.peer
    assert keeper is not None
    for epoch, heard in ((1, None), (2, b"x")):
        membership.received(keeper, DocumentChanged("k", 2**32 + 1, b"x", epoch=epoch), None)
        found = membership.documents.get("k")
        assert (found.content if found is not None else None) == heard


@pytest.mark.parametrize("seed", range(4))
def test_the_lease_that_a_new_keeper_gives_ends_before_the_removal(seed: int) -> None:
    """The lease was looked at once in a heartbeat period only, up to a period after its end."""
    kept = Kept("m0", "m1", seed=seed)
    replaced(kept)
    kept.simulation.blocked.add(frozenset(("m1", keeper_name(2))))
    kept.simulation.cut("m1", keeper_name(2))
    assert kept.run(lambda: "m1" in kept.ends)
    assert "m1" in kept.keeper.members


# ---- reports


def _report(version: int, names: str, seen: int, epoch: int = 1) -> Report:
    members = tuple(map(MemberInfo, names.split()))
    return Report(MemberList(version, members, (), epoch=epoch), version, seen)


def test_the_state_is_that_of_the_member_with_most_changes_in_the_latest_list() -> None:
    reports = {"a": _report(7, "a b", 4), "b": _report(6, "a b c", 5), "c": _report(6, "a b c", 9)}
    found = recovery.recovered(reports)
    assert (found.list.version, found.reporter, found.version) == (7, "b", 5)


def test_a_list_of_a_later_epoch_is_later_whatever_its_version() -> None:
    reports = {"a": _report(3, "a", 4, epoch=2), "b": _report(9, "a b", 8)}
    assert recovery.recovered(reports).list.epoch == 2
    assert recovery.recovered(reports).reporter == "a"


# ---- random keepers


def test_random_losses_of_keepers() -> None:
    count, total = explore(range(150))
    assert count == 150
    assert total.takeovers > 200 and total.made > 1000


def least_changes(reports: Mapping[str, Report]) -> recovery.Recovered:
    found = recovery.recovered(reports)
    fewest = min((name for name in reports if name in found.list), key=lambda name: reports[name].seen)
    return replace(found, reporter=fewest, version=reports[fewest].seen)


def all_dealt_anew(*arguments: Any, original: Any = takeover.first_list, **named: Any) -> MemberList:
    made: MemberList = original(*arguments, **named)
    names = [each.name for each in made.members if not each.lite]
    return replace(made, owners=deal(names[::-1], len(made.owners)))


def former_kept(self: KeeperConnection, peer: Any, original: Any = KeeperConnection.meet) -> None:
    """The former keeper's messages count as well."""
    original(self, peer)


PLANTED: list[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("half-done changes are lost", lambda patch: patch.setattr(takeover, "recovered", least_changes)),
    ("partitions are dealt anew", lambda patch: patch.setattr(takeover, "first_list", all_dealt_anew)),
    ("requests are carried out twice", lambda patch: patch.setattr(AppliedChanges, "find", lambda *_: None)),
    (
        "lower epochs are accepted",
        lambda patch: (
            patch.setattr(KeeperConnection, "is_from_keeper", lambda *_: True),
            patch.setattr(KeeperConnection, "meet", former_kept),
            patch.setattr(Keeper, "_confirm", lambda self: not self._closed),
        )[0],
    ),
    (
        "versions begin anew",
        lambda patch: patch.setattr(takeover, "first_version", lambda epoch, latest: max(1, latest - 3)),
    ),
    (
        "gaps in the changes are ignored",
        lambda patch: patch.setattr(DocumentCopies, "has", lambda self, version: self._synced),
    ),
    (
        "documents lost on their way to a new keeper are gone",
        lambda patch: patch.setattr(recovery, "complete", lambda come, versions: dict(come)),
    ),
    ("nothing is sent again", lambda patch: patch.setattr(DocumentCopies, "compare", lambda *_, **__: None)),
]


@pytest.mark.parametrize(("name", "plant"), PLANTED, ids=[name for name, _ in PLANTED])
def test_planted_bugs_are_found(
    name: str, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(Bug):
        explore(range(1000))


@pytest.mark.parametrize("has_it", [(), ("m1",)])
def test_an_answer_before_others_have_the_change_is_found(
    has_it: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnownMembers, "seen", lambda self, latest, writer: latest)
    with pytest.raises(AssertionError, match="somebody does not have the change"):
        test_a_change_is_finished_and_answered_once_whoever_had_it(has_it, "client", writer_has_it=True)


def test_a_writer_without_its_change_gets_no_answer() -> None:
    """An answer without the change before it is not given to whoever has asked for the change."""
    kept = Kept("m0", "m1", "client")
    lose_changes(kept, ("m0", "m1"))
    outcomes: list[PutOutcome] = []
    kept.memberships["client"].put(ConditionalChange("table", b"1", 0), outcomes.append)
    kept.simulation.pass_time(0.5)

    assert not outcomes
