"""Clients without a place in the member list, in the simulation."""

import random

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.cluster_messages import DocumentAnswer
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.messages import Data, Ended, Init, Submit, Terminate
from sqlfront_cluster.members.questions.listing import JobListing
from sqlfront_engine.dag import DAG, Edge, EdgeConfig, OnlyOn
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.held_rows import HeldBatches, HeldRows
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Endless
from tests.cluster.members.kept import Kept
from tests.cluster.members.membership.test_membership import EVERYTHING, exchanged
from tests.engine.jobs import Fails, Numbers


def own_rows(collected: bool) -> tuple[DAG, JobConfig]:
    """A DAG whose source has rows of the submitting process, which all members or one take."""
    dag = DAG()
    source = dag.vertex("own", HeldRows("rows", "own", (0,)), 1, OnlyOn())
    between = dag.vertex("between", Forward(), 1, OnlyOn() if collected else None)
    edge = Edge.between(source, between)
    dag.edge(edge if collected else edge.distributed().partitioned([0]))
    last = Edge.between(between, dag.vertex("result", ResultSink(), 1))
    dag.edge(last if collected else last.to_one().distribute_to())
    batch = pa.RecordBatch.from_pydict({"n": EVERYTHING})
    return dag, JobConfig(resources={"rows": HeldBatches((batch,))})


@pytest.mark.parametrize("seed", range(6))
def test_an_observer_reads_through_members(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "observer", seed=seed)
    assert kept.keeper.members.version == 3
    for inline in (False, True):
        for _ in range(4):
            job = kept.submit(exchanged(), "observer", JobConfig(inline=inline))
            found = (
                [value for batch in job.batches() for value in batch.column(0).to_pylist()]
                if inline
                else kept.read(job)
            )
            assert sorted(found) == EVERYTHING
            assert job.status is JobStatus.COMPLETED
    coordinators = {receiver for _, receiver, message in kept.said if isinstance(message, Submit)}
    assert coordinators == {"m0", "m1", "m2"}
    assert not any(isinstance(message, Init) for sender, _, message in kept.said if sender == "observer")
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}
    assert kept.keeper.members.version == 3


@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_rows_of_the_clients_process_go_through_the_coordinator(seed: int, collected: bool) -> None:
    kept = Kept("m0", "m1", "observer", seed=seed)
    dag, config = own_rows(collected)
    assert sorted(kept.read(kept.submit(dag, "observer", config))) == EVERYTHING
    talked = {
        receiver
        for sender, receiver, message in kept.said
        if isinstance(message, Data) and sender == "observer"
    }
    assert len(talked) == 1
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


def test_the_coordinator_checks_the_places_of_other_vertices() -> None:
    kept = Kept("m0", "m1", "observer")
    dag = DAG()
    numbers = dag.vertex("numbers", Numbers(3), 1)
    between = dag.vertex("between", Forward(), 1)
    dag.edge(Edge.between(numbers, between).to_one().distribute_to("m1"))
    dag.edge(Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to())
    assert set(kept.read(kept.submit(dag, "observer"))) == {0, 1, 2}
    kept.kill("m1")
    kept.simulation.pass_time(10)
    with pytest.raises(OperationalError, match="the target member 'm1' is missing"):
        kept.read(kept.submit(dag, "observer"))


def test_a_hundred_observers_change_no_version() -> None:
    kept = Kept("m0", "m1", "client")
    before = kept.keeper.members
    running = kept.submit(exchanged(Endless()), "client")
    for number in range(100):
        name = f"observer{number}"
        membership = kept.add(name)
        assert kept.run(lambda membership=membership: membership.joined)
        assert sorted(kept.read(kept.submit(exchanged(), name))) == EVERYTHING
        if number % 2:
            membership.leave()
            assert kept.run(lambda name=name: name in kept.ends)
            assert kept.ends[name] is None
        else:
            kept.kill(name)
    kept.simulation.pass_time(20)
    assert kept.keeper.members == before
    assert running.status is JobStatus.RUNNING
    running.cancel()
    kept.simulation.pass_time(10)
    assert kept.leftovers(["m0", "m1", "client"]) == {}
    assert set(kept.memberships["m0"].member.peers) == {"m1", "client"}


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_observer_ends_its_jobs(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "observer", seed=seed)
    jobs = [kept.submit(exchanged(Endless()), "observer") for _ in range(3)]
    kept.simulation.pass_time(random.Random(seed).uniform(0.001, 0.1))
    kept.kill("observer")
    kept.simulation.pass_time(10)
    assert kept.leftovers(["m0", "m1", "m2"]) == {}
    assert all(job.status is JobStatus.RUNNING for job in jobs)  # nobody is left to be told


@pytest.mark.parametrize("seed", range(6))
def test_a_cancelled_job_ends_everywhere(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "observer", seed=seed)
    job = kept.submit(exchanged(Endless()), "observer")
    kept.simulation.pass_time(random.Random(seed).uniform(0.001, 0.1))
    job.cancel()
    with pytest.raises(OperationalError) as error:
        kept.read(job)
    assert error.value.sqlstate == "HY008"
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


@pytest.mark.parametrize("lost", [Terminate, Submit, Ended])
@pytest.mark.parametrize("seed", range(3))
def test_a_lost_message_leaves_nothing_behind(seed: int, lost: type[msgspec.Struct]) -> None:
    kept = Kept("m0", "m1", "observer", seed=seed)
    kept.simulation.drop = lambda sender, receiver, message: isinstance(message, lost)
    job = kept.submit(exchanged(Endless() if lost is Terminate else None), "observer")
    kept.simulation.pass_time(0.2)
    if lost is Terminate:
        job.cancel()
    with pytest.raises(OperationalError):
        kept.read(job)
    # What came for a job that never begins is kept for NEVER_INITIALISED seconds.
    kept.simulation.pass_time(310 if lost is Submit else 10)
    assert kept.leftovers() == {}


@pytest.mark.parametrize("seed", range(6))
def test_the_coordinators_death_is_an_error_by_name(seed: int) -> None:
    kept = Kept("m0", "m1", "m2", "observer", seed=seed)
    job = kept.submit(exchanged(Endless()), "observer")
    (coordinator,) = {receiver for _, receiver, message in kept.said if isinstance(message, Submit)}
    kept.simulation.pass_time(0.05)
    kept.kill(coordinator)
    with pytest.raises(OperationalError, match=f"member {coordinator} was lost") as error:
        kept.read(job)
    assert error.value.sqlstate == "08006"
    kept.simulation.pass_time(20)
    assert kept.leftovers() == {}
    assert sorted(kept.read(kept.submit(exchanged(), "observer"))) == EVERYTHING


def test_a_failure_comes_with_its_vertex_and_member() -> None:
    kept = Kept("m0", "m1", "observer")
    job = kept.submit(exchanged(Fails()), "observer")
    with pytest.raises(Exception) as error:
        kept.read(job)
    lite = Kept("m0", "m1", "client")
    with pytest.raises(Exception) as same:
        lite.read(lite.submit(exchanged(Fails()), "client"))
    assert type(error.value) is type(same.value)
    assert str(error.value) == str(same.value)


@pytest.mark.parametrize("seed", range(3))
def test_an_observer_that_stops_reading_stops_the_job(seed: int) -> None:
    kept = Kept("m0", "m1", "observer", seed=seed)
    sent = 0

    def count(sender: str, receiver: str, message: msgspec.Struct, body: object) -> None:
        nonlocal sent
        if receiver == "observer" and isinstance(message, Data):
            sent += sum(each.nbytes for each in body)  # type: ignore[attr-defined]

    kept.simulation.watch = count
    config = EdgeConfig(queue_size=4, receive_window=20_000)
    dag = DAG()
    endless = dag.vertex("numbers", Endless(), 1)
    last = Edge.between(endless, dag.vertex("result", ResultSink())).to_one().distribute_to()
    job = kept.submit(dag.edge(replace(last, config=config)), "observer")
    kept.simulation.pass_time(1)
    early = sent
    kept.simulation.pass_time(5)
    assert 0 < early == sent < 64 << 20
    held = [kept.memberships[name].member.engine.memory.used for name in ("m0", "m1")]
    assert max(held) < 64 << 20
    job.cancel()
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


def test_a_leaving_member_refuses_so_that_the_query_can_be_repeated() -> None:
    kept = Kept("m0", "observer")
    kept.memberships["m0"].leave()
    job = kept.submit(exchanged(), "observer")
    with pytest.raises(OperationalError, match="leaving") as error:
        kept.read(job)
    assert error.value.sqlstate == "40001"


def test_a_member_that_has_given_up_its_place_refuses_so_that_the_query_can_be_repeated() -> None:
    """The list says that it leaves, and its process has not begun to."""
    kept = Kept("m0", "m1", "observer")
    kept.read(kept.submit(exchanged(), "observer"))
    submit = next(message for _, _, message in kept.said if isinstance(message, Submit))
    kept.memberships["m0"].give_up_place(kept.keeper.members.version)
    assert kept.run(lambda: kept.memberships["m0"].member.members.is_leaving("m0"))
    again = replace(submit, job=submit.job + 1000, list_version=kept.keeper.members.version)
    kept.memberships["observer"].member.peers["m0"].send(again)
    assert kept.run(lambda: any(isinstance(m, Ended) and m.job == again.job for _, _, m in kept.said))
    error = next(m.error for _, _, m in kept.said if isinstance(m, Ended) and m.job == again.job)
    assert error is not None and error.error().sqlstate == "40001"
    assert "m0 is leaving; run the query again" in error.message


@pytest.mark.parametrize("seed", range(5))
def test_a_member_that_has_refused_a_job_leaves_at_once(seed: int) -> None:
    """The client tells the member that it wants no rows of the job; that waits for no Init."""
    kept = Kept("m0", "m1", "client", "observer", seed=seed)
    busy = kept.submit(exchanged(Endless()), "client")
    assert kept.run(lambda: kept.memberships["m1"].member.statistics().participations)
    for name in ("m0", "m1"):
        kept.memberships[name].leave()
    with pytest.raises(OperationalError, match="leaving"):
        kept.read(kept.submit(exchanged(), "observer"))
    kept.simulation.pass_time(1)
    busy.cancel()
    assert kept.run(lambda: {"m0", "m1"} <= kept.ends.keys(), 5)


def test_writers_wait_until_observers_have_the_change() -> None:
    kept = Kept("m0", "observer")
    outcome: list[PutOutcome] = []
    kept.memberships["m0"].put(ConditionalChange("key", b"content", None), outcome.append)
    assert kept.run(lambda: outcome)
    assert isinstance(outcome[0], DocumentAnswer)
    assert kept.memberships["observer"].documents["key"].content == b"content"


def test_a_timeout_ends_the_job_everywhere() -> None:
    kept = Kept("m0", "m1", "observer")
    job = kept.submit(exchanged(Endless()), "observer", JobConfig(timeout=0.2))
    with pytest.raises(OperationalError, match=r"timeout of 0\.2 s") as error:
        kept.read(job)
    assert error.value.sqlstate == "57014"
    assert job.status is JobStatus.TIMED_OUT
    kept.simulation.pass_time(10)
    assert kept.leftovers() == {}


def test_members_list_and_cancel_the_jobs_of_observers() -> None:
    kept = Kept("m0", "m1", "observer", "client")
    job = kept.submit(exchanged(Endless()), "observer")
    found: list[JobListing] = []
    kept.simulation.pass_time(0.1)
    kept.memberships["client"].member.list_jobs(found.append)
    assert kept.run(lambda: found)
    (listed,) = found[0].jobs
    assert listed.coordinator in ("m0", "m1")
    kept.memberships["client"].member.cancel(listed.id, listed.coordinator, "somebody")
    with pytest.raises(OperationalError, match="somebody"):
        kept.read(job)
    assert job.status is JobStatus.CANCELLED
    execution = job._execution
    assert (execution.query.cancelled, execution.query.cancelled_by) == (True, "somebody")


@pytest.mark.parametrize("at", ["m0", "client", "observer", "observer-2"])
def test_jobs_in_the_process_of_an_observer_are_listed_and_cancelled_everywhere(at: str) -> None:
    kept = Kept("m0", "m1", "observer", "observer-2", "client")
    dag = DAG()
    dag.edge(Edge.between(dag.vertex("numbers", Endless(), 1), dag.vertex("result", ResultSink())))
    job = kept.memberships["observer"].member.engine.run(dag)
    found: list[JobListing] = []
    kept.simulation.pass_time(0.1)
    kept.memberships[at].member.list_jobs(found.append)
    assert kept.run(lambda: found)
    assert found[0].silent == ()
    (listed,) = found[0].jobs
    assert (listed.id, listed.coordinator) == (job._execution.query.id, "observer")
    kept.memberships[at].member.cancel(listed.id, "observer", "somebody")
    with pytest.raises(OperationalError, match="somebody"):
        kept.read(job)
    assert job.status is JobStatus.CANCELLED


def test_a_closed_coordinator_cancels_the_jobs_of_observers_for_no_user() -> None:
    kept = Kept("m0", "m1", "observer")
    job = kept.submit(exchanged(Endless()), "observer")
    (coordinator,) = {receiver for _, receiver, message in kept.said if isinstance(message, Submit)}
    kept.simulation.pass_time(0.1)
    kept.memberships[coordinator].member.cancel_all()
    with pytest.raises(OperationalError) as error:
        kept.read(job)
    assert error.value.condition == "OPERATION_CANCELED"
    assert job.status is JobStatus.CANCELLED
    assert not job._execution.query.cancelled


def test_nobody_runs_jobs_on_an_observer() -> None:
    kept = Kept("m0", "observer")
    kept.submit(exchanged(), "observer")
    kept.simulation.pass_time(1)
    (submit,) = [message for _, _, message in kept.said if isinstance(message, Submit)]
    kept.memberships["m0"].member.peers["observer"].send(submit)
    assert kept.run(lambda: any(isinstance(m, Ended) and s == "observer" for s, _, m in kept.said))
    ended = next(m for s, _, m in kept.said if isinstance(m, Ended) and s == "observer")
    assert ended.error is not None and "runs no jobs" in ended.error.message


def test_a_result_waits_for_its_reader_after_the_jobs_end() -> None:
    kept = Kept("m0", "m1", "observer")
    job = kept.submit(exchanged(), "observer")
    kept.simulation.pass_time(5)
    assert sorted(kept.read(job)) == EVERYTHING


@pytest.mark.parametrize("way", ["leave", "kill"])
def test_members_know_which_clients_are_present(way: str) -> None:
    kept = Kept("m0", "m1", "observer", silence_limit=2.0)
    m0 = kept.memberships["m0"]
    assert m0.is_present("observer") and m0.is_present("m1")
    assert kept.add("observer-2").is_present("observer") is False  # not told yet
    assert kept.run(lambda: kept.memberships["observer-2"].is_present("observer"))
    losses: list[None] = []
    m0.list_watchers.append(lambda: losses.append(None))
    if way == "leave":
        kept.memberships["observer"].leave()
    else:
        kept.kill("observer")
    assert kept.run(lambda: not m0.is_present("observer"))
    assert m0.is_present("observer-2") and losses
    assert kept.keeper.members.version == 2


def test_a_client_that_was_given_up_changes_nothing_any_more() -> None:
    kept = Kept("m0", "m1", "observer", silence_limit=2.0)
    kept.pause("observer", 10)
    assert kept.run(lambda: not kept.memberships["m0"].is_present("observer"))
    kept.simulation.pass_time(10)
    assert "observer" in kept.ends
    outcome: list[PutOutcome] = []
    kept.memberships["observer"].put(ConditionalChange("key", b"late", None), outcome.append)
    assert kept.run(lambda: outcome)
    assert isinstance(outcome[0], OperationalError)
    assert "key" not in kept.keeper.documents
