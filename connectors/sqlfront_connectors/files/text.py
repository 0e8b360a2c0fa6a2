"""CSV and JSON lines, with Spark's options and inference.

CSV fields are read as strings by Arrow's parser and converted by the engine's own casts, so that a field means what
``CAST(field AS type)`` means; what doesn't convert is null in mode PERMISSIVE (the default) and an error in FAILFAST, as in Spark.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sqlfront_connectors.files.parquet import file_missing, file_unreadable
from sqlfront_connectors.forms import logical_type
from sqlfront_engine.arrays import from_values, scalar
from sqlfront_engine.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.functions.registry import Settings
from sqlfront_engine.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, ddl, decimal

#: The CSV options that are honoured, lower case, with Spark's defaults.
CSV_DEFAULTS: Final = {
    "header": "false",
    "sep": ",",
    "delimiter": ",",
    "quote": '"',
    "escape": "\\",
    "nullvalue": "",
    "inferschema": "false",
    "mode": "PERMISSIVE",
    "multiline": "false",
    "encoding": "UTF-8",
}
JSON_DEFAULTS: Final = {"mode": "PERMISSIVE", "multiline": "false", "encoding": "UTF-8"}

#: What CSV inference tries, narrow to wide: (type, regular expression of the values that may be tried).
_INFERENCE: Final = (
    (INT, r"^\s*[+-]?\d{1,10}\s*$"),
    (BIGINT, r"^\s*[+-]?\d{1,19}\s*$"),
    (decimal(38, 0), r"^\s*[+-]?\d{1,38}\s*$"),
    (DOUBLE, r"^\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Inf(inity)?)\s*$"),
    (DATE, r"^\d{4}-\d{2}-\d{2}$"),
    (TIMESTAMP, r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?$"),
    (BOOLEAN, r"^(?i:true|false)$"),
)


def check_options(format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options over the defaults, keys in lower case; an option that isn't honoured is refused by name."""
    defaults = {"csv": CSV_DEFAULTS, "json": JSON_DEFAULTS}.get(format_name, {})
    given = {key.lower(): value for key, value in options.items()}
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise NotSupportedError(
            f"option {unknown[0]} of USING {format_name}; known are {', '.join(defaults) or 'none'}"
        )
    if given.get("mode", "PERMISSIVE").upper() not in ("PERMISSIVE", "FAILFAST"):
        raise NotSupportedError(
            f"mode {given['mode']} of USING {format_name}; known are PERMISSIVE and FAILFAST"
        )
    if given.get("multiline", "false").lower() == "true" and format_name == "json":
        raise NotSupportedError("option multiLine of USING json")
    if "delimiter" in given:
        given["sep"] = given["delimiter"]
    return {**defaults, **given}


def infer_csv_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """Names from the header or ``_c0``, ...; types string, or inferred over all rows with ``inferSchema``."""
    settings = check_options("csv", options)
    names = _csv_names(paths[0], settings)
    if settings["inferschema"].lower() != "true":
        return pa.schema([(name, STRING) for name in names])
    kinds: list[pa.DataType | None] = [None] * len(names)
    for path in paths:
        for batch in _csv_strings(path, settings, names):
            kinds = [_infer(column, known) for column, known in zip(batch.columns, kinds, strict=True)]
    return pa.schema([(name, kind or STRING) for name, kind in zip(names, kinds, strict=True)])


def read_csv(
    path: str, names: tuple[str, ...], schema: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The named columns of one file in physical form; columns are matched by position, as in Spark."""
    settings = check_options("csv", options)
    wanted = [schema.names.index(name) for name in names]
    for batch in _csv_strings(path, settings, tuple(schema.names)):
        columns = [_convert(batch.column(index), schema.field(index), settings, path) for index in wanted]
        if not columns:
            yield batch.select([])
            continue
        fields = [
            pa.field(schema.field(index).name, column.type)
            for index, column in zip(wanted, columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _csv_strings(path: str, options: Mapping[str, str], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Batches of string columns under ``names``; empty fields and ``nullValue`` are null."""
    header = options["header"].lower() == "true"
    read = arrow_csv.ReadOptions(
        use_threads=False,
        column_names=list(names),
        skip_rows=1 if header else 0,
        encoding=options["encoding"],
    )
    escape = options["escape"]
    parse = arrow_csv.ParseOptions(
        delimiter=options["sep"],
        quote_char=options["quote"] or False,
        double_quote=True,
        escape_char=escape if escape and escape != options["quote"] else False,
        newlines_in_values=options["multiline"].lower() == "true",
        ignore_empty_lines=True,
    )
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, STRING),
        null_values=sorted({"", options["nullvalue"]}),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        yield from arrow_csv.open_csv(path, read, parse, convert)
    except FileNotFoundError as error:
        raise file_missing(path) from error
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return
        raise DataError(
            f"Malformed records are detected in record parsing of {path}: {error}",
            condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
            sqlstate="22023",
        ) from error
    except OSError as error:
        raise file_unreadable(path, error) from error


def _csv_names(path: str, options: Mapping[str, str]) -> tuple[str, ...]:
    parse = arrow_csv.ParseOptions(delimiter=options["sep"], quote_char=options["quote"] or False)
    read = arrow_csv.ReadOptions(
        use_threads=False, autogenerate_column_names=options["header"].lower() != "true"
    )
    try:
        names = arrow_csv.open_csv(path, read, parse).schema.names
    except pa.ArrowInvalid as error:
        raise ProgrammingError(
            f"Unable to infer schema for CSV at {path}. It must be specified manually.",
            condition="UNABLE_TO_INFER_SCHEMA",
            sqlstate="42KD9",
        ) from error
    except OSError as error:
        raise file_unreadable(path, error) from error
    if options["header"].lower() == "true":
        return tuple(name or f"_c{index}" for index, name in enumerate(names))
    return tuple(f"_c{index}" for index in range(len(names)))


def _infer(column: pa.Array, known: pa.DataType | None) -> pa.DataType | None:
    """The narrowest type that holds the values seen before (``known``) and those of the column."""
    values = column.drop_null()
    if len(values) == 0 or known == STRING:
        return known
    kinds = [kind for kind, _ in _INFERENCE]
    start = 0 if known is None else kinds.index(known)
    for kind, pattern in _INFERENCE[start:]:
        if known is not None and not _widens(known, kind):
            continue
        if not pc.all(pc.match_substring_regex(values, pattern)).as_py():
            continue
        if _try_cast(values, kind).null_count == 0:
            return kind
    return STRING


def _widens(known: pa.DataType, kind: pa.DataType) -> bool:
    numbers = (INT, BIGINT, decimal(38, 0), DOUBLE)
    return known == kind or (known in numbers and kind in numbers) or (known == DATE and kind == TIMESTAMP)


def _try_cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    return evaluate(Cast(kind, Column(STRING, 0), safe=True), batch, Settings())


def _convert(column: pa.Array, field: pa.Field, options: Mapping[str, str], path: str) -> pa.Array:
    if field.type == STRING:
        return column
    converted = _try_cast(column, field.type)
    if options["mode"].upper() == "FAILFAST" and converted.null_count > column.null_count:
        bad = column.filter(pc.and_(pc.is_null(converted), pc.is_valid(column)))[0].as_py()
        raise DataError(
            f"Malformed records are detected in record parsing of {path}: {bad!r} is no {ddl(field.type)} "
            f"for column `{field.name}`. Parse Mode: FAILFAST.",
            condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
            sqlstate="22023",
        )
    return converted


def write_csv(
    path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, str]
) -> None:
    """Write a new file; values as ``CAST(value AS STRING)`` gives them, nulls empty, empty strings as ``""``."""
    settings = check_options("csv", options)
    header = settings["header"].lower() == "true"
    text_schema = pa.schema([(name, STRING) for name in schema.names])
    write = arrow_csv.WriteOptions(include_header=header, delimiter=settings["sep"], quoting_style="needed")
    null_value = settings["nullvalue"]
    with arrow_csv.CSVWriter(path, text_schema, write_options=write) as writer:
        for batch in batches:
            columns = [
                evaluate(Cast(STRING, Column(field.type, index)), batch, Settings()).cast(STRING)
                for index, field in enumerate(schema)
            ]
            if null_value:
                columns = [pc.fill_null(column, scalar(null_value, STRING)) for column in columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=text_schema))


def infer_json_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """Fields of all lines in alphabetical order; integers are bigint, fractions double, text string."""
    check_options("json", options)
    kinds: dict[str, pa.DataType] = {}
    for path in paths:
        for record in _json_records(path):
            for name, value in record.items():
                kinds[name] = _wider_json(kinds.get(name, pa.null()), _json_type(value))
    return pa.schema([(name, _settle(kinds[name])) for name in sorted(kinds)])


def read_json(
    path: str, names: tuple[str, ...], schema: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The named columns of one file in physical form; missing fields are null."""
    settings = check_options("json", options)
    records = list(_json_records(path))
    if not names:
        yield pa.RecordBatch.from_struct_array(
            pa.StructArray.from_arrays([pa.nulls(len(records))], ["_"])
        ).select([])
        return
    columns = [
        _json_column([record.get(name) for record in records], schema.field(name), settings, path)
        for name in names
    ]
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _json_column(values: list[object], field: pa.Field, options: Mapping[str, str], path: str) -> pa.Array:
    if pa.types.is_nested(field.type):
        try:
            return pa.array(values, field.type)
        except pa.ArrowInvalid as error:
            raise DataError(
                f"{path}: column `{field.name}` doesn't hold {ddl(field.type)}: {error}"
            ) from error
    texts = [
        None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values
    ]
    return _convert(from_values(texts, STRING), field, options, path)


def _json_records(path: str) -> Iterator[dict[str, object]]:
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except ValueError as error:
                    record = error
                if not isinstance(record, dict):
                    raise DataError(
                        f"Malformed records are detected in record parsing of {path}, line {number}: {line.strip()[:80]}",
                        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
                        sqlstate="22023",
                    )
                yield record
    except FileNotFoundError as error:
        raise file_missing(path) from error
    except (OSError, UnicodeDecodeError) as error:
        raise file_unreadable(path, error) from error


def _json_type(value: object) -> pa.DataType:
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
                kind = _wider_json(kind, _json_type(item))
            return pa.list_(kind)
        case dict():
            return pa.struct([(name, _json_type(value[name])) for name in sorted(value)])
        case _:
            raise OperationalError(f"JSON gave a {type(value).__name__}")


def _wider_json(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if {left, right} == {BIGINT, DOUBLE}:
        return DOUBLE
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(_wider_json(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        kinds = {left.field(index).name: left.field(index).type for index in range(left.num_fields)}
        for index in range(right.num_fields):
            field = right.field(index)
            kinds[field.name] = _wider_json(kinds.get(field.name, pa.null()), field.type)
        return pa.struct([(name, kinds[name]) for name in sorted(kinds)])
    return STRING


def _settle(kind: pa.DataType) -> pa.DataType:
    """The type with void, which no row contradicted, as string."""
    if pa.types.is_null(kind):
        return STRING
    if pa.types.is_list(kind):
        return pa.list_(_settle(kind.value_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([(field.name, _settle(field.type)) for field in fields])
    return logical_type(kind)


def write_json(path: str, batches: Sequence[pa.RecordBatch]) -> None:
    """Write a new file of JSON lines; null fields are left out, as Spark does."""
    with open(path, "w", encoding="utf-8") as out:
        for batch in batches:
            for row in batch.to_pylist():
                kept = {name: value for name, value in row.items() if value is not None}
                out.write(json.dumps(kept, default=str, ensure_ascii=False) + "\n")
