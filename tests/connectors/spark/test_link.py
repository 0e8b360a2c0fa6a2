"""A Spark session as the house sees it: statements, names, rows both ways."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from sqlfront.results.result import to_logical
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.run import SparkRun
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_values.arrow.exchange import exported_schema
from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.types import ddl, physical
from tests.connectors.spark.conftest import CONNECT
from tests.oracle.answers import Answer, Column
from tests.oracle.values import rows_of

pytestmark = pytest.mark.spark

#: Column names with their types, an expression for each, and its value as text.
SIMPLE_COLUMNS = [
    ("a", "int", "1", "1"),
    ("a", "bigint", "CAST(2 AS BIGINT)", "2"),
    ("x y", "binary", "X'00ff'", "X'00ff'"),
    ("s", "string", "'é'", "'é'"),
    ("d", "double", "1.5D", "1.5"),
    ("f", "float", "FLOAT('nan')", "NaN"),
    ("b", "boolean", "true", "true"),
    ("tiny", "tinyint", "CAST(-1 AS TINYINT)", "-1"),
    ("small", "smallint", "CAST(300 AS SMALLINT)", "300"),
    ("void", "void", "NULL", "NULL"),
    ("short", "decimal(3,2)", "1.50", "1.50"),
    ("long", "decimal(38,6)", "CAST(1.5 AS DECIMAL(38, 6))", "1.500000"),
    ("day", "date", "DATE'0001-01-01'", "0001-01-01"),
    ("ts", "timestamp", "TIMESTAMP'9999-12-31 23:59:59.999999'", "9999-12-31 23:59:59.999999"),
    ("ntz", "timestamp_ntz", "TIMESTAMP_NTZ'0001-01-01 00:00:01'", "0001-01-01 00:00:01"),
    ("ym", "interval year to month", "INTERVAL '-1-3' YEAR TO MONTH", "-1-3"),
    ("y", "interval year", "INTERVAL '3' YEAR", "3-0"),
    ("ds", "interval day to second", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "1 02:03:04.5"),
    ("hm", "interval hour to minute", "INTERVAL '02:03' HOUR TO MINUTE", "0 02:03:00"),
]
SIMPLE = (
    f"SELECT {', '.join(f'{value} AS `{name}`' for name, _, value, _ in SIMPLE_COLUMNS)} "
    f"UNION ALL SELECT {', '.join(['NULL'] * len(SIMPLE_COLUMNS))}"
)
SIMPLE_ANSWER = Answer(
    tuple(Column(name, kind) for name, kind, _, _ in SIMPLE_COLUMNS),
    (tuple(text for *_, text in SIMPLE_COLUMNS), ("NULL",) * len(SIMPLE_COLUMNS)),
)
NESTED = """
SELECT array() AS none, map('a', NULL) AS nothing, array(1.50, NULL) AS short,
  array(TIMESTAMP'0001-01-01', TIMESTAMP'9999-12-31') AS ts,
  named_struct('x', 1, 'X', array(INTERVAL '1-2' YEAR TO MONTH), 'x', INTERVAL '1' SECOND) AS twins,
  map('k', named_struct('ym', INTERVAL '7' MONTH, 'v', NULL)) AS deep, struct() AS empty
UNION ALL SELECT array(NULL), map(), array(), NULL, NULL, map('j', NULL), struct()
"""
NESTED_ANSWER = Answer(
    (
        Column("none", "array<void>"),
        Column("nothing", "map<string,void>"),
        Column("short", "array<decimal(3,2)>"),
        Column("ts", "array<timestamp>"),
        Column("twins", "struct<x:int,X:array<interval year to month>,x:interval second>"),
        Column("deep", "map<string,struct<ym:interval month,v:void>>"),
        Column("empty", "struct<>"),
    ),
    (
        (
            "[]",
            "{'a': NULL}",
            "[1.50, NULL]",
            "[0001-01-01 00:00:00, 9999-12-31 00:00:00]",
            "(1, [1-2], 0 00:00:01)",
            "{'k': (0-7, NULL)}",
            "()",
        ),
        ("[NULL]", "{}", "[]", "NULL", "NULL", "{'j': NULL}", "()"),
    ),
)


def answer(run: SparkRun) -> Answer:
    """The run's answer as text, its batches checked."""
    schema = run.schema
    batches: list[pa.RecordBatch] = []
    for batch in run.batches():
        assert batch.schema.names == schema.names
        assert batch.schema.types == [physical(kind) for kind in schema.types]
        batch.validate(full=True)
        batches += to_logical(batch, schema)
    rows = rows_of(pa.Table.from_batches(batches, exported_schema(schema)))
    return Answer(tuple(Column(field.name, ddl(field.type)) for field in schema), tuple(rows))


@pytest.fixture(params=["through memory", "as files"])
def either_way(link: SparkLink, request: pytest.FixtureRequest) -> Iterator[None]:
    """Answers of any size come through the driver's memory, or as files."""
    rows = link._rows
    rows.large, large = (1 << 60 if request.param == "through memory" else -1), rows.large
    yield
    rows.large = large


@pytest.mark.parametrize("source", ["VALUES (1), (2)", "range(1, 3)"])
def test_a_struct_may_be_null_although_its_fields_may_not(link: SparkLink, source: str) -> None:
    run = link.run(f"SELECT IF(a = 1, named_struct('x', 1, 'y', 'b'), NULL) AS s FROM {source} AS t(a)")

    assert answer(run) == Answer((Column("s", "struct<x:int,y:string>"),), (("(1, 'b')",), ("NULL",)))


@pytest.mark.usefixtures("either_way")
def test_a_query_gives_names_types_and_rows(link: SparkLink) -> None:
    assert answer(link.run(SIMPLE)) == SIMPLE_ANSWER
    assert answer(link.run(f"{SIMPLE} LIMIT 0")) == Answer(SIMPLE_ANSWER.columns, ())


@pytest.mark.usefixtures("either_way")
def test_nested_values_arrive_whatever_spark_turns_into_arrow(link: SparkLink) -> None:
    assert answer(link.run(NESTED)) == NESTED_ANSWER


@pytest.mark.usefixtures("either_way")
def test_a_command_may_have_an_answer(link: SparkLink) -> None:
    assert answer(link.run("DESCRIBE QUERY SELECT 1 AS a")).rows == (("'a'", "'int'", "NULL"),)
    assert answer(link.run("DROP VIEW IF EXISTS nothing")) == Answer((), ())


@pytest.mark.usefixtures("either_way")
def test_an_order_is_kept_over_partitions(link: SparkLink) -> None:
    text = "SELECT id, id % 7 AS r FROM range(0, 1000, 1, 5) ORDER BY r DESC, id"

    assert answer(link.run(text)).rows == tuple(
        (str(number), str(rest)) for rest in range(6, -1, -1) for number in range(1000) if number % 7 == rest
    )


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize(
    "settings",
    [
        {
            "spark.sql.session.timeZone": "America/New_York",
            "spark.sql.execution.arrow.useLargeVarTypes": "true",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.parquet.writeLegacyFormat": "true",
            "spark.sql.parquet.compression.codec": "brotli",  # which nobody here can write
        },
        {
            "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
            "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
        },
    ],
    ids=["forms", "old calendars"],
)
def test_values_don_t_depend_on_settings_of_the_exchange(link: SparkLink, settings: dict[str, str]) -> None:
    text = (
        "SELECT TIMESTAMP'2020-01-01 12:00:00Z' AS t, array(TIMESTAMP'0001-01-01 00:00:00Z') AS ts, "
        "DATE'0001-01-01' AS d, array('s') AS s"
    )
    rows = (("2020-01-01 12:00:00", "[0001-01-01 00:00:00]", "0001-01-01", "['s']"),)
    before = {key: value for key, value in link.spark.conf.getAll.items() if key in settings}
    for key, value in settings.items():
        link.set(key, value)
    try:
        run = link.run(text)
        held = link.frame(run.schema, run.batches())
        for again in (link.run(text), link.run("SELECT * FROM ours", views={"ours": held.data})):
            assert answer(again).rows == rows
    finally:
        for key in settings:
            if key in before:
                link.set(key, before[key])
            else:
                link.spark.conf.unset(key)


def test_rows_may_have_no_columns(link: SparkLink) -> None:
    link.spark.range(3).select().createTempView("bare")
    try:
        run = link.run("SELECT * FROM bare")
        assert (run.schema.names, [batch.num_rows for batch in run.batches()]) == ([], [3])
    finally:
        link.spark.catalog.dropTempView("bare")


def test_arguments_are_those_of_spark(link: SparkLink) -> None:
    assert answer(link.run("SELECT ? + ? AS a", (1, 2))).rows == (("3",),)
    assert answer(link.run("SELECT :b || :c AS a", {"b": "x", "c": "y"})).rows == (("'xy'",),)


@pytest.mark.parametrize("shared", [True, False], ids=["as a file", "through memory"])
def test_rows_of_ours_become_a_frame_of_spark(
    link: SparkLink, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(link._rows, "_shared", shared)
    for text, expected in ((SIMPLE, SIMPLE_ANSWER), (NESTED, NESTED_ANSWER)):
        run = link.run(text)
        held = link.frame(run.schema, run.batches())

        assert answer(link.run("SELECT * FROM ours", views={"ours": held.data})) == expected
        held.close()
        held.close()


def test_a_view_for_one_statement_is_gone_after_it(link: SparkLink) -> None:
    held = link.frame(pa.schema([("a", pa.int64())]), [])

    assert answer(link.run("SELECT count(*) AS n FROM `a b`", views={"a b": held.data})).rows == (("0",),)
    assert link.views == ()


def test_a_view_for_one_statement_is_none_of_the_session_s(link: SparkLink) -> None:
    link.spark.range(3).createTempView("theirs")
    try:
        with link._session._temporary.named({"Ours": link.spark.range(2)}):
            assert link.spark.table("ours").count() == 2
            assert link.views == ("theirs",)
    finally:
        link.spark.catalog.dropTempView("theirs")


def test_a_statement_doesn_t_hide_a_view_of_the_session(link: SparkLink) -> None:
    held = link.frame(pa.schema([("a", pa.int64())]), [])
    link.spark.range(3).createTempView("theirs")
    try:
        with pytest.raises(ProgrammingError, match="theirs"):
            _ = link.run("SELECT * FROM theirs", views={"theirs": held.data}).schema
        assert answer(link.run("SELECT count(*) AS n FROM theirs")).rows == (("3",),)
    finally:
        link.spark.catalog.dropTempView("theirs")


def test_tables_and_views_have_whole_names_schemas_sizes_and_versions(link: SparkLink) -> None:
    _ = link.run("CREATE TABLE odd_name (a INT, b DECIMAL(5, 2) NOT NULL) USING parquet").schema
    link.spark.range(3).createOrReplaceTempView("v")
    try:
        view = SparkTable("v", link, lambda: link.table(["V"]), reference="v")
        table = SparkTable("t", link, lambda: link.table(["default", "odd_name"]), reference="odd_name")
        assert view.schema == pa.schema([("id", pa.int64())])
        assert view.snapshot().statistics.size == 24
        assert table.schema == pa.schema([("a", pa.int32()), ("b", pa.decimal128(5, 2))])
        assert link.whole_name(["odd_name"]) == ("spark_catalog", "default", "odd_name")
        assert link.whole_name(["v"]) == ("v",)
        before = view.snapshot().version, table.snapshot().version
        assert (view.snapshot().version, table.snapshot().version) == before

        _ = link.run("INSERT INTO odd_name VALUES (1, 2)").schema
        link.spark.range(4).createOrReplaceTempView("v")

        assert view.snapshot().version != before[0]
        assert table.snapshot().version != before[1]
        assert link.views == ("v",)
    finally:
        _ = link.run("DROP TABLE IF EXISTS odd_name").schema
        link.spark.catalog.dropTempView("v")


def test_a_name_of_nothing_is_none(link: SparkLink) -> None:
    assert link.whole_name(["nothing"]) is None
    assert link.whole_name(["nowhere", "nothing"]) is None
    assert link.whole_name(["no", "such", "catalog"]) is None


def test_a_type_that_is_none_of_ours_says_so(link: SparkLink) -> None:
    link.spark.sql("SELECT make_interval(1) AS j").createTempView("lengths")
    try:
        with pytest.raises(NotSupportedError, match=r"`j` has Spark's type interval"):
            SparkTable("lengths", link, lambda: link.table(["lengths"]), reference="lengths")
        with pytest.raises(NotSupportedError, match=r"`j` has Spark's type interval"):
            _ = link.run("SELECT * FROM lengths").schema
    finally:
        link.spark.catalog.dropTempView("lengths")


def test_describing_runs_nothing(link: SparkLink) -> None:
    assert link.describe("SELECT 1/0 AS a, ? AS b", ["x"]) == pa.schema(
        [("a", pa.float64()), ("b", pa.string())]
    )
    assert link.describe("CREATE TABLE made (a INT)") is None
    assert link.whole_name(["made"]) is None
    if not CONNECT:  # there the words decide, before Spark sees the text
        with pytest.raises(ProgrammingError, match="Syntax error"):
            link.describe("SELEC 1")
