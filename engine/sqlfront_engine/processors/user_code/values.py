"""Conversions between batches in physical form and the forms of user code: Python values, or batches of
logical types."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from numbers import Integral
from typing import Final, Self, cast

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_dtype, to_python, without_validity
from sqlfront_values.arrow.exchange import exported, exported_schema, exported_type, imported
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DICTIONARY_STRING,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    ddl,
    holds_own,
    is_integral,
    physical,
)

#: Makes the error for a value that doesn't fit.
Refuse = Callable[[str], Exception]

#: Types and classes: values of exactly this class are unchanged by a way through a column of the type.
_UNCHANGED: Final[dict[pa.DataType, type]] = {STRING: str, BOOLEAN: bool, DOUBLE: float, BINARY: bytes}
#: Types and classes: columns of the type hold values of exactly this class unless the values overflow.
_QUICK: Final[dict[pa.DataType, type]] = {
    **_UNCHANGED,
    TINYINT: int,
    SMALLINT: int,
    INT: int,
    BIGINT: int,
    FLOAT: float,
}
_NOT_FITTING: Final = (pa.ArrowException, OverflowError, ValueError, TypeError, ArithmeticError)


def to_logical(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch in physical form as a batch for user code: each column in the logical type that
    ``schema`` states at its position, with the name stated there. Interval columns get Arrow's own interval
    types instead (:func:`~sqlfront_values.arrow.exchange.exported_type`). A batch without columns is
    returned unchanged."""
    if not batch.num_columns:
        return batch
    columns = [_logical(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=exported_schema(schema))


def _logical(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    if column.type == data_type:
        return column
    return exported(column, data_type) if holds_own(data_type) else column.cast(data_type)


def to_physical(batch: pa.RecordBatch, schema: pa.Schema, refuse: Refuse) -> pa.RecordBatch:
    """Convert a batch that user code has returned to physical form. Its columns must be the columns of
    ``schema``, in the logical types or in another Arrow type for the same values. Otherwise raises the error
    that ``refuse`` returns for a description of the problem."""
    if batch.schema.names != schema.names:
        raise refuse(
            f"a batch has the columns {', '.join(batch.schema.names)}, not {', '.join(schema.names)}"
        )
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        if not _is_form(column.type, field.type):
            raise refuse(f"column {field.name!r} is {column.type}, not {ddl(field.type)}")
        columns.append(_physical(without_validity(column), field.type))
    return make_batch(columns, schema.names, batch.num_rows)


def _is_form(given: pa.DataType, stated: pa.DataType) -> bool:
    if pa.types.is_dictionary(given) and stated == STRING:
        return bool(given.value_type == STRING)
    return given in (stated, physical(stated), exported_type(stated))


def _physical(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    form = physical(data_type)
    if holds_own(data_type):
        return imported(column, data_type) if column.type == exported_type(data_type) else column
    if column.type == form or column.type == DICTIONARY_STRING:
        return column
    return column.cast(form)


def column_of(values: Sequence[object], data_type: pa.DataType, refuse: Refuse) -> pa.Array:
    """Convert Python values (None = null) to a column of the logical type ``data_type``, in physical form.
    Raises the error that ``refuse`` returns for a value that would lose a part: a float is no int, a str no
    number, a decimal has to fit."""
    quick = _QUICK.get(data_type)
    try:
        if quick is not None and _only(values, quick):
            if quick in (str, bytes) or None in values:
                return from_values(values, data_type)
            return from_numpy(np.array(values, numpy_dtype(data_type)), data_type)
        column = _physical(pa.array(values, exported_type(data_type)), data_type)
        for value in values:
            if _loses(value, data_type):
                raise ValueError("the conversion would lose a part")
        return column
    except _NOT_FITTING as error:
        raise refuse(
            f"{_culprit(values, data_type)} is not a value of type {ddl(data_type)}: {error}"
        ) from error


def settled(values: list[object], data_type: pa.DataType, refuse: Refuse) -> list[object]:
    """Return the values as they would be read from a column of the logical type after they were written to
    it, such as an int as a float for DOUBLE. Raises the error that ``refuse`` returns for a value that
    doesn't fit the type."""
    unchanged = _UNCHANGED.get(data_type)
    if unchanged is not None and _only(values, unchanged):
        return values
    return python_values(column_of(values, data_type, refuse), data_type)


def python_values(column: pa.Array, data_type: pa.DataType) -> list[object]:
    """Return the values of a column in physical form as Python values of its logical type ``data_type``;
    None for null."""
    return to_python(_logical(column, data_type))


def _only(values: Sequence[object], kind: type) -> bool:
    """Return whether each value is None or exactly of the class ``kind``, not of a subclass."""
    return set(map(type, values)) <= {kind, type(None)}


def _culprit(values: Sequence[object], data_type: pa.DataType) -> str:
    """Return a text for messages that shows the first value which doesn't fit the type by itself."""
    for value in values:
        try:
            pa.array([value], exported_type(data_type))
            fits = not _loses(value, data_type)
        except _NOT_FITTING:
            fits = False
        if not fits:
            shown = repr(value)
            return shown if len(shown) <= 60 else f"{shown[:57]}..."
    return "a value"


def _loses(value: object, data_type: pa.DataType) -> bool:
    """Return whether pyarrow's conversion of the value to the type would drop a part of it: the fraction of
    a number, the time of a day."""
    if value is None:
        return False
    if is_integral(data_type):
        return not isinstance(value, Integral)
    if data_type == DATE:
        return isinstance(value, datetime)
    if pa.types.is_list(data_type) and isinstance(value, Iterable):
        return any(_loses(item, data_type.value_type) for item in value)
    if pa.types.is_map(data_type):
        pairs = (
            value.items() if isinstance(value, Mapping) else cast("Iterable[tuple[object, object]]", value)
        )
        return any(
            _loses(key, data_type.key_type) or _loses(item, data_type.item_type) for key, item in pairs
        )
    if pa.types.is_struct(data_type) and isinstance(value, Mapping):
        return any(_loses(value.get(field.name), field.type) for field in data_type)
    return False


class UserRows:
    """Rows for user code: for each column a list of Python values."""

    __slots__ = ("columns", "length")

    def __init__(self, columns: list[list[object]], length: int) -> None:
        self.columns = columns
        self.length = length

    @classmethod
    def of(cls, batch: pa.RecordBatch, schema: pa.Schema) -> Self:
        """Return the rows of a ``batch`` in physical form as Python values of the logical types in
        ``schema``."""
        columns = [
            python_values(column, field.type) for column, field in zip(batch.columns, schema, strict=True)
        ]
        return cls(columns, batch.num_rows)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        """Iterate over the rows as tuples."""
        return zip(*self.columns, strict=True) if self.columns else iter([()] * self.length)

    def settled(self, schema: pa.Schema, refuse: Refuse) -> "UserRows":
        """Return the rows with all values as they would be read from columns of the schema after they were
        written to them, such as an int as a float for DOUBLE. Raises the error that ``refuse`` returns for a
        value that doesn't fit."""
        pairs = zip(self.columns, schema.types, strict=True)
        return UserRows([settled(column, data_type, refuse) for column, data_type in pairs], self.length)

    def to_batch(self, schema: pa.Schema, refuse: Refuse) -> pa.RecordBatch:
        """Return the rows as a batch in physical form. Raises the error that ``refuse`` returns for a value
        that doesn't fit the schema."""
        pairs = zip(self.columns, schema.types, strict=True)
        columns = [column_of(column, data_type, refuse) for column, data_type in pairs]
        return make_batch(columns, schema.names, self.length)


def rows_of(results: list[object], width: int, refuse: Refuse) -> UserRows:
    """Convert a function's results, one per row, to rows that are kept as ``width`` Python lists, one per
    column. With ``width`` 1 each result is the row's
    value; otherwise each result has to be a tuple or list of ``width`` values. Raises the error that
    ``refuse`` returns for another result."""
    if width == 1:
        return UserRows([results], len(results))
    for result in results:
        if not isinstance(result, tuple | list) or len(result) != width:
            raise refuse(f"{width} values are expected, as a tuple, not {result!r}")
    columns = [list(column) for column in zip(*results, strict=True)] if results else [[]] * width
    return UserRows(columns, len(results))
