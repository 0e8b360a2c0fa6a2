"""Programs that end while their durable jobs run."""

import os
import subprocess
import sys
import time
from pathlib import Path

import sqlfront

PROGRAM = """
import sys, time, sqlfront
connection = sqlfront.connect(job_store=sys.argv[1], workers=2)
connection.execute(
    "CREATE JOB long AS SELECT count(*) AS n FROM range(30000000) a JOIN range(3000000) b"
    " ON a.id % 1000003 = b.id % 1000003 AND a.id % 7 <> b.id % 5"
)
while connection.execute("SELECT 1 FROM sys.jobs WHERE state <> 'running'").fetchall():
    time.sleep(0.01)
print("running", flush=True)
"""


def test_the_end_of_a_program_leaves_its_job_to_a_successor(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env=environment, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"running\n"
        began = time.monotonic()
        assert program.wait(60) == 0
        assert time.monotonic() - began < 20

    with sqlfront.connect(job_store=str(tmp_path)) as connection:
        assert connection.execute("SELECT state FROM sys.jobs").fetchall() == [("recovering",)]
        connection.execute("DROP JOB long")
