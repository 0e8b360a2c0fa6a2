"""Conversion of batches into the parts of a message's body and back, for one stream: the batches that one
edge carries from one member to another.

A batch is sent as one Arrow IPC message: its buffers are copied once into one block, and only the sliced part
of a slice's buffers is sent. The schema is sent when it changes. The receiver reads the data in place,
without a copy.

A dictionary is sent as a separate batch before the first batch that uses it; sender and receiver keep the
dictionary until another dictionary replaces it. If a dictionary is much larger than the part that a batch
uses, the first batch brings only that part; the second batch with an unchanged dictionary brings all of it.

The receiver trusts no input: lengths, offsets and dictionary codes outside of the data are refused, so that
no kernel reads out of bounds (invalid UTF-8 is detected in small batches only).
"""

import struct
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec.hooks import read_schema
from sqlfront_cluster.codec.values import malformed
from sqlfront_values.arrow.bounds import check_bounds
from sqlfront_values.errors import InternalError
from sqlfront_values.memo import Memo

#: Bytes of a body up to which Arrow's full validation costs less than a check of the offsets alone.
_SMALL: Final = 8192
#: Entries of a dictionary per row of the batch up to which the dictionary is sent whole with its first batch;
#: with more, most of the entries would be sent in vain.
_SPARE: Final = 2
#: Cached decoded schemas, and the most bytes of one: each stream begins with a schema. The two bound the
#: memory that other members' messages can fill (64 MiB).
_KEPT: Final = 1024
_LONGEST: Final = 65_536
_read_schemas: Final = Memo[bytes, tuple[pa.Schema, tuple[int, ...], pa.Schema]](_KEPT)
#: Cached encoded schemas, compared one after the other: a comparison takes 0.3 us, an encoding 25 to 90.
_WRITTEN: Final = 16
_written_schemas: Final[deque[tuple[pa.Schema, tuple[int, ...], bytes]]] = deque(maxlen=_WRITTEN)


class EncodedBatch(msgspec.Struct, frozen=True):
    """An encoded batch of a stream, to be sent in a message. ``schema``: the encoded schema if it differs
    from the stream's last schema, else None. ``body``: the parts of the message's body, to be sent one after
    the other. ``size``: the bytes of all parts."""

    schema: bytes | None
    body: tuple[pa.Buffer, ...]
    size: int


class BatchEncoder:
    """The encoder of a stream's batches, at the sending end; it remembers the schema and the dictionaries
    that the receiver has."""

    __slots__ = ("_columns", "_schema", "_sent", "_seen")

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None
        #: Ordinals of the dictionary columns; and for each column the receiver's dictionary, and the
        #: dictionary of which the receiver got a part. Both are referenced, so that no other dictionary can
        #: get their addresses.
        self._columns: tuple[int, ...] = ()
        self._sent: list[pa.Array | None] = []
        self._seen: list[pa.Array | None] = []

    def encode(self, batch: pa.RecordBatch) -> EncodedBatch:
        """Encode the next batch of the stream. The receiver must decode batches in the order of their
        encoding. Raises InternalError for a dictionary inside of a nested type."""
        schema = None
        if self._schema is None or not batch.schema.equals(self._schema):
            schema = self._change_schema(batch.schema)
        if not self._columns:
            buffer = batch.serialize()
            return EncodedBatch(schema, (buffer,), buffer.size)
        body = self._with_dictionaries(batch)
        return EncodedBatch(schema, body, sum(part.size for part in body))

    def _change_schema(self, schema: pa.Schema) -> bytes:
        self._schema, self._columns, encoded = _written(schema)
        self._sent = [None] * len(self._columns)
        self._seen = [None] * len(self._columns)
        return encoded

    def _with_dictionaries(self, batch: pa.RecordBatch) -> tuple[pa.Buffer, ...]:
        """Return the body's parts for a batch with dictionary columns: the sizes of the dictionaries'
        messages (0 = the receiver has the dictionary already), these messages, and the batch with codes."""
        messages = []
        for place, ordinal in enumerate(self._columns):
            column = batch.column(ordinal)
            dictionary = column.dictionary
            if _is_same(dictionary, self._sent[place]):
                continue
            if self._worth_cutting(place, dictionary, len(column)):
                column = column.dictionary_decode().dictionary_encode()
                batch = batch.set_column(ordinal, batch.schema.field(ordinal), column)
                self._sent[place], self._seen[place] = None, dictionary
            else:
                self._sent[place] = dictionary
            messages.append((place, _serialized(column.dictionary)))
        sizes = [0] * len(self._columns)
        for place, message in messages:
            sizes[place] = message.size
        header = pa.py_buffer(struct.pack(f"<{len(sizes)}q", *sizes))
        return (header, *(message for _, message in messages), batch.serialize())

    def _worth_cutting(self, place: int, dictionary: pa.Array, rows: int) -> bool:
        return len(dictionary) > _SPARE * rows and not _is_same(dictionary, self._seen[place])


class BatchDecoder:
    """The decoder of a stream's batches, at the receiving end; it remembers the last schema and the last
    dictionaries."""

    __slots__ = ("_columns", "_dictionaries", "_schema", "_stored")

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None
        #: The schema of the messages: codes in place of dictionary columns.
        self._stored: pa.Schema | None = None
        self._columns: tuple[int, ...] = ()
        self._dictionaries: list[pa.Array | None] = []

    def decode(
        self, schema: bytes | None, body: pa.Buffer | bytes | bytearray | memoryview
    ) -> pa.RecordBatch:
        """Decode the next batch of the stream; its columns refer to ``body`` without a copy. ``schema``: the
        encoded schema of the same message, None = the stream's last schema applies. Raises OperationalError
        for data that doesn't come from a :class:`BatchEncoder`."""
        try:
            if schema is not None:
                self._change_schema(schema)
            if self._stored is None:
                raise ValueError("no schema came before the batch")
            buffer = pa.py_buffer(body)
            return self._with_dictionaries(buffer) if self._columns else _read(buffer, self._stored)
        except Exception as error:
            raise malformed("batch", error) from error

    def _change_schema(self, encoded: bytes) -> None:
        known = _read_schemas.get(encoded)
        if known is None:
            schema = stored = read_schema(encoded)
            columns = dictionary_columns(schema)
            for ordinal in columns:
                field = schema.field(ordinal)
                stored = stored.set(ordinal, field.with_type(field.type.index_type))
            known = schema, columns, stored
            if len(encoded) <= _LONGEST:
                _read_schemas.keep(encoded, known)
        self._schema, self._columns, self._stored = known
        self._dictionaries = [None] * len(self._columns)

    def _with_dictionaries(self, body: pa.Buffer) -> pa.RecordBatch:
        assert self._schema is not None
        sizes = struct.unpack_from(f"<{len(self._columns)}q", body)
        start = 8 * len(sizes)
        for place, size in enumerate(sizes):
            if size < 0 or size > body.size - start:
                raise ValueError("a dictionary is longer than the body")
            if size:
                field = pa.field("", self._schema.field(self._columns[place]).type.value_type)
                part = body.slice(start, size)
                self._dictionaries[place] = _read(part, pa.schema([field])).column(0)
                start += size
        stored = _read(body.slice(start), self._stored)
        columns = stored.columns
        for place, ordinal in enumerate(self._columns):
            dictionary = self._dictionaries[place]
            if dictionary is None:
                raise ValueError(f"column {ordinal} comes without its dictionary")
            columns[ordinal] = pa.DictionaryArray.from_arrays(columns[ordinal], dictionary)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _written(schema: pa.Schema) -> tuple[pa.Schema, tuple[int, ...], bytes]:
    """Return the schema, the ordinals of its dictionary columns, and its encoding, all from the cache if an
    equal schema was encoded before."""
    for known in tuple(_written_schemas):
        if schema.equals(known[0], check_metadata=True):
            return known
    encoded: bytes = schema.serialize().to_pybytes()
    made = schema, dictionary_columns(schema), encoded
    if len(encoded) <= _LONGEST:
        _written_schemas.appendleft(made)
    return made


def dictionary_columns(schema: pa.Schema) -> tuple[int, ...]:
    """Return the ordinals of the schema's dictionary columns. Raises InternalError for dictionaries inside of
    nested types, which no operator makes."""
    found = []
    for ordinal, data_type in enumerate(schema.types):
        if pa.types.is_dictionary(data_type):
            found.append(ordinal)
            data_type = data_type.value_type
        if _holds_dictionary(data_type):
            raise InternalError(f"column {schema.names[ordinal]!r} has dictionaries inside of {data_type}")
    return tuple(found)


def _holds_dictionary(data_type: pa.DataType) -> bool:
    if isinstance(data_type, pa.BaseExtensionType):
        return _holds_dictionary(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return True
    return any(_holds_dictionary(data_type.field(index).type) for index in range(data_type.num_fields))


def _is_same(array: pa.Array, other: pa.Array | None) -> bool:
    """Return whether both arrays refer to the same part of the same buffers; False if ``other`` is None."""
    if other is None or len(array) != len(other) or array.offset != other.offset:
        return False
    return _addresses(array) == _addresses(other)


def _addresses(array: pa.Array) -> Sequence[int | None]:
    return [None if buffer is None else buffer.address for buffer in array.buffers()]


def _serialized(dictionary: pa.Array) -> pa.Buffer:
    return pa.RecordBatch.from_arrays([dictionary], names=[""]).serialize()


def _read(buffer: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    batch = pa.ipc.read_record_batch(buffer, schema)
    if buffer.size <= _SMALL:
        batch.validate(full=True)
        return batch
    check_bounds(batch)
    return batch
