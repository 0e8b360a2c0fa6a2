"""What pruning saves: queries by key on members in processes of their own, and in simulated clusters of any
size.

    python -m benchmarks.pruning [--count 1000] [--sizes 3 8] [--simulated 10 100 1000]

Each query is run without a job (rows are asked for by key), as a job that only the members of its keys take
part in, and as one of all members (``SET sqlfront.pruning = false``), in turns, planned before. Messages and
bytes are those of all members and the client, in both directions. Beside it a bare blocking Unix socket: what
a question of that size and its answer cost without any of this.
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

import sqlfront
from benchmarks.light_jobs import Timing, in_turns
from sqlfront.cluster.processes import Client
from sqlfront.cluster.service import TableService
from sqlfront.lanes.jobs import plan_job
from sqlfront.lanes.light import run_plan
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_cluster.network.transport import NetworkStatistics
from sqlfront_planner.binder import Arguments
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.statements.query_parser import parse_query
from tests.sqlfront.simulated_sizes import JOIN, LOOKUP, Cost, Town, customer_of

Task = Callable[[], object]

ORDERS: Final = 150_000
TRAFFIC: Final = "traffic"
#: Messages of the membership, sent by the clock.
MEMBERSHIP: Final = ("Heartbeat", "HeartbeatAnswer", "ListAdopted", "DocumentsSeen")
TABLES: Final = (
    f"""CREATE TABLE customers USING memory CLUSTERED BY (c_key) INTO 271 BUCKETS AS
        SELECT id AS c_key, concat('customer ', id) AS c_name FROM range({ORDERS // 10})""",
    f"""CREATE TABLE orders USING memory CLUSTERED BY (o_key) INTO 271 BUCKETS AS
        SELECT id AS o_key, id DIV 10 AS o_customer, id * 100 AS o_total FROM range({ORDERS})""",
    f"""CREATE TABLE lines USING memory CLUSTERED BY (l_key) INTO 271 BUCKETS AS
        SELECT id DIV 4 AS l_key, id AS l_price FROM range({ORDERS * 4})""",
)
ORDER: Final = 77_777
QUERIES: Final = {
    "lookup": LOOKUP.format(order=ORDER),
    "ten keys": f"SELECT o_total FROM orders WHERE o_key IN ({', '.join(str(n * 997) for n in range(10))})",
    "three-way join": JOIN.format(order=ORDER, customer=customer_of(ORDER)),
}


# ---- counting


class Traffic(RequestService):
    """A service that tells the number of messages and bytes that a member has sent."""

    def __init__(self) -> None:
        self.running: RunningMember | None = None

    def answer(self, content: bytes) -> bytes:
        assert self.running is not None
        return msgspec.json.encode(sent(self.running.membership.statistics()))


class CountingService(TableService):
    """The service of this benchmark's members: holds tables, and counts messages."""

    def __init__(self) -> None:
        super().__init__()
        self._traffic = Traffic()

    @property
    def resources(self) -> Mapping[str, object]:
        return ChainMap({TRAFFIC: self._traffic}, super().resources)  # type: ignore[arg-type]

    def attach(self, running: RunningMember) -> None:
        self._traffic.running = running
        super().attach(running)


def service() -> CountingService:
    """The service of a new member."""
    return CountingService()


def sent(statistics: NetworkStatistics) -> tuple[int, int]:
    """Messages and bytes, without those of the membership and of the counting."""
    kinds = [kind for name, kind in statistics.sent.items() if name not in MEMBERSHIP]
    return sum(kind.messages for kind in kinds), sum(kind.bytes for kind in kinds)


def counted(cluster: Client, task: Task, times: int = 20) -> tuple[float, float]:
    """Messages and bytes per run of a task."""

    def total() -> tuple[int, int]:
        member = cluster.coordinator
        names = dict.fromkeys(cluster.member_list.data_members, b"")
        answers = member.requests.ask(TRAFFIC, names)
        parts = [msgspec.json.decode(answer, type=tuple[int, int]) for answer in answers.values()]
        here = sent(member._transport.statistics())
        return here[0] + sum(part[0] for part in parts), here[1] + sum(part[1] for part in parts)

    task()
    idle, before = total(), total()
    for _ in range(times):
        task()
    after = total()
    own = before[0] - idle[0], before[1] - idle[1]
    return (after[0] - before[0] - own[0]) / times, (after[1] - before[1] - own[1]) / times


# ---- members in processes


def tasks(connection: sqlfront.Connection, text: str) -> dict[str, Task]:
    """The ways of running a query, by name."""
    session = connection.session
    prepared = connection.prepare(text)
    connection.execute("SET sqlfront.pruning = true")
    pruned = plan_job(session.context, parse_query(text), Arguments.of(None, "UTC"))
    connection.execute("SET sqlfront.pruning = false")
    unpruned = plan_job(session.context, parse_query(text), Arguments.of(None, "UTC"))
    connection.execute("SET sqlfront.pruning = true")

    def job(plan: QueryPlan) -> Task:
        return lambda: list(run_plan(session.context, plan))

    return {
        "without a job": lambda: prepared.execute().collect(),
        "pruned job": job(pruned),
        "job of all members": job(unpruned),
    }


def processes(size: int, count: int) -> None:
    """Print a table for ``size`` members."""
    secret = secrets.token_hex(8)
    with LocalCluster(
        size, workers=1, service="benchmarks.pruning:service", secret=secret.encode()
    ) as cluster:
        address = f"sqlfront://{cluster.address.removeprefix('unix:')}"
        with sqlfront.connect(address, secret=secret, workers=1) as connection:
            for text in TABLES:
                connection.execute(text)
            client = connection.session.cluster
            assert isinstance(client, Client)
            for name, text in QUERIES.items():
                ways = tasks(connection, text)
                answers = {way: sorted(map(tuple, task())) for way, task in ways.items()}  # type: ignore[call-overload]
                assert len({str(answer) for answer in answers.values()}) == 1, answers
                timings = in_turns(ways, count)
                for way, task in ways.items():
                    messages, size_ = counted(client, task)
                    show(f"{name}, {way}", timings[way], messages, size_)


@contextmanager
def echo() -> Iterator[Task]:
    """A context with a bare socket to a process that echoes its input."""
    ours, theirs = socket.socketpair()
    code = (
        "import socket, sys\n"
        f"other = socket.socket(fileno={theirs.fileno()})\n"
        "while data := other.recv(65536): other.send(data)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs.fileno()]), ours:
        theirs.close()
        buffer, question = bytearray(65536), bytes(150)

        def ask() -> None:
            ours.send(question)
            ours.recv_into(buffer)

        yield ask


def show(name: str, timing: Timing, messages: float | None = None, size: float | None = None) -> None:
    """Print a row of a table."""
    counts = "| | |" if messages is None or size is None else f"| {messages:,.0f} | {size:,.0f} |"
    print(f"| {name} | {timing.best:,.0f} | {timing.median:,.0f} | {timing.p99:,.0f} {counts}")


# ---- simulated members


def simulated(size: int, times: int = 50) -> dict[str, Cost]:
    """The client's costs of pruned queries in a simulated cluster."""
    town = Town(size)
    path, order = town.path(), 1234
    town.acquaint(order, customer_of(order))
    lookup = town.planned(LOOKUP.format(order=order))
    join = town.planned(JOIN.format(order=order, customer=customer_of(order)))
    work: dict[str, Task] = {
        "lookup, without a job": lambda: path.find([(order,)]),
        "lookup, as a job": lambda: town.answer(lookup),
        "three-way join": lambda: town.answer(join),
    }
    for task in work.values():
        town.cost(task, 5)
    return {name: town.cost(task, times) for name, task in work.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="*", default=(3, 8))
    parser.add_argument("--simulated", type=int, nargs="*", default=(10, 100, 1000))
    options = parser.parse_args()
    print(f"Load at the beginning: {os.getloadavg()[0]:.1f} runnable processes on {os.cpu_count()} cores.")
    with echo() as ask:
        bare = in_turns({"": ask}, options.count)[""]
    for size in options.sizes:
        print(f"\n| {size} local members | best tenth | median | p99 | messages | bytes |")
        print("|---|---|---|---|---|---|")
        show("a bare Unix socket", bare)
        processes(size, options.count)
    print("\n| simulated | members | messages | bytes | processor of the client |\n|---|---|---|---|---|")
    for size in options.simulated:
        for name, cost in simulated(size).items():
            print(f"| {name} | {size} | {sum(cost.messages.values())} | {cost.bytes} | {cost.cpu:,.0f} |")
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
