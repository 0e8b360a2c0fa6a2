"""The forms of data that ``createDataFrame`` takes: rows, and frames of pandas, polars and pyarrow."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront.created_frames.inference import INTERVAL, common_type, has_void, row_type
from sqlfront.created_frames.values import fitted
from sqlfront_connectors.arrow import ArrowStream
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import CreateTable
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import DataError, Error, NotSupportedError, ProgrammingError
from sqlfront_values.types import DAY_TIME_INTERVAL, TIMESTAMP, TIMESTAMP_NTZ, holds_own

#: The name of the only column of rows that are single values.
_VALUE: Final = "value"
_FORMS: Final = (
    "rows (a list of tuples, dicts, Rows or named tuples), or a frame of pandas, polars or pyarrow; other "
    "Arrow data come in by register(name, data)"
)
_SCHEMAS: Final = "None, a list of names, a text such as 'a INT, b STRING', or a StructType"


class CreatedFrame(msgspec.Struct, frozen=True):
    """The rows that ``createDataFrame`` was given: a ``table`` whose columns are ``c0``, ``c1`` ..., and the
    ``names`` of these columns for the user. ``zoned``: the ordinals of timestamp columns without a time zone
    whose values are in the session's time zone."""

    table: pa.Table
    names: tuple[str, ...]
    zoned: frozenset[int] = frozenset()

    @property
    def query(self) -> str:
        """The query that reads the table and gives the columns their names. In the query ``{data}`` stands
        for the table's name, so that braces in names are doubled."""
        items = ", ".join(
            f"{f'CAST(c{place} AS TIMESTAMP)' if place in self.zoned else f'c{place}'} AS {quoted((name,))}"
            for place, name in enumerate(self.names)
        )
        return f"SELECT {items.replace('{', '{{').replace('}', '}}')} FROM {{data}}"


class _Schema(msgspec.Struct, frozen=True):
    """The schema that the caller gives. ``names``: the names of the columns, None = not given. ``type``: the
    type of the rows (a struct), or the type of single values; None = not given."""

    names: tuple[str, ...] | None = None
    type: pa.DataType | None = None


def created(data: object, schema: object, zone: str | None) -> CreatedFrame:
    """Return the data of ``createDataFrame`` as a table. ``zone``: the time zone of datetimes that have none,
    None = this machine's. Raises ProgrammingError for data or a schema of an unknown form, DataError for
    values that don't fit the schema, and NotSupportedError for types that can't be made of Python values."""
    said = _schema(schema)
    if type(data).__module__.partition(".")[0] == "pandas":
        return _of_table(_from_pandas(data), said)
    if isinstance(data, ArrowStream):
        return _of_table(_arrow(lambda: pa.table(data)), said)
    if isinstance(data, str | bytes | dict) or not isinstance(data, Iterable) or hasattr(data, "__array__"):
        raise ProgrammingError(f"createDataFrame takes {_FORMS}; not a {type(data).__name__}")
    return _of_rows(list(data), said, zone)


# ---- the schema


def _schema(schema: object) -> _Schema:
    text = schema if isinstance(schema, str) else _text_of(schema)
    if text is not None:
        kind = _type(text)
        return _Schema(tuple(each.name for each in kind) if pa.types.is_struct(kind) else None, kind)
    if schema is None:
        return _Schema()
    if isinstance(schema, list | tuple) and all(isinstance(name, str) for name in schema):
        return _Schema(tuple(schema))
    raise ProgrammingError(f"a schema of createDataFrame is {_SCHEMAS}; not {schema!r}")


def _text_of(schema: object) -> str | None:
    """Return the text of the type (``simpleString``) if the schema is an object of a PySpark type, else None.
    Raises NotSupportedError for a field that is NOT NULL."""
    text = getattr(schema, "simpleString", None)
    if isinstance(schema, type) or not callable(text):
        return None
    if not all(field.nullable for field in getattr(schema, "fields", ())):
        raise _not_null()
    return str(text())


def _not_null() -> NotSupportedError:
    return NotSupportedError(
        "NOT NULL (nullable=False) in a schema of createDataFrame is not supported: the columns take nulls"
    )


def _type(text: str) -> pa.DataType:
    """Parse a schema that is a text: columns, as in CREATE TABLE or as ``name: type``, which become a struct;
    or one type. Raises ProgrammingError for another text, NotSupportedError for NOT NULL, for TIME, and for
    intervals other than DAY TO SECOND."""
    kinds = tokens_of(text).kinds
    if ("NOT", "NULL") in itertools.pairwise(kinds):
        raise _not_null()
    try:
        kind = _declared(f"STRUCT<{text}>") or _declared(text)
    except Error as error:
        raise type(error)(f"the schema {text!r}: {error.message}", condition=error.condition) from error
    if kind is None:
        raise ProgrammingError(f"a schema of createDataFrame is {_SCHEMAS}; not {text!r}")
    if holds_own(kind) and not _only_day_time(kind):
        raise NotSupportedError(
            "A schema of createDataFrame has no TIME, and no intervals but INTERVAL DAY TO SECOND."
        )
    return kind


def _declared(written: str) -> pa.DataType | None:
    """Parse the text of a type as in CREATE TABLE; return None if the text is no type."""
    try:
        parsed = parse(f"CREATE TABLE t ({_VALUE} {written})")
    except ProgrammingError as error:
        if error.condition == "PARSE_SYNTAX_ERROR":
            return None
        raise
    if not isinstance(parsed, CreateTable) or parsed.schema is None or parsed.schema.names != [_VALUE]:
        return None
    return parsed.schema.field(0).type


def _only_day_time(kind: pa.DataType) -> bool:
    """Return whether the type contains no intervals other than INTERVAL DAY TO SECOND; such an interval may
    be the type itself, or the type of one of its columns."""
    kinds = [each.type for each in kind] if pa.types.is_struct(kind) else [kind]
    return all(each == DAY_TIME_INTERVAL or not holds_own(each) for each in kinds)


# ---- frames


def _from_pandas(frame: object) -> pa.Table:
    """Return the columns of a pandas DataFrame as a table, without the index, as in PySpark. Raises
    ProgrammingError for another object of pandas."""
    if type(frame).__name__ != "DataFrame":
        raise ProgrammingError(f"createDataFrame takes {_FORMS}; not a {type(frame).__name__}")
    return _arrow(lambda: pa.Table.from_pandas(frame, preserve_index=False))


def _of_table(table: pa.Table, said: _Schema) -> CreatedFrame:
    names = tuple(table.schema.names) if said.names is None else said.names
    if len(names) != table.num_columns or not names:
        raise ProgrammingError(f"the schema names {len(names)} columns, the frame has {table.num_columns}")
    kinds = table.schema.types
    if said.type is not None:
        if not pa.types.is_struct(said.type):
            raise ProgrammingError("the schema of a frame names its columns")
        kinds = [each.type for each in said.type]
    zoned = frozenset(
        place
        for place, (given, wanted) in enumerate(zip(table.schema.types, kinds, strict=True))
        if pa.types.is_timestamp(given) and given.tz is None and (wanted == TIMESTAMP or said.type is None)
    )
    sources = [
        TIMESTAMP_NTZ if place in zoned and said.type is not None else _source(kind)
        for place, kind in enumerate(kinds)
    ]
    schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate(sources)])
    renamed = table.rename_columns(schema.names)
    return CreatedFrame(_arrow(lambda: renamed.cast(schema)), names, zoned)


def _source(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which values of the Spark type ``kind`` are given: another type for intervals,
    ``kind`` itself for all others."""
    return INTERVAL if kind == DAY_TIME_INTERVAL else kind


# ---- rows


def _of_rows(rows: Sequence[object], said: _Schema, zone: str | None) -> CreatedFrame:
    kind = said.type
    if kind is None:
        kind = _inferred(rows, said.names)
    elif not pa.types.is_struct(kind):
        kind, rows = pa.struct([(_VALUE, kind)]), [(row,) for row in rows]
    kind = pa.struct([(each.name, _source(each.type)) for each in kind])
    if not kind.num_fields:
        raise ProgrammingError("createDataFrame needs a column at least")
    columns: list[list[object]] = [[] for _ in kind]
    for number, row in enumerate(rows, 1):
        for column, each, value in zip(columns, kind, _items(row, kind, number), strict=True):
            column.append(fitted(value, each.type, f"row {number}, column {each.name}", zone))
    schema = pa.schema([(f"c{place}", each.type) for place, each in enumerate(kind)])
    given = dict(zip(schema.names, columns, strict=True))
    table = _arrow(lambda: pa.Table.from_pydict(given, schema=schema))
    names = [each.name for each in kind]
    if said.type is None and said.names is not None:
        names[: len(said.names)] = said.names
    return CreatedFrame(table, tuple(names))


def _inferred(rows: Sequence[object], names: tuple[str, ...] | None) -> pa.StructType:
    """Return the type of the rows, inferred by PySpark's rules. ``names``: the caller's names for the first
    columns, for messages. Raises ProgrammingError if a column's type can't be inferred, DataError if the
    values of a column have no common type."""
    kinds = (row_type(row, f"row {number}") for number, row in enumerate(rows, 1))
    kind = common_type(kinds, "the rows")
    if not pa.types.is_struct(kind):
        raise ProgrammingError("without rows there are no types; give a schema such as 'a INT, b STRING'")
    shown = (*(names or ()), *[each.name for each in kind][len(names or ()) :])
    if len(shown) > kind.num_fields:
        raise ProgrammingError(f"the schema names {len(shown)} columns, the rows have {kind.num_fields}")
    for name, each in zip(shown, kind, strict=True):
        if has_void(each.type):
            raise ProgrammingError(f"the values of column {name} tell no type; give a schema such as 'a INT'")
    return kind


def _items(row: object, kind: pa.StructType, number: int) -> Sequence[object]:
    """Return the values of a row in the order of the fields of ``kind``; those of a dict are found by name.
    ``number``: the row's number from 1, for messages. Raises DataError for a row of another form or
    length."""
    if isinstance(row, dict):
        return [row.get(each.name) for each in kind]
    if not isinstance(row, tuple | list):
        raise DataError(
            f"row {number} is {repr(row)[:100]}; a row is a tuple, list, dict, Row or named tuple"
        )
    if len(row) != kind.num_fields:
        raise DataError(f"row {number} has {len(row)} values, the schema has {kind.num_fields} columns")
    return row


def _arrow(make: Callable[[], pa.Table]) -> pa.Table:
    """Return the table that ``make`` makes; its errors, for values that Arrow refuses, become DataError."""
    try:
        return make()
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"createDataFrame: {str(error).partition(chr(10))[0]}") from error
