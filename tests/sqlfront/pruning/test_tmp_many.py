"""Random tables, keys, conditions and parameters: the rows are the same with and without pruning, on any
number of members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlfront
from tests.planner.pruning.cases import SCHEMA
from tests.sqlfront.pruning.predicates import predicates
from tests.sqlfront.pruning.tables import create, table_of
from tests.sqlfront.pruning.trials import answer, random_rows, run, switch

MEMBERS = (1, 3, 8)
KEYS = ("i", "h, i", "d", "dec", "s", "i, j", "g", "bo, d", "l", "ts", "b", "f, wide", "ntz", "bin")


@pytest.fixture(scope="module")
def connections() -> Iterator[list[sqlfront.Connection]]:
    with ExitStack() as stack:
        opened = [stack.enter_context(sqlfront.connect(members=count, workers=1)) for count in MEMBERS]
        for connection in opened:
            create(connection, random_rows(SCHEMA, 200, seed=2), KEYS)
        yield opened


@settings(
    max_examples=1500,
    derandomize=False,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_pruning_changes_no_answer(connections: list[sqlfront.Connection], data: st.DataObject) -> None:
    keys = data.draw(st.sampled_from(KEYS), label="keys")
    predicate = data.draw(predicates(tuple(keys.split(", "))), label="predicate")
    chosen = data.draw(
        st.lists(st.booleans(), min_size=len(predicate.constants), max_size=len(predicate.constants))
    )
    text, arguments = predicate.partly(chosen)
    sql = f"SELECT i, j, l, s, d, ts, dec, f, g, v FROM {table_of(keys)} WHERE {text}"

    switch(connections[0], pruning=False)
    expected = run(connections[0], sql, arguments).rows
    for connection in connections:
        switch(connection, pruning=True)
        assert run(connection, sql, arguments).rows == expected
        assert answer(connection, sql, arguments).total() == expected.total()
