"""Random statements about durable jobs, by sessions that share a store, beside a model of the store.

    python -m tests.fuzz.job_statements                        # a hundred stores
    python -m tests.fuzz.job_statements --count 20 --seed 7    # other ones
    python -m tests.fuzz.job_statements --seed 7 --only 12     # one of them again

One session owns the store; another one reads it, and its changes are refused. The names are odd, the options
may be wrong, and so may the statements of the jobs. Findings are a statement that ends otherwise than the
model says, an error that nobody has written for a user, a job with a wrong state or wrong rows, and files
that are left when all jobs are dropped.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

import sqlfront
from sqlfront.connection import Connection
from sqlfront_values.errors import Error, InternalError

#: The statements in one store.
STEPS: Final = 40

#: Names of jobs, as the user means them.
NAMES: Final = (
    "a",
    "daily",
    "Daily",
    "select",
    "job",
    "jobs",
    "if",
    "extended",
    "1",
    "_",
    "%",
    "a%",
    "two words",
    " ",
    "  padded  ",
    ".",
    "..",
    "../..",
    "a/b",
    "/",
    "a\\b",
    "a.b",
    "it's",
    'say "no"',
    "back`tick",
    "``",
    "semi;colon",
    "-- no comment",
    "/* no comment */",
    "?",
    ":name",
    "ünïcödé",
    "ÜNÏCÖDÉ",
    "İstanbul",
    "straße",
    "日本",
    "\N{PILE OF POO}",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "a\N{COMBINING ACUTE ACCENT}",
    "\xe1",
    "line\nbreak",
    "tab\tulator",
    "nul\0byte",
    "x" * 255,
    "ü" * 3000,
    "20200101-000000-00000000",
)


class Work(msgspec.Struct, frozen=True):
    """A statement for a job. ``error``: the class of the error with which the statement is refused, or (if
    ``is_run``) with which the job ends; None = the job finishes. ``rows``: those of the finished job, None =
    they are in the target, which has ``put`` in its path."""

    text: str
    rows: Sequence[tuple[object, ...]] | None = ()
    error: type[Error] | None = None
    is_run: bool = True


WORKS: Final = (
    Work("SELECT 1 AS n", [(1,)]),
    Work("SELECT id FROM range(3)", [(0,), (1,), (2,)]),
    Work("SELECT k, count(*) AS n FROM src GROUP BY k", [(k, 20) for k in range(5)]),
    Work("VALUES ('it''s', 1), (NULL, 2)", [("it's", 1), (None, 2)]),
    Work("WITH w AS (SELECT max(id) AS m FROM src) SELECT m FROM w", [(99,)]),
    Work("SELECT 'CREATE JOB x AS ;' AS t -- comment", [("CREATE JOB x AS ;",)]),
    Work("SELECT id FROM src WHERE id < 0", []),
    Work("INSERT INTO sink SELECT id FROM src WHERE id < 3", None),
    Work("INSERT OVERWRITE DIRECTORY '{out}' USING parquet SELECT id FROM src WHERE id < 3", None),
    Work("SELECT 1 / (id - 5) AS n FROM src", error=sqlfront.DataError),
    Work("INSERT INTO sink SELECT 1 / (id - 50) FROM src", error=sqlfront.DataError),
    Work("SELECT id FROM nowhere", error=sqlfront.ProgrammingError, is_run=False),
    Work("SELECT nothing FROM src", error=sqlfront.ProgrammingError, is_run=False),
    Work("SELECT", error=sqlfront.ProgrammingError, is_run=False),
    Work("INSERT INTO nowhere SELECT 1", error=sqlfront.ProgrammingError, is_run=False),
    Work("INSERT INTO sink SELECT 1, 2", error=sqlfront.ProgrammingError, is_run=False),
    Work("DELETE FROM sink", error=sqlfront.ProgrammingError, is_run=False),
    Work("DROP TABLE src", error=sqlfront.ProgrammingError, is_run=False),
    Work("CREATE JOB b AS SELECT 1", error=sqlfront.ProgrammingError, is_run=False),
    Work("SHOW JOBS", error=sqlfront.ProgrammingError, is_run=False),
    Work("SELECT ? AS n", error=sqlfront.ProgrammingError, is_run=False),
    Work("SELECT * FROM sys.jobs", error=sqlfront.NotSupportedError, is_run=False),
)

#: Options of CREATE JOB, and whether they are right.
OPTIONS: Final = (
    ("", True),
    ("", True),
    ("", True),
    ("OPTIONS (parallelism 1)", True),
    ("OPTIONS (parallelism '2', `BUCKETS` 3, `task-size` '1k')", True),
    ("OPTIONS (adaptive false, speculation true)", True),
    ("OPTIONS (lease '0')", True),
    ("OPTIONS ('job-event.store.group-window' '0 ms')", True),
    ("OPTIONS (`job-event.store.failure-policy` 'unprotected')", True),
    ("OPTIONS (task-size '1k')", False),
    ("OPTIONS (parallelism 0)", False),
    ("OPTIONS (parallelism -1)", False),
    ("OPTIONS (parallelism 1.5)", False),
    ("OPTIONS (parallelism 99999999999999999999)", False),
    ("OPTIONS (parallelism '')", False),
    ("OPTIONS (parallelism '١')", False),
    ("OPTIONS ('task-size' '1 parsec')", False),
    ("OPTIONS (lease '-1 s')", False),
    ("OPTIONS (lease 'nan')", False),
    ("OPTIONS (lease '1e9')", False),
    ("OPTIONS (adaptive 'maybe')", False),
    ("OPTIONS (outputs 'members')", False),
    ("OPTIONS (outputs '../..')", False),
    ("OPTIONS (colour 'red')", False),
    ("OPTIONS ('' '')", False),
    ("OPTIONS (parallelism 1, Parallelism 2)", False),
    ("OPTIONS ()", False),
    ("OPTIONS (parallelism)", False),
    ("OPTIONS (parallelism 1", False),
)


class Known(msgspec.Struct):
    """A job that the store should have: its ``name`` as written, its id, and its work."""

    name: str
    id: str
    work: Work


class FindingError(Exception):
    """A statement that ended otherwise than the model says."""


def quoted(name: str) -> str:
    """The name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def text_of(name: str) -> str:
    """The name as a pattern of LIKE that has no wildcards, in a text."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Store:
    """A store with the sessions that use it, and the model of its jobs: by the names in lower case."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.jobs: dict[str, Known] = {}
        self.done = Counter[str]()
        self.puts = 0
        self.owner, self.reader = self._session(), self._session()
        self.owner.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src' AS {_SOURCE}")
        self.owner.execute("CREATE TABLE sink USING memory AS SELECT id FROM range(0)")
        self.owner.execute("CREATE JOB first AS SELECT 1")  # so that this session owns the store
        self.owner.execute("DROP JOB first")

    def _session(self) -> Connection:
        return sqlfront.connect(job_store=str(self.folder / "store"), workers=1)

    def close(self) -> None:
        self.owner.close()
        self.reader.close()

    def step(self) -> None:
        """Run one statement, and check its outcome."""
        name = self._name()
        actions = [self.create, self.create, self.create, self.drop, self.cancel, self.resume, self.describe]
        actions += [self.show, self.read, self.explain, self.refused, self.listed, self.wait]
        action = self.chance.choice(actions)
        self.done[action.__name__] += 1
        action(name)

    def _name(self) -> str:
        """A name, often that of a job, and at times its id."""
        chance = self.chance
        if self.jobs and chance.random() < 0.5:
            job = chance.choice([*self.jobs.values()])
            return chance.choice([job.name, job.name, job.name.swapcase(), job.id])
        return chance.choice(NAMES)

    def found(self, name: str) -> Known | None:
        """The job that a name or an id means."""
        by_id = [job for job in self.jobs.values() if job.id == name]
        return by_id[0] if by_id else self.jobs.get(name.lower())

    def run(
        self, connection: Connection, sql: str, errors: tuple[type[Error], ...] = ()
    ) -> list[tuple[object, ...]] | None:
        """Run a statement, and return its rows; None if it ends with an error of one of the classes, as it
        must if there are classes."""
        try:
            rows = [tuple(row) for row in connection.session.execute(sql).collect()]
        except Error as error:
            if isinstance(error, InternalError) or not isinstance(error, errors):
                raise FindingError(f"{sql[:300]!r}: {type(error).__name__}: {error}") from error
            return None
        if errors:
            raise FindingError(f"{sql[:300]!r}: no error, but {rows[:3]}")
        return rows

    def fail(self, text: str, *about: object) -> None:
        raise FindingError(f"{text}: {about}")

    # ---- the statements

    def create(self, name: str) -> None:
        chance, work = self.chance, self.chance.choice(WORKS)
        options, is_right = chance.choice(OPTIONS)
        how = chance.choice(["", "", "OR REPLACE", "IF NOT EXISTS"])
        present = self.found(name)
        head = "CREATE OR REPLACE JOB" if how == "OR REPLACE" else "CREATE JOB"
        head += " IF NOT EXISTS" if how == "IF NOT EXISTS" else ""
        self.puts += 1
        statement = work.text.replace("{out}", str(self.folder / f"out{self.puts}"))
        sql = f"{head} {quoted(name)} {options} AS {statement}"
        errors: tuple[type[Error], ...] = ()
        parses = is_right or options not in _NO_SYNTAX
        if not parses or (not work.is_run and work.text in _NO_JOBS):
            errors = (sqlfront.ProgrammingError,)
        elif present is not None and how == "IF NOT EXISTS":
            pass
        elif not work.is_run or not is_right or (present is not None and not how):
            errors = (sqlfront.ProgrammingError, sqlfront.NotSupportedError)
        rows = self.run(self.owner, sql, errors)
        if rows is None:
            return
        [(job, shown, state)] = rows
        if present is not None and how == "IF NOT EXISTS":
            if job != present.id:
                self.fail("another job", rows, present)
            return
        if present is not None:
            del self.jobs[present.name.lower()]
            if job == present.id:
                self.fail("the same job", rows)
        if shown != name or state not in ("created", "running", "finished", "failed"):
            self.fail("another name or state", rows)
        self.jobs[name.lower()] = Known(name, str(job), work)

    def drop(self, name: str) -> None:
        job = self.found(name)
        exists = self.chance.choice(["", "IF EXISTS "])
        self._changes(f"DROP JOB {exists}{quoted(name)}", job, exists)
        if job is not None:
            del self.jobs[job.name.lower()]

    def cancel(self, name: str) -> None:
        job = self.found(name)
        exists = self.chance.choice(["", "IF EXISTS "])
        self._changes(f"CANCEL JOB {exists}{quoted(name)}", job, exists)
        if job is not None:
            self._awaited(job, cancelled=True)

    def resume(self, name: str) -> None:
        job = self.found(name)
        exists = self.chance.choice(["", "IF EXISTS "])
        self._changes(f"RESUME JOB {exists}{quoted(name)}", job, exists)

    def _changes(self, sql: str, job: Known | None, exists: str) -> None:
        self.run(self.owner, sql, () if job is not None or exists else (sqlfront.ProgrammingError,))

    def describe(self, name: str) -> None:
        job, extended = self.found(name), self.chance.choice(["", "EXTENDED "])
        connection = self.chance.choice([self.owner, self.reader])
        errors = () if job is not None else (sqlfront.ProgrammingError,)
        rows = self.run(connection, f"DESCRIBE JOB {extended}{quoted(name)}", errors)
        if job is not None and not {("id", job.id), ("name", job.name)}.issubset(rows or ()):
            self.fail("another job", rows, job)

    def show(self, name: str) -> None:
        connection = self.chance.choice([self.owner, self.reader])
        rows = self.run(connection, "SHOW JOBS") or []
        shown = sorted((str(row[0]), str(row[1])) for row in rows)
        if shown != sorted((job.id, job.name) for job in self.jobs.values()):
            self.fail("other jobs", shown, self.jobs)
        if not name.replace(" ", "x").isalnum() or name != name.strip():
            return  # as in Spark, a pattern is a regular expression without spaces around it
        job = self.jobs.get(name.lower())
        like = self.run(connection, f"SHOW JOBS LIKE {text_of(name)}") or []
        if [row[0] for row in like if row[1] == name] != ([job.id] if job and job.name == name else []):
            self.fail("another job of the name", name, like)

    def listed(self, name: str) -> None:
        connection = self.chance.choice([self.owner, self.reader])
        table = self.chance.choice(["jobs", "job_stages", "job_tasks", "job_events"])
        rows = self.run(connection, f"SELECT * FROM sys.{table}") or []
        if table == "jobs" and {row[0] for row in rows} != {job.id for job in self.jobs.values()}:
            self.fail("other jobs", rows)

    def read(self, name: str) -> None:
        job = self.found(name)
        if job is None:
            self.run(self.owner, f"SELECT * FROM job.{quoted(name)}", (sqlfront.ProgrammingError,))
            return
        state = self._awaited(job)
        connection = self.chance.choice([self.owner, self.reader])
        errors: tuple[type[Error], ...] = ()
        if state == "failed":
            assert job.work.error is not None
            errors = (job.work.error,)
        elif state == "cancelled" or job.work.rows is None:
            errors = (sqlfront.OperationalError,)
        rows = self.run(connection, f"SELECT * FROM job.{quoted(name)}", errors)
        if rows is not None and Counter(rows) != Counter(job.work.rows or ()):
            self.fail("other rows", job, rows)

    def wait(self, name: str) -> None:
        job = self.found(name)
        if job is not None:
            self._awaited(job)

    def _awaited(self, job: Known, *, cancelled: bool = False) -> str:
        """Wait for the end of the job, and return its state."""
        service = self.owner.session.context.jobs
        assert service is not None
        state = service.wait(job.id, 30).phase.value
        right = {"cancelled"} if cancelled or state == "cancelled" else set()
        right.add("finished" if job.work.error is None else "failed")
        if state not in right:
            self.fail("another state", job, state)
        return state

    def explain(self, name: str) -> None:
        work = self.chance.choice(WORKS)
        statement = work.text.replace("{out}", str(self.folder / "out"))
        errors = () if work.is_run else (sqlfront.ProgrammingError, sqlfront.NotSupportedError)
        self.run(self.owner, f"EXPLAIN CREATE JOB {quoted(name)} AS {statement}", errors)

    def refused(self, name: str) -> None:
        """The session that doesn't own the store may change nothing."""
        present = self.found(name)
        statement = self.chance.choice(
            ["CREATE JOB {} AS SELECT 1", "CANCEL JOB {}", "RESUME JOB {}", "DROP JOB {}"]
        )
        classes = (sqlfront.OperationalError, sqlfront.ProgrammingError)
        sql = statement.format(quoted(name))
        if present is None or sql.startswith("CREATE"):
            self.run(self.reader, sql, classes)
            return
        self._awaited(present)
        try:
            self.reader.execute(sql)
        except (sqlfront.OperationalError, sqlfront.ProgrammingError) as error:
            if "others may only read it" not in str(error):
                self.fail("another error", sql, error)
        else:  # a job that has ended is neither cancelled nor resumed
            if sql.startswith("DROP"):
                self.fail("dropped by a session that doesn't own the store", sql)

    # ---- the end

    def check_end(self) -> None:
        """Drop all jobs, and check that nothing is left."""
        for job in [*self.jobs.values()]:
            self._awaited(job)
            self.run(self.owner, f"DROP JOB {quoted(job.name)}")
        if rows := self.run(self.reader, "SHOW JOBS"):
            self.fail("jobs are left", rows)
        left = [name for _, _, names in os.walk(self.folder / "store") for name in names]
        if any(name.endswith(".arrow") or "events" in name for name in left):
            self.fail("files are left", left)


_SOURCE: Final = "SELECT id, id % 5 AS k FROM range(100)"
#: Options that are no options by their syntax, and statements that no job may have by theirs.
_NO_SYNTAX: Final = frozenset(
    {
        "OPTIONS ()",
        "OPTIONS (parallelism)",
        "OPTIONS (parallelism 1",
        "OPTIONS (parallelism -1)",
        "OPTIONS (task-size '1k')",
    }
)
_NO_JOBS: Final = frozenset(
    {"SELECT", "DELETE FROM sink", "DROP TABLE src", "CREATE JOB b AS SELECT 1", "SHOW JOBS"}
)


def campaign(seed: int, numbers: Sequence[int]) -> Iterator[tuple[int, Counter[str], str]]:
    """Yield for each store its number, the statements that ran, and the finding; empty = none."""
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder), random.Random(f"{seed}/{number}"))
            found = ""
            try:
                for _ in range(STEPS):
                    store.step()
                store.check_end()
            except FindingError as error:
                found = str(error)
            finally:
                store.close()
            yield number, store.done, found


def main() -> int:
    """Run the stores that the command line asks for; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Random statements about durable jobs")
    parser.add_argument("--count", type=int, default=100, help="stores")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", type=int, default=(), help="numbers of stores")
    options = parser.parse_args()
    done, findings = Counter[str](), 0
    for number, ran, found in campaign(options.seed, options.only or range(options.count)):
        done += ran
        if found:
            findings += 1
            print(f"{number}: {found[:1500]}", flush=True)
    print(f"{done.total()} statements: {dict(done.most_common())}; {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
