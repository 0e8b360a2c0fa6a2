"""Fill in or check the stored answers to TPC-H with Spark.

python -m tests.tpch.complete            store the answers that are missing
python -m tests.tpch.complete --check    change nothing; exit 1 where Spark answers otherwise
"""

import sys

from tests.oracle.answers import Answer, Failure, difference
from tests.oracle.spark import SparkOracle, SparkSubject
from tests.tpch.answers import NAMES, expected, is_ordered, is_stored, query, store
from tests.tpch.data import TABLES, tpch_folder


def main(arguments: list[str]) -> int:
    """Exit status 0, or 1 if an answer differs."""
    check, problems = arguments == ["--check"], 0
    with SparkOracle() as spark:
        create_views(spark.begin_file())
        for name in NAMES:
            if check or not is_stored(name):
                answer = spark.answer(query(name))
                problem = _checked(name, answer) if check else _stored(name, answer)
                problems += problem is not None
                print(f"{name}: {problem or 'ok'}", flush=True)
    return 1 if problems else 0


def create_views(spark: SparkSubject) -> None:
    """Make the tables views over their files."""
    for table in TABLES:
        path = tpch_folder() / f"{table}.parquet"
        made = spark.answer(f"CREATE TEMPORARY VIEW {table} USING parquet OPTIONS (path '{path}')")
        assert not isinstance(made, Failure), made


def _checked(name: str, answer: Answer | Failure) -> str | None:
    return difference(expected(name), answer, ordered=is_ordered(name))


def _stored(name: str, answer: Answer | Failure) -> str | None:
    if isinstance(answer, Failure):
        return answer.message
    store(name, answer)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
