"""Rows without ORDER BY: on one member the same in the same order each time, as the files have them or as
they were inserted, however many workers there are."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sqlfront

FILES, ROWS = 5, 16_000
ALL = list(range(FILES * ROWS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as Parquet of many row groups, CSV and JSON, each in several files."""
    root = tmp_path_factory.mktemp("ordered")
    for name in ("parquet", "csv", "json"):
        (root / name).mkdir()
    for number in range(FILES):
        rows = range(number * ROWS, (number + 1) * ROWS)
        table = pa.table({"id": rows, "g": [each % 97 for each in rows]})
        pa.parquet.write_table(table, root / f"parquet/part-{number}.parquet", row_group_size=7000)
        pa.csv.write_csv(table, root / f"csv/part-{number}.csv")
        lines = (f'{{"id":{each},"g":{each % 97}}}\n' for each in rows)
        (root / f"json/part-{number}.json").write_text("".join(lines))
    return root


@pytest.fixture(scope="module", params=[1, 2, 4])
def connection(request: pytest.FixtureRequest, folder: Path) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(workers=request.param) as connection:
        for name in ("parquet", "csv", "json"):
            options = "OPTIONS (header true)" if name == "csv" else ""
            columns, place = "id BIGINT, g BIGINT", folder / name
            connection.execute(f"CREATE TABLE {name}s ({columns}) USING {name} {options} LOCATION '{place}'")
        connection.execute("CREATE TABLE stored USING memory AS SELECT * FROM parquets")
        connection.register("registered", pa.parquet.read_table(folder / "parquet"))
        connection.execute("CREATE TABLE names USING memory AS SELECT id AS g, 'x' || id AS n FROM range(97)")
        yield connection


TABLES = ("parquets", "csvs", "jsons", "stored", "registered", f"range({len(ALL)})")


def numbers(connection: sqlfront.Connection, sql: str) -> list[int]:
    """The first column of a query's rows."""
    return connection.execute(sql).fetch_arrow_table().column(0).to_pylist()


@pytest.mark.parametrize("table", TABLES)
def test_rows_come_in_the_order_of_their_table(connection: sqlfront.Connection, table: str) -> None:
    assert numbers(connection, f"SELECT id FROM {table}") == ALL
    assert numbers(connection, f"SELECT id FROM {table} LIMIT 5") == ALL[:5]
    assert numbers(connection, f"SELECT id FROM {table} LIMIT 9 OFFSET 71234") == ALL[71234:71243]
    chosen = [each for each in ALL if str(each).endswith("77")]
    assert numbers(connection, f"SELECT id FROM {table} WHERE string(id) LIKE '%77'") == chosen
    assert (
        numbers(connection, f"SELECT id FROM {table} WHERE string(id) LIKE '%77' LIMIT 900") == chosen[:900]
    )
    assert [row[0] for row in connection.session.sql(f"SELECT id FROM {table}").take(3)] == ALL[:3]


def test_inserted_rows_come_behind_those_before(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE OR REPLACE TABLE grown USING memory AS SELECT id FROM range(70000)")
    for start in (70_000, 140_000):
        connection.execute(f"INSERT INTO grown SELECT id FROM range({start}, {start + 70_000})")
    assert numbers(connection, "SELECT id FROM grown") == list(range(210_000))


def test_a_union_has_one_branch_after_the_other(connection: sqlfront.Connection) -> None:
    sql = "SELECT id FROM stored UNION ALL SELECT id FROM parquets UNION ALL SELECT id FROM range(99999)"
    assert numbers(connection, sql) == ALL + ALL + list(range(99999))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, n FROM stored JOIN names USING (g)",
        "SELECT id, n FROM parquets LEFT JOIN names USING (g) LIMIT 70000",
        "SELECT g, count(*) FROM stored GROUP BY g",
        "SELECT id % 30000 AS k, sum(id / 7.0D), first(id), collect_list(g) FROM parquets GROUP BY k",
        "SELECT DISTINCT id % 40000 FROM stored LIMIT 7",
        "SELECT id, sum(id / 7.0D) OVER (PARTITION BY g ORDER BY id % 10) FROM csvs LIMIT 500",
        "SELECT k, count(*) FROM (SELECT id % 30000 AS k, max(g) AS g FROM stored GROUP BY k) GROUP BY k",
        "SELECT id FROM parquets ORDER BY g LIMIT 70000",
        "SELECT sum(id / 7.0D), stddev(g / 3.0D) FROM stored",
        "SELECT id % 50000 AS k FROM stored EXCEPT SELECT g FROM stored",
    ],
)
def test_groups_joins_and_windows_come_the_same_each_time(connection: sqlfront.Connection, sql: str) -> None:
    first = connection.execute(sql).fetch_arrow_table()
    assert all(connection.execute(sql).fetch_arrow_table() == first for _ in range(6))
