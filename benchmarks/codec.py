"""Costs of encoding and decoding plans and batches for other members, beside pickle.

    python -m benchmarks.codec

Microseconds of CPU (median of 15 rounds) to encode and decode the DAGs of a lookup and of TPC-H's eighth
query: for the first time (types and schemas are known, the DAG is not), for another run of the same plan,
with one new processor, and for the same run again. Then batches, with plain and with dictionary strings:
microseconds, and gigabytes a second. The last line is the interpreter's own speed, for comparisons between
runs on different or busy machines.
"""

import pickle
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pyarrow as pa

import sqlfront
from sqlfront.lanes.jobs import plan_job
from sqlfront_cluster.codec import BatchDecoder, BatchEncoder, dags, decode_dag, encode_dag
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.project import Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_planner.binder import Arguments
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, STRING
from tests.tpch.answers import query
from tests.tpch.data import TABLES, tpch_folder

ROUNDS = 15

T = TypeVar("T")


def microseconds(work: Callable[[T], object], prepare: Callable[[int], T], calls: int = 50) -> float:
    """The median CPU time of one call of `work`; `prepare` makes each call's input from the call's number
    beforehand."""
    rounds = []
    for number in range(ROUNDS):
        inputs = [prepare(number * calls + call) for call in range(calls)]
        start = time.thread_time_ns()
        for each in inputs:
            work(each)
        rounds.append((time.thread_time_ns() - start) / calls / 1000)
    return statistics.median(rounds)


def scan(key: int) -> MemoryScan:
    return MemoryScan("t@1", "t", (0, 1), Partitioning((0,), 271), ((Literal(BIGINT, key),),))


def lookup() -> DAG:
    """The DAG of a lookup: scan of one key, filter, projection, result."""
    name = Column(STRING, 1, "s")
    dag = DAG()
    steps = [
        dag.vertex("scan", scan(42), 1),
        dag.vertex("filter", Filter(Call(BOOLEAN, "is_not_null", (name,))), 1),
        dag.vertex("project", Project((name,), pa.schema([("s", STRING)])), 1),
        dag.vertex("result", ResultSink(), 1),
    ]
    for source, destination in pairwise(steps):
        dag.edge(Edge.between(source, destination))
    dag.lock()
    return dag


def query_8() -> DAG:
    """The DAG of TPC-H's eighth query over Parquet files."""
    session = sqlfront.Session()
    for table in TABLES:
        session.sql(f"CREATE TABLE {table} USING parquet LOCATION '{tpch_folder() / table}.parquet'")
    arguments = Arguments.of(None)
    statement = parse(query("q8"))
    assert isinstance(statement, Query)
    dag, _ = plan_job(session.context, statement, arguments).bind(arguments.values)
    dag.lock()
    return dag


def measure_dag(name: str, dag: DAG, another: Callable[[int], DAG]) -> None:
    """Print a line for a DAG; `another` gives the DAG of the plan's run with the given number."""

    def fresh(number: int) -> DAG:
        copy = another(number)
        copy._derived = {}
        return copy

    def forget(_: int) -> bytes:
        dags._templates.clear()
        return sent

    def decode_first(data: bytes) -> None:
        dags._templates.clear()
        decode_dag(data)

    sent = encode_dag(dag)
    figures = [
        microseconds(encode_dag, fresh),
        microseconds(encode_dag, another),
        microseconds(encode_dag, lambda _: dag),
        microseconds(decode_first, forget),
        microseconds(decode_dag, lambda number: encode_dag(another(number))),
        microseconds(decode_dag, lambda _: sent),
    ]
    parts = [(vertex.name, vertex.processor) for vertex in dag], len(dag.edges)
    pickled = pickle.dumps(parts, 5)
    figures += [
        microseconds(lambda _: pickle.dumps(parts, 5), int),
        microseconds(lambda _: pickle.loads(pickled), int),
    ]
    columns = "".join(f"{figure:9.1f}" for figure in figures)
    print(f"{name:10}{len(dag):4} vertices {len(sent):6} bytes{columns}")


def measure_batch(name: str, batch: pa.RecordBatch) -> None:
    """Print a line for a batch that follows others of its stream."""
    encoder, decoder = BatchEncoder(), BatchDecoder()
    first = encoder.encode(batch)
    decoder.decode(first.schema, pa.py_buffer(b"".join(first.body)))
    body = pa.py_buffer(b"".join(encoder.encode(batch).body))
    encode = microseconds(encoder.encode, lambda _: batch)
    decode = microseconds(lambda _: decoder.decode(None, body), int)
    pickled = pickle.dumps(batch, 5)
    dump = microseconds(lambda _: pickle.dumps(batch, 5), int)
    load = microseconds(lambda _: pickle.loads(pickled), int)
    speed = body.size / 1000 / encode
    print(f"{name:20}{body.size:9} bytes{encode:9.1f}{decode:9.1f}{speed:9.2f} GB/s{dump:9.1f}{load:9.1f}")


def rows(count: int) -> pa.RecordBatch:
    """A batch with a number, an amount and a word in each row: 26 bytes."""
    columns = [
        pa.array(range(count), pa.int64()),
        pa.array([0.5] * count),
        pa.array([f"word {n % 97}" for n in range(count)]),
    ]
    return pa.record_batch(columns, names=["n", "a", "w"])


def coded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its words as a dictionary."""
    return pa.record_batch([*batch.columns[:2], batch.column(2).dictionary_encode()], names=["n", "a", "w"])


def main() -> None:
    """Print the two tables."""
    print("us of CPU: encode first, another, again; decode first, another, again; pickle's encode, decode")
    small, large = lookup(), query_8()
    measure_dag("lookup", small, lambda number: small.with_processors({"scan": scan(number)}))
    measure_dag("TPC-H Q8", large, lambda _: large.with_processors({"result": ResultSink()}))
    print("\nus of CPU: encode, decode, speed of encoding; pickle's encode, decode")
    for count in (1, 100, 2_500, 40_000):
        measure_batch(f"{count} rows", rows(count))
        measure_batch(f"{count} rows, coded", coded(rows(count)))
    print(f"\nan empty call: {microseconds(lambda _: None, int, 10_000) * 1000:.0f} ns")


if __name__ == "__main__":
    main()
