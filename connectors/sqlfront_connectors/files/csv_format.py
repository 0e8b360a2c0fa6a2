"""CSV files, with Spark's options, inference and leniency.

Arrow's parser splits the fields. Records with too few or too many fields, which it refuses, are read by
Python's parser and filled up with nulls or cut, as Spark's mode PERMISSIVE does.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sqlfront_connectors.files.conversion import convert, malformed, try_cast
from sqlfront_connectors.files.failures import reading
from sqlfront_connectors.files.options import check_options, fails_fast, is_on
from sqlfront_engine import kernels as pc
from sqlfront_engine.arrays import from_values, scalar
from sqlfront_engine.errors import NotSupportedError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal, is_decimal

#: What inference tries, narrow to wide: (type, regular expression of the texts that may be of that type).
_INFERENCE: Final = (
    (INT, r"^[+-]?\d{1,10}$"),
    (BIGINT, r"^[+-]?\d{1,19}$"),
    (decimal(38, 0), r"^[+-]?\d{1,38}$"),
    (DOUBLE, r"^\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Inf(inity)?)\s*$"),
    (DATE, r"^\d{4}-\d{2}-\d{2}$"),
    (TIMESTAMP, r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$"),
    (BOOLEAN, r"^(?i:true|false)$"),
)
_NUMBERS: Final = (INT, BIGINT, decimal(38, 0), DOUBLE)
#: Characters of a field in a file whose records are of different lengths.
_MAX_FIELD: Final = 1 << 30
#: A doubled quote that isn't an empty field; without ``escape '"'`` Spark keeps such a field unparsed.
_DOUBLED: Final = b'(?:[^%s\n\r"]""|""[^%s\n\r"])'


def infer_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """Names from the header or ``_c0``, ...; types string, or with ``inferSchema`` inferred over all rows."""
    settings = check_options("csv", options)
    names = _column_names(paths[0], settings)
    if not is_on(settings, "inferschema"):
        return pa.schema([(name, STRING) for name in names])
    kinds: list[pa.DataType | None] = [None] * len(names)
    for path in paths:
        for batch in _read_texts(path, settings, names):
            kinds = [_infer(column, known) for column, known in zip(batch.columns, kinds, strict=True)]
    return pa.schema([(name, kind or STRING) for name, kind in zip(names, kinds, strict=True)])


def read(
    path: str, names: tuple[str, ...], schema: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The named columns of one file in physical form. The file's columns are the schema's by position, as in
    Spark."""
    settings = check_options("csv", options)
    wanted = [schema.names.index(name) for name in names]
    for batch in _read_texts(path, settings, tuple(schema.names)):
        columns = [convert(batch.column(index), schema.field(index), settings, path) for index in wanted]
        if columns:
            yield pa.RecordBatch.from_arrays(columns, names=list(names))
        else:
            yield batch.select([])


def write(
    path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, str]
) -> None:
    """Write a new file: values as ``CAST(value AS STRING)`` gives them, nulls as ``nullValue``."""
    settings = check_options("csv", options)
    with open(path, "w", encoding=settings["encoding"], newline="") as out:
        if is_on(settings, "header"):
            out.write(_line(schema.names, settings))
        for batch in batches:
            columns = [
                evaluate(Cast(STRING, Column(field.type, index)), batch, Settings()).to_pylist()
                for index, field in enumerate(schema)
            ]
            out.writelines(_line(row, settings) for row in zip(*columns, strict=True))


def _line(texts: Sequence[str | None], options: Mapping[str, str]) -> str:
    """One record; fields are quoted where they must be, and empty strings to tell them from nulls."""
    separator, quote, escape = options["sep"], options["quote"], options["escape"]
    fields = []
    for text in texts:
        if text is None:
            fields.append(options["nullvalue"])
        elif not text or any(special in text for special in (separator, quote, "\n", "\r")):
            fields.append(quote + text.replace(quote, escape + quote) + quote)
        else:
            fields.append(text)
    return separator.join(fields) + "\n"


def _read_texts(path: str, options: Mapping[str, str], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Batches of string columns under ``names``."""
    with reading(path):
        source = _source(path, options)
        try:
            batches = list(_arrow_batches(source, options, names))
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            if "Expected" not in str(error):
                raise
            if fails_fast(options):
                raise malformed(path, str(error)) from error
            batches = [_ragged(path, options, names)]
    null_text = options["nullvalue"]
    for batch in batches:
        yield _without(batch, null_text) if null_text else batch


def _arrow_batches(
    source: str | pa.BufferReader, options: Mapping[str, str], names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    convert_options = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, STRING),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=not options["nullvalue"],
    )
    skipped = 1 if is_on(options, "header") else 0
    read_options = arrow_csv.ReadOptions(
        use_threads=False, column_names=list(names), skip_rows=skipped, encoding=options["encoding"]
    )
    yield from arrow_csv.open_csv(source, read_options, _parse_options(options), convert_options)


def _parse_options(options: Mapping[str, str]) -> arrow_csv.ParseOptions:
    return arrow_csv.ParseOptions(
        delimiter=options["sep"],
        quote_char=options["quote"] or False,
        double_quote=True,
        escape_char=False,
        newlines_in_values=is_on(options, "multiline"),
        ignore_empty_lines=True,
    )


def _source(path: str, options: Mapping[str, str]) -> str | pa.BufferReader:
    """What Arrow's parser is to read: the file, or its content with escaped quotes doubled.

    In Spark an escape counts only before a quote. A doubled quote without ``escape '"'`` it leaves unparsed,
    which is refused here, and so is an escaped escape before a quote.
    """
    quote, escape = options["quote"].encode(), options["escape"].encode()
    if not quote or not escape or escape == quote:
        return path
    with open(path, "rb") as file:
        content = file.read()
    separator = re.escape(options["sep"].encode())
    if quote * 2 in content:
        doubled = (_DOUBLED % (separator, separator)).replace(b'"', re.escape(quote))
        if re.search(doubled, content.replace(escape + quote, b"")):
            raise NotSupportedError(
                f"{path} holds doubled quotes; give the option escape '{options['quote']}'"
            )
    if escape + quote not in content:
        return path
    if escape * 2 + quote in content:
        raise NotSupportedError(f"{path} holds an escaped {options['escape']} before a quote")
    return pa.BufferReader(content.replace(escape + quote, quote * 2))


def _ragged(path: str, options: Mapping[str, str], names: tuple[str, ...]) -> pa.RecordBatch:
    """All records, filled up with nulls or cut to the number of names."""
    escape = options["escape"] if options["escape"] != options["quote"] else None
    # Python's parser takes fields for broken that are longer than that, for the whole process.
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_FIELD))
    with open(path, encoding=options["encoding"], newline="") as file:
        records = [
            record
            for record in csv.reader(
                file,
                delimiter=options["sep"],
                quotechar=options["quote"] or None,
                doublequote=escape is None,
                escapechar=escape or None,
                quoting=csv.QUOTE_MINIMAL if options["quote"] else csv.QUOTE_NONE,
            )
            if record
        ]
    if is_on(options, "header"):
        records = records[1:]
    columns = [
        from_values([(record[index] or None) if index < len(record) else None for record in records], STRING)
        for index in range(len(names))
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _without(batch: pa.RecordBatch, null_text: str) -> pa.RecordBatch:
    """The batch with ``nullValue`` as null."""
    wanted, null = scalar(null_text, STRING), scalar(None, STRING)
    columns = [pc.if_else(pc.equal(column, wanted), null, column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _column_names(path: str, options: Mapping[str, str]) -> tuple[str, ...]:
    header = is_on(options, "header")
    read_options = arrow_csv.ReadOptions(use_threads=False, autogenerate_column_names=not header)
    with reading(path):
        try:
            names = arrow_csv.open_csv(path, read_options, _parse_options(options)).schema.names
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return ()
            names = _first_record(path, options)
    return tuple(name if header and name else f"_c{index}" for index, name in enumerate(names))


def _first_record(path: str, options: Mapping[str, str]) -> list[str]:
    with open(path, encoding=options["encoding"], newline="") as file:
        return next(csv.reader(file, delimiter=options["sep"]), [])


def _infer(column: pa.Array, known: pa.DataType | None) -> pa.DataType | None:
    """The narrowest type that holds the values seen before (of type ``known``) and those of the column."""
    values = column.drop_null()
    if len(values) == 0 or known == STRING:
        return known
    for kind, pattern in _INFERENCE:
        if known is not None and not _holds(kind, known):
            continue
        if (
            pc.all(pc.match_substring_regex(values, pattern)).as_py()
            and not try_cast(values, kind).null_count
        ):
            return _fitted(values, known) if is_decimal(kind) else kind
    return STRING


def _holds(kind: pa.DataType, known: pa.DataType) -> bool:
    """Whether all values of type ``known`` are of type ``kind``."""
    if is_decimal(known):
        known = decimal(38, 0)
    if kind in _NUMBERS and known in _NUMBERS:
        return _NUMBERS.index(kind) >= _NUMBERS.index(known)
    return kind == known or (known == DATE and kind == TIMESTAMP)


def _fitted(values: pa.Array, known: pa.DataType | None) -> pa.DataType:
    """The decimal of just enough digits."""
    digits = pc.max(pc.utf8_length(pc.utf8_ltrim(values, "+-0"))).as_py()
    before = (
        known.precision if known is not None and is_decimal(known) else {INT: 10, BIGINT: 20}.get(known, 1)
    )
    return decimal(max(digits, before), 0)
