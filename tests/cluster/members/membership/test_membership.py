"""Joining, leaving and being lost, in the simulation."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.cluster_messages import DocumentAnswer, HeartbeatAnswer
from sqlfront_cluster.members.protocol.document import ConditionalChange, Premises
from sqlfront_cluster.members.protocol.keeper_names import KEEPER
from sqlfront_cluster.members.protocol.messages import Completed, Init
from sqlfront_engine.dag import DAG, Edge, EdgeConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Endless
from tests.cluster.members.kept import Kept
from tests.engine.jobs import Numbers

SMALL = EdgeConfig(queue_size=4, receive_window=20_000)
EVERYTHING = list(range(300))


def exchanged(source: Processor | None = None) -> DAG:
    """Numbers of all members go through a partitioned exchange to the coordinator."""
    dag = DAG()
    origin = dag.vertex("numbers", source or Numbers(len(EVERYTHING)), 1)
    between = dag.vertex("between", Forward(), 1)
    dag.edge(replace(Edge.between(origin, between).distributed().partitioned([0]), config=SMALL))
    collected = Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to()
    return dag.edge(replace(collected, config=SMALL))


def inits_to(kept: Kept) -> set[str]:
    return {receiver for _, receiver, message in kept.said if isinstance(message, Init)}


# ---- joining


@pytest.mark.parametrize("seed", range(6))
def test_who_joins_at_once_is_in_one_list_with_all_others_and_can_work(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "client", seed=seed)

    assert kept.agreed()
    assert {each.name for each in kept.keeper.members.members} == {"m0", "m1", "m2", "client"}
    assert sorted(kept.owned().values()) == [90, 90, 91]
    for coordinator in ("m1", "client"):
        assert sorted(kept.read(kept.submit(exchanged(), coordinator))) == EVERYTHING
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


def test_versions_count_every_change() -> None:
    kept = Kept("m0")
    assert kept.keeper.members.version == 1
    kept.add("m1")
    kept.add("m2")
    assert kept.run(lambda: kept.keeper.members.version == 3 and kept.agreed())


@pytest.mark.parametrize("seed", range(6))
def test_jobs_go_on_while_members_join(seed: int) -> None:
    kept = Kept("m0", "m1", seed=seed)
    jobs = [kept.submit(exchanged(), "m0")]
    kept.add("m2")
    kept.add("client")
    for _ in range(10):
        kept.simulation.pass_time(0.002)
        jobs += [kept.submit(exchanged(), coordinator) for coordinator in ("m0", "m1")]

    assert all(sorted(kept.read(job)) == EVERYTHING for job in jobs)
    assert kept.run(lambda: kept.memberships["client"].joined and kept.agreed())


def test_the_end_of_the_wait_for_a_newcomer_does_not_end_that_for_a_later_one() -> None:
    """A client took a list with a member that it was not yet connected with, and its queries failed."""
    kept = Kept("m0", "client")
    kept.simulation.pass_time(0.9 - kept.simulation.time)
    kept.simulation.blocked.add(frozenset(("client", "m1")))
    kept.add("m1")
    kept.simulation.pass_time(0.5)
    assert "m1" in kept.keeper.members and "m1" in kept.memberships["m0"].member.members
    assert "m1" not in kept.memberships["client"].member.members

    kept.simulation.pass_time(1)
    assert "m1" in kept.memberships["client"].member.members


def test_no_job_begins_at_a_member_that_has_not_joined() -> None:
    kept = Kept("m0")
    kept.add("m1")
    with pytest.raises(OperationalError, match="not joined"):
        kept.submit(exchanged(), "m1")


def test_a_name_is_given_once() -> None:
    kept = Kept("m0", "m1")
    kept.kill("m1")
    assert kept.run(lambda: "m1" not in kept.keeper.members)
    kept.add("m1")
    assert kept.run(lambda: "m1" in kept.ends)
    assert "silent for 5 s" in str(kept.ends["m1"])


def test_without_a_keeper_nobody_joins() -> None:
    kept = Kept()
    kept.kill(KEEPER)
    kept.add("m0")
    assert kept.run(lambda: "m0" in kept.ends)
    assert "there is no cluster at keeper" in str(kept.ends["m0"])
    assert kept.simulation.time < 7


# ---- leaving


def test_who_leaves_goes_when_its_jobs_have_ended() -> None:
    kept = Kept("m0", "m1", "m2")
    job = kept.submit(exchanged(Endless()), "m0")
    kept.simulation.pass_time(0.1)
    kept.memberships["m2"].leave()
    kept.simulation.pass_time(20)

    assert "m2" in kept.keeper.members and "m2" not in kept.keeper.members.data_members
    assert job.status is JobStatus.RUNNING
    job.cancel()
    assert kept.run(lambda: kept.ends == {"m2": None})
    assert kept.run(lambda: "m2" not in kept.keeper.members and kept.agreed())
    assert kept.owned() == {"m0": 136, "m1": 135}


def test_a_newcomer_that_leaves_goes_at_once() -> None:
    kept = Kept("m0")
    newcomer = kept.add("m1")
    newcomer.leave()
    assert kept.ends == {"m1": None}
    kept.simulation.pass_time(20)

    assert "m1" not in kept.keeper.members
    assert not newcomer.joined


@pytest.mark.parametrize("seed", range(6))
def test_no_job_fails_because_somebody_leaves(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", seed=seed)
    jobs = [kept.submit(exchanged(), "m0")]
    kept.memberships["m2"].leave()
    for _ in range(10):
        kept.simulation.pass_time(0.001)
        jobs += [kept.submit(exchanged(), coordinator) for coordinator in ("m0", "m1")]

    assert all(sorted(kept.read(job)) == EVERYTHING for job in jobs)
    assert kept.run(lambda: kept.ends == {"m2": None})


@pytest.mark.parametrize("seed", range(4))
def test_a_job_that_reaches_a_member_after_its_end_may_be_run_again(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", seed=seed)
    kept.simulation.drop = lambda sender, receiver, message: isinstance(message, Init) and receiver == "m2"
    dag = DAG()
    numbers, result = dag.vertex("numbers", Numbers(3), 1), dag.vertex("result", ResultSink(), 1)
    job = kept.submit(dag.edge(Edge.between(numbers, result).to_one().distribute_to()), "m0")
    kept.memberships["m2"].leave()

    with pytest.raises(OperationalError, match="m2 is no longer in the cluster") as error:
        kept.read(job)
    assert error.value.sqlstate == "40001"
    assert kept.run(lambda: kept.ends == {"m2": None})
    assert sorted(kept.read(kept.submit(exchanged(), "m0"))) == EVERYTHING


def test_new_jobs_avoid_who_leaves() -> None:
    kept = Kept("m0", "m1", "m2")
    last = kept.submit(exchanged(Endless()), "m2")
    kept.memberships["m2"].leave()
    assert kept.run(lambda: kept.agreed() and kept.keeper.members.data_members == ("m0", "m1"))
    kept.said.clear()

    assert sorted(kept.read(kept.submit(exchanged(), "m0"))) == EVERYTHING
    assert inits_to(kept) == {"m1"}
    assert kept.owned() == {"m0": 136, "m1": 135}
    assert kept.keeper.members.dealt == kept.keeper.members.version
    with pytest.raises(OperationalError, match="m2 is leaving"):
        kept.submit(exchanged(), "m2")
    assert last.status is JobStatus.RUNNING


# ---- being lost


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_member_ends_its_jobs_and_then_its_partitions_are_given_away(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "client", seed=seed)
    job = kept.submit(exchanged(Endless()), "client")
    kept.simulation.pass_time(0.1)
    kept.kill("m1")

    with pytest.raises(OperationalError, match="member m1 was lost"):
        kept.read(job)
    assert kept.run(lambda: "m1" not in kept.keeper.members and kept.agreed(), 7)
    assert sorted(kept.owned().items()) in ([("m0", 136), ("m2", 135)], [("m0", 135), ("m2", 136)])
    assert sorted(kept.read(kept.submit(exchanged(), "client"))) == EVERYTHING
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


def test_a_member_that_is_known_to_have_ended_is_removed_at_once() -> None:
    kept = Kept("m0", "m1")
    kept.kill("m1")
    kept.keeper.remove("m1", "its process was ended by SIGKILL")
    assert kept.run(kept.agreed, 0.1)
    assert [each.name for each in kept.keeper.members.members] == ["m0"]


@pytest.mark.parametrize("name", ["m1", "client", "observer"])
def test_on_one_host_a_member_whose_process_has_ended_is_removed_at_once(name: str) -> None:
    kept = Kept("m0", "m1", "client", "observer", one_host=True)
    first = put(kept, name, "table", b"1", 0)
    assert isinstance(first, DocumentAnswer) and first.stored
    kept.kill(name)
    assert kept.run(
        lambda: name not in kept.keeper.members and name not in kept.memberships["m0"].member.clients, 0.1
    )
    assert kept.run(kept.agreed, 0.1)
    second = put(kept, "m0", "table", b"2", first.version)
    assert isinstance(second, DocumentAnswer) and second.stored


@pytest.mark.parametrize("seed", range(4))
def test_on_one_host_a_new_keeper_knows_of_processes_that_end(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", seed=seed, one_host=True)
    kept.kill(KEEPER)
    kept.take_over()
    kept.simulation.pass_time(seed * 0.1)  # in some seeds before it has all reports
    assert kept.run(lambda: kept.keeper.members.epoch == 2)
    kept.kill("m1")
    assert kept.run(lambda: "m1" not in kept.keeper.members and kept.agreed(), 0.2)


@pytest.mark.parametrize("one_host", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_short_pause_or_a_broken_connection_is_no_loss(seed: int, *, one_host: bool) -> None:
    kept = Kept("m0", "m1", "m2", seed=seed, one_host=one_host)
    job = kept.submit(exchanged(), "m0")
    kept.pause("m1", 3)
    assert sorted(kept.read(job)) == EVERYTHING
    for first, second in (("m0", KEEPER), ("m1", "m2")):
        kept.simulation.cut(first, second)
        kept.simulation.pass_time(2)

    assert kept.keeper.members.version == 3
    assert sorted(kept.read(kept.submit(exchanged(), "m2"))) == EVERYTHING


@pytest.mark.parametrize("seed", range(6))
def test_who_was_paused_for_too_long_answers_nothing(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "client", seed=seed)
    others = kept.submit(exchanged(Endless()), "client")
    own = kept.submit(exchanged(Endless()), "m1")
    kept.simulation.pass_time(0.05)
    kept.pause("m1", 12)
    kept.simulation.pass_time(11.9)
    assert "m1" not in kept.keeper.members and kept.agreed()
    with pytest.raises(OperationalError, match="m1"):
        kept.submit(exchanged(), "m1")  # as if its own thread were the first to wake up
    kept.said.clear()
    kept.simulation.pass_time(3)

    assert not [
        message for sender, _, message in kept.said if sender == "m1" and isinstance(message, Completed)
    ]
    assert kept.ends.keys() == {"m1"}
    for job, error in ((own, "m1 was removed|m1 was cut off"), (others, "member m1 was lost")):
        with pytest.raises(OperationalError, match=error):
            kept.read(job)
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


@pytest.mark.parametrize("seed", range(6))
def test_the_lease_ends_before_the_removal(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", seed=seed)
    kept.simulation.blocked.add(frozenset(("m1", KEEPER)))
    kept.simulation.cut("m1", KEEPER)
    assert kept.run(lambda: "m1" in kept.ends)
    assert "m1" in kept.keeper.members
    assert "cut off from its cluster" in str(kept.ends["m1"])
    assert kept.run(lambda: "m1" not in kept.keeper.members)


def test_of_two_that_do_not_reach_each_other_the_later_one_goes() -> None:
    kept = Kept("m0", "m1")
    kept.add("m2")
    assert kept.run(lambda: kept.memberships["m2"].joined and kept.agreed())
    kept.simulation.blocked.add(frozenset(("m0", "m2")))
    kept.simulation.cut("m0", "m2")
    kept.simulation.pass_time(0.1)
    with pytest.raises(OperationalError, match="member m2 was lost"):
        kept.read(kept.submit(exchanged(), "m0"))
    assert kept.run(lambda: "m2" in kept.ends and kept.agreed(), 12)
    assert "don't reach each other" in str(kept.ends["m2"])
    assert sorted(kept.read(kept.submit(exchanged(), "m0"))) == EVERYTHING


def test_the_cluster_ends_with_its_keeper() -> None:
    kept = Kept("m0", "m1", "client")
    kept.kill(KEEPER)
    kept.simulation.pass_time(4)
    job = kept.submit(exchanged(Endless()), "client")
    with pytest.raises(OperationalError, match=r"keeper at keeper has not answered for 5|lost"):
        kept.read(job)
    assert kept.run(lambda: not kept.alive, 7)
    for name in kept.memberships:
        with pytest.raises(OperationalError, match="the keeper at keeper has not answered"):
            kept.submit(exchanged(), name)


def test_a_keeper_that_is_closed_says_so() -> None:
    kept = Kept("m0", "m1")
    kept.keeper.end("the launcher was stopped")
    assert kept.run(lambda: not kept.alive, 0.1)
    assert str(kept.ends["m0"]) == "the cluster has ended: the launcher was stopped SQLSTATE: 08006"


def test_members_wait_for_as_long_as_their_keeper_says() -> None:
    kept = Kept("m1", "client", silence_limit=20.0)
    kept.simulation.pass_time(2)
    kept.pause(KEEPER, 15)
    kept.simulation.pass_time(40)

    assert kept.ends == {}
    assert kept.agreed()

    kept.kill(KEEPER)
    kept.simulation.pass_time(15)
    assert kept.ends == {}
    kept.simulation.pass_time(10)
    assert sorted(kept.ends) == ["client", "m1"]


def test_a_keeper_that_was_paused_removes_nobody_who_is_alive() -> None:
    kept = Kept("m0", "m1")
    kept.pause(KEEPER, 3.5)
    kept.simulation.pass_time(20)
    assert kept.keeper.members.version == 2
    assert kept.ends == {}


# ---- stale lists


def test_a_job_planned_before_a_loss_is_refused_by_who_knows_of_it() -> None:
    kept = Kept("m0", "m1", "m2")
    old = kept.memberships["m0"].member.members
    kept.keeper.remove("m2", "a test")
    kept.simulation.pass_time(1)
    left = tuple(each for each in old.members if each.name != "m2")
    kept.memberships["m0"].member.members = replace(old, members=left, owners=("m0", "m1") * 100)
    with pytest.raises(OperationalError, match="the cluster has changed") as caught:
        kept.read(kept.submit(exchanged(), "m0"))
    assert caught.value.sqlstate == "40001"


def test_a_job_planned_with_a_newer_list_waits_for_it() -> None:
    kept = Kept("m0", "m1", "m2")
    kept.keeper.remove("m2", "a test")
    assert kept.run(lambda: kept.memberships["m0"].member.members.version == 4)
    assert kept.memberships["m1"].member.members.version <= 4
    kept.memberships["m1"].member.members = replace(kept.keeper.members, version=3)
    assert sorted(kept.read(kept.submit(exchanged(), "m0"))) == EVERYTHING


# ---- partitions


def test_with_documents_a_newcomer_gets_no_partitions_until_they_are_balanced() -> None:
    kept = Kept("m0", "m1")
    put(kept, "m0", "table", b"1", 0)
    kept.add("m2")
    assert kept.run(lambda: kept.memberships["m2"].joined)
    before = kept.keeper.members.owners
    assert "m2" not in before

    kept.memberships["m1"].rebalance()
    assert kept.run(lambda: kept.owned()["m2"] == 90 and kept.agreed())
    moved = [new for old, new in zip(before, kept.keeper.members.owners, strict=True) if old != new]
    assert set(moved) == {"m2"}


def test_a_member_gives_up_its_place_only_in_the_list_that_it_knows() -> None:
    kept = Kept("m0", "m1")
    version, leaver = kept.keeper.members.version, kept.memberships["m1"]
    leaver.give_up_place(version - 1)
    kept.simulation.pass_time(1)
    assert kept.keeper.members.version == version
    leaver.give_up_place(version)
    assert kept.run(lambda: kept.keeper.members.data_members == ("m0",))

    kept.simulation.pass_time(1)
    assert leaver.joined
    leaver.leave()
    assert kept.run(lambda: kept.ends == {"m1": None})


# ---- documents


def put(kept: Kept, at: str, key: str, content: bytes | None, expected: int | None) -> PutOutcome:
    outcomes: list[PutOutcome] = []
    kept.memberships[at].put(ConditionalChange(key, content, expected), outcomes.append)
    assert kept.run(lambda: bool(outcomes))
    return outcomes[0]


def seen(kept: Kept, key: str) -> list[bytes | None]:
    stores = [kept.memberships[name].documents.get(key) for name in kept.alive]
    return [None if document is None else document.content for document in stores]


def test_a_change_is_made_only_as_long_as_its_premises_hold() -> None:
    kept = Kept("m0", "m1")
    outcomes: list[PutOutcome] = []

    def put_copy(premises: Premises) -> PutOutcome:
        kept.memberships["m1"].put(ConditionalChange("copy", b"rows", 0, premises), outcomes.append)
        assert kept.run(lambda: bool(outcomes))
        return outcomes.pop()

    put(kept, "m0", "table", b"one", 0)
    put(kept, "m0", "table", b"two", 1)
    broken = ((("table", 1),), (("view", 1),), (("view", 0), ("table", 0)))
    for request, premises in enumerate(broken, start=1):
        assert put_copy(premises) == DocumentAnswer(request, stored=False, version=0)
    assert seen(kept, "copy") == [None] * 2
    assert put_copy((("view", 0), ("table", 2))) == DocumentAnswer(4, stored=True, version=3)
    assert seen(kept, "copy") == [b"rows"] * 2


def test_a_change_is_refused_if_partitions_have_changed_their_owners_since() -> None:
    kept = Kept("m0", "m1")
    put(kept, "m0", "table", b"one", 0)
    before = kept.keeper.members.dealt
    kept.memberships["m1"].hand_over()
    assert kept.run(lambda: kept.keeper.members.dealt != before)

    for dealt, stored in ((before, False), (kept.keeper.members.dealt, True)):
        outcomes: list[PutOutcome] = []
        kept.memberships["m0"].put(ConditionalChange("table", b"two", 1, dealt=dealt), outcomes.append)
        assert kept.run(lambda found=outcomes: bool(found))
        (answer,) = outcomes
        assert isinstance(answer, DocumentAnswer)
        assert answer.stored is stored


def test_a_change_is_answered_when_everybody_has_it() -> None:
    kept = Kept("m0", "m1", "client")
    heard: list[str] = []
    kept.memberships["m1"].watchers.append(heard.append)

    assert put(kept, "client", "table", b"one", 0) == DocumentAnswer(1, stored=True, version=1)
    assert seen(kept, "table") == [b"one"] * 3
    assert put(kept, "m0", "table", b"two", 1) == DocumentAnswer(1, stored=True, version=2)
    assert seen(kept, "table") == [b"two"] * 3
    assert put(kept, "m0", "table", None, 2) == DocumentAnswer(2, stored=True, version=3)
    assert seen(kept, "table") == [None] * 3
    assert heard == ["table"] * 3


@pytest.mark.parametrize("seed", range(6))
def test_of_two_who_change_the_same_version_one_wins(seed: int) -> None:
    kept = Kept("m0", "m1", seed=seed)
    outcomes: dict[str, PutOutcome] = {}

    def keep(name: str) -> Callable[[PutOutcome], None]:
        def kept_first(outcome: PutOutcome) -> None:
            outcomes.setdefault(name, outcome)

        return kept_first

    for name in ("m0", "m1"):
        kept.memberships[name].put(ConditionalChange("table", name.encode(), 0), keep(name))
    assert kept.run(lambda: len(outcomes) == 2)
    winners = [
        name for name, outcome in outcomes.items() if isinstance(outcome, DocumentAnswer) and outcome.stored
    ]
    assert len(winners) == 1
    assert seen(kept, "table") == [winners[0].encode()] * 2


def test_a_newcomer_has_the_documents_when_it_joins() -> None:
    kept = Kept("m0")
    put(kept, "m0", "table", b"1", 0)
    late = kept.add("m1")
    assert kept.run(lambda: late.joined)
    assert seen(kept, "table") == [b"1"] * 2


def test_who_comes_back_after_a_broken_connection_misses_no_change() -> None:
    kept = Kept("m0", "m1", "m2")
    put(kept, "m0", "old", b"1", 0)
    kept.simulation.cut("m1", KEEPER)
    kept.simulation.blocked.add(frozenset(("m1", KEEPER)))
    outcomes: list[PutOutcome] = []
    for key, content in (("old", None), ("new", b"2")):
        kept.memberships["m0"].put(ConditionalChange(key, content, None), outcomes.append)
    kept.simulation.pass_time(2)
    assert not outcomes
    kept.simulation.blocked.clear()
    assert kept.run(lambda: len(outcomes) == 2, 2)
    assert seen(kept, "old") == [None] * 3 and seen(kept, "new") == [b"2"] * 3


def test_a_removal_that_was_missed_is_answered_when_the_connection_is_back() -> None:
    kept = Kept("m0", "m1")
    put(kept, "m0", "old", b"1", 0)
    kept.simulation.cut("m1", KEEPER)
    kept.simulation.blocked.add(frozenset(("m1", KEEPER)))
    outcomes: list[PutOutcome] = []
    kept.memberships["m0"].put(ConditionalChange("old", None, 1), outcomes.append)
    kept.simulation.pass_time(1)
    kept.simulation.blocked.clear()

    assert kept.run(lambda: bool(outcomes), 2)
    assert seen(kept, "old") == [None] * 2


def test_a_watcher_that_fails_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept("m0", "m1")
    heard: list[str] = []

    def fail(*_: object) -> None:
        raise ValueError("as told")

    membership = kept.memberships["m1"]
    membership.watchers += [fail, heard.append]
    membership.list_watchers += [fail, lambda: heard.append("list")]

    assert put(kept, "m0", "table", b"1", 0) == DocumentAnswer(1, stored=True, version=1)
    kept.add("m2")
    assert kept.run(lambda: heard == ["table", "list"] and "m2" in kept.keeper.members)
    assert "as told" in caplog.text


def test_a_lost_member_holds_up_no_change_for_long() -> None:
    kept = Kept("m0", "m1")
    kept.pause("m1", 60)
    assert put(kept, "m0", "table", b"1", 0) == DocumentAnswer(1, stored=True, version=1)
    assert 4 < kept.simulation.time < 8


def test_a_change_whose_answer_is_lost_says_so() -> None:
    kept = Kept("m0", "m1")
    kept.pause("m1", 60)
    outcomes: list[PutOutcome] = []
    kept.memberships["m0"].put(ConditionalChange("table", b"1", 0), outcomes.append)
    kept.simulation.pass_time(1)
    kept.kill(KEEPER)
    assert kept.run(lambda: bool(outcomes))
    (error,) = outcomes
    assert isinstance(error, OperationalError) and error.sqlstate == "08007"


# ---- silence


def test_only_heartbeats_are_said_when_nothing_happens() -> None:
    kept = Kept("m0", "m1", "m2")
    kept.said.clear()
    kept.simulation.pass_time(60)
    assert len(kept.said) == 3 * 60 * 2
    assert {receiver for _, receiver, message in kept.said if not isinstance(message, HeartbeatAnswer)} == {
        KEEPER
    }
