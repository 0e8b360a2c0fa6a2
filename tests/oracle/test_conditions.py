"""The conditions of errors are Spark's."""

import ast

import pytest

from sqlfront_values.spark_conditions import SQLSTATES
from tests.architecture.sources import sources
from tests.oracle.answers import NAMELESS
from tests.oracle.conditions import STORED, module


def test_the_stored_conditions_are_those_of_spark() -> None:
    assert STORED.read_text() == module()


@pytest.mark.xdist_group("sources")  # whose worker has them parsed
def test_every_condition_that_is_raised_is_one_of_spark() -> None:
    unknown = [
        f"{source.place(node.lineno)} {name}"
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and (name := _condition(node))
        and name not in SQLSTATES
        and not name.startswith(NAMELESS)
    ]

    assert unknown == []


def _condition(call: ast.Call) -> str:
    """The main condition that a call names as ``condition="..."`` or as the first argument of a function that
    makes Spark's errors; empty = none, or one that is not known before the program runs."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "condition"]
    if isinstance(call.func, ast.Name) and call.func.id in ("failure", "spark_error") and call.args:
        named.append(call.args[0])
    for value in named:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value.partition(".")[0]
    return ""
