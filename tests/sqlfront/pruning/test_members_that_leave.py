"""A member that a query doesn't need may leave while it runs (Hazelcast's SqlPrunedMemberLeftTest)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from sqlfront_cluster.members.protocol.messages import Init
from sqlfront_connectors.base import Partitioning, ScanRequest
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher
from tests.sqlfront.simulated import TableTown

KEY, ROWS = 5, 6144
PARTITION = key_hasher([pa.int64()])((KEY,)) % 271


def town() -> TableTown:
    """Three members and a client, with a table of which one key has many rows."""
    made = TableTown("m0", "m1", "m2", "client-0", seed=5)
    rows = [*((KEY, value) for value in range(ROWS)), *((key, 0) for key in range(100, 200))]
    made.create("client-0", Partitioning((0,), 271), tuple(sorted(rows)))
    return made


def lookup(town: TableTown) -> LightJob:
    """SELECT * FROM t WHERE k = 5, as a job of one instance a member."""
    session = town.sessions["client-0"]
    table = session.only_table()
    assert table is not None
    planned = table.snapshot().scan(ScanRequest((0, 1), by=(0,), keys=((KEY,),)))
    dag = DAG()
    source = dag.vertex("scan", planned.source, 1)
    dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    return session.submit(dag, JobConfig(resources=planned.resources))


def rows_of(town: TableTown, job: LightJob) -> int:
    """The number of rows of the result."""
    found: list[int] = []

    def at_end() -> bool:
        while (batch := job.poll()) is not NOTHING:
            if batch is None:
                return True
            assert isinstance(batch, pa.RecordBatch)
            found.append(batch.num_rows)
        return False

    assert town.run(at_end, 60)
    return sum(found)


def killed(town: TableTown, member: str) -> None:
    town.kill(member)


def left(town: TableTown, member: str) -> None:
    town.memberships[member].leave()


# Who leaves before a member has begun to read deals the partitions anew: such a query is to be run again.
@pytest.mark.parametrize(("goes", "after"), [(killed, 0.0), (killed, 0.0005), (killed, 0.002), (left, 0.002)])
def test_all_rows_arrive_when_a_pruned_member_goes(
    goes: Callable[[TableTown, str], None], after: float
) -> None:
    here = town()
    owner = here.keeper.members.owners[PARTITION]
    pruned = next(name for name in ("m0", "m1", "m2") if name != owner)
    said = len(here.said)
    job = lookup(here)
    here.simulation.pass_time(after)
    goes(here, pruned)

    assert rows_of(here, job) == ROWS
    asked = {receiver for _, receiver, message in here.said[said:] if isinstance(message, Init)}
    assert asked == {owner}


def test_without_its_owner_a_key_is_lost() -> None:
    here = town()
    job = lookup(here)
    here.kill(here.keeper.members.owners[PARTITION])

    with pytest.raises(OperationalError):
        rows_of(here, job)
