"""Writing CSV files."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sqlfront_connectors.files.csv.settings import CsvSettings, csv_settings
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import STRING


def write(
    path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, str]
) -> None:
    """Write a new file: values as ``CAST(value AS STRING)`` gives them, nulls as ``nullValue``."""
    settings = csv_settings(options)
    with open(path, "w", encoding=settings.encoding, newline="") as out:
        if settings.header:
            out.write(_line(schema.names, settings))
        for batch in batches:
            columns = [
                evaluate(Cast(STRING, Column(field.type, index)), batch, Settings()).to_pylist()
                for index, field in enumerate(schema)
            ]
            out.writelines(_line(row, settings) for row in zip(*columns, strict=True))


def _line(texts: Sequence[str | None], settings: CsvSettings) -> str:
    """One record; fields are quoted where they must be, and empty strings to tell them from nulls."""
    dialect = settings.dialect
    fields = []
    for text in texts:
        if text is None:
            fields.append(dialect.null_value)
        elif not text or any(special in text for special in (dialect.sep, dialect.quote, "\n", "\r")):
            fields.append(
                dialect.quote + text.replace(dialect.quote, dialect.escape + dialect.quote) + dialect.quote
            )
        else:
            fields.append(text)
    return dialect.sep.join(fields) + "\n"
