"""JSON lines, with Spark's inference: fields in alphabetical order, integers bigint, fractions double, text
string."""

import base64
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from sqlfront_connectors.files.conversion import convert, malformed
from sqlfront_connectors.files.failures import reading
from sqlfront_connectors.files.options import check_options, fails_fast
from sqlfront_connectors.forms import logical_type
from sqlfront_engine.arrays import from_values
from sqlfront_engine.columns.lists import entries, inner, put_together
from sqlfront_engine.errors import OperationalError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Call, Column
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import BIGINT, BINARY, BOOLEAN, DOUBLE, STRING, ddl

Record = dict[str, object]
Nested = TypeVar("Nested", list[Any], dict[str, Any])


def infer_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """The fields of all lines. A line that is no JSON object is an error (Spark would add
    ``_corrupt_record``)."""
    check_options("json", options)
    kinds: dict[str, pa.DataType] = {}
    for path in paths:
        for number, line, record in _records(path):
            if record is None:
                raise malformed(path, f"line {number}: {line[:80]}")
            for name, value in record.items():
                kinds[name] = _wider(kinds.get(name, pa.null()), _type_of(value))
    return pa.schema([(name, _settle(kinds[name])) for name in sorted(kinds)])


def read(
    path: str, names: tuple[str, ...], schema: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The named columns of one file in physical form; missing fields are null, and so is all of a line that
    is no JSON object, unless mode is FAILFAST."""
    settings = check_options("json", options)
    records: list[Record] = []
    for number, line, record in _records(path):
        if record is None and fails_fast(settings):
            raise malformed(path, f"line {number}: {line[:80]}")
        records.append(record or {})
    if names:
        columns = [
            _column([record.get(name) for record in records], schema.field(name), settings, path)
            for name in names
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(names))
    else:
        yield pa.RecordBatch.from_struct_array(
            pa.StructArray.from_arrays([pa.nulls(len(records))], ["_"])
        ).select([])


def write(path: str, batches: Sequence[pa.RecordBatch]) -> None:
    """Write a new file of JSON lines from batches in logical types, as ``to_json`` writes rows: null fields
    are left out, decimals are numbers, binaries in base 64."""
    with open(path, "w", encoding="utf-8") as out:
        for batch in batches:
            rows = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
            lines = Call(STRING, "to_json", (Column(rows.type, 0),))
            texts = evaluate(lines, pa.RecordBatch.from_arrays([rows], names=["row"]), Settings())
            out.writelines(f"{text}\n" for text in texts.to_pylist())


def _column(values: Sequence[object], field: pa.Field, options: Mapping[str, str], path: str) -> pa.Array:
    """Parsed values (None = null or missing) as a column in physical form; what isn't of the field's type is
    null, or with mode FAILFAST an error."""
    kind = field.type
    if pa.types.is_list(kind):
        lists = _of_class(values, list, field, options, path)
        items = [item for one in lists for item in one or ()]
        elements = inner(_column(items, kind.value_field.with_name(field.name), options, path))
        return _nested(kind, lists, elements)
    if pa.types.is_map(kind):
        maps = _of_class(values, dict, field, options, path)
        keys = [key for one in maps for key in one or ()]
        items = [item for one in maps for item in (one or {}).values()]
        names = inner(_column(keys, kind.key_field.with_name(field.name), options, path))
        contents = inner(_column(items, kind.item_field.with_name(field.name), options, path))
        return _nested(kind, maps, entries(kind, names, contents))
    if pa.types.is_struct(kind):
        structs = _of_class(values, dict, field, options, path)
        children = [
            inner(
                _column([None if one is None else one.get(part.name) for one in structs], part, options, path)
            )
            for part in _fields(kind)
        ]
        nulls = from_values([one is None for one in structs], BOOLEAN)
        return pa.StructArray.from_arrays(children, fields=_fields(kind), mask=nulls)
    if kind == BINARY:
        return from_values([None if value is None else _decoded(value) for value in values], BINARY)
    return convert(from_values([_text(value) for value in values], STRING), field, options, path)


def _nested(kind: pa.DataType, values: Sequence[Collection[object] | None], elements: pa.Array) -> pa.Array:
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    return put_together(kind, elements, lengths, np.array([value is not None for value in values], np.bool_))


def _of_class(
    values: Sequence[object], wanted: type[Nested], field: pa.Field, options: Mapping[str, str], path: str
) -> list[Nested | None]:
    """The values that are arrays (or objects), None for the others."""
    kept = [value if isinstance(value, wanted) else None for value in values]
    if fails_fast(options):
        for value, known in zip(values, kept, strict=True):
            if value is not None and known is None:
                raise malformed(path, f"{_text(value)!r} is no {ddl(field.type)} for column `{field.name}`")
    return kept


def _text(value: object) -> str | None:
    """A value as text for a cast: a string's own, of anything else the JSON."""
    if value is None or isinstance(value, str):
        return value
    return value.text if isinstance(value, _Fraction) else json.dumps(value)


def _decoded(value: object) -> bytes | None:
    """The bytes of a text in base 64; None if it is none."""
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None


class _Fraction(float):
    """A number with a point or an exponent that keeps its text, since a decimal may need all its digits."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _records(path: str) -> Iterator[tuple[int, str, Record | None]]:
    """Number, text and object of every line that isn't blank; the object is None if the line holds none."""
    with reading(path), open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line.strip(), _object(line)


def _object(line: str) -> Record | None:
    try:
        value = json.loads(line, parse_float=_Fraction)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _type_of(value: object) -> pa.DataType:
    match value:
        case None:
            return pa.null()
        case bool():
            return BOOLEAN
        case int():
            return BIGINT if -(2**63) <= value < 2**63 else DOUBLE
        case float():
            return DOUBLE
        case str():
            return STRING
        case list():
            kind: pa.DataType = pa.null()
            for item in value:
                kind = _wider(kind, _type_of(item))
            return pa.list_(kind)
        case dict():
            return pa.struct([(name, _type_of(value[name])) for name in sorted(value)])
        case _:
            raise OperationalError(f"JSON gave a {type(value).__name__}")


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The narrowest type that holds both; string holds everything."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if {left, right} == {BIGINT, DOUBLE}:
        return DOUBLE
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(_wider(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        kinds = {field.name: field.type for field in _fields(left)}
        for field in _fields(right):
            kinds[field.name] = _wider(kinds.get(field.name, pa.null()), field.type)
        return pa.struct([(name, kinds[name]) for name in sorted(kinds)])
    return STRING


def _settle(kind: pa.DataType) -> pa.DataType:
    """The type with string for void, which no row contradicted."""
    if pa.types.is_null(kind):
        return STRING
    if pa.types.is_list(kind):
        return pa.list_(_settle(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _settle(field.type)) for field in _fields(kind)])
    return logical_type(kind)


def _fields(struct: pa.DataType) -> list[pa.Field]:
    return [struct.field(index) for index in range(struct.num_fields)]
