"""Ask Spark for the messages of all failing records, and store them: see the package."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.answers import Failure
from tests.oracle.errors import stored
from tests.oracle.slt import SQLFRONT, Record
from tests.oracle.spark import DATABASE, SparkOracle


def _asked(spark: SparkOracle) -> Iterator[tuple[Record, str]]:
    for _, records in stored.records():
        spark.begin_file()
        for record in records:
            if record.only == SQLFRONT or (record.is_query and not stored.fails(record)):
                continue
            outcome = spark.answer(record.sql)
            if record.is_query and isinstance(outcome, Failure):
                # The database of the session has another name here.
                yield record, stored.words(outcome.message).replace(f"`{DATABASE}`", "`default`")


def main() -> None:
    """Write the stored messages anew."""
    with SparkOracle() as spark:
        found = [*_asked(spark)]
    stored.write(found)
    print(f"{len(found)} messages")


if __name__ == "__main__":
    main()
