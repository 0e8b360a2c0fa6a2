"""The cost of advice about copies for a query that Spark runs, and the gain of an automatic copy.

Each turn runs the same query beside a live Spark (local[2]) once per way: by ``spark.sql``, with texts that
are new each time, with advice in the reason, and from an automatic copy. The table has medians, and the ratio
of each median to that of ``spark.sql``.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from sqlfront.spark.attached import AttachedSession

#: Rows of the view that is read.
ROWS = 100_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.range(ROWS).selectExpr("id", "id % 7 AS kind").createOrReplaceTempView("events")
    with AttachedSession(spark) as advised, AttachedSession(spark) as copying:
        copying.execute("SET sqlfront.autocache = 1")
        query = "SELECT kind, count(*) AS n FROM events WHERE id >= {} GROUP BY kind"
        ways: dict[str, Callable[[int], object]] = {
            "spark.sql": lambda turn: spark.sql(query.format(0)).collect(),
            "spark.sql, a new text": lambda turn: spark.sql(query.format(1000 + turn)).collect(),
            "Spark's lane, a new text": lambda turn: advised.execute(query.format(turn)).collect(),
            "Spark's lane, with advice": lambda turn: advised.execute(query.format(0)).collect(),
            "an automatic copy": lambda turn: copying.execute(query.format(0)).collect(),
        }
        for run in ways.values():  # plans, copies, and Spark's code generation
            run(0)
            run(0)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(1, turns + 1):
            for name, run in ways.items():
                began = time.perf_counter()
                run(turn)
                seconds[name].append(time.perf_counter() - began)
    base = statistics.median(seconds["spark.sql"])
    print("| way | median ms | of spark.sql's |\n|---|---|---|")
    for name, found in seconds.items():
        median = statistics.median(found)
        print(f"| {name} | {median * 1000:.2f} | {median / base:.3f} |")
    spark.stop()


if __name__ == "__main__":
    main()
