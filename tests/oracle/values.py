"""Arrow values as text: exact, readable, one line, equal text for equal values only.

| type | text |
|---|---|
| null of any type | `NULL` |
| boolean, integers | `true`, `-1` |
| decimal | all digits of its scale, never an exponent: `1.20` |
| float, double | shortest text that reads back the same: `0.1`, `1e+20`, `-0.0`, `NaN`, `Infinity` |
| string | `'it\\'s'`, control characters and backslashes escaped |
| binary | `X'00ff'` |
| date | `2020-01-31` |
| timestamp (in UTC), timestamp_ntz | `2020-01-31 12:00:00.5` |
| day-time interval | `-1 02:03:04.5` (days hours:minutes:seconds) |
| year-month interval | `-1-2` (years-months) |
| array, struct, map | `[1, 2]`, `(1, 'a')`, `{1: 'a'}` (entries in the order of their text) |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa

NULL = "NULL"

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def rows_of(table: pa.Table) -> Iterator[tuple[str, ...]]:
    """The rows of a table, each value as text.

    >>> list(rows_of(pa.table({"a": [1, None], "b": ["x", "y"]})))
    [('1', "'x'"), ('NULL', "'y'")]
    """
    columns = [[text(scalar) for scalar in column] for column in table.columns]
    return zip(*columns, strict=True) if columns else iter([()] * table.num_rows)


def text(scalar: pa.Scalar) -> str:
    """One value as text, by the table in this module's head.

    >>> text(pa.scalar(Decimal("1.20")))
    '1.20'
    >>> text(pa.scalar([1.5, None]))
    '[1.5, NULL]'
    """
    if isinstance(scalar, pa.DictionaryScalar):
        scalar = scalar.value
    if not scalar.is_valid:
        return NULL
    kind = scalar.type
    if pa.types.is_nested(kind):
        return _nested_text(scalar)
    if pa.types.is_temporal(kind):
        return _temporal_text(scalar)
    if pa.types.is_string(kind):
        # Spark's strings may hold bytes that are no UTF-8.
        return quoted(scalar.as_buffer().to_pybytes().decode(errors="backslashreplace"))
    match scalar.as_py():
        case bool() as value:
            return str(value).lower()
        case Decimal() as value:
            return format(value, "f")
        case float() as value:
            return float_text(value, single=pa.types.is_float32(kind))
        case str() as value:
            return quoted(value)
        case bytes() as value:
            return f"X'{value.hex()}'"
        case value:
            return str(value)


def float_text(value: float, *, single: bool = False) -> str:
    """The shortest text that reads back as the same float (or double), with Spark's words for the special
    ones.

    >>> float_text(-0.0), float_text(math.nan), float_text(-math.inf), float_text(0.1)
    ('-0.0', 'NaN', '-Infinity', '0.1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(np.float32(value)) if single else repr(value)


def quoted(value: str, quote: str = "'") -> str:
    r"""A string in quotes, on one line, nothing in it invisible.

    >>> quoted("it's\n")
    "'it\\'s\\n'"
    """
    escapes = _ESCAPES | {quote: "\\" + quote} if quote == "'" else {**_ESCAPES, "'": "'", quote: quote * 2}
    if value.isprintable() and not any(map(value.__contains__, escapes)):
        return quote + value + quote
    return (
        quote
        + "".join(escapes.get(c) or (c if c.isprintable() else _unicode_escape(c)) for c in value)
        + quote
    )


def _unicode_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _nested_text(scalar: pa.Scalar) -> str:
    if isinstance(scalar, pa.MapScalar):
        entries = (tuple(entry.values()) for entry in scalar.values)
        return _joined("{", sorted(f"{text(key)}: {text(value)}" for key, value in entries), "}")
    if isinstance(scalar, pa.StructScalar):
        return _joined("(", (text(scalar[index]) for index in range(len(scalar.type))), ")")
    return _joined("[", map(text, scalar.values), "]")


def _joined(opening: str, texts: Iterable[str], closing: str) -> str:
    return opening + ", ".join(texts) + closing


def _temporal_text(scalar: pa.Scalar) -> str:
    kind = scalar.type
    if pa.types.is_date32(kind):
        return str(np.datetime64(scalar.value, "D"))
    if pa.types.is_timestamp(kind):
        return _trimmed(str(np.datetime64(scalar.cast(_micros(kind)).value, "us")).replace("T", " "))
    if pa.types.is_duration(kind):
        return _duration_text(scalar.cast(pa.duration("us")).value)
    if pa.types.is_interval(kind):
        months = scalar.as_py().months
        return f"{'-' if months < 0 else ''}{abs(months) // 12}-{abs(months) % 12}"
    return str(scalar.as_py())


def _micros(kind: pa.TimestampType) -> pa.DataType:
    return pa.timestamp("us", tz=kind.tz)


def _duration_text(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"{'-' if micros < 0 else ''}{days} {_trimmed(clock)}"


def _trimmed(clock: str) -> str:
    """Seconds without the fraction's trailing zeros."""
    return clock.rstrip("0").rstrip(".") if "." in clock else clock
