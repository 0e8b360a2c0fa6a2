"""Rows as Python values."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Final, SupportsIndex
from zoneinfo import ZoneInfo

import pyarrow as pa

from sqlfront_engine.arrays import to_python

#: Rows that are turned into Python objects at a time.
SLICE_ROWS: Final = 1024


class Row(tuple[object, ...]):  # noqa: SLOT001 - a tuple takes no slots that hold something
    """A row of a result: a tuple whose values are also attributes and items by column name, as PySpark's
    ``Row``.

    >>> row = Row(("id", "name"), (7, "x"))
    >>> row, row.name, row["id"], row.asDict()
    (Row(id=7, name='x'), 'x', 7, {'id': 7, 'name': 'x'})
    """

    _names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[object]) -> "Row":
        """``names`` and ``values`` have the same length; of equal names the first is found by name."""
        row = super().__new__(cls, values)
        row._names = tuple(names)
        return row

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        names = self.__dict__.get("_names", ())
        if name in names:
            return self[names.index(name)]
        raise AttributeError(f"the row has no column {name!r}; its columns are {', '.join(names)}")

    def __getitem__(self, key: SupportsIndex | slice | str) -> object:  # type: ignore[override]
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(f"the row has no column {key!r}; its columns are {', '.join(self._names)}")
            return super().__getitem__(self._names.index(key))
        return super().__getitem__(key)

    def asDict(self) -> dict[str, object]:  # noqa: N802 - PySpark's name
        """The values by column name."""
        return dict(zip(self._names, self, strict=True))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"Row({inner})"

    def __reduce__(self) -> tuple[object, ...]:
        return (Row, (self._names, tuple(self)))


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces that become Python rows at a time."""
    for start in range(0, batch.num_rows, SLICE_ROWS):
        yield batch.slice(start, SLICE_ROWS)


def tuples(batch: pa.RecordBatch, zone: ZoneInfo, *, naive: bool) -> list[tuple[object, ...]]:
    """The rows as tuples of Python values. TIMESTAMP comes as a datetime in ``zone``: aware, or naive as
    PySpark gives it."""
    if batch.num_columns == 0:
        return [()] * batch.num_rows
    columns = [
        _in_zone(to_python(column), zone, naive) if _is_instant(column.type) else to_python(column)
        for column in batch.columns
    ]
    return list(zip(*columns, strict=True))


def _is_instant(data_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(data_type) and data_type.tz is not None


def _in_zone(values: list[object], zone: ZoneInfo, naive: bool) -> list[object]:
    moments: list[object] = []
    for value in values:
        if isinstance(value, datetime.datetime):
            value = value.astimezone(zone)
            moments.append(value.replace(tzinfo=None) if naive else value)
        else:
            moments.append(value)
    return moments
