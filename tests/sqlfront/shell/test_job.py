"""The command ``sqlfront job``."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sqlfront
from sqlfront.shell.main import main
from sqlfront_engine.durable.event_store.records import frame_record
from tests.sqlfront.jobs.killed import open_session, run_killed
from tests.sqlfront.shell.terminal import Terminal

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SQLFRONT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the finished job ``done``, and the job ``odd `;`` whose statement failed."""
    place = tmp_path / "store"
    with sqlfront.connect(job_store=str(place)) as connection:
        submit = connection.session.submit_job
        submit("SELECT 1 AS n", name="done").wait()
        submit("SELECT 1 / (id - 2) AS n FROM range(5)", name="odd `;").wait()
    return place


@pytest.fixture
def run(store: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command with the store; gives the exit code and both outputs."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(["job", *arguments, "--store", str(store)])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return command


def test_list(run: Run) -> None:
    code, out, err = run("list", "--format", "csv")

    assert (code, err) == (0, "")
    assert [line.split(",")[1:3] for line in out.splitlines()] == [
        ["name", "state"],
        ["done", "finished"],
        ["odd `;", "failed"],
    ]


def test_show(run: Run) -> None:
    code, out, _ = run("show", "odd `;", "--format", "tsv")

    assert code == 0
    assert "state\tfailed\n" in out
    assert "DIVIDE_BY_ZERO" in out


def test_drop(run: Run) -> None:
    assert run("drop", "odd `;") == (0, "", "")
    assert run("drop", "odd `;")[0] == 1
    assert "odd" not in run("list")[1]


@pytest.mark.parametrize("action", ["show", "cancel", "resume", "drop", "log"])
def test_a_name_that_no_job_has(run: Run, store: Path, action: str) -> None:
    code, out, err = run(action, "nosuch")

    assert (code, out) == (1, "")
    assert err == f"ProgrammingError: there is no job `nosuch` in {store}\n"


def test_the_log(run: Run) -> None:
    code, out, _ = run("log", "DONE")

    assert code == 0
    assert [line.split()[2] for line in out.splitlines()][:2] == ["epoch_started", "job_submitted"]


def test_the_log_with_an_event_of_another_version(run: Run, store: Path) -> None:
    (job, *_) = sorted(os.listdir(store / "jobs"))
    (file,) = (store / "jobs" / job).glob("events*")
    lines = run("log", job)[1].splitlines()
    last = int(lines[-1].split()[0])
    with file.open("ab") as log:
        log.write(frame_record(4000, 1, b'{"a":"\x1b[31m"}', epoch=1, sequence=last + 1, durable=last))

    code, out, _ = run("log", job)

    assert code == 0
    assert out.splitlines()[-1].split()[2:] == ["type", "4000", '{"a":"\\x1b[31m"}']


def test_the_log_of_a_damaged_job(run: Run, store: Path) -> None:
    (job, *_) = sorted(os.listdir(store / "jobs"))
    (file,) = (store / "jobs" / job).glob("events*")
    content = bytearray(file.read_bytes())
    content[60] ^= 1
    file.write_bytes(content)

    code, out, _ = run("logs", job)

    assert code == 0
    assert out.startswith("DAMAGED: byte 0 of events.")


def test_resume_of_an_ended_job_tells_its_end(run: Run) -> None:
    assert run("resume", "done")[0] == 0
    code, _, err = run("resume", "odd `;")

    assert code == 1
    assert err.splitlines()[-1].startswith("DataError: [DIVIDE_BY_ZERO]")


def test_no_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "list"]) == 3
    assert "durable jobs need a store: --store DIR, or SQLFRONT_JOB_STORE" in capsys.readouterr().err


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["nonsense"], ["show"], ["list", "name"]):
        with pytest.raises(SystemExit) as caught:
            main(["job", *arguments])
        assert caught.value.code == 2
    assert "sqlfront job" in capsys.readouterr().err


def test_the_environment_names_the_store(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("SQLFRONT_JOB_STORE", str(store))

    assert main(["job", "list"]) == 0
    assert b"done" in capfdbinary.readouterr().out


def test_the_command_has_a_store(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    script = "CREATE JOB j AS SELECT 1 AS n; SHOW JOBS LIKE 'j'"

    assert main(["--job-store", str(tmp_path / "new"), "--format", "csv", "-c", script]) == 0
    assert b",j," in capfdbinary.readouterr().out


def _killed(tmp_path: Path) -> None:
    source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE src {source}")
        connection.execute(
            f"CREATE TABLE sink USING parquet LOCATION '{tmp_path}/sink' AS SELECT -1L AS k, 0L AS n"
        )
    run_killed(tmp_path, "INSERT OVERWRITE sink SELECT k, count(*) AS n FROM src GROUP BY k", "synced", 9)


def test_a_killed_job_is_resumed_with_the_table_that_a_file_makes(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _killed(tmp_path)
    store, tables = str(tmp_path / "store"), tmp_path / "tables.sql"
    tables.write_text(f"CREATE TABLE sink (k BIGINT, n BIGINT) USING parquet LOCATION '{tmp_path}/sink';")

    assert main(["job", "resume", "daily", "--store", store]) == 1
    assert b"TABLE_OR_VIEW_NOT_FOUND" in capfdbinary.readouterr().err
    assert main(["job", "resume", "daily", "--store", store, "-f", str(tables)]) == 0
    assert capfdbinary.readouterr().err.startswith(b"daily: finished, ")
    with open_session(tmp_path) as connection:
        assert len(connection.execute("SELECT * FROM sink").fetchall()) == 7


LONG = (
    "SELECT sum(a.id * b.id % 7) AS s FROM range(300000) a JOIN range(300000) b ON a.id % 1000 <> b.id % 999"
)


def test_ctrl_c_leaves_the_job_to_a_successor(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with sqlfront.connect(job_store=store) as connection:
        connection.session.submit_job(LONG, name="long")
    command = [sys.executable, "-m", "sqlfront", "job", "resume", "long", "--store", store]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        sqlfront.connect(job_store=store) as reader,
    ):
        end = time.monotonic() + 60
        while reader.execute("SELECT epoch FROM sys.jobs WHERE state = 'running'").fetchall() != [(2,)]:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert process.returncode == 130
        assert err == "sqlfront: the job is left, and can be resumed again\nsqlfront: interrupted\n"
        assert reader.execute("SELECT state FROM sys.jobs").fetchall() == [("recovering",)]
    assert main(["job", "cancel", "long", "--store", store]) == 0
    assert main(["job", "resume", "long", "--store", store]) == 1


def test_progress_is_shown_at_a_terminal(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with sqlfront.connect(job_store=store) as connection:
        connection.session.submit_job(LONG, name="long")

    with Terminal("job", "resume", "long", "--store", store, folder=tmp_path) as terminal:
        terminal.wait("long: 1 of 2 stages, 8 of 16 tasks, ")
        terminal.send("\x03")
        terminal.wait("the job is left, and can be resumed again")


def times(words: str, number: int) -> Callable[[str], bool]:
    """Whether a text has the words so many times."""
    return lambda text: text.count(words) == number


def test_watch_runs_one_killed_job_after_the_other(tmp_path: Path) -> None:
    source = f"USING parquet LOCATION '{tmp_path}/src' AS SELECT id, id % 7 AS k FROM range(10000)"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE src {source}")
    tables = tmp_path / "tables.sql"
    tables.write_text(f"CREATE TABLE sink (k BIGINT, n BIGINT) USING parquet LOCATION '{tmp_path}/sink';")
    (tmp_path / "sink").mkdir()
    store = str(tmp_path / "store")
    with Terminal("job", "watch", "--store", store, "-f", str(tables), folder=tmp_path) as watcher:
        for number in (1, 2):
            watcher.wait(times("standing by for the jobs of", number))
            run_killed(tmp_path, "INSERT INTO sink SELECT k, count(*) FROM src GROUP BY k", "stage", 1)
            watcher.wait(times("daily: finished, ", number))
            watcher.wait(times("standing by for the jobs of", number + 1))
            with open_session(tmp_path) as connection:
                rows = connection.execute("SELECT k, count(*), sum(n) FROM sink GROUP BY k").fetchall()
                assert sorted(rows) == [(k, number, number * (1429 if k < 4 else 1428)) for k in range(7)]
                connection.execute("DROP JOB daily")
        watcher.send("\x03")
        assert watcher.ended() == 130
