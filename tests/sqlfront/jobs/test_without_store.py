"""The statements of durable jobs, in a session without a job store."""

import pytest

import sqlfront


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE JOB j AS SELECT 1",
        "CREATE JOB j AS INSERT INTO t VALUES (?)",
        "EXPLAIN EXTENDED CREATE JOB j AS SELECT 1",
        "SHOW JOBS",
        "DESCRIBE JOB j",
        "CANCEL JOB IF EXISTS j",
        "RESUME JOB j",
        "DROP JOB j",
    ],
)
def test_durable_jobs_need_a_job_store(sql: str) -> None:
    with sqlfront.connect() as connection:
        with pytest.raises(sqlfront.NotSupportedError) as caught:
            connection.execute(sql, [1] if "?" in sql else None)

        assert caught.value.message == "durable jobs need a store: connect(job_store=...), --job-store"


def test_a_relation_called_job_is_described() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE job USING memory AS SELECT 1 AS cancel")

        assert connection.execute("DESCRIBE job").fetchall() == [("cancel", "int", None)]
        assert connection.execute("DESCRIBE TABLE job cancel").fetchall()[0] == ("col_name", "cancel")
        assert connection.execute("SELECT cancel AS resume FROM job job").fetchall() == [(1,)]
