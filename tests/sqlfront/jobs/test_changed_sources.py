"""Durable jobs whose source files change while the jobs run."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront.jobs.job_status import JobPhase
from sqlfront_engine.durable.runner import TaskEnd
from sqlfront_engine.durable.tasks import TaskRun
from sqlfront_engine.durable.thread_runner import ThreadRunner
from tests.sqlfront.jobs.handles import ended, job_of

#: The files of the source, and the rows of a file.
FILES, ROWS = 3, 100
OLD = [(-1, -1)]


def write(file: Path, number: int, version: int) -> None:
    """Write a file of the source; rows of two versions have different ids."""
    ids = [1000 * version + number * ROWS + row for row in range(ROWS)]
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), file, row_group_size=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the source, and a target with one row."""
    (tmp_path / "src").mkdir()
    for number in range(FILES):
        write(tmp_path / "src" / f"{number}.parquet", number, 0)
    with sqlfront.connect(workers=1) as connection:
        connection.execute(
            f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet"
            " SELECT CAST(-1 AS BIGINT) AS k, CAST(-1 AS BIGINT) AS s"
        )
    return tmp_path


def rows_in(place: Path) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in pq.read_table(place).to_pylist())


def changing(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None], stage: int, task: int) -> None:
    """Have a change happen right before a task runs."""
    run_task, is_done = ThreadRunner._run, list[bool]()

    def run(self: ThreadRunner, run: TaskRun, told: Callable[[TaskEnd], None]) -> None:
        if (run.id.stage, run.id.task) == (stage, task) and not is_done:
            is_done.append(True)
            change()
        run_task(self, run, told)

    monkeypatch.setattr(ThreadRunner, "_run", run)


def session(folder: Path) -> sqlfront.Connection:
    connection = sqlfront.connect(job_store=folder / "store", workers=1, collect_rows=10)
    connection.execute(f"CREATE TABLE src USING parquet LOCATION '{folder}/src'")
    return connection


def create(connection: sqlfront.Connection, folder: Path) -> None:
    connection.execute(
        "CREATE JOB daily OPTIONS (parallelism 3, 'task-size' 1) AS"
        f" INSERT OVERWRITE DIRECTORY '{folder}/out' USING parquet"
        " SELECT id % 5 AS k, sum(id) AS s FROM src GROUP BY id % 5"
    )


def right() -> list[tuple[int, int]]:
    return [(k, sum(range(k, FILES * ROWS, 5))) for k in range(5)]


@pytest.mark.parametrize("task", range(FILES))
@pytest.mark.parametrize("change", ["replaced", "written over", "removed"])
def test_no_task_counts_that_may_have_read_a_changed_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, task: int, change: str
) -> None:
    """The job waits with the target as it was, and goes on when the file is what it was."""
    file, kept = folder / "src" / "1.parquet", folder / "kept"

    def happen() -> None:
        if change == "written over":
            shutil.copy2(file, kept)
        else:
            file.rename(kept)
        if change != "removed":
            write(file, 1, 1)

    changing(monkeypatch, happen, 0, task)
    with session(folder) as connection:
        create(connection, folder)
        with pytest.raises(sqlfront.OperationalError, match="which the job reads") as caught:
            job_of(connection).wait(60)
        if change != "removed":
            assert caught.value.sqlstate == "40001"
        assert job_of(connection).status().phase is JobPhase.RECOVERING
        assert job_of(connection).status().tasks_done == task
        assert rows_in(folder / "out") == OLD
        with pytest.raises(sqlfront.OperationalError, match="which the job reads"):
            connection.execute("RESUME JOB daily")
        kept.rename(file)
        connection.execute("RESUME JOB daily")
        assert ended(connection).restored == task
        assert rows_in(folder / "out") == right()


def test_a_file_that_changes_when_all_tasks_have_read_it_harms_no_job(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing(monkeypatch, lambda: write(folder / "src" / "1.parquet", 1, 1), 1, 0)
    with session(folder) as connection:
        create(connection, folder)
        assert ended(connection).rerun == 0
        assert rows_in(folder / "out") == right()
