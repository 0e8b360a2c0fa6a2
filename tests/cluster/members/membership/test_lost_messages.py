"""Single messages between members and keeper that get lost although the connection holds: a change that is
told as made is on all members, every wait ends, and what was told as not made is never made."""

from collections.abc import Callable

import msgspec
import pytest

from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.cluster_messages import (
    ClientsChanged,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    JoinCluster,
    Leave,
    LeaveAllowed,
    Left,
    ListAdopted,
    MemberListChanged,
    PutDocument,
    SendAgain,
)
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from tests.cluster.members.kept import Kept

Lost = tuple[type[msgspec.Struct], str]


def lose(kept: Kept, *lost: Lost) -> list[Lost]:
    """Lose the next message of each type from or to the process named; returns those that are not lost
    yet."""
    left = list(lost)

    def drops(sender: str, receiver: str, message: msgspec.Struct) -> bool:
        for name in (sender, receiver):
            if (type(message), name) in left:
                left.remove((type(message), name))
                return True
        return False

    kept.simulation.drop = drops
    return left


def begin_put(kept: Kept, at: str, content: bytes, expected: int) -> list[PutOutcome]:
    outcomes: list[PutOutcome] = []
    kept.memberships[at].put(ConditionalChange("table", content, expected), outcomes.append)
    return outcomes


def contents(kept: Kept) -> set[bytes]:
    return {each.documents["table"].content for each in kept.memberships.values()}


@pytest.mark.parametrize(
    "lost",
    [
        (PutDocument, "client"),
        (DocumentChanged, "client"),
        (DocumentAnswer, "client"),
        (DocumentChanged, "m0"),
        (DocumentChanged, "observer"),
        (DocumentsSeen, "m1"),
    ],
    ids=lambda lost: f"{lost[0].__name__}-{lost[1]}",
)
def test_a_change_of_which_a_message_is_lost_is_answered_within_seconds(lost: Lost) -> None:
    kept = Kept("m0", "m1", "client", "observer")
    left = lose(kept, lost)
    outcomes = begin_put(kept, "client", b"1", 0)

    assert kept.run(lambda: bool(outcomes), 3)
    assert not left
    version = kept.keeper.documents["table"].version
    assert outcomes == [DocumentAnswer(1, stored=True, version=version)]
    assert contents(kept) == {b"1"}
    kept.simulation.pass_time(3)
    assert len(outcomes) == 1


def test_a_change_is_not_told_as_made_to_anybody_while_a_member_lacks_it() -> None:
    """A member without the first change got the second one, and the keeper took both for seen."""
    kept = Kept("m0", "m1", "client")
    lose(kept, (DocumentChanged, "m1"))
    first = begin_put(kept, "client", b"1", 0)
    kept.simulation.pass_time(0.1)
    second: list[PutOutcome] = []
    kept.memberships["m0"].put(ConditionalChange("view", b"2", 0), second.append)

    assert kept.run(lambda: bool(first), 3)
    assert contents(kept) == {b"1"}
    assert kept.run(lambda: bool(second), 1)


@pytest.mark.parametrize("is_lost", [False, True], ids=["comes", "comes-again"])
def test_a_heartbeat_tells_of_a_change_once_the_watchers_have_heard_of_it(is_lost: bool) -> None:
    """Another thread sends heartbeats: the writer was told before sessions of the member had the change."""
    kept = Kept("m0", "client")
    membership = kept.memberships["m0"]
    told: list[int] = []
    membership.watchers.append(lambda key: told.append(membership.keeper.heartbeat().seen))
    lose(kept, *[(DocumentChanged, "m0")] * is_lost)
    outcomes = begin_put(kept, "client", b"1", 0)

    assert kept.run(lambda: bool(outcomes), 3)
    assert told == [0]
    assert membership.keeper.heartbeat().seen == 1


def test_a_refusal_that_is_lost_comes_again() -> None:
    kept = Kept("m0", "m1")
    left = lose(kept, (DocumentAnswer, "m1"))
    outcomes = begin_put(kept, "m1", b"1", 7)

    assert kept.run(lambda: bool(outcomes), 3)
    assert not left
    assert outcomes == [DocumentAnswer(1, stored=False, version=0)]


@pytest.mark.parametrize(
    "lost",
    [
        [(SendAgain, "m1")],
        [(DocumentCopy, "m1")],
        [(DocumentKeys, "m1")],
        [(DocumentCopy, "m1"), (SendAgain, "m1")],
        [(DocumentKeys, "m1"), (DocumentCopy, "m1")],
    ],
    ids=lambda lost: "-".join(kind.__name__ for kind, _ in lost),
)
def test_the_repetition_may_get_lost_too(lost: list[Lost]) -> None:
    kept = Kept("m0", "m1", "client")
    begin_put(kept, "client", b"1", 0)
    kept.simulation.pass_time(0.5)
    left = lose(kept, (DocumentChanged, "m1"), *lost)
    outcomes = begin_put(kept, "client", b"2", 1)

    assert kept.run(lambda: bool(outcomes), 6)
    assert not left
    assert contents(kept) == {b"2"}


@pytest.mark.parametrize("kind", [DocumentCopy, DocumentKeys, MemberListChanged, ListAdopted])
def test_a_newcomer_joins_with_all_documents_whatever_is_lost(kind: type[msgspec.Struct]) -> None:
    kept = Kept("m0")
    begin_put(kept, "m0", b"1", 0)
    kept.simulation.pass_time(0.5)
    left = lose(kept, (kind, "m1"))
    newcomer = kept.add("m1")
    had = list[bool]()
    newcomer.list_watchers.append(lambda: had.append("table" in newcomer.documents))

    assert kept.run(lambda: newcomer.joined and kept.agreed(), 5)
    assert not left
    assert had and all(had)


@pytest.mark.parametrize("name", ["m1", "client", "observer"])
@pytest.mark.parametrize("takes_over", [False, True])
def test_a_newcomer_joins_although_its_request_is_lost(name: str, *, takes_over: bool) -> None:
    kept = Kept("m0")
    if takes_over:
        kept.kill(KEEPER)
        kept.take_over()
    left = lose(kept, (JoinCluster, name))
    newcomer = kept.add(name)

    assert kept.run(lambda: newcomer.joined and kept.agreed(), 8)
    assert not left
    assert kept.run(lambda: kept.memberships["m0"].is_present(name), 1)
    kept.simulation.pass_time(3)
    assert not kept.ends


@pytest.mark.parametrize("kind", [MemberListChanged, ListAdopted])
def test_all_members_use_a_list_that_was_lost(kind: type[msgspec.Struct]) -> None:
    kept = Kept("m0", "m1")
    left = lose(kept, (kind, "m0"))
    kept.add("m2")
    assert kept.run(lambda: "m2" in kept.memberships["m0"].member.members, 3)
    assert not left
    kept.memberships["m2"].leave()
    assert kept.run(lambda: "m2" in kept.ends, 3)


@pytest.mark.parametrize("name", ["m1", "client", "observer"])
@pytest.mark.parametrize("kind", [Leave, LeaveAllowed, Left])
def test_a_member_leaves_whatever_is_lost(kind: type[msgspec.Struct], name: str) -> None:
    kept = Kept("m0", "m1", "client", "observer")
    left = lose(kept, (kind, name))
    kept.memberships[name].leave()

    assert kept.run(lambda: kept.ends == {name: None}, 4)
    assert not left
    assert kept.run(lambda: name not in kept.keeper.members and kept.agreed(), 1)


def test_a_client_that_comes_or_goes_is_known_whatever_is_lost() -> None:
    kept = Kept("m0", "m1")
    membership = kept.memberships["m0"]
    left = lose(kept, (ClientsChanged, "m0"))
    kept.add("observer")
    assert kept.run(lambda: membership.is_present("observer"), 3)
    assert not left

    left = lose(kept, (ClientsChanged, "m0"))
    kept.memberships["observer"].leave()
    assert kept.run(lambda: not membership.is_present("observer"), 3)
    assert not left


def test_a_change_is_not_known_before_the_client_that_has_made_it() -> None:
    """A member freed the shares of a client's version, since nobody had told it of the client."""
    kept = Kept("m0", "m1")
    left = lose(kept, (ClientsChanged, "m0"))
    membership = kept.memberships["m0"]
    was_present = list[bool]()
    membership.watchers.append(lambda key: was_present.append(membership.is_present("observer")))
    kept.add("observer")
    outcomes = begin_put(kept, "observer", b"1", 0)

    assert kept.run(lambda: bool(outcomes and was_present), 3)
    assert not left
    assert was_present == [True]


def test_a_list_is_not_used_before_the_changes_that_came_before_it() -> None:
    kept = Kept("m0", "m1", "m2")
    lose(kept, (DocumentChanged, "m1"))
    outcomes = begin_put(kept, "m0", b"1", 0)
    kept.simulation.pass_time(0.1)
    kept.keeper.remove("m2", "for the test")
    membership = kept.memberships["m1"]
    had = list[bool]()
    membership.list_watchers.append(lambda: had.append("table" in membership.documents))

    assert kept.run(lambda: bool(had and outcomes), 3)
    assert all(had)


def test_without_losses_nothing_is_sent_twice() -> None:
    kept = Kept("m0", "m1", "client", "observer")
    version = 0
    for number in range(20):
        outcomes = begin_put(kept, "client", b"%d" % number, version)
        kept.simulation.pass_time(0.7)
        assert len(outcomes) == 1
        version = kept.keeper.documents["table"].version
    counted: Callable[[type[msgspec.Struct]], int] = lambda kind: sum(  # noqa: E731
        isinstance(message, kind) for _, _, message in kept.said
    )
    assert counted(PutDocument) == counted(DocumentAnswer) == 20
    assert counted(SendAgain) == 0
    assert counted(JoinCluster) == 4 and counted(DocumentKeys) == 4
    assert KEEPER not in kept.ends
