"""A sample of the changed statements; ``make fuzz`` runs many more."""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.statements import disagreement, endings, texts

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle


def test_a_changed_statement_ends_well() -> None:
    faults = [(text, wrong) for text, _, wrong in endings(texts(1_000, seed=1), None) if wrong]
    assert not faults


@pytest.mark.spark
def test_syntax_errors_are_those_of_sparks_parser(spark: "SparkOracle") -> None:
    """Where Spark parses there is no syntax error here, and where it refuses there is no answer."""
    from tests.oracle.spark import parser_condition

    oracle = partial(parser_condition, spark.new_session())
    faults = [(text, wrong) for text, _, wrong in endings(texts(3_000, seed=2), oracle) if wrong]
    assert not faults


def test_a_seed_fixes_the_texts() -> None:
    assert list(texts(20, seed=3)) == list(islice(texts(50, seed=3), 20))
    assert disagreement("KILL QUERY 1", next(endings(["SELECT 1"], None))[1], lambda _: None) == ""
