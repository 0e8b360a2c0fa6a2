"""Casts of columns of texts to other types, with null for a text that is no value of the type."""

import pyarrow as pa

from sqlfront_values.casts.pairs import compile_cast
from sqlfront_values.settings import DEFAULT_SETTINGS, Settings
from sqlfront_values.types import STRING


def try_cast(texts: pa.Array, data_type: pa.DataType, zone: str | None = None) -> pa.Array:
    """Return ``TRY_CAST(texts AS data_type)`` of an array of strings, in physical form: null for texts that
    are no values of the type. ``zone``: the session's time zone, None = UTC."""
    settings = DEFAULT_SETTINGS if zone is None else Settings(time_zone=zone)
    return compile_cast(STRING, data_type, safe=True, settings=settings)(texts)
