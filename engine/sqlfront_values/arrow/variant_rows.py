"""Columns of variants: one byte string a row, with the variant's two parts.

The row holds the length of the metadata (4 bytes, little-endian), the metadata, and the value. Everything in
the engine that moves rows moves variants as binaries so; outside of the engine a column of variants is a
struct of both parts, as in Spark's Arrow exchange.
"""

import struct
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_values, valid_mask
from sqlfront_values.evaluation_errors import malformed_variant
from sqlfront_values.types import BINARY

#: The metadata of a variant without names.
NO_NAMES: Final = b"\x01\x00\x00"

_LENGTH: Final = struct.Struct("<I")
_WITHOUT_NAMES: Final = _LENGTH.pack(len(NO_NAMES)) + NO_NAMES


def packed(value: bytes, metadata: bytes = NO_NAMES) -> bytes:
    """Return the row for a variant's two parts.

    >>> packed(b"\\x0c\\x01").hex()
    '030000000100000c01'
    """
    if metadata == NO_NAMES:
        return _WITHOUT_NAMES + value
    return _LENGTH.pack(len(metadata)) + metadata + value


def parts(row: bytes) -> tuple[bytes, bytes]:
    """Return the value and the metadata of a row. Raises MALFORMED_VARIANT for bytes that aren't a row.

    >>> parts(packed(b"\\x0c\\x01"))
    (b'\\x0c\\x01', b'\\x01\\x00\\x00')
    """
    if len(row) < _LENGTH.size:
        raise malformed_variant()
    start = _LENGTH.size + _LENGTH.unpack_from(row)[0]
    if start > len(row):
        raise malformed_variant()
    return row[start:], row[_LENGTH.size : start]


def to_struct(array: pa.Array, form: pa.StructType) -> pa.Array:
    """Return a column of rows as the struct ``form`` of value and metadata."""
    pairs = [(b"", b"") if row is None else parts(row) for row in array.to_pylist()]
    children = [from_values([pair[place] for pair in pairs], BINARY) for place in range(2)]
    validity = [bitmap(valid_mask(array))]
    return pa.Array.from_buffers(form, len(array), validity, children=children)


def from_struct(array: pa.StructArray) -> pa.Array:
    """Return the rows of a struct column of value and metadata, such as :func:`to_struct` makes. Raises
    MALFORMED_VARIANT for a null in one of the parts."""
    names = array.type.get_field_index("value"), array.type.get_field_index("metadata")
    values, metadata = (array.field(place).cast(BINARY).to_pylist() for place in names)
    valid = valid_mask(array)
    known = np.ones(len(array), np.bool_) if valid is None else valid
    return from_values(
        [
            _row(value, names_of) if is_known else None
            for value, names_of, is_known in zip(values, metadata, known, strict=True)
        ],
        BINARY,
    )


def _row(value: bytes | None, metadata: bytes | None) -> bytes:
    if value is None or metadata is None:
        raise malformed_variant()
    return packed(value, metadata)
