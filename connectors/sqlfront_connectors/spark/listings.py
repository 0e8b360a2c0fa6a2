"""Descriptions of sqlfront's tables and columns as the objects that PySpark's ``spark.catalog`` returns."""

from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import ddl

if TYPE_CHECKING:
    from pyspark.sql import catalog as spark_catalog
else:
    spark_catalog = lazy_module("pyspark.sql.catalog")


def table_listing(name: str, database: str | None, *, is_view: bool) -> "spark_catalog.Table":
    """Return the description of a table or view of sqlfront, as the methods of PySpark's ``spark.catalog``
    return it. ``database``: None for a temporary view."""
    if database is None:
        return spark_catalog.Table(name, None, None, None, "TEMPORARY", True)
    kind = "VIEW" if is_view else "MANAGED"
    return spark_catalog.Table(name, "spark_catalog", [database], None, kind, False)


def column_listings(schema: pa.Schema, buckets: tuple[int, ...]) -> "list[spark_catalog.Column]":
    """Return the descriptions of the columns of a table or view, as PySpark's ``spark.catalog.listColumns``
    returns them, all as nullable. ``schema``: the logical schema. ``buckets``: the ordinals of the partition
    key's columns, which are described as bucket columns."""
    return [
        spark_catalog.Column(field.name, None, ddl(field.type), True, False, place in buckets, False)
        for place, field in enumerate(schema)
    ]
