"""A sample of the changed statements, of a fixed corpus; ``make fuzz`` runs many more, of all."""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.corpus import fixed_statements
from tests.fuzz.statements import disagreement, endings, texts

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle


def test_a_changed_statement_ends_well() -> None:
    changed = texts(300, 1, fixed_statements())
    faults = [(text, wrong) for text, _, wrong in endings(changed, None) if wrong]
    assert not faults


@pytest.mark.spark
def test_syntax_errors_are_those_of_sparks_parser(spark: "SparkOracle") -> None:
    """Where Spark parses there is no syntax error here, and where it refuses there is no answer."""
    from tests.oracle.spark import parser_condition

    oracle = partial(parser_condition, spark.new_session())
    changed = texts(100, 2, fixed_statements())
    faults = [(text, wrong) for text, _, wrong in endings(changed, oracle) if wrong]
    assert not faults


def test_a_seed_fixes_the_texts() -> None:
    corpus = fixed_statements()
    assert list(texts(20, 3, corpus)) == list(islice(texts(50, 3, corpus), 20))
    assert disagreement("KILL QUERY 1", next(endings(["SELECT 1"], None))[1], lambda _: None) == ""
