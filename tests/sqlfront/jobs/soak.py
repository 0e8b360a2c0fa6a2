"""Many durable jobs, in processes that are killed again and again: no wrong row, no stuck job, no file left.

A process runs the jobs one after the other; another one kills it by SIGKILL at random moments, and starts the
next, which resumes the job under way::

    python -m tests.sqlfront.jobs.soak --jobs 1000 --seed 1
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import sqlfront
from sqlfront_engine.durable.event_store import ownership
from tests.sqlfront.jobs.handles import ended, job_or_none
from tests.sqlfront.jobs.killed import STORE, store_of

#: The rows of the source, whose column ``id`` has the numbers from 0.
ROWS: Final = 5000
#: Seconds that a process lives at most, in addition to those of its start.
LONGEST: Final = 3.0
#: Processes in a row that may end no job: a job is stuck then.
PATIENCE: Final = 15
KINDS: Final = ("directory", "insert", "overwrite", "table", "query")


class SoakJob:
    """The job of a number: its statement, and the right rows."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        chance = random.Random(seed * 1_000_003 + number)
        self.name, self.kind = f"job {number}", chance.choice(KINDS)
        self._folder, self._number = folder, number
        self._modulus, self._least = chance.randint(1, 40), chance.randrange(ROWS)
        self.options = f"OPTIONS (parallelism {chance.randint(1, 4)}, buckets {chance.choice([1, 4, 16])})"

    @property
    def place(self) -> Path:
        """The directory of the target."""
        return self._folder / "out" / str(self._number)

    @property
    def statement(self) -> str:
        """The statement that the job runs."""
        query = (
            f"SELECT id % {self._modulus} AS k, count(*) AS n FROM src WHERE id >= {self._least} GROUP BY 1"
        )
        match self.kind:
            case "directory":
                return f"INSERT OVERWRITE DIRECTORY '{self.place}' USING parquet {query}"
            case "insert" | "overwrite":
                return f"INSERT {'INTO' if self.kind == 'insert' else 'OVERWRITE'} t{self._number} {query}"
            case "table":
                return f"CREATE TABLE t{self._number} USING parquet LOCATION '{self.place}' AS {query}"
            case _:
                return query

    def prepare(self, connection: sqlfront.Connection) -> None:
        """Make the table that the job inserts into."""
        if self.kind in ("insert", "overwrite"):
            columns = f"(k BIGINT, n BIGINT) USING parquet LOCATION '{self.place}'"
            connection.execute(f"CREATE TABLE IF NOT EXISTS t{self._number} {columns}")

    def check(self, connection: sqlfront.Connection) -> None:
        """AssertionError unless the target has the right rows, each once."""
        source = f"job.`{self.name}`" if self.kind == "query" else f"parquet.`{self.place}`"
        found = sorted(connection.execute(f"SELECT k, n FROM {source}").fetchall())
        right = sorted(Counter(number % self._modulus for number in range(self._least, ROWS)).items())
        assert found == right, f"{self.name} ({self.kind}) has {found}, not {right}"


def work(folder: Path, jobs: int, seed: int) -> None:
    """Run the jobs that have not ended yet. To be killed at any moment."""
    if STORE in os.environ:
        ownership.LEASE = 1.0  # type: ignore[misc]
    with sqlfront.connect(job_store=store_of(folder), workers=2, collect_rows=100) as connection:
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src'")
        for number in range(jobs):
            done, checked = folder / "done" / str(number), folder / "checked" / str(number)
            if done.exists():
                continue
            job = SoakJob(folder, number, seed)
            if not checked.exists():
                job.prepare(connection)
                if job_or_none(connection, job.name) is None:
                    connection.execute(f"CREATE JOB `{job.name}` {job.options} AS {job.statement}")
                else:
                    connection.execute(f"RESUME JOB `{job.name}`")
                ended(connection, job.name)
                job.check(connection)
                checked.touch()
            connection.execute(f"DROP JOB IF EXISTS `{job.name}`")
            done.touch()


def soak(folder: Path, jobs: int, seed: int, tell: Callable[[str], None] = print) -> Counter[str]:
    """Run the jobs in processes that are killed, and check what is left; return the number of kills."""
    chance, outcomes, idle = random.Random(seed), Counter[str](), 0
    for name in ("done", "checked"):
        (folder / name).mkdir()
    make_source(folder)
    while len(os.listdir(folder / "done")) < jobs:
        before = len(os.listdir(folder / "done"))
        command = [sys.executable, "-m", "tests.sqlfront.jobs.soak", "--work", str(folder)]
        process = subprocess.Popen(
            [*command, "--jobs", str(jobs), "--seed", str(seed)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            # On a busy machine a process needs more time for one job.
            code = process.wait((0.6 + chance.random() * LONGEST) * (1 + idle))
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        assert code in (0, -signal.SIGKILL), "a process failed"
        outcomes["kills"] += code != 0
        ended = len(os.listdir(folder / "done"))
        idle = 0 if ended > before else idle + 1
        assert idle < PATIENCE, f"job {ended} is stuck"
    outcomes["jobs"] = jobs
    check_nothing_left(folder)
    return outcomes


def check_nothing_left(folder: Path) -> None:
    """AssertionError if a job that was dropped has left files in the store below the folder, or a writer
    beside a target."""
    for name in ("store/jobs", "store/spool") if STORE not in os.environ else ():
        assert os.listdir(folder / name) == [], f"{name} has {os.listdir(folder / name)[:3]}"
    hidden = [path for path in (folder / "out").rglob(".*") if path.is_dir()]
    assert not hidden, f"writers' folders are left: {hidden[:3]}"


def make_source(folder: Path) -> None:
    """Make the table that the jobs read, and the folder of their targets."""
    (folder / "out").mkdir()
    with sqlfront.connect(workers=2) as connection:
        rows = f"SELECT id FROM range({ROWS})"
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src' AS {rows}")


def main() -> None:
    """Run the jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="run the jobs in this folder, without kills")
    options = parser.parse_args()
    if options.work is not None:
        work(options.work, options.jobs, options.seed)
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        print(dict(soak(Path(folder), options.jobs, options.seed)), f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
