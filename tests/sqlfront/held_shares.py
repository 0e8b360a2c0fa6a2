"""A look at what members hold of tables, by a light job."""

import pyarrow as pa

import sqlfront
from sqlfront_connectors.memory.store import STORE, store_of
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink


class HeldShares(Processor, frozen=True):
    """A source of one row: the member, and how many shares it holds."""

    def run(self, context: ProcessorContext) -> Steps:
        store = store_of(context)
        row = {"member": [store.member], "shares": [len(set(store) - {STORE})]}
        yield pa.RecordBatch.from_pydict(row)


register_processor(f"{__name__}:HeldShares")


def shares(connection: sqlfront.Connection) -> list[tuple[object, ...]]:
    """How many shares each member has that has any; the members' service has to import this module."""
    dag = DAG()
    source = dag.vertex("shares", HeldShares(), 1)
    dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    cluster = connection.session.cluster
    assert cluster is not None
    batches = cluster.coordinator.submit(dag).batches()
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist() if row["shares"])
