"""The functions from_csv, schema_of_csv and to_csv."""

import json
from collections.abc import Callable
from itertools import islice
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import field_keys, from_values, scalar, to_python
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DatabaseError, DataError, NotSupportedError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.csv.inference import CsvInference
from sqlfront_values.functions.csv.line_writer import LineWriter
from sqlfront_values.functions.csv.options import check_readable, function_settings
from sqlfront_values.functions.csv.settings import CsvMode, CsvSettings
from sqlfront_values.functions.csv.tokenizer import Record, RecordError, Tokenizer
from sqlfront_values.functions.csv.value_texts import ValueWriter
from sqlfront_values.functions.csv.values import values
from sqlfront_values.functions.csv.wide_separators import tokenizer_of
from sqlfront_values.functions.json.typed.function_options import zone_of_options
from sqlfront_values.functions.registry import (
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.room import check
from sqlfront_values.types import BOOLEAN, STRING, VOID, logical, schema_text

#: Texts between two checks whether the query should stop.
_BETWEEN_CHECKS: Final = 256
_MARK: Final = "\ufeff"


def _constant(signature: Signature, place: int) -> dict[str, str]:
    """Return the options, a JSON object in the argument at ``place``; no options if the call has no such
    argument."""
    constants = signature.constants
    given = constants[place] if place < len(constants) else None
    options: dict[str, str] = {} if given is None else json.loads(given.as_py())
    return options


# ---- from CSV


def _from_csv(signature: Signature) -> PreparedKernel:
    """Make the kernel of from_csv, whose arguments are those of from_json."""
    options = _constant(signature, 2)
    kind = signature.type if len(signature.argument_types) < 4 else signature.argument_types[3]
    settings = function_settings(options)
    check_readable(settings)
    reader = _Reader(kind, settings, zone_of_options(options, signature.settings.time_zone))

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        texts = arguments[0]
        if isinstance(texts, pa.Scalar):
            return reader.rows([texts.as_py()])[0]
        return reader.rows(texts.to_pylist())

    return kernel


class _Reader:
    """A reader of texts, each one record, into structs of the type ``kind``. ``zone``: the time zone of
    timestamps that state none."""

    def __init__(self, kind: pa.StructType, settings: CsvSettings, zone: str) -> None:
        self._kind = kind
        self._settings = settings
        self._zone = zone
        self._tokenizer = tokenizer_of(settings)
        self._corrupt = kind.get_field_index(settings.corrupt)
        self._fields = [field for place, field in enumerate(kind) if place != self._corrupt]

    def rows(self, texts: list[str | None]) -> pa.Array:
        """Return a column of the structs; null for null. Raises MALFORMED_RECORD_IN_PARSING for a malformed
        record in mode FAILFAST, MALFORMED_CSV_RECORD for a record that Spark's parser refuses."""
        records: list[Record] = []
        contents: list[str | None] = []
        waiting = iter(texts)
        while some := tuple(islice(waiting, _BETWEEN_CHECKS)):
            check()
            for text in some:
                record = None if text is None else record_of(self._tokenizer, text)
                records.append(record or [])
                contents.append(None if record is None else self._tokenizer.consumed())
        width = len(self._fields)
        known = from_values([text is not None for text in texts], BOOLEAN)
        # Without any fields, Spark doesn't look at the record.
        wrong = [width > 0 and len(record) != width for record in records]
        malformed = pc.and_(known, from_values(wrong, BOOLEAN))
        columns: list[pa.Array] = []
        for place, field in enumerate(self._fields):
            column = self._texts(records, place)
            found = values(column, field.type, self._settings, self._zone)
            bad = pc.and_(pc.is_null(found), pc.is_valid(column))
            malformed = pc.or_(malformed, bad)
            columns.append(found if not pa.types.is_decimal(found.type) else found.cast(logical(field.type)))
        if self._settings.mode is CsvMode.FAIL and pc.any(malformed).as_py():
            raise _malformed(len(self._kind))
        if self._corrupt >= 0:
            nothing = scalar(None, STRING)
            columns.insert(self._corrupt, pc.if_else(malformed, from_values(contents, STRING), nothing))
        fields = [field.with_type(column.type) for field, column in zip(self._kind, columns, strict=True)]
        if not fields:
            return from_values([None if text is None else {} for text in texts], pa.struct([]))
        return pa.StructArray.from_arrays(columns, fields=fields, mask=pc.invert(known))

    def _texts(self, records: list[Record], place: int) -> pa.Array:
        null = self._settings.dialect.null_value
        return from_values(
            [None if place >= len(record) or record[place] == null else record[place] for record in records],
            STRING,
        )


def record_of(tokenizer: Tokenizer, text: str) -> Record | None:
    """Return the fields of the record that the text is; None for an empty text or a comment. Raises
    MALFORMED_CSV_RECORD for a record that Spark's parser refuses, NotSupportedError for a text that begins
    with a byte-order mark, which Spark removes from the first text that a task reads."""
    if text.startswith(_MARK):
        raise NotSupportedError("A CSV text that begins with a byte-order mark is not supported.")
    try:
        return tokenizer.line(text)
    except RecordError as error:
        raise spark_error("MALFORMED_CSV_RECORD", f"Malformed CSV record: {text}") from error


def _malformed(width: int) -> DataError:
    row = ",".join(["null"] * width)
    return DataError(
        f"Malformed records are detected in record parsing: [{row}].\nParse Mode: FAILFAST. To process"
        " malformed records as null result, try setting the option 'mode' as 'PERMISSIVE'.",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )


# ---- the schema


def _schema_of_csv(signature: Signature) -> PreparedKernel:
    """Make the kernel of schema_of_csv, whose arguments are a text and the options as a JSON object."""
    settings = function_settings(_constant(signature, 1))
    check_readable(settings)

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        text = arguments[0].as_py()
        return scalar(None if text is None else schema_text(_type_of(text, settings)), STRING)

    return kernel


def _type_of(text: str, settings: CsvSettings) -> pa.StructType:
    record = record_of(tokenizer_of(settings), text)
    if record is None:
        raise _no_record()
    inference = CsvInference(settings)
    kinds = [inference.widened(None, field) or STRING for field in record]
    return pa.struct([(f"_c{place}", kind) for place, kind in enumerate(kinds)])


def _no_record() -> DatabaseError:
    return NotSupportedError("schema_of_csv of a text without a record, which is an internal error in Spark")


# ---- to CSV


def _to_csv(signature: Signature) -> PreparedKernel:
    """Make the kernel of to_csv, whose arguments are structs and the options as a JSON object."""
    options = _constant(signature, 1)
    kind = signature.argument_types[0]
    write = _row_writer(kind, options, zone_of_options(options, signature.settings.time_zone))

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        structs = arguments[0]
        if isinstance(structs, pa.Scalar):
            return _written(pa.repeat(structs, 1), write)[0]
        return _written(structs, write)

    return kernel


def _written(structs: pa.Array, write: Callable[[object], str | None]) -> pa.Array:
    try:
        rows = to_python(structs)
    except OverflowError:
        raise NotSupportedError("to_csv of a date or timestamp beyond the years 1 to 9999") from None
    texts: list[str | None] = []
    waiting = iter(rows)
    while some := tuple(islice(waiting, _BETWEEN_CHECKS)):
        check()
        texts += [None if row is None else write(row) for row in some]
    return from_values(texts, STRING)


def _row_writer(kind: pa.StructType, options: dict[str, str], zone: str) -> Callable[[object], str | None]:
    """Return the function that writes a struct, a Python value of the type ``kind``, as the line of a record;
    None for a line without characters."""
    settings = function_settings(options)
    given = {key.lower(): value for key, value in options.items()}
    lines = LineWriter(settings, options)
    maker = ValueWriter(settings, zone, given.get("nullvalue"))
    writers = [(key, maker.writer(field.type)) for key, field in zip(field_keys(kind), kind, strict=True)]

    def write(row: object) -> str | None:
        assert isinstance(row, dict)
        texts = [None if row[key] is None else to_text(row[key]) for key, to_text in writers]
        return lines.line(texts) or None

    return write


register(
    ScalarFunction(
        "from_csv",
        (STRING, STRING, STRING, Kind.ANY),
        VOID,
        prepare=_from_csv,
        optional=2,
        null_propagating=False,
        elementwise_values=False,
        can_fail=True,
        growth=growth.times(32),
        constants=(1, 2),
        example=("from_csv('1, 0.8', 'a INT, b DOUBLE')", "{'a': 1, 'b': 0.8}"),
    ),
    ScalarFunction(
        "schema_of_csv",
        (STRING, STRING),
        STRING,
        prepare=_schema_of_csv,
        optional=1,
        can_fail=True,
        growth=growth.times(32),
        constants=(0, 1),
        example=("schema_of_csv('1,abc')", "'STRUCT<_c0: INT, _c1: STRING>'"),
    ),
    ScalarFunction(
        "to_csv",
        (Kind.STRUCT, STRING),
        STRING,
        prepare=_to_csv,
        optional=1,
        elementwise_values=False,
        growth=growth.times(16),
        constants=(1,),
        example=("to_csv(named_struct('a', 1, 'b', 'x, y'))", "'1,\"x, y\"'"),
    ),
)
