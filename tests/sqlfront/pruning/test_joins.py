"""Keys that are known only at run time: a join's few rows find their partners in a large table."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.lanes.jobs import plan_job
from sqlfront_planner.binder import Arguments
from sqlfront_planner.statements.query_parser import parse_query
from tests.sqlfront.pruning.trials import run, switch

ROWS = 60_000


@pytest.fixture(scope="module", params=[1, 3], ids=["1 member", "3 members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    """``large`` with up to three rows for each key, ``compound`` by two columns, ``heap`` by none; ``small``
    and ``few``, whose keys are in them or not."""
    with sqlfront.connect(members=request.param, workers=2) as connection:
        connection.execute(
            f"CREATE TABLE large USING memory CLUSTERED BY (k) AS SELECT id DIV 3 AS k, id AS v, "
            f"concat('n', id % 10) AS s FROM range({ROWS})"
        )
        connection.execute(
            "CREATE TABLE compound USING memory CLUSTERED BY (b, a) AS "
            f"SELECT id % 100 AS a, id DIV 100 AS b, id AS v FROM range({ROWS})"
        )
        connection.execute(f"CREATE TABLE heap USING memory AS SELECT id AS k, id AS v FROM range({ROWS})")
        connection.execute("CREATE TABLE indexed USING memory CLUSTERED BY (v) AS SELECT * FROM large")
        connection.execute("CREATE INDEX i ON indexed (s, k)")
        keys = [5, 6, 6, None, 19_999, 20_000, -1]
        connection.register("few", pa.table({"k": pa.array(keys, pa.int64()), "n": range(len(keys))}))
        connection.execute("CREATE TABLE small USING memory CLUSTERED BY (k) AS SELECT * FROM few")
        yield connection


def plan_of(connection: sqlfront.Connection, sql: str) -> str:
    """The operators of a query's job."""
    plan = plan_job(connection.session.context, parse_query(sql), Arguments.of([]))
    return "\n".join(vertex.processor.describe() for vertex in plan.dag)


LOOKED_UP = [
    "SELECT l.*, x.n FROM large l JOIN few x ON l.k = x.k",
    "SELECT l.*, x.n FROM few x JOIN large l ON l.k = x.k WHERE l.s <> 'n1'",
    "SELECT x.n, l.v FROM few x LEFT JOIN large l ON l.k = x.k",
    "SELECT x.n, l.v FROM large l RIGHT JOIN few x ON l.k = x.k AND l.v % 2 = 0",
    "SELECT v FROM large WHERE k IN (SELECT k FROM few)",
    "SELECT v FROM large WHERE EXISTS (SELECT 1 FROM few WHERE few.k = large.k)",
    "SELECT n FROM few WHERE k IN (SELECT k FROM large)",
    "SELECT n FROM few WHERE NOT EXISTS (SELECT 1 FROM large WHERE few.k = large.k AND s = 'n0')",
    "SELECT l.*, x.n FROM large l JOIN small x ON l.k = x.k",
    "SELECT count(*), sum(l.v) FROM large l JOIN small x ON l.k = x.k WHERE x.n > 1",
    "SELECT c.v FROM compound c JOIN few x ON c.b = x.k AND c.a = x.n",
    "SELECT c.v FROM compound c JOIN few x ON c.b = x.k AND c.a = x.n AND c.v > x.n",
    "SELECT l.v, m.v FROM few x JOIN large l ON l.k = x.k JOIN large m ON m.k = l.v DIV 1 WHERE x.n = 0",
    "SELECT v FROM large WHERE k = (SELECT max(k) FROM few WHERE k < 100)",
    "SELECT l.v FROM large l JOIN (SELECT k, count(*) n FROM few GROUP BY k) x ON l.k = x.k AND x.n = 2",
]
BY_INDEX = [
    "SELECT x.n, i.v FROM few x JOIN indexed i ON i.k = x.k AND i.s = 'n5'",
    "SELECT n, i.v FROM (SELECT *, concat('n', n) AS s FROM few) x JOIN indexed i ON i.k = x.k AND i.s = x.s",
    "SELECT v FROM indexed WHERE (s, k) IN (SELECT concat('n', n), k FROM few)",
]
READ_WHOLE = [
    "SELECT n FROM few WHERE k NOT IN (SELECT k FROM large)",
    "SELECT count(*) FROM large l LEFT JOIN few x ON l.k = x.k",
    "SELECT count(*) FROM large l FULL JOIN few x ON l.k = x.k",
    "SELECT count(*) FROM large l WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.k = l.k)",
    "SELECT l.v FROM large l JOIN few x ON l.k <=> x.k",
    "SELECT l.v FROM large l JOIN few x ON l.v = x.k",
    "SELECT c.v FROM compound c JOIN few x ON c.a = x.k WHERE c.b < 10",
    "SELECT h.v FROM heap h JOIN few x ON h.k = x.k",
    "SELECT l.v FROM large l JOIN few x ON l.k = x.k + 1 OR l.k = x.n",
    "SELECT count(*) FROM large l JOIN large m ON l.k = m.k",
    "SELECT l.v FROM large l JOIN few x ON l.k = x.k WHERE l.s = '1' AND 1 / l.v > 0",
]


@pytest.mark.parametrize("sql", LOOKED_UP)
def test_few_rows_find_their_partners(connection: sqlfront.Connection, sql: str) -> None:
    switch(connection, pruning=True)
    assert "by the input's keys" in plan_of(connection, sql)
    found = run(connection, sql)

    switch(connection, pruning=False)
    assert "by the input's keys" not in plan_of(connection, sql)
    assert found.rows == run(connection, sql).rows


@pytest.mark.parametrize("sql", BY_INDEX)
def test_few_rows_find_their_partners_by_an_index(connection: sqlfront.Connection, sql: str) -> None:
    switch(connection, pruning=True)
    found = run(connection, sql)
    looked_up = "by the input's keys" in plan_of(connection, sql)
    assert looked_up is ("'n5'" not in sql)

    switch(connection, pruning=False)
    assert found.rows == run(connection, sql).rows


@pytest.mark.parametrize("sql", READ_WHOLE)
def test_others_read_the_table(connection: sqlfront.Connection, sql: str) -> None:
    switch(connection, pruning=True)
    assert "by the input's keys" not in plan_of(connection, sql)
    found = run(connection, sql)

    switch(connection, pruning=False)
    assert found.rows == run(connection, sql).rows


def test_more_keys_than_were_thought_of_read_the_table(connection: sqlfront.Connection) -> None:
    switch(connection, pruning=True)
    keys = "SELECT id FROM range(7001) WHERE id % 1 = 0 AND id % 2 < 2 AND id + 1 > 0"
    sql = f"SELECT count(*), sum(v) FROM large WHERE k IN ({keys})"
    assert "by the input's keys" in plan_of(connection, sql)

    assert run(connection, sql).rows == {repr((21_003, sum(range(21_003)))): 1}
