"""Questions without a job: one request and one answer each, in a simulated cluster."""

import re

import pytest

from sqlfront_cluster.members.protocol.messages import (
    Answer,
    CheckRequests,
    Message,
    Request,
    RequestsHandled,
)
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_values.errors import DataError, Error, InternalError, NotSupportedError, OperationalError
from tests.cluster.members.cluster import Cluster
from tests.cluster.members.kept import Kept

ECHO = "echo"


class Echo(RequestService):
    """Gives back what it is asked; some questions are answered with an error."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0

    def answer(self, content: bytes) -> bytes:
        self.asked += 1
        match content:
            case b"data":
                raise DataError("no such number", condition="DIVIDE_BY_ZERO", sqlstate="22012")
            case b"bug":
                raise KeyError("a bug")
            case b"long":
                return bytes(100_000)
        return self.name.encode() + b" says " + content


def echoes(size: int = 3) -> Cluster:
    """Members with the service, and a client without."""
    services = {name: Echo(name) for name in (f"m{number}" for number in range(size))}
    return Cluster(size, "client", resources=lambda name: {ECHO: services[name]} if name in services else {})


def ask(cluster: Cluster, questions: dict[str, bytes], at: str = "client") -> dict[str, bytes]:
    answers = cluster.members[at].requests.ask(ECHO, questions)
    return {name: bytes(answer) for name, answer in answers.items()}


def refused(cluster: Cluster, questions: dict[str, bytes]) -> Error:
    with pytest.raises(Error) as caught:
        ask(cluster, questions)
    return caught.value


def test_a_question_costs_one_request_and_one_answer() -> None:
    cluster = echoes()

    assert ask(cluster, {"m1": b"hello"}) == {"m1": b"m1 says hello"}
    cluster.simulation.pass_time(10)

    assert [(sender, receiver, type(message)) for sender, receiver, message in cluster.said] == [
        ("client", "m1", Request),
        ("m1", "client", Answer),
    ]
    assert cluster.leftovers() == {}


def test_several_members_are_asked_before_the_first_answers() -> None:
    cluster = echoes()

    assert ask(cluster, {"m2": b"c", "m0": b"a"}) == {"m0": b"m0 says a", "m2": b"m2 says c"}

    assert [type(message) for _, _, message in cluster.said] == [Request, Request, Answer, Answer]


def test_a_member_answers_itself_without_a_message() -> None:
    cluster = echoes()

    assert ask(cluster, {"m0": b"a"}, at="m0") == {"m0": b"m0 says a"}
    assert ask(cluster, {"m0": b"a", "m1": b"b"}, at="m0") == {"m0": b"m0 says a", "m1": b"m1 says b"}

    assert cluster.counts() == {"Request": 1, "Answer": 1}


def test_a_long_answer_arrives() -> None:
    assert ask(echoes(), {"m1": b"long"}) == {"m1": bytes(100_000)}


def test_a_services_error_is_raised_where_it_was_asked() -> None:
    error = refused(echoes(), {"m1": b"data", "m2": b"fine"})

    assert isinstance(error, DataError)
    assert (error.condition, error.sqlstate, error.member) == ("DIVIDE_BY_ZERO", "22012", "m1")


def test_a_services_bug_is_an_internal_error() -> None:
    error = refused(echoes(), {"m2": b"bug"})

    assert isinstance(error, InternalError)
    assert "KeyError: 'a bug'" in error.message
    assert error.member == "m2"


def test_a_service_that_is_not_there() -> None:
    cluster = echoes()

    with pytest.raises(NotSupportedError, match="member m1 has no service 'other'"):
        cluster.members["client"].requests.ask("other", {"m1": b""})
    assert cluster.leftovers() == {}


def test_a_member_that_is_not_there() -> None:
    cluster = echoes()
    error = refused(cluster, {"m0": b"a", "m9": b"a"})

    assert (type(error), error.sqlstate) == (OperationalError, "40001")
    assert "member m9 is no longer in the cluster; run the query again" in error.message
    assert cluster.leftovers() == {}


@pytest.mark.parametrize("when", ["request", "answer"])
def test_a_member_that_is_lost_meanwhile(when: str) -> None:
    cluster = echoes()
    machine = cluster.simulation.machines["m1"]

    def lose(sender: str, receiver: str, message: object) -> bool:
        if isinstance(message, Answer if when == "answer" else Request) and "m1" in (sender, receiver):
            machine.kill()
        return False

    cluster.lost = lose
    error = refused(cluster, {"m1": b"a", "m2": b"b"})

    assert (type(error), error.sqlstate) == (OperationalError, "08006")
    assert "member m1 was lost" in error.message
    cluster.lost = lambda *_: False
    assert ask(cluster, {"m2": b"again"}) == {"m2": b"m2 says again"}
    assert cluster.leftovers(["client", "m0", "m2"]) == {}


def test_whoever_knows_another_list_is_told_to_plan_again() -> None:
    cluster = echoes()
    members = cluster.members["m1"].members
    later = type(members)(
        members.version + 1, members.members, members.owners, valid_from=members.version + 1
    )
    cluster.members["m1"].members = later

    error = refused(cluster, {"m1": b"a"})

    assert (type(error), error.sqlstate) == (OperationalError, "40001")


def test_a_request_of_a_later_list_waits_until_that_is_used() -> None:
    cluster = Kept("m0", "m1", "client")
    asking, answering = cluster.memberships["client"].member, cluster.memberships["m1"].member
    used = answering.members
    later = type(used)(used.version + 1, used.members, used.owners, used.valid_from, used.dealt)
    asking.members = later
    answers: list[str] = []

    def note(sender: str, receiver: str, message: object) -> bool:
        if isinstance(message, Answer):
            answers.append(receiver)
        return False

    cluster.simulation.drop = note
    asking.peers["m1"].send(Request(1, later.version, ECHO, b"a"))
    cluster.simulation.pass_time(1)
    assert answers == []

    cluster.memberships["m1"]._adoption.hear(later)
    cluster.simulation.pass_time(2)

    assert answers == ["client"]


def test_a_question_that_waits_for_its_list_is_not_told_lost() -> None:
    """The question about the question came first, and was answered as if the question had been handled."""
    cluster = Kept("m0", "m1", "client")
    asking, answering = cluster.memberships["client"].member, cluster.memberships["m1"].member
    used, clock = answering.members, cluster.simulation.machines["m1"].clock
    later = type(used)(used.version + 1, used.members, used.owners, used.valid_from, used.dealt)
    asking.members = later
    hear = cluster.memberships["m1"]._adoption.hear
    clock.call_at(clock.now() + 5, lambda: hear(later))

    with pytest.raises(Error, match="no service 'echo'"):
        asking.requests.ask(ECHO, {"m1": b"a"})


@pytest.mark.parametrize("how", ["killed", "removed", "client gone", "cut"])
def test_a_question_of_a_member_that_has_gone_is_not_answered_when_its_list_comes(how: str) -> None:
    """A write of a dead session was carried out, after others had taken its turn."""
    asking = "observer" if how == "client gone" else "client"
    kept = Kept("m0", "m1", asking)
    membership, echo = kept.memberships["m1"], Echo("m1")
    membership.member.requests._services = {ECHO: echo}
    used = membership.member.members
    peer = kept.memberships[asking].member.peers["m1"]
    peer.send(Request(1, used.version + 1, ECHO, b"a"))
    kept.simulation.pass_time(0.1)
    if how == "killed":
        kept.kill(asking)
    elif how == "cut":
        kept.simulation.cut(asking, "m1")
    else:
        kept.keeper.remove(asking, "for the test")
    kept.simulation.pass_time(0.1)
    kept.add("m2")
    assert kept.run(lambda: "m2" in membership.member.members)

    assert echo.asked == 0
    assert not membership._adoption._early


def test_who_asks_hears_at_once_that_the_connection_with_a_held_question_broke() -> None:
    kept = Kept("m0", "m1", "client")
    asking = kept.memberships["client"].member
    used = asking.members
    asking.members = type(used)(used.version + 1, used.members, used.owners, used.valid_from, used.dealt)
    began = kept.simulation.time
    kept.simulation.at(began + 0.5, lambda: kept.simulation.cut("client", "m1"))

    with pytest.raises(OperationalError, match="member m1 was lost") as caught:
        asking.requests.ask(ECHO, {"m1": b"a"})
    assert caught.value.sqlstate == "08006"
    assert kept.simulation.time < began + 0.6


@pytest.mark.parametrize(("how", "state"), [("leaves", "40001"), ("removed", "08006")])
def test_a_question_to_who_goes_tells_leaving_from_loss(how: str, state: str) -> None:
    """Of a member that left in good order it was said that it was lost."""
    kept = Kept("m0", "m1", "client")
    asking, leaver = kept.memberships["client"].member, kept.memberships["m1"]
    kept.simulation.drop = lambda sender, receiver, message: isinstance(message, Request)
    go = leaver.leave if how == "leaves" else lambda: kept.keeper.remove("m1", "for the test")
    kept.simulation.at(kept.simulation.time + 0.1, go)

    with pytest.raises(OperationalError) as caught:
        asking.requests.ask(ECHO, {"m1": b"a"})
    assert caught.value.sqlstate == state


def test_answers_that_nobody_waits_for_are_dropped() -> None:
    cluster = echoes()
    peer = cluster.members["m1"].peers["client"]
    for number in range(3):
        peer.send(Answer(number, b"unasked"))
    cluster.simulation.pass_time(1)

    assert ask(cluster, {"m2": b"a"}) == {"m2": b"m2 says a"}
    assert cluster.leftovers() == {}


def test_only_who_was_asked_can_answer() -> None:
    cluster = echoes()
    liar = cluster.members["m2"].peers["client"]

    def lie(sender: str, receiver: str, message: object) -> bool:
        if isinstance(message, Request) and receiver == "m1":
            liar.send(Answer(message.request, b"a lie"))
        return False

    cluster.lost = lie

    assert ask(cluster, {"m1": b"a"}) == {"m1": b"m1 says a"}


def test_what_is_interrupted_leaves_nothing() -> None:
    cluster = echoes()

    def interrupt(sender: str, receiver: str, message: object) -> bool:
        if isinstance(message, Answer):
            raise KeyboardInterrupt
        return False

    cluster.lost = interrupt
    with pytest.raises(KeyboardInterrupt):
        ask(cluster, {"m1": b"a"})
    cluster.lost = lambda *_: False

    assert cluster.members["client"].statistics().requests == 0
    assert ask(cluster, {"m1": b"a"}) == {"m1": b"m1 says a"}


def test_a_member_that_was_cut_off_waits_no_longer() -> None:
    cluster = Kept("m0", "m1", "client")
    member = cluster.memberships["client"].member
    cluster.simulation.drop = lambda sender, receiver, message: "client" in (sender, receiver)

    with pytest.raises(OperationalError) as caught:
        member.requests.ask(ECHO, {"m1": b"a"})

    assert caught.value.sqlstate == "08006"
    assert len(member.requests) == 0


@pytest.mark.parametrize("stopping", ["timeout", "cancelled"])
def test_a_query_that_is_stopped_waits_no_longer(stopping: str) -> None:
    cluster = Kept("m0", "m1", "client")
    member = cluster.memberships["client"].member
    query = member.engine.begin_query()
    began = cluster.simulation.time
    if stopping == "timeout":
        query.timeout = 1.0
    else:
        member.engine.clock.call_at(began + 1.0, lambda: query.cancel("a wish"))
    cluster.pause("m1", 3.0)

    with pytest.raises(OperationalError) as caught:
        member.requests.ask(ECHO, {"m1": b"a"}, query)

    assert 1.0 <= round(cluster.simulation.time - began, 6) < 2.5
    assert (caught.value.sqlstate, caught.value.message) == {
        "timeout": ("57014", "the query ran longer than its timeout of 1 s"),
        "cancelled": ("HY008", "the query was cancelled by a wish"),
    }[stopping]
    assert len(member.requests) == 0
    cluster.simulation.pass_time(5)  # the answer comes, and nobody waits for it
    with pytest.raises(NotSupportedError):
        member.requests.ask(ECHO, {"m1": b"a"}, member.engine.begin_query())


def test_a_query_that_was_stopped_before_does_not_wait() -> None:
    cluster = echoes()
    query = cluster.members["client"].engine.begin_query()
    query.cancel()

    with pytest.raises(OperationalError, match="the query was cancelled"):
        cluster.members["client"].requests.ask(ECHO, {"m1": b"a"}, query)

    cluster.simulation.pass_time(1)
    assert cluster.leftovers() == {}


def test_who_leaves_waits_no_longer() -> None:
    cluster = Kept("m0", "m1", "client")
    member = cluster.memberships["client"].member
    member.engine.clock.call_at(cluster.simulation.time + 1.0, member.cancel_all)
    cluster.pause("m1", 3.0)

    with pytest.raises(OperationalError, match="the query was cancelled"):
        member.requests.ask(ECHO, {"m1": b"a"})


@pytest.mark.parametrize("kind", [Request, Answer])
@pytest.mark.parametrize("checks_lost", [0, 3])
def test_a_lost_question_or_answer_ends_the_wait_by_name(kind: type[Message], checks_lost: int) -> None:
    cluster = echoes()
    left = [1, checks_lost]

    def lost(sender: str, receiver: str, message: object) -> bool:
        which = 0 if isinstance(message, kind) else 1
        if not isinstance(message, (kind, CheckRequests, RequestsHandled)) or not left[which]:
            return False
        left[which] -= 1
        return True

    cluster.lost = lost
    error = refused(cluster, {"m1": b"hello", "m2": b"hello"})

    assert isinstance(error, OperationalError)
    assert error.sqlstate == "08006"
    assert re.match("a request to member m[12] or its answer was lost", error.message)
    assert left == [0, 0]
    assert cluster.simulation.time < 1 + 2 + checks_lost + 0.5
    assert cluster.leftovers() == {}
    assert ask(cluster, {"m1": b"again"}) == {"m1": b"m1 says again"}
