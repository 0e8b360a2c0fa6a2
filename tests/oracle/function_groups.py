"""Writes Spark's groups of functions into the file from which the docs' list of functions is made.

python -m tests.oracle.function_groups
"""

import json

from pyspark.sql import SparkSession

from docs_build.functions import GROUPS_FILE


def asked(spark: SparkSession) -> dict[str, str]:
    """The group of each built-in function, by name, sorted; from where Spark's own docs take the groups."""
    utilities = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils  # type: ignore[union-attr]
    found = {info.getName(): info.getGroup() for info in utilities.listBuiltinFunctionInfos()}
    return {name: group for name, group in sorted(found.items()) if group}


def main() -> None:
    """Ask a Spark session of its own, and write the file."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    GROUPS_FILE.write_text(json.dumps(asked(spark), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
