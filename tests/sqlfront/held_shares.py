"""A look at what members hold of tables, by a light job."""

import pyarrow as pa

import sqlfront
from sqlfront_connectors.memory.exchange.service import EXCHANGE, RowExchange
from sqlfront_connectors.memory.spread.store import store_of
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink


class HeldShares(Processor, frozen=True):
    """A source of one row: the member, how many shares it holds, and the bytes of loads under way."""

    def run(self, context: ProcessorContext) -> Steps:
        store = store_of(context)
        exchange = store.get(EXCHANGE)
        staged = exchange.loads if isinstance(exchange, RowExchange) else {}
        row = {
            "member": [store.member],
            "shares": [len(store.keys_held)],
            "loads": [len(staged)],
            "staged": [sum(staged.values())],
        }
        yield pa.RecordBatch.from_pydict(row)


register_processor(f"{__name__}:HeldShares")


def shares(connection: sqlfront.Connection) -> list[tuple[object, ...]]:
    """How many shares each member has that has any."""
    return [(row["member"], row["shares"]) for row in _rows(connection) if row["shares"]]


def staged(connection: sqlfront.Connection) -> list[tuple[object, ...]]:
    """How many loads are under way on each member, if any, and how many bytes are staged there."""
    return [(row["member"], row["loads"], row["staged"]) for row in _rows(connection) if row["loads"]]


def _rows(connection: sqlfront.Connection) -> list[dict[str, object]]:
    """What each member says; the members' service has to import this module."""
    dag = DAG()
    source = dag.vertex("shares", HeldShares(), 1)
    dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
    cluster = connection.session.cluster
    assert cluster is not None
    batches = cluster.coordinator.submit(dag).batches()
    return sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: str(row["member"]))
