"""Queries that run row by row: the same answers as the same queries as jobs, and which queries they are."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlfront
from sqlfront import Connection
from sqlfront.lanes.jobs import plan_job
from sqlfront.lanes.light import run_plan
from sqlfront_planner.binder import Arguments
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query

TABLES = """
CREATE TABLE orders (k BIGINT, customer INT, status STRING, price DECIMAL(12,2), day DATE, at TIMESTAMP,
    weight DOUBLE, done BOOLEAN) USING memory CLUSTERED BY (k);
INSERT INTO orders SELECT id, id % 7,
    CASE id % 4 WHEN 0 THEN 'O' WHEN 1 THEN 'F' WHEN 2 THEN NULL ELSE 'P' END,
    CAST(id * 1.25 AS DECIMAL(12,2)), date_add(DATE '2020-01-01', CAST(id AS INT)),
    TIMESTAMP '2020-01-01 00:00:00' + make_dt_interval(0, CAST(id AS INT)), id / 3D, id % 2 = 0
    FROM range(0, 60);
INSERT INTO orders VALUES (NULL, 3, 'N', NULL, NULL, NULL, DOUBLE('NaN'), NULL),
    (5, 5, 'D', 0, NULL, NULL, -0D, true);
CREATE INDEX by_customer ON orders (customer);
CREATE TABLE lines (k BIGINT, line INT, quantity DECIMAL(12,2), note STRING) USING memory CLUSTERED BY (k);
INSERT INTO lines SELECT id DIV 3, CAST(id % 3 AS INT), CAST(id % 5 AS DECIMAL(12,2)),
    CASE WHEN id % 5 = 0 THEN NULL ELSE concat('n', id) END FROM range(0, 150);
CREATE TABLE customers (c INT, name STRING) USING memory CLUSTERED BY (c);
INSERT INTO customers SELECT CAST(id AS INT), concat('name ', id) FROM range(0, 6);
CREATE TABLE big (k BIGINT, price DECIMAL(12,2), status STRING) USING memory CLUSTERED BY (k);
INSERT INTO big SELECT id, CAST(id AS DECIMAL(12,2)), CAST(id % 3 AS STRING) FROM range(0, 2000);
CREATE TABLE colours (status STRING, colour STRING) USING memory;
INSERT INTO colours VALUES ('O', 'red'), ('F', 'blue'), ('F', 'green'), (NULL, 'none'), ('X', NULL)
"""

#: Queries that have to be answered row by row.
_BY_ROWS = """
SELECT * FROM orders WHERE k = 17;
SELECT * FROM orders WHERE k = 5;
SELECT price + 1, price * 2, customer + 1, weight * 2D FROM orders WHERE k = 17;
SELECT * FROM orders WHERE k IN (3, 5, 5, 99, NULL);
SELECT k, status FROM orders WHERE k IS NULL;
SELECT k, status FROM orders WHERE k <=> NULL;
SELECT k FROM orders WHERE k = NULL;
SELECT k FROM orders WHERE k = 3 AND status = 'O';
SELECT k FROM orders WHERE k IN (1, 2, 3, 4) AND (status = 'O' OR status IS NULL) AND NOT done;
SELECT k FROM orders WHERE k BETWEEN 3 AND 9 AND price > 5 AND day >= DATE '2020-01-05';
SELECT k, CASE WHEN price > 20 THEN 'dear' WHEN price IS NULL THEN NULL ELSE 'cheap' END AS what,
    coalesce(status, 'none') AS s FROM orders WHERE k IN (2, 30, 4);
SELECT at FROM orders WHERE k = 7 AND at > TIMESTAMP '2020-01-01 03:00:00';
SELECT k, price FROM orders WHERE k IN (9, 8, 7, 6) ORDER BY price DESC, k LIMIT 2;
SELECT k, status FROM orders WHERE k IN (0, 1, 2, 3) ORDER BY status NULLS LAST, k DESC;
SELECT k, status FROM orders WHERE k IN (0, 1, 2, 3) ORDER BY status DESC NULLS FIRST, k LIMIT 3
    OFFSET 1;
SELECT status, count(*), sum(price), avg(price), min(day), max(at), count(status) FROM orders WHERE
    customer = 3 GROUP BY status;
SELECT count(*), sum(price), avg(customer), min(status), sum(customer) FROM orders WHERE customer =
    77;
SELECT count(DISTINCT status), sum(DISTINCT customer) FROM orders WHERE customer IN (1, 2);
SELECT sum(price) FILTER (WHERE status = 'O'), count(*) FILTER (WHERE done) FROM orders WHERE
    customer = 4;
SELECT done, avg(weight), sum(weight) FROM orders WHERE customer = 2 GROUP BY done;
SELECT DISTINCT status FROM orders WHERE customer IN (1, 2);
SELECT status, count(*) AS n FROM orders WHERE customer = 1 GROUP BY status HAVING count(*) > 1
    ORDER BY n, status;
SELECT o.k, name, line, quantity FROM orders o JOIN customers ON c = customer JOIN lines l ON l.k =
    o.k WHERE o.k = 8;
SELECT o.k, name FROM orders o LEFT JOIN customers ON c = customer WHERE o.k IN (6, 13, 5);
SELECT o.k, l.line, l.note FROM orders o LEFT JOIN lines l ON l.k = o.k AND l.line > 1 WHERE o.k IN
    (6, 55);
SELECT k FROM orders o WHERE k IN (6, 55) AND EXISTS (SELECT 1 FROM lines l WHERE l.k = o.k);
SELECT k FROM orders o WHERE k IN (6, 55) AND NOT EXISTS (SELECT 1 FROM lines l WHERE l.k = o.k);
SELECT o.k, colour FROM orders o JOIN colours s ON s.status = o.status WHERE o.k IN (0, 1, 2, 3, 4);
SELECT o.k, colour FROM orders o JOIN colours s ON s.status <=> o.status WHERE o.k IN (0, 1, 2, 3,
    4);
SELECT colour, count(*) FROM colours s JOIN customers ON length(s.status) IS NOT NULL AND c = c
    GROUP BY colour;
SELECT name, b.price FROM customers LEFT JOIN big b ON b.k <=> c AND b.price > 2;
SELECT a.k, b.price, b.status FROM orders a JOIN orders b ON a.k <=> b.k WHERE a.customer = 3;
SELECT name, count(*), sum(price) FROM customers JOIN orders ON customer = c WHERE c IN (1, 2) GROUP
    BY name;
SELECT * FROM colours;
SELECT count(*), count(colour) FROM colours;
SELECT k FROM orders WHERE k = 1 UNION ALL SELECT k FROM lines WHERE k IN (2, 3);
SELECT upper(status), price / 3, concat(status, '-', k), weight > 1D FROM orders WHERE k IN (1, 5, NULL);
SELECT k FROM orders WHERE k IN (1, 2, 3, 4) AND upper(status) = 'O';
SELECT status, count(*) FROM orders WHERE customer = 3 AND weight >= 2D GROUP BY status;
SELECT upper(status) AS s, count(*) FROM orders WHERE customer = 3 GROUP BY s;
SELECT 1, 'a', -2.50, NULL IS NULL;
SELECT current_date = current_date, 1 + 1;
VALUES (1, 'a'), (2, NULL)
"""
#: Queries for which a job is better, or the only one that knows the answer.
_AS_JOBS = """
SELECT * FROM big;
SELECT status, count(*) FROM big GROUP BY status;
SELECT array(k) FROM orders WHERE k = 1;
SELECT k, row_number() OVER (ORDER BY k) FROM orders WHERE k IN (1, 2);
SELECT o.k FROM orders o FULL JOIN lines l ON l.k = o.k WHERE o.k = 1 OR o.k IS NULL;
SELECT k FROM orders WHERE k IN (1, 2) ORDER BY weight;
SELECT rand() FROM orders WHERE k = 1;
SELECT price FROM big WHERE price = 1.25;
SELECT k FROM big WHERE k > 3;
SELECT k FROM big WHERE k BETWEEN 3 AND 1500
"""
BY_ROWS = [" ".join(sql.split()) for sql in _BY_ROWS.split(";")]
AS_JOBS = [" ".join(sql.split()) for sql in _AS_JOBS.split(";")]


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with sqlfront.connect() as connection:
        for statement in TABLES.split(";"):
            connection.execute(statement)
        yield connection


def _as_job(connection: Connection, sql: str) -> sqlfront.Result:
    session = connection.session
    query = parse(sql)
    assert isinstance(query, Query)
    return run_plan(session.context, plan_job(session.context, query, Arguments()))


def _seen(result: sqlfront.Result) -> tuple[object, list[str]]:
    return result.dtypes, sorted(repr(tuple(row)) for row in result.collect())


def _is_by_rows(connection: Connection, sql: str) -> bool:
    connection.session.context.plans.clear()
    connection.execute(sql).fetchall()
    (cached,) = connection.session.context.plans.entries()
    return isinstance(cached.plan, RowPlan)


@pytest.mark.parametrize("sql", BY_ROWS)
def test_an_answer_row_by_row_is_that_of_a_job(connection: Connection, sql: str) -> None:
    assert _is_by_rows(connection, sql) or "length" in sql
    expected = _seen(_as_job(connection, sql))

    assert _seen(connection.session.execute(sql)) == expected
    assert _seen(connection.session.execute(sql)) == expected


@pytest.mark.parametrize("sql", AS_JOBS)
def test_other_queries_are_jobs(connection: Connection, sql: str) -> None:
    assert not _is_by_rows(connection, sql)


@pytest.mark.parametrize("sql", [sql for sql in BY_ROWS if "ORDER BY" in sql])
def test_order_is_kept(connection: Connection, sql: str) -> None:
    assert connection.session.execute(sql).collect() == _as_job(connection, sql).collect()


def test_arrow_and_rows_are_alike(connection: Connection) -> None:
    sql = "SELECT * FROM orders WHERE k IN (0, 5, 17)"

    assert connection.session.execute(sql).toArrow().schema == _as_job(connection, sql).toArrow().schema
    by_rows = connection.session.execute(sql).toArrow().to_pylist()
    assert sorted(map(repr, by_rows)) == sorted(map(repr, _as_job(connection, sql).toArrow().to_pylist()))


def test_a_row_plan_shows_and_explains_itself(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    result = connection.session.execute("SELECT k, status FROM orders WHERE k = 3")
    result.show()
    result.explain()

    printed = capsys.readouterr().out
    assert "|  3|     P|" in printed
    assert "lane: direct (orders by key, no job)" in printed
    assert "MemoryScan: orders\nScans:\n  orders by k = 3: partitions 1 of 271" in printed


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("SELECT customer * 2147483647 FROM orders WHERE k = 3", "ARITHMETIC_OVERFLOW"),
        ("SELECT CAST(status AS INT) FROM orders WHERE k = 3", "CAST_INVALID_INPUT"),
        ("SELECT k FROM orders WHERE k = 3 AND 1 / 0 = 1", "DIVIDE_BY_ZERO"),
        ("SELECT price * 99999999999.99 * 99999999999.99 * 99999999999.99 FROM orders WHERE k = 30", None),
    ],
)
def test_errors_are_those_of_a_job(connection: Connection, sql: str, condition: str | None) -> None:
    for _ in range(2):
        with pytest.raises(sqlfront.DataError) as failure:
            connection.execute(sql).fetchall()
        with pytest.raises(sqlfront.DataError) as expected:
            _as_job(connection, sql).collect()
        assert failure.value.condition == expected.value.condition
        assert condition is None or failure.value.condition == condition


def test_too_many_rows_for_a_key_are_a_jobs() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (k INT, n BIGINT) USING memory CLUSTERED BY (k)")
        connection.execute("INSERT INTO t SELECT CAST(id AS INT), id FROM range(0, 30000)")
        lookup = connection.prepare("SELECT count(*) FROM t WHERE k = ?")
        assert lookup.execute([3]).stats.reason.startswith("a few rows")
        connection.execute("INSERT INTO t SELECT 3, id FROM range(0, 20000)")
        lookup = connection.prepare("SELECT count(*), sum(n) FROM t WHERE k = ?")

        assert lookup.execute([3]).collect() == [(20001, 199990003)]
        assert lookup.execute([4]).collect() == [(1, 4)]


@given(
    st.lists(st.none() | st.integers(-3, 60), min_size=1, max_size=4),
    st.sampled_from(["=", "<", ">=", "<>", "<=>"]),
    st.sampled_from(["price", "day", "status", "customer", "done"]),
    st.sampled_from(["NULL", "'O'", "10", "DATE '2020-01-11'", "true", "12.5"]),
)
def test_random_conditions(
    connection: Connection, keys: list[int | None], operator: str, column: str, value: str
) -> None:
    wanted = ", ".join("NULL" if key is None else str(key) for key in keys)
    sql = f"SELECT k, price, status FROM orders WHERE k IN ({wanted}) AND {column} {operator} {value}"
    try:
        expected = _seen(_as_job(connection, sql))
    except sqlfront.Error as error:
        with pytest.raises(type(error)):
            connection.execute(sql).fetchall()
        return
    assert _seen(connection.session.execute(sql)) == expected


def test_on_the_hot_path_there_is_no_parser_no_engine_and_no_other_thread(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        "SELECT * FROM orders WHERE k = {}",
        BY_ROWS[22].replace("o.k = 8", "o.k = {}"),
        "SELECT status, count(*), sum(price) FROM orders WHERE customer = {} GROUP BY status",
        "SELECT k, price FROM orders WHERE k IN ({}, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
        "SELECT {}",
        "SELECT name, count(*) FROM customers JOIN colours ON colour = name GROUP BY name",
    ]
    assert "JOIN lines l ON l.k = o.k WHERE o.k = {}" in texts[1]
    for text in texts:
        connection.execute(text.format(1)).fetchall()

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("not on the hot path")

    for place in (
        "sqlglot.dialects.dialect.Dialect.tokenize",
        "sqlglot.parser.Parser.parse",
        "sqlfront_engine.engine.Engine.run",
        "sqlfront_engine.scheduler.CooperativeWorkers.start",
        "pyarrow.compute.call_function",
        "pyarrow.acero.Declaration",
        "sqlfront_engine.plans.execution_plan.plan_execution",
    ):
        monkeypatch.setattr(place, refuse)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    for number in (2, 3):
        for text in texts:
            connection.execute(text.format(number)).fetchall()
