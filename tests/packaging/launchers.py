"""Every launcher answers; run by :mod:`tests.packaging.wheel`, without anything of the checkout.

Queries by rows, by jobs, over exchanges, and of user code's kind (functions that load late) meet tables that
are in one process, in member processes and on Spark's executors. The answers are known by arithmetic.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sqlfront

ROWS = 20_000
EXPECTED = {
    "SELECT v FROM t WHERE k = 777": [(77,)],
    "SELECT count(*), sum(v) FROM t": [(ROWS, ROWS // 100 * 4950)],
    "SELECT v, count(*) FROM t GROUP BY v HAVING v < 2 ORDER BY v": [(0, ROWS // 100), (1, ROWS // 100)],
    "SELECT count(*) FROM t a JOIN t b ON a.k = b.k + 1 WHERE b.v = 5": [(ROWS // 100,)],
    "SELECT regexp_replace(string(max(k)), '9+$', 'x'), round(avg(v), 1) FROM t": [("1x", 49.5)],
    "SELECT k FROM (SELECT k, row_number() OVER (ORDER BY k DESC) AS n FROM t) WHERE n = 3": [(ROWS - 3,)],
}


def ask(connection: sqlfront.Connection, name: str) -> None:
    """Make the table in the members of a connection, and compare every answer."""
    connection.execute(
        f"CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id % 100 AS v FROM range({ROWS})"
    )
    for query, expected in EXPECTED.items():
        found = connection.execute(query).fetchall()
        assert found == expected, (name, query, found)
    ((members,),) = connection.execute("SELECT count(*) FROM sys.members").fetchall()
    print(f"{name}: {len(EXPECTED)} answers right, {members} members")


def main(executors: str) -> None:
    """Ask by every launcher. ``executors``: the Python of Spark's executors, which doesn't have sqlfront: the
    driver sends the members' code."""
    assert "site-packages" in Path(sqlfront.__file__).parts, sqlfront.__file__
    for launcher, members in (("embedded", 1), ("embedded", 3), ("local", 2)):
        with sqlfront.connect(launcher=launcher, members=members) as connection:
            ask(connection, launcher)
    os.environ["PYSPARK_PYTHON"] = executors
    spark = (
        SparkSession.builder.master("local-cluster[2,2,1024]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        with sqlfront.connect(launcher="spark", members=2, spark=spark) as connection:
            ask(connection, "spark")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
