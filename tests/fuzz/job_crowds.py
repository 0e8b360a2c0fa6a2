"""Sessions on threads that create, replace, cancel and drop the jobs of one store at random, while they open
and close and take the store over from each other.

    python -m tests.fuzz.job_crowds                            # twenty stores of five seconds
    python -m tests.fuzz.job_crowds --count 5 --seed 7         # other ones

Findings are errors that nobody has written for a user, wrong rows, and files that are left when all jobs are
dropped.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import sqlfront
from sqlfront.connection import Connection
from sqlfront_values.errors import Error, InternalError

SESSIONS: Final = 4
NAMES: Final = ("`a`", "`B`", "`..`", "`x y`")
_QUICK: Final = "SELECT id FROM range(5)"
_SLOW: Final = "SELECT count(*) AS id FROM range(100000) a JOIN range(200) b ON a.id % 100 <> b.id"
STATEMENTS: Final = (
    f"CREATE JOB {{}} AS {_QUICK}",
    f"CREATE JOB IF NOT EXISTS {{}} AS {_QUICK}",
    f"CREATE OR REPLACE JOB {{}} AS {_QUICK}",
    f"CREATE OR REPLACE JOB {{}} AS {_SLOW}",
    "CREATE OR REPLACE JOB {} AS SELECT 1 / 0 AS id",
    "DROP JOB IF EXISTS {}",
    "DROP JOB {}",
    "CANCEL JOB {}",
    "RESUME JOB {}",
    "DESCRIBE JOB EXTENDED {}",
    "SHOW JOBS",
    "SELECT * FROM job.{}",
    "SELECT * FROM sys.job_events",
    "SELECT * FROM sys.job_tasks",
    "SELECT count(*) FROM sys.jobs",
)
_ROWS: Final = ([(0,), (1,), (2,), (3,), (4,)], [(100_000 * 199,)])


class Crowd:
    """The sessions of one store, their outcomes and the findings."""

    def __init__(self, folder: Path) -> None:
        self.store, self.findings = str(folder / "store"), list[str]()
        self.outcomes = Counter[str]()

    def session(self, seed: str, seconds: float) -> None:
        """Run random statements in sessions, one after another, for a time."""
        chance, connection = random.Random(seed), None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if connection is None:
                connection = self._open(chance)
            elif chance.random() < 0.03:
                connection.close()
                connection = None
            else:
                self._run(connection, chance.choice(STATEMENTS).format(chance.choice(NAMES)))
        if connection is not None:
            connection.close()

    def _open(self, chance: random.Random) -> Connection:
        return sqlfront.connect(job_store=self.store, workers=1, job_recovery=chance.random() < 0.3)

    def _run(self, connection: Connection, sql: str) -> None:
        try:
            rows = sorted(map(tuple, connection.session.execute(sql, timeout=60).collect()))
        except InternalError as error:
            self.findings.append(f"{sql}: {error}")
        except Error as error:
            self.outcomes[type(error).__name__] += 1
        except Exception as error:  # noqa: BLE001 - a finding
            self.findings.append(f"{sql}: {error!r}")
        else:
            self.outcomes[sql.split(maxsplit=1)[0]] += 1
            if sql.startswith("SELECT * FROM job.") and rows not in _ROWS:
                self.findings.append(f"{sql}: {rows[:9]}")

    def drop_all(self) -> None:
        """Drop all jobs, and look for what is left."""
        with sqlfront.connect(job_store=self.store) as connection:
            for row in connection.session.execute("SHOW JOBS").collect():
                connection.execute(f"DROP JOB `{row[0]}`")
        left = [name for _, _, names in os.walk(self.store) for name in names if name != "owner"]
        if left:
            self.findings.append(f"files are left: {left[:9]}")


def campaign(seed: int, numbers: Sequence[int], seconds: float) -> Iterator[tuple[int, Crowd]]:
    """Yield for each store its number and its crowd, whose sessions have run for so many seconds."""
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            crowd = Crowd(Path(folder))
            seeds = [f"{seed}/{number}/{one}" for one in range(SESSIONS)]
            threads = [threading.Thread(target=crowd.session, args=(one, seconds)) for one in seeds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            crowd.drop_all()
            yield number, crowd


def main() -> int:
    """Run the stores that the command line asks for; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Sessions that share a store of durable jobs")
    parser.add_argument("--count", type=int, default=20, help="stores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each store")
    options = parser.parse_args()
    outcomes, findings = Counter[str](), 0
    for number, crowd in campaign(options.seed, range(options.count), options.seconds):
        outcomes += crowd.outcomes
        findings += len(crowd.findings)
        for finding in crowd.findings:
            print(f"{number}: {finding[:1000]}", flush=True)
    print(f"{outcomes.total()} statements: {dict(outcomes.most_common())}; {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
