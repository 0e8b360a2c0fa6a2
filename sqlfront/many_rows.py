"""One INSERT of many rows, made from the sets of parameters that ``executemany`` is given.

To run an ``INSERT INTO t (...) VALUES (?, ?, ...)`` once per set would plan the statement, and make a version
of the table, each time. If the values of all sets have a common type in each column, a single INSERT writes
the same rows, all or none.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront.results.result import Parameters
from sqlfront.session import Session
from sqlfront_connectors.base import WritableTable
from sqlfront_planner.binder.context import typed_value
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.statements.dotted_names import WRITTEN_NAME, name_parts
from sqlfront_planner.types import common_type
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.exchange import exported_type
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import (
    BOOLEAN,
    DOUBLE,
    STRING,
    VOID,
    holds_own,
    is_decimal,
    is_integral,
    is_interval,
    is_year_month,
)

_INSERT: Final = re.compile(
    rf"(?P<begin>\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?P<table>{WRITTEN_NAME})\s*"
    rf"(?:\((?P<columns>\s*{WRITTEN_NAME}(?:\s*,\s*{WRITTEN_NAME})*\s*)\)\s*)?)"
    r"VALUES\s*\((?P<values>\s*\?\s*(?:,\s*\?\s*)*)\)\s*;?\s*",
    re.IGNORECASE,
)
_numbers: Final = itertools.count(1)


class ManyRows(msgspec.Struct, frozen=True):
    """An INSERT of many rows as one statement: the ``rows`` to insert, and the ``statement`` that reads them
    from the temporary view named ``view``."""

    statement: str
    view: str
    rows: pa.Table


def many_rows(session: Session, operation: str, sets: Sequence[Parameters]) -> ManyRows | None:
    """Return one INSERT and its rows that have the same effect as running ``operation`` once for each of the
    ``sets`` of parameters, for ``executemany``. Return None if there is no such INSERT: if the operation
    isn't an INSERT of plain parameters into a table of the session, or if the values of a column have no
    common type in which each value is written as in its own type."""
    found = _INSERT.fullmatch(operation)
    if found is None or not isinstance(sets, (list, tuple)) or len(sets) < _FEWEST:
        return None
    width = found["values"].count("?")
    if any(not isinstance(each, (list, tuple)) or len(each) != width for each in sets):
        return None
    entry = session.context.catalog.lookup(name_parts(found["table"]))
    if not isinstance(entry, TableEntry) or not isinstance(entry.table, WritableTable):
        return None
    texts = _text_columns(found["columns"], entry.table.schema, width)
    columns = [
        _column(values, session.parameter_zone, takes_texts)
        for values, takes_texts in zip(zip(*sets, strict=True), texts, strict=True)
    ]
    if None in columns:
        return None
    view = f"__rows_of_executemany_{next(_numbers)}"
    rows = pa.table(columns, names=[f"c{place}" for place in range(width)])
    return ManyRows(f"{found['begin']}SELECT * FROM {view}", view, rows)


#: Fewer sets are run one by one.
_FEWEST: Final = 2


def _text_columns(names: str | None, schema: pa.Schema, width: int) -> list[bool]:
    """Return for each value of a set, of which there are ``width``, whether it goes to a column of texts;
    True if the column isn't known. ``names``: the list of columns of the INSERT, None = none given."""
    if names is None:
        kinds = dict(enumerate(schema.types))
        return [kinds.get(place, STRING) == STRING for place in range(width)]
    texts = {name.lower(): kind == STRING for name, kind in zip(schema.names, schema.types, strict=True)}
    written = re.findall(WRITTEN_NAME, names)
    if len(written) != width:
        return [True] * width
    return [texts.get(name_parts(name)[-1].lower(), True) for name in written]


def _column(values: tuple[object, ...], zone: str | None, takes_texts: bool) -> pa.Array | None:
    """Return the values as a column; None if they have no common type. ``zone``: the time zone of datetimes
    that have none. ``takes_texts``: whether the column's values are inserted as texts; None is then also
    returned if the common type would change the text of a value, as of 1.5 among decimals with two digits."""
    plain = _plain(values)
    if plain is not None:
        return plain
    pairs = [typed_value(value, zone) for value in values]
    kinds = {kind for _, kind in pairs} - {VOID}
    kind = common_type(kinds) if kinds else VOID
    if kind is None or (len(kinds) > 1 and not _are_alike(kinds, takes_texts)):
        return None
    items = [value for value, _ in pairs]
    if is_year_month(kind):
        months = [None if item is None else pa.MonthDayNano((item, 0, 0)) for item in items]
        return from_values(months, exported_type(kind))
    if is_interval(kind):
        return from_values(items, exported_type(kind))
    return None if holds_own(kind) else from_values(items, kind)


def _plain(values: tuple[object, ...]) -> pa.Array | None:
    """Return the values as a column if all of them are str, float or bool, of one class, or None; return None
    for other values."""
    classes = set(map(type, values)) - {type(None)}
    if classes == {str}:
        return from_values([None if value is None else well_formed(str(value)) for value in values], STRING)
    if classes == {float}:
        return from_values(list(values), DOUBLE)
    if classes == {bool}:
        return from_values(list(values), BOOLEAN)
    return None


def _are_alike(kinds: set[pa.DataType], takes_texts: bool) -> bool:
    if all(is_integral(kind) for kind in kinds):
        return True
    return not takes_texts and all(is_integral(kind) or is_decimal(kind) for kind in kinds)
