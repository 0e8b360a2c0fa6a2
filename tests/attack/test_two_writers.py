"""Several processes that write to one folder, killed at any moment, and disks that are full."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import sqlfront
from tests.attack.two_writers import campaign

#: Bytes that a file may have for a process whose disk is full.
FULL = 200_000

#: What a process does whose disk is full: a table of three rows stays as it is.
ON_A_FULL_DISK = """
import sys
import sqlfront
with sqlfront.connect() as connection:
    connection.execute(f"CREATE TABLE t (id BIGINT, s STRING) USING {sys.argv[2]} LOCATION '{sys.argv[1]}'")
    for how in ("INTO", "OVERWRITE"):
        try:
            connection.execute(f"INSERT {how} t SELECT id, uuid() FROM range(200000)")
        except sqlfront.OperationalError as error:
            print(how, error.sqlstate, "File too large" in str(error))
        print(connection.execute("SELECT count(*), sum(id) FROM t").fetchall())
"""


def test_readers_see_one_version_whole_whoever_is_killed(tmp_path: Path) -> None:
    report = campaign(tmp_path / "t", 120, seed=1, kills=3)

    assert report.kills >= 3 and report.looks > 3, report


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(3))
def test_for_longer_with_more_writers(tmp_path: Path, seed: int) -> None:
    report = campaign(tmp_path / "t", 300, seed, writers=3, kills=40)
    print(report)

    assert report.kills >= 40 and len(report.seen) >= 10, report


@pytest.mark.parametrize(
    "format_name",
    [
        "parquet",
        pytest.param("csv", marks=pytest.mark.attack),
        pytest.param("json", marks=pytest.mark.attack),
    ],
)
def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path, format_name: str) -> None:
    with sqlfront.connect() as connection:
        place = tmp_path / "t"
        connection.execute(f"CREATE TABLE t (id BIGINT, s STRING) USING {format_name} LOCATION '{place}'")
        connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (4, 'c')")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    limited = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK, str(place), format_name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    told = ["INTO 53100 True", "[(3, 7)]", "OVERWRITE 53100 True", "[(3, 7)]"]
    assert limited.stdout.splitlines() == told, limited.stderr
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
