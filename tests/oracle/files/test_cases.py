"""The generators of cases: the same seed gives the same cases, and no class of oddity is rare."""

import threading
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from tests.oracle.answers import Answer, Column, Failure, Outcome
from tests.oracle.files.cases import FileCase, Way
from tests.oracle.files.generators import GENERATORS, numbered_cases
from tests.oracle.files.reading import SparkReader, Verdict, judge
from tests.oracle.files.worker import DIED
from tests.oracle.spark import SparkSubject

FORMATS = [name for name, _ in GENERATORS]


@pytest.mark.parametrize("name", FORMATS)
def test_a_seed_always_gives_the_same_cases(name: str) -> None:
    assert list(numbered_cases(name, 7, 40)) == list(numbered_cases(name, 7, 40))


@pytest.mark.parametrize("name", FORMATS)
def test_each_class_is_at_least_a_twentieth_of_the_cases(name: str) -> None:
    classes = Counter(case.oddity for _, case in numbered_cases(name, 0, 600))

    assert min(classes.values()) >= 600 // 20


def test_options_and_schema_of_a_case_are_in_its_statement(tmp_path: Path) -> None:
    case = FileCase("csv", (("a.csv", b"1\n"),), "quotes", {"quote": "'"}, "a INT", Way.TABLE, "a.csv")

    assert case.statements(tmp_path, "t") == (
        f"CREATE TABLE t (a INT) USING csv OPTIONS ('quote' '\\'') LOCATION '{tmp_path}/a.csv'",
        "SELECT * FROM t",
    )


def test_rows_that_differ_are_a_difference() -> None:
    one, two = Answer((Column("a", "int"),), (("1",),)), Answer((Column("a", "int"),), (("2",),))

    assert judge(one, one).verdict is Verdict.EQUAL
    assert judge(one, two).verdict is Verdict.DIFFERENT
    assert judge(one, Failure("CONDITION", None, "DataError: no")).verdict is Verdict.DIFFERENT
    assert judge(one, Failure(None, None, "NotSupportedError: no")).verdict is Verdict.REFUSED
    assert judge(Failure(None, None), Failure(DIED, None)).verdict is Verdict.DEATH


class Silent:
    """Spark, in a loop that has no end."""

    def answer(self, sql: str) -> Outcome:
        threading.Event().wait(60)
        raise AssertionError(sql)


def test_where_spark_is_silent_nothing_differs() -> None:
    spark = SparkReader(cast(SparkSubject, Silent()), patience=0.1)

    assert judge(spark.answer(["SELECT 1"]), Answer((), ())).verdict is Verdict.SILENT
    assert judge(spark.answer(["SELECT 1"]), Failure(DIED, None)).verdict is Verdict.DEATH
