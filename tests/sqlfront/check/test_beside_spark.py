"""Statements that are checked beside a live Spark: which way each would go is what it does there."""

from collections.abc import Iterator

import pytest

from sqlfront.check.checker import CheckedLane, Checker, Verdict
from sqlfront.shell.main import main
from sqlfront.spark import start
from sqlfront_values.errors import OperationalError
from tests.oracle.spark import SparkOracle

PLANE = "CREATE TABLE plane (tailnum STRING, maker STRING) USING memory CLUSTERED BY (tailnum)"


@pytest.fixture
def checker(spark: SparkOracle) -> Iterator[Checker]:
    """One that has seen `CREATE TABLE plane`, beside a session with a view, `trips`, that can't be read."""
    session = spark.new_session()
    session.sql(
        "CREATE TEMP VIEW trips AS "
        "SELECT id, CAST(raise_error('it was read') AS STRING) AS tailnum FROM range(9)"
    )
    with Checker(spark=session) as checker:
        assert checker.check(PLANE).way == CheckedLane.COMMAND
        yield checker
    assert [view.name for view in session.catalog.listTables() if view.isTemporary] == ["trips"]


@pytest.mark.spark
def test_what_spark_has_is_known(checker: Checker) -> None:
    only_theirs = Verdict(CheckedLane.SPARK, "`trips` is a temporary view of Spark's")
    joined = "SELECT maker, id FROM trips JOIN plane USING (tailnum)"

    assert checker.check("SELECT max(id) FROM trips") == only_theirs
    assert checker.check(joined) == Verdict(CheckedLane.MIXED, "Spark filters, projects and groups `trips`")
    assert checker.check("INSERT INTO plane SELECT tailnum, tailnum FROM trips").way == CheckedLane.COMMAND
    assert checker.check("SELECT nix FROM trips JOIN plane USING (tailnum)").way == CheckedLane.ERROR

    merge = "MERGE INTO plane USING trips ON plane.tailnum = trips.tailnum WHEN MATCHED THEN DELETE"
    assert checker.check(merge).way == CheckedLane.ERROR  # Spark has no `plane`

    assert checker.check("CACHE TABLE trips CLUSTERED BY (id)").way == CheckedLane.COMMAND
    assert checker.check("SELECT tailnum FROM trips WHERE id = 3") == Verdict(
        CheckedLane.DIRECT, "trips by key, no job"
    )
    assert checker.check(joined).way == CheckedLane.LIGHT
    assert checker.check("DROP VIEW trips") == Verdict(
        CheckedLane.SPARK, "`trips` is a copy of a relation of Spark"
    )
    assert checker.check("SELECT max(id) FROM trips") == only_theirs

    checker.check("CREATE TABLE later (tailnum STRING) USING orc")
    assert checker.check("SELECT * FROM later").way == CheckedLane.SPARK
    assert checker.check("SELECT * FROM later JOIN plane USING (tailnum)").way == CheckedLane.UNKNOWN


@pytest.mark.spark
def test_settings_of_the_session_count(spark: SparkOracle) -> None:
    session = spark.new_session()
    session.conf.set("spark.sql.ansi.enabled", "false")
    with Checker(spark=session) as checker:
        assert checker.check("SELECT 1") == Verdict(CheckedLane.SPARK, "spark.sql.ansi.enabled is false")


def test_a_session_that_can_t_be_started_has_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("there is no Java")

    monkeypatch.setattr(start, "start_session", refuse)
    monkeypatch.setattr(start, "is_there", lambda _: False)
    assert main(["check", "--spark", "local[1]", __file__]) == 3
    assert "there is no Java (Spark is needed: statements are" in capsys.readouterr().err
