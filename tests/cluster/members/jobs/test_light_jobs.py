"""Light jobs on several members: right answers, few messages, and nothing left behind."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.jobs.participation import Participation
from sqlfront_cluster.members.protocol.messages import CheckJobs, Completed, Data, Init, Terminate
from sqlfront_cluster.network.transport import Part
from sqlfront_engine.dag import DAG, Edge, EdgeConfig, OnlyOn
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import DataError, InterfaceError, OperationalError
from tests.cluster.members.cluster import Cluster, Drain, Endless
from tests.engine.jobs import Fails, First, Numbers

#: Little is under way, so that endless jobs don't take long.
SMALL = EdgeConfig(queue_size=4, receive_window=20_000)
ROWS = 500
EVERYTHING = list(range(ROWS))


def exchanged(route: Callable[[Edge], Edge], source: Processor | None = None) -> DAG:
    """Numbers of all members go through an edge and are collected at the coordinator."""
    dag = DAG()
    origin, between = dag.vertex("numbers", source or Numbers(ROWS), 2), dag.vertex("between", Forward(), 3)
    dag.edge(replace(route(Edge.between(origin, between)), config=SMALL))
    collected = Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to()
    return dag.edge(replace(collected, config=SMALL))


@pytest.mark.parametrize(("limit", "rows"), [(80, 10), (8, 1), (1, 1), (8 * ROWS, ROWS)])
def test_a_data_message_has_at_most_the_limit_of_bytes(limit: int, rows: int) -> None:
    cluster = Cluster(3)
    dag = DAG()
    source, result = dag.vertex("numbers", Numbers(3 * ROWS, ROWS), 1), dag.vertex("result", ResultSink())
    edge = Edge.between(source, result).to_one().distribute_to()
    dag.edge(replace(edge, config=EdgeConfig(packet_size_limit=limit)))
    found = cluster.run(dag)

    assert sorted(found) == list(range(3 * ROWS))
    brought = Counter(
        sender for sender, _, message in cluster.said if isinstance(message, Data) and message.edge == 0
    )
    assert brought == {"m1": ROWS // rows, "m2": ROWS // rows}


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("coordinator", ["m0", "client"])
@pytest.mark.parametrize(
    "route",
    [
        Edge.unicast,
        Edge.isolated,
        lambda edge: edge.partitioned([0]),
        lambda edge: edge.distributed().partitioned([0]),
        Edge.distributed,
        lambda edge: edge.distributed().to_one(7),
        lambda edge: edge.to_one().distribute_to("m0"),
        lambda edge: edge.partitioned([0]).distribute_to(),
    ],
    ids=["unicast", "isolated", "partitioned", "exchanged", "balanced", "to-one", "to-m0", "to-coordinator"],
)
def test_no_row_is_lost_or_doubled(members: int, coordinator: str, route: Callable[[Edge], Edge]) -> None:
    cluster = Cluster(members, "client")

    assert sorted(cluster.run(exchanged(route), coordinator)) == EVERYTHING
    assert cluster.leftovers() == {}


@pytest.mark.parametrize(
    ("route", "copies"),
    [
        (lambda edge: edge.distributed().broadcast(), 9),  # three members with three instances
        (lambda edge: edge.broadcast(), 3),
        (lambda edge: edge.distributed().fanout(), 3),
        (lambda edge: edge.fanout(), 1),
    ],
    ids=["broadcast", "local-broadcast", "fanout", "local-fanout"],
)
def test_copies_of_rows(route: Callable[[Edge], Edge], copies: int) -> None:
    assert sorted(Cluster().run(exchanged(route))) == sorted(EVERYTHING * copies)


def test_a_job_costs_one_init_and_one_answer_per_other_participant() -> None:
    cluster = Cluster()
    cluster.run(exchanged(lambda edge: edge.distributed().partitioned([0])))
    cluster.simulation.pass_time(60)

    assert cluster.counts()["Init"] == cluster.counts()["Completed"] == 2
    assert set(cluster.counts()) == {"Init", "Completed", "Data"}


def test_a_job_of_one_member_costs_no_message() -> None:
    cluster = Cluster()
    dag = DAG()
    dag.edge(
        Edge.between(dag.vertex("numbers", Numbers(ROWS), None, OnlyOn()), dag.vertex("result", ResultSink()))
    )

    assert sorted(cluster.run(dag)) == EVERYTHING
    assert cluster.said == []


def test_required_partitions_prune_members() -> None:
    cluster = Cluster()
    dag = DAG()
    result = dag.vertex("result", ResultSink())
    dag.edge(Edge.between(dag.vertex("numbers", Numbers(ROWS), 1), result).to_one().distribute_to())
    only_m1 = JobConfig(required_partitions=frozenset({1, 4}))

    assert sorted(cluster.run(dag, "m0", only_m1)) == EVERYTHING
    assert {receiver for _, receiver, message in cluster.said if isinstance(message, Init)} == {"m1"}


def test_a_limit_stops_the_sources_of_other_members() -> None:
    cluster = Cluster()
    dag = DAG()
    origin, first = dag.vertex("numbers", Endless(), 1), dag.vertex("first", First(3), 1)
    dag.edge(Edge.between(origin, first).to_one().distribute_to())
    dag.edge(Edge.between(first, dag.vertex("result", ResultSink())))

    assert len(cluster.run(dag)) == 1500
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}
    assert cluster.counts()["InputClosed"] == 2
    assert "Terminate" not in cluster.counts()


# ---- failing, cancelling


def failing(on: str) -> DAG:
    """One member's instance raises; the others would go on for ever."""
    dag = DAG()
    result = dag.vertex("result", ResultSink())
    origin = dag.vertex("numbers", Endless(), 1)
    dag.edge(Edge.from_(origin).to(result).to_one().distribute_to())
    source = dag.vertex("bad numbers", Numbers(40), 1, OnlyOn(on))
    fail = dag.vertex("fail", Fails(2), 1, OnlyOn(on))
    dag.edge(Edge.between(source, fail))
    return dag.edge(Edge.from_(fail).to(result, 1).to_one().distribute_to())


@pytest.mark.parametrize("on", ["m0", "m2"])
def test_a_failure_anywhere_ends_the_job_everywhere_with_the_real_error(on: str) -> None:
    cluster = Cluster()

    with pytest.raises(DataError, match="Division by zero") as caught:
        cluster.run(failing(on))
    assert (caught.value.vertex, caught.value.member) == ("fail", on)
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def endless() -> DAG:
    return exchanged(lambda edge: edge.distributed().partitioned([0]), Endless())


def stubborn() -> DAG:
    """A job whose parts nobody but the coordinator can end."""
    dag = endless()
    numbers, drain = dag.vertex("local numbers", Endless(), 1), dag.vertex("drain", Drain(), 1)
    return dag.edge(Edge.between(numbers, drain).queue_size(1))


def test_cancelling_ends_the_job_on_all_members() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    assert [member.statistics().participations for member in cluster.members.values()] == [1, 1, 1]

    job.cancel()
    with pytest.raises(OperationalError, match="cancelled") as caught:
        cluster.read(job)
    assert caught.value.sqlstate == "HY008"
    assert cluster.counts()["Terminate"] == 2
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_a_timeout_is_told_apart_from_a_cancellation() -> None:
    cluster = Cluster()
    job = cluster.submit(endless(), config=JobConfig(timeout=0.02))

    with pytest.raises(OperationalError, match=r"timeout of 0\.02 s") as caught:
        cluster.read(job)
    assert caught.value.sqlstate == "57014"
    assert job.status is JobStatus.TIMED_OUT
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_an_abandoned_reader_cancels_the_job_everywhere() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    job.batches().close()
    cluster.simulation.pass_time(10)

    assert cluster.leftovers() == {}


def test_cancelling_twice_or_late_has_no_effect() -> None:
    cluster = Cluster()
    job = cluster.submit(exchanged(Edge.unicast))
    assert sorted(cluster.rows(job)) == EVERYTHING
    job.cancel()
    job.cancel()

    assert job.status is JobStatus.COMPLETED
    assert "Terminate" not in cluster.counts()


# ---- losing members


@pytest.mark.parametrize("how", ["killed", "cut off"])
def test_a_lost_participant_fails_the_job(how: str) -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    if how == "killed":
        cluster.simulation.machines["m2"].kill()
    else:
        cluster.simulation.cut("m0", "m2")

    with pytest.raises(OperationalError, match="member m2 was lost"):
        cluster.read(job)
    cluster.simulation.pass_time(10)
    assert cluster.leftovers(["m0", "m1"]) == {}


def test_a_participant_that_cannot_be_reached_fails_the_job_at_once() -> None:
    """Also if the coordinator itself exchanges no data with it, and is told before its own part begins."""
    cluster = Cluster()
    cluster.simulation.cut("m0", "m1")
    cluster.simulation.pass_time(1)
    dag = DAG()
    numbers, middle = dag.vertex("numbers", Numbers(ROWS), 2), dag.vertex("middle", Forward(), 1)
    dag.edge(Edge.between(numbers, middle).to_one().distribute_to("m2"))
    dag.edge(Edge.between(middle, dag.vertex("result", ResultSink())).to_one().distribute_to())

    with pytest.raises(OperationalError, match="member m1 was lost"):
        cluster.run(dag)
    assert cluster.leftovers(["m0", "m2"]) == {}


def test_a_lost_coordinator_ends_the_job_on_all_participants() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    assert job.status is JobStatus.RUNNING
    cluster.simulation.machines["m0"].kill()
    cluster.simulation.pass_time(10)

    assert cluster.leftovers(["m1", "m2"]) == {}


def test_a_pruned_member_may_leave() -> None:
    cluster = Cluster()
    dag = DAG()
    result = dag.vertex("result", ResultSink())
    dag.edge(Edge.between(dag.vertex("numbers", Numbers(5000), 1), result).to_one().distribute_to())
    job = cluster.submit(dag, config=JobConfig(required_partitions=frozenset({1})))
    cluster.simulation.pass_time(0.002)
    cluster.simulation.machines["m2"].kill()

    assert sorted(cluster.rows(job)) == list(range(5000))


# ---- messages that cross


def held_back(cluster: Cluster, kind: type, receiver: str) -> list[tuple[str, object]]:
    """Messages of that kind to that member don't arrive; they are noted instead."""
    kept: list[tuple[str, object]] = []

    def lose(sender: str, to: str, message: object) -> bool:
        if isinstance(message, kind) and to == receiver:
            kept.append((sender, message))
            return True
        return False

    cluster.lost = lose
    return kept


def deliver(cluster: Cluster, receiver: str, sender: str, message: object) -> None:
    member = cluster.members[receiver]
    member.received(member.peers[sender], message, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("lost", [False, True], ids=["all well", "one lost"])
def test_the_others_may_be_done_before_the_coordinator_has_begun(
    monkeypatch: pytest.MonkeyPatch, *, lost: bool
) -> None:
    cluster = Cluster()
    coordinator = cluster.members["m0"]
    participate = coordinator._participant.prepare

    def late(*arguments: Any) -> Any:
        if lost:
            cluster.simulation.machines["m2"].kill()
        cluster.simulation.pass_time(0.5)
        assert len(coordinator._coordinations) == 1
        return participate(*arguments)

    monkeypatch.setattr(coordinator._participant, "prepare", late)
    job = cluster.submit(exchanged(lambda edge: edge.partitioned([0])))

    if lost:
        with pytest.raises(OperationalError, match="member m2 was lost"):
            cluster.read(job)
    else:
        assert sorted(cluster.rows(job)) == EVERYTHING
    assert cluster.leftovers(["m0", "m1"]) == {}


def two_results() -> DAG:
    dag = exchanged(Edge.unicast)
    dag.edge(Edge.between(dag.vertex("others", Numbers(1), 1), dag.vertex("result 2", ResultSink(), 1)))
    return dag


@pytest.mark.parametrize(
    ("refused", "config", "reason"),
    [
        (lambda: exchanged(lambda edge: edge.isolated().distributed()), JobConfig(), "can't be distributed"),
        (two_results, JobConfig(), "at most one result"),
        (
            lambda: exchanged(Edge.unicast),
            JobConfig(required_partitions=frozenset({5, 271})),
            "no partition 271; there are 271",
        ),
        (
            lambda: exchanged(Edge.unicast),
            JobConfig(required_partitions=frozenset({-1})),
            "no partition -1; there are 271",
        ),
    ],
    ids=["isolated", "two results", "a partition too many", "a negative partition"],
)
def test_a_refused_dag_costs_no_message_and_one_member_refuses_the_same(
    refused: Callable[[], DAG], config: JobConfig, reason: str
) -> None:
    cluster = Cluster(3)
    for _ in range(5):
        with pytest.raises(InterfaceError, match=reason):
            cluster.submit(refused(), config=config)

    assert cluster.counts() == {}
    assert cluster.leftovers() == {}
    with Engine(workers=1) as alone, pytest.raises(InterfaceError, match=reason):
        alone.run(refused(), config)


def test_a_coordinator_that_cannot_start_its_part_has_the_others_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: Participation, on_end: object) -> None:
        raise InterfaceError("the engine is closed")

    cluster = Cluster(3)
    with monkeypatch.context() as patched:
        patched.setattr(Participation, "start", refuse)
        with pytest.raises(InterfaceError, match="is closed"):
            cluster.submit(exchanged(Edge.unicast))

    assert cluster.leftovers() == {}


def test_an_interrupt_before_the_submitter_has_the_job_ends_it_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster(3)

    def interrupted(timers: JobTimers) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(JobTimers, "watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cluster.submit(exchanged(lambda edge: edge.distributed().to_one(7), Endless()))

    assert cluster.leftovers() == {}


def test_data_before_the_init_is_kept_for_it() -> None:
    cluster = Cluster()
    kept = held_back(cluster, Init, "m2")
    job = cluster.submit(exchanged(lambda edge: edge.distributed().partitioned([0])))
    cluster.simulation.pass_time(2)
    assert cluster.members["m2"].statistics().early == 1

    cluster.lost = lambda *_: False
    deliver(cluster, "m2", *kept[0])
    assert sorted(cluster.rows(job)) == EVERYTHING
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_data_without_an_init_is_dropped_after_five_minutes() -> None:
    cluster = Cluster()
    held_back(cluster, Init, "m2")
    job = cluster.submit(exchanged(lambda edge: edge.distributed().partitioned([0])))
    cluster.simulation.pass_time(299)
    assert cluster.members["m2"].statistics().early == 1
    assert job.status is JobStatus.RUNNING
    cluster.simulation.pass_time(3)
    assert cluster.members["m2"].statistics().early == 0


def test_data_without_an_init_is_bounded_by_the_receive_window() -> None:
    cluster = Cluster()
    held_back(cluster, Init, "m2")
    arrived: Counter[str] = Counter()

    def count(sender: str, receiver: str, message: object, body: Sequence[Part]) -> None:
        if isinstance(message, Data) and receiver == "m2":
            arrived[sender] += sum(part.nbytes for part in body if isinstance(part, pa.RecordBatch))

    cluster.simulation.watch = count
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.5)
    early = dict(arrived)
    cluster.simulation.pass_time(0.4)

    # Nothing is acknowledged: each sender stops with the batch that passes its window.
    assert set(early) == {"m0", "m1"}
    assert early == arrived
    assert all(SMALL.receive_window < size <= SMALL.receive_window + 8 * ROWS for size in early.values())
    job.cancel()
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


@pytest.mark.parametrize(("seconds", "early"), [(4.0, 0), (7.0, 1)])
def test_data_after_a_failure_is_recognised_for_five_seconds(seconds: float, early: int) -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    job.cancel()
    cluster.simulation.pass_time(seconds)
    deliver(cluster, "m2", "m1", Data(job.id, 0, last=True))

    assert cluster.members["m2"].statistics().early == early


def test_a_terminate_before_the_init_drops_the_data() -> None:
    cluster = Cluster()
    held_back(cluster, Init, "m2")
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    job.cancel()
    cluster.simulation.pass_time(0.02)

    assert cluster.members["m2"].statistics().early == 0
    assert cluster.members["m2"].statistics().remembered == 1


def test_a_terminate_of_an_unknown_job_is_ignored() -> None:
    cluster = Cluster()
    deliver(cluster, "m2", "m1", Terminate(12345))

    assert cluster.leftovers() == {}


def test_an_init_after_the_terminate_is_ended_by_the_checker() -> None:
    cluster = Cluster()
    kept = held_back(cluster, Init, "m2")
    job = cluster.submit(stubborn())
    cluster.simulation.pass_time(0.02)
    job.cancel()
    cluster.simulation.pass_time(0.02)
    cluster.lost = lambda *_: False
    deliver(cluster, "m2", *kept[0])
    assert cluster.members["m2"].statistics().participations == 1

    cluster.simulation.pass_time(2.2)
    assert cluster.members["m2"].statistics().participations == 0
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_a_lost_terminate_is_made_good_by_the_checker() -> None:
    cluster = Cluster()
    job = cluster.submit(stubborn())
    cluster.simulation.pass_time(0.02)
    held_back(cluster, Terminate, "m2")
    job.cancel()
    cluster.simulation.pass_time(0.5)
    assert cluster.members["m2"].statistics().participations == 1

    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_a_second_init_of_a_job_is_refused_and_does_no_harm() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    init = next(message for _, to, message in cluster.said if isinstance(message, Init) and to == "m2")
    deliver(cluster, "m2", "m1", init)
    cluster.simulation.pass_time(0.02)
    answer = cluster.said[-1][2] if isinstance(cluster.said[-1][2], Completed) else None
    answers = [message for sender, to, message in cluster.said if isinstance(message, Completed)]

    assert answer is None or answer.status is JobStatus.FAILED
    assert [message.status for message in answers] == [JobStatus.FAILED]
    assert job.status is JobStatus.RUNNING


def answers_of(member: str, cluster: Cluster) -> list[Completed]:
    """The answers to Inits that ``member`` has sent."""
    return [message for name, _, message in cluster.said if name == member and isinstance(message, Completed)]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("passed", [0.0, 0.02])
def test_an_init_that_comes_twice_from_its_coordinator_begins_one_part(again: bool, passed: float) -> None:
    """A repeated Init overtakes the first one if that waits for its member list: the job failed."""
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.02)
    init = next(message for _, to, message in cluster.said if isinstance(message, Init) and to == "m2")
    cluster.simulation.pass_time(passed)
    deliver(cluster, "m2", "m0", replace(init, again=again))
    cluster.simulation.pass_time(0.02)

    assert not [message for _, _, message in cluster.said if isinstance(message, Completed)]
    assert job.status is JobStatus.RUNNING


@pytest.mark.parametrize("again", [False, True])
def test_an_init_that_comes_after_the_end_of_its_part_is_answered_as_before(again: bool) -> None:
    cluster = Cluster()
    cluster.run(exchanged(lambda edge: edge.distributed().partitioned([0])))
    init = next(message for _, to, message in cluster.said if isinstance(message, Init) and to == "m2")
    ends = answers_of("m2", cluster)
    deliver(cluster, "m2", "m0", replace(init, again=again))
    cluster.simulation.pass_time(0.02)

    assert len(ends) == 1
    assert answers_of("m2", cluster) == ends * 2
    assert len(cluster.members["m2"].engine.executions()) == 0


def test_an_id_is_coordinated_once() -> None:
    cluster = Cluster()
    cluster.members["m0"].coordinate(5, endless())

    with pytest.raises(InterfaceError, match="a job 5 already"):
        cluster.members["m0"].coordinate(5, endless())


def test_an_init_for_other_members_than_there_are_is_refused() -> None:
    cluster = Cluster()
    cluster.members["m2"].members = replace(cluster.list, version=2, valid_from=2)

    with pytest.raises(OperationalError, match="cluster has changed") as caught:
        cluster.run(endless())
    assert caught.value.sqlstate == "40001"
    cluster.simulation.pass_time(10)
    assert cluster.leftovers() == {}


def test_a_late_answer_is_ignored() -> None:
    cluster = Cluster()
    job = cluster.submit(exchanged(Edge.unicast))
    cluster.rows(job)
    deliver(cluster, "m0", "m2", Completed(job.id, JobStatus.COMPLETED))

    assert cluster.leftovers() == {}


def test_the_checker_asks_while_jobs_run_and_is_silent_without() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    cluster.simulation.pass_time(3.5)
    asked = [message for _, _, message in cluster.said if isinstance(message, CheckJobs)]
    assert len(asked) == 6  # two participants, three seconds

    job.cancel()
    cluster.simulation.pass_time(20)
    said = len(cluster.said)
    cluster.simulation.pass_time(100)
    assert len(cluster.said) == said


def test_a_job_that_ends_within_a_second_is_not_asked_about() -> None:
    """Though the checker is awake, because of the others."""
    cluster = Cluster()
    others = [cluster.submit(endless()) for _ in range(2)]
    cluster.simulation.pass_time(0.7)
    job = cluster.submit(endless())
    cluster.simulation.pass_time(0.9)
    job.cancel()
    cluster.simulation.pass_time(0.1)

    asked = {number for _, _, each in cluster.said if isinstance(each, CheckJobs) for number in each.jobs}
    assert asked == {each.id for each in others}


def test_running_jobs_are_listed_and_ended_ones_are_not() -> None:
    cluster = Cluster()
    job = cluster.submit(endless())
    (summary,) = cluster.members["m0"].jobs()
    assert (summary.id, summary.coordinator, summary.participants) == (job.id, "m0", ("m0", "m1", "m2"))

    job.cancel()
    cluster.simulation.pass_time(1)
    assert cluster.members["m0"].jobs() == ()


def test_the_same_seed_gives_the_same_run() -> None:
    def run(seed: int) -> list[tuple[str, str, str]]:
        cluster = Cluster(seed=seed)
        cluster.run(exchanged(lambda edge: edge.distributed().partitioned([0])))
        return [(sender, to, type(message).__name__) for sender, to, message in cluster.said]

    assert run(7) == run(7)
    assert any(run(7) != run(seed) for seed in range(8, 12))


@pytest.mark.parametrize("coordinator", ["m0", "client"])
def test_other_members_report_their_counters_if_asked(coordinator: str) -> None:
    cluster = Cluster(3, "client")
    job = cluster.submit(
        exchanged(lambda edge: edge.distributed().partitioned([0])),
        coordinator,
        JobConfig(statistics=True),
    )
    cluster.rows(job)
    statistics = job.statistics()
    by_member = statistics.members()
    source = next(vertex for vertex in statistics.vertices() if vertex.name == "numbers")

    assert statistics.participants[0] == coordinator
    assert list(by_member) == list(statistics.participants)
    assert set(by_member) >= {"m0", "m1", "m2"}
    assert source.rows_out == ROWS
    assert source.bytes_out == 8 * ROWS
    assert source.instances == 6  # two on each member


def test_other_members_report_nothing_unasked() -> None:
    cluster = Cluster(3, "client")
    job = cluster.submit(exchanged(lambda edge: edge.distributed().partitioned([0])), "client")
    cluster.rows(job)

    assert set(job.statistics().participants) == {"client", "m0", "m1", "m2"}
    assert job.statistics().others == {}
