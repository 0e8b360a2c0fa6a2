"""Tables of files by SQL: where they may be made, and what an overwrite deletes."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront_values.errors import OperationalError, ProgrammingError


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with somebody's files."""
    (tmp_path / "notes.csv").write_text("5\n")
    return tmp_path


def test_a_table_made_from_a_query_takes_no_folder_with_files(notes: Path) -> None:
    made = f"TABLE t USING csv LOCATION '{notes}' AS SELECT 1 AS a"
    with sqlfront.connect() as connection:
        with pytest.raises(ProgrammingError, match="to a non-empty directory") as caught:
            connection.execute(f"CREATE {made}")

        assert caught.value.condition == "_LEGACY_ERROR_TEMP_1241"
        assert [path.name for path in notes.iterdir()] == ["notes.csv"]
        (notes / "notes.csv").unlink()
        connection.execute(f"CREATE {made}")
        assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]


def told(table: str) -> str:
    """The definition of the same table, which is told that it may replace foreign files."""
    return table.replace(" LOCATION", " OPTIONS (overwriteForeignFiles 'true') LOCATION")


def test_an_overwrite_leaves_somebodys_files_alone_unless_told(notes: Path) -> None:
    table = f"TABLE t (a STRING) USING csv LOCATION '{notes}'"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE {table}")
        connection.execute("INSERT INTO t VALUES ('6')")
        with pytest.raises(OperationalError, match=r"notes\.csv in .*overwriteForeignFiles"):
            connection.execute("INSERT OVERWRITE t VALUES ('7')")
        assert sorted(connection.execute("SELECT a FROM t").fetchall()) == [("5",), ("6",)]

        connection.execute(f"CREATE OR REPLACE {told(table)}")
        connection.execute("INSERT OVERWRITE t VALUES ('7')")
        assert connection.execute("SELECT a FROM t").fetchall() == [("7",)]
        assert not (notes / "notes.csv").exists()


def test_a_table_whose_files_have_the_column_of_their_folders_knows_all_partitions(tmp_path: Path) -> None:
    (tmp_path / "p=7").mkdir()
    (tmp_path / "p=7" / "a.json").write_text('{"a":1,"p":2}\n')
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE t USING json LOCATION '{tmp_path}'")

        assert connection.execute("SELECT a, p FROM t").fetchall() == [(1, 7)]


def test_a_view_looks_at_its_folders_before_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a=x").mkdir()
    (tmp_path / "a=x" / "0.csv").write_text("1\n")
    columns = "(a BIGINT, a BOOLEAN) USING csv"
    with sqlfront.connect() as connection:
        with pytest.raises(OperationalError) as view:
            connection.execute(f"CREATE TEMPORARY VIEW v {columns} OPTIONS (path '{tmp_path}')")
        with pytest.raises(ProgrammingError) as table:
            connection.execute(f"CREATE TABLE t {columns} LOCATION '{tmp_path}'")

    assert view.value.condition == "INVALID_PARTITION_VALUE"
    assert table.value.condition == "COLUMN_ALREADY_EXISTS"


#: What Spark writes in New York.
TIMES = {
    "csv": "1,2024-01-02T03:04:05.123-05:00,2024-01-02T03:04:05.123\n2,1800-01-02T03:04:05.000-04:56:02,\n",
    "json": '{"a":1,"t":"2024-01-02T03:04:05.123-05:00","n":"2024-01-02T03:04:05.123"}\n'
    '{"a":2,"t":"1800-01-02T03:04:05.000-04:56:02"}\n',
}
ROWS = """
    SELECT a, timestamp(t) AS t, CAST(n AS TIMESTAMP_NTZ) AS n FROM VALUES
    (1, '2024-01-02 03:04:05.123456', '2024-01-02 03:04:05.123456'),
    (2, '1800-01-02 03:04:05', NULL) AS v(a, t, n)"""


@pytest.mark.parametrize("format_name", list(TIMES))
def test_times_are_written_in_the_zone_of_the_session(tmp_path: Path, format_name: str) -> None:
    with sqlfront.connect() as connection:
        connection.execute("SET TIME ZONE 'America/New_York'")
        connection.execute(f"CREATE TABLE t USING {format_name} LOCATION '{tmp_path}/t' AS {ROWS}")

    (file,) = (tmp_path / "t").iterdir()
    assert file.read_text() == TIMES[format_name]


def test_folders_are_named_in_the_zone_of_the_session(tmp_path: Path) -> None:
    query = "SELECT 1 AS a, timestamp'2024-01-02 03:04:05.1' AS t"
    with sqlfront.connect() as connection:
        connection.execute("SET TIME ZONE 'America/New_York'")
        connection.execute(f"CREATE TABLE t USING csv PARTITIONED BY (t) LOCATION '{tmp_path}/t' AS {query}")

        assert [path.name for path in (tmp_path / "t").iterdir()] == ["t=2024-01-02 03%3A04%3A05.1"]
        assert connection.execute("SELECT string(t) FROM t").fetchall() == [("2024-01-02 03:04:05.1",)]


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("REFRESH '{folder}'", 2),
        ("REFRESH {folder}/t", 2),
        ("REFRESH 'file://{folder}/'", 2),
        ("REFRESH /", 2),
        ("REFRESH t", 2),
        ("REFRESH {folder}/t/a", 1),
        ("REFRESH '{folder}/u'", 1),
        ("REFRESH 't'", 1),
    ],
)
@pytest.mark.parametrize("copied", ["", "CACHE TABLE t"])
def test_refresh_reads_what_lies_below_a_path(tmp_path: Path, statement: str, seen: int, copied: str) -> None:
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/t' AS SELECT 1 AS a")
        if copied:
            connection.execute(copied)
        pq.write_table(pa.table({"a": pa.array([2], pa.int32())}), tmp_path / "t" / "more.parquet")
        connection.execute(statement.format(folder=tmp_path))

        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(seen,)]


def test_refresh_of_a_path_fills_copies_of_views_over_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "one.parquet")
    with sqlfront.connect() as connection:
        connection.execute(f"CACHE TABLE t AS SELECT * FROM parquet.`{tmp_path}`")
        pq.write_table(pa.table({"a": [2]}), tmp_path / "two.parquet")
        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
        connection.execute(f"REFRESH {tmp_path}")

        assert connection.execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_an_overwrite_leaves_the_tables_in_folders_below_alone_unless_told(tmp_path: Path) -> None:
    outer = f"TABLE outer_one (a INT) USING parquet LOCATION '{tmp_path}'"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE inner_one (a INT) USING parquet LOCATION '{tmp_path}/inner'")
        connection.execute("INSERT INTO inner_one VALUES (1)")
        connection.execute(f"CREATE {outer}")
        connection.execute("INSERT INTO outer_one VALUES (2)")
        with pytest.raises(OperationalError, match="inner/part-00000"):
            connection.execute("INSERT OVERWRITE outer_one VALUES (3)")
        assert connection.execute(f"SELECT a FROM parquet.`{tmp_path}/inner`").fetchall() == [(1,)]
        assert connection.execute("SELECT a FROM outer_one").fetchall() == [(2,)]

        connection.execute(f"CREATE OR REPLACE {told(outer)}")
        connection.execute("INSERT OVERWRITE outer_one VALUES (3)")
        connection.execute("REFRESH TABLE inner_one")
        assert connection.execute("SELECT a FROM inner_one").fetchall() == []
