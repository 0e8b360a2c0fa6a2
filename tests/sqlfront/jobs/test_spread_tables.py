"""Durable jobs that fill and read memory tables whose rows are on the members of a cluster: the session gets
SIGKILL, the members live on, and another session resumes the job."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.cluster.catalog import ClusterCatalog
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.base import ScanRequest
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_planner.catalog import Entry
from sqlfront_values.errors import Error
from tests.sqlfront.held_shares import shares
from tests.sqlfront.jobs.handles import job_of
from tests.sqlfront.jobs.killed import NAME, SECRET, open_session, run_killed
from tests.sqlfront.jobs.waiting import wait_until
from tests.sqlfront.quick_service import SERVICE

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
    """A cluster of two members, which free what nobody needs at once."""
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
        for table in ("src", "sink", "made", "held"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")


def kill(cluster: LocalCluster, folder: Path, statement: str, step: str, number: int = 1) -> None:
    """Run a job with the statement in a session that gets SIGKILL at the step, and tell the keeper, which
    notices a session's end by itself only after a time of silence. The session of a job without this step
    ends with its job."""
    run_killed(folder, statement, step, number)
    for info in cluster.keeper.members.members:
        if info.lite:
            cluster.keeper.remove(info.name, "its process was killed")


# ---- targets


def rows(connection: sqlfront.Connection, table: str) -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT k, n FROM {table} ORDER BY k").fetchall()


def ended(connection: sqlfront.Connection) -> DurableJobStatus:
    """Wait for the end of the job, and return its status."""
    return job_of(connection).wait(60)


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
        assert connection.execute("SELECT state FROM sys.jobs").fetchall() == [("recovering",)]
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

    def publish(self: ProcessMembers, table: SpreadTable, version: TableVersion, dealt: int) -> None:
        left[0] -= 1
        if after or left[0] < 0:
            usual(self, table, version, dealt)
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


@pytest.mark.parametrize("kind", ["table", pytest.param("replace", marks=pytest.mark.cluster)])
def test_a_new_table_whose_entry_was_not_confirmed_keeps_its_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def add(self: ClusterCatalog, entry: Entry, *, replace: bool = False) -> Entry | None:
        usual(self, entry, replace=replace)
        raise UNKNOWN

    usual = ClusterCatalog.add
    statement, table, right = TARGETS[kind]
    with open_session(folder) as connection:
        monkeypatch.setattr(ClusterCatalog, "add", add)
        connection.execute(f"CREATE JOB {NAME} AS {statement}")

        assert ended(connection).phase is JobPhase.FINISHED
        with open_session(folder) as other:
            assert rows(other, table) == right


@pytest.mark.cluster
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


# ---- sources

#: A query of several stages over ``held``, the rows of ``src`` in the members' memory.
COUNTS = "SELECT a.k, count(*) AS n FROM held a JOIN held b ON a.id = b.id GROUP BY a.k"


@pytest.fixture
def source(folder: Path) -> Path:
    """The folder, with the table ``held`` in the cluster's catalog."""
    with open_session(folder) as connection:
        connection.execute("CREATE TABLE held USING memory CLUSTERED BY (id) AS SELECT id, k FROM src")
    return folder


@pytest.mark.cluster
@pytest.mark.parametrize("step", ["sync", "synced"])
@pytest.mark.parametrize("number", [3, 6, 9, 12])
def test_a_job_reads_tables_of_members_after_a_kill(
    cluster: LocalCluster, source: Path, step: str, number: int
) -> None:
    kill(cluster, source, COUNTS, step, number)

    with open_session(source) as connection:
        if connection.execute("SHOW JOBS").fetchall():
            connection.execute(f"RESUME JOB {NAME}")
        else:
            connection.execute(f"CREATE JOB {NAME} AS {COUNTS}")

        assert ended(connection).phase is JobPhase.FINISHED
        assert rows(connection, f"job.{NAME}") == RIGHT


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("change", "text", "sqlstate"),
    [
        (
            "INSERT INTO held VALUES (-1, -1)",
            "`held`, which the job reads, has changed since the job was",
            "40001",
        ),
        ("DROP TABLE held", "`held`, which the job reads, was dropped, or is gone with its cluster", None),
    ],
)
def test_a_changed_table_is_named(
    cluster: LocalCluster, source: Path, change: str, text: str, sqlstate: str | None
) -> None:
    kill(cluster, source, COUNTS, "synced", 5)

    with open_session(source) as connection:
        connection.execute(change)
        with pytest.raises(sqlfront.OperationalError, match=text) as raised:
            connection.execute(f"RESUME JOB {NAME}")

        assert raised.value.sqlstate == sqlstate
        assert connection.execute("SELECT state, epoch FROM sys.jobs").fetchall() == [("recovering", 1)]
        connection.execute(f"DROP JOB {NAME}")


@contextmanager
def waiting_reads() -> Iterator[tuple[Event, Event]]:
    """Have each read of a version wait. Yield the event that a read has begun, and the event on which the
    reads go on."""
    begun, go_on = Event(), Event()

    def read(self: SpreadSnapshot, holder: str, request: ScanRequest) -> Iterable[pa.RecordBatch]:
        begun.set()
        assert go_on.wait(60)
        return usual(self, holder, request)

    usual = SpreadSnapshot.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpreadSnapshot, "read", read)
        yield begun, go_on


def test_a_job_reads_the_version_of_its_creation(source: Path) -> None:
    """The members keep the version as long as the job runs, and no longer."""
    with open_session(source) as connection:
        connection.execute("DROP TABLE sink")
        # A dropped table goes with the next look of the members. Each has a share and a backup.
        wait_until(lambda: {held for _, held in shares(connection)} == {2})
        usual = shares(connection)
        with waiting_reads() as (begun, go_on):
            connection.execute(f"CREATE JOB {NAME} AS {COUNTS}")
            assert begun.wait(60)
            connection.execute("INSERT OVERWRITE held VALUES (-1, -1)")
            connection.execute("UPDATE held SET k = 0")
            time.sleep(0.3)  # more than the time for which members keep a replaced version
            go_on.set()

            assert ended(connection).phase is JobPhase.FINISHED
        assert rows(connection, f"job.{NAME}") == RIGHT
        wait_until(lambda: shares(connection) == usual)


@pytest.mark.cluster
def test_rows_are_read_again_while_the_cluster_changes(source: Path) -> None:
    failures = iter([True, True, False, False])

    def read(self: SpreadSnapshot, holder: str, request: ScanRequest) -> Iterable[pa.RecordBatch]:
        if next(failures, False):
            raise CHANGED
        return usual(self, holder, request)

    usual = SpreadSnapshot.read
    with open_session(source) as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpreadSnapshot, "read", read)
        connection.execute(f"CREATE JOB {NAME} OPTIONS (attempts 1) AS {COUNTS}")

        assert ended(connection).phase is JobPhase.FINISHED
        assert rows(connection, f"job.{NAME}") == RIGHT


def test_members_in_this_process_are_read(tmp_path: Path) -> None:
    with sqlfront.connect(members=3, job_store=str(tmp_path / "store"), collect_rows=100) as connection:
        connection.execute("CREATE TABLE held USING memory AS SELECT id, id % 7 AS k FROM range(10000)")
        connection.execute("CREATE TABLE empty (id BIGINT, k BIGINT) USING memory")
        connection.execute(f"CREATE JOB {NAME} AS {COUNTS} UNION ALL SELECT k, id FROM empty")

        status = ended(connection)

        assert status.phase is JobPhase.FINISHED
        assert status.stages > 1
        assert rows(connection, f"job.{NAME}") == RIGHT
