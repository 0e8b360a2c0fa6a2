"""What the handover of a member that leaves costs, and what readers and writers notice of it.

    python -m benchmarks.handover [--mb 1000] [--join]

Three members in processes of their own hold a memory table; the member that leaves holds ``--mb`` megabytes
of it. Two sessions in processes of their own look rows up by key and sum up a small table, and one changes
single rows, before the member gets SIGTERM and until it has gone. Printed: the rate of the handover in
megabytes per second, the time of reads with the ratio of the 99th percentiles, the longest time in which no
write ended, and the most memory that a process took beyond what it had before. With ``--join`` a fourth
member joins instead, until it has its share. At the end the rows are counted, and each write is looked for.
"""

import argparse
import multiprocessing
import os
import random
import secrets
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Final

import msgspec

import sqlfront
from sqlfront.cluster.processes import SERVICE, Client
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_values.errors import OperationalError

#: Bytes of a row: eight columns of eight bytes.
ROW: Final = 64
#: Seconds of the measurement before the member leaves, and of the warming up before that.
IDLE: Final = 6.0
WARM: Final = 3.0
#: Seconds that a handover may take.
LONGEST: Final = 600.0
#: SQLSTATEs with which a statement asks to be run again.
AGAIN: Final = ("40001", "08006", "55P03")


class Timed(msgspec.Struct, frozen=True):
    """A statement: when it began and ended (s), and how often it was run again."""

    began: float
    ended: float
    again: int = 0


class Place(msgspec.Struct, frozen=True):
    """How a process joins the cluster, and the number of rows of the table."""

    address: str
    secret: str
    rows: int

    def connect(self) -> sqlfront.Connection:
        """Open a session of the cluster."""
        return sqlfront.connect(self.address, secret=self.secret, workers=1, timeout=300)


def look_up(connection: sqlfront.Connection, place: Place, number: int) -> None:
    """Look a row up by its key."""
    key = random.randrange(place.rows)
    assert len(connection.execute("SELECT v FROM t WHERE k = ?", [key]).fetchall()) == 1


def sum_up(connection: sqlfront.Connection, place: Place, number: int) -> None:
    """Sum up a small table on all members."""
    assert connection.execute("SELECT sum(v) FROM small").fetchone() == (499500,)


def write(connection: sqlfront.Connection, place: Place, number: int) -> None:
    """Set one row to the number of the statement."""
    connection.execute("UPDATE t SET v = ? WHERE k = ?", [number, number])


WORKS: Final[dict[str, Callable[[sqlfront.Connection, Place, int], None]]] = {
    "lookup": look_up,
    "sum of a small table": sum_up,
    "write": write,
}


def client(name: str, place: Place, pipe: Pipe) -> None:
    """Run the statements of one kind until the pipe says so, and send the times of all."""
    times: list[Timed] = []
    with place.connect() as connection:
        while not pipe.poll(0.001):
            began, again = time.monotonic(), 0
            while True:
                try:
                    WORKS[name](connection, place, len(times) + 1)
                    break
                except OperationalError as error:
                    if error.sqlstate not in AGAIN:
                        raise
                    again += 1
            times.append(Timed(began, time.monotonic(), again))
    pipe.send_bytes(msgspec.msgpack.encode(times))


class Clients:
    """A process for each kind of statement."""

    def __init__(self, place: Place) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes = {name: context.Pipe() for name in WORKS}
        self._processes = [
            context.Process(target=client, args=(name, place, theirs), daemon=True)
            for name, (_, theirs) in self._pipes.items()
        ]
        for process in self._processes:
            process.start()

    def stop(self) -> dict[str, list[Timed]]:
        """End the processes, and return the times of their statements."""
        for ours, _ in self._pipes.values():
            ours.send_bytes(b"stop")
        found = {
            name: msgspec.msgpack.decode(ours.recv_bytes(), type=list[Timed])
            for name, (ours, _) in self._pipes.items()
        }
        for process in self._processes:
            process.join()
        return found


def memory(process: int, field: str) -> int:
    """Return a field of the process's memory, ``VmRSS`` (now) or ``VmHWM`` (the most so far), in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


def percentile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def show(name: str, idle: list[Timed], during: list[Timed]) -> None:
    """Print a row of the table of times, in milliseconds."""
    cells = []
    for times in (idle, during):
        spans = [1000 * (each.ended - each.began) for each in times]
        cells += [f"{percentile(spans, 0.5):.2f}", f"{percentile(spans, 0.99):.2f}", f"{max(spans):.1f}"]
    ratio = float(cells[4]) / float(cells[1])
    again = sum(each.again for each in during)
    print(f"| {name} | {len(idle)}, {len(during)} | {' | '.join(cells)} | {ratio:.1f} | {again} |")


def between(times: list[Timed], first: float, last: float) -> list[Timed]:
    """Return the statements of which a part was between the two moments."""
    return [each for each in times if each.ended > first and each.began < last]


def leave(cluster: LocalCluster) -> None:
    """Let a member leave, and wait until it has gone."""
    process = cluster.processes["local-1"]
    os.kill(process.pid, signal.SIGTERM)
    code = process.wait(LONGEST)
    assert code == 0, cluster.log("local-1")


def join(cluster: LocalCluster, connection: sqlfront.Connection) -> None:
    """Let a member join, and wait until it has rows, and all rows are where they belong."""
    (name,) = cluster.add(1)
    members = connection.session.cluster
    assert isinstance(members, Client)
    (table,) = (each for each in members.spread_tables() if each.name.endswith("t"))
    deadline = time.monotonic() + LONGEST
    while not (table.in_place and name in table.snapshot().holders):
        assert time.monotonic() < deadline, cluster.log(cluster.members.heirs[0])
        time.sleep(0.05)


def measure(mb: float, *, joins: bool) -> None:
    """Print what a handover of ``mb`` megabytes costs, or what it costs that a member joins."""
    secret, rows = secrets.token_hex(8), int(3 * mb * 1e6 / ROW)
    with LocalCluster(3, workers=1, service=SERVICE, secret=secret.encode(), silence_limit=30.0) as cluster:
        place = Place(f"sqlfront://{cluster.address.removeprefix('unix:')}", secret, rows)
        with place.connect() as connection:
            others = ", ".join(f"id + {number} AS c{number}" for number in range(6))
            connection.execute(
                f"CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, 0 AS v, {others}"
                f" FROM range({rows})"
            )
            connection.execute("CREATE TABLE small USING memory AS SELECT id AS v FROM range(1000)")
            clients = Clients(place)
            time.sleep(WARM + IDLE)
            processes = {name: each.pid for name, each in cluster.processes.items()}
            before = {name: memory(pid, "VmRSS") for name, pid in processes.items()}
            for pid in processes.values():
                Path(f"/proc/{pid}/clear_refs").write_text("5")  # the most memory is counted from now on
            began = time.monotonic()
            if joins:
                join(cluster, connection)
            else:
                leave(cluster)
            ended = time.monotonic()
            times = clients.stop()
            found = connection.execute("SELECT count(*), sum(v) FROM t").fetchone()
            done = len(times["write"])
            assert found == (rows, done * (done + 1) // 2), f"{found} after {done} writes of {rows} rows"
            most = {
                name: memory(pid, "VmHWM") - before[name]
                for name, pid in processes.items()
                if cluster.processes[name].poll() is None
            }
    moved = mb * (0.75 if joins else 1.0)
    print(f"{moved:,.0f} MB moved in {ended - began:.1f} s: {moved / (ended - began):,.0f} MB/s.")
    print(
        f"Most memory beyond that before, MB: {', '.join(f'{size / 1e6:,.0f}' for size in most.values())}.\n"
    )
    print(
        "| ms | statements | p50 idle | p99 | longest | p50 during | p99 | longest | p99, ratio | run again |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, each in times.items():
        show(name, between(each, began - IDLE, began), between(each, began, ended))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mb", type=float, default=1000)
    parser.add_argument("--join", action="store_true", help="a member joins, none leaves")
    options = parser.parse_args()
    print(f"Load at the beginning: {os.getloadavg()[0]:.1f} runnable processes on {os.cpu_count()} cores.\n")
    measure(options.mb, joins=options.join)
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
