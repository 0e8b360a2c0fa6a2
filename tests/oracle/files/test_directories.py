"""INSERT OVERWRITE DIRECTORY beside Spark: the same files, rows and errors."""

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.oracle.answers import Answer, Failure, Outcome
from tests.oracle.files.arrow_values import table_of_runs
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject
from tests.sampling import sampled

#: Options of a writer, by format.
OPTIONS = {
    "csv": (
        "",
        "OPTIONS (header true)",
        "OPTIONS (sep ';', nullValue 'N', emptyValue 'E', quote '''')",
        "OPTIONS (dateFormat 'dd/MM/yyyy', timestampFormat 'yyyy-MM-dd HH:mm', header 'true')",
        "OPTIONS (ignoreLeadingWhiteSpace false, ignoreTrailingWhiteSpace false, escape '\"')",
    ),
    "json": ("",),
    "parquet": ("",),
}
CASES = [(name, seed) for name, count in {"csv": 7, "json": 5, "parquet": 8}.items() for seed in range(count)]


def rows(outcome: Outcome) -> tuple[object, list[str]]:
    """The columns, and the rows in an order of their own."""
    assert isinstance(outcome, Answer), outcome
    return outcome.columns, sorted(map(repr, outcome.rows))


def lines(folder: Path) -> list[bytes]:
    """All lines of the folder's parts, sorted."""
    parts = sorted(folder.glob("part-*"))
    return sorted(line for part in parts for line in part.read_bytes().splitlines(keepends=True))


@pytest.mark.spark
@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_what_both_write_of_the_same_rows_is_the_same(
    spark: SparkOracle, tmp_path: Path, case: tuple[str, int]
) -> None:
    name, seed = case
    chance = random.Random(seed)
    pq.write_table(table_of_runs(chance), tmp_path / "rows.parquet")
    statement = (
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/{{}}' USING {name} {chance.choice(OPTIONS[name])} "
        f"SELECT * FROM parquet.`{tmp_path}/rows.parquet`"
    )
    theirs = spark.answer(statement.format("theirs"))
    with Subject() as subject:
        ours = subject.answer(statement.format("ours"))
        if isinstance(theirs, Failure):
            assert isinstance(ours, Failure) and ours.condition == theirs.condition
            return
        if isinstance(ours, Failure):
            assert name == "json" and "to_json of map" in ours.message and not (tmp_path / "ours").exists()
            return
        assert ours == theirs == Answer((), ())
        if name == "parquet":
            read = "SELECT * FROM parquet.`{}/{}`"
            expected = rows(spark.answer(read.format(tmp_path, "theirs")))
            assert rows(spark.answer(read.format(tmp_path, "ours"))) == expected
            assert rows(subject.answer(read.format(tmp_path, "ours"))) == expected
            assert rows(subject.answer(read.format(tmp_path, "theirs"))) == expected
        else:
            assert lines(tmp_path / "ours") == lines(tmp_path / "theirs")


#: Queries whose rows or columns are odd, with the format.
ODD = (
    ("csv", "SELECT 1 AS a, 2 AS A"),
    ("csv", "SELECT 'x' AS ` ,;\"b`, 1 AS ``"),
    ("csv", "SELECT INTERVAL '1' DAY AS a, INTERVAL '1-2' YEAR TO MONTH AS b"),
    ("csv", "SELECT X'00ff' AS a, 1e10 AS b, CAST('-Infinity' AS DOUBLE) AS c, 1.50BD AS d"),
    ("csv", "SELECT ' a ' AS a, '' AS b, 'x,y' AS c, 'q\"q' AS d, '\\n\\r\\u0001\\0' AS e, '#' AS f"),
    ("csv", "SELECT '#' AS f, '\\\\' AS g, 'ä€😀' AS h"),
    ("csv", "SELECT 'x' AS a WHERE false"),
    ("csv", "SELECT array(1) AS a, 1 AS b"),
    ("csv", "SELECT map(1, 2) AS a"),
    ("csv", "SELECT named_struct('a', 1) AS a"),
    ("csv", "SELECT NULL AS a"),
    ("json", "SELECT 1 AS a, 2 AS A"),
    ("json", "SELECT NULL AS a, array(NULL, 1) AS b, map('k', NULL) AS c, array(INTERVAL '1' MONTH) AS d"),
    ("json", "SELECT named_struct('x', 1, 'x', 2, 'X', 3) AS a"),
    ("json", "SELECT '\\u0001\\n\"\\\\' AS a, CAST('NaN' AS DOUBLE) AS b, X'00' AS c, 1.50BD AS d"),
    (
        "json",
        "SELECT DATE'0001-01-01' AS a, TIMESTAMP'1500-01-01 01:02:03' b, TIMESTAMP_NTZ'9999-12-31 01:02:03'",
    ),
    ("json", "SELECT 1 AS `a.b` WHERE false"),
    ("parquet", "SELECT 1 AS a, 2 AS A"),
    ("parquet", "SELECT 1 AS ` ,;{}()\\n\\t=.`, 2 AS ``"),
    ("parquet", "SELECT 'x' AS a, array(1.5BD) AS b WHERE false"),
    ("parquet", "SELECT TIMESTAMP'0001-01-01 00:00:00' AS a, TIMESTAMP_NTZ'9999-12-31 23:59:59.999999' AS b"),
    (
        "parquet",
        "WITH t AS (SELECT id FROM range(9)) SELECT t.id, u.id AS b FROM t JOIN t AS u USING (id) ORDER BY 1",
    ),
    ("parquet", "VALUES (1, 'a'), (NULL, 'b')"),
    ("parquet", "FROM range(3) SELECT id"),
)


@pytest.mark.spark
def test_odd_columns_are_written_or_refused_as_by_spark(spark: SparkOracle, tmp_path: Path) -> None:
    differences = list[object]()
    with Subject() as subject:
        for number, (name, query) in enumerate(ODD):
            options = "OPTIONS (header true)" if name == "csv" else ""
            statement = f"INSERT OVERWRITE DIRECTORY '{tmp_path}/%s' USING {name} {options} "
            theirs = spark.answer(statement % f"theirs{number}" + query)
            ours = subject.answer(statement % f"ours{number}" + query)
            if isinstance(theirs, Failure):
                same = isinstance(ours, Failure) and ours.condition == theirs.condition
                same = same and not (tmp_path / f"ours{number}").exists()
            elif name == "parquet":
                read = "SELECT * FROM parquet.`{}/{}`"
                expected = rows(spark.answer(read.format(tmp_path, f"theirs{number}")))
                same = isinstance(ours, Answer)
                same = same and rows(spark.answer(read.format(tmp_path, f"ours{number}"))) == expected
            else:
                same = isinstance(ours, Answer)
                same = same and lines(tmp_path / f"ours{number}") == lines(tmp_path / f"theirs{number}")
            if not same:
                differences.append((name, query, ours, theirs))
    assert not differences


#: Statements that fail, with `{at}` for a folder that isn't there.
WRONG = (
    "INSERT OVERWRITE DIRECTORY USING csv SELECT nosuch",
    "INSERT OVERWRITE DIRECTORY '{at}' USING csv OPTIONS (PATH '{at}') SELECT 1",
    "INSERT OVERWRITE DIRECTORY '' USING csv SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY 'hdfs://host/x' USING csv SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY 'FILE:{at}' USING csv SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}' USING csv OPTIONS (header true, header false) SELECT nosuch",
    "INSERT OVERWRITE DIRECTORY '{at}' USING csv OPTIONS () SELECT 1",
    "INSERT OVERWRITE DIRECTORY {at} USING csv SELECT 1",
    "INSERT INTO DIRECTORY '{at}' USING csv SELECT 1",
    "INSERT OVERWRITE DIRECTORY SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}' USING nosuch SELECT nosuch",
    "INSERT OVERWRITE DIRECTORY '{at}' USING hive SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}' SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}' STORED AS parquet SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '{at}' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' SELECT nosuch",
    "INSERT OVERWRITE LOCAL DIRECTORY '{at}' ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{at}' USING csv OPTIONS (sep '') SELECT array(1)",
    "INSERT OVERWRITE DIRECTORY '{at}' USING csv SELECT 1 DIV id FROM range(2)",
    "INSERT OVERWRITE DIRECTORY '{at}' USING parquet SELECT * FROM nosuch",
    "INSERT OVERWRITE LOCAL DIRECTORY '{at}/../t' USING nosuch SELECT id + 1 FROM t",
)


@pytest.mark.spark
def test_wrong_statements_have_sparks_conditions(spark: SparkOracle, tmp_path: Path) -> None:
    differences = list[object]()
    theirs, folder = spark.begin_file(), tmp_path / "out"
    with Subject() as subject:
        for engine, at in ((theirs, "one"), (subject, "two")):
            engine.answer(
                f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/{at}/t' AS SELECT id FROM range(3)"
            )
        for text in WRONG:
            told = [
                engine.answer(text.format(at=tmp_path / at / "out"))
                for engine, at in ((subject, "two"), (theirs, "one"))
            ]
            conditions = {each.condition if isinstance(each, Failure) else "none" for each in told}
            if len(conditions) > 1 or conditions == {"none"}:
                differences.append((text, told))
            assert not (tmp_path / "two" / "out").exists()
    assert not differences and not folder.exists()


@pytest.mark.spark
def test_what_remains_of_sparks_files_goes(spark: SparkOracle, tmp_path: Path) -> None:
    """Spark's checksum files would have Spark refuse the files of another writer."""
    for number in range(3):
        statement = f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING csv SELECT {number} AS a"
        if number == 1:
            with Subject() as subject:
                subject.answer(statement)
            assert sorted(path.name[:5] for path in (tmp_path / "out").iterdir()) == ["_SUCC", "part-"]
        else:
            spark.answer(statement)

        assert rows(spark.answer(f"SELECT * FROM csv.`{tmp_path}/out`"))[1] == [repr((f"'{number}'",))]
