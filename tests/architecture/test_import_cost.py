"""What a small query costs a fresh process: which modules it loads, and how much CPU it takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

DATAFRAMES = {"pandas", "polars", "pyspark"}
HEAVY = DATAFRAMES | {"pyarrow.dataset", "pyarrow.acero", "pyarrow.parquet"}
PEERS = "import sqlglot, pyarrow"
SELECT_1 = "import sqlfront; assert sqlfront.sql('select 1').collect()[0][0] == 1"
COMMAND = """
import os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
sys.argv = ["sqlfront", "-c", "select 1"]
from sqlfront.__main__ import main
main()
"""
GOAL = 1.3
#: Rounds of a measurement, and measurements.
ROUNDS, ATTEMPTS = 3, 40


def loaded_by(program: str) -> set[str]:
    """The names of the modules that a fresh interpreter has loaded when the program has run."""
    listing = "\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", program + listing], capture_output=True, text=True, check=True, timeout=120
    )
    return set(json.loads(answer.stdout.splitlines()[-1]))


def cpu_seconds(program: str, byte_code: Path) -> float:
    """User and system time of a fresh interpreter that runs the program; `byte_code` keeps the
    compiled modules. numpy's threads, which spin for a tenth of a second once it is loaded, however long the
    program goes on, aren't what is measured."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(byte_code), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", program], environment)
    _, status, usage = os.wait4(process, 0)
    assert status == 0, f"{program!r} failed"
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("collects", [True, False])
def test_the_import_leaves_the_garbage_collector_as_it_was(collects: bool) -> None:
    begin = "import gc\n" + ("" if collects else "gc.disable()\n")
    loaded_by(f"{begin}import sqlfront\nassert gc.isenabled() is {collects}")


@pytest.mark.parametrize("freezes", [True, False])
def test_the_import_leaves_frozen_objects_as_they_were(freezes: bool) -> None:
    begin = "import gc\n" + ("gc.freeze()\n" if freezes else "") + "frozen = gc.get_freeze_count()\n"
    # Some are freed meanwhile.
    program = f"{begin}import sqlfront\nassert 0.9 * frozen <= gc.get_freeze_count() <= frozen"
    loaded_by(program)


def test_select_1_loads_no_heavy_module() -> None:
    assert loaded_by(SELECT_1) & (HEAVY | {"pyarrow.compute", "sqlfront_connectors.memory"}) == set()


def test_a_lookup_in_a_memory_table_loads_no_heavy_module() -> None:
    program = """
import sqlfront
connection = sqlfront.connect()
cursor = connection.cursor()
cursor.execute(
    "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 271 BUCKETS "
    "AS SELECT * FROM VALUES (1, 'a'), (2, NULL) AS v(k, s)"
)
cursor.execute("SELECT s FROM t WHERE k = 1")
assert cursor.fetchall() == [("a",)]
"""
    assert loaded_by(program) & HEAVY == set()


def test_queries_on_files_load_no_data_frames(tmp_path: Path) -> None:
    times = pa.array([1, 2, 3], pa.timestamp("us"))
    table = pa.table({"a": [1, 2, 3], "b": [0.5, 1.5, None], "c": times})
    pyarrow.parquet.write_table(table, tmp_path / "numbers.parquet")
    pyarrow.orc.write_table(table, tmp_path / "numbers.orc")

    program = f"""
import sqlfront
for path in ("parquet.`{tmp_path}/numbers.parquet`", "orc.`{tmp_path}/numbers.orc`"):
    query = f"SELECT sum(a), max(b), string(min(c)) FROM {{path}} WHERE a > 1"
    assert sqlfront.sql(query).collect()[0][:2] == (5, 1.5)
"""
    assert loaded_by(program) & DATAFRAMES == set()


def test_queries_that_compute_by_python_and_numpy_load_no_data_frames(tmp_path: Path) -> None:
    """By rows, over several columns, over groups of structs with nulls, and under a condition that a zero of
    the other sign meets."""
    (tmp_path / "p=2026-11-23").mkdir()
    path = tmp_path / "p=2026-11-23" / "names.parquet"
    table = pa.table(
        {
            "name": ["a", "b"] * 100,
            "part": pa.array([{"x": 0.5}, None] * 100, pa.struct([("x", pa.float64())])),
            "zero": [0.0, -0.0] * 100,
        }
    )
    pyarrow.parquet.write_table(table, path)

    program = f"""
import sqlfront
with sqlfront.connect() as connection:
    for query in (
        "SELECT soundex(name) FROM parquet.`{tmp_path}`",
        "SELECT levenshtein(name, concat('x', name)) FROM parquet.`{tmp_path}`",
        "SELECT DISTINCT part FROM parquet.`{tmp_path}`",
        "SELECT * FROM parquet.`{tmp_path}` WHERE zero = 0D",
    ):
        connection.execute(query).fetchall()
"""
    assert loaded_by(program) & DATAFRAMES == set()


@pytest.fixture(scope="module")
def byte_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled modules. A first run compiles them, as installing a package does."""
    folder = tmp_path_factory.mktemp("byte_code")
    for program in (SELECT_1, COMMAND, PEERS):
        cpu_seconds(program, folder)
    return folder


def ratio(program: str, byte_code: Path) -> float:
    """CPU of a program against importing sqlglot and pyarrow alone: the best of some alternating rounds."""
    rounds = [(cpu_seconds(program, byte_code), cpu_seconds(PEERS, byte_code)) for _ in range(ROUNDS)]
    ours, peers = (min(column) for column in zip(*rounds, strict=True))
    return ours / peers


@pytest.mark.slow
@pytest.mark.xdist_group("import cost")  # so that the modules are compiled once
@pytest.mark.parametrize("program", [SELECT_1, COMMAND], ids=["library", "command"])
def test_select_1_costs_less_than_1_3_times_its_two_big_imports(program: str, byte_code: Path) -> None:
    """What else the machine does must not decide (it moves the ratio by a tenth either way), so that a ratio
    above the goal is measured again."""
    measured: list[float] = []
    while len(measured) < ATTEMPTS and min(measured, default=2.0) >= GOAL:
        measured.append(ratio(program, byte_code))
    assert min(measured) < GOAL, measured
