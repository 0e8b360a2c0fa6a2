"""Rows that describe relations, schemas and functions; their values are in the order of the columns that the
module ``columns`` defines."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_engine.process_user import process_user
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_texts
from sqlfront_planner.relation_details import NO_DETAILS, RelationDetails
from sqlfront_values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    TimeType,
    ddl,
    is_decimal,
    is_interval,
)

Row = tuple[object, ...]

#: Precision in bits, and the scale, of numbers that are computed in base 2.
_BINARY_NUMBERS: Final = {
    TINYINT: (8, 0),
    SMALLINT: (16, 0),
    INT: (32, 0),
    BIGINT: (64, 0),
    FLOAT: (24, None),
    DOUBLE: (53, None),
}
#: Digits of the fractions of seconds.
_FRACTIONS: Final = {DATE: 0, TIMESTAMP: 6, TIMESTAMP_NTZ: 6}
_SYSTEM: Final = "system"
_BUILTIN: Final = "builtin"


class Described(msgspec.Struct, frozen=True):
    """A relation as ``information_schema`` describes it. ``kind``: BASE TABLE, VIEW or SYSTEM VIEW.
    ``insertable``: whether INSERT can add rows. ``definition``: the text of a view's query. ``partition``:
    the names of the partition columns. ``details``: comments, and the columns that are NOT NULL."""

    catalog: str
    database: str
    name: str
    kind: str
    insertable: bool = False
    format: str | None = None
    location: str | None = None
    definition: str | None = None
    partition: tuple[str, ...] = ()
    details: RelationDetails = NO_DETAILS

    @property
    def key(self) -> tuple[str, str, str]:
        """The catalog, the schema and the name of the relation."""
        return self.catalog, self.database, self.name


def table_row(relation: Described, owner: str) -> Row:
    """Return the relation's row of ``information_schema.tables``; ``owner``: the user who counts as the
    relation's owner."""
    insertable = "YES" if relation.insertable else "NO"
    return (
        *relation.key,
        relation.kind,
        insertable,
        owner,
        relation.details.comment,
        relation.format,
        relation.location,
    )


def view_row(relation: Described) -> Row:
    """Return the relation's row of ``information_schema.views``."""
    return (*relation.key, relation.definition, "NONE", "NO", "NO")


@lru_cache(maxsize=4096)
def type_facts(kind: pa.DataType) -> Row:
    """Return the values that a row of ``information_schema.columns`` has from ``data_type`` to
    ``interval_type``, for a column of the type ``kind``."""
    full = ddl(kind)
    if is_interval(kind):
        return ("INTERVAL", full, None, None, None, None, None, None, full.partition(" ")[2].upper())
    precision, radix, scale = _number_facts(kind)
    short = full.partition("(")[0].partition("<")[0].upper()
    digits = kind.precision if isinstance(kind, TimeType) else _FRACTIONS.get(kind)
    return (short, full, None, None, precision, radix, scale, digits, None)


def _number_facts(kind: pa.DataType) -> tuple[int | None, int | None, int | None]:
    """Return precision, radix and scale of a numeric type; three times None for another type."""
    if is_decimal(kind):
        return kind.precision, 10, kind.scale
    bits, scale = _BINARY_NUMBERS.get(kind, (None, None))
    return bits, None if bits is None else 2, scale


def schema_rows(catalog: str, schemas: Sequence[tuple[str, str | None]]) -> list[Row]:
    """Return the rows of ``information_schema.schemata`` for the ``schemas`` of a catalog, given as pairs of
    name and comment."""
    owner = process_user()
    return [(catalog, name, owner, comment) for name, comment in schemas]


def routine_rows() -> Iterator[Row]:
    """Yield the rows of ``information_schema.routines``: the functions that SHOW FUNCTIONS lists."""
    texts = function_texts()
    for name in function_names():
        whole = (_SYSTEM, _BUILTIN, name)
        text = texts.get(name)
        meaning = None if text is None else text.usage.strip()
        yield (*whole, *whole, "FUNCTION", None, "EXTERNAL", None, meaning)
