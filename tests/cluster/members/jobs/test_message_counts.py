"""The light job's promise, counted on processes: one init and one answer per participant, and no other
message but data, which is counted apart."""

from collections import Counter
from collections.abc import Iterator

import pytest

from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import JobConfig
from tests.cluster.members.cluster import Endless
from tests.cluster.members.jobs.test_leftovers import PRELOAD, exchanged, lookup
from tests.cluster.members.probe import ask
from tests.engine.jobs import First, Numbers

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("message counts")

JOBS = 20
#: What belongs to the membership, and comes by the clock.
MEMBERSHIP = ("Heartbeat", "HeartbeatAnswer", "ListAdopted", "DocumentsSeen")
#: What belongs to streams of data, and may depend on the clock.
FLOW = ("Data", "Acknowledge", "InputClosed")
TO_MEMBERS, TO_CLIENT = "to members", "to the client"


@pytest.fixture(scope="module")
def client() -> Iterator[RunningMember]:
    with LocalCluster(3, workers=1, preload=PRELOAD) as cluster, cluster.client() as client:
        ask(client.member)
        yield client


def counted(client: RunningMember, dag: DAG, config: JobConfig) -> tuple[Counter[str], Counter[str]]:
    """Messages of some jobs that the client exchanges with members, and that members send to each other."""

    def at_client() -> Counter[str]:
        statistics = client.membership.statistics()
        found = Counter[str]()
        for peer in statistics.peers:
            for direction, kinds in ((TO_MEMBERS, peer.sent), (TO_CLIENT, peer.received)):
                for kind, traffic in kinds.items():
                    if kind not in MEMBERSHIP:
                        found[f"{kind} {direction}"] += traffic.messages
        return found

    def between_members() -> Counter[str]:
        found = Counter[str]()
        reports = ask(client.member)
        for each in reports.values():
            for receiver, kinds in each.sent.items():
                if receiver in reports:
                    found.update(kinds)
        return found

    others_before = between_members()
    before = at_client()
    for _ in range(JOBS):
        list(client.member.submit(dag, config).batches())
    after = at_client()
    found, others = after - before, between_members() - others_before
    return found, others


def control(found: Counter[str]) -> dict[str, int]:
    """All but data."""
    return {kind: count for kind, count in found.items() if not kind.startswith(FLOW)}


@pytest.mark.parametrize("inline", [False, True], ids=["on workers", "inline"])
def test_a_lookup_on_one_member_costs_an_init_an_answer_and_its_rows(
    client: RunningMember, inline: bool
) -> None:
    found, others = counted(client, lookup(), JobConfig(required_partitions=frozenset({1}), inline=inline))

    # The rows bring the end of the stream, and those of a small job are the answer, too.
    answers = {} if inline else {"Completed to the client": JOBS}
    assert found == {"Init to members": JOBS, **answers, "Data to the client": JOBS}
    assert others == {}


@pytest.mark.parametrize("inline", [False, True], ids=["on workers", "inline"])
def test_an_exchange_over_three_members_costs_three_inits_and_answers(
    client: RunningMember, inline: bool
) -> None:
    found, others = counted(client, exchanged(Numbers(30)), JobConfig(inline=inline))

    answers = {} if inline else {"Completed to the client": 3 * JOBS}
    assert control(found) == {"Init to members": 3 * JOBS, **answers}
    assert control(others) == {}
    assert others["Data"] >= 6 * JOBS
    print({kind: count / JOBS for kind, count in (found + others).items()})


def test_a_limit_says_once_to_each_sender_that_it_has_enough(client: RunningMember) -> None:
    found, others = counted(client, exchanged(Endless(), First(2)), JobConfig())

    assert control(found) == {"Init to members": 3 * JOBS, "Completed to the client": 3 * JOBS}
    assert found["InputClosed to members"] == 3 * JOBS
    assert others == {}
