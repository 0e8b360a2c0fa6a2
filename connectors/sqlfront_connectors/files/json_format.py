"""JSON lines, with Spark's inference: fields in alphabetical order, integers bigint, fractions double, text
string."""

import json
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from sqlfront_connectors.files.conversion import convert, malformed
from sqlfront_connectors.files.failures import file_missing, file_unreadable
from sqlfront_connectors.files.options import check_options, fails_fast
from sqlfront_connectors.forms import logical_type
from sqlfront_engine.arrays import from_values, to_python
from sqlfront_engine.errors import OperationalError
from sqlfront_engine.types import BIGINT, BOOLEAN, DOUBLE, STRING, ddl

Record = dict[str, object]


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
    """Write a new file of JSON lines from batches in logical types; null fields are left out, as Spark
    does."""
    with open(path, "w", encoding="utf-8") as out:
        for batch in batches:
            columns = [to_python(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                kept = {
                    name: value
                    for name, value in zip(batch.schema.names, values, strict=True)
                    if value is not None
                }
                out.write(json.dumps(kept, default=str, ensure_ascii=False) + "\n")


def _column(values: list[object], field: pa.Field, options: Mapping[str, str], path: str) -> pa.Array:
    if pa.types.is_nested(field.type):
        try:
            return pa.array(values, field.type)
        except (pa.ArrowException, TypeError) as error:
            raise malformed(path, f"column `{field.name}` doesn't hold {ddl(field.type)}: {error}") from error
    texts = [
        None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values
    ]
    return convert(from_values(texts, STRING), field, options, path)


def _records(path: str) -> Iterator[tuple[int, str, Record | None]]:
    """Number, text and object of every line that isn't blank; the object is None if the line holds none."""
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.strip(), _object(line)
    except FileNotFoundError as error:
        raise file_missing(path) from error
    except (OSError, UnicodeDecodeError) as error:
        raise file_unreadable(path, error) from error


def _object(line: str) -> Record | None:
    try:
        value = json.loads(line)
    except ValueError:
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
