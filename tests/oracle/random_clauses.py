"""Random statements over the clauses of queries: pipes, PIVOT and UNPIVOT, SORT BY and its like, subqueries
in conditions of joins. Each is one that Spark may answer or refuse; the same seed gives the same statements.

python -m tests.oracle.random_clauses --count 500 --seed 3     compare with a live Spark
"""

import argparse
from random import Random
from typing import Final

from tests.oracle.answers import Failure, difference
from tests.oracle.subject import Subject

SETUP: Final = (
    """CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a', 10, 1.5D), (2, 'b', 20, 2.5D),
    (3, 'a', NULL, double('NaN')), (4, NULL, 40, -0.0D), (4, 'b', 10, NULL) AS t(id, s, v, d)""",
    """CREATE TEMPORARY VIEW u AS SELECT * FROM VALUES (2, 'b', 200L), (3, 'c', NULL), (NULL, 'a', 7L),
    (4, 'b', 10L) AS u(id, s, w)""",
)
_COLUMNS: Final = ("id", "s", "v", "d", "t.id", "t.v", "u.w", "x", "y")
_NUMBERS: Final = ("id", "v", "d", "t.id", "v + 1", "id % 2", "id * 2", "u.w")
_AGGREGATES: Final = ("sum(v)", "count(*)", "max(s)", "min(d)", "avg(v)", "count(DISTINCT s)", "sum(id) + 1")


def statements(count: int, seed: int) -> list[str]:
    """Return ``count`` random statements."""
    random = Random(seed)
    makers = (_pipe, _pipe, _pipe, _pivot, _unpivot, _join, _placed)
    return [random.choice(makers)(random) for _ in range(count)]


def _condition(random: Random) -> str:
    one, other = random.choice(_NUMBERS), random.choice(_NUMBERS)
    return random.choice(
        (
            f"{one} > {random.randint(0, 20)}",
            f"{one} <= {other}",
            "s = 'a'",
            "s IS NULL OR v > 10",
            "id IN (SELECT id FROM u)",
            "EXISTS (FROM u |> WHERE u.id = t.id)",
            "id NOT IN (SELECT id FROM u WHERE id > 2)",
        )
    )


def _pipe(random: Random) -> str:
    start = random.choice(
        ("FROM t", "FROM t", "TABLE t", "SELECT id, s, v FROM t", "FROM t JOIN u ON t.id = u.id")
    )
    return " |> ".join([start, *(_step(random) for _ in range(random.randint(1, 4)))])


def _step(random: Random) -> str:
    column, number, call = random.choice(_COLUMNS), random.choice(_NUMBERS), random.choice(_AGGREGATES)
    return random.choice(
        (
            f"WHERE {_condition(random)}",
            f"WHERE {_condition(random)}",
            f"SELECT {column}, {number} AS x, {random.choice(_COLUMNS)}",
            f"SELECT id, s, {number} AS v",
            f"SELECT DISTINCT {column}",
            f"EXTEND {number} AS x, {random.choice(_NUMBERS)} AS y",
            f"EXTEND {call} OVER (PARTITION BY s) AS x",
            f"SET v = {number}",
            f"SET {random.choice(('s', 'id', 'x'))} = {number}, v = {random.choice(_NUMBERS)}",
            f"DROP {column}",
            f"AGGREGATE {call} AS x, {random.choice(_AGGREGATES)} AS y GROUP BY s",
            f"AGGREGATE {call} GROUP BY id % 2 AS id, {column}",
            f"AGGREGATE {call} AS v",
            "AGGREGATE GROUP BY s",
            "AS t",
            f"ORDER BY {column}",
            "JOIN u ON t.id = u.id",
            "LEFT JOIN u USING (id)",
            "ANTI JOIN u ON t.s = u.s",
            "UNION ALL SELECT id, s, v, d FROM t",
            "EXCEPT SELECT 1, 'a', 10, 1.5D",
            "PIVOT (sum(v) AS x FOR s IN ('a', 'b'))",
            "UNPIVOT (x FOR y IN (id, v))",
        )
    )


def _pivot(random: Random) -> str:
    calls = random.sample(
        ("sum(v)", "count(*)", "max(d)", "max(s)", "first(v)", "avg(id)", "collect_list(v)"), 2
    )
    items = ", ".join(random.choice((call, f"{call} AS c{place}")) for place, call in enumerate(calls))
    if random.random() < 0.5:
        items = calls[0]
    columns, values = random.choice(
        (
            ("s", "'a', 'b'"),
            ("s", "'a' AS q, NULL, 'zz'"),
            ("id", "1, 2 AS two, 4L, '3'"),
            ("(id, s)", "(1, 'a') AS p, (4, 'b')"),
            ("v", "10, 20, NULL AS n, 10"),
        )
    )
    source = random.choice(
        (
            "t",
            "(SELECT s, id, v, d FROM t WHERE id < 4)",
            "t JOIN u ON t.id = u.id",
            "(SELECT s, v, id FROM t)",
        )
    )
    return f"SELECT * FROM {source} PIVOT ({items} FOR {columns} IN ({values}))"


def _unpivot(random: Random) -> str:
    nulls = random.choice(("", "INCLUDE NULLS ", "EXCLUDE NULLS "))
    listed = random.choice(
        (
            "(n FOR c IN (id, v))",
            "(n FOR c IN (id AS one, v, d))",
            "((n, m) FOR c IN ((id, s), (v, s) AS z))",
            "((n, m) FOR c IN ((id, v), (v, d)))",
            "(n FOR c IN (s, v))",
            "(v FOR c IN (id, d))",
        )
    )
    source = random.choice(("t", "t AS r", "(SELECT id, s, v, d FROM t)"))
    return f"SELECT * FROM {source} UNPIVOT {nulls}{listed}"


def _join(random: Random) -> str:
    kind = random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
    tests = (
        "t.id IN (SELECT id FROM u)",
        "u.id IN (SELECT v / 10 FROM t)",
        "t.id NOT IN (SELECT id FROM u WHERE id IS NOT NULL)",
        "u.id NOT IN (SELECT id FROM u)",
        "EXISTS (SELECT 1 FROM t AS i WHERE i.s = u.s)",
        "NOT EXISTS (SELECT 1 FROM u AS i WHERE i.s = t.s AND i.w > t.v)",
        "EXISTS (SELECT 1 FROM u AS i WHERE i.id > 100)",
        "u.w > (SELECT min(w) FROM u)",
        "(t.v > 10 OR t.id IN (SELECT id FROM u))",
        "(u.w IS NULL OR EXISTS (SELECT 1 FROM t AS i WHERE i.id = u.id))",
    )
    parts = ["t.id = u.id", *random.sample(tests, random.randint(1, 2))]
    if random.random() < 0.3:
        parts = parts[1:]
    return f"SELECT * FROM t {kind} u ON {' AND '.join(parts)}"


def _placed(random: Random) -> str:
    clause = random.choice(("SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "ORDER BY"))
    listed = ", ".join(
        random.sample(("id", "x", "v", "s", "d", "id + x", "1", "t.v", "max(v)"), random.randint(1, 2))
    )
    query = random.choice(
        (
            "SELECT id, v AS x FROM t",
            "SELECT DISTINCT s, id FROM t",
            "SELECT s, sum(v) AS x FROM t GROUP BY s",
            "SELECT id, rank() OVER (ORDER BY id) AS x FROM t QUALIFY x < 4",
            "SELECT id FROM t UNION ALL SELECT id FROM u",
        )
    )
    return f"{query} {clause} {listed}"


def main() -> int:
    """Compare random statements with a live Spark, and print those with another answer."""
    from tests.oracle.spark import SparkOracle

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with SparkOracle() as spark:
        spark.begin_file()
        problems = differences(spark, statements(options.count, options.seed))
    print("\n\n".join(problems), f"{len(problems)} of {options.count} differ", sep="\n")
    return bool(problems)


def differences(spark: object, texts: list[str]) -> list[str]:
    """Return the statements, with what differs, that sqlfront doesn't answer as Spark; what it refuses by
    name is left out."""
    problems = []
    with Subject() as subject:
        for text in SETUP:
            for one in (spark, subject):
                assert not isinstance(one.answer(text), Failure), text  # type: ignore[attr-defined]
        for text in texts:
            got = subject.answer(text)
            if isinstance(got, Failure) and got.condition is None:
                continue
            differs = difference(spark.answer(text), got, approximate=True)  # type: ignore[attr-defined]
            if differs is not None:
                problems.append(f"{text}\n  {differs}")
    return problems


if __name__ == "__main__":
    raise SystemExit(main())
