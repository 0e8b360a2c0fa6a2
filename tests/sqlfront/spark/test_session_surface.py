"""An attached session answers as a SparkSession, and results have one surface with and without Spark."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession, functions
from pyspark.sql.types import StructType

import sqlfront
from sqlfront.results.result import Result
from sqlfront.results.spark_names import MISSING, SESSION_NAMES
from sqlfront.spark.attached import AttachedSession
from sqlfront.spark.frame import Frame
from sqlfront_connectors.spark.types import spark_schema
from tests.sqlfront.spark.conftest import Sessions

#: Methods of Result for sqlfront's own code.
INTERNAL = {
    "nullability",
    "schema_tree",
    "as_local",
    "broken",
    "check_whole",
    "job",
    "count_rows",
    "explanation",
    "rows_at_hand",
    "translate",
    "otherwise",
    "plan",
    "read_instead",
    "register",
    "stop_job",
    "values",
}
#: Of Frame: the DataFrame behind it.
WITH_SPARK = {"source", "to_spark"}
#: Facts of the driver's results.
OF_RESULTS = {"arrow_schema", "is_read", "settings", "tuples", "wait"}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_") and hasattr(kind, name)}


def test_results_have_one_surface_attached_or_alone() -> None:
    shared = public(Frame) - WITH_SPARK
    assert shared == (public(Result) | {"affected"}) - INTERNAL - OF_RESULTS
    for name in shared - {"affected"}:
        ours, theirs = getattr(Result, name), getattr(Frame, name)
        if callable(ours):
            assert list(inspect.signature(ours).parameters.values()) == list(
                inspect.signature(theirs).parameters.values()
            ), name


def test_the_names_that_a_result_lacks_are_known() -> None:
    assert {name for name in public(DataFrame) if not hasattr(Result, name)} == MISSING


@pytest.fixture(scope="module")
def alone() -> Iterator[sqlfront.Session]:
    """A session without Spark: ``sqlfront.sql`` would take one that another test has attached."""
    with sqlfront.Session() as session:
        yield session


@pytest.mark.parametrize("name", sorted(MISSING))
def test_a_method_that_needs_spark_says_so(alone: sqlfront.Session, name: str) -> None:
    result = alone.sql("SELECT 1 AS one")

    with pytest.raises(AttributeError, match=rf"'{name}'.*pip install 'sqlfront\[spark\]'"):
        getattr(result, name)
    assert not hasattr(result, name)
    assert not hasattr(result, "nonsense")


def test_the_names_that_a_session_lacks_are_known() -> None:
    theirs = {name for name in dir(SparkSession) if not name.startswith("_")}

    assert {name for name in theirs if not hasattr(sqlfront.Session, name)} == SESSION_NAMES.keys()


@pytest.mark.parametrize("name", sorted(SESSION_NAMES))
def test_a_part_of_sparks_session_says_that_it_needs_spark(alone: sqlfront.Session, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"'{name}'.*pip install 'sqlfront\[spark\]'") as caught:
        getattr(alone, name)
    assert SESSION_NAMES[name] in str(caught.value)
    assert not hasattr(alone, "nonsense")


@pytest.mark.parametrize("instead", [text for text in SESSION_NAMES.values() if text.startswith("sql(")])
def test_the_statements_that_stand_for_parts_of_sparks_session_run(
    alone: sqlfront.Session, instead: str, tmp_path: Path
) -> None:
    alone.sql("CREATE OR REPLACE TABLE name AS SELECT 1 AS a")
    alone.sql(f"CREATE OR REPLACE TABLE f USING parquet LOCATION '{tmp_path}/f' AS SELECT 1 AS a")
    statement = (
        instead.split("'")[1]
        .replace("path", f"{tmp_path}/f")
        .replace("key = value", "sqlfront.pruning = true")
    )

    assert alone.sql(statement).collect() is not None


def test_methods_of_parameters_are_sparks() -> None:
    for name in public(Result) & public(DataFrame):
        ours, theirs = getattr(Result, name), getattr(DataFrame, name)
        if callable(ours) and callable(theirs):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), (
                name
            )


def test_a_tree_is_sparks(alone: sqlfront.Session, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "SELECT 1 AS i, 1L AS l, 1S AS s, 1Y AS b, 1.5 AS d, array(named_struct('x', map('k', 1))) AS a,"
        " INTERVAL 1 DAY AS day, INTERVAL 1 YEAR AS year, null AS n, X'00' AS bytes, current_date() AS d"
    )
    result = alone.execute(text)
    schema = spark_schema(result.schema)

    for level in (1, 2, 3, 9):
        result.printSchema(level)
        assert capsys.readouterr().out == schema.treeString(level) + "\n"
    result.printSchema()
    assert capsys.readouterr().out == schema.treeString() + "\n"


def test_a_result_alone_is_a_view_of_its_session() -> None:
    with sqlfront.Session() as session:
        rows = session.sql("SELECT id, id % 3 AS part FROM range(10)")
        assert isinstance(rows, Result)
        rows.createOrReplaceTempView("parts")
        parts = session.sql("SELECT count(*) FROM parts WHERE part = 1")
        assert isinstance(parts, Result)
        assert parts.collect() == [(3,)]
        assert (rows.head(), rows.head(1), rows.tail(1), rows.isEmpty()) == (
            (0, 0),
            [(0, 0)],
            [(9, 0)],
            False,
        )
        executed = session.execute("SELECT 1")
        with pytest.raises(sqlfront.InterfaceError, match="session"):
            executed.createOrReplaceTempView("one")


@pytest.fixture(scope="module")
def beside(request: pytest.FixtureRequest) -> SparkSession:
    """A Spark session with one view, ``events``."""
    spark: Sessions = request.getfixturevalue("spark")
    session = spark.new_session()
    session.range(100).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    return session


@pytest.fixture
def session(beside: SparkSession) -> Iterator[AttachedSession]:
    with AttachedSession(beside) as session:
        session.execute(
            "CREATE TABLE kinds USING memory CLUSTERED BY (kind) INTO 8 BUCKETS AS"
            " SELECT id AS kind FROM range(7)"
        )
        yield session


@pytest.mark.spark
def test_every_name_of_a_spark_session_is_answered(session: AttachedSession, beside: SparkSession) -> None:
    for name in public(type(beside)):
        try:
            theirs = getattr(beside, name)
        except Exception as error:  # noqa: BLE001 - a name of the other kind of session
            with pytest.raises(type(error)):
                getattr(session, name)
        else:
            ours = getattr(session, name)
            assert callable(ours) == callable(theirs), name
    assert session.version == beside.version
    assert session.range(3).count() == 3
    assert session.createDataFrame([Row(a=1)]).schema.names == ["a"]
    assert session.read.__class__ is beside.read.__class__
    assert not hasattr(session, "nonsense")
    assert not hasattr(session, "_ipython_display_")


@pytest.mark.spark
def test_settings_are_of_both_sides(session: AttachedSession, beside: SparkSession) -> None:
    session.conf.set("sqlfront.lane", "light")
    assert session.conf.get("sqlfront.lane") == "light"
    session.conf.unset("sqlfront.lane")
    assert session.conf.get("sqlfront.lane") == "auto"
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert session.sql("SELECT current_timezone()").collect() == [("Asia/Tokyo",)]
        assert session.sql("SELECT current_timezone()").stats.lane != "spark"
    finally:
        session.conf.unset("spark.sql.session.timeZone")
    assert session.conf.get("spark.no.such", "none") == "none"
    assert session.conf.isModifiable("spark.sql.shuffle.partitions")


@pytest.mark.spark
def test_names_are_of_both_sides(session: AttachedSession) -> None:
    catalog = session.catalog
    session.sql("CREATE TEMP VIEW few AS SELECT kind FROM kinds LIMIT 1")

    listed = {(table.name, table.isTemporary) for table in catalog.listTables()}
    assert {("events", True), ("kinds", False), ("few", True)} <= listed
    assert [table.name for table in catalog.listTables(pattern="k*")] == ["kinds"]
    assert catalog.tableExists("kinds")
    assert catalog.tableExists("events")
    assert not catalog.tableExists("nowhere")
    assert catalog.getTable("kinds").tableType == "MANAGED"
    assert [(c.name, c.dataType, c.isBucket) for c in catalog.listColumns("kinds")] == [
        ("kind", "bigint", True)
    ]
    assert [c.name for c in catalog.listColumns("events")] == ["id", "kind"]
    assert catalog.currentDatabase() == "default"
    catalog.cacheTable("events")
    assert catalog.isCached("events")
    assert session.sql("SELECT count(*) FROM events").stats.lane == "light"
    catalog.uncacheTable("events")
    assert not catalog.isCached("events")
    assert catalog.dropTempView("few")
    assert not catalog.dropTempView("few")


@pytest.mark.spark
def test_frames_of_both_sides_meet(session: AttachedSession, beside: SparkSession) -> None:
    ours, theirs = session.sql("SELECT kind FROM kinds WHERE kind < 3"), beside.table("events")

    assert theirs.join(cast("DataFrame", ours), "kind").where(functions.col("id") < 14).count() == 6
    assert theirs.select("kind").unionByName(cast("DataFrame", ours)).count() == 103
    assert ours.filter("kind = 1").collect() == [Row(kind=1)]
    assert isinstance(ours.schema, StructType)
    assert session.sql("SELECT count(*) FROM {theirs} JOIN kinds USING (kind)", theirs=theirs).collect() == [
        (100,)
    ]


@pytest.mark.spark
def test_a_new_session_shares_tables_but_no_views(session: AttachedSession) -> None:
    with session.newSession() as other:
        assert not other.catalog.tableExists("events")
        assert other.spark_session is not session.spark_session


@pytest.mark.spark
def test_a_cell_that_attaches_may_run_again(
    session: AttachedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlfront.api, "_default", [])
    assert sqlfront.attach(session) is session
    assert sqlfront.sql("SELECT 1 AS x").collect() == [(1,)]
    with sqlfront.attach(session, sqlfront.Config(workers=1)) as other:
        assert other.spark_session is session.spark_session
    with sqlfront.attach(other) as again:
        assert again is not other
        assert again.spark_session is session.spark_session


@pytest.mark.spark
def test_the_name_of_a_table_is_no_text_of_sql(session: AttachedSession) -> None:
    assert session.table(" kinds ").columns == session.table("`kinds`").columns
    for name in ("kinds k", "kinds WHERE kind = 1", "kinds, kinds"):
        with pytest.raises(AnalysisException):
            session.table(name).collect()


def test_a_session_that_could_not_be_opened_has_no_attributes() -> None:
    with pytest.raises(AttributeError):
        AttachedSession.__new__(AttachedSession).version  # noqa: B018 - the attribute is asked for
