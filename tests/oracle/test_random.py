"""Random queries: sqlfront and DuckDB give the same rows, or sqlfront says that a construct isn't built."""

from collections import Counter
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.answers import Failure
from tests.oracle.random_queries import SETUP, queries
from tests.oracle.subject import Subject
from tests.oracle.values import rows_of

NOT_BUILT = "NotSupportedError"


@pytest.fixture(scope="module")
def witness() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for statement in SETUP:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with Subject() as subject:
        for statement in SETUP:
            assert not isinstance(outcome := subject.answer(statement), Failure), outcome
        yield subject


@settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_rows_are_duckdbs(witness: duckdb.DuckDBPyConnection, subject: Subject, data: st.DataObject) -> None:
    sql = data.draw(queries(), label="query")
    try:
        expected = Counter(rows_of(pa.table(witness.sql(sql))))
    except (duckdb.BinderException, duckdb.NotImplementedException):
        # DuckDB refuses some correlated subqueries and outer joins without an equality.
        return
    got = subject.answer(sql)
    if isinstance(got, Failure):
        assert got.message.startswith(NOT_BUILT), got
        return

    assert Counter(got.rows) == expected
