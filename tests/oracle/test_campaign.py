"""Random queries of functions and clauses, live: the answers are Spark's."""

import pytest

from tests.oracle.campaign.run import Tally, case, compare
from tests.oracle.campaign.signatures import Argument, Kind, Signature, signatures, split
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject

FUNCTIONS = (
    "lpad",
    "sum",
    "date_add",
    "array_sort",
    "row_number",
    "explode",
    "concat_ws",
    "map_keys",
    "round",
)


@pytest.fixture(scope="module")
def forms() -> list[Signature]:
    with Subject() as subject:
        return signatures(subject, FUNCTIONS)


def test_signatures_are_those_of_the_examples(forms: list[Signature]) -> None:
    arguments = (Argument("string", "'hi'"), Argument("int", "5"), Argument("string", "'??'"))

    assert Signature("lpad", Kind.SCALAR, arguments, "string") in forms
    assert Signature("sum", Kind.AGGREGATE, (Argument("int", None),), "bigint") in forms


def test_an_examples_arguments_are_split_outside_of_quotes_and_parentheses() -> None:
    assert list(split("'a,)', f(b, ','), [1]) FROM t")) == ["'a,)'", "f(b, ',')", "[1]", "FROM t"]


def test_the_same_seed_draws_the_same_case(forms: list[Signature]) -> None:
    assert case(3, 0, forms) == case(3, 0, forms)
    assert case(3, 0, forms) != case(4, 0, forms)


@pytest.mark.spark
def test_answers_are_sparks(spark: SparkOracle, forms: list[Signature]) -> None:
    tally, drawn = Tally(), case(1, 2, forms)
    del drawn.queries[15:]

    assert list(compare(drawn, spark, tally)) == []
    assert tally.same.total() > 10
