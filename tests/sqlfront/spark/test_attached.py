"""A session beside a live Spark: which of them answers, and that the answers are Spark's."""

import datetime
import gc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import LongType, StructField, StructType

import sqlfront
from sqlfront.session import Session
from sqlfront.spark.attached import AttachedSession
from sqlfront_connectors.spark.rows import SparkRows
from sqlfront_values.errors import NotSupportedError, ProgrammingError
from tests.connectors.spark.conftest import CONNECT, jvm_context
from tests.sampling import sampled
from tests.sqlfront.spark.conftest import Sessions, views
from tests.sqlfront.test_cluster import until

pytestmark = pytest.mark.spark


@pytest.fixture
def beside(spark: Sessions) -> SparkSession:
    """A Spark session with one view, ``events``."""
    session = spark.new_session()
    session.range(100).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    return session


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    """A session beside it with a table of its own, ``kinds``, and a view over that, ``late``."""
    with AttachedSession(beside) as session:
        session.execute(
            "CREATE TABLE kinds USING memory CLUSTERED BY (kind) INTO 8 BUCKETS AS "
            "SELECT id AS kind, concat('k', id) AS name FROM range(0, 7)"
        )
        session.execute("CREATE TEMP VIEW late AS SELECT kind AS late_kind, name FROM kinds WHERE kind > 4")
        yield session


def lane(session: Session, text: str) -> str:
    return session.execute(text).stats.lane


def test_what_sqlfront_knows_it_answers_itself(session: AttachedSession) -> None:
    frame = session.sql("SELECT name FROM kinds WHERE kind = :kind", {"kind": 3})
    assert frame.collect() == [("k3",)]
    assert frame.stats.lane == "direct"


def test_functions_are_sparks_to_show(session: AttachedSession) -> None:
    assert session.sql("SHOW FUNCTIONS LIKE 'from_json|abs'").collect() == [("abs",), ("from_json",)]
    assert session.sql("DESCRIBE FUNCTION abs").collect()[0] == ("Function: abs",)


@pytest.mark.cluster
def test_both_sides_tables_are_shown(session: AttachedSession, beside: SparkSession) -> None:
    beside.sql("CREATE DATABASE shown")
    try:
        beside.sql("CREATE TABLE shown.plain USING parquet AS SELECT 1L AS id")
        beside.range(1).createOrReplaceGlobalTempView("everywhere")
        events = ("", "events", True)
        late = ("", "late", True)
        kinds = ("default", "kinds", False)
        plain = ("shown", "plain", False)

        assert {events, late, kinds} <= set(session.sql("SHOW TABLES").collect())
        assert session.sql("SHOW TABLES IN shown").collect() == [plain, events, late]
        assert session.sql("SHOW TABLES LIKE 'EV*|k[h-j]nds|['").collect() == [kinds, events]
        assert session.sql("SHOW TABLES IN global_temp LIKE 'every*'").collect() == [
            ("global_temp", "everywhere", True)
        ]
        session.sql("CACHE TABLE events")
        session.sql("CACHE TABLE shown.plain")
        assert session.sql("SHOW TABLES LIKE 'events'").collect() == [events]
        assert session.sql("SHOW TABLES IN shown LIKE 'p*'").collect() == [plain]

        session.sql("USE shown")
        assert session.sql("SHOW TABLES").collect() == [plain, events, late]
        with pytest.raises(ProgrammingError) as caught:
            session.sql("SHOW TABLES IN nowhere")
        assert caught.value.condition == "SCHEMA_NOT_FOUND"

        session.sql("SET sqlfront.lane = light")  # what sqlfront has, copies included
        assert session.sql("SHOW TABLES").collect() == [kinds, ("shown", "plain", True), events, late]
    finally:
        beside.sql("USE default")
        beside.sql("DROP DATABASE shown CASCADE")
        beside.catalog.dropGlobalTempView("everywhere")


@pytest.mark.cluster
def test_a_view_of_sparks_is_read_by_spark(session: AttachedSession, beside: SparkSession) -> None:
    text = "SELECT kind, count(*) AS n FROM events WHERE id < ? GROUP BY kind ORDER BY kind"
    frame = session.sql(text, [50])
    assert frame.collect() == [tuple(row) for row in beside.sql(text, [50]).collect()]
    assert frame.stats.lane == "spark"
    assert "events" in frame.stats.reason


def test_spark_reads_tables_and_views_of_sqlfront_beside_its_own(
    session: AttachedSession, beside: SparkSession
) -> None:
    session.execute("SET sqlfront.lane = spark")
    text = "SELECT name, count(*) FROM events JOIN late ON late_kind = kind GROUP BY name ORDER BY name"
    assert session.sql(text).collect() == [("k5", 14), ("k6", 14)]
    assert views(beside) == ["events"]


@pytest.mark.cluster
def test_spark_reads_the_present_version_of_a_table(session: AttachedSession) -> None:
    session.execute("SET sqlfront.lane = spark")
    text = "SELECT max(name) FROM kinds JOIN events USING (kind)"
    assert session.sql(text).collect() == [("k6",)]
    session.execute("UPDATE kinds SET name = 'z' WHERE kind = 0")
    assert session.sql(text).collect() == [("z",)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT count(*) FROM kinds TABLESAMPLE (100 PERCENT) REPEATABLE (1)", [(7,)]),
        pytest.param(
            "SELECT * FROM (SELECT array(kind) AS k FROM kinds) "
            "PIVOT (count(*) FOR k IN (array(1L), array(9L)))",
            [(1, None)],
            marks=pytest.mark.cluster,
        ),
        ("SELECT reflect('java.lang.Math', 'abs', -3) FROM kinds WHERE kind = 2", [("3",)]),
    ],
)
def test_what_sqlfront_does_not_cover_spark_does(
    session: AttachedSession, text: str, rows: list[tuple[object, ...]]
) -> None:
    session.execute("SET sqlfront.lane = light")
    with pytest.raises((NotSupportedError, ProgrammingError)):
        session.execute(text)
    session.execute("SET sqlfront.lane = auto")
    frame = session.sql(text)
    assert frame.collect() == rows
    assert frame.stats.lane == "spark"


def test_files_and_system_tables_are_read_here(session: AttachedSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    found = session.execute(f"SELECT sum(a) FROM parquet.`{tmp_path}/a.parquet`")
    assert (found.collect(), found.stats.lane) == ([(3,)], "light")
    assert lane(session, "SELECT count(*) FROM sys.plans") == "light"


def test_a_function_that_was_registered_with_spark_is_found(
    session: AttachedSession, beside: SparkSession
) -> None:
    beside.udf.register("twice", lambda number: 2 * number, "int")
    assert session.sql("SELECT twice(21) AS n").collect() == [(42,)]


@pytest.mark.parametrize(
    "more", ["", pytest.param(" TABLESAMPLE (100 PERCENT) REPEATABLE (1)", marks=pytest.mark.cluster)]
)
def test_a_view_over_tables_of_both_sides(session: AttachedSession, beside: SparkSession, more: str) -> None:
    query = f"SELECT name, id FROM kinds JOIN events{more} USING (kind) WHERE id < 3"
    session.execute(f"CREATE TEMP VIEW named (who, id) AS {query}")
    assert session.execute("SELECT who FROM named WHERE id = 2").collect() == [("k2",)]
    session.execute("UPDATE kinds SET name = 'z' WHERE kind = 2")
    assert session.execute("SELECT who FROM named WHERE id = 2").collect() == [("z",)]
    session.execute(f"CREATE OR REPLACE TEMP VIEW named AS {query}")
    assert session.execute("SELECT max(name) FROM named").collect() == [("z",)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM named(2)",
        "SELECT name FROM kinds WHERE name = '${a.word}'",
    ],
)
def test_what_only_spark_makes_of_a_text(session: AttachedSession, beside: SparkSession, text: str) -> None:
    named = "named(kind BIGINT) RETURNS TABLE (name STRING) RETURN SELECT concat('k', kind)"
    beside.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {named}")
    beside.conf.set("a.word", "k2")
    frame = session.sql(text)
    assert frame.collect() == [("k2",)]
    assert frame.stats.lane == "spark"


@pytest.mark.cluster
def test_a_parameter_may_be_a_column(session: AttachedSession) -> None:
    arguments = {"kinds": functions.array(functions.lit(1), functions.lit(5)), "least": 2}
    frame = session.sql(
        "SELECT name FROM kinds WHERE array_contains(:kinds, kind) AND kind > :least", arguments
    )
    assert frame.collect() == [("k5",)]
    with pytest.raises(ProgrammingError) as found:
        session.sql("DELETE FROM kinds WHERE array_contains(:kinds, kind)", arguments)
    assert found.value.condition == "INVALID_SQL_ARG"


def test_columns_of_a_frame(session: AttachedSession) -> None:
    frame = session.sql("SELECT kind, name FROM kinds")
    assert frame[frame["kind"] == 3].select(frame.name).collect() == [("k3",)]


PANDAS = """
SELECT * FROM VALUES
  (1, TIMESTAMP'2024-07-01 12:00:00', TIMESTAMP_NTZ'2024-07-01 12:00:00', INTERVAL '3' DAY, DATE'2024-07-01',
   map('a', 1), array(1, 2), named_struct('x', map('b', 2)), true),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS t(i, ts, ntz, days, day, m, list, st, flag)
"""


@pytest.mark.parametrize("rows", sampled(["", " WHERE i = 1", " WHERE false"], 3))
def test_pandas_frames_are_sparks(session: AttachedSession, beside: SparkSession, rows: str) -> None:
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    ours, theirs = (each.sql(PANDAS + rows).toPandas() for each in (session, beside))
    assert ours.dtypes.to_dict() == theirs.dtypes.to_dict()
    assert repr(ours.to_dict("records")) == repr(theirs.to_dict("records"))


@pytest.mark.cluster
@pytest.mark.parametrize(
    "value", ["TIMESTAMP'2024-07-01 12:00:00'", "TIMESTAMP_NTZ'2024-07-01 12:00:00'", "'x'"]
)
def test_times_inside_of_values_in_pandas_frames_are_sparks(
    session: AttachedSession, beside: SparkSession, value: str
) -> None:
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    text = f"""
    SELECT array({value}, NULL) AS list, array(array({value})) AS lists, map('k', {value}) AS m,
      map({value}, array({value})) AS keyed, named_struct('x', {value}, 'y', array({value})) AS st,
      array(named_struct('x', map('k', {value})), NULL) AS structs
    UNION ALL SELECT NULL, array(), map(), NULL, NULL, NULL
    """
    ours, theirs = (each.sql(text).toPandas() for each in (session, beside))
    assert ours.dtypes.to_dict() == theirs.dtypes.to_dict()
    assert repr(ours.to_dict("records")) == repr(theirs.to_dict("records"))
    ragged = session.sql(f"SELECT array(array({value}), array({value}, {value})) AS lists").toPandas()
    assert [len(inner) for inner in ragged["lists"][0]] == [1, 2]


@pytest.mark.parametrize("zone", sampled(["+03:00", "GMT-7", "PST", "SystemV/PST8"], 4))
def test_timestamps_show_in_sparks_zone(
    session: AttachedSession, beside: SparkSession, capsys: pytest.CaptureFixture[str], zone: str
) -> None:
    beside.conf.set("spark.sql.session.timeZone", zone)
    for each in session, beside:
        each.sql("SELECT timestamp_micros(0) AS t").show()
    first, second = capsys.readouterr().out.strip().split("\n\n")
    assert first == second
    beside.conf.set("spark.sql.session.timeZone", "UTC")
    assert "1970-01-01 00:00:00" in session.sql("SELECT timestamp_micros(0) AS t").show_string()


def test_own_tables_take_what_only_spark_computes(session: AttachedSession, beside: SparkSession) -> None:
    beside.udf.register("twice", lambda text: 2 * text)
    session.execute("CREATE TABLE types USING memory AS SELECT schema_of_variant(parse_json('[1]')) AS type")
    session.execute("INSERT INTO types SELECT twice(name) FROM kinds WHERE kind = 3")
    beside.conf.set("spark.sql.ansi.enabled", "false")
    session.execute("INSERT INTO types SELECT 1 / (kind - 4) FROM kinds WHERE kind = 4")
    beside.conf.set("spark.sql.ansi.enabled", "true")
    rows = session.execute("SELECT type FROM types").collect()
    assert sorted(rows, key=str) == [("ARRAY<BIGINT>",), ("k3k3",), (None,)]


def test_what_can_t_be_done_to_an_own_table_is_said_here(session: AttachedSession) -> None:
    with pytest.raises(NotSupportedError, match="reflect"):
        session.execute("DELETE FROM kinds WHERE reflect('java.lang.Math', 'abs', kind) = '9'")


def test_merge_into_an_own_table(session: AttachedSession) -> None:
    before = session.execute("SELECT * FROM kinds ORDER BY kind").collect()
    merge = (
        "MERGE INTO kinds USING {} AS s ON kinds.kind = s.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (kind, name) VALUES (s.id, 'merged')"
    )

    session.execute(merge.format("(SELECT 99L AS id)"))
    assert session.execute("SELECT name FROM kinds WHERE kind = 99").collect() == [("merged",)]
    session.execute("DELETE FROM kinds WHERE kind = 99")
    assert session.execute("SELECT * FROM kinds ORDER BY kind").collect() == before


def test_a_view_takes_the_place_of_sparks(session: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as found:
        session.execute("CREATE TEMP VIEW events AS SELECT kind FROM kinds")
    assert found.value.condition == "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
    session.execute("CREATE OR REPLACE TEMP VIEW events AS SELECT kind FROM kinds WHERE kind < 2")
    assert session.execute("SELECT count(*) FROM events").collect() == [(2,)]


@pytest.mark.cluster
def test_variables_are_sparks(session: AttachedSession) -> None:
    session.execute("DECLARE VARIABLE most INT DEFAULT 5")
    assert session.execute("SELECT max(kind) FROM kinds WHERE kind < most").collect() == [(4,)]
    assert session.execute("SELECT most + id FROM events WHERE id = 1").collect() == [(6,)]
    with pytest.raises(ProgrammingError) as found:
        session.execute("SELECT mst FROM kinds")
    assert found.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_a_wrong_text_is_sparks_error(session: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as found:
        session.sql("SELECT * FROM nowhere")
    assert found.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(ProgrammingError) as found:
        session.sql("SELECT FROM WHERE x y")
    assert found.value.condition == "PARSE_SYNTAX_ERROR"
    with pytest.raises(ProgrammingError) as found:
        session.sql("SELECT count(*) FROM events GROUP BY ()")  # sqlfront reads that, and not `events`
    assert found.value.condition == "PARSE_SYNTAX_ERROR"


def test_statements_about_jobs_are_not_sparks(session: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as found:
        session.sql("CREATE JOB j AS\nSELECT a b c FROM events")
    assert str(found.value).endswith("LINE 2: SELECT a b c FROM events\n                   ^")
    for text in ("DESCRIBE JOB kind", "CREATE JOB j AS SELECT * FROM events"):
        with pytest.raises(NotSupportedError, match="durable jobs need"):
            session.sql(text)


def test_a_mistake_that_sqlfront_understands_needs_no_spark(session: AttachedSession) -> None:
    with pytest.raises(ProgrammingError) as found:
        session.sql("SELECT nme FROM kinds")
    assert found.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_a_view_of_sparks_hides_a_table_as_soon_as_it_is_there(
    session: AttachedSession, beside: SparkSession
) -> None:
    text = "SELECT count(*) FROM kinds"
    assert session.sql(text).collect() == [(7,)]
    beside.range(3).createOrReplaceTempView("kinds")
    assert session.sql(text).collect() == [(3,)]
    beside.catalog.dropTempView("kinds")
    assert session.sql(text).collect() == [(7,)]


def test_a_table_that_spark_makes_is_seen(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("CREATE TABLE made_by_spark (a INT) USING orc")
    try:
        session.execute("INSERT INTO made_by_spark VALUES (1), (2)")
        assert session.sql("SELECT sum(a) FROM made_by_spark").collect() == [(3,)]
        assert beside.table("made_by_spark").count() == 2
    finally:
        session.execute("DROP TABLE made_by_spark")
    with pytest.raises(ProgrammingError):
        session.sql("SELECT * FROM made_by_spark")


@pytest.mark.cluster
@pytest.mark.parametrize("form", ["", " USING parquet"])
def test_a_table_outlives_the_session(beside: SparkSession, tmp_path: Path, form: str) -> None:
    with AttachedSession(beside) as session:
        session.execute("CREATE TABLE own USING memory AS SELECT 1 AS a")
        session.execute(f"CREATE TABLE kept{form} AS SELECT a FROM own")
        session.execute(f"CREATE TABLE placed USING parquet LOCATION '{tmp_path}' AS SELECT 2 AS a")
        assert lane(session, "SELECT a FROM placed") == "light"
    try:
        assert beside.table("kept").collect() == [(1,)]
        assert not beside.catalog.tableExists("placed")
        assert not beside.catalog.tableExists("own")
    finally:
        beside.sql("DROP TABLE kept")


def test_reset_sets_settings_of_both(session: AttachedSession, beside: SparkSession) -> None:
    session.execute("SET spark.sql.mapKeyDedupPolicy = LAST_WIN")
    assert beside.conf.get("spark.sql.mapKeyDedupPolicy") == "LAST_WIN"
    session.execute("RESET spark.sql.mapKeyDedupPolicy")
    assert beside.conf.get("spark.sql.mapKeyDedupPolicy") == "EXCEPTION"
    session.execute("SET spark.sql.shuffle.partitions = 3")  # Spark's
    assert beside.conf.get("spark.sql.shuffle.partitions") == "3"


def test_without_ansi_spark_answers_everything(session: AttachedSession, beside: SparkSession) -> None:
    beside.conf.set("spark.sql.ansi.enabled", "false")
    assert session.sql("SELECT 1 / 0 AS n").collect() == [(None,)]
    session.execute("SET spark.sql.ansi.enabled = true")
    assert beside.conf.get("spark.sql.ansi.enabled") == "true"
    assert lane(session, "SELECT 1 AS n") == "direct"


def test_the_time_zone_is_sparks(session: AttachedSession, beside: SparkSession) -> None:
    beside.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    text = "SELECT hour(timestamp_micros(0)) AS h, timestamp_micros(0) AS t, ? = timestamp_micros(0) AS same"
    local = datetime.datetime.fromtimestamp(0)  # PySpark's rows are in the machine's time zone
    (row,) = beside.sql(text, [local]).collect()
    assert session.sql(text, [local]).collect() == [tuple(row)] == [(9, local, True)]
    assert session.sql(text, [local]).stats.lane != "spark"
    session.execute("SET spark.sql.session.timeZone = UTC")
    assert beside.sql(text, [local]).collect()[0].h == session.sql(text, [local]).collect()[0].h == 0


def test_the_lane_can_be_chosen(session: AttachedSession) -> None:
    session.execute("SET sqlfront.lane = spark")
    assert lane(session, "SELECT name FROM kinds WHERE kind = 1") == "spark"
    session.execute("SET sqlfront.lane = light")
    with pytest.raises(NotSupportedError, match="events"):
        session.execute("SELECT * FROM events")
    session.execute("SET sqlfront.lane = auto")
    assert lane(session, "SELECT * FROM events") == "spark"


def test_explain_tells_the_lane_and_why(session: AttachedSession) -> None:
    (ours,) = session.sql("EXPLAIN SELECT name FROM kinds WHERE kind = 1").collect()
    assert str(ours[0]).startswith("lane: direct (kinds by key, no job)")
    (mixed,) = session.sql("EXPLAIN SELECT name FROM kinds JOIN events USING (kind)").collect()
    assert str(mixed[0]).startswith("lane: mixed (Spark filters, projects and groups `events`)")
    (theirs,) = session.sql("EXPLAIN SELECT max(kind) FROM events").collect()
    assert str(theirs[0]).startswith(
        "lane: spark (`events` is a temporary view of Spark's)\n== Physical Plan =="
    )


@pytest.mark.cluster
def test_what_is_larger_than_the_members_goes_to_spark(beside: SparkSession) -> None:
    with AttachedSession(beside, sqlfront.Config(memory_limit=4 << 20)) as session:
        rows = pa.table({"k": pa.array(range(1 << 20), pa.int64())})
        session.register("many", rows)
        found = session.execute("SELECT count(DISTINCT k) FROM many")
        assert (found.stats.lane, found.collect()) == ("spark", [(1 << 20,)])


def test_a_frame_has_the_methods_of_sparks(session: AttachedSession, beside: SparkSession) -> None:
    frame = session.sql("SELECT kind, name FROM kinds WHERE kind < 3 ORDER BY kind")
    assert frame.schema == StructType([StructField("kind", LongType()), *frame.schema.fields[1:]])
    assert frame.head() == frame.first() == (0, "k0")
    assert frame.head(1) == [(0, "k0")]
    assert frame.tail(1) == [(2, "k2")]
    assert not frame.isEmpty()
    assert frame.filter("kind > 1").collect() == [(2, "k2")]
    assert frame.limit(2).collect() == [(0, "k0"), (1, "k1")]
    if not CONNECT:  # there any attribute may be a column, until its rows are asked for
        with pytest.raises(AttributeError):
            frame.no_such_method()


def test_every_type_becomes_sparks(session: AttachedSession) -> None:
    text = (
        "SELECT 1.5BD AS short, CAST(2 AS DECIMAL(30, 2)) AS long, 'a' AS text, X'01' AS bytes, "
        "DATE'2020-01-02' AS day, TIMESTAMP'2020-01-02 03:04:05' AS moment, array(1.5BD) AS list, "
        "named_struct('a', 1) AS record, map('k', 2L) AS entries, INTERVAL '1-2' YEAR TO MONTH AS months, "
        "INTERVAL '3' DAY AS days"
    )
    frame = session.sql(text)
    assert frame.stats.lane == "light"
    here, there = frame.toArrow(), frame.to_spark()
    assert there.schema == frame.schema
    assert there.drop("months").toArrow().to_pylist() == here.drop(["months"]).to_pylist()


@pytest.mark.cluster
def test_a_frame_as_a_view_takes_the_place_of_sparks(session: AttachedSession, beside: SparkSession) -> None:
    session.sql("SELECT id FROM events WHERE id < 4").createOrReplaceTempView("events")
    found = session.execute("SELECT count(*) FROM events")
    assert found.collect() == [(4,)]
    assert found.stats.lane == ("light" if CONNECT else "spark")
    if not CONNECT:
        assert beside.table("events").count() == 4

    few = session.sql("SELECT id FROM events WHERE id < 2")
    assert few.count() == 2  # these rows, then
    few.createOrReplaceTempView("events")
    found = session.execute("SELECT count(*) FROM events")
    assert (found.collect(), found.stats.lane) == ([(2,)], "light")


@pytest.mark.skipif(CONNECT, reason="a query is analysed again there each time that it runs")
def test_a_query_that_spark_runs_is_its_dataframe(
    session: AttachedSession, beside: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("rows go through this process")

    monkeypatch.setattr(SparkRows, "frame", refuse)
    # Spark's generated loop over a range doesn't look whether its task was killed while its rows are written
    # one by one: the task would outlive its job.
    beside.conf.set("spark.sql.codegen.wholeStage", "false")
    beside.range(1 << 40).createOrReplaceTempView("huge")
    frame = session.sql("SELECT id, sin(id) AS wave FROM huge")
    assert frame.stats.lane == "spark"
    assert [row.id for row in frame.select("id").where("id % 2 = 1").take(3)] == [1, 3, 5]
    until(lambda: not jvm_context().statusTracker().getActiveJobsIds())

    huge = session.sql("SELECT id FROM huge")
    assert session.sql("SELECT id FROM {huge} WHERE id % 3 = 2 LIMIT 2", huge=huge).collect() == [(2,), (5,)]

    rows = session.sql("SELECT id % 3 AS rest, rand(7) AS r FROM events")
    assert rows.schema == rows.to_spark().schema
    assert not rows.schema["r"].nullable
    assert sorted(map(tuple, rows.to_spark().collect())) == sorted(map(tuple, rows.collect()))
    assert rows.groupBy("rest").count().where("rest = 0").collect()[0][1] == 34


@pytest.mark.skipif(CONNECT, reason="a query is analysed again there each time that it runs")
def test_what_a_dataframe_of_a_query_reads_is_there_as_long_as_the_session(session: AttachedSession) -> None:
    text = "SELECT name, count(*) AS n FROM events JOIN {words} USING (kind) GROUP BY name HAVING n > :least"
    words = pa.table({"kind": [1, 2], "name": ["one", "two"]})
    session.execute("SET sqlfront.lane = spark")
    frame = session.sql(text, {"least": 1}, words=words).where("name = 'one'")
    gc.collect()
    assert [tuple(row) for row in frame.collect()] == [("one", 15)]


def test_printed_as_spark_prints(
    session: AttachedSession, beside: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "SELECT kind, kind % 2 = 0 AS even FROM VALUES (1L), (2L) AS t(kind)"
    printed = []
    for frame in (beside.sql(text), session.sql(text)):
        frame.show()
        frame.printSchema()
        printed.append(capsys.readouterr().out)
    assert printed[0].replace("nullable = false", "nullable = true") == printed[1]


def test_attach_is_what_sql_uses(beside: SparkSession) -> None:
    with sqlfront.attach(beside):
        assert sqlfront.sql("SELECT count(*) FROM events").collect() == [(100,)]
    assert sqlfront.sql("SELECT 1 AS a").stats.lane == "direct"


def test_a_connection_beside_spark(beside: SparkSession) -> None:
    with sqlfront.connect(spark=beside) as connection:
        cursor = connection.execute("SELECT max(id) AS m FROM events")
        assert cursor.fetchall() == [(99,)]
        assert cursor.description is not None
        assert cursor.description[0][0] == "m"


def test_frames_of_both_sides_and_values(session: AttachedSession, beside: SparkSession) -> None:
    text = "SELECT {theirs.id}, label FROM {theirs} JOIN {ours} USING (id) WHERE label <> {other}"
    theirs = beside.range(5)
    frame = session.sql(text, theirs=theirs, ours=pa.table({"id": [1, 2], "label": ["a", "it's"]}), other="a")
    assert frame.collect() == [(2, "it's")]
    assert frame.stats.lane == "mixed"
    assert views(beside) == ["events"]


def test_what_one_session_lends_hides_no_table_of_another(
    session: AttachedSession, beside: SparkSession
) -> None:
    assert session.spark is not None
    with AttachedSession(beside) as other:
        other.execute("CREATE TABLE kinds USING memory AS SELECT 'other' AS name")
        with session.spark.link._session._temporary.named({"kinds": beside.range(3)}):
            beside.range(1).createOrReplaceTempView("events")  # so that names are asked for anew
            assert other.execute("SELECT name FROM kinds").collect() == [("other",)]
        assert other.execute("SELECT upper(name) FROM kinds").collect() == [("OTHER",)]


@pytest.mark.cluster
def test_closing_leaves_no_view_behind(beside: SparkSession) -> None:
    with AttachedSession(beside) as session:
        session.execute("CREATE TABLE own USING memory AS SELECT 1 AS a")
        session.execute("SET sqlfront.lane = spark")
        frame = session.sql("SELECT a FROM own")
        assert frame.collect() == [(1,)]
    assert [view.name for view in beside.catalog.listTables()] == ["events"]


def test_a_dataframe_outlives_the_name_of_its_session(beside: SparkSession) -> None:
    def rows() -> DataFrame:
        return sqlfront.attach(beside, sqlfront.Config(members=2)).sql("SELECT id FROM range(9)").to_spark()

    derived = rows().filter("id > 4")
    gc.collect()

    assert derived.count() == 4
