"""Durable jobs into memory tables whose rows are on the members of a cluster: the session gets SIGKILL at
each step of the commit, the members live on, and another session resumes the job."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.memory.spread.table import SpreadTable, TableVersion
from sqlfront_values.errors import Error
from tests.sqlfront.jobs.killed import NAME, SECRET, open_session, run_killed

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("members of durable jobs")

QUERY = "SELECT k, count(*) AS n FROM src GROUP BY k"
RIGHT = [(k, 1429 if k < 4 else 1428) for k in range(7)]
FORMER = [(-1, 0)]
#: The statements, the tables that they fill, and the tables' rows afterwards.
TARGETS = {
    "insert": (f"INSERT INTO sink {QUERY}", "sink", FORMER + RIGHT),
    "overwrite": (f"INSERT OVERWRITE sink {QUERY}", "sink", RIGHT),
    "table": (f"CREATE TABLE made USING memory CLUSTERED BY (k) AS {QUERY}", "made", RIGHT),
    "replace": (f"CREATE OR REPLACE TABLE sink USING memory AS {QUERY}", "sink", RIGHT),
}
#: The steps at which the session is killed.
STEPS = ("put", "publish", "sent", "published", "written", "committed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A cluster of two members."""
    with LocalCluster(2, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=30.0) as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path: Path, cluster: LocalCluster) -> Iterator[Path]:
    """A folder with the cluster's address, whose catalog has the tables ``src`` (10,000 rows in files) and
    ``sink`` (one row, spread over the members)."""
    (tmp_path / "cluster").write_text(f"sqlfront://{cluster.address.removeprefix('unix:')}")
    with open_session(tmp_path) as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
        connection.execute("CREATE TABLE sink USING memory CLUSTERED BY (k) AS SELECT -1L AS k, 0L AS n")
    yield tmp_path
    with open_session(tmp_path) as connection:
        for table in ("src", "sink", "made"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")


def kill(cluster: LocalCluster, folder: Path, statement: str, step: str) -> None:
    """Run a job with the statement in a session that gets SIGKILL at the step, and tell the keeper, which
    notices a session's end by itself only after a time of silence."""
    assert run_killed(folder, statement, step) == -signal.SIGKILL
    for info in cluster.keeper.members.members:
        if info.lite:
            cluster.keeper.remove(info.name, "its process was killed")


def rows(connection: sqlfront.Connection, table: str) -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT k, n FROM {table} ORDER BY k").fetchall()


def ended(connection: sqlfront.Connection) -> DurableJobStatus:
    """Wait for the end of the job, and return its status."""
    service = connection.session.context.jobs
    assert service is not None
    job = service.find(NAME)
    assert job is not None
    return job.wait(60)


FEW = {("insert", "published")}


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        pytest.param(kind, step, marks=() if (kind, step) in FEW else pytest.mark.cluster)
        for kind in TARGETS
        for step in STEPS
    ],
)
def test_sink_crash_points_of_members(cluster: LocalCluster, folder: Path, kind: str, step: str) -> None:
    statement, table, right = TARGETS[kind]
    kill(cluster, folder, statement, step)

    with open_session(folder) as connection:
        connection.execute(f"RESUME JOB {NAME}")
        status = ended(connection)

        assert status.phase is JobPhase.FINISHED, status
        assert (status.epoch, status.rerun, status.rows) == (2, 0, len(RIGHT))
        assert status.restored == status.tasks
        assert rows(connection, table) == right
        connection.execute(f"DROP JOB {NAME}")
        assert connection.execute("SHOW JOBS").fetchall() == []


@contextmanager
def failing_publications(error: Error, times: int, *, after: bool) -> Iterator[None]:
    """Have the next publications of tables' versions, so many, raise an error: with ``after`` when the keeper
    has made the change."""
    left = [times]

    def publish(self: ProcessMembers, table: SpreadTable, version: TableVersion) -> None:
        left[0] -= 1
        if after or left[0] < 0:
            usual(self, table, version)
        if left[0] >= 0:
            raise error

    usual = ProcessMembers.publish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessMembers, "publish", publish)
        yield


CHANGED = sqlfront.OperationalError("the cluster has changed", sqlstate="40001")
UNKNOWN = sqlfront.OperationalError("the connection with the keeper broke", sqlstate="08007")
REMOVED = sqlfront.OperationalError("this member was removed", sqlstate="08003")


@pytest.mark.parametrize(
    ("kind", "error", "after"),
    [
        pytest.param("insert", UNKNOWN, True),
        pytest.param("insert", UNKNOWN, False, marks=pytest.mark.cluster),
        pytest.param("insert", CHANGED, False, marks=pytest.mark.cluster),
        pytest.param("table", UNKNOWN, True, marks=pytest.mark.cluster),
        pytest.param("table", CHANGED, False, marks=pytest.mark.cluster),
    ],
)
def test_a_statement_is_repeated_when_the_cluster_changes(
    folder: Path, kind: str, error: Error, *, after: bool
) -> None:
    statement, table, right = TARGETS[kind]
    with open_session(folder) as connection, failing_publications(error, 1, after=after):
        connection.execute(f"CREATE JOB {NAME} AS {statement}")

        assert ended(connection).phase is JobPhase.FINISHED
        assert rows(connection, table) == right


def test_a_session_that_is_cut_off_leaves_the_job_to_another(folder: Path) -> None:
    statement, table, right = TARGETS["insert"]
    with open_session(folder) as connection:
        with failing_publications(REMOVED, 1, after=False):
            connection.execute(f"CREATE JOB {NAME} AS {statement}")
            with pytest.raises(sqlfront.OperationalError, match="this member was removed"):
                ended(connection)
        assert connection.execute("SELECT state FROM sys.jobs").fetchall() == [("recovering",)]

        connection.execute(f"RESUME JOB {NAME}")

        assert ended(connection).phase is JobPhase.FINISHED
        assert rows(connection, table) == right


@pytest.mark.cluster
def test_a_table_that_was_dropped_fails_the_job_by_name(folder: Path) -> None:
    with open_session(folder) as connection, failing_publications(CHANGED, 1000, after=False):
        connection.execute(f"CREATE JOB {NAME} AS INSERT INTO sink {QUERY}")
        with open_session(folder) as other:
            other.execute("DROP TABLE sink")

        status = ended(connection)

        assert status.error is not None
        assert status.error.condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_members_in_this_process_take_rows_once(tmp_path: Path) -> None:
    with sqlfront.connect(members=3, job_store=str(tmp_path / "store")) as connection:
        connection.execute("CREATE TABLE sink (k BIGINT, n BIGINT) USING memory CLUSTERED BY (k)")
        for _ in range(2):
            connection.execute(f"CREATE OR REPLACE JOB {NAME} AS INSERT INTO sink SELECT id, 2 FROM range(3)")
            assert ended(connection).phase is JobPhase.FINISHED

        assert rows(connection, "sink") == [(0, 2), (0, 2), (1, 2), (1, 2), (2, 2), (2, 2)]
