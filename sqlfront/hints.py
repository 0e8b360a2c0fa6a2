"""Hints of errors at another setup that would help."""

from typing import Final

from sqlfront_planner.statement import is_about_jobs, is_query
from sqlfront_values.errors import NotSupportedError

#: Conditions of statements about tables and schemas of sqlfront, or that Spark refuses, too.
_NOT_SPARKS: Final = frozenset(
    f"UNSUPPORTED_FEATURE.{each}" for each in ("CATALOG_OPERATION", "DROP_DATABASE", "TABLE_OPERATION")
)


def spark_hint(error: NotSupportedError, text: str) -> str | None:
    """Return the hint that a Spark session would run the statement, and how to get a Spark session; None if
    Spark would not run the statement either."""
    if error.condition in _NOT_SPARKS or is_about_jobs(text):
        return None
    what = "the query" if is_query(text) else "the statement on Spark's own tables"
    return f"a Spark session runs {what}: connect(spark=...), or sqlfront --spark local[2] in the shell."
