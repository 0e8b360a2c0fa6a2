"""The careful reader, which turns JSON records of any form into batches, token by token."""

from collections.abc import Callable, Iterator, Sequence
from decimal import InvalidOperation
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.contents import is_packed
from sqlfront_connectors.files.json.conditions import Pushdown
from sqlfront_connectors.files.json.lines import LineReader
from sqlfront_connectors.files.json.records import as_utf8
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions.json.tokens import JsonTokens, Token
from sqlfront_values.functions.json.typed.columns import column_of
from sqlfront_values.functions.json.typed.converters import Converters, Row, UnfitError
from sqlfront_values.functions.json.typed.settings import JsonMode, JsonSettings
from sqlfront_values.room import Account, check
from sqlfront_values.types import STRING

#: Rows of one record that are charged at a time, and bytes that each value, and the row itself, are charged
#: as: Python objects' sizes, about. A charge for each row would cost more than the reading.
_COUNTED: Final = 4096
_VALUE: Final = 64


class RecordReader:
    """A reader of one file's records into rows of ``schema``, which may have the column for the text of
    malformed records. ``path``: the file, for errors. ``pushdown``: the kind of the query's filters, by which
    Spark's parser may skip the rest of a record. The rows of a record that is a long array are charged to
    ``memory``, and the reader never releases them. The methods raise DataError for a malformed record in mode
    FAILFAST, NotSupportedError where Spark's answer is not certain."""

    def __init__(
        self,
        schema: pa.Schema,
        settings: JsonSettings,
        zone: str,
        path: str,
        pushdown: Pushdown,
        memory: Account,
    ) -> None:
        self._memory = memory
        self._settings = settings
        self._schema = schema
        self._path = path
        self._pushdown = pushdown
        self._corrupt = schema.get_field_index(settings.corrupt_column)
        fields = [field for field in schema if field.name != settings.corrupt_column]
        self._width = len(fields)
        data = pa.schema(fields)
        # In a stream, Spark can't go back to the text of a value that it has read.
        self._is_stream = settings.multi_line and is_packed(path)
        self._lines = LineReader(data, settings, zone)
        # Spark can't write the value anew as text either where the file's bytes alone determine the encoding.
        copies = self._is_stream or settings.encoding is not None or not settings.multi_line
        self._members = {
            exact: Converters(settings, zone, exact_bytes=exact, copies=copies).members(data)
            for exact in (True, False)
        }

    @property
    def keeps_records(self) -> bool:
        """True if the schema has the column for the text of malformed records, so that each record is needed
        with the blanks around it."""
        return self._corrupt >= 0

    def read(self, records: Sequence[bytes], first: int = 1) -> pa.RecordBatch:
        """Return a batch of all rows of the records. ``first``: the number, within the file, of the first of
        these records, for error messages."""
        return self._batch(
            [row for number, record in enumerate(records, first) for row in self._rows(record, number)]
        )

    def read_lines(self, text: bytes, first: int = 1) -> pa.RecordBatch:
        """Return a batch of the rows of ``text``, UTF-8 with one record per line. The line reader is tried
        first for each line, and a line that it rejects is read token by token. ``first``: the number, within
        the file, of the first line, for error messages."""
        rows: list[Row] = []
        for number, line in enumerate(text.decode().split("\n"), first):
            row = self._lines.row(line)
            if row is None:
                rows.extend(self._rows(line.removesuffix("\r").encode(), number))
            else:
                rows.append(self._with_record(row, None))
        return self._batch(rows)

    def _batch(self, rows: list[Row]) -> pa.RecordBatch:
        columns = [
            column_of([row[index] for row in rows], field.type) for index, field in enumerate(self._schema)
        ]
        if columns:
            return pa.RecordBatch.from_arrays(columns, names=self._schema.names)
        return pa.RecordBatch.from_struct_array(
            pa.StructArray.from_arrays([pa.nulls(len(rows))], ["_"])
        ).select([])

    def with_corrupt_column(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with an additional column for the text of malformed records, all null, if the
        schema has this column; otherwise return the batch itself. The rows of the batch must come from valid
        records."""
        if self._corrupt < 0:
            return batch
        columns = list(batch.columns)
        columns.insert(self._corrupt, pa.nulls(batch.num_rows, STRING))
        return pa.RecordBatch.from_arrays(columns, names=self._schema.names)

    def _rows(self, record: bytes, number: int) -> Iterator[Row]:
        try:
            text, is_exact = as_utf8(record, self._settings)
            members = self._members[is_exact and not self._is_stream]
            found = self._parsed(JsonTokens(text, self._settings.liberties), members)
        except _PartialRowsError as error:
            yield from self._malformed(record, number, error.rows)
        except (ValueError, InvalidOperation):
            if self._pushdown is Pushdown.PASSES_NULLS and self._settings.mode is JsonMode.PERMISSIVE:
                raise NotSupportedError(
                    f"{self._path} holds broken JSON, and a filter that nulls pass"
                ) from None
            yield from self._malformed(record, number, [[None] * self._width])
        else:
            for row in found:
                yield self._with_record(row, None)

    def _parsed(
        self, tokens: JsonTokens, members: Callable[[JsonTokens, bool], tuple[Row, bool]]
    ) -> list[Row]:
        match tokens.advance():
            case None:
                return []
            case Token.START_OBJECT:
                row, is_whole = members(tokens, self._pushdown is not Pushdown.NONE)
                if not is_whole:
                    raise _PartialRowsError([row])
                return [row]
            case Token.START_ARRAY:
                return self._elements(tokens, members)
            case _:
                raise UnfitError

    def _elements(
        self, tokens: JsonTokens, members: Callable[[JsonTokens, bool], tuple[Row, bool]]
    ) -> list[Row]:
        """Return the rows of an array at the top level of a record, one row per element. Raises UnfitError if
        an element is not an object: the record is then malformed and has no readable row. Raises
        _PartialRowsError, with the rows, if a field of an element doesn't fit its type."""
        rows: list[Row] = []
        all_whole = True
        while tokens.advance() not in (Token.END_ARRAY, None):
            if tokens.token is not Token.START_OBJECT:
                raise UnfitError
            row, is_whole = members(tokens, False)
            rows.append(row)
            if len(rows) % _COUNTED == 0:
                self._memory.charge(_COUNTED * (self._width + 1) * _VALUE)
                check()
            all_whole = all_whole and is_whole
        if not all_whole:
            raise _PartialRowsError(rows)
        return rows

    def _malformed(self, record: bytes, number: int, rows: list[Row]) -> Iterator[Row]:
        match self._settings.mode:
            case JsonMode.PERMISSIVE:
                text = self._text(record) if self._corrupt >= 0 else None
                for row in rows:
                    yield self._with_record(row, text)
            case JsonMode.DROPMALFORMED:
                pass
            case JsonMode.FAILFAST:
                if self._pushdown is not Pushdown.NONE:
                    raise NotSupportedError(
                        f"mode FAILFAST with a filter over {self._path}, which holds broken JSON"
                    )
                raise DataError(
                    f"Encountered error while reading file {self._path}. Malformed records are detected in "
                    f"record parsing: record {number} is broken, or does not fit the columns. "
                    "Parse Mode: FAILFAST.",
                    condition="FAILED_READ_FILE.NO_HINT",
                )

    def _text(self, record: bytes) -> str:
        try:
            return record.decode()
        except UnicodeDecodeError:
            raise NotSupportedError(f"a corrupt record of {self._path} that is not UTF-8") from None

    def _with_record(self, row: Row, text: str | None) -> Row:
        return row if self._corrupt < 0 else [*row[: self._corrupt], text, *row[self._corrupt :]]


class _PartialRowsError(Exception):
    """The error of a malformed record of which some fields are readable. ``rows``: the record's rows, with
    None for the fields that don't fit."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows
