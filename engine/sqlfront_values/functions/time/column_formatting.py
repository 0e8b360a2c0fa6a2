"""Formatting of columns of local times by a datetime pattern.

The text of each part of a pattern depends on a single field of the time, such as its month, of which a column
has few values. So the functions of :mod:`.formatting` write the text of each value once, and the texts are
gathered by row, into a matrix with the bytes of a row in each line.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_values
from sqlfront_values.functions.time import zone_names
from sqlfront_values.functions.time.calendar_dates import (
    Days,
    Integers,
    by_day,
    civil_from_days,
    day_of_year,
    weekday,
)
from sqlfront_values.functions.time.formatting import Formatter, Moment, formatter, letters_of
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_SECOND
from sqlfront_values.types import STRING
from sqlfront_values.zones.names import java_id

_Bytes = npt.NDArray[np.uint8]
_Mask = npt.NDArray[np.bool_]
#: Rows for which single texts take less time than tables.
_FEW: Final = 16
#: Values of a field below which a table for all of them is made, however few occur.
_MANY: Final = 1 << 16


def format_local(
    local: Integers, offsets: Integers, zone: str, pattern: str, valid: _Mask | None = None
) -> pa.Array:
    """Return the texts of local times of the time zone ``zone``, in microseconds since 1970; ``offsets`` are
    the clock's distances from UTC. ``valid`` is False where the result is null; None = no nulls. Raises the
    errors of :func:`~sqlfront_values.functions.time.formatting.formatter`."""
    parts = letters_of(pattern)
    if len(local) < _FEW or (valid is not None and not valid.any()):
        write = formatter(pattern)
        known = [True] * len(local) if valid is None else valid.tolist()
        rows = zip(known, local.tolist(), offsets.tolist(), strict=True)
        return from_values(
            [write(Moment(clock, offset, zone)) if is_known else None for is_known, clock, offset in rows],
            STRING,
        )
    if valid is not None:
        local, offsets = np.where(valid, local, 0), np.where(valid, offsets, 0)
    fields = _Fields(local, offsets, zone)
    return _joined([_texts(fields, letter, write, zone) for letter, write in parts], len(local), valid)


class _Fields:
    """The fields of local times, each computed when the first part of a pattern asks for it."""

    def __init__(self, local: Integers, offsets: Integers, zone: str) -> None:
        self.local = local
        self.offsets = offsets
        self.zone = zone

    @cached_property
    def days(self) -> Integers:
        return self.local // MICROS_PER_DAY

    @cached_property
    def seconds(self) -> Integers:
        """The seconds of the day."""
        return (self.local - self.days * MICROS_PER_DAY) // MICROS_PER_SECOND

    def of(self, letter: str) -> Days:
        """Return the field on whose values the text of a letter depends; zeros for literals and for
        zones' identifiers and generic names."""
        if letter in _DATES:
            return by_day(_DATES[letter], self.days)
        if letter in "HkKha":
            return self.seconds // 3600
        if letter == "m":
            return self.seconds // 60 % 60
        if letter == "s":
            return self.seconds % 60
        if letter == "S":
            return self.local % MICROS_PER_SECOND // 1000
        if letter == "n":
            return self.local % 1000
        if letter == "z" and (names := zone_names.names_of(java_id(self.zone))) is not None:
            return names.is_standard(self.local, self.offsets).astype(np.int64)
        return self.offsets if letter in "OXxZ" else np.zeros(len(self.local), np.int64)


_DATES: Final[dict[str, Callable[[Days], Days]]] = {
    "y": lambda days: civil_from_days(days)[0],
    "G": lambda days: (civil_from_days(days)[0] > 0).astype(np.int64),
    **dict.fromkeys("MLqQ", lambda days: civil_from_days(days)[1]),
    **dict.fromkeys("dF", lambda days: civil_from_days(days)[2]),
    "D": day_of_year,
    "E": weekday,
}


def _texts(fields: _Fields, letter: str, write: Formatter, zone: str) -> tuple[_Bytes, Integers, Integers]:
    """Return the distinct texts of a part of the pattern, a line of bytes each, their lengths, and for each
    row the number of its text."""
    numbers, rows = _distinct(fields.of(letter))
    texts = [
        write(Moment(int(fields.local[row]), int(fields.offsets[row]), zone)).encode()
        for row in rows.tolist()
    ]
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max())
    table = np.frombuffer(b"".join(text.ljust(width, b"\0") for text in texts), np.uint8)
    return table.reshape(len(texts), width), lengths, numbers


def _distinct(values: Days) -> tuple[Integers, Integers]:
    """Return for each row the number of its value, and for each number a row that has the value."""
    first = int(values.min())
    span = int(values.max()) - first + 1
    if span > _MANY:
        _, rows, numbers = np.unique(values, return_index=True, return_inverse=True)
        return numbers, rows
    places = values - first
    row_of = np.full(span, -1, np.int64)
    row_of[places] = np.arange(len(values))
    known = row_of >= 0
    return (np.cumsum(known) - 1)[places], row_of[known]


def _joined(parts: list[tuple[_Bytes, Integers, Integers]], count: int, valid: _Mask | None) -> pa.Array:
    """Return the texts of the rows, joined of the texts of all parts."""
    matrix = np.concatenate([table[numbers] for table, _, numbers in parts], axis=1)
    width = matrix.shape[1]
    if all(int(lengths.min()) == table.shape[1] for table, lengths, _ in parts):
        offsets = np.arange(count + 1) * width
    else:
        used = [(np.arange(table.shape[1]) < lengths[:, None])[numbers] for table, lengths, numbers in parts]
        mask = np.concatenate(used, axis=1)
        offsets = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        matrix = matrix[mask]
    buffers = [bitmap(valid), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(matrix)]
    return pa.Array.from_buffers(STRING, count, buffers)
