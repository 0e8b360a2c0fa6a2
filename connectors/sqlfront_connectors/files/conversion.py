"""Texts of a file into typed columns, by the engine's own casts, so that a field means what ``CAST(field AS
type)`` means."""

from collections.abc import Mapping

import pyarrow as pa

from sqlfront_connectors.files.options import fails_fast
from sqlfront_engine import kernels as pc
from sqlfront_engine.errors import DataError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import STRING, ddl


def malformed(path: str, what: str) -> DataError:
    """Spark's error for a record that doesn't parse, in mode FAILFAST."""
    return DataError(
        f"Malformed records are detected in record parsing of {path}: {what}. Parse Mode: FAILFAST.",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
        sqlstate="22023",
    )


def try_cast(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """``TRY_CAST(values AS data_type)`` of strings, in physical form."""
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    return evaluate(Cast(data_type, Column(STRING, 0), safe=True), batch, Settings())


def convert(texts: pa.Array, field: pa.Field, options: Mapping[str, str], path: str) -> pa.Array:
    """The column in the field's type. What doesn't convert is null, or with mode FAILFAST an error."""
    if field.type == STRING:
        return texts
    converted = try_cast(texts, field.type)
    if fails_fast(options) and converted.null_count > texts.null_count:
        bad = texts.filter(pc.and_(pc.is_null(converted), pc.is_valid(texts)))[0].as_py()
        raise malformed(path, f"{bad!r} is no {ddl(field.type)} for column `{field.name}`")
    return converted
