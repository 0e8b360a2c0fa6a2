"""A client that wants to read, through members, files that their starter has not meant for it."""

import gc
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec import structs

import sqlfront
import sqlfront_connectors.registry  # noqa: F401 - makes the processors known
from sqlfront.cluster.processes import SERVICE
from sqlfront.config import Config
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.scan import FileScan
from sqlfront_connectors.files.text.text_lines import text_lines
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import Error, OperationalError, ProgrammingError
from sqlfront_values.types import STRING

SECRET = "root:x:0:0"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that members may read, with every way out of it; the secret is beside it."""
    base = tmp_path_factory.mktemp("files")
    place = base / "shared"
    (place / "day=1").mkdir(parents=True)
    (place / "day=1" / "a.csv").write_text("open\n")
    (base / "private").mkdir()
    (base / "private" / "passwd.csv").write_text(f"{SECRET}\n")
    (base / "shared2").mkdir()
    (base / "shared2" / "passwd.csv").write_text(f"{SECRET}\n")
    ways = place / "ways"
    ways.mkdir()
    (ways / "link.csv").symlink_to(base / "private" / "passwd.csv")
    (ways / "chain.csv").symlink_to("link.csv")
    (ways / "folder").symlink_to(base / "private")
    (ways / "day=2").symlink_to(base / "private")
    return place


def scan_of(path: Path | str, format_name: str = "csv") -> FileScan:
    """What a client sends that lists no files, but names one."""
    schema = pa.schema([("line", STRING)])
    version = FileVersion(1, format_name, (DataFile(str(path), 100),), schema, pa.schema([]), schema)
    return FileScan(version, "t", (0,))


def lines(client: RunningMember, source: Processor) -> list[object]:
    """What the source gives on the member."""
    dag = DAG()
    scan = dag.vertex("scan", source, 1, OnlyOn("local-0"))
    dag.edge(Edge.between(scan, dag.vertex("result", ResultSink())).to_one().distribute_to())
    return [row for batch in client.member.submit(dag).batches() for row in batch.column(0).to_pylist()]


WAYS_OUT = (
    "../private/passwd.csv",
    "ways/../../private/passwd.csv",
    "ways/link.csv",
    "ways/chain.csv",
    "ways/folder/passwd.csv",
    "ways/day=2/passwd.csv",
    "../shared2/passwd.csv",
    "../private/missing.csv",
)


def test_a_hand_made_plan_reads_what_it_may_and_nothing_else(place: Path) -> None:
    files = FileAccess.of([str(place)])
    with LocalCluster(1, workers=1, preload=("sqlfront_connectors.registry",), files=files) as cluster:
        with cluster.client() as client:
            assert lines(client, scan_of(place / "day=1" / "a.csv")) == ["open"]
            assert lines(client, text_lines(f"{place}/day=1/*.csv")) == ["open"]
            for way, name in itertools.product(WAYS_OUT, ("csv", "json", "parquet")):
                check_refused(client, scan_of(f"{place}/{way}", name))
            for way in (*WAYS_OUT, "../*/passwd.csv", "ways/*/../../../private/passwd.csv", "ways/*.csv"):
                check_refused(client, text_lines(f"{place}/{way}"))


def check_refused(client: RunningMember, source: Processor) -> None:
    """The member must not read for it."""
    with pytest.raises(ProgrammingError) as caught:
        lines(client, source)
    assert caught.value.sqlstate == "42501", (source, caught.value)
    assert SECRET not in str(caught.value)


STATEMENTS = (
    "SELECT * FROM csv.`{}`",
    "SELECT * FROM json.`{}`",
    "SELECT * FROM parquet.`{}`",
    "CREATE TABLE escaped USING csv LOCATION '{}'",
    "CREATE TABLE escaped (line STRING) USING csv LOCATION '{}'",
    "CREATE TABLE escaped (line STRING) USING csv OPTIONS (path '{}')",
    "CREATE TABLE escaped USING parquet LOCATION '{}' AS SELECT 1 AS a",
    "CREATE TEMPORARY VIEW escaped USING csv OPTIONS (path '{}')",
    "EXPLAIN SELECT * FROM csv.`{}`",
)


def test_no_statement_names_a_file_elsewhere(place: Path) -> None:
    private = sorted((place.parent / "private").iterdir())
    ways = (*WAYS_OUT, "../private", "ways/folder", "ways/day=2", "../*/passwd.csv", "/etc/passwd")
    with sqlfront.connect(file_access=[str(place)]) as connection:
        for statement, way in itertools.product(STATEMENTS, ways):
            target = way if way.startswith("/") else f"{place}/{way}"
            with pytest.raises(Error) as caught:
                connection.execute(statement.format(target)).fetchall()
            assert caught.value.sqlstate == "42501", (statement, target, caught.value)
            assert SECRET not in str(caught.value)
    assert sorted((place.parent / "private").iterdir()) == private


def test_no_option_tells_what_is_elsewhere(place: Path) -> None:
    with sqlfront.connect(file_access=[str(place)]) as connection:
        for base in ("private", "missing"):
            with pytest.raises(ProgrammingError, match="may not be read"):
                connection.execute(
                    "CREATE TEMPORARY VIEW told USING csv OPTIONS"
                    f" (path '{place}/day=1', basePath '{place.parent}/{base}')"
                )


def test_tables_without_a_location_are_open_whatever_is_said() -> None:
    with sqlfront.connect(file_access="none") as connection:
        connection.execute("CREATE TABLE t USING parquet AS SELECT 1 AS a")
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("INSERT OVERWRITE t SELECT a + 1 FROM t")

        assert sorted(connection.execute("SELECT a FROM t").fetchall()) == [(2,), (3,)]


@pytest.mark.parametrize(
    "said",
    ["", "/tmp", [""], ["/tmp", ""], b"all", Path("/tmp"), [b"/tmp"], [7], True, ["null\0"], ["file:///tmp"]],
)
def test_what_is_no_folder_opens_none(said: object) -> None:
    with pytest.raises(ProgrammingError, match="file_access"):
        sqlfront.connect(file_access=said)  # type: ignore[arg-type]


def test_a_variable_that_is_not_set_opens_no_folder(tmp_path: Path) -> None:
    place = ["--directory", str(tmp_path / "run")]
    command = [sys.executable, "-m", "sqlfront", "cluster", "run", *place, "--file-access", ""]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    tried = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert tried.returncode == 1 and "is not the path of a folder" in tried.stderr


def test_a_session_beside_spark_takes_no_file_access() -> None:
    with pytest.raises(ProgrammingError, match="does not limit the files that Spark reads"):
        sqlfront.connect(spark="local[1]", file_access="none")


def test_dropping_what_another_client_has_published_removes_no_file_elsewhere(place: Path) -> None:
    """Its document says that the table owns the victim's folder."""
    private = place.parent / "private"
    kept = ["part-00001-a.csv", "part-00002-b.csv", "passwd.csv"]
    for name in kept[:2]:
        (private / name).write_text(SECRET)
    files = FileAccess.of("none")
    with LocalCluster(1, workers=1, service=SERVICE, secret=b"gift", files=files) as cluster:
        address = f"sqlfront://{cluster.address.removeprefix('unix:')}"
        with sqlfront.connect(address, secret="gift") as hostile:
            publish(hostile, private, kept[:2])
            with sqlfront.connect(address, secret="gift") as victim:
                with pytest.raises(ProgrammingError):
                    victim.execute("INSERT OVERWRITE gift VALUES ('x')")
                victim.execute("CREATE OR REPLACE TABLE gift USING memory AS SELECT 1 AS a")
                victim.execute("DROP TABLE gift")
                publish(hostile, private, kept[:2])
                victim.execute("DROP TABLE gift")
    gc.collect()
    assert [path.name for path in sorted(private.iterdir())] == kept


def publish(hostile: sqlfront.Connection, folder: Path, names: list[str]) -> None:
    """Give the cluster a table ``gift`` that owns the folder and has these files in it."""
    version = structs.replace(
        scan_of("").version, files=tuple(DataFile(str(folder / name), len(SECRET)) for name in names)
    )
    table = FileTable("gift", str(folder), version, managed=True)
    hostile.session.context.catalog.add(TableEntry("gift", table), replace=True)


def test_a_path_that_no_file_can_have_is_refused(place: Path) -> None:
    with sqlfront.connect(file_access=[str(place)]) as connection:
        for name in ("null\0", "null\0/*.csv", "null\0*", "day=*/null\0"):
            with pytest.raises((ProgrammingError, OperationalError)):
                connection.execute(f"SELECT * FROM csv.`{place}/{name}`")


def test_a_clients_own_files_are_read_by_the_client_however_many_rows_they_have(tmp_path: Path) -> None:
    """Members may open none, and yet a table of the session's warehouse is not lost when it grows."""
    files = FileAccess.of("none")
    with LocalCluster(2, workers=1, service=SERVICE, secret=b"own", files=files) as cluster:
        with sqlfront.connect(
            f"sqlfront://{cluster.address.removeprefix('unix:')}",
            secret="own",
            config=Config(warehouse=str(tmp_path), collect_rows=10),
        ) as client:
            client.execute("CREATE TABLE own USING parquet AS SELECT id FROM range(100000)")
            client.execute("CREATE TABLE spread USING memory AS SELECT id FROM range(100000)")
            for table in ("own", "own JOIN spread USING (id)"):
                found = client.execute(f"SELECT count(*), sum(id) FROM {table}").fetchall()
                assert found == [(100000, 4999950000)]
            with pytest.raises(ProgrammingError, match="may not be read"):
                client.execute("SELECT * FROM csv.`/etc/passwd`").fetchall()


def test_members_of_a_cluster_read_what_its_starter_has_said(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sqlfront", "cluster"]
    directory = ["--directory", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = subprocess.run(
        [*command, "start", "-n", "1", *directory, "--file-access", str(place)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    try:
        address = started.stdout.split("unix:")[1].split()[0]
        secret = (tmp_path / "run" / "secret").read_text()
        with sqlfront.connect(f"sqlfront://{address}", secret=secret) as connection:
            assert connection.session.context.files == FileAccess.of([str(place)])
            assert connection.execute(f"SELECT * FROM csv.`{place}/day=1/a.csv`").fetchall() == [("open",)]
            for way in (*WAYS_OUT, "/etc/passwd"):
                target = way if way.startswith("/") else f"{place}/{way}"
                with pytest.raises(Error) as caught:
                    connection.execute(f"SELECT * FROM csv.`{target}`").fetchall()
                assert caught.value.sqlstate == "42501", caught.value
    finally:
        subprocess.run([*command, "stop", *directory], env=environment, timeout=60, check=True)
