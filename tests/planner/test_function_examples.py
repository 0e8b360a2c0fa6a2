"""Every registered function's example, evaluated."""

import datetime

import pytest

import sqlfront
from sqlfront_planner.logical import LogicalProject, ScalarSubquery
from sqlfront_planner.testing import bound
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.functions import registry
from sqlfront_values.functions.legacy import LEGACY_NAMES
from sqlfront_values.functions.nested.map_building import KEEPING_LAST, MAP_MAKERS
from sqlfront_values.settings import Settings

#: Functions without a value that could be shown: they raise, or are random, or have no call syntax.
WITHOUT = {
    "raise_error",
    "rand",
    "random",
    "randn",
    "uuid",
    "dayofweek_iso",
    "year_of_week",
    "too many rows",
    "null in a required column",
    *LEGACY_NAMES,
    "entries of a variant",
    "text of a time",
    "timestamp of a date and a time",
    "timestamp_ntz of a date and a time",
    *(f"{maker} {KEEPING_LAST}" for maker in MAP_MAKERS),
}


def test_every_function_has_an_example() -> None:
    missing = {name for name in registry.names() if registry.lookup(name).example is None}  # type: ignore[union-attr]

    assert missing <= WITHOUT


def _value(query: str) -> object:
    """The value of a query of one expression; a session computes it where rows are needed."""
    plan = bound(query)
    assert isinstance(plan, LogicalProject)
    (expression,) = plan.expressions
    if not isinstance(expression, ScalarSubquery):
        return evaluate_scalar(expression, Settings())
    with sqlfront.connect() as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("name", [name for name in registry.names() if name not in WITHOUT])
def test_example(name: str) -> None:
    entry = registry.lookup(name)
    assert entry is not None
    assert entry.example is not None
    sql, expected = entry.example

    value = _value(f"select {sql}")

    shown = {repr(value)}
    if isinstance(value, datetime.datetime):
        # An example may show a timestamp with or without its zone.
        shown.add(repr(value.replace(tzinfo=None)))
    assert expected in shown
