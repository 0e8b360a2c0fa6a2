"""Numbers of LIMIT and OFFSET share plans: an argument gives the rows and the errors that the
same number as a literal gives, whatever numbers were run before, and numbers of one bound are planned
once."""

import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import pytest

from sqlfront import Connection
from sqlfront.prepared import PreparedStatement
from sqlfront_values.errors import Error
from tests.sqlfront.plan_cache.sessions import connection

FEW = "WITH c AS (SELECT v, w FROM s ORDER BY v LIMIT :n) "
#: ``:n`` and ``:m`` are the arguments.
TEXTS = (
    "SELECT id FROM range(100) LIMIT :n",
    "SELECT id FROM range(100) LIMIT :n OFFSET :m",
    "SELECT id FROM range(100) OFFSET :n",
    "SELECT id FROM range(100) LIMIT 20 OFFSET :n",
    "SELECT id FROM range(100) LIMIT :n OFFSET 3",
    "SELECT id FROM range(100) LIMIT ALL OFFSET :n",
    "SELECT v, w FROM s ORDER BY w, v LIMIT :n OFFSET :m",
    "SELECT v FROM s ORDER BY w DESC, v LIMIT :n",
    "SELECT v FROM s WHERE w = 3 ORDER BY v LIMIT :n",
    "SELECT v FROM s WHERE v = :n LIMIT :n",
    "SELECT w, count(*) FROM s GROUP BY w ORDER BY w LIMIT :n",
    "SELECT DISTINCT w FROM s ORDER BY w LIMIT :n OFFSET 1",
    "SELECT v, row_number() OVER (ORDER BY v) FROM s ORDER BY v LIMIT :n",
    "SELECT v FROM (SELECT v FROM s ORDER BY v LIMIT 30) LIMIT :n",
    "SELECT v FROM (SELECT v FROM s ORDER BY v LIMIT 30 OFFSET 2) ORDER BY v DESC LIMIT :n OFFSET :m",
    "WITH c AS (SELECT v FROM s ORDER BY v LIMIT 40) SELECT v FROM c JOIN c d USING (v) ORDER BY 1 LIMIT :n",
    "(SELECT v FROM s ORDER BY v) LIMIT :n",
    "SELECT v FROM s UNION ALL SELECT id FROM range(50) ORDER BY 1 LIMIT :n",
    "SELECT id FROM range(5) UNION ALL SELECT id + 5 FROM range(50) LIMIT :n OFFSET :m",
    "SELECT id FROM range(60) LEFT JOIN s ON id = v AND w = 1 ORDER BY id LIMIT :n",
    "SELECT max(v) FROM s LIMIT :n",
    "SELECT 1 LIMIT :n OFFSET :m",
    "SELECT id FROM range(300000) ORDER BY id % 1000, id DESC LIMIT :n OFFSET :m",  # on threads
    "SELECT id % 7, count(*) FROM range(300000) GROUP BY 1 ORDER BY 1 LIMIT :n",
    "SELECT count(*), min(v) FROM (SELECT v FROM s ORDER BY v DESC LIMIT :n OFFSET :m)",
    "SELECT v FROM (SELECT v, w FROM s ORDER BY v LIMIT :n) WHERE w = 2 ORDER BY v",
    "SELECT v FROM (SELECT v FROM s ORDER BY v LIMIT :n) ORDER BY v DESC LIMIT :m",
    "SELECT a.v FROM (SELECT v, w FROM s ORDER BY v LIMIT :n) a JOIN s b ON a.v = b.w ORDER BY 1",
    "(SELECT v FROM s ORDER BY v LIMIT :n) UNION ALL (SELECT w FROM s ORDER BY v DESC LIMIT :m) ORDER BY 1",
    "WITH c AS (SELECT v FROM s ORDER BY v LIMIT :n) SELECT count(*) FROM c UNION ALL SELECT max(v) FROM c",
    f"{FEW}SELECT v FROM s a WHERE EXISTS (SELECT 1 FROM c WHERE c.v = a.w) ORDER BY v",
    f"{FEW}SELECT v, (SELECT max(v) FROM c WHERE c.w = a.w) FROM s a WHERE v < 9 ORDER BY v",
    f"{FEW}SELECT v FROM s WHERE w NOT IN (SELECT v FROM c) ORDER BY v",
    # A row that the limit leaves out must not fail.
    "SELECT 10 / (5 - id) FROM range(50) LIMIT :n",
    "SELECT 10 / (5 - id) FROM range(50) ORDER BY id LIMIT :n OFFSET 7",
    "SELECT 10 / (20 - v) FROM (SELECT v FROM s ORDER BY v) LIMIT :n",
    "SELECT 10 / (3 - id) FROM range(4) UNION ALL SELECT 10 / (8 - id) FROM range(50) LIMIT :n",
)
#: Subqueries in expressions, and computed numbers, have plans by value.
BY_VALUE = (
    "SELECT id FROM range(100) LIMIT :n % 1000 + 1",
    "SELECT id FROM range(100) ORDER BY id OFFSET CAST(:n AS INT)",
    "SELECT v FROM s WHERE v IN (SELECT id FROM (SELECT id FROM range(99) ORDER BY id LIMIT :n)) ORDER BY v",
    "SELECT w, (SELECT max(v) FROM s b WHERE b.w = a.w LIMIT :n) FROM s a WHERE v < 3 ORDER BY v",
    "SELECT v FROM s a WHERE EXISTS (SELECT 1 FROM s b WHERE b.v = a.w LIMIT :n) ORDER BY v",
)
NUMBERS = (0, 1, 2, 3, 5, 6, 8, 15, 16, 17, 20, 31, 32, 33, 99, 100, 101, 65536, 65537, 2**31 - 1)
#: What Spark refuses, and its condition.
REFUSED = {
    -1: "IS_NEGATIVE",
    -(2**31): "IS_NEGATIVE",
    2**31: "DATA_TYPE",
    -(2**40): "DATA_TYPE",
    1.0: "DATA_TYPE",
    "1": "DATA_TYPE",
    Decimal(1): "DATA_TYPE",
}


@pytest.fixture(scope="module")
def session() -> Iterator[Connection]:
    with connection(1000) as made:
        made.execute("CREATE TABLE s (v BIGINT, w INT) USING memory CLUSTERED BY (v) INTO 7 BUCKETS")
        made.execute("INSERT INTO s SELECT id, cast(id % 7 AS INT) FROM range(120)")
        yield made


Values = Mapping[str, object] | Sequence[object]


def answer(session: Connection, text: str | PreparedStatement, values: Values | None = None) -> list[object]:
    try:
        return list(session.cursor().execute(text, values).fetchall())
    except Error as error:
        return [type(error).__name__, error.condition]


def literal(text: str, n: object, m: object) -> str:
    return text.replace(":n", str(n)).replace(":m", str(m))


@pytest.mark.parametrize("text", [*TEXTS, *BY_VALUE])
def test_an_argument_gives_what_a_literal_gives(session: Connection, text: str) -> None:
    drawn = random.Random(text)
    prepared = session.session.prepare(text)
    for _ in range(2):
        for n in drawn.sample(NUMBERS, len(NUMBERS)):
            arguments = {"n": n, "m": drawn.choice(NUMBERS)} if ":m" in text else {"n": n}
            expected = answer(session, literal(text, n, arguments.get("m")))
            assert answer(session, text, arguments) == expected, arguments
            assert answer(session, prepared, arguments) == expected, arguments


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_of_one_bound_have_one_plan(session: Connection, text: str) -> None:
    plans = session.session.context.plans
    plans.clear()
    for n in range(1, 65):
        answer(session, text, {"n": n, "m": n // 2 + 1} if ":m" in text else {"n": n})

    # The second number has up to three bounds, of which two meet one of the first.
    assert len(plans) <= (5 if ":m" in text else 3)


@pytest.mark.parametrize("text", ["SELECT id FROM range(9) LIMIT ?", "SELECT id FROM range(9) OFFSET ?"])
def test_what_is_no_number_of_rows_is_refused_also_after_numbers_were_run(
    session: Connection, text: str
) -> None:
    for value, kind in REFUSED.items():
        assert answer(session, text, (3,)) in ([(0,), (1,), (2,)], [(number,) for number in range(3, 9)])
        with pytest.raises(Error) as caught:
            session.execute(text, (value,))
        assert caught.value.condition == f"INVALID_LIMIT_LIKE_EXPRESSION.{kind}"
    refused = answer(session, text.replace("?", "NULL"))
    assert answer(session, text, (None,)) == refused
    assert refused[0] == "ProgrammingError"


@pytest.mark.parametrize(
    ("number", "values", "shown"),
    [("?", (-1,), "-1"), (":n", {"n": -1}, "-1"), ("?", (None,), "NULL"), ("? - 5", (1,), "(1 - 5)")],
)
def test_the_error_names_the_number_as_spark_does(
    session: Connection, number: str, values: Values, shown: str
) -> None:
    for clause in ("LIMIT", "OFFSET"):
        with pytest.raises(Error) as caught:
            session.execute(f"SELECT id FROM range(9) {clause} {number}", values)
        assert f'The limit like expression "{shown}" is invalid.' in str(caught.value)


def test_explain_shows_the_argument_and_the_bound(session: Connection) -> None:
    text = "EXPLAIN SELECT v FROM s ORDER BY w LIMIT ? OFFSET ?"
    shown = session.execute(text, (5, 2)).fetchone()
    assert "Limit: ?0 offset ?1\n      TopN: #1 limit 32" in str(shown and shown[0])
