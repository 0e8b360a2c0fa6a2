"""Conversion of a file's texts into typed columns by the engine's own casts, so that a field is read as
``CAST(field AS type)`` would."""

import pyarrow as pa

from sqlfront_values.errors import DataError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING


def malformed(path: str, what: str) -> DataError:
    """Return Spark's error for a record that doesn't parse, in mode FAILFAST. ``path``: the file. ``what``:
    the record or the reason, for the message."""
    return DataError(
        f"Malformed records are detected in record parsing of {path}: {what}. Parse Mode: FAILFAST.",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )


def try_cast(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return ``TRY_CAST(values AS data_type)`` of an array of strings, in physical form: null for texts that
    are no values of the type."""
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    return evaluate(Cast(data_type, Column(STRING, 0), safe=True), batch, Settings())
