"""Statements that are no durable jobs, in a session with a job store."""

import os
import subprocess
import sys
from pathlib import Path

import sqlfront
from tests.sqlfront.jobs.killed import LONG

PROGRAM = """
import sys, sqlfront
folder, query = sys.argv[1:]
with sqlfront.connect(job_store=f"{folder}/store", workers=2) as connection:
    connection.execute("CREATE TABLE t USING memory AS SELECT id, id % 7 AS k FROM range(10000)")
    connection.execute(f"INSERT OVERWRITE DIRECTORY '{folder}/out' USING parquet SELECT * FROM t")
    assert connection.execute("SELECT count(*) FROM t a JOIN t b USING (id)").fetchall() == [(10000,)]
    print("running", flush=True)
    connection.execute(query).fetchall()
"""


def test_light_job_untouched(tmp_path: Path) -> None:
    """Light jobs, one of which dies with its process, write nothing to the store and leave nothing to a
    successor."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), LONG],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"running\n"
        program.kill()

    assert os.listdir(tmp_path) == ["out"]
    with sqlfront.connect(job_store=str(tmp_path / "store")) as connection:
        assert connection.execute("SHOW JOBS").fetchall() == []
