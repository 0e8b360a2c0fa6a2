"""The queries of all members: listed and cancelled from anywhere."""

import re

import pytest
from msgspec.structs import replace

from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import JobList, ListJobs
from sqlfront_cluster.members.questions.listing import LISTING_TIMEOUT, JobListing
from sqlfront_engine.dag import DAG, Edge, EdgeConfig, OnlyOn
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Cluster, Endless

FOREVER = JobConfig(description="select for ever")
#: Little is under way, so that endless jobs don't take long.
SMALL = EdgeConfig(queue_size=4, receive_window=20_000)


def endless() -> DAG:
    dag = DAG()
    source = dag.vertex("numbers", Endless(), 1)
    collected = Edge.between(source, dag.vertex("result", ResultSink())).to_one().distribute_to()
    return dag.edge(replace(collected, config=SMALL))


def begin(cluster: Cluster, at: str) -> LightJob:
    """An endless query on all members, some milliseconds later."""
    job = cluster.submit(endless(), at, FOREVER)
    cluster.simulation.pass_time(0.02)
    return job


def listing(cluster: Cluster, at: str) -> tuple[JobListing, float]:
    """What a member hears, and after how many seconds."""
    found: list[JobListing] = []
    began = cluster.simulation.time
    cluster.members[at].list_jobs(found.append)
    assert cluster.simulation.run(lambda: bool(found))
    return found[0], cluster.simulation.time - began


def ended(cluster: Cluster, jobs: list[LightJob]) -> bool:
    for job in jobs:
        job.cancel()
    return cluster.leftovers() == {}


@pytest.mark.parametrize("at", ["m0", "m1", "client"])
def test_every_member_lists_the_queries_of_all(at: str) -> None:
    cluster = Cluster(3, "client")
    jobs = [begin(cluster, "m0"), begin(cluster, "client")]

    found, seconds = listing(cluster, at)

    assert [(each.id, each.coordinator, each.status, each.description) for each in found.jobs] == [
        (jobs[0].id, "m0", JobStatus.RUNNING, "select for ever"),
        (jobs[1].id, "client", JobStatus.RUNNING, "select for ever"),
    ]
    assert [sorted(each.participants) for each in found.jobs] == [
        ["m0", "m1", "m2"],
        ["client", "m0", "m1", "m2"],
    ]
    assert found.jobs[0].seconds == pytest.approx(0.04, abs=0.02)
    assert found.jobs[0].started < found.jobs[1].started
    assert found.silent == ()
    assert seconds < 0.02
    assert ended(cluster, jobs)


def test_a_listing_costs_one_question_and_one_answer_per_other_member() -> None:
    cluster = Cluster(3)
    listing(cluster, "m0")
    cluster.simulation.pass_time(10)

    assert cluster.counts() == {"ListJobs": 2, "JobList": 2}
    assert cluster.leftovers() == {}


def test_a_member_alone_asks_nobody() -> None:
    cluster = Cluster(1)
    job = cluster.submit(endless(), config=FOREVER)
    found: list[JobListing] = []
    cluster.members["m0"].list_jobs(found.append)

    assert [each.id for each in found[0].jobs] == [job.id]
    assert ended(cluster, [job])


def test_queries_of_one_member_alone_are_listed() -> None:
    cluster = Cluster(2, "client")
    dag = DAG()
    dag.edge(Edge.between(dag.vertex("numbers", Endless(), 1, OnlyOn()), dag.vertex("result", ResultSink())))
    job = cluster.members["client"].engine.run(dag, FOREVER)

    found, _ = listing(cluster, "m1")

    assert [(each.id, each.coordinator, each.participants) for each in found.jobs] == [
        (job.id, "client", ("client",))
    ]
    assert ended(cluster, [job])


def test_clients_that_are_not_connected_see_each_others_queries() -> None:
    cluster = Cluster(2, "client", "other")
    cluster.simulation.cut("client", "other")
    job = begin(cluster, "other")

    found, _ = listing(cluster, "client")

    assert [(each.id, each.coordinator) for each in found.jobs] == [(job.id, "other")]
    assert ended(cluster, [job])


def test_a_connection_that_breaks_while_it_is_looked_whom_to_ask_does_no_harm() -> None:
    cluster = Cluster(3)
    asking = cluster.members["m0"]

    class Looked(MemberList, frozen=True):
        def __contains__(self, name: object) -> bool:
            asking.peers.pop("m2", None)
            return super().__contains__(name)

    asking.members = Looked(1, cluster.list.members, cluster.list.owners)

    assert listing(cluster, "m0")[0] == JobListing(())


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_lost_member_is_not_waited_for(when: str) -> None:
    cluster = Cluster(3, "client")
    job = begin(cluster, "m2")
    if when == "before":
        cluster.simulation.machines["m2"].kill()
        cluster.simulation.pass_time(0.1)
    else:
        cluster.lost = lambda sender, receiver, message: receiver == "m2" and isinstance(message, ListJobs)
        cluster.simulation.at(cluster.simulation.time + 0.1, cluster.simulation.machines["m2"].kill)

    found, seconds = listing(cluster, "client")

    assert (found.jobs, found.silent) == ((), ())
    assert seconds < LISTING_TIMEOUT / 2
    assert cluster.leftovers(["m0", "m1", "client"]) == {}
    del job


def test_a_paused_member_is_named_after_the_time_for_answers() -> None:
    cluster = Cluster(3)
    job = begin(cluster, "m0")
    cluster.simulation.machines["m2"].pause(3)

    found, seconds = listing(cluster, "m1")

    assert [each.id for each in found.jobs] == [job.id]
    assert found.silent == ("m2",)
    assert seconds == pytest.approx(LISTING_TIMEOUT)
    cluster.simulation.pass_time(5)  # its late answer comes
    assert sum(isinstance(message, JobList) for _, _, message in cluster.said) == 2
    assert ended(cluster, [job])


def test_a_paused_client_is_named_and_the_others_are_listed() -> None:
    cluster = Cluster(2, "client", "paused")
    cluster.simulation.cut("client", "paused")
    job = begin(cluster, "m1")
    cluster.simulation.machines["paused"].pause(3)

    found, seconds = listing(cluster, "client")

    assert [each.id for each in found.jobs] == [job.id]
    assert found.silent == ("paused",)
    assert seconds < LISTING_TIMEOUT
    cluster.simulation.pass_time(5)
    assert ended(cluster, [job])


# ---- cancelling


@pytest.mark.parametrize("at", ["m0", "m1", "client", "other"])
@pytest.mark.parametrize("coordinator", ["m0", "client"])
def test_a_query_is_cancelled_from_any_member(at: str, coordinator: str) -> None:
    cluster = Cluster(3, "client", "other")
    cluster.simulation.cut("client", "other")
    job, stays = begin(cluster, coordinator), begin(cluster, "m0")
    cluster.members[at].cancel(job.id, coordinator, f"a wish at {at}")

    text = re.escape(f"[OPERATION_CANCELED] the query was cancelled by a wish at {at} SQLSTATE: HY008")
    with pytest.raises(OperationalError, match=text):
        cluster.read(job)

    assert job.status is JobStatus.CANCELLED
    assert stays.status is JobStatus.RUNNING
    assert [each.id for each in listing(cluster, at)[0].jobs] == [stays.id]
    assert ended(cluster, [stays])


def test_cancelling_what_has_ended_has_no_effect() -> None:
    cluster = Cluster(2)
    job = begin(cluster, "m0")
    for at in ("m0", "m1"):
        cluster.members[at].cancel(job.id + 1, "m0")
        cluster.members[at].cancel(job.id, "m9")
    cluster.simulation.pass_time(1)

    assert job.status is JobStatus.RUNNING
    assert ended(cluster, [job])
