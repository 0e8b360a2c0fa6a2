"""Durable jobs whose surroundings change under them: the sources and the clock while a job runs, the place of
the store, requests at the very end of the job, and SIGKILL of the process at any time.

    python -m tests.fuzz.job_hazards                           # a hundred jobs
    python -m tests.fuzz.job_hazards --count 20 --seed 7       # other ones
    python -m tests.fuzz.job_hazards --seed 7 --only 12        # one of them again

Each job begins in a process that is killed after a random time, or goes on to its end. Then something happens
to the store or to the sources, and another process resumes the job, often under another path. Each process is
forked from this one, which opens no session. Findings are rows that are neither the old ones nor the new ones
of the target, a state that the target contradicts, an error that nobody has written for a user, a process
that doesn't end, and files that are left when all jobs are dropped.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from sqlfront.jobs.durable_job import DurableJob
from sqlfront_values.errors import Error, InternalError

#: The rows of the source, in so many files, and the groups of a job.
ROWS, FILES, GROUPS = 3000, 3, 7
#: Seconds after which a process that has not ended is a finding.
PATIENCE: Final = 60.0
_QUERY: Final = "SELECT k, count(*) AS n, sum(id) AS s FROM src GROUP BY k"
#: What the target has before the job.
_OLD: Final = [(-1, -1, -1)]
#: Names that a careless store takes for each other, or for paths.
NAMES: Final = ("daily", "Daily", "\xe9", "e\N{COMBINING ACUTE ACCENT}", "..", "a/b", "日本", " ", "x" * 200)
STATEMENTS: Final = (
    _QUERY,
    "INSERT OVERWRITE DIRECTORY '{place}/out' USING parquet " + _QUERY,
    "INSERT INTO sink " + _QUERY,
    "INSERT OVERWRITE sink " + _QUERY,
)


class FindingError(Exception):
    """Something that no user should see."""


def write_source(place: Path, version: int) -> None:
    """Write the files of the source; rows of two versions have different numbers. Each file is replaced in
    one step, as writers do."""
    place.mkdir(exist_ok=True)
    for number in range(FILES):
        ids = range(version * 1_000_000 + number, version * 1_000_000 + ROWS, FILES)
        table = pa.table({"id": pa.array(ids, pa.int64()), "k": [each % GROUPS for each in ids]})
        pq.write_table(table, place / f".{number}", row_group_size=200)
        (place / f".{number}").rename(place / f"{number}.parquet")


def rows_of(version: int) -> list[tuple[int, int, int]]:
    """The rows of the job over one version of the source."""
    ids = range(version * 1_000_000, version * 1_000_000 + ROWS)
    groups = [[each for each in ids if each % GROUPS == k] for k in range(GROUPS)]
    return sorted((k, len(group), sum(group)) for k, group in enumerate(groups))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class World:
    """The folder of one job: source, store and target, and what the processes have found out. ``number``: of
    the job in its campaign."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self.place, self.chance = place, chance
        self.name, self.statement = chance.choice(NAMES), chance.choice(STATEMENTS).format(place=place)
        self.store = place / "store"
        #: The versions of the source that the job may have read.
        self.versions = [0]
        #: What was done, other stores than the present one, and whether the store was removed meanwhile.
        self.did: list[str] = []
        self.copies: list[Path] = []
        self.is_removed = False
        write_source(place / "src", 0)
        self.forked(self.write_targets)

    # ---- processes

    def forked(
        self,
        call: Callable[[], object],
        seconds: float = PATIENCE,
        *,
        kills: bool = False,
        hazard: Callable[[], None] | None = None,
        due: float = 0.0,
    ) -> None:
        """Call the function in a fork of this process, and wait for its end. Raises FindingError for an error
        of the fork. ``seconds``: the time after which the fork gets SIGKILL: as a hazard, if ``kills``, else
        as a finding. ``hazard``: what happens meanwhile, after ``due`` seconds. Both times begin when the
        fork has created the job, or is about to resume it."""
        begun, is_begun = self.place / "begun", False
        begun.unlink(missing_ok=True)
        process, began = os.fork(), time.monotonic()
        if process == 0:
            _end_with(call, self.place / "error")
        while os.waitpid(process, os.WNOHANG)[0] == 0:
            time.sleep(0.003)
            if not is_begun and (begun.exists() or time.monotonic() > began + PATIENCE):
                is_begun, began = True, time.monotonic()
            passed = time.monotonic() - began if is_begun else 0.0
            if hazard is not None and passed > due:
                hazard()
                hazard = None
            if passed > seconds:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                if not kills:
                    raise FindingError("a process doesn't end")
                break
        error = self.place / "error"
        if error.exists():
            raise FindingError(error.read_text())

    def write_targets(self) -> None:
        """Give the targets their old rows."""
        with sqlfront.connect(workers=1) as connection:
            rows = f"USING parquet SELECT {', '.join(f'CAST(-1 AS BIGINT) AS {name}' for name in 'kns')}"
            connection.execute(f"INSERT OVERWRITE DIRECTORY '{self.place}/out' {rows}")
            rows = rows.replace("SELECT", f"LOCATION '{self.place}/sink' AS SELECT")
            connection.execute(f"CREATE TABLE sink {rows}")

    def session(self, store: Path) -> sqlfront.Connection:
        """A session on the store with the tables of the job."""
        connection = sqlfront.connect(job_store=store, workers=2, collect_rows=10)
        connection.execute(f"CREATE TABLE src USING parquet LOCATION '{self.place}/src'")
        columns = "(k BIGINT, n BIGINT, s BIGINT)"
        connection.execute(f"CREATE TABLE sink {columns} USING parquet LOCATION '{self.place}/sink'")
        return connection

    def begin(self, jumps: float, request: str, delay: float) -> None:
        """Begin the job, and wait for its end. ``jumps``: seconds by which the clock jumps again and again;
        ``request``: a statement for the job after the ``delay``, None if it is empty."""
        if jumps:
            _let_clock_jump(jumps)
        with self.session(self.store) as connection, _expected():
            options = "OPTIONS (parallelism 3, 'task-size' 1)"
            connection.execute(f"CREATE JOB {quoted(self.name)} {options} AS {self.statement}")
            (self.place / "begun").touch()
            if request:
                time.sleep(delay)
                connection.execute(request.format(quoted(self.name)))
            job = _job(connection, self.name)
            if job is not None:
                job.wait(PATIENCE)

    def go_on(self, store: Path, jumps: float = 0.0) -> None:
        """Resume the job, wait for its end, and check what state and rows are."""
        if jumps:
            _let_clock_jump(jumps)
        with self.session(store) as connection:
            job = _job(connection, self.name)
            if job is None:
                self.check_target(set())
                return
            (self.place / "begun").touch()
            try:
                connection.execute(f"RESUME JOB {quoted(self.name)}")
                state = job.wait(PATIENCE).phase.value
                if state not in ("finished", "cancelled"):
                    raise FindingError(f"the job is {state}: {job.status()}")
                rows = None
                if state == "finished" and "INSERT" not in self.statement:
                    rows = sorted(map(tuple, job.result().collect()))
            except Error as error:
                _check_error(error)
                self.note(f"{type(error).__name__} {error.sqlstate}: {str(error)[:60]}")
                return
            self.note(state)
            if rows is not None and rows not in [rows_of(version) for version in self.versions]:
                raise FindingError(f"wrong rows: {rows}")
            self.check_target({state})

    def note(self, outcome: str) -> None:
        (self.place / "outcome").write_text(outcome)

    def check_target(self, states: set[str]) -> None:
        """Check that the target has the old rows or those of the job; and if the job has ended, the right
        ones of the two."""
        if "INSERT" not in self.statement:
            return
        target = self.place / ("out" if "DIRECTORY" in self.statement else "sink")
        rows = sorted(tuple(row.values()) for row in pq.read_table(target).to_pylist())
        kept = _OLD if "INTO" in self.statement else []
        new = [sorted(kept + rows_of(version)) for version in self.versions]
        right = {"finished": new, "cancelled": [_OLD]}
        allowed = [one for state in states or right for one in right[state]]
        if rows not in allowed:
            raise FindingError(f"the target of a job in {states} has {rows}")

    def drop(self, store: Path) -> None:
        """Drop all jobs of a store, and check that nothing is left."""
        with self.session(store) as connection:
            if self.is_removed:  # the next job removes what processes have written since
                connection.execute("CREATE JOB next AS SELECT 1")
            for job, *_ in connection.session.execute("SHOW JOBS").collect():
                connection.execute(f"DROP JOB `{job}`")
        self.check_target(set())
        left = [name for _, _, names in os.walk(store) for name in names if name != "owner"]
        if left:
            raise FindingError(f"files are left: {left[:9]}")

    # ---- what happens

    def run(self) -> None:
        """Run the job through its hazards."""
        chance = self.chance
        jumps = chance.choice([0.0, 0.0, 3600.0, -3600.0, 4e8, -4e8])
        request = chance.choice(["", "", "CANCEL JOB {}", "DROP JOB {}", "RESUME JOB {}"])
        wait, due, ends = chance.random() * 0.3, chance.random() * 0.6, chance.random() < 0.3
        hazards = [None, None, self.change_source, self.move_store, self.remove_store]
        hazard = chance.choice(hazards)
        self.did += [self.name, self.statement, f"jumps {jumps}", f"request {request}", f"ends {ends}"]
        seconds = PATIENCE if ends else chance.random()
        self.forked(lambda: self.begin(jumps, request, wait), seconds, kills=not ends, hazard=hazard, due=due)
        chance.choice([self.stay, self.link_store, self.move_store, self.copy_store, self.change_source])()
        for _ in range(chance.choice([0, 0, 1, 2])):
            self.did.append("killed again")
            self.forked(lambda: self.go_on(self.store), chance.random(), kills=True)
        self.forked(lambda: self.go_on(self.store, jumps))
        self.forked(lambda: self.drop(self.store))
        for other in self.copies:
            self.forked(lambda other=other: self.drop(other))  # type: ignore[misc]

    def stay(self) -> None:
        self.did.append("stay")

    def change_source(self) -> None:
        """Replace the source by another version."""
        self.did.append("change source")
        self.versions.append(self.versions[-1] + 1)
        write_source(self.place / "src", self.versions[-1])

    def move_store(self) -> None:
        """Give the store another path."""
        self.did.append("move store")
        if self.store.is_dir() and not self.store.is_symlink():
            to = self.place / f"moved {len(self.did)}"
            self.store.rename(to)
            self.store = to

    def remove_store(self) -> None:
        """Remove the store, as somebody who cleans up."""
        self.did.append("remove store")
        self.is_removed = True
        shutil.rmtree(self.store, ignore_errors=True)

    def link_store(self) -> None:
        """Go on under a symbolic link to the store."""
        self.did.append("link store")
        link = self.place / "lïnk"
        link.symlink_to(self.store, target_is_directory=True)
        self.store = link

    def copy_store(self) -> None:
        """Go on with a copy of the store; another copy, and the original one, stay."""
        self.did.append("copy store")
        if self.store.is_dir():
            self.copies.append(self.store)
            to = self.place / "copy"
            shutil.copytree(self.store, to)
            self.store = to


def _end_with(call: Callable[[], object], error: Path) -> None:
    """Call the function, and end the process; write a finding or another error to the file."""
    try:
        call()
    except BaseException:  # noqa: BLE001 - the fork must not go on behind the call
        error.write_text(traceback.format_exc())
    os._exit(0)


@contextmanager
def _expected() -> Iterator[None]:
    """Take the errors that are written for users; FindingError for others."""
    try:
        yield
    except Error as error:
        _check_error(error)


def _check_error(error: Error) -> None:
    if isinstance(error, InternalError) or not str(error):
        raise FindingError(f"{type(error).__name__}: {error}") from error


def _job(connection: sqlfront.Connection, name: str) -> DurableJob | None:
    service = connection.session.context.jobs
    assert service is not None
    return service.find(name)


def _let_clock_jump(seconds: float) -> None:
    """Have the clock of this process jump by so many seconds every few milliseconds, there and back."""
    now, now_ns, began = time.time, time.time_ns, time.monotonic()

    def offset() -> float:
        return seconds if int((time.monotonic() - began) * 100) % 2 else 0.0

    time.time = lambda: now() + offset()
    time.time_ns = lambda: now_ns() + int(offset() * 1e9)


def _import_all() -> None:
    """Import the modules that a session with a job imports, so that the forks have them. A fork finds out
    which these are: a session would leave threads in this process."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def look() -> None:
            with sqlfront.connect(job_store=place / "store", workers=1) as connection:
                connection.session.submit_job("SELECT id % 2 FROM range(9) GROUP BY 1").result().collect()
            (place / "modules").write_text("\n".join(sys.modules))

        if (process := os.fork()) == 0:
            _end_with(look, place / "error")
        os.waitpid(process, 0)
        for name in (place / "modules").read_text().split("\n"):
            if name.startswith(("sqlfront", "sqlglot", "lark", "pyarrow")):
                importlib.import_module(name)


def campaign(seed: int, numbers: Sequence[int]) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield for each job its number, how it ended, the finding (empty = none), and what was done."""
    _import_all()
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            world = World(Path(folder), random.Random(f"{seed}/{number}"))
            found = ""
            try:
                world.run()
            except FindingError as error:
                found = str(error)
            outcome = world.place / "outcome"
            yield number, outcome.read_text() if outcome.exists() else "gone", found, world.did


def main() -> int:
    """Run the jobs that the command line asks for; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Durable jobs whose surroundings change")
    parser.add_argument("--count", type=int, default=100, help="jobs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", type=int, default=(), help="numbers of jobs")
    options = parser.parse_args()
    outcomes, findings = Counter[str](), 0
    for number, outcome, found, did in campaign(options.seed, options.only or range(options.count)):
        outcomes[outcome] += 1
        if found:
            findings += 1
            print(f"{number}: {did}\n{found[-1500:]}", flush=True)
    print(f"{outcomes.total()} jobs: {dict(outcomes.most_common())}; {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
