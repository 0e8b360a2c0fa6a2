"""JSON files as Spark's JacksonParser reads them: one value a line, or with multiLine one value a file.

Arrow's reader reads plain JSON; the other readers of :mod:`sqlfront_connectors.files.json` read all other
JSON, record by record.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.contents import content_of, counted, pieces
from sqlfront_connectors.files.json.conditions import check_corrupt_column, pushdown
from sqlfront_connectors.files.json.line_kinds import LineKinds
from sqlfront_connectors.files.json.reading import RecordReader
from sqlfront_connectors.files.json.records import MARK, as_utf8, records_of
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Call, Column, EngineExpr
from sqlfront_values.functions.json.scanner import JsonSyntaxError
from sqlfront_values.functions.json.tokens import JsonTokens
from sqlfront_values.functions.json.typed.inference import (
    JsonInference,
    Kind,
    distinct,
    has_names_by_case,
    inferred,
)
from sqlfront_values.functions.json.typed.quick import (
    can_read,
    halves,
    is_plain,
    kind_of,
    one_object_a_line,
    rows_of,
)
from sqlfront_values.functions.json.typed.settings import JsonSettings, json_settings
from sqlfront_values.room import MOST_AT_ONCE, Account
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING

#: The escape of half a surrogate pair, or of a whole pair, and the rest of its string in double quotes, and
#: in single quotes; ``colon`` if the string is a key. Each string is read once, however many escapes it has.
_SURROGATES: Final = (
    re.compile(rb"""\\u[dD][89a-fA-F][^"\\]*+(?:\\.[^"\\]*+)*+(?:"\s*(?P<colon>:))?""", re.DOTALL),
    re.compile(rb"""\\u[dD][89a-fA-F][^'\\]*+(?:\\.[^'\\]*+)*+(?:'\s*(?P<colon>:))?""", re.DOTALL),
)
#: Bytes of records with unknown names that are read at a time: a column for each name, with a value for each
#: row, takes at most half a GiB.
_UNKNOWN: Final = 64 << 10
#: Bytes of a value in memory, about.
_VALUE: Final = 8
#: The sampling ratio below which Spark samples (``JsonUtils.sample``).
_WHOLE: Final = 0.99


def infer_schema(
    files: Sequence[DataFile], options: Mapping[str, str], access: FileAccess, memory: Account
) -> pa.Schema:
    """Return the fields of all records of the files, in alphabetical order, with the types that Spark infers.
    The needed memory is charged to ``memory``. Raises OperationalError for an unreadable file,
    ProgrammingError for malformed records in mode FAILFAST, NotSupportedError for the option samplingRatio
    and for a result that depends on the order of files."""
    settings = json_settings(options)
    if settings.sampling < _WHOLE:
        raise NotSupportedError("option samplingRatio of USING json without a schema")

    def kinds(file: DataFile, *, each_record: bool = False) -> list[Kind]:
        with counted(memory) as account:
            content = _content(file.path, settings, access, account)
            return _kinds(content, settings, each_record=each_record)

    of_files = [kinds(file) for file in files]
    if has_names_by_case(kind for kinds in of_files for kind in kinds):
        # The records decide which of these names are the same field.
        of_files = [kinds(file, each_record=True) for file in files]
    return inferred(of_files, settings)


def _kinds(content: bytes, settings: JsonSettings, *, each_record: bool = False) -> list[Kind]:
    """Return the types of a file's records. With ``each_record`` the result has one type per record; without
    it, each type occurs once, and where Arrow can infer the common type of many records, that type stands for
    them."""
    inference = JsonInference(settings)
    kinds: list[Kind] = []
    if not is_plain(settings) or settings.infers_specially:
        for piece in _record_pieces(content, settings):
            of_records = _record_kinds(records_of(piece, settings), None, inference, settings)
            kinds.extend(of_records if each_record else distinct(of_records))
        return kinds
    lines = LineKinds()
    for piece in pieces(content, size=_UNKNOWN):
        text = one_object_a_line(piece)
        kind = None if text is None or each_record else kind_of(text)
        if kind is not None:
            kinds.append(kind)
        else:
            records = records_of(piece, settings) if text is None else text.split(b"\n")
            of_records = _record_kinds(records, None if text is None else lines, inference, settings)
            kinds.extend(of_records if each_record else distinct(of_records))
    return kinds if each_record else distinct(kinds)


def _record_kinds(
    records: Sequence[bytes],
    lines: LineKinds | None,
    inference: JsonInference,
    settings: JsonSettings,
) -> Iterator[Kind]:
    """Yield the type of each record; malformed records are left out in mode DROPMALFORMED. ``lines``: the
    quick reader, which is tried first for each record; None = all records are read token by token."""
    for record in records:
        kind = None if lines is None else lines.kind(record.decode())
        if kind is None:
            kind = _careful_kind(record, inference, settings)
        if kind is not None:
            yield kind


def _careful_kind(record: bytes, inference: JsonInference, settings: JsonSettings) -> Kind | None:
    """Return the type of a record, read token by token; None if the record is malformed and the mode is
    DROPMALFORMED. Raises NotSupportedError for JSON that is nested too deeply."""
    try:
        text, _ = as_utf8(record, settings)
        tokens = JsonTokens(text, settings.liberties)
        tokens.advance()
        return inference.of_tokens(tokens)
    except (JsonSyntaxError, UnicodeError):
        return inference.malformed()
    except RecursionError:
        raise NotSupportedError("JSON that is nested too deeply") from None


def read(
    path: str,
    names: tuple[str, ...],
    schema: pa.Schema,
    options: Mapping[str, str],
    context: ProcessorContext,
    filters: Sequence[EngineExpr] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield the columns ``names`` of one file, in batches in physical form. ``schema``: the columns of the
    files. ``filters``: the query's conjuncts, over ordinals of ``schema``; they drop no row here, but Spark's
    parser stops reading a record at a false conjunct, so that errors in the rest of the record go unnoticed.
    Raises OperationalError for an unreadable file, DataError for a malformed record in mode FAILFAST,
    NotSupportedError where Spark's answer is not certain."""
    how = json_settings(options)
    check_corrupt_column(names, schema, how)
    wanted = pa.schema([schema.field(name) for name in names])
    conditions = pushdown(filters, schema, how)
    careful = RecordReader(wanted, how, context.settings.time_zone, path, conditions, context.memory)
    plain = pa.schema([field for field in wanted if field.name != how.corrupt_column])
    content = _content(path, how, context.files, context.memory)
    line = 1
    if not can_read(plain, how):
        for piece in _record_pieces(content, how):
            records = records_of(piece, how)
            yield careful.read(records, line)
            line += len(records)
        return
    most_rows = MOST_AT_ONCE // (_VALUE * max(len(wanted), 1))
    for large in pieces(content):
        rest = [large]
        while rest:
            piece = rest.pop()
            if piece.count(b"\n") > most_rows and (parts := halves(piece, 0)) is not None:
                rest.extend(parts[::-1])
                continue
            text = one_object_a_line(piece)
            batch = None if text is None else rows_of(text, plain, context.settings)
            if batch is not None:
                yield careful.with_corrupt_column(batch)
            elif (parts := halves(piece)) is not None:
                rest.extend(parts[::-1])
                continue
            elif text is not None and (not careful.keeps_records or text == piece.strip(b"\r\n")):
                yield careful.read_lines(text, line)
            else:
                yield careful.read(records_of(piece, how), line)
            line += piece.count(b"\n")


def _record_pieces(content: bytes, settings: JsonSettings) -> Iterator[bytes]:
    """Return an iterator over parts of the content, which are cut only between records; with multiLine the
    whole content is the only part."""
    return iter((content,)) if settings.multi_line else pieces(content, settings.separator or b"\n")


def _content(path: str, settings: JsonSettings, access: FileAccess, memory: Account) -> bytes:
    """Return the bytes of the file, charged to ``memory``, without a byte order mark at the beginning (with
    multiLine the mark stays). Raises NotSupportedError for an object's key with half of a surrogate pair."""
    content = content_of(path, access, memory)
    if _has_surrogates_in_key(content):
        raise NotSupportedError("JSON with a key that may have half a surrogate pair")  # broken for Spark
    return content if settings.multi_line else content.removeprefix(MARK)


def _has_surrogates_in_key(content: bytes) -> bool:
    r"""Return whether a key of an object has an escape such as ``\ud83d``, which is half of a surrogate pair,
    alone or as a part of a pair."""
    if b"\\ud" not in content and b"\\uD" not in content:
        return False
    return any(found["colon"] for pattern in _SURROGATES for found in pattern.finditer(content))


def check_writable(options: Mapping[str, str]) -> None:
    """Raise NotSupportedError, which names the option, for an option of a table that would change what
    :func:`write` writes."""
    settings = json_settings(options)
    given = {
        "dateFormat": settings.date_format,
        "timestampFormat": settings.timestamp_format,
        "timestampNTZFormat": settings.timestamp_ntz_format,
        "lineSep": settings.separator,
        "encoding": None if settings.encoding == "utf-8" else settings.encoding,
    }
    for name, value in given.items():
        if value is not None:
            raise NotSupportedError(f"writing to a table USING json with the option {name}")


def write(path: str, batches: Sequence[pa.RecordBatch], options: Mapping[str, str], zone: str) -> None:
    """Write a new file of JSON lines at ``path`` from batches in logical types, in the form of Spark's
    ``to_json``: null fields are left out, decimals are numbers, binaries are in base 64, times in the time
    zone ``zone``. Raises NotSupportedError for the options that :func:`check_writable` refuses."""
    check_writable(options)
    with open(path, "w", encoding="utf-8") as out:
        for batch in batches:
            rows = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
            lines = Call(STRING, "to_json", (Column(rows.type, 0),))
            texts = evaluate(lines, pa.RecordBatch.from_arrays([rows], names=["row"]), Settings(zone))
            out.writelines(f"{text}\n" for text in texts.to_pylist())
