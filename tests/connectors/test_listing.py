"""Which files are read, and what directories say, as Spark has it over the same layouts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_values.errors import DatabaseError, NotSupportedError


def layout(folder: Path, *names: str) -> None:
    """Parquet files of one row whose column ``x`` is the file's number."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [number]}), folder / name)


def read(location: object) -> list[tuple[object, ...]]:
    with Session(Config()) as session:
        return sorted(tuple(row) for row in session.execute(f"SELECT * FROM parquet.`{location}`").collect())


def condition(location: object) -> str | None:
    with pytest.raises(DatabaseError) as caught:
        read(location)
    return caught.value.condition


def test_files_of_folders_that_are_no_partitions_are_not_read(tmp_path: Path) -> None:
    layout(tmp_path, "a.parquet", "sub/b.parquet")

    assert read(tmp_path) == [(0,)]


def test_files_beside_partitions_are_not_read(tmp_path: Path) -> None:
    layout(tmp_path, "a.parquet", "p=1/b.parquet", "p=2/sub/c.parquet")

    assert read(tmp_path) == [(1, 1), (2, 2)]


def test_files_beside_partitions_say_which_columns_there_are(tmp_path: Path) -> None:
    texts = {
        "json": ('{"b": 1}', '{"a": 2}'),
        "csv": ("b,c,d\n1,2,3", "a\n5"),
        "parquet": (pa.table({"b": ["x"]}), pa.table({"a": [2]})),
    }
    for format_name, (beside, within) in texts.items():
        folder = tmp_path / format_name
        (folder / "p=1").mkdir(parents=True)
        for path, content in ((folder / "0", beside), (folder / "p=1" / "1", within)):
            if isinstance(content, str):
                path.write_text(content)
            else:
                pq.write_table(content, path)

    with Session(Config()) as session:
        for format_name, options, names, rows in (
            ("json", "", ["a", "b", "p"], [(2, None, 1)]),
            ("csv", ", header 'true'", ["b", "c", "d", "p"], [("5", None, None, 1)]),
            ("parquet", ", mergeSchema 'true'", ["b", "a", "p"], [(None, 2, 1)]),
        ):
            given = f"path '{tmp_path / format_name}'{options}"
            session.execute(f"CREATE OR REPLACE TEMPORARY VIEW v USING {format_name} OPTIONS ({given})")
            result = session.execute("SELECT * FROM v")
            assert result.schema.names == names
            assert [tuple(row) for row in result.collect()] == rows


def test_partition_columns_are_in_the_order_of_the_directories(tmp_path: Path) -> None:
    layout(tmp_path, "p=1/q=2/a")

    with Session(Config()) as session:
        options = f"USING parquet OPTIONS (path '{tmp_path}')"
        session.execute(f"CREATE TEMPORARY VIEW v (x BIGINT, q STRING) {options}")
        assert session.execute("SELECT * FROM v").schema.names == ["x", "p", "q"]


def test_a_path_that_is_missing_comes_before_a_wrong_option(tmp_path: Path) -> None:
    options = f"OPTIONS (path '{tmp_path / 'none'}', modifiedBefore 'nonsense')"

    with Session(Config()) as session:
        for schema, expected in (("", "PATH_NOT_FOUND"), ("(a INT)", "PATH_NOT_FOUND")):
            with pytest.raises(DatabaseError) as caught:
                session.execute(f"CREATE TEMPORARY VIEW v {schema} USING parquet {options}")
            assert caught.value.condition == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("p=1/a", "plain/b"), "CONFLICTING_DIRECTORY_STRUCTURES"),
        (("p=1/a", "q=1/b"), "CONFLICTING_PARTITION_COLUMN_NAMES"),
        (("p=1/a", "p=1/q=1/b"), "CONFLICTING_PARTITION_COLUMN_NAMES"),
        (("p=/a",), "EMPTY_PARTITION_COLUMN_VALUE"),
        (("=1/a",), "EMPTY_PARTITION_COLUMN_NAME"),
        (("p=1/P=1/a",), "COLUMN_ALREADY_EXISTS"),
        (("sub/a",), "UNABLE_TO_INFER_SCHEMA"),
        (("_a", ".b"), "UNABLE_TO_INFER_SCHEMA"),
    ],
)
def test_what_a_table_over_odd_folders_is_refused_for(
    tmp_path: Path, names: tuple[str, ...], expected: str
) -> None:
    layout(tmp_path, *names)

    with Session(Config()) as session, pytest.raises(DatabaseError) as caught:
        session.execute(f"CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '{tmp_path}')")
    assert caught.value.condition == expected


def test_a_path_in_a_query_names_another_condition(tmp_path: Path) -> None:
    layout(tmp_path, "p=1/a", "q=1/b")

    assert condition(tmp_path) == "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"


def test_a_partition_column_takes_the_place_of_one_in_the_files(tmp_path: Path) -> None:
    (tmp_path / "P=1").mkdir()
    pq.write_table(pa.table({"x": [1], "p": ["in the file"], "y": [2]}), tmp_path / "P=1" / "a.parquet")

    with Session(Config()) as session:
        result = session.execute(f"SELECT * FROM parquet.`{tmp_path}` WHERE p = 1 AND y = 2")
        assert result.columns == ["x", "P", "y"]
        assert result.collect() == [(1, 1, 2)]


def test_globs_are_hadoop_s(tmp_path: Path) -> None:
    layout(tmp_path, "a1/x", "b1/x", "[c]/x", "d e/x", "p=1/x", "_u/x")

    assert read(tmp_path / "{a,b}1") == [(0,), (1,)]
    assert read(tmp_path / "[!a]1") == read(tmp_path / "[^a]1") == [(1,)]
    assert read(tmp_path / "\\[c\\]") == [(2,)]
    assert read(tmp_path / "{a1/x,d*/?}") == [(0,), (3,)]
    assert read(tmp_path / "p=*") == [(4,)]
    assert read(tmp_path / "*" / "*") == [(0,), (1,), (2,), (3,), (4,), (5,)]
    assert condition(tmp_path / "[c]") == "PATH_NOT_FOUND"
    assert condition(tmp_path / "{a1") == "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"


def test_locations_are_urls_or_paths(tmp_path: Path) -> None:
    layout(tmp_path, "a b/x")

    assert read(f"file:{tmp_path}/a b") == read(f"file://{tmp_path}//a b/./") == [(0,)]
    assert condition("   ") == "INVALID_EMPTY_LOCATION"
    assert condition(f"file:/{tmp_path}/nix") == "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"


def test_another_file_system_is_named() -> None:
    with pytest.raises(NotSupportedError, match=r'no file system here for the scheme "s3".*hadoop-aws'):
        read("s3://bucket/table")
    with Session(Config()) as session, pytest.raises(NotSupportedError, match="delta-spark"):
        session.execute("SELECT * FROM delta.`/data/table`")


def test_options_choose_files(tmp_path: Path) -> None:
    layout(tmp_path, "a.parquet", "sub/b.parquet", "p=1/c.parquet")

    def chosen(options: str) -> list[int]:
        with Session(Config()) as session:
            session.execute(f"CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '{tmp_path}', {options})")
            return sorted(int(str(row[0])) for row in session.execute("SELECT x FROM v").collect())

    assert chosen("recursiveFileLookup true") == [0, 1, 2]
    assert chosen("recursiveFileLookup true, pathGlobFilter '[b-z]*'") == [1, 2]
    assert chosen("recursiveFileLookup true, modifiedAfter '2020-01-01'") == [0, 1, 2]
    with pytest.raises(DatabaseError, match="UNABLE_TO_INFER_SCHEMA"):
        chosen("recursiveFileLookup true, modifiedBefore '2020-01-01T00:00:00'")
    with pytest.raises(DatabaseError, match="neither true nor false"):
        chosen("recursiveFileLookup 'perhaps'")


def test_a_table_of_the_catalog_is_told_of_its_partitions(tmp_path: Path) -> None:
    layout(tmp_path, "p=1/a.parquet", "p=2/b.parquet")

    with Session(Config()) as session:
        session.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}'")
        assert session.execute("SELECT * FROM t").collect() == []
        session.execute("INSERT INTO t VALUES (7, 3)")
        session.execute("REFRESH TABLE t")
        assert session.execute("SELECT * FROM t").collect() == [(7, 3)]
        session.execute("MSCK REPAIR TABLE t")
        assert sorted(session.execute("SELECT * FROM t").collect()) == [(0, 1), (1, 2), (7, 3)]


def test_times_of_directories_are_in_the_session_s_zone(tmp_path: Path) -> None:
    layout(tmp_path, "p=2024-01-02 03%3A04%3A05/a.parquet")
    (tmp_path / "t.csv").write_text("2024-01-02 03:04:05\n")
    (tmp_path / "t.json").write_text('{"t": "2024-01-02 03:04:05"}\n')

    with Session(Config()) as session:
        session.execute("SET TIME ZONE 'America/New_York'")
        for name in ("csv", "json"):
            given = f"USING {name} OPTIONS (path '{tmp_path}/t.{name}')"
            session.execute(f"CREATE TEMPORARY VIEW {name} (t TIMESTAMP) {given}")
        union = f"SELECT p FROM parquet.`{tmp_path}` UNION ALL SELECT t FROM csv UNION ALL SELECT t FROM json"
        found = {row[0] for row in session.execute(f"SELECT string(p) FROM ({union})").collect()}

    assert found == {"2024-01-02 03:04:05"}
