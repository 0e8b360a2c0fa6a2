"""The formats whose files hold variants: JSON."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError, ProgrammingError, spark_error
from sqlfront_values.types import holds_variant, sql_name

#: The formats that hold no variants in Spark either, with Spark's names.
_WITHOUT: Final = {"csv": "CSV", "orc": "ORC", "text": "Text"}


def unsupported_type(format_name: str, field: pa.Field) -> ProgrammingError:
    """Build Spark's error UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE; ``format_name`` is Spark's name of the
    format."""
    return ProgrammingError(
        f"The {format_name} datasource doesn't support the column `{field.name}` of the type "
        f'"{sql_name(field.type)}".',
        condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
    )


def check_variants(format_name: str, schema: pa.Schema, partitioned_by: Sequence[str] = ()) -> None:
    """Raise an error if a table with the logical ``schema`` can't have files of the format because of its
    variants: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, INVALID_PARTITION_COLUMN_DATA_TYPE for a column in
    ``partitioned_by``, NotSupportedError for Parquet, in which Spark has a form of its own."""
    names = {name.lower() for name in partitioned_by}
    for field in schema:
        if not holds_variant(field.type):
            continue
        if field.name.lower() in names:
            raise spark_error(
                "INVALID_PARTITION_COLUMN_DATA_TYPE",
                f'Cannot use "{sql_name(field.type)}" for partition column.',
            )
        if format_name in _WITHOUT:
            raise unsupported_type(_WITHOUT[format_name], field)
        if format_name == "parquet":
            raise NotSupportedError(f"column `{field.name}` of type {sql_name(field.type)} in Parquet files")
