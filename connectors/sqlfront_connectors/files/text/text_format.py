"""Text files, a row per line (or per file): ``USING text``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.contents import content_of, pieces
from sqlfront_connectors.files.locations.listing_options import truth
from sqlfront_engine.processor import BATCH_ROWS, ProcessorContext
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.expressions import EngineExpr
from sqlfront_values.types import STRING, ddl

#: The only column, unless a schema gives another name.
SCHEMA: Final = pa.schema([("value", STRING)])
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_MARK: Final = b"\xef\xbb\xbf"
_OPTIONS: Final = frozenset({"wholetext", "linesep", "encoding"})


def text_settings(options: Mapping[str, str]) -> tuple[bool, bytes | None]:
    """Return the options wholeText (True: a file is one row) and lineSep in bytes (None: a line ends with LF,
    CR or CR LF). Raises NotSupportedError, which names the option, for an unknown option or encoding,
    ProgrammingError for an empty lineSep.

    >>> text_settings({"lineSep": ";"})
    (False, b';')
    """
    given = {key.lower(): value for key, value in options.items()}
    unknown = sorted(set(given) - _OPTIONS)
    if unknown:
        raise NotSupportedError(
            f"option {unknown[0]} of USING text; known options: {', '.join(sorted(_OPTIONS))}"
        )
    if given.get("encoding", "utf-8").lower() not in ("utf-8", "utf8"):
        raise NotSupportedError(f"encoding {given['encoding'][:40]} of USING text")
    separator = given.get("linesep")
    if separator == "":
        raise ProgrammingError("option lineSep of USING text can't be empty")
    whole = truth("wholetext", given.get("wholetext", "false"))
    return whole, None if separator is None else separator.encode()


def check_schema(schema: pa.Schema) -> None:
    """Raise ProgrammingError if a text table can't have the data columns ``schema``: more than one column, or
    a column that is not a string (UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE)."""
    if len(schema) > 1:
        raise ProgrammingError(f"Text data source supports only a single column, and you have {len(schema)}.")
    for field in schema:
        if field.type != STRING:
            raise ProgrammingError(
                f"The Text datasource doesn't support the column `{field.name}` of the type "
                f'"{ddl(field.type).upper()}".',
                condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
            )


def read(
    path: str,
    names: tuple[str, ...],
    schema: pa.Schema,
    options: Mapping[str, str],
    context: ProcessorContext,
    filters: Sequence[EngineExpr] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield the lines of one file, without their ends, as batches; with wholeText the file is one row.
    ``names``: the name of the column, or empty for batches with a row count only. ``schema`` and ``filters``
    have no effect. Raises OperationalError for an unreadable file, NotSupportedError for text that is not
    UTF-8."""
    whole, separator = text_settings(options)
    content = content_of(path, context.files, context.memory)
    if whole:
        yield _batch([content], names, path)
        return
    for piece in pieces(content.removeprefix(_MARK), separator or b"\n"):
        lines = _lines(piece, separator)
        for start in range(0, len(lines), BATCH_ROWS):
            yield _batch(lines[start : start + BATCH_ROWS], names, path)


def _batch(lines: Sequence[bytes], names: tuple[str, ...], path: str) -> pa.RecordBatch:
    if names:
        return pa.RecordBatch.from_arrays([_texts(lines, path)], names=list(names))
    return pa.RecordBatch.from_arrays([pa.nulls(len(lines))], names=["_"]).select([])


def _lines(content: bytes, separator: bytes | None) -> list[bytes]:
    lines = _LINE_END.split(content) if separator is None else content.split(separator)
    if not lines[-1]:
        lines.pop()
    return lines


def _texts(lines: Sequence[bytes], path: str) -> pa.Array:
    try:
        return from_values([line.decode() for line in lines], STRING)
    except UnicodeDecodeError as error:
        raise NotSupportedError(f"{path}: text that is not UTF-8") from error
