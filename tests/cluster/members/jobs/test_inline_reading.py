"""Who reads an inline job's result runs the job's tasklets while it attends the members, handling their
messages."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from sqlfront_cluster.members.protocol.messages import Data
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_values.expressions import AggregateCall
from sqlfront_values.types import BIGINT
from tests.cluster.members.cluster import Cluster
from tests.cluster.members.jobs.test_leftovers import exchanged
from tests.engine.jobs import Numbers

COUNT = Aggregate((), (AggregateCall("count", (), BIGINT),), AggregateMode.SINGLE, pa.schema([("n", BIGINT)]))


def attended(rows: int) -> tuple[list[int], int]:
    """Count so many rows of three members at a client. The answers: for each time that the client attends
    them the Data messages until then, and all such messages."""
    cluster = Cluster(3, "client")
    transport = cluster.simulation.machines["client"].transport
    attend, times = transport.attend, list[int]()

    def sent() -> int:
        return sum(isinstance(message, Data) for _, _, message in cluster.said)

    def note(peers: Sequence[Peer], done: Callable[[], bool]) -> bool:
        times.append(sent())
        return attend(peers, done)

    transport.attend = note  # type: ignore[method-assign, assignment]
    job = cluster.submit(exchanged(Numbers(rows, 100), COUNT), "client", JobConfig(inline=True))
    assert [batch.column(0).to_pylist() for batch in job.batches()] == [[rows]]
    return times, sent()


def test_the_reader_attends_once_for_all_rows_of_three_members() -> None:
    times, sent = attended(9_000)

    assert times in ([0], [0, sent])  # and perhaps for the last answer
    assert sent == 90


def test_with_many_rows_each_step_runs_unattended() -> None:
    times, sent = attended(20_000)

    assert len(times) > 50
    assert sent == 200
