"""What a program meets at the driver: parameters, counts, readers, frames, errors that teach."""

from __future__ import annotations

import gc
import inspect
import pydoc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import sqlfront
from tests.oracle.door import Door
from tests.oracle.postgres import Postgres

ROWS = 1_000_000
TIMES = 20


class Capsule:
    """Something that speaks Arrow's PyCapsule interface and nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table({"a": [1]}).__arrow_c_stream__(requested_schema)


def _rows(connection: Any, sql: str, parameters: Any = None) -> list[tuple[object, ...]]:
    ran = connection.execute(sql) if parameters is None else connection.execute(sql, parameters)
    return [tuple(row) for row in ran.fetchall()]


def _counted(connection: Any, made: str) -> object:
    connection.execute(made)
    return connection.cursor().execute("UPDATE t SET id = 7 WHERE id > 0").rowcount


def _read_late(connect: Callable[[], Any], method: str) -> str:
    reader = getattr(connect().execute(f"SELECT * FROM range({ROWS})"), method)()
    gc.collect()
    return f"{sum(batch.num_rows for batch in reader)} rows of {ROWS}"


def _asked(module: ModuleType) -> str:
    lines = len(pydoc.render_doc(module).splitlines())
    without = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and isinstance(thing, type)
        and not issubclass(thing, BaseException)
        and not _has_signature(thing)
    ]
    return f"{'help' if lines > 50 else 'no help'}; classes without signature: {len(without)}"


def _has_signature(thing: Callable[..., object]) -> bool:
    try:
        inspect.signature(thing)
    except (NameError, ValueError):
        return False
    return True


def _numbers(folder: Path) -> Path:
    path = folder / "numbers.parquet"
    pa.parquet.write_table(pa.table({"id": range(ROWS)}), path, row_group_size=10_000)
    return path


def _limited(answers: Iterable[list[int]]) -> str:
    found = {tuple(answer) for answer in answers}
    same = "the same each time" if len(found) == 1 else f"{len(found)} answers"
    return f"{same}, {'the first rows' if found == {(0, 1, 2, 3, 4)} else 'others than the first rows'}"


def _limited_by(connection: Any, table: str) -> str:
    sql = f"SELECT id FROM {table} LIMIT 5"
    return _limited([row[0] for row in connection.execute(sql).fetchall()] for _ in range(TIMES))


def _limited_there(server: Postgres, folder: Path) -> str:
    server.psql(f"CREATE TABLE numbers AS SELECT generate_series(0, {ROWS - 1}) AS id")
    rows = server.psql(";".join(["SELECT id FROM numbers LIMIT 5"] * TIMES)).split()
    return _limited([int(row) for row in rows[at : at + 5]] for at in range(0, len(rows), 5))


def _comments(connection: Any) -> str:
    """How much longer `SELECT 1` takes with a comment that is new each time."""
    numbers = count()

    def seconds(sql: Callable[[], str]) -> float:
        texts = [sql() for _ in range(500)]
        taken = []
        for text in texts:
            began = time.perf_counter()
            connection.execute(text).fetchall()
            taken.append(time.perf_counter() - began)
        return statistics.median(taken)

    plain = seconds(lambda: "SELECT 1")
    return f"takes {seconds(lambda: f'SELECT 1 -- {next(numbers)}') / plain:.1f} times as long"


def _struct(connection: Any, sql: str) -> str:
    return str(polars.read_database(sql, connection).schema["s"])


def _registered(connect: Callable[[], Any], folder: Path) -> str:
    path = folder / "one.parquet"
    pa.parquet.write_table(pa.table({"a": [1]}), path)
    frames: dict[str, object] = {
        "PyCapsule": Capsule(),
        "LazyFrame": polars.LazyFrame({"a": [1]}),
        "Dataset": pa.dataset.dataset(path),
        "relation": duckdb.sql("SELECT 1 AS a"),
    }
    told = []
    for name, frame in frames.items():
        connection = connect()
        try:
            connection.register("t", frame)
            told.append(f"{name} {_rows(connection, 'SELECT count(*) FROM t') == [(1,)] and 'yes'}")
        except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
            told.append(f"{name} {type(error).__name__}")
    return ", ".join(told)


def _without_pandas(program: str) -> str:
    """The last line of what a process without pandas says."""
    program = f"import sys; sys.modules['pandas'] = None; {program}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return ran.stderr.splitlines()[-1]


def _offline() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"autoinstall_known_extensions": "false"})


def _hint(sql: str) -> str:
    """An error's first line and its hint."""
    try:
        sqlfront.connect().execute(sql)
    except sqlfront.Error as error:
        return f"{type(error).__name__}: {error.message}; HINT: {error.hint}"
    return "answered"


DOORS = (
    Door(
        "a parameter too many: `SELECT ?` of 1, 2",
        lambda folder: _rows(sqlfront.connect(), "SELECT ?", [1, 2]),
        lambda folder: _rows(duckdb.connect(), "SELECT ?", [1, 2]),
        lambda server, folder: server.psql("PREPARE p(int) AS SELECT $1; EXECUTE p(1, 2)"),
    ),
    Door(
        "`rowcount` of an UPDATE of 2 rows",
        lambda folder: _counted(sqlfront.connect(), "CREATE TABLE t USING memory AS SELECT id FROM range(3)"),
        lambda folder: _counted(duckdb.connect(), "CREATE TABLE t AS SELECT range AS id FROM range(3)"),
        lambda server, folder: server.psql(
            "CREATE TABLE t AS SELECT generate_series(0, 2) AS id; UPDATE t SET id = 7 WHERE id > 0"
        ).splitlines()[-1],
    ),
    Door(
        "a reader whose connection object is gone",
        lambda folder: _read_late(sqlfront.connect, "fetch_record_batch"),
        lambda folder: _read_late(duckdb.connect, "to_arrow_reader"),
    ),
    Door(
        "`help`, `inspect.signature`",
        lambda folder: _asked(sqlfront),
        lambda folder: _asked(duckdb),
    ),
    Door(
        f"LIMIT 5 of {ROWS:,} rows without ORDER BY, {TIMES} times",
        lambda folder: _limited_by(sqlfront.connect(), f"parquet.`{_numbers(folder)}`"),
        lambda folder: _limited_by(duckdb.connect(), f"'{_numbers(folder)}'"),
        _limited_there,
    ),
    Door(
        "`SELECT 1` with a comment that is new each time",
        lambda folder: _comments(sqlfront.connect()),
        lambda folder: _comments(duckdb.connect()),
    ),
    Door(
        "`polars.read_database` with a struct",
        lambda folder: _struct(sqlfront.connect(), "SELECT named_struct('a', 1) AS s"),
        lambda folder: _struct(duckdb.connect(), "SELECT {'a': 1} AS s"),
    ),
    Door(
        "`register` of frames of others",
        lambda folder: _registered(sqlfront.connect, folder),
        lambda folder: _registered(duckdb.connect, folder),
    ),
    Door(
        "a frame of pandas without pandas",
        lambda folder: _without_pandas(
            "import sqlfront; sqlfront.connect().execute('SELECT 1 AS a').fetch_df()"
        ),
        lambda folder: _without_pandas("import duckdb; duckdb.execute('SELECT 1 AS a').fetch_df()"),
    ),
    Door(
        "`s3://` without a file system",
        lambda folder: _rows(sqlfront.connect(), "SELECT * FROM parquet.`s3://bucket/t.parquet`"),
        lambda folder: _rows(_offline(), "SELECT * FROM 's3://bucket/t.parquet'"),
    ),
    Door(
        "a Delta table",
        lambda folder: _rows(sqlfront.connect(), f"SELECT * FROM delta.`{folder}`"),
        lambda folder: _rows(_offline(), f"SELECT * FROM delta_scan('{folder}')"),
    ),
    Door(
        "`SHOW FUNCTIONS`",
        lambda folder: f"{len(_rows(sqlfront.connect(), 'SHOW FUNCTIONS'))} rows",
        lambda folder: f"{len(_rows(duckdb.connect(), 'SHOW FUNCTIONS'))} rows",
        lambda server, folder: server.psql("SHOW FUNCTIONS"),
    ),
    Door(
        "what isn't built: `PIVOT` by an array",
        lambda folder: _hint("SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1)))"),
    ),
)
