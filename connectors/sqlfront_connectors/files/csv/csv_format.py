"""CSV files as Spark's parser reads them, and the inference of their schema.

For most files a check of the bytes proves that Arrow's reader gives the same fields; a tokenizer that has the
whole grammar of Spark's parser reads the other files.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.contents import PIECE, content_of, counted
from sqlfront_connectors.files.csv.agreement import arrow_columns, row_count
from sqlfront_connectors.files.csv.lines import UTF8_MARK, data_lines, decode, header_line, lines_of
from sqlfront_connectors.files.csv.writer import write
from sqlfront_connectors.files.failures import file_unreadable
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.errors import DataError, NotSupportedError, ProgrammingError
from sqlfront_values.expressions import EngineExpr
from sqlfront_values.functions.csv.inference import CsvInference
from sqlfront_values.functions.csv.settings import CsvMode, CsvSettings, csv_settings
from sqlfront_values.functions.csv.tokenizer import Record, RecordError
from sqlfront_values.functions.csv.values import values
from sqlfront_values.functions.csv.wide_separators import tokenizer_of
from sqlfront_values.room import Account, check
from sqlfront_values.types import BOOLEAN, STRING

__all__ = ["infer_schema", "read", "write"]

#: Bytes of a file from which on Spark may read the file in several parts, whatever the cluster: the least
#: size of a part (``spark.sql.files.openCostInBytes``, 4 MiB).
_CUT: Final = 4 << 20
#: Copies in memory of the texts of an inference: by column, and the distinct texts.
_COPIES: Final = 2
#: The tokenizer's records per batch: those of the engine's batches.
_ROWS: Final = 1 << 16


class FirstRecordError(Exception):
    """The error of an invalid first record in a file whose records may have several lines (multiLine). Spark
    then reports the file as unreadable, not the record as malformed."""


# ---- schemas


def infer_schema(
    files: Sequence[DataFile], options: Mapping[str, str], access: FileAccess, memory: Account
) -> pa.Schema:
    """Return the schema that Spark infers for the files: names from the header or ``_c0``, ...; all types
    string, or with ``inferSchema`` inferred over all rows. The needed memory is charged to ``memory``. Raises
    OperationalError for an unreadable file, DataError for a malformed record, NotSupportedError if the result
    depends on how Spark cuts the files."""
    settings = csv_settings(options)
    try:
        first, head = _first_record(files, settings, access, memory)
        if first is None:
            return pa.schema([])
        names = _safe_names(first, settings)
        if not settings.infers:
            return pa.schema([(name, STRING) for name in names])
        parts = []
        for file in files:
            with counted(memory) as account:
                content = content_of(file.path, access, account)
                texts = _texts_to_infer(content, settings, head, len(names), account)
            memory.charge(_COPIES * sum(column.nbytes for column in texts))
            parts.append(texts)
    except FirstRecordError as error:
        raise file_unreadable(files[0].path, error) from error
    except RecordError as error:
        raise DataError(f"Malformed CSV record: {error}", condition="MALFORMED_CSV_RECORD") from error
    is_cut = len(files) > 1 or files[0].size >= _CUT
    kinds = CsvInference(settings).kinds(parts, is_cut=is_cut)
    return pa.schema([(name, kind or STRING) for name, kind in zip(names, kinds, strict=True)])


def _first_record(
    files: Sequence[DataFile], settings: CsvSettings, access: FileAccess, memory: Account
) -> tuple[Record | None, str | None]:
    """Return the first record that Spark's inference uses, and the record's line. Without multiLine the
    record comes from the largest file that has one. Both are None if no file has a record; the line is None
    with multiLine. Raises NotSupportedError if files begin with different records and Spark's choice is
    unknown."""
    ordered = sorted(files, key=lambda file: file.size, reverse=True)
    if settings.several_lines:
        firsts = [_first_of_several_lines(file, settings, access, memory) for file in files]
        known = [first for first in firsts if first is not None]
        if any(first != known[0] for first in known):
            raise NotSupportedError("CSV: multiLine over files with different first records")
        return (known[0] if known else None), None
    lines = [_first_line(file, settings, access, memory) for file in ordered]
    present = [line for line in lines if line is not None]
    if not present:
        return None, None
    if len(ordered) > 1 and ordered[1].size >= _CUT and len(set(present)) > 1:
        raise NotSupportedError("CSV: large files with different first lines")
    return tokenizer_of(settings).line(present[0]), present[0]


def _first_line(file: DataFile, settings: CsvSettings, access: FileAccess, memory: Account) -> str | None:
    """Return the first line of the file that inference uses, None if there is none. Only the beginning of the
    file is read if that contains such a line with its end."""
    with counted(memory) as account:
        begin = content_of(file.path, access, account, most=PIECE)
        whole_lines = begin[: begin.rfind(b"\n") + 1] if settings.line_separator is None else b""
        first = next(_inferred_lines(whole_lines, settings), None)
    if first is not None:
        return first
    with counted(memory) as account:
        return next(_inferred_lines(content_of(file.path, access, account), settings), None)


def _first_of_several_lines(
    file: DataFile, settings: CsvSettings, access: FileAccess, memory: Account
) -> Record | None:
    """Return the first record of a file whose records may have several lines, None without records. Raises
    FirstRecordError for an invalid first record, RecordError for an invalid second record, which Spark
    parses, too."""
    with counted(memory) as account:
        content = content_of(file.path, access, account)
        records = tokenizer_of(settings).records(decode(content, settings.encoding))
        try:
            first = next(records, None)
        except RecordError as error:
            raise FirstRecordError(*error.args) from error
        next(records, None)
        return first


def _inferred_lines(content: bytes, settings: CsvSettings) -> Iterator[str]:
    """Yield the lines that inference uses: all lines except comments and lines of spaces alone. Reading, in
    contrast, also leaves out lines of other white space, see
    :func:`~sqlfront_connectors.files.csv.lines.data_lines`."""
    comment = settings.dialect.comment
    for line in lines_of(content, settings):
        if line.strip(" ") and not (comment and line.startswith(comment)):
            yield line


def _safe_names(first: Record, settings: CsvSettings) -> list[str]:
    """Return the names of the columns, from ``first``, the first record, if there is a header: an empty name
    becomes ``_c`` and the column's number; a name that occurs twice, ignoring case, gets the column's number
    appended. Raises ProgrammingError (COLUMN_ALREADY_EXISTS) if two of the resulting names are equal."""
    if not settings.header:
        return [f"_c{number}" for number in range(len(first))]
    lower = [name.lower() for name in first if name is not None]
    names = []
    for number, name in enumerate(first):
        if not name or name == settings.dialect.null_value:
            names.append(f"_c{number}")
        else:
            names.append(f"{name}{number}" if lower.count(name.lower()) > 1 else name)
    taken: set[str] = set()
    for name in names:
        if name.lower() in taken:
            raise ProgrammingError(
                f"The column `{name.lower()}` already exists. Choose another name or rename the column.",
                condition="COLUMN_ALREADY_EXISTS",
            )
        taken.add(name.lower())
    return names


def _texts_to_infer(
    content: bytes, settings: CsvSettings, head: str | None, width: int, memory: Account
) -> list[pa.Array]:
    """Return an array of texts for each of the file's ``width`` columns, without the header. ``head``: the
    header's line, None if records may have several lines."""
    if settings.several_lines or not settings.header or (head and _is_first_line_alone(content, head)):
        batches = arrow_columns(content, settings, width, list(range(width)), memory)
        if batches is not None:
            table = pa.Table.from_batches(batches, pa.schema([(str(i), STRING) for i in range(width)]))
            return [_one(column) for column in table.columns]
    rows = _records_to_infer(content, settings, head)
    parts: list[list[pa.Array]] = [[] for _ in range(width)]
    while some := list(islice(rows, _ROWS)):
        check()
        for index, column in enumerate(parts):
            column.append(from_values([row[index] if index < len(row) else None for row in some], STRING))
    return [_one(pa.chunked_array(column, STRING)) for column in parts]


def _records_to_infer(content: bytes, settings: CsvSettings, head: str | None) -> Iterator[Record]:
    """Return an iterator over the tokenizer's records without the header. With multiLine the header is the
    first record; otherwise the header is every line that equals ``head``."""
    tokenizer = tokenizer_of(settings)
    records: Iterator[Record | None]
    if settings.several_lines:
        records = tokenizer.records(decode(content, settings.encoding))
        if settings.header:
            next(records, None)
    else:
        lines = _inferred_lines(content, settings)
        records = (tokenizer.line(line) for line in lines if not (settings.header and line == head))
    return (record for record in records if record is not None)


def _is_first_line_alone(content: bytes, line: str) -> bool:
    """Return whether the line is the first line of the file, and no other line begins with the same text."""
    encoded, content = line.encode(), content.removeprefix(UTF8_MARK)
    is_first = content.startswith(encoded) and content[len(encoded) : len(encoded) + 1] in (b"", b"\n", b"\r")
    return is_first and b"\n" + encoded not in content and b"\r" + encoded not in content


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


# ---- rows


class CsvReading(msgspec.Struct, frozen=True, dict=True):
    """The parameters of reading the files of a table. ``names``: the wanted columns of ``schema``. The
    columns of ``schema``, except the column for malformed records, belong to the file's fields by position.
    ``filtered``: the query has a filter, so that Spark may not read all records. ``zone``: the session's time
    zone."""

    names: tuple[str, ...]
    schema: pa.Schema
    settings: CsvSettings
    filtered: bool = False
    zone: str = "UTC"

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns of the schema that the file has: all but the column for the text of malformed
        records."""
        return [field for field in self.schema if field.name != self.settings.corrupt]

    @cached_property
    def wanted(self) -> list[int]:
        """The positions, among the file's fields, of the wanted columns, in the order of ``names``."""
        places = {field.name: place for place, field in enumerate(self.fields)}
        return [places[name] for name in self.names if name in places]

    @property
    def wants_corrupt(self) -> bool:
        """True if the text of malformed records is wanted."""
        return self.settings.corrupt in self.names

    @property
    def is_pruned(self) -> bool:
        """True if unwanted fields are not parsed; then a wrong number of fields is no error."""
        several = self.settings.several_lines
        return not several and not self.wants_corrupt and len(self.wanted) < len(self.fields)


def read(
    path: str,
    names: tuple[str, ...],
    schema: pa.Schema,
    options: Mapping[str, str],
    context: ProcessorContext,
    filters: tuple[EngineExpr, ...] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield the columns ``names`` of one file, in batches in physical form. ``schema``: the columns of the
    file, by position and not by name, as in Spark. ``filters``: the query's conjuncts; they drop no row here,
    but with a filter and mode FAILFAST a malformed record raises NotSupportedError, because Spark may not
    read that record. Raises OperationalError for a file that can't be read or parsed."""
    reading = CsvReading(names, schema, csv_settings(options), bool(filters), context.settings.time_zone)
    _check_corrupt(reading)
    content = content_of(path, context.files, context.memory)
    try:
        yield from _batches(content, reading, path, context.memory)
    except RecordError as error:
        raise file_unreadable(path, error) from error


def _check_corrupt(reading: CsvReading) -> None:
    name = reading.settings.corrupt
    if name in reading.schema.names and reading.schema.field(name).type != STRING:
        raise ProgrammingError(
            f"The column {name} for corrupt records must have the nullable STRING type.",
            condition="INVALID_CORRUPT_RECORD_TYPE",
        )
    if reading.names == (name,):
        raise ProgrammingError(
            "Queries from raw JSON/CSV/XML files are disallowed when the referenced columns only include the"
            " internal corrupt record column.",
            condition="UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN",
        )


def _batches(content: bytes, reading: CsvReading, path: str, memory: Account) -> Iterator[pa.RecordBatch]:
    settings, wanted = reading.settings, reading.wanted
    if wanted and not (settings.header and settings.checks_header):
        quick = arrow_columns(content, settings, len(reading.fields), wanted, memory)
        if quick is not None:
            finished = [_quickly_finished(batch, reading, path) for batch in quick]
            if None not in finished:
                yield from (batch for batch in finished if batch is not None)
                return
    if not wanted and reading.is_pruned:
        count = row_count(content, settings) if content else 0
        if count is not None:
            yield _rows_only(count)
            return
        lines = lines_of(content, settings)
        if settings.header:
            header_line(lines, settings)
        yield _rows_only(sum(1 for _ in data_lines(lines, settings)))
        return
    rows = _Rows(reading)
    for record, text in _records(content, reading, path):
        rows.add(record, text)
        if len(rows) == _ROWS:
            yield rows.taken(path)
    if len(rows):
        yield rows.taken(path)


def _rows_only(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(count, BOOLEAN)], names=["row"]).select([])


def _quickly_finished(batch: pa.RecordBatch, reading: CsvReading, path: str) -> pa.RecordBatch | None:
    """Convert a batch of texts that Arrow has read into values, and apply the option ``mode`` to malformed
    records. Return None if there is a malformed record whose text the query wants: Arrow's reader doesn't
    keep it."""
    columns = batch.columns
    converted, malformed = _converted(columns, reading)
    if malformed is not None and reading.wants_corrupt:
        return None
    return _finished(converted, malformed, None, batch.num_rows, reading, path)


def _converted(texts: Sequence[pa.Array], reading: CsvReading) -> tuple[list[pa.Array], pa.Array | None]:
    """Convert the texts of the wanted columns into values; returns the values, and a mask of the rows that
    have a text that is not a value of its column's type, None without such rows."""
    fields = reading.fields
    converted, malformed = [], None
    for column, place in zip(texts, reading.wanted, strict=True):
        found = values(column, fields[place].type, reading.settings, reading.zone)
        if found.null_count > column.null_count:
            bad = pc.and_(pc.is_null(found), pc.is_valid(column))
            malformed = bad if malformed is None else pc.or_(malformed, bad)
        converted.append(found)
    return converted, malformed


def _finished(
    columns: list[pa.Array],
    malformed: pa.Array | None,
    texts: pa.Array | None,
    count: int,
    reading: CsvReading,
    path: str,
) -> pa.RecordBatch:
    """Return the batch of the wanted columns after the option ``mode`` is applied to malformed records:
    FAILFAST raises OperationalError (NotSupportedError if the query has a filter), DROPMALFORMED leaves the
    records out, PERMISSIVE keeps the records. ``columns``: the converted values, null where a text is no
    value. ``malformed``: a mask of the malformed records, None = no record. ``texts``: the column of the
    malformed records' texts, None = all null. ``count``: the number of records."""
    mode = reading.settings.mode
    if malformed is not None and mode is CsvMode.FAIL:
        if reading.filtered:
            raise NotSupportedError("CSV: mode FAILFAST, malformed records and a filter")
        raise file_unreadable(
            path, ValueError("Malformed records are detected in record parsing. Parse Mode: FAILFAST.")
        )
    if reading.wants_corrupt:
        columns.insert(reading.names.index(reading.settings.corrupt), texts or pa.nulls(count, STRING))
    if not columns:
        kept = _rows_only(count)
        dropped = pc.sum(malformed).as_py() if malformed is not None and mode is CsvMode.DROP else 0
        return kept.slice(0, count - dropped)
    batch = pa.RecordBatch.from_arrays(columns, names=list(reading.names))
    return batch.filter(pc.invert(malformed)) if malformed is not None and mode is CsvMode.DROP else batch


class _Rows:
    """A buffer of tokenized records: :meth:`add` appends one record, :meth:`taken` empties the buffer and
    returns a batch of the wanted columns' values, with the option ``mode`` applied to malformed records."""

    def __init__(self, reading: CsvReading) -> None:
        self._reading = reading
        self._width = len(reading.fields)
        self._begin()

    def _begin(self) -> None:
        self._records: list[Record] = []
        self._bad: list[bool] = []
        self._texts: list[str | None] = []

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record | None, text: str | None) -> None:
        """Append a record to the buffer. ``record``: its fields; None = a line without fields, which is a
        malformed record. ``text``: the record's text, which the buffer keeps only if the query wants the
        texts of malformed records."""
        bad = record is None or (not self._reading.is_pruned and len(record) != self._width)
        self._records.append(record or [])
        self._bad.append(bad)
        if self._reading.wants_corrupt:
            self._texts.append(text)

    def taken(self, path: str) -> pa.RecordBatch:
        """Empty the buffer, and return its records as a batch of the wanted columns' values. ``path``: the
        file, for the message of an error that mode FAILFAST raises."""
        reading = self._reading
        null = reading.settings.dialect.null_value
        columns = [
            from_values(
                [
                    None if place >= len(record) or record[place] == null else record[place]
                    for record in self._records
                ],
                STRING,
            )
            for place in reading.wanted
        ]
        converted, malformed = _converted(columns, reading)
        if any(self._bad):
            bad = from_values(self._bad, BOOLEAN)
            malformed = bad if malformed is None else pc.or_(malformed, bad)
        texts = None
        if reading.wants_corrupt:
            texts = from_values(self._texts, STRING)
            nothing = scalar(None, STRING)
            texts = (
                pa.nulls(len(texts), STRING) if malformed is None else pc.if_else(malformed, texts, nothing)
            )
        count = len(self._records)
        self._begin()
        return _finished(converted, malformed, texts, count, reading, path)


def _records(content: bytes, reading: CsvReading, path: str) -> Iterator[tuple[Record | None, str | None]]:
    """Yield each record after the header, as a pair of the tokenizer's fields and the record's text; the
    fields are None for a line without fields. Raises OperationalError if enforceSchema is false and the
    header differs from the schema."""
    settings = reading.settings
    limited = frozenset(reading.wanted) if reading.is_pruned else None
    tokenizer = tokenizer_of(settings, limited)
    if settings.several_lines:
        records = tokenizer.records(decode(content, settings.encoding))
        if settings.header:
            _check_header(next(records, None), reading, path)
        for record in records:
            yield record, tokenizer.consumed()
        return
    lines = lines_of(content, settings)
    if settings.header and (head := header_line(lines, settings)) is not None:
        names = tokenizer.line(head)
        if reading.is_pruned and names is not None:
            names = [names[place] if place < len(names) else "" for place in reading.wanted]
        _check_header(names, reading, path)
    for line in data_lines(lines, settings):
        yield tokenizer.line(line), tokenizer.consumed()


def _check_header(names: Record | None, reading: CsvReading, path: str) -> None:
    """Do nothing if enforceSchema is true; otherwise raise OperationalError if the header's fields ``names``
    differ from the names of the schema (case is ignored)."""
    if not reading.settings.checks_header or names is None:
        return
    fields = reading.fields
    wanted = (
        [fields[place].name for place in reading.wanted]
        if reading.is_pruned
        else [one.name for one in fields]
    )
    if [name and name.lower() for name in names] != [name.lower() for name in wanted]:
        raise file_unreadable(
            path, ValueError(f"CSV header {names} does not conform to the schema {wanted}.")
        )
