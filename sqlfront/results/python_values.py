"""Conversion of rows between Arrow batches and Python values of PySpark's types."""

import datetime
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from sqlfront.results import variant_value
from sqlfront.results.row import Row
from sqlfront_values import evaluation_errors as failures
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.arrow.exchange import is_variant_struct
from sqlfront_values.columns import batches
from sqlfront_values.errors import DataError

#: Rows that become Python objects at a time. The rows' conversion holds the interpreter's lock, so that a
#: larger slice delays other threads; a smaller slice pays the cost of a call more often.
SLICE_ROWS: Final = 1024
_CLOCK: Final = pa.time64("us")


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split the batch into slices of at most :data:`SLICE_ROWS` rows, so that :func:`tuples` makes few rows
    at a time."""
    for start in range(0, batch.num_rows, SLICE_ROWS):
        yield batch.slice(start, SLICE_ROWS)


def tuples(batch: pa.RecordBatch, zone: datetime.tzinfo | None, *, naive: bool) -> list[tuple[object, ...]]:
    """Return the rows as tuples of Python values: a struct is a :class:`Row`, a map a dict, an array a list,
    a variant a :class:`~sqlfront.results.variant_value.VariantVal`. A TIMESTAMP is a datetime in ``zone``
    (None = this machine's): without ``tzinfo`` if ``naive``, as in PySpark, else with it. Raises DataError
    for a date or timestamp beyond Python's years."""
    if batch.num_columns == 0:
        return [()] * batch.num_rows
    values = _Values(zone, naive)
    try:
        columns = [values.of(column) for column in batch.columns]
    except OverflowError as error:
        raise _too_far() from error
    except (MemoryError, UnicodeDecodeError) as error:
        raise failures.foreign_error(error, "the result's rows") from error
    return list(zip(*columns, strict=True))


def _too_far() -> DataError:
    return DataError(
        "The result has a date or timestamp outside of the years 1 to 9999, for which Python has no"
        " value. Cast it to string, or read the result as Arrow."
    )


def in_zone(
    values: tuple[object, ...], places: Sequence[int], zone: datetime.tzinfo | None, *, naive: bool
) -> tuple[object, ...]:
    """Return the row ``values`` with its aware datetimes at the positions ``places`` converted to ``zone``
    (None = this machine's), without ``tzinfo`` if ``naive``. Raises DataError for a timestamp beyond Python's
    years."""
    changed = list(values)
    try:
        for place in places:
            value = changed[place]
            if isinstance(value, datetime.datetime):
                moment = value.astimezone(zone)
                changed[place] = moment.replace(tzinfo=None) if naive else moment
    except OverflowError as error:
        raise _too_far() from error
    return tuple(changed)


def rows_batch(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> pa.RecordBatch:
    """Return a batch with the columns of ``schema`` and the given rows of Python values. Each value has the
    form that a :class:`~sqlfront_values.expressions.Literal` of the column's type stores."""
    listed = list(rows)
    columns = [from_values([row[place] for row in listed], kind) for place, kind in enumerate(schema.types)]
    return batches.make_batch(columns, schema.names, len(listed))


class _Values:
    """A converter from Arrow arrays to lists of Python values; ``zone`` and ``naive`` as of
    :func:`tuples`."""

    def __init__(self, zone: datetime.tzinfo | None, naive: bool) -> None:
        self._zone = zone
        self._naive = naive

    def of(self, column: pa.Array) -> list[object]:
        """Return the values of a column of any logical type as Python values: a struct is a :class:`Row`, a
        map a dict, an array a list."""
        data_type = column.type
        if pa.types.is_timestamp(data_type) and data_type.tz is not None:
            return [self._in_zone(value) for value in to_python(column)]
        if pa.types.is_time64(data_type):
            # Python's times have microseconds; Spark cuts off the rest as well.
            return column.cast(_CLOCK, safe=False).to_pylist()
        if is_variant_struct(data_type):
            return variants(column)
        if pa.types.is_struct(data_type):
            return _unless_null(column, self._structs(column))
        if pa.types.is_map(data_type):
            return _unless_null(column, self._maps(column))
        if pa.types.is_list(data_type):
            return _unless_null(column, self._lists(column, column.values))
        return to_python(column)

    def _in_zone(self, value: object) -> object:
        if not isinstance(value, datetime.datetime):
            return value
        moment = value.astimezone(self._zone)
        return moment.replace(tzinfo=None) if self._naive else moment

    def _structs(self, column: pa.StructArray) -> list[object]:
        names = tuple(field.name for field in column.type)
        if not names:
            return [Row((), ()) for _ in range(len(column))]
        fields = [self.of(column.field(place)) for place in range(len(names))]
        return [Row(names, values) for values in zip(*fields, strict=True)]

    def _maps(self, column: pa.MapArray) -> list[object]:
        keys, items = self._lists(column, column.keys), self._lists(column, column.items)
        try:
            return [dict(zip(*pair, strict=True)) for pair in zip(keys, items, strict=True)]
        except TypeError as error:
            raise DataError(
                "The result has a map whose keys are arrays or maps, for which Python has no dict. Read the"
                " result as Arrow."
            ) from error

    def _lists(self, column: pa.ListArray, elements: pa.Array) -> list[list[object]]:
        """Return the elements of each row's list. ``elements``: the array with the elements of all lists."""
        offsets = column.offsets.to_pylist()
        first, last = offsets[0], offsets[-1]
        values = self.of(elements.slice(first, last - first))
        return [values[start - first : end - first] for start, end in itertools.pairwise(offsets)]


def variants(column: pa.StructArray) -> list[object]:
    """Return the values of a result's column of variants, a struct of their two parts, as
    :class:`~sqlfront.results.variant_value.VariantVal`; null is None."""
    values, metadata = (column.field(name).to_pylist() for name in ("value", "metadata"))
    found = [variant_value.VariantVal(*pair) for pair in zip(values, metadata, strict=True)]
    return _unless_null(column, found)


def _unless_null(column: pa.Array, values: Sequence[object]) -> list[object]:
    if column.null_count == 0:
        return list(values)
    valid = column.is_valid().to_pylist()
    return [value if known else None for value, known in zip(values, valid, strict=True)]
