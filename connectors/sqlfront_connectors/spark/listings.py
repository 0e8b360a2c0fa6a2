"""Tables and columns in the form in which ``spark.catalog`` lists them."""

from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import ddl

if TYPE_CHECKING:
    from pyspark.sql import catalog as spark_catalog
else:
    spark_catalog = lazy_module("pyspark.sql.catalog")


def table_listing(name: str, database: str | None, *, is_view: bool) -> "spark_catalog.Table":
    """A table or view of sqlfront's. ``database`` None: a temporary view."""
    if database is None:
        return spark_catalog.Table(name, None, None, None, "TEMPORARY", True)
    kind = "VIEW" if is_view else "MANAGED"
    return spark_catalog.Table(name, "spark_catalog", [database], None, kind, False)


def column_listings(schema: pa.Schema, buckets: tuple[int, ...]) -> "list[spark_catalog.Column]":
    """The columns of a table or view with the logical ``schema``; ``buckets`` are the ordinals of the
    partition key. Every column may hold nulls."""
    return [
        spark_catalog.Column(field.name, None, ddl(field.type), True, False, place in buckets, False)
        for place, field in enumerate(schema)
    ]
