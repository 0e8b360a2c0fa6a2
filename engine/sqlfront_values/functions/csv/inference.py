"""The types of columns with inferSchema: the type of a column begins with the type of the first text, and is
widened by each later text in the order of the file.

Spark infers the types of each part of the input that a task reads, and then merges the types. The result may
differ from the types of a single pass. The parts depend on the cluster: where the parts could matter,
NotSupportedError is raised.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.casts.texts import try_cast
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings
from sqlfront_values.functions.csv.values import (
    java_boolean,
    java_decimal,
    java_float,
    java_integer,
    matches_all,
    readable,
)
from sqlfront_values.memo import Memo
from sqlfront_values.room import check
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
    is_decimal,
)

#: An intermediate type; None before the first text.
Kind: TypeAlias = "pa.DataType | None"
_MAX_DIGITS: Final = 38
_DATE_PATTERN: Final = "yyyy-MM-dd"
#: Patterns of dates that casts to timestamps accept, too.
_LENIENT_DATE_PATTERNS: Final = frozenset(
    {"yyyy-MM-dd", "yyyy-M-d", "yyyy-M-dd", "yyyy-MM-d", "yyyy-MM", "yyyy-M", "yyyy"}
)
_DIGITS: Final = {INT: 10, BIGINT: 20}
#: Texts of a column that are examined one by one before the column as a whole: most columns show their type
#: in the first rows.
_FIRST: Final = 64
#: Texts that are Python objects at a time, and texts whose type is remembered, at most: both take memory that
#: no account counts.
_KNOWN: Final = 1 << 16
#: Patterns of texts that certainly have a type, and for dates and timestamps no narrower type.
_PLAIN: Final = {
    INT: r"^[+-]?[0-9]{1,9}$",
    BIGINT: r"^[+-]?[0-9]{1,18}$",
    DOUBLE: r"^[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?$",
    BOOLEAN: r"^(true|false)$",
    DATE: r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$",
    TIMESTAMP: r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$",
}


class CsvInference:
    """An inference of the types of columns from their texts, under the settings of one table."""

    def __init__(self, settings: CsvSettings) -> None:
        self._settings = settings
        words = (settings.not_a_number, settings.infinity, settings.negative_infinity)
        self._words = frozenset(words)
        self._date_pattern = settings.date_format or _DATE_PATTERN
        self._dates_are_timestamps = (
            settings.timestamp_format is None and self._date_pattern in _LENIENT_DATE_PATTERNS
        )
        self._alone = Memo[str, pa.DataType](_KNOWN)

    # ---- texts

    def widened(self, kind: Kind, text: str | None) -> Kind:
        """Return the type of a column that had the type ``kind`` before the text ``text`` was added. Null, an
        empty text and the option nullValue leave the type unchanged."""
        if text is None or not text or text == self._settings.dialect.null_value:
            return kind
        if kind == STRING:
            return STRING
        return self._common(kind, self._type_from(kind, text)) or STRING

    def alone(self, text: str) -> pa.DataType:
        """Return the type of a column whose only text is ``text``."""
        kind = self._alone.get(text)
        if kind is None:
            kind = self._alone.keep(text, self._type_from(None, text))
        return kind

    def _type_from(self, kind: Kind, text: str) -> pa.DataType:
        """Return the first type that fits the text in the order of Spark's attempts (INT, BIGINT, decimal,
        DOUBLE, dates and timestamps, BOOLEAN, STRING), beginning with ``kind``, the column's type so far."""
        if kind in (None, INT) and java_integer(text, 32) is not None:
            return INT
        if kind in (None, INT, BIGINT) and java_integer(text, 64) is not None:
            return BIGINT
        if kind in (None, INT, BIGINT) or is_decimal(kind):
            fitting = _decimal_of(text)
            if fitting is not None:
                return fitting
        numeric = kind in (None, INT, BIGINT, DOUBLE) or is_decimal(kind)
        if numeric and (java_float(text) is not None or text in self._words):
            return DOUBLE
        return self._moment_or_truth(kind, text)

    def _moment_or_truth(self, kind: Kind, text: str) -> pa.DataType:
        settings = self._settings
        if kind not in (TIMESTAMP, BOOLEAN):
            wants_date = kind == DATE or settings.prefers_date
            if wants_date and readable(text, DATE, settings, self._date_pattern):
                return DATE
            if readable(text, TIMESTAMP_NTZ, settings, settings.ntz_format):
                return TIMESTAMP
        if kind != BOOLEAN and readable(text, TIMESTAMP, settings, settings.timestamp_format):
            return TIMESTAMP
        return STRING if java_boolean(text) is None else BOOLEAN

    def _common(self, left: Kind, right: Kind) -> Kind:
        """Return the narrowest type that holds values of both types. None stands for no type yet; the result
        is also None if Spark has no common type."""
        if left is None or right is None or left == right:
            return left if right is None else right
        if STRING in (left, right):
            return STRING
        if {left, right} == {DATE, TIMESTAMP}:
            return TIMESTAMP if self._dates_are_timestamps else STRING
        if {left, right} == {INT, BIGINT}:
            return BIGINT
        numbers = (INT, BIGINT, DOUBLE)
        if not all(kind in numbers or is_decimal(kind) for kind in (left, right)):
            return None
        if DOUBLE in (left, right):
            return DOUBLE
        digits = [kind.precision if is_decimal(kind) else _DIGITS[kind] for kind in (left, right)]
        return decimal(max(digits), 0)

    # ---- columns

    def kinds(self, parts: Sequence[Sequence[pa.Array]], *, is_cut: bool) -> list[Kind]:
        """Return the type of each column, None for a column without texts. ``parts``: the texts of each file,
        an array per column. ``is_cut``: Spark may read a file in several parts. Raises NotSupportedError if
        the types depend on how Spark cuts the files."""
        return [
            self._kind([part[column] for part in parts], is_cut=is_cut) for column in range(len(parts[0]))
        ]

    def _kind(self, parts: Sequence[pa.Array], *, is_cut: bool) -> Kind:
        texts = [self._texts(part) for part in parts]
        whole = self._in_order(None, texts)
        if not is_cut and len([part for part in texts if len(part)]) < 2:
            return whole
        if whole == STRING and any(self._has_string(part) for part in texts):
            return STRING
        merged: Kind = None if len(texts) > 1 else whole
        for part in texts if len(texts) > 1 else ():
            merged = self._merged(merged, self._in_order(None, [part]))
        orderly = (TIMESTAMP,) if self._dates_are_timestamps else ()
        mixes = whole in (STRING, TIMESTAMP) and whole not in orderly and any(map(self._mixes, texts))
        if merged != whole or mixes:
            raise NotSupportedError(
                "CSV: inferSchema over values of several types, whose outcome depends on how Spark cuts files"
            )
        return whole

    def _merged(self, left: Kind, right: Kind) -> Kind:
        common = self._common(left, right)
        if common is None and left is not None and right is not None:
            raise NotSupportedError("CSV: inferSchema over files with values of different types")
        return common

    def _texts(self, column: pa.Array) -> pa.Array:
        """Return the texts of a column that have an influence on its type: all except nulls, empty texts and
        texts equal to the option nullValue."""
        column = column.drop_null() if column.null_count else column
        null_value = self._settings.dialect.null_value
        if null_value:
            column = column.filter(pc.not_equal(column, scalar(null_value, STRING)))
        shortest = pc.min(pc.binary_length(column)).as_py()
        return column.filter(pc.greater(pc.binary_length(column), 0)) if shortest == 0 else column

    def _in_order(self, kind: Kind, parts: Iterable[pa.Array]) -> Kind:
        for part in parts:
            for text in part[:_FIRST].to_pylist():
                kind = self.widened(kind, text)
            if kind == STRING:
                return STRING
            if len(part) > _FIRST and not self._fits(kind, part):
                for text in _different(part):
                    kind = self.widened(kind, text)
        return kind

    def _fits(self, kind: Kind, texts: pa.Array) -> bool:
        """Return whether a regular expression proves that a column of type ``kind`` keeps its type with these
        texts; False if the texts must be examined one by one."""
        if kind in (DATE, TIMESTAMP):
            return self._are_plain_moments(texts, kind)
        return kind in _PLAIN and matches_all(texts, _PLAIN[kind])

    def _are_plain_moments(self, texts: pa.Array, kind: pa.DataType) -> bool:
        settings = self._settings
        formats = (settings.date_format, settings.timestamp_format, settings.ntz_format)
        if any(pattern is not None for pattern in formats) or not settings.prefers_date:
            return False
        return matches_all(texts, _PLAIN[kind]) and not try_cast(texts, kind).null_count

    def _has_string(self, texts: pa.Array) -> bool:
        """Return whether one of the texts is of no type but STRING: the column is then a string column,
        whatever its other texts are."""
        return any(
            self.alone(text) == STRING for part in (texts[:_FIRST], texts) for text in _different(part)
        )

    def _mixes(self, texts: pa.Array) -> bool:
        """Return whether the texts have more than one type if the type of each is inferred alone."""
        if len(texts) > _FIRST and self._are_plain_moments(texts, TIMESTAMP):
            return False
        return len({self.alone(text) for text in _different(texts)}) > 1


def _different(texts: pa.Array) -> Iterator[str]:
    """Yield each distinct text once."""
    found = pc.unique(texts)
    for start in range(0, len(found), _KNOWN):
        check()
        yield from found[start : start + _KNOWN].to_pylist()


def _decimal_of(text: str) -> pa.DataType | None:
    """Return the narrowest decimal type with scale 0 that holds the number in ``text``; None if the text is
    no such number or has more than 38 digits."""
    number = java_decimal(text)
    if number is None:
        return None
    _, digits, exponent = number.as_tuple()
    if exponent != 0 or len(digits) > _MAX_DIGITS:
        return None
    return decimal(max(len(digits), 1), 0)
