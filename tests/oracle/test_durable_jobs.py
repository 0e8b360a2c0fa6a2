"""Every query of `tests/slt` as a durable job: the answer must be the stored one, which is Spark's.

The test command runs every fortieth query of each file, ``make soak`` all. The temporary views of a file are
stored in several files each, so that jobs have several stages and tasks; and once more they are cached as
memory tables. The store is in memory where the system has such a folder: thousands of jobs wait for no disk
then.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracle import random_queries, slt
from tests.oracle.answers import difference
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.gaps import key, known_gaps
from tests.oracle.job_runs import JobCounts, JobRun, is_query
from tests.oracle.slt import Record
from tests.oracle.subject import Subject

#: The folder of the system that is in memory, on Linux.
MEMORY = "/dev/shm"
#: Why durable jobs refuse queries, and how many at most.
REFUSED = {
    "a condition that is true for NaN or a zero of the other sign, whose row groups Spark skips": 1,
    "WITH RECURSIVE in a durable job": 200,
}
#: The files with views over tables that change later, which are not stored.
CHANGING = {"tables.slt"}
#: A query whose rows, which may come in any order, are shared by three readers.
SHARED = (
    "WITH q AS (SELECT *, row_number() OVER (ORDER BY 1) AS rn FROM ({})) "
    "SELECT c0, c1, c2 FROM (SELECT * FROM q UNION ALL SELECT * FROM q EXCEPT ALL SELECT * FROM q)"
)
#: The test command runs the first of every so many queries, ``make soak`` all.
SHARES = [pytest.param(40, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)]
GAPS = known_gaps()


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        yield Path(folder)


def queries(records: list[Record]) -> list[Record]:
    """The records that a durable job can run, without those that sqlfront is known to answer otherwise."""
    return [
        record
        for record in records
        if record.is_query
        and is_query(record.sql)
        and GAPS.keys().isdisjoint({key(record), key(record, "clustered")})
    ]


def run(
    folder: Path, every: int, *, in_files: bool = False, on_processes: bool = False, spread: bool = False
) -> JobCounts:
    """Run the first of every so many queries of each file."""
    counts = JobCounts()
    for path in files([SLT_FOLDER]):
        records = slt.read(path)
        is_kept = path.name not in CHANGING
        stored = folder / path.stem if in_files and is_kept else None
        options = {"on_processes": on_processes, "spread": spread and is_kept}
        with JobRun(records, folder / "store", stored, **options) as jobs:
            for record in queries(records)[::every]:
                jobs.count(record, counts)
    print(counts)
    return counts


def check(counts: JobCounts) -> None:
    assert not counts.different, "\n".join(counts.different)
    assert counts.refused <= Counter(REFUSED)


@pytest.mark.parametrize("every", SHARES)
def test_answers_from_files_are_sparks(folder: Path, every: int) -> None:
    counts = run(folder, every, in_files=True)

    check(counts)
    several = sum(count for stages, count in counts.equal.items() if stages > 1)
    assert several > counts.equal.total() / 4, "many jobs should have several stages"


@pytest.mark.parametrize("every", SHARES)
def test_answers_from_memory_tables_are_sparks(folder: Path, every: int) -> None:
    check(run(folder, every))


@pytest.mark.soak
def test_answers_of_tasks_on_processes_are_sparks(folder: Path) -> None:
    check(run(folder, 1, in_files=True, on_processes=True))


@pytest.mark.soak
def test_answers_from_tables_on_processes_are_sparks(folder: Path) -> None:
    check(run(folder, 1, on_processes=True, spread=True))


@pytest.mark.parametrize(
    "count", [pytest.param(8, id="some"), pytest.param(250, id="many", marks=pytest.mark.soak)]
)
def test_random_queries_give_the_rows_of_light_jobs(folder: Path, count: int) -> None:
    setup = [Record("", 0, False, frozenset(), sql, None) for sql in random_queries.SETUP]

    with Subject() as light, JobRun(setup, folder / "store", folder / "files") as jobs:
        for record in setup:
            light.answer(record.sql)
            assert jobs.difference(record) is None

        @settings(
            max_examples=count,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=[*HealthCheck],
        )
        @given(random_queries.queries())
        def same(query: str) -> None:
            for sql in (query, SHARED.format(query)):
                assert difference(light.answer(sql), jobs.subject.answer(sql)) is None, sql

        same()
