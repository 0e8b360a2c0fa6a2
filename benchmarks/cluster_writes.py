"""What a write of one row costs on members in processes of their own, beside a lookup and a bare message.

    python -m benchmarks.cluster_writes [--count 500] [--size 3] [--rows 150000]

In one run, in turns: a bare Unix socket to a process that echoes, a question to one member and its answer, a
question to all members, a change of a document (the keeper sends the change to all members and waits for
them), a lookup by key, UPDATE, DELETE and INSERT of one row by key with arguments, the same UPDATE with
literals in the text, and a light job of all members (a count over 27 rows). Ratios are medians over the
lookup's. Messages are those of the client and the members, and beside them the messages of the keeper, which
is in the client's process.

On three members with one backup INSERT costs 5 messages besides the keeper's: a question to the owner and one
to the holder of the backup, at the same time, their answers, and the request to publish. UPDATE and DELETE of
all rows of a key, with values that don't depend on the row, cost the same; other changes by key look the rows
up first (7). The keeper adds 8: the change to three members and the writer, three messages that the members
have it, and the answer. A lookup costs 2. benchmarks/README.md tells where the time goes.
"""

import argparse
import itertools
import os
import secrets
from typing import Final

import sqlfront
from benchmarks.light_jobs import Timing, in_turns
from benchmarks.pruning import TRAFFIC, Task, counted, echo
from sqlfront.cluster.processes import Client
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.protocol.document import ConditionalChange

ECHO: Final = "bare message"
LOOKUP: Final = "lookup by key"


def tasks(connection: sqlfront.Connection, rows: int) -> dict[str, Task]:
    """The statements and messages to measure, by name. ``rows``: the number of rows of the table."""
    client = connection.session.cluster
    assert isinstance(client, Client)
    requests, names = client.coordinator.requests, client.member_list.data_members
    every = dict.fromkeys(names, b"")
    numbers, added = itertools.count(), itertools.count(rows)
    deleted = itertools.count()

    def run(text: str, *values: object) -> object:
        cursor = connection.execute(text, values)
        return cursor.fetchall() if text.startswith("SELECT") else cursor.rowcount

    def literal() -> object:
        number = next(numbers)
        return run(f"UPDATE orders SET total = {number} WHERE id = {number * 997 % rows}")

    return {
        "question to one member": lambda: requests.ask(TRAFFIC, {names[0]: b""}),
        "question to all members": lambda: requests.ask(TRAFFIC, every),
        "change of a document": lambda: client.documents.put(ConditionalChange("bench", b"x" * 200, None)),
        LOOKUP: lambda: run("SELECT total FROM orders WHERE id = ?", next(numbers) * 997 % rows),
        "UPDATE": lambda: run(
            "UPDATE orders SET total = ? WHERE id = ?", next(numbers), next(numbers) * 997 % rows
        ),
        "UPDATE, literals": literal,
        "UPDATE by the row": lambda: run(
            "UPDATE orders SET total = total + ? WHERE id = ?", next(numbers), next(numbers) * 997 % rows
        ),
        "DELETE": lambda: run("DELETE FROM orders WHERE id = ?", next(deleted)),
        "INSERT": lambda: run("INSERT INTO orders VALUES (?, 1, 2)", next(added)),
        "light job of all members": lambda: run("SELECT count(total) FROM little"),
    }


def show(name: str, timing: Timing, lookup: float, messages: float | None = None) -> None:
    """Print a row of the table."""
    count = "" if messages is None else f"{messages:.1f}"
    ratio = timing.median / lookup
    print(
        f"| {name} | {timing.best:,.0f} | {timing.median:,.0f} | {timing.p99:,.0f} | {ratio:.1f} | {count} |",
        flush=True,
    )


def measure(size: int, count: int, rows: int) -> None:
    """Print the table for ``size`` members."""
    secret = secrets.token_hex(8)
    service = "benchmarks.pruning:service"
    with LocalCluster(size, workers=1, service=service, secret=secret.encode()) as cluster, echo() as bare:
        address = f"sqlfront://{cluster.address.removeprefix('unix:')}"
        with sqlfront.connect(address, secret=secret, workers=1) as connection:
            connection.execute(
                f"""CREATE TABLE orders USING memory CLUSTERED BY (id) INTO 271 BUCKETS AS
                    SELECT id, id DIV 10 AS customer, id * 100 AS total FROM range({rows})"""
            )
            connection.execute(
                """CREATE TABLE little USING memory CLUSTERED BY (id) INTO 271 BUCKETS AS
                   SELECT id, id AS total FROM range(27)"""
            )
            client = connection.session.cluster
            assert isinstance(client, Client)
            work = {ECHO: bare, **tasks(connection, rows)}
            timings = in_turns(work, count)
            for name, task in work.items():
                messages = None if name == ECHO else counted(client, task)[0]
                show(name, timings[name], timings[LOOKUP].median, messages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--size", type=int, default=3)
    parser.add_argument("--rows", type=int, default=150_000)
    options = parser.parse_args()
    print(f"Load at the beginning: {os.getloadavg()[0]:.1f} runnable processes on {os.cpu_count()} cores.\n")
    print("| us | best tenth | median | p99 | of a lookup | messages |\n|---|---|---|---|---|---|")
    measure(options.size, options.count, options.rows)
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
