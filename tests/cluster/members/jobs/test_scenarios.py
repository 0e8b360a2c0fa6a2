"""What Hazelcast's tests of light jobs check, and where it is checked here.

==========================================  ================================================================
Hazelcast                                   here
==========================================  ================================================================
LightJobTest: a DAG from member, lite       test_light_jobs: test_no_row_is_lost_or_doubled;
member, client; a pipeline                  tests/sqlfront/test_pipeline
LightJob_StandaloneClusterTest              below: lite members run no part, no data member;
                                            test_light_jobs: test_a_lost_coordinator_...
OperationLossTest: init lost                an init is lost with its connection only: test_light_jobs:
                                            test_a_lost_participant_fails_the_job
OperationLossTest: terminate lost           test_light_jobs: test_a_lost_terminate_is_made_good_by_the_checker
OperationLossTest: connection dropped       test_light_jobs: test_a_lost_participant_fails_the_job [cut off]
CancellationTest: one and several members   tests/engine/test_light_job: test_cancel_ends_the_job_...;
                                            test_light_jobs: test_cancelling_ends_the_job_on_all_members
CancellationTest: status, from a client     below: test_the_status_says_how_a_job_ended
CancellationTest: failure here, elsewhere   test_light_jobs: test_a_failure_anywhere_ends_...
CancellationTest: graceful shutdown         test_membership: test_who_leaves_goes_when_its_jobs_have_ended;
                                            launchers/test_local: test_a_member_leaves_...
CancellationTest: forced shutdown           below: test_a_closed_member_...; launchers/test_lifecycle
CancellationTest: completed, many cancel    test_light_jobs: test_cancelling_twice_or_late_has_no_effect;
                                            launchers/test_lifecycle: test_many_cancel_at_once
ExecutionLifecycleTest: who is closed       test_light_job: test_a_failure_frees_..., test_closing_...
ExecutionLifecycleTest: failures            below: at the beginning, at the end, at closing; test_light_jobs;
                                            user code: tests/engine/processors/user_code
ExecutionLifecycleTest: one of two fails    below: test_one_of_two_jobs_fails_and_the_other_goes_on
ExecutionLifecycleTest: before the start    below: test_a_job_is_cancelled_before_it_has_begun_anywhere
ExecutionLifecycleTest: (de)serialisation   below: test_a_plan_that_...
ExecutionLifecycleTest: member left         test_light_jobs: test_a_lost_...; launchers/test_local,
                                            test_lifecycle: killed while it coordinates, client killed
ExecutionLifecycleTest: who blocks          tests/engine/test_light_job: test_a_blocking_processor_...
..._RestartableExceptionTest                a light job fails with any error: test_light_jobs
JobTest: refused on light jobs              a LightJob has no such methods
JobTest, SingleMemberClientTest: listing    test_listing; tests/sqlfront/test_system_tables
==========================================  ================================================================

Races of messages (data before init, data and no init, data after the end, terminate before init, init after
terminate, a second init) are in test_light_jobs, and at random with faults in test_chaos.
"""

import msgspec
import pytest
from msgspec.structs import replace

from sqlfront_cluster.codec import ErrorData
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.members.protocol.messages import Completed, Init
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import DataError, Error, OperationalError
from tests.cluster.members.cluster import Cluster, Endless
from tests.cluster.members.jobs.test_light_jobs import ROWS, deliver, endless, exchanged, held_back
from tests.engine.jobs import Fails, First, Numbers

for _name in ("FailsAtTheEnd", "FailsWhenClosed"):
    register_processor(f"tests.cluster.members.jobs.test_scenarios:{_name}")

EVERYTHING = list(range(ROWS))


class FailsAtTheEnd(Processor, frozen=True):
    """Takes its whole input, then raises."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch
        raise DataError("failed at the end")


class FailsWhenClosed(Processor, frozen=True):
    """Passes on what comes, and raises when it is to free what it holds."""

    def run(self, context: ProcessorContext) -> Steps:
        try:
            while (batch := (yield Take(0))) is not None:
                yield batch
        except GeneratorExit:
            raise DataError("failed to close") from None


class Untransportable(Processor, frozen=True):
    """A processor with data that no message can carry."""

    data: object = msgspec.field(default_factory=object)

    def run(self, context: ProcessorContext) -> Steps:
        yield from ()


def through(processor: Processor, source: Processor | None = None) -> DAG:
    """Rows of all members, through the processor on each."""
    dag = DAG()
    numbers = dag.vertex("numbers", source or Numbers(ROWS), 1)
    between = dag.vertex("between", processor, 1)
    dag.edge(Edge.between(numbers, between).distributed())
    return dag.edge(Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to())


def quiet(cluster: Cluster) -> None:
    """Nothing is left of any job."""
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


# ---- where it runs


@pytest.mark.parametrize("coordinator", ["m1", "client"])
def test_lite_members_run_no_part_but_what_they_coordinate(coordinator: str) -> None:
    cluster = Cluster(3, "client", "other client")

    assert sorted(cluster.run(exchanged(Edge.distributed), coordinator)) == EVERYTHING
    told = {receiver for _, receiver, message in cluster.said if isinstance(message, Init)}
    assert told == {"m0", "m1", "m2"} - {coordinator}


def test_without_a_data_member_no_job_runs() -> None:
    cluster = Cluster(1, "client")
    cluster.members["client"].members = MemberList(2, (MemberInfo("client", lite=True),), ("",) * 271)

    with pytest.raises(OperationalError, match="no data member is left"):
        cluster.submit(exchanged(Edge.distributed), "client")
    quiet(cluster)


# ---- how it ends


def test_the_status_says_how_a_job_ended() -> None:
    cluster = Cluster(3, "client")
    right = cluster.submit(exchanged(Edge.distributed), "client")
    cancelled, failed = cluster.submit(endless(), "client"), cluster.submit(through(Fails(0)), "client")
    assert right.status is cancelled.status is JobStatus.RUNNING

    cancelled.cancel()
    cluster.rows(right)
    for job in (cancelled, failed):
        with pytest.raises(Error):
            cluster.rows(job)
    assert (right.status, cancelled.status, failed.status) == (
        JobStatus.COMPLETED,
        JobStatus.CANCELLED,
        JobStatus.FAILED,
    )
    quiet(cluster)


@pytest.mark.parametrize("coordinator", ["m0", "client"])
@pytest.mark.parametrize("closed", ["coordinator", "participant"])
def test_a_closed_member_ends_its_jobs_and_those_of_others_on_it(coordinator: str, closed: str) -> None:
    cluster = Cluster(3, "client")
    job = cluster.submit(endless(), coordinator)
    cluster.simulation.pass_time(0.05)
    name = coordinator if closed == "coordinator" else "m2"
    cluster.members[name].close()

    with pytest.raises(OperationalError, match=r"cancelled|member m2 was lost"):
        cluster.rows(job)
    cluster.simulation.pass_time(10)
    assert cluster.leftovers([each for each in cluster.members if each != name]) == {}


def test_one_of_two_jobs_fails_and_the_other_goes_on() -> None:
    cluster = Cluster()
    good, bad = cluster.submit(through(Forward())), cluster.submit(through(Fails(1)))

    with pytest.raises(DataError, match="Division by zero"):
        cluster.rows(bad)
    assert sorted(cluster.rows(good)) == EVERYTHING
    quiet(cluster)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("coordinator", ["m0", "client"])
def test_a_job_is_cancelled_before_it_has_begun_anywhere(seed: int, coordinator: str) -> None:
    cluster = Cluster(3, "client", seed=seed)
    job = cluster.submit(exchanged(Edge.distributed), coordinator)
    job.cancel()

    with pytest.raises(OperationalError, match="cancelled"):
        cluster.rows(job)
    quiet(cluster)


def test_a_failure_at_the_end_is_a_failure() -> None:
    cluster = Cluster()
    with pytest.raises(DataError, match="failed at the end"):
        cluster.run(through(FailsAtTheEnd()))
    quiet(cluster)


def test_a_failure_to_close_is_logged_and_the_job_ends_well() -> None:
    """Some rows are enough, so that the others' producers are closed."""
    cluster = Cluster()
    dag = DAG()
    numbers, fails = dag.vertex("numbers", Endless(), 1), dag.vertex("fails", FailsWhenClosed(), 1)
    first = dag.vertex("first", First(2), 1)
    dag.edge(Edge.between(numbers, fails).isolated())
    dag.edge(Edge.between(fails, first).to_one().distribute_to())
    dag.edge(Edge.between(first, dag.vertex("result", ResultSink())))

    assert len(cluster.run(dag)) == 1000
    quiet(cluster)


# ---- plans that do not arrive


def test_a_plan_that_cannot_be_sent_fails_and_leaves_nothing() -> None:
    cluster = Cluster()
    with pytest.raises(Error, match="object"):
        cluster.submit(through(Untransportable()))
    quiet(cluster)
    assert cluster.said == []


def test_a_plan_that_cannot_be_read_is_refused_and_leaves_nothing() -> None:
    cluster = Cluster()
    kept = held_back(cluster, Init, "m2")
    job = cluster.submit(exchanged(Edge.distributed))
    cluster.simulation.pass_time(0.05)
    cluster.lost = lambda *_: False
    (sender, init) = kept[0]
    assert isinstance(init, Init)
    deliver(cluster, "m2", sender, replace(init, dag=b"no plan"))

    with pytest.raises(Error, match="malformed"):
        cluster.rows(job)
    answers = [each for _, _, each in cluster.said if isinstance(each, Completed)]
    assert any(isinstance(each.error, ErrorData) for each in answers)
    quiet(cluster)
