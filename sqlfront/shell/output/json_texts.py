"""The JSON texts of a batch's rows, which ``json`` and ``jsonl`` share.

Values without a form in JSON are strings: decimals with all digits, ``NaN`` and ``Infinity`` as in Spark's
``to_json``, dates and timestamps in ISO form (a TIMESTAMP in UTC), binary as hex, intervals as Spark's CAST
to STRING writes them. A map is an object whose keys are the texts of the map's keys.
"""

import math
from collections.abc import Iterator
from json.encoder import encode_basestring

import numpy as np
import pyarrow as pa

from sqlfront.results.boxes import column_texts, elements, spans, strings
from sqlfront.shell.output.texts import characters, joined, pieces, rows_joined, with_nulls
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import field_keys, from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.columns.json_escapes import escaped
from sqlfront_values.settings import Settings
from sqlfront_values.types import DOUBLE, STRING, TIMESTAMP_NTZ, is_string


def objects(
    batch: pa.RecordBatch, schema: pa.Schema, settings: Settings, before: str, behind: str
) -> Iterator[memoryview]:
    """Yield the batch's rows as JSON, in pieces of bytes that are to be joined. Each row is an object,
    between the texts ``before`` and ``behind``. ``schema`` has the logical types of the
    columns. Columns of the same name are members of the same name in the object."""
    for piece in pieces(batch):
        parts: list[pa.Array | str] = [before + "{"]
        for position, (column, field) in enumerate(zip(piece.columns, schema, strict=True)):
            name = f"{', ' if position else ''}{encode_basestring(field.name)}: "
            parts += [name, values(column, field.type, settings)]
        yield from rows_joined([*parts, "}" + behind], "", "null")


def values(column: pa.Array, kind: pa.DataType, settings: Settings) -> pa.Array:
    """Return the JSON texts of the values in a result's column of the logical type ``kind``; nulls stay
    null."""
    if pa.types.is_nested(kind):
        return with_nulls(_nested(column, kind, settings), column)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return strings(column, kind, settings)
    if pa.types.is_floating(kind):
        return _numbers(column, settings)
    if is_string(kind):
        return _quoted(escaped(column, encode_basestring))
    if pa.types.is_timestamp(kind):
        return _moments(column, settings)
    if pa.types.is_binary(kind):
        bytes_of = column.to_pylist()
        return _quoted(from_values([None if value is None else value.hex() for value in bytes_of], STRING))
    return _quoted(strings(column, kind, settings))


def _quoted(texts: pa.Array) -> pa.Array:
    return joined(['"', texts, '"'])


def _numbers(column: pa.Array, settings: Settings) -> pa.Array:
    """Return floats and doubles as JSON numbers, with the fewest digits that are read back as the same value;
    NaN and infinities are JSON strings. Java writes other exponents than Python, so that very large and very
    small values are written by Python, all others as Spark casts them to strings."""
    kind, numbers = column.type, numpy_view(column)
    magnitudes = np.abs(numbers.astype(np.float64, copy=False))
    odd = ~(((magnitudes >= 1e-3) & (magnitudes < 1e7)) | (magnitudes == 0))
    valid = valid_mask(column)
    if valid is not None:
        odd &= valid
    if not odd.any():
        return strings(column, kind, settings)
    zeros = np.where(odd, numbers.dtype.type(0), numbers)
    plain = strings(from_numpy(zeros, kind, valid), kind, settings)
    rare = numbers[odd]
    shortest = rare.tolist() if kind == DOUBLE else [float(str(value)) for value in rare]
    written = [_number(value) for value in shortest]
    return pc.replace_with_mask(plain, from_numpy(odd, pa.bool_()), from_values(written, STRING))


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _moments(column: pa.Array, settings: Settings) -> pa.Array:
    """Return timestamps as JSON strings in ISO form, with six digits of a fraction or none. A TIMESTAMP is in
    UTC with the offset ``+00:00``, a TIMESTAMP_NTZ has no offset."""
    texts = strings(column.view(TIMESTAMP_NTZ), TIMESTAMP_NTZ, settings)
    texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if b"." in characters(texts):
        # Up to six digits, as Spark leaves out zeros at the end.
        for digits in range(1, 6):
            pattern = rf"(\.[0-9]{{{digits}}})$"
            texts = pc.replace_substring_regex(texts, pattern, rf"\1{'0' * (6 - digits)}")
    return joined(['"', texts, '"' if column.type.tz is None else '+00:00"'])


def _nested(array: pa.Array, kind: pa.DataType, settings: Settings) -> list[str]:
    """Return the JSON text of each value of an array of type ``kind``, at any depth of arrays, maps and
    structs; a null is ``null``."""
    if pa.types.is_list(kind):
        items = _nested(elements(array, array.values), kind.value_type, settings)
        shown = [f"[{', '.join(items[start:end])}]" for start, end in spans(array)]
    elif pa.types.is_map(kind):
        keys = map(encode_basestring, column_texts(elements(array, array.keys), kind.key_type, settings))
        items = _nested(elements(array, array.items), kind.item_type, settings)
        pairs = [f"{key}: {item}" for key, item in zip(keys, items, strict=True)]
        shown = [f"{{{', '.join(pairs[start:end])}}}" for start, end in spans(array)]
    elif pa.types.is_struct(kind):
        names = [f"{encode_basestring(name)}: " for name in field_keys(kind)]
        fields = [
            _nested(child, field.type, settings) for child, field in zip(array.flatten(), kind, strict=True)
        ]
        rows = zip(*fields, strict=True) if fields else [()] * len(array)
        shown = [
            f"{{{', '.join([name + text for name, text in zip(names, row, strict=True)])}}}" for row in rows
        ]
    else:
        return ["null" if text is None else text for text in values(array, kind, settings).to_pylist()]
    nulls = array.is_null().to_pylist()
    return ["null" if null else text for null, text in zip(nulls, shown, strict=True)]
