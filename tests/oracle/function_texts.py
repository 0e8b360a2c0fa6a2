"""Writes Spark's descriptions of its functions into the planner's file, which DESCRIBE FUNCTION reads.

python -m tests.oracle.function_texts
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from sqlfront_planner.binder.names import function_texts
from sqlfront_planner.binder.names.function_texts import FunctionText

_PREFIXES = {"Class: ": "class_name", "Usage: ": "usage", "Extended Usage:": "extended"}


def text_of(name: str, lines: list[str]) -> FunctionText:
    """The description in the rows of DESCRIBE FUNCTION EXTENDED."""
    given = {
        field: line.removeprefix(prefix)
        for line in lines
        for prefix, field in _PREFIXES.items()
        if line.startswith(prefix)
    }
    return FunctionText(name, **given)


def described(spark: SparkSession) -> list[FunctionText]:
    """The descriptions of all functions that Spark lists, by name."""
    found = []
    for (name,) in spark.sql("SHOW FUNCTIONS").collect():
        quoted = f"`{name.replace('`', '``')}`"
        rows = spark.sql(f"DESCRIBE FUNCTION EXTENDED {quoted}").collect()
        found.append(text_of(name, [row[0] for row in rows]))
    return sorted(found, key=lambda text: text.name)


def main() -> None:
    """Ask a Spark session of its own, and write the file."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    lines = map(msgspec.json.encode, described(spark))
    path = Path(function_texts.__file__).with_name(function_texts.FILE)
    path.write_bytes(b"\n".join(lines) + b"\n")


if __name__ == "__main__":
    main()
