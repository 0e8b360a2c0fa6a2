"""CREATE OR REPLACE JOB in processes killed by SIGKILL: the former job or the new one is there, not both."""

import os
import signal
from pathlib import Path

import pytest

import sqlfront
from tests.sqlfront.jobs.handles import ended
from tests.sqlfront.jobs.killed import NAME, STORE, open_session, run_killed

NEW = "SELECT k, count(*) AS n FROM src GROUP BY k ORDER BY k"
RIGHT = [(k, 1429 if k < 4 else 1428) for k in range(7)]
PROGRAM = "tests.sqlfront.jobs.replaced"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table ``src`` of 10,000 rows."""
    with sqlfront.connect(workers=2) as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
    return tmp_path


def make_finished(folder: Path) -> None:
    """Make the former job, which has ended."""
    with open_session(folder) as connection:
        connection.session.submit_job("SELECT 1 AS old", name=NAME).wait()


def there(connection: sqlfront.Connection) -> str:
    """Which job is there: ``old``, or ``new``. AssertionError unless it is one, in a right state."""
    [(name, state, statement)] = connection.execute("SELECT name, state, statement FROM sys.jobs").fetchall()
    assert name == NAME
    if statement == NEW:
        return "new"
    if "old" in str(statement):
        assert connection.execute(f"SELECT * FROM job.{NAME}").fetchall() == [(1,)]
    else:
        assert state in ("recovering", "running")  # the latter until the lease of a remote store ends
    return "old"


def go_on(folder: Path) -> str:
    """Check that one of the jobs is there after a kill; have the new one end, and remove it. Return which
    job was there."""
    with open_session(folder) as connection:
        found = there(connection)
        again = f"RESUME JOB {NAME}" if found == "new" else f"CREATE OR REPLACE JOB {NAME} AS {NEW}"
        connection.execute(again)
        assert there(connection) == "new"
        ended(connection)
        assert connection.execute(f"SELECT * FROM job.{NAME}").fetchall() == RIGHT
        connection.execute(f"DROP JOB {NAME}")
        assert connection.execute("SHOW JOBS").fetchall() == []
    if STORE not in os.environ:
        for name in ("spool", "jobs"):
            assert os.listdir(folder / "store" / name) == []
    return found


#: The fsyncs until the new job runs, roughly.
SYNCS = 12
NUMBERS = [
    pytest.param(number, marks=() if number in (2, 4, 6) else pytest.mark.soak) for number in range(1, SYNCS)
]


@pytest.mark.parametrize("former", ["finished", "running"])
@pytest.mark.parametrize("step", ["sync", "synced"])
@pytest.mark.parametrize("number", NUMBERS)
def test_kill_at_every_fsync(folder: Path, number: int, step: str, former: str) -> None:
    if former == "finished":
        make_finished(folder)
    assert run_killed(folder, NEW, step, number, program=PROGRAM) == -signal.SIGKILL

    go_on(folder)


@pytest.mark.parametrize("former", ["finished", "running"])
@pytest.mark.parametrize("step", ["erase", "erased"])
def test_kill_while_the_former_job_is_removed(folder: Path, step: str, former: str) -> None:
    if former == "finished":
        make_finished(folder)
    assert run_killed(folder, NEW, step, program=PROGRAM) == -signal.SIGKILL

    assert len(os.listdir(folder / "store" / "jobs")) == (2 if step == "erase" else 1)
    assert go_on(folder) == "new"
