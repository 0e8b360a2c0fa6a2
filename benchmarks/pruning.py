"""What it is worth to ask only those members that have the rows.

    python -m benchmarks.pruning [--scale 0.1] [--members 3 8] [--simulated 10 100 1000] [--count 200]

On members in processes of their own, over TCP, with TPC-H: lookups and joins by key, with pruning
and without (``SET sqlfront.pruning = false``) in turns: latency, messages and bytes a query, of all members.
Then on simulated members, in one thread: messages, bytes and the coordinator's processor time, as the members
grow. Printed as Markdown.
"""

import argparse
import itertools
import os
import random
import secrets
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from benchmarks.simulated_members import SimulatedMembers
from sqlfront.cluster.processes import SERVICE
from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_engine.launchers.local import LocalCluster
from sqlfront_engine.members.member import Member
from sqlfront_engine.partitions import DEFAULT_PARTITIONS, key_hasher
from sqlfront_engine.types import BIGINT
from sqlfront_planner.binder import Arguments
from sqlfront_planner.statement import Query, parse
from tests.engine.members.probe import ask
from tests.tpch.data import tpch_folder

TABLES: Final = {"orders": "o_orderkey", "lineitem": "l_orderkey", "customer": "c_custkey"}
#: Each with the number of its parameters, all of them keys of orders.
QUERIES: Final = {
    "lookup": ("SELECT o_custkey, o_totalprice FROM orders WHERE o_orderkey = ?", 1),
    "IN list of 10": (
        f"SELECT o_orderkey, o_totalprice FROM orders WHERE o_orderkey IN ({', '.join('?' * 10)})",
        10,
    ),
    "join of two": (
        """SELECT o_orderdate, l_linenumber, l_extendedprice
           FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderkey = ?""",
        1,
    ),
    "join of three": (
        """SELECT o_orderdate, c_name, l_linenumber
           FROM orders JOIN customer ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
           WHERE o_orderkey = ?""",
        1,
    ),
}
#: On simulated members: the order that is looked up, and its customer.
ORDER: Final = 7
CUSTOMER: Final = 91
TURNS: Final = 4
#: What belongs to the membership, and comes by the clock.
MEMBERSHIP: Final = ("Heartbeat", "HeartbeatAnswer", "ListAdopted", "DocumentsSeen")


class Cost(msgspec.Struct, frozen=True):
    """Of a query: microseconds, messages and bytes that all members sent."""

    median: float
    p99: float
    messages: float
    size: float


class Traffic(msgspec.Struct, frozen=True):
    """Messages and bytes sent."""

    messages: int = 0
    size: int = 0

    def __sub__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.messages - other.messages, self.size - other.size)

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.messages + other.messages, self.size + other.size)


# ---- processes


def on_processes(members: int, folder: Path, count: int) -> Iterator[str]:
    """The lines of the table for so many members."""
    preload, secret = ("tests.engine.members.probe",), secrets.token_hex(16)
    with (
        LocalCluster(
            members, workers=1, tcp=True, preload=preload, service=SERVICE, secret=secret.encode()
        ) as cluster,
        sqlfront.connect(f"sqlfront://{cluster.address}", secret=secret) as connection,
    ):
        keys = load(connection, folder)
        for name, (text, parameters) in QUERIES.items():
            pruned, whole = compare(connection, text, parameters, keys, count)
            yield f"| {members} | {name} | {_cost(pruned)} | {_cost(whole)} | {_ratios(pruned, whole)} |"


def load(connection: "sqlfront.Connection", folder: Path) -> list[int]:
    """Make the tables; returns keys of orders."""
    for table, key in TABLES.items():
        connection.execute(
            f"CREATE TABLE {table} USING memory CLUSTERED BY ({key}) INTO 271 BUCKETS"
            f" AS SELECT * FROM parquet.`{folder / table}.parquet`"
        )
    keys: list[int] = pq.read_table(folder / "orders.parquet", columns=["o_orderkey"]).column(0).to_pylist()
    return keys


def compare(
    connection: "sqlfront.Connection", text: str, parameters: int, keys: Sequence[int], count: int
) -> tuple[Cost, Cost]:
    """With pruning and without, in turns."""
    times: dict[bool, list[float]] = {True: [], False: []}
    sent = {True: Traffic(), False: Traffic()}
    member = connection.session.cluster.coordinator if connection.session.cluster else None
    assert member is not None
    for turn, pruned in itertools.product(range(TURNS + 1), (True, False)):
        connection.execute(f"SET sqlfront.pruning = {str(pruned).lower()}")
        connection.execute(text, random.sample(keys, parameters)).fetchall()
        with counted(member) as traffic:
            measured = measure(connection, text, parameters, keys, count // TURNS)
        if turn:
            times[pruned] += measured
            sent[pruned] += traffic[0]
    pruned_cost, whole = (
        Cost(
            statistics.median(times[each]),
            statistics.quantiles(times[each], n=100, method="inclusive")[98],
            sent[each].messages / len(times[each]),
            sent[each].size / len(times[each]),
        )
        for each in (True, False)
    )
    return pruned_cost, whole


def measure(
    connection: "sqlfront.Connection", text: str, parameters: int, keys: Sequence[int], count: int
) -> list[float]:
    """Microseconds of so many queries."""
    cursor, times = connection.cursor(), []
    for _ in range(count):
        chosen = random.sample(keys, parameters)
        began = time.perf_counter_ns()
        cursor.execute(text, chosen).fetchall()
        times.append((time.perf_counter_ns() - began) / 1000)
    return times


@contextmanager
def counted(client: Member) -> Iterator[list[Traffic]]:
    """What is sent meanwhile, by the members to each other and between them and the client."""
    found: list[Traffic] = []
    before = _between(client)
    at_client = _at(client)
    yield found
    here = _at(client) - at_client
    found.append(here + (_between(client) - before))


def _at(client: Member) -> Traffic:
    """What the client has sent to members and received from them, but for the membership's messages."""
    kinds = [
        (kind, traffic)
        for peer in client._transport.statistics().peers
        for way in (peer.sent, peer.received)
        for kind, traffic in way.items()
        if kind not in MEMBERSHIP
    ]
    return Traffic(sum(each.messages for _, each in kinds), sum(each.bytes for _, each in kinds))


def _between(client: Member) -> Traffic:
    """What the members have sent to each other."""
    reports = ask(client)
    found = Traffic()
    for report in reports.values():
        for receiver, kinds in report.sent.items():
            if receiver in reports:
                for kind, messages in kinds.items():
                    if kind not in MEMBERSHIP:
                        found += Traffic(messages, report.sent_bytes[receiver][kind])
    return found


# ---- a simulation


def on_simulation(members: int, count: int) -> Iterator[str]:
    """The lines of the table for so many members: without pruning they all take part."""
    cluster = SimulatedMembers(members)
    with Session(Config(members=members), cluster) as session:
        _small_tables(session)
        cluster.connect_owners(key_hasher([BIGINT])((key,)) % DEFAULT_PARTITIONS for key in (ORDER, CUSTOMER))
        for name, pruned in (("lookup", True), ("join of three", True), ("lookup", False)):
            session.execute(f"SET sqlfront.pruning = {str(pruned).lower()}")
            text, _ = QUERIES[name]
            query = parse(text)
            assert isinstance(query, Query)
            arguments = Arguments.of([ORDER], session.settings.time_zone)
            plan = session.plan(query, arguments)
            cluster.reset()
            for _ in range(count):
                rows = sum(batch.num_rows for batch in session.submit(plan, arguments.values).batches())
                assert rows == (1 if name == "lookup" else 4)
            asked = f"{name}{'' if pruned else ', not pruned'}"
            messages, size, cpu = (each / count for each in cluster.sent())
            yield f"| {members:,} | {asked} | {messages:,.0f} | {size:,.0f} | {cpu:,.0f} |"


def _small_tables(session: Session) -> None:
    """A thousand orders of a hundred customers, with four lines each."""
    orders: list[tuple[object, ...]] = [
        (key, key * 13 % 100, key * 1.5, date(2020, 1, 1)) for key in range(1000)
    ]
    tables: dict[str, tuple[str, list[tuple[object, ...]]]] = {
        "orders": ("o_orderkey BIGINT, o_custkey BIGINT, o_totalprice DOUBLE, o_orderdate DATE", orders),
        "lineitem": (
            "l_orderkey BIGINT, l_linenumber INT, l_extendedprice DOUBLE",
            [(number % 1000, number, number * 2.5) for number in range(4000)],
        ),
        "customer": (
            "c_custkey BIGINT, c_name STRING",
            [(number, f"customer {number}") for number in range(100)],
        ),
    }
    for name, (columns, rows) in tables.items():
        clustered = f"CLUSTERED BY ({TABLES[name]}) INTO 271 BUCKETS"
        session.execute(f"CREATE TABLE {name} ({columns}) USING memory {clustered}")
        arrays = [list(column) for column in zip(*rows, strict=True)]
        session.register("rows", pa.table(arrays, [column.split()[0] for column in columns.split(", ")]))
        session.execute(f"INSERT INTO {name} SELECT * FROM rows")


# ---- the tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--members", nargs="*", type=int, default=[3, 8])
    parser.add_argument("--simulated", nargs="*", type=int, default=[10, 100, 1000])
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    if options.members:
        print(f"TPC-H scale {options.scale}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
        figures = " | ".join(("median us", "p99", "messages", "bytes"))
        print(f"| members | query | {figures} | not pruned: {figures} | ratio of medians | of bytes |")
        print("|---" * 12 + "|")
        for members in options.members:
            for line in on_processes(members, tpch_folder(options.scale), options.count):
                print(line, flush=True)
    if options.simulated:
        print("\n| simulated members | query | messages | bytes | coordinator's processor us |")
        print("|---|---|---|---|---|")
        for members in options.simulated:
            for line in on_simulation(members, 20):
                print(line, flush=True)


def _cost(cost: Cost) -> str:
    return f"{cost.median:,.0f} | {cost.p99:,.0f} | {cost.messages:.1f} | {cost.size:,.0f}"


def _ratios(pruned: Cost, whole: Cost) -> str:
    return f"{pruned.median / whole.median:.2f} | {pruned.size / whole.size:.2f}"


if __name__ == "__main__":
    main()
