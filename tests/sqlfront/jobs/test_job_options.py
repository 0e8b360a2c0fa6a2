"""The options of durable jobs that the configuration of a session gives."""

from pathlib import Path

import pytest

import sqlfront
from sqlfront.config import Config
from sqlfront.configuration.connecting import resolve
from sqlfront_planner.lanes import Lane
from sqlfront_values.errors import ProgrammingError
from tests.sqlfront.jobs.handles import job_of

QUERY = "SELECT id % 7 AS k, count(*) AS n FROM range(70000) GROUP BY id % 7"
TASKS = "SELECT max(tasks) FROM sys.job_stages WHERE job = ?"


def test_a_job_has_the_options_of_its_session_where_it_gives_none(tmp_path: Path) -> None:
    given: dict[str, str | float] = {
        "parallelism": 2,
        "task-size": "1",
        "Lease": "1 min",
        "speculation": True,
    }
    with sqlfront.connect(job_store=tmp_path, job_options=given, workers=1, collect_rows=100) as connection:
        connection.execute(f"CREATE JOB j OPTIONS (PARALLELISM 3, lease 5) AS {QUERY}")
        job = connection.session.submit_job(QUERY)
        assert job.wait().has_ended
        assert connection.execute(TASKS, [job.id]).fetchone() == (2,)
        first = job_of(connection, "j")
        assert first.wait().has_ended
        assert connection.execute(TASKS, [first.id]).fetchone() == (3,)


def test_a_query_that_runs_as_a_job_has_the_options_of_its_session(tmp_path: Path) -> None:
    options = {"outputs": "members"}
    with sqlfront.connect(job_store=tmp_path, job_options=options, workers=1) as connection:
        connection.execute("SET sqlfront.lane = durable")
        with pytest.raises(sqlfront.NotSupportedError, match="outputs = members"):
            connection.execute(QUERY)
    with sqlfront.connect(job_store=tmp_path, job_options={"attempts": 1}, workers=1) as connection:
        connection.execute("SET sqlfront.lane = durable")
        result = connection.session.sql(QUERY)
        assert result.stats.lane is Lane.DURABLE
        assert len(result.collect()) == 7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"paralelism": 2}, "'paralelism' is no option of a job; did you mean 'parallelism'"),
        ({"parallelism": 0}, "takes 1 to 10000, not '0'"),
        ({"lease": "soon"}, "takes 0 to 86400 seconds"),
        ({"lease": 1, "LEASE": 2}, "is given twice"),
        ({"lease": None}, "job_options must be of the type"),
        ("lease=1", "job_options must be of the type"),
    ],
)
def test_wrong_options_are_refused_before_the_session_is_open(options: object, text: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        Config(job_options=options)  # type: ignore[arg-type]
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["", "lease", "lease=", "=1", "lease=1,", "lease=1,lease=2"])
def test_a_text_that_has_no_pairs_is_refused(text: str) -> None:
    with pytest.raises(ProgrammingError, match="names and values, as in parallelism=4"):
        resolve(f"sqlfront:?job_options={text}", {}, environment={})


def test_a_table_of_the_file_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.toml"
    monkeypatch.setenv("SQLFRONT_CONFIG", str(file))
    file.write_text('[connections.c]\njob_options = {parallelism = 2, lease = "1 min", adaptive = false}')
    assert resolve("c", {}).config.job_options == {"parallelism": 2, "lease": "1 min", "adaptive": False}

    for wrong in ("{}", "{lease = [1]}", "7", "true"):
        file.write_text(f"[connections.c]\njob_options = {wrong}")
        with pytest.raises(ProgrammingError, match="job_options"):
            resolve("c", {})
