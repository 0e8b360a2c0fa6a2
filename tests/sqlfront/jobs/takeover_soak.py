"""Durable jobs whose sessions are killed and stopped at random, while others stand by and a client waits.

In each round a process starts a job and gets SIGKILL soon after; of the processes that stand by, one gets
SIGKILL at a random moment, too, and one is stopped for a while by SIGSTOP, the owner of the job or not. The
client of this process has to get the right rows, whoever ran the job to its end. In some rounds the processes
run the job's tasks on members in further processes::

    python -m tests.sqlfront.jobs.takeover_soak --rounds 100 --seed 1
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlfront
from tests.sqlfront.jobs.handles import ended, job_or_none
from tests.sqlfront.jobs.soak import SoakJob, check_nothing_left, make_source
from tests.sqlfront.jobs.waiting import wait_until

STANDBYS: Final = 3
#: Seconds within which a process gets its signal.
MOMENTS: Final = 1.5


def open_session(folder: Path, job: SoakJob, members: int) -> sqlfront.Connection:
    """A session on the store that knows the tables, and takes jobs over."""
    connection = sqlfront.connect(
        job_store=str(folder / "store"),
        job_recovery=True,
        collect_rows=100,
        workers=2,
        members=members,
        launcher="local" if members > 1 else "embedded",
    )
    connection.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src'")
    job.prepare(connection)
    return connection


def work(folder: Path, job: SoakJob, members: int, *, starts: bool) -> None:
    """Start the job or stand by, up to a signal."""
    with open_session(folder, job, members) as connection:
        if starts:
            connection.execute(f"CREATE JOB `{job.name}` {job.options} AS {job.statement}")
        print("ready", flush=True)
        sys.stdin.read()  # ends with the process that started this one


@contextmanager
def processes(folder: Path, number: int, seed: int, members: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Those that stand by, and, last, the one that has just started the job."""
    command = [sys.executable, "-m", "tests.sqlfront.jobs.takeover_soak", "--work", str(folder)]
    command += ["--round", str(number), "--seed", str(seed), "--members", str(members)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = []
    try:
        for role in (*["--stands-by"] * STANDBYS, "--starts"):
            process = subprocess.Popen(
                [*command, role],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            started.append(process)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", "a process did not open its session"
        yield started
    finally:
        for each in started:
            each.send_signal(signal.SIGCONT)
            each.kill()
            each.communicate()


def disturb(started: list[subprocess.Popen[str]], chance: random.Random) -> Counter[str]:
    """Send the signals, each at a moment of its own; return the number of each kind."""
    *standbys, starter = started
    killed, stopped = chance.sample(standbys, 2)
    begin, length = chance.random() * MOMENTS, chance.random() * MOMENTS
    plan = [
        (chance.random() * 0.1, starter, signal.SIGKILL),
        (chance.random() * MOMENTS, killed, signal.SIGKILL),
        (begin, stopped, signal.SIGSTOP),
        (begin + length, stopped, signal.SIGCONT),
    ]
    began = time.monotonic()
    for moment, process, number in sorted(plan, key=lambda step: step[0]):
        time.sleep(max(0, began + moment - time.monotonic()))
        process.send_signal(number)
    return Counter({"kills": 2, "stops": 1})


def run_round(folder: Path, number: int, seed: int) -> Counter[str]:
    """Run a job under signals, and check its rows and what is left."""
    chance = random.Random(seed * 1_000_003 + number)
    job, members = SoakJob(folder, number, seed), chance.choice([1, 1, 1, 2])
    with sqlfront.connect(job_store=str(folder / "store"), workers=1) as client:
        with processes(folder, number, seed, members) as started:
            outcomes = Counter[str]()
            signals = threading.Thread(target=lambda: outcomes.update(disturb(started, chance)))
            signals.start()
            wait_until(lambda: job_or_none(client, job.name) is not None)
            status = ended(client, job.name)
            job.check(client)
            signals.join()
        client.execute(f"DROP JOB `{job.name}`")
    outcomes += Counter({"rounds": 1, "takeovers": status.epoch - 1, f"members {members}": 1})
    check_nothing_left(folder)
    return outcomes


def soak(folder: Path, rounds: int, seed: int) -> Counter[str]:
    """Run the rounds; return the number of signals and takeovers."""
    make_source(folder)
    outcomes = Counter[str]()
    for number in range(rounds):
        outcomes += run_round(folder, number, seed)
    return outcomes


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--round", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--members", type=int, help=argparse.SUPPRESS)
    role = parser.add_mutually_exclusive_group()
    role.add_argument("--starts", action="store_true", help=argparse.SUPPRESS)
    role.add_argument("--stands-by", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        job = SoakJob(options.work, options.round, options.seed)
        work(options.work, job, options.members, starts=options.starts)
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        print(dict(soak(Path(folder), options.rounds, options.seed)), f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
