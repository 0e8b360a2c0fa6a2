"""The statements of durable jobs, as careful, careless and hostile users write them."""

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from crc32c import crc32c

import sqlfront
from sqlfront.connection import Connection
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase
from sqlfront.jobs.service import JobService
from sqlfront_engine.durable.event_store.job_store import EpochClaim, JobStore
from sqlfront_values.errors import Error, OperationalError
from tests.sqlfront.jobs.killed import LONG, NAME, open_session, run_killed
from tests.sqlfront.jobs.waiting import wait_until

#: A query of several stages over the table ``src``.
COUNTS = "SELECT k, count(*) AS n FROM src GROUP BY k ORDER BY k"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the table ``src`` of 10,000 rows."""
    with sqlfront.connect() as connection:
        source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
        connection.execute(f"CREATE TABLE src {source}")
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Iterator[Connection]:
    """A session with the store and the table of the folder."""
    with open_session(folder) as opened:
        yield opened


def service_of(connection: Connection) -> JobService:
    """The jobs of a session."""
    service = connection.session.context.jobs
    assert service is not None
    return service


def job_of(connection: Connection, name: str) -> DurableJob:
    """The job with the name."""
    job = service_of(connection).find(name)
    assert job is not None
    return job


def ended(connection: Connection, name: str = "j") -> DurableJobStatus:
    """The status of a job at its end."""
    return job_of(connection, name).wait(60)


def refused(connection: Connection, sql: str, kind: type[Error] = sqlfront.ProgrammingError) -> str:
    """The text of the error that a statement raises."""
    with pytest.raises(kind) as caught:
        connection.execute(sql)
    return str(caught.value)


def rows(connection: Connection, sql: str) -> list[tuple[object, ...]]:
    """The rows of a statement."""
    return connection.execute(sql).fetchall()


def spooled(folder: Path) -> list[str]:
    """What lies in the spool of the store."""
    spool = folder / "store" / "spool"
    return os.listdir(spool) if spool.exists() else []


def test_files_of_jobs_that_are_gone_are_removed_with_the_next_job(
    connection: Connection, folder: Path
) -> None:
    """A process that has lost a job may complete a file when the job is dropped."""
    connection.execute("CREATE JOB j AS SELECT 1")
    ended(connection)
    kept = spooled(folder)
    late = folder / "store" / "spool" / "20260101-000000-0badc0de"
    late.mkdir()
    (late / "0.0.0-1.1.arrow").touch()

    connection.execute("CREATE JOB other AS SELECT 1")

    ended(connection, "other")
    assert kept == [job_of(connection, "j").id]
    assert sorted(spooled(folder)) == sorted([*kept, job_of(connection, "other").id])


# ---- names


@pytest.mark.parametrize("name", ['a b/é"; DROP', "..", "a\nb", "x" * 300, "漢字", "1x", "-- no comment"])
def test_a_name_may_have_any_characters(connection: Connection, name: str) -> None:
    connection.execute(f"CREATE JOB `{name}` AS SELECT 1 AS n")
    ended(connection, name)

    assert rows(connection, f"SELECT n FROM job.`{name}`") == [(1,)]
    assert [row[1] for row in rows(connection, "SHOW JOBS")] == [name]
    connection.execute(f"DROP JOB `{name}`")
    assert rows(connection, "SHOW JOBS") == []


@pytest.mark.parametrize("name", ["``", "a.b", "job.a"])
def test_a_name_is_one_identifier(connection: Connection, name: str) -> None:
    assert "one identifier" in refused(connection, f"CREATE JOB {name} AS SELECT 1")


def test_names_differ_in_more_than_case(connection: Connection) -> None:
    connection.execute("CREATE JOB Daily AS SELECT 1")

    assert "there is a job `dAILY` already" in refused(connection, "CREATE JOB dAILY AS SELECT 1")
    assert rows(connection, "DESCRIBE JOB DAILY")[1] == ("name", "Daily")
    ended(connection, "daily")
    assert rows(connection, "SELECT * FROM job.daily") == [(1,)]


def test_if_not_exists_leaves_the_job_that_is_there(connection: Connection) -> None:
    ((first, _, _),) = rows(connection, "CREATE JOB j AS SELECT 1")

    ((second, _, _),) = rows(connection, "CREATE JOB IF NOT EXISTS J AS SELECT no_such_column")
    assert first == second


def test_or_replace_cancels_a_job_that_runs(connection: Connection, folder: Path) -> None:
    ((first, _, _),) = rows(connection, f"CREATE JOB j AS {LONG}")
    old = job_of(connection, "j")

    ((second, _, _),) = rows(connection, "CREATE OR REPLACE JOB j AS SELECT 2 AS n")
    ended(connection)

    assert first != second
    assert rows(connection, "SELECT * FROM job.j") == [(2,)]
    assert spooled(folder) == [second]
    with pytest.raises(sqlfront.OperationalError, match="there is no job"):
        old.status()


def test_or_replace_by_a_wrong_statement_leaves_the_job(connection: Connection) -> None:
    connection.execute("CREATE JOB j AS SELECT 1 AS n")
    ended(connection)

    refused(connection, "CREATE OR REPLACE JOB j AS SELECT no_such_column")
    refused(connection, "CREATE OR REPLACE JOB j OPTIONS (parallelism 0) AS SELECT 2 AS n")

    assert rows(connection, "SELECT * FROM job.j") == [(1,)]


def test_a_job_goes_on_if_the_new_one_can_not_be_stored(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE JOB j AS " + LONG)
    old = job_of(connection, "j")
    take_epoch = JobStore.take_epoch

    def refusing(self: JobStore, job: str, **options: str) -> EpochClaim:
        if job != old.id:
            raise OperationalError("no room")
        return take_epoch(self, job, **options)

    monkeypatch.setattr(JobStore, "take_epoch", refusing)
    assert "no room" in refused(connection, "CREATE OR REPLACE JOB j AS SELECT 2", sqlfront.OperationalError)
    assert (job_of(connection, "j").id, old.status().phase) == (old.id, JobPhase.RUNNING)
    assert old.status().epoch == 2

    monkeypatch.undo()
    connection.execute("CREATE OR REPLACE JOB j AS SELECT 2 AS n")
    ended(connection)
    assert rows(connection, "SELECT * FROM job.j") == [(2,)]


def test_or_replace_of_a_job_that_can_not_be_read(connection: Connection, folder: Path) -> None:
    connection.execute("CREATE JOB j AS SELECT 1 AS n")
    ended(connection)
    job = job_of(connection, "j").id
    connection.close()
    (log,) = (folder / "store" / "jobs" / job).glob("events*")
    _make_version_9(log)

    with open_session(folder) as other:
        [(name, state)] = rows(other, "SELECT name, state FROM sys.jobs")
        assert state == "unreadable"
        other.execute(f"CREATE OR REPLACE JOB `{name}` AS SELECT 2 AS n")
        assert [row[1] for row in rows(other, "SHOW JOBS")] == [name]


def test_a_list_of_jobs_misses_no_job_that_is_replaced_meanwhile(
    connection: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("CREATE JOB j AS SELECT 1 AS n")
    ended(connection)
    jobs, listed = JobStore.jobs, list[list[str]]()

    def and_replaced(self: JobStore) -> list[str]:
        found = jobs(self)
        if not listed:
            listed.append(found)
            connection.execute("CREATE OR REPLACE JOB j AS SELECT 2 AS n")
        return found

    with open_session(folder) as reader:
        monkeypatch.setattr(JobStore, "jobs", and_replaced)
        assert [row[1] for row in rows(reader, "SHOW JOBS")] == ["j"]
    assert listed


def test_jobs_are_listed_in_the_order_of_their_creation(connection: Connection) -> None:
    names = [f"j{number}" for number in range(8)]
    for name in names:
        connection.execute(f"CREATE JOB {name} AS SELECT 1")

    assert [row[1] for row in rows(connection, "SHOW JOBS")] == names
    assert [row[1] for row in rows(connection, "SHOW JOBS LIKE 'J1|j3'")] == ["j1", "j3"]


@pytest.mark.parametrize("statement", ["DESCRIBE", "CANCEL", "RESUME", "DROP"])
def test_a_name_that_no_job_has(connection: Connection, folder: Path, statement: str) -> None:
    text = refused(connection, f"{statement} JOB nosuch")

    assert text == f"there is no job `nosuch` in {folder}/store"


@pytest.mark.parametrize("statement", ["CANCEL", "RESUME", "DROP"])
def test_if_exists_of_a_name_that_no_job_has(connection: Connection, statement: str) -> None:
    assert connection.execute(f"{statement} JOB IF EXISTS nosuch").description is None


# ---- options and statements that are refused


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("parallelism 0", "the option parallelism of a job takes 1 to 10000, not '0'"),
        ("parallelism 'many'", "the option parallelism of a job takes 1 to 10000, not 'many'"),
        ("paralelism 2", "did you mean 'parallelism'?"),
        ("parallelism 2, PARALLELISM 3", "the option parallelism of a job is given twice"),
        ("`job-event.store.write-buffer.flush-interval` '2 weeks'", "takes 0.001 to 3600 seconds"),
        ("`job-event.store.failure-policy` 'hope'", "takes fail or unprotected"),
    ],
)
def test_wrong_options_are_refused(connection: Connection, options: str, text: str) -> None:
    assert text in refused(connection, f"CREATE JOB j OPTIONS ({options}) AS SELECT 1")
    assert rows(connection, "SHOW JOBS") == []


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("CREATE JOB j AS SELECT id, nothing FROM src", ("LINE 1", "nothing")),
        ("CREATE JOB j\nAS\n  SELECT nothing\nFROM src", ("LINE 3", "nothing")),
        ("CREATE JOB j OPTIONS (parallelism 2) AS SELECT * FROM nosuch", ("LINE 1", "nosuch")),
        ("CREATE JOB `é漢` AS SELECT abs(id, id) FROM src", ("LINE 1", "abs(id, id)")),
        ("CREATE JOB j AS DROP TABLE src", ("LINE 1", "DROP TABLE")),
        ("CREATE JOB j AS CREATE JOB i AS SELECT 1", ("LINE 1", "CREATE JOB")),
        ("CREATE JOB j AS SELECT 1 +* 2", ("LINE 1", "2")),
    ],
)
def test_an_error_of_the_statement_has_its_place_in_the_whole_text(
    connection: Connection, sql: str, place: tuple[str, str]
) -> None:
    *_, shown, carets = refused(connection, sql).splitlines()

    assert shown.startswith(place[0])
    begin, end = carets.index("^"), carets.rindex("^") + 1
    assert place[1].startswith(shown[begin:end]) or shown[begin:end].startswith(place[1])


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("INSERT OVERWRITE DIRECTORY '{0}/out' USING nonsense SELECT 1 AS a", "DATA_SOURCE_NOT_FOUND"),
        ("INSERT OVERWRITE DIRECTORY '{0}/out' USING csv SELECT array(1) AS a", "UNSUPPORTED_DATA_TYPE"),
        ("INSERT OVERWRITE DIRECTORY '/' USING csv SELECT 1 AS a", "the root of the file system"),
        ("INSERT OVERWRITE DIRECTORY '{0}/src' USING csv SELECT id FROM src", "UNSUPPORTED_OVERWRITE.PATH"),
        ("CREATE TABLE t USING nonsense AS SELECT 1 AS a", "DATA_SOURCE_NOT_FOUND"),
        ("CREATE TABLE t AS SELECT NULL AS a", "has no type"),
        ("CREATE TABLE src AS SELECT 1 AS a", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("INSERT INTO src SELECT 1", "NOT_ENOUGH_DATA_COLUMNS"),
        ("INSERT INTO nosuch SELECT 1", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_a_target_that_takes_no_such_rows_is_refused_at_once(
    connection: Connection, folder: Path, statement: str, text: str
) -> None:
    with pytest.raises(Error, match=text):
        connection.execute(f"CREATE JOB j AS {statement.format(folder)}")
    assert rows(connection, "SHOW JOBS") == []


def test_rows_of_this_process_are_refused_by_name(connection: Connection) -> None:
    connection.session.register("frame", pa.table({"a": [1]}))

    text = refused(connection, "CREATE JOB j AS SELECT * FROM frame", sqlfront.NotSupportedError)

    assert "a durable job that reads `frame` (a DataFrame or Arrow table of this session)" in text
    assert text.endswith("HINT: write the rows into a table of files, and read that table")


def test_no_hint_sends_a_job_to_spark(connection: Connection) -> None:
    query = "SELECT * FROM src TABLESAMPLE (10 PERCENT) REPEATABLE (1)"
    with pytest.raises(sqlfront.NotSupportedError) as created:
        connection.execute(f"CREATE JOB j AS {query}")
    with pytest.raises(sqlfront.NotSupportedError) as submitted:
        connection.session.submit_job(query)

    assert (created.value.hint, submitted.value.hint) == (None, None)


def test_a_cached_table_is_read_where_it_comes_from(connection: Connection) -> None:
    connection.execute("CACHE TABLE src")
    connection.execute("CREATE VIEW seen AS SELECT k FROM src WHERE id < 10")
    connection.execute("CREATE JOB j AS SELECT count(*) AS n FROM src UNION ALL SELECT count(*) FROM seen")
    ended(connection)

    assert sorted(rows(connection, "SELECT * FROM job.j")) == [(10,), (10000,)]


def test_parameters_are_those_of_the_creation(connection: Connection) -> None:
    connection.execute("CREATE JOB j AS SELECT ? AS a, count(*) AS n FROM src WHERE k = ?", ["x'`", 3])
    connection.execute("CREATE JOB i AS SELECT :a AS a", {"a": None})
    ended(connection)
    ended(connection, "i")

    assert rows(connection, "SELECT * FROM job.j") == [("x'`", 1429)]
    assert rows(connection, "SELECT * FROM job.i") == [(None,)]


def test_python_gives_names_and_options(connection: Connection) -> None:
    submit = connection.session.submit_job
    jobs = [submit("SELECT 1", options={"parallelism": 3, "task-size": "1m"}), submit("SELECT 1")]

    assert len({job.name for job in jobs}) == 2
    with pytest.raises(sqlfront.ProgrammingError, match="is not empty"):
        submit("SELECT 1", name="")
    with pytest.raises(sqlfront.ProgrammingError, match=r"LINE 1: SELECT 1; SELECT 2\n +\^"):
        submit("SELECT 1; SELECT 2")
    with pytest.raises(sqlfront.ProgrammingError, match="a durable job runs a query"):
        submit("CREATE JOB j AS SELECT 1")


def test_explain_shows_the_stages_and_stores_nothing(connection: Connection) -> None:
    found = rows(connection, f"EXPLAIN CREATE JOB j AS {COUNTS}")

    assert [row[0] for row in found] == [0, 1, 2]
    assert rows(connection, "SHOW JOBS") == []


# ---- states


def test_a_failed_job_has_its_error_and_no_files(connection: Connection, folder: Path) -> None:
    connection.execute("CREATE JOB j AS SELECT k, sum(1 / (id - 5000)) AS x FROM src GROUP BY k ORDER BY x")
    status = ended(connection)

    assert status.phase is JobPhase.FAILED
    assert spooled(folder) == []
    assert "DIVIDE_BY_ZERO" in str(rows(connection, "DESCRIBE JOB j")[-1])
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        connection.execute("SELECT * FROM job.j")
    assert rows(connection, "RESUME JOB j")[0][2] == "failed"


def test_a_job_is_cancelled_within_a_second(connection: Connection, folder: Path) -> None:
    connection.execute(f"CREATE JOB j AS {LONG}")
    wait_until(lambda: job_of(connection, "j").status().stages == 2)
    began = time.monotonic()

    connection.execute("CANCEL JOB j")
    status = ended(connection)

    assert status.phase is JobPhase.CANCELLED
    assert time.monotonic() - began < 1
    assert spooled(folder) == []
    connection.execute("CANCEL JOB j")
    assert rows(connection, "RESUME JOB j")[0][2] == "cancelled"
    assert "the job `j` was cancelled" in refused(
        connection, "SELECT * FROM job.j", sqlfront.OperationalError
    )


def test_a_running_job_has_no_rows_yet(connection: Connection) -> None:
    connection.execute(f"CREATE JOB j AS {LONG}")
    wait_until(lambda: job_of(connection, "j").status().phase is JobPhase.RUNNING)

    text = refused(connection, "SELECT * FROM job.j", sqlfront.OperationalError)

    assert "the job `j` is running, and has no rows before its end" in text


def test_a_job_that_has_a_target_has_no_rows_of_its_own(connection: Connection) -> None:
    connection.execute("CREATE JOB j AS CREATE TABLE made USING memory AS SELECT 1 AS a")
    ended(connection)

    text = refused(connection, "SELECT * FROM job.j", sqlfront.OperationalError)

    assert "the job `j` has put its rows into its target" in text
    assert rows(connection, "SELECT * FROM made") == [(1,)]


def test_a_closed_session_leaves_its_job_to_the_next_one(folder: Path) -> None:
    with open_session(folder) as first:
        first.execute(f"CREATE JOB j AS {LONG}")
        job = job_of(first, "j")
    with pytest.raises(sqlfront.InterfaceError, match="the session is closed"):
        job.cancel()

    with open_session(folder) as second:
        assert rows(second, "SELECT state, epoch FROM sys.jobs") == [("recovering", 1)]
        assert rows(second, "RESUME JOB j")[0][2] in ("created", "running")
        assert rows(second, "SELECT epoch FROM sys.jobs") == [(2,)]
        second.execute("DROP JOB j")
    assert spooled(folder) == []


# ---- the store


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_store_that_is_a_file_is_refused_by_name(folder: Path, place: str) -> None:
    (folder / "file").write_text("x")

    with sqlfront.connect(job_store=str(folder / place)) as connection:
        for sql in ("CREATE JOB j AS SELECT 1", "SHOW JOBS", "DROP JOB j", "SELECT * FROM sys.jobs"):
            text = refused(connection, sql, sqlfront.OperationalError)
            assert text.startswith(f"the job store {folder / place} can't be used")
    assert (folder / "file").read_text() == "x"


@pytest.mark.parametrize("store", ["", " ", "a\0b", b"jobs", 5], ids=repr)
def test_a_store_that_is_no_path_is_refused_by_name(store: object) -> None:
    with pytest.raises(sqlfront.ProgrammingError) as caught:
        sqlfront.connect(job_store=store)  # type: ignore[arg-type]

    text = f"job_store must be the path of a directory, or a URL, not {store!r}"
    assert caught.value.message == text


def test_a_store_may_be_a_path_object(folder: Path) -> None:
    with sqlfront.connect(job_store=folder / "store") as connection:
        assert connection.session.submit_job("SELECT 1").result().collect() == [(1,)]

    assert (folder / "store" / "jobs").is_dir()


def test_a_store_that_cannot_be_written_can_be_listed() -> None:
    with sqlfront.connect(job_store="/proc/nowhere") as connection:
        assert rows(connection, "SHOW JOBS") == []
        text = refused(connection, "CREATE JOB j AS SELECT 1", sqlfront.OperationalError)

    assert text.startswith("the job store /proc/nowhere can't be used")


def test_a_relative_store_stays_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "elsewhere").mkdir()
    with sqlfront.connect("sqlfront:?job_store=jobs") as connection:
        monkeypatch.chdir(folder / "elsewhere")
        connection.execute("CREATE JOB j AS SELECT 1")
        ended(connection)

    assert os.listdir(folder / "elsewhere") == []
    assert (folder / "jobs" / "jobs").is_dir()


def test_the_environment_names_the_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLFRONT_JOB_STORE", str(folder / "named"))

    with sqlfront.connect() as connection:
        connection.execute("CREATE JOB j AS SELECT 1")
    assert (folder / "named" / "owner").exists()


def test_a_second_session_reads_and_does_not_write(connection: Connection, folder: Path) -> None:
    connection.execute("CREATE JOB done AS SELECT 1 AS n")
    ended(connection, "done")
    connection.execute(f"CREATE JOB j AS {LONG}")
    wait_until(lambda: job_of(connection, "j").status().phase is JobPhase.RUNNING)

    with open_session(folder) as other:
        assert rows(other, "SELECT name, state FROM sys.jobs") == [("done", "finished"), ("j", "running")]
        assert rows(other, "SELECT * FROM job.done") == [(1,)]
        for sql in ("CREATE JOB i AS SELECT 1", "CANCEL JOB j", "RESUME JOB j", "DROP JOB done"):
            text = refused(other, sql, sqlfront.OperationalError)
            assert text.startswith(f"the job store {folder}/store belongs to cluster ")
            assert f"process-{os.getpid()}" in text


def _damage(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[60] ^= 1
    log.write_bytes(content)


def _make_version_9(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[3] = 9
    content[32:36] = struct.pack("<I", crc32c(bytes(content[:32])))
    log.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "text"), [(_damage, "is damaged"), (_make_version_9, "records in version 9 of the format")]
)
def test_a_log_that_cannot_be_read_harms_no_other_job(
    connection: Connection, folder: Path, harm: Callable[[Path], None], text: str
) -> None:
    connection.execute("CREATE JOB j AS SELECT 1 AS n")
    job = ended(connection).id
    (log,) = (folder / "store" / "jobs" / job).glob("events*")
    connection.close()
    harm(log)

    with open_session(folder) as other:
        other.execute("CREATE JOB i AS SELECT 2 AS n")
        ended(other, "i")

        found = rows(other, "SELECT name, state, error FROM sys.jobs ORDER BY state")
        assert [row[:2] for row in found] == [("i", "finished"), (job, "unreadable")]
        assert text in str(found[1][2])
        for sql in (f"RESUME JOB `{job}`", f"SELECT * FROM job.`{job}`", f"CANCEL JOB `{job}`"):
            assert text in refused(other, sql, sqlfront.OperationalError)
        other.execute(f"DROP JOB `{job}`")
        assert [row[1] for row in rows(other, "SHOW JOBS")] == ["i"]
        assert rows(other, "SELECT * FROM job.i") == [(2,)]


def test_foreign_files_in_the_store_are_no_jobs(connection: Connection, folder: Path) -> None:
    connection.execute("CREATE JOB j AS SELECT 1")
    (folder / "store" / "jobs" / ".hidden").mkdir()
    (folder / "store" / "jobs" / "a b").write_text("x")

    assert [row[1] for row in rows(connection, "SHOW JOBS")] == ["j"]
    connection.execute("CREATE JOB i AS SELECT 1")
    assert (folder / "store" / "jobs" / "a b").exists()


# ---- settings


def test_the_settings_are_those_of_the_creation(connection: Connection, folder: Path) -> None:
    connection.execute(f"CREATE TABLE texts (a STRING) USING parquet LOCATION '{folder}/texts'")
    connection.execute("SET TIME ZONE 'Asia/Tokyo'")
    connection.execute(
        "CREATE JOB j AS INSERT INTO texts SELECT timestamp'2026-01-01 00:00:00' FROM src LIMIT 1"
    )
    connection.execute("SET TIME ZONE 'UTC'")
    ended(connection)

    assert rows(connection, "SELECT * FROM texts") == [("2026-01-01 00:00:00",)]


def test_another_session_resumes_under_the_settings_of_the_creation(folder: Path) -> None:
    statement = (
        f"INSERT OVERWRITE DIRECTORY '{folder}/out' USING csv "
        "SELECT timestamp'2026-01-01 00:00:00' AS a, current_timezone() AS z FROM src LIMIT 1"
    )
    run_killed(folder, statement, "put")

    with open_session(folder) as connection:
        connection.execute("SET TIME ZONE 'Asia/Tokyo'")
        connection.execute("SET sqlfront.timeout = 0.000001")
        connection.execute(f"RESUME JOB {NAME}")
        assert ended(connection, NAME).phase is JobPhase.FINISHED
    (part,) = (folder / "out").glob("*.csv")
    assert part.read_text() == "2026-01-01T00:00:00.000Z,UTC\n"


# ---- after a kill


def test_the_time_of_a_job_is_that_of_its_creation(folder: Path) -> None:
    query = "SELECT current_timestamp() AS now, count(*) AS n FROM src"
    run_killed(folder, query, "synced", 5)

    with open_session(folder) as connection:
        ((created,),) = rows(connection, "SELECT created FROM sys.jobs")
        connection.execute(f"RESUME JOB {NAME}")
        ended(connection, NAME)
        (row,) = rows(
            connection,
            f"SELECT abs(timestampdiff(SECOND, now, created)) < 2 AS alike, n FROM job.{NAME}, sys.jobs",
        )
    assert row == (True, 10000)
    assert created is not None


def test_a_changed_source_is_named_and_the_job_can_still_be_dropped(folder: Path) -> None:
    run_killed(folder, COUNTS, "synced", 5)
    (part,) = (folder / "src").glob("*.parquet")
    content = part.read_bytes()
    os.utime(part, ns=(1, 1))

    with open_session(folder) as connection:
        text = refused(connection, f"RESUME JOB {NAME}", sqlfront.OperationalError)
        assert text.startswith(f"{part}, which the job reads, has changed since the job was created")
        assert rows(connection, "SELECT state, epoch FROM sys.jobs") == [("recovering", 1)]
        part.unlink()
        removed = refused(connection, f"RESUME JOB {NAME}", sqlfront.OperationalError)
        assert removed.startswith(f"{part}, which the job reads, has been removed since the job was created")
        part.write_bytes(content)
        connection.execute(f"DROP JOB {NAME}")
        assert rows(connection, "SHOW JOBS") == []
    assert spooled(folder) == []


def test_a_source_that_has_its_former_state_again_is_read(folder: Path) -> None:
    run_killed(folder, COUNTS, "synced", 5)
    (part,) = (folder / "src").glob("*.parquet")
    before = part.stat().st_mtime_ns
    os.utime(part, ns=(1, 1))

    with open_session(folder) as connection:
        refused(connection, f"RESUME JOB {NAME}", sqlfront.OperationalError)
        os.utime(part, ns=(before, before))
        connection.execute(f"RESUME JOB {NAME}")
        assert ended(connection, NAME).rows == 7


def test_a_job_that_overwrites_its_source_ends_after_a_kill(folder: Path) -> None:
    run_killed(folder, "INSERT OVERWRITE src SELECT id, k FROM src WHERE k = 1", "written")

    with open_session(folder) as connection:
        connection.execute(f"RESUME JOB {NAME}")
        assert ended(connection, NAME).phase is JobPhase.FINISHED
        assert rows(connection, "SELECT count(*) FROM src") == [(1429,)]


@pytest.mark.parametrize("statement", ["CANCEL", "RESUME"])
def test_a_job_whose_target_has_the_rows_can_only_finish(folder: Path, statement: str) -> None:
    run_killed(folder, f"INSERT OVERWRITE DIRECTORY '{folder}/out' USING parquet {COUNTS}", "committed")

    with open_session(folder) as connection:
        connection.execute(f"{statement} JOB {NAME}")
        status = ended(connection, NAME)
        assert (status.phase, status.rows) == (JobPhase.FINISHED, 7)
    assert spooled(folder) == []


def test_a_session_without_the_target_leaves_the_job_as_it_is(folder: Path) -> None:
    with open_session(folder) as first:
        first.execute(f"CREATE TABLE sink (n BIGINT) USING parquet LOCATION '{folder}/sink'")
        first.execute(f"CREATE JOB j AS INSERT INTO sink {LONG}")

    with sqlfront.connect(job_store=str(folder / "store")) as second:
        for sql, text in (
            ("SELECT 1", "TABLE_OR_VIEW_NOT_FOUND"),
            ("CREATE TABLE sink (a BIGINT, b BIGINT)", "NOT_ENOUGH_DATA_COLUMNS"),
        ):
            second.execute(sql)
            assert text in refused(second, "RESUME JOB j")
            assert rows(second, "SELECT state, epoch FROM sys.jobs") == [("recovering", 1)]


def test_rows_in_memory_are_gone_with_their_process(folder: Path) -> None:
    with open_session(folder) as first:
        first.execute("CREATE TABLE held USING memory AS SELECT id FROM range(100)")
        first.execute(
            "CREATE JOB j AS SELECT sum(a.id * b.id) AS s FROM held a JOIN range(9000000) b ON a.id <> b.id"
        )

    with open_session(folder) as second:
        text = refused(second, "RESUME JOB j", sqlfront.OperationalError)
        assert "the memory table `held`, whose rows have gone with the process" in text
        second.execute("CANCEL JOB j")
        assert ended(second).phase is JobPhase.CANCELLED
    assert spooled(folder) == []


# ---- threads and processes


def test_threads_submit_and_drop_at_once(connection: Connection, folder: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for each in range(3):
                name = f"t{number}_{each}"
                job = connection.session.submit_job(COUNTS, name=name)
                assert len(job.result().collect()) == 7
                connection.session.sql(f"DROP JOB {name}")
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert rows(connection, "SHOW JOBS") == []
    assert (spooled(folder), os.listdir(folder / "store" / "jobs")) == ([], [])


def test_one_of_many_threads_gets_a_name(connection: Connection) -> None:
    outcomes: list[str] = []

    def work() -> None:
        try:
            connection.session.submit_job("SELECT 1", name="same")
            outcomes.append("created")
        except sqlfront.ProgrammingError:
            outcomes.append("refused")

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["created", *["refused"] * 4]


def test_a_waiter_learns_that_the_job_was_dropped(connection: Connection) -> None:
    job = connection.session.submit_job(LONG, name="j")
    found: list[DurableJobStatus] = []
    waiter = threading.Thread(target=lambda: found.append(job.wait()))
    waiter.start()

    connection.execute("DROP JOB j")
    waiter.join()

    assert [status.phase for status in found] == [JobPhase.CANCELLED]


def test_a_forked_process_has_no_part_in_the_jobs(connection: Connection, folder: Path) -> None:
    job = connection.session.submit_job(LONG, name="j")
    wait_until(lambda: job.status().phase is JobPhase.RUNNING)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for call in (job.status, job.wait, job.cancel):
                with pytest.raises(sqlfront.InterfaceError, match="the process that forked this one"):
                    call()
            with open_session(folder) as own:
                assert rows(own, "SELECT state FROM sys.jobs") == [("running",)]
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert job.status().phase is JobPhase.RUNNING
    assert job.cancel()
    assert job.wait().phase is JobPhase.CANCELLED
