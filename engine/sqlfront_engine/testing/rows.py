"""Batches made from rows, and comparisons of rows."""

from collections.abc import Sequence
from math import copysign, isclose, isnan
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.types import DICTIONARY_STRING, logical, physical

Row = tuple[object, ...]

#: Relative tolerance for float and double results: the order of additions is free.
FLOAT_TOLERANCE: Final = 1e-9


def batch_of(schema: pa.Schema, rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """Return a batch in physical form with these rows of Python values. ``schema`` has the logical types.

    >>> batch_of(pa.schema([("a", pa.int32())]), [(1,), (None,)]).to_pydict()
    {'a': [1, None]}
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    types = [physical(field.type) for field in schema]
    arrays = [
        from_values(values, field.type).cast(data_type)
        for values, field, data_type in zip(columns, schema, types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(zip(schema.names, types, strict=True))))


def to_physical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with every column in physical form; dictionary-encoded strings stay unchanged."""
    types = [physical(column.type) for column in batch.columns]
    if all(column.type == data_type for column, data_type in zip(batch.columns, types, strict=True)):
        return batch
    columns = [column.cast(data_type) for column, data_type in zip(batch.columns, types, strict=True)]
    schema = pa.schema(list(zip(batch.schema.names, types, strict=True)))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def check_batch(batch: pa.RecordBatch) -> None:
    """Raise AssertionError unless the batch is well-formed and its columns are in physical form."""
    assert isinstance(batch, pa.RecordBatch), f"yielded a {type(batch).__name__}"
    batch.validate(full=True)
    for field in batch.schema:
        plain = physical(logical(field.type))
        proper = field.type == plain or (field.type == DICTIONARY_STRING and pa.types.is_string(plain))
        assert proper, f"column {field.name!r} travels as {field.type}, not {plain}"


def check_rows(
    batches: Sequence[pa.RecordBatch],
    expected: pa.Table | Sequence[Sequence[object]],
    *,
    ordered: bool = False,
) -> None:
    """Raise AssertionError unless the batches hold the expected rows, in any order unless ``ordered``. Floats
    are compared with a relative tolerance of 1e-9, all other values exactly (:func:`same_value`); a table as
    ``expected`` also fixes column names and types."""
    if isinstance(expected, pa.Table):
        wanted_schema = [(field.name, logical(field.type)) for field in expected.schema]
        for batch in batches:
            schema = [(field.name, logical(field.type)) for field in batch.schema]
            assert schema == wanted_schema, f"columns {schema}, expected {wanted_schema}"
        wanted = rows_of(expected.to_batches())
    else:
        wanted = [tuple(row) for row in expected]
    actual = rows_of(batches)
    if not ordered:
        wanted, actual = sorted(wanted, key=_sort_key), sorted(actual, key=_sort_key)
    assert len(actual) == len(wanted), f"{len(actual)} rows, expected {len(wanted)}: {_shorten(actual)}"
    for position, (row, wanted_row) in enumerate(zip(actual, wanted, strict=True)):
        assert same_value(row, wanted_row), f"row {position} is {row}, expected {wanted_row}"


def rows_of(batches: Sequence[pa.RecordBatch]) -> list[Row]:
    """Return all rows of the batches as tuples of Python values."""
    rows: list[Row] = []
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        rows.extend(zip(*columns, strict=True) if columns else [()] * batch.num_rows)
    return rows


def same_value(left: object, right: object) -> bool:
    """Return whether two values are equal: of the same type, floats within a relative tolerance of 1e-9 (NaN
    equals NaN, 0.0 differs from -0.0), nested values element by element."""
    if isinstance(left, float) and isinstance(right, float):
        if isnan(left) or isnan(right):
            return isnan(left) and isnan(right)
        if left == right == 0.0:
            return copysign(1, left) == copysign(1, right)
        return left == right or isclose(left, right, rel_tol=FLOAT_TOLERANCE)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


def _sort_key(row: Row) -> tuple[object, ...]:
    """Return a key by which rows are sorted so that almost equal rows get the same position: floats decide
    only between rows that are equal otherwise."""
    kinds = tuple(type(value).__name__ for value in row)
    exact = tuple(repr(value) for value in row if not isinstance(value, float))
    floats = tuple(
        (isnan(value), 0.0 if isnan(value) else value) for value in row if isinstance(value, float)
    )
    return (kinds, exact, floats)


def _shorten(rows: Sequence[Row]) -> str:
    text = repr(rows)
    return text if len(text) <= 1000 else f"{text[:1000]}..."
