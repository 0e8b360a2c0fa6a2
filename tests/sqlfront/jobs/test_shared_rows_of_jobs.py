"""Rows that several parts of a durable job share: the job computes them once, also if its process dies."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.jobs.durable_job import DurableJob
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.killed import NAME, open_session, run_killed

#: The number of rows that three readers of random rows agree on. Two readers are stages of their own.
QUERY = (
    "WITH c AS (SELECT id, rand() AS r, uuid() AS u FROM src) SELECT count(*) AS n "
    "FROM c JOIN src USING (id) JOIN c AS d ON c.id = d.id AND c.r = d.r AND c.u = d.u"
)
NESTED = (
    "WITH c AS (SELECT uuid() r FROM src), d AS (SELECT max(r) m FROM c) "
    "SELECT count(*) FROM c JOIN d ON c.r = d.m JOIN d e USING (m)"
)
ROWS = 10_000
#: The stage that has the shared rows, and the stages of the readers.
SHARED, FIRST_READER, SECOND_READER = 2, 3, 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table ``src``."""
    with sqlfront.connect(workers=2) as connection:
        connection.execute(
            f"CREATE TABLE src USING parquet LOCATION '{tmp_path}/src' AS SELECT id FROM range({ROWS})"
        )
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Iterator[sqlfront.Connection]:
    with open_session(folder) as connection:
        yield connection


def resumed(connection: sqlfront.Connection) -> DurableJob:
    """The job that a killed process has left, after its end."""
    connection.execute(f"RESUME JOB {NAME}")
    job = job_of(connection)
    job.wait(60)
    return job


def test_shared_rows_are_a_stage_that_each_reader_reads(connection: sqlfront.Connection) -> None:
    stages = connection.execute(f"EXPLAIN CREATE JOB j AS {QUERY}").fetchall()

    readers = [stage[0] for stage in stages if stage[2] == f"stage {SHARED} (0)"]
    assert stages[SHARED][4] == "shared rows c"
    assert readers == [FIRST_READER, SECOND_READER]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (QUERY, [(ROWS,)]),
        ("WITH c AS (SELECT rand() r) SELECT count(*) FROM (SELECT r FROM c UNION SELECT r FROM c)", [(1,)]),
        (
            "WITH c AS (SELECT rand() r FROM src) SELECT count(1) FROM c WHERE r IN (SELECT * FROM c)",
            [(ROWS,)],
        ),
        (
            "WITH c AS (SELECT rand() r FROM src LIMIT 5) SELECT (SELECT count(*) FROM c), count(r) FROM c",
            [(5, 5)],
        ),
        ("WITH c AS (SELECT rand() r FROM src LIMIT 0) SELECT count(*) FROM c JOIN c d USING (r)", [(0,)]),
        (NESTED, [(1,)]),
    ],
)
def test_readers_see_the_same_rows(
    connection: sqlfront.Connection, sql: str, rows: list[tuple[object, ...]]
) -> None:
    assert connection.session.submit_job(sql).result().collect() == rows


def test_values_of_the_run_are_the_same_in_all_parts(connection: sqlfront.Connection) -> None:
    sql = (
        "WITH c AS (SELECT rand() r, current_timestamp() t) "
        "SELECT a.t = current_timestamp() AS same FROM c a JOIN c b USING (r)"
    )

    assert connection.session.submit_job(sql).result().collect() == [(True,)]


def test_arguments_reach_the_shared_rows(connection: sqlfront.Connection) -> None:
    sql = "WITH c AS (SELECT rand() r FROM range(10) WHERE id < ?) SELECT count(*) FROM c NATURAL JOIN c d"

    assert connection.session.submit_job(sql, [4]).result().collect() == [(4,)]


def test_shared_rows_are_checked_as_other_rows(connection: sqlfront.Connection) -> None:
    connection.session.register("frame", pa.table({"one": [1]}))

    with pytest.raises(sqlfront.NotSupportedError, match="a durable job that reads `frame`"):
        connection.session.submit_job(
            "WITH c AS (SELECT rand() r FROM frame) SELECT count(*) FROM c JOIN c d USING (r)"
        )


@pytest.mark.parametrize("stage", [SHARED, FIRST_READER])
def test_a_successor_reads_the_same_rows(folder: Path, stage: int) -> None:
    assert run_killed(folder, QUERY, "stage", stage) == -signal.SIGKILL

    with open_session(folder) as connection:
        job = resumed(connection)

        assert job.result().collect() == [(ROWS,)]
        assert (job.status().epoch, job.status().rerun) == (2, 0)


def test_all_readers_read_again_if_the_rows_are_lost(folder: Path) -> None:
    assert run_killed(folder, QUERY, "stage", FIRST_READER) == -signal.SIGKILL
    for stage in (0, SHARED):
        for path in (folder / "store" / "spool").glob(f"*/{stage}.*"):
            path.unlink()

    with open_session(folder) as connection:
        job = resumed(connection)

        assert job.result().collect() == [(ROWS,)]
        assert job.status().rerun > 0
