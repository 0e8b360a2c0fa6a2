"""One statement after another: which way each would go, and what the next ones know of it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront.check.checker import CheckedLane, Checker, Verdict

PLANE = "CREATE TABLE plane (tailnum STRING, maker STRING, seats INT) USING memory CLUSTERED BY (tailnum)"
FAILS = "CAST(raise_error('it was read') AS STRING)"
NOT_KNOWN = "a job; how much `plane` will hold isn't known here"


@pytest.fixture
def checker() -> Iterator[Checker]:
    """One that has seen `CREATE TABLE plane`."""
    with Checker() as checker:
        assert checker.check(PLANE).way == CheckedLane.COMMAND
        yield checker


def ways(checker: Checker, *texts: str) -> list[str]:
    return [checker.check(text).way for text in texts]


def test_a_lookup_in_a_table_that_the_script_makes_is_direct(checker: Checker) -> None:
    found = checker.check("SELECT maker FROM plane WHERE tailnum = 'N1'")

    assert found == Verdict(CheckedLane.DIRECT, "plane by key, no job")
    assert ways(checker, "SELECT 1", "SELECT seats FROM plane WHERE tailnum IN ('a', 'b')") == ["direct"] * 2


def test_a_job_says_which_tables_nobody_knows_the_size_of(checker: Checker) -> None:
    found = checker.check("SELECT maker, count(*) FROM plane GROUP BY maker")

    assert found == Verdict(CheckedLane.LIGHT, NOT_KNOWN)


def test_views_copies_and_indexes_are_known_to_what_follows(checker: Checker) -> None:
    made = ways(
        checker,
        "CREATE VIEW big AS SELECT * FROM plane WHERE seats > 100",
        "CACHE TABLE big CLUSTERED BY (maker)",
        "CREATE INDEX by_seats ON plane (seats)",
    )

    assert made == ["command"] * 3
    assert checker.check("SELECT tailnum FROM big WHERE maker = 'x'").reason == "big by key, no job"
    assert checker.check("SELECT tailnum FROM plane WHERE seats = 3").way == CheckedLane.DIRECT
    assert checker.check("SELECT nix FROM big").way == CheckedLane.ERROR


def test_nothing_is_read_or_written(checker: Checker, tmp_path: Path) -> None:
    made = ways(
        checker,
        f"CREATE TABLE f USING parquet LOCATION '{tmp_path}/f' AS SELECT *, {FAILS} AS failed FROM plane",
        f"INSERT INTO f SELECT 'a', 'b', 1, {FAILS}",
        f"INSERT OVERWRITE plane SELECT {FAILS}, 'a', 1",
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/g' USING csv SELECT {FAILS} AS failed FROM plane",
        f"DELETE FROM plane WHERE {FAILS} IS NULL",
        "INSERT OVERWRITE DIRECTORY ? USING csv OPTIONS (sep ?) SELECT ? AS a FROM plane",
        "UPDATE plane SET seats = seats / 0",
        f"EXPLAIN ANALYZE SELECT {FAILS} FROM plane",
        "KILL QUERY 1",
        f"CREATE JOB j AS INSERT INTO f SELECT 'a', 'b', 1, {FAILS}",
        f"CREATE JOB j AS SELECT {FAILS} AS failed FROM plane",
        "EXPLAIN CREATE JOB j AS INSERT OVERWRITE DIRECTORY ? USING csv OPTIONS (sep ?) SELECT ? AS a",
        "SHOW JOBS",
        "DESCRIBE JOB j",
        "CANCEL JOB j",
        "RESUME JOB j",
        "DROP JOB j",
        "DROP TABLE f",
    )

    assert made == ["command"] * 18
    assert list(tmp_path.iterdir()) == []


def test_tables_of_jobs_are_known_to_what_follows(checker: Checker) -> None:
    text = "CREATE JOB j AS CREATE TABLE later AS SELECT seats AS n FROM plane"

    assert ways(checker, f"EXPLAIN {text}", "SELECT n FROM later") == ["command", "spark"]
    assert ways(checker, text, "SELECT n FROM later") == ["command", "light"]


def test_files_are_looked_at_for_columns_and_sizes(checker: Checker, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(20)}), tmp_path / "a.parquet")

    found = checker.check(f"SELECT max(a) FROM parquet.`{tmp_path}`")
    assert found == Verdict(CheckedLane.LIGHT, "about 20 rows of 1 table, inline on the caller's thread")
    assert ways(checker, f"CREATE TABLE t USING parquet LOCATION '{tmp_path}'", "SELECT b FROM t") == [
        "command",
        "error",
    ]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("SELECT * FROM plane TABLESAMPLE (10 PERCENT) REPEATABLE (1)", "TABLESAMPLE"),
        ("MERGE WITH SCHEMA EVOLUTION INTO plane USING p ON true WHEN MATCHED THEN DELETE", "EVOLUTION"),
        ("SELECT * FROM trips", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("SELECT my_function(1)", "[UNRESOLVED_ROUTINE]"),
        ("INSERT INTO trips SELECT * FROM plane", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("CREATE TABLE d (a INT) USING delta", "[DATA_SOURCE_NOT_FOUND]"),
        ("INSERT OVERWRITE DIRECTORY '/none' USING orc TABLE plane", "writing files of the format orc"),
    ],
)
def test_what_only_spark_can_do_is_sparks(checker: Checker, text: str, fragment: str) -> None:
    found = checker.check(text)

    assert found.way == CheckedLane.SPARK
    assert fragment in found.reason


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("SELECT mker FROM plane", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("UPDATE plane SET seats = 'x'", "[INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST]"),
        ("INSERT INTO plane VALUES (1)", "[INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS]"),
        (PLANE, "[TABLE_OR_VIEW_ALREADY_EXISTS]"),
        ("INSERT OVERWRITE DIRECTORY USING csv TABLE plane", "[_LEGACY_ERROR_TEMP_0049]"),
        ("CREATE VIEW v AS SELECT nix FROM plane", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("CREATE JOB j AS SELECT nix FROM plane", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        ("CREATE JOB j AS INSERT INTO trips SELECT 1", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("CREATE JOB j AS SELECT 1 1", "[PARSE_SYNTAX_ERROR]"),
        ("CREATE JOB j AS CREATE TABLE t LIKE u", "CREATE TABLE with LIKE is not supported"),
    ],
)
def test_what_fails_anyhow_is_an_error(checker: Checker, text: str, fragment: str) -> None:
    found = checker.check(text)

    assert found.way == CheckedLane.ERROR
    assert fragment in found.reason
    assert "\n" not in found.reason


def test_what_spark_creates_is_sparks(checker: Checker) -> None:
    checker.check("CREATE OR REPLACE TABLE d (a INT) USING delta")

    assert checker.check("SELECT a FROM d").reason == "`d` is a table of Spark's"


def test_columns_of_what_is_copied_from_spark_are_not_known(checker: Checker) -> None:
    assert ways(checker, "CACHE TABLE trips CLUSTERED BY (id)", "SELECT * FROM trips WHERE id = 1") == [
        "spark",
        "unknown",
    ]


def test_the_lane_that_is_set_decides(checker: Checker) -> None:
    assert ways(checker, "SET sqlfront.lane = spark", "SELECT 1", "SET sqlfront.lane = light") == [
        "command",
        "spark",
        "command",
    ]
    assert ways(checker, "SELECT 1", "SELECT * FROM trips") == ["direct", "error"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT maker FROM plane WHERE tailnum = ?",
        "SELECT maker FROM plane WHERE tailnum = :tailnum AND seats > :least",
    ],
)
def test_parameters_need_no_values(checker: Checker, text: str) -> None:
    assert checker.check(text).way == CheckedLane.DIRECT


def test_a_value_that_is_known_is_taken(checker: Checker) -> None:
    text = "SELECT seats FROM plane WHERE seats = :n LIMIT :most"

    assert checker.check(text, {"n": 1}).way == CheckedLane.LIGHT
    assert checker.check(text, {"n": 1, "most": "many"}).way == CheckedLane.ERROR


def test_what_depends_on_the_type_of_a_parameter_is_unknown(checker: Checker) -> None:
    found = checker.check("SELECT ? + map(1, 2)")

    assert found.way == CheckedLane.UNKNOWN
    assert found.reason.startswith("the result depends on the types of the parameters: ")


def test_names_that_a_program_makes() -> None:
    with Checker(registered=["scores"], views=["events"]) as checker:
        assert ways(checker, "SELECT * FROM Scores", "SELECT * FROM events") == ["unknown", "spark"]
