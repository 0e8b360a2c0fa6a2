"""INSERT OVERWRITE DIRECTORY by SQL: its result, tables over the directory, and what it refuses."""

import os
from pathlib import Path

import pytest

import sqlfront
from sqlfront_values.errors import Error, NotSupportedError, OperationalError, ProgrammingError


def overwrite(session: sqlfront.Session, folder: Path, query: str, using: str = "parquet") -> sqlfront.Result:
    return session.execute(f"INSERT OVERWRITE DIRECTORY '{folder}' USING {using} {query}")


def test_the_result_has_no_columns_and_the_folder_the_rows(tmp_path: Path) -> None:
    with sqlfront.Session() as session:
        result = overwrite(session, tmp_path / "out", "SELECT id FROM range(1000) ORDER BY id DESC")

        assert result.columns == [] and result.collect() == []
        assert sorted(os.listdir(tmp_path)) == ["out"]
        assert sorted(name[:11] for name in os.listdir(tmp_path / "out")) == ["_SUCCESS", "part-00000-"]
        read = session.sql(f"SELECT * FROM parquet.`{tmp_path}/out`").collect()
        assert [row.id for row in read] == list(range(999, -1, -1))


def test_a_cursor_counts_the_rows(tmp_path: Path) -> None:
    with sqlfront.connect() as connection:
        cursor = connection.execute(
            f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING csv SELECT * FROM range(7)"
        )

        assert cursor.rowcount == 7 and cursor.description is None


def test_an_empty_result_leaves_the_columns(tmp_path: Path) -> None:
    with sqlfront.Session() as session:
        overwrite(session, tmp_path / "out", "SELECT 1 AS a, 'x' AS b WHERE false")

        assert session.sql(f"SELECT * FROM parquet.`{tmp_path}/out`").columns == ["a", "b"]


def test_the_query_may_have_parameters(tmp_path: Path) -> None:
    with sqlfront.Session() as session:
        for text, values in (("?, ?", [1, "x"]), (":a, :b", {"a": 1, "b": "x"})):
            statement = f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING csv SELECT {text}"
            session.sql(statement, values)

            (part,) = (tmp_path / "out").glob("part-*")
            assert part.read_text() == "1,x\n"


@pytest.mark.parametrize(
    ("clauses", "values"),
    [
        ("? USING csv OPTIONS (header ?) SELECT ? AS a, ? AS b", ["{at}", True, 1, "x"]),
        ("USING csv OPTIONS (path ?, header 'tr' 'ue') SELECT ? AS a, ? AS b", ["{at}", 1, "x"]),
        (
            ":p USING csv OPTIONS (header :h) SELECT :a AS a, :b AS b",
            {"p": "{at}", "h": True, "a": 1, "b": "x"},
        ),
    ],
)
def test_path_and_options_may_be_parameters(
    tmp_path: Path, clauses: str, values: list[object] | dict[str, object]
) -> None:
    place = str(tmp_path / "out")
    given: list[object] | dict[str, object]
    if isinstance(values, dict):
        given = values | {"p": place}
    else:
        given = [place, *values[1:]]
    with sqlfront.Session() as session:
        session.sql(f"INSERT OVERWRITE DIRECTORY {clauses}", given)

    (part,) = (tmp_path / "out").glob("part-*")
    assert part.read_text() == "a,b\n1,x\n"


@pytest.mark.parametrize(
    ("values", "condition"),
    [([7], "PARSE_SYNTAX_ERROR"), ([None], "PARSE_SYNTAX_ERROR"), ([], "UNBOUND_SQL_PARAMETER")],
)
def test_a_path_that_is_no_text_is_refused(values: list[object], condition: str) -> None:
    with sqlfront.Session() as session, pytest.raises(ProgrammingError) as caught:
        session.sql("INSERT OVERWRITE DIRECTORY ? USING csv SELECT 1", values)

    assert caught.value.condition == condition


def test_a_relative_path_begins_at_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlfront.Session() as session:
        session.sql("INSERT OVERWRITE DIRECTORY 'a/../b/c' USING csv SELECT 1")
        session.sql(f"INSERT OVERWRITE LOCAL DIRECTORY 'file:{tmp_path}/d[1]*' USING csv SELECT 1")

    assert sorted(os.listdir(tmp_path)) == ["b", "d[1]*"]
    assert (tmp_path / "b" / "c" / "_SUCCESS").exists()


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT 1 DIV id FROM range(2)", "DIVIDE_BY_ZERO"),
        ("SELECT nosuch", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT 1 AS a, 2 AS A", "COLUMN_ALREADY_EXISTS"),
        ("SELECT INTERVAL '1' DAY AS a", None),
        ("SELECT array(NULL) AS a", None),
    ],
)
def test_a_failed_statement_leaves_the_old_files(tmp_path: Path, query: str, condition: str | None) -> None:
    folder = tmp_path / "out"
    with sqlfront.Session() as session:
        overwrite(session, folder, "SELECT 1 AS a")
        before = {path: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(Error) as caught:
            overwrite(session, folder, query)

    assert caught.value.condition == condition
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert os.listdir(tmp_path) == ["out"]


def test_a_query_that_reads_the_directory_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with sqlfront.Session() as session:
        overwrite(session, folder, "SELECT id FROM range(3)")
        session.sql(f"CREATE TABLE t USING parquet LOCATION '{folder}'")
        session.sql("CREATE TEMPORARY VIEW v AS SELECT max(id) AS id FROM t")
        for query in (
            "TABLE t",
            "TABLE v",
            f"SELECT id FROM parquet.`{folder}`",
            f"SELECT id FROM parquet.`{folder}/*`",
            "SELECT 1 AS id WHERE EXISTS (SELECT * FROM t)",
        ):
            with pytest.raises(ProgrammingError, match="also being read from") as caught:
                overwrite(session, folder, query)
            assert caught.value.condition == "UNSUPPORTED_OVERWRITE.PATH"
        assert len(session.sql("TABLE t").collect()) == 3


def test_tables_views_and_copies_over_the_directory_follow(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with sqlfront.Session() as session:
        overwrite(session, folder, "SELECT id FROM range(3)")
        for statement in (
            f"CREATE TABLE t USING parquet LOCATION '{folder}'",
            f"CREATE TABLE cached USING parquet LOCATION '{folder}'",
            "CACHE TABLE cached",
            "CREATE VIEW most AS SELECT max(id) AS id FROM cached",
            "CACHE TABLE most",
            f"CREATE VIEW least AS SELECT min(id) AS id FROM parquet.`{folder}`",
            "CACHE TABLE least",
        ):
            session.sql(statement)

        overwrite(session, folder, "SELECT id + 10 AS id FROM range(3)")

        for name in ("t", "cached"):
            assert {row.id for row in session.sql(f"TABLE {name}").collect()} == {10, 11, 12}
        assert session.sql("SELECT * FROM most, least").collect() == [(12, 10)]


def test_a_copy_that_can_not_follow_is_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "out"
    with sqlfront.Session() as session:
        overwrite(session, folder, "SELECT id FROM range(3)")
        session.sql(f"CREATE TABLE t USING parquet LOCATION '{folder}'")
        session.sql("CACHE TABLE t")

        overwrite(session, folder, "SELECT 'x' AS id", "csv")

        assert "`t` is cached no more" in caplog.text
        with pytest.raises(OperationalError) as caught:
            session.sql("TABLE t").collect()
        assert caught.value.condition == "FAILED_READ_FILE.NO_HINT"


def test_a_session_writes_where_its_file_access_allows(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "out").symlink_to(tmp_path)
    with sqlfront.Session(sqlfront.Config(file_access=[str(tmp_path / "mine")])) as session:
        for place in ("yours", "mine/../yours", "mine/out/yours", "mine/out"):
            with pytest.raises(ProgrammingError, match="may not be read or written") as caught:
                overwrite(session, tmp_path / place, "SELECT 1 AS a")
            assert caught.value.sqlstate == "42501"
        overwrite(session, tmp_path / "mine" / "new", "SELECT 1 AS a")
        overwrite(session, tmp_path / "mine", "SELECT 2 AS a")

        assert session.sql(f"SELECT * FROM parquet.`{tmp_path}/mine`").collect() == [(2,)]
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT OVERWRITE DIRECTORY '{at}' USING orc SELECT 1", "writing files of the format orc"),
        ("INSERT OVERWRITE DIRECTORY '{at}' USING nosuch SELECT 1", "Failed to find the data source: nosuch"),
        ("INSERT OVERWRITE DIRECTORY '{at}' USING csv OPTIONS (nosuch 1) SELECT 1", "option nosuch"),
        (
            "INSERT OVERWRITE DIRECTORY '{at}' USING json OPTIONS (dateFormat 'y') SELECT 1",
            "option dateFormat",
        ),
        ("INSERT OVERWRITE DIRECTORY '{at}' STORED AS orc SELECT 1", "with the Hive format"),
        ("INSERT OVERWRITE DIRECTORY 's3://a/b' USING csv SELECT 1", 'scheme "s3"'),
        (
            "EXPLAIN INSERT OVERWRITE DIRECTORY '{at}' USING csv SELECT 1",
            "EXPLAIN of INSERT OVERWRITE DIRECTORY",
        ),
    ],
)
def test_what_is_not_built_is_named_and_changes_nothing(tmp_path: Path, statement: str, message: str) -> None:
    with sqlfront.Session() as session, pytest.raises(NotSupportedError) as caught:
        session.sql(statement.format(at=tmp_path / "out"))

    assert message in caught.value.message
    assert os.listdir(tmp_path) == []


def test_the_root_of_the_file_system_is_never_replaced() -> None:
    with sqlfront.Session() as session:
        for path in ("/", "/tmp/..", "file:///"):
            with pytest.raises(OperationalError, match="root of the file system"):
                session.sql(f"INSERT OVERWRITE DIRECTORY '{path}' USING csv SELECT 1")


@pytest.mark.parametrize("path", [".", "..", "../here", "link/here"])
def test_the_current_directory_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "link").symlink_to(tmp_path)
    (here / "precious").touch()
    monkeypatch.chdir(here)
    with sqlfront.Session() as session:
        with pytest.raises(OperationalError, match="holds the current directory"):
            session.sql(f"INSERT OVERWRITE DIRECTORY '{path}' USING csv SELECT 1")
        for other in ("../other", "link"):
            session.sql(f"INSERT OVERWRITE DIRECTORY '{other}' USING csv SELECT 1")

    assert (here / "precious").exists()


@pytest.mark.parametrize("below", ["", "house"])
def test_the_directory_of_the_sessions_tables_is_never_replaced(tmp_path: Path, below: str) -> None:
    config = sqlfront.Config(warehouse=str(tmp_path / "above" / "house"))
    with sqlfront.Session(config) as session:
        session.sql("CREATE TABLE t USING parquet AS SELECT 1 AS a")
        with pytest.raises(OperationalError, match="the directory of this session's tables"):
            session.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'above' / below}' USING csv SELECT 1")
        assert session.sql("SELECT * FROM t").collect() == [(1,)]


def test_a_place_that_takes_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with sqlfront.Session() as session, pytest.raises(OperationalError, match=r"directory .*can't write to"):
        overwrite(session, tmp_path / "file" / "below", "SELECT 1 AS a")
