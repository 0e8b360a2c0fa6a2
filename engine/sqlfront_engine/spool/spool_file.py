"""Writing of spool files: rows in buckets, as an Arrow IPC file that appears when it is complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Literal, Self

import msgspec
import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, MemoryAccount
from sqlfront_engine.spool.places import Located
from sqlfront_engine.spool.stored_form import schema_hash, stored_batch, stored_schema
from sqlfront_engine.storage.addresses import located
from sqlfront_engine.system_calls import SystemCalls
from sqlfront_values.columns.batches import concat_batches, slices, slices_of_bytes
from sqlfront_values.errors import OperationalError

#: The compressions of record batches that Arrow has; None = none.
Compression = Literal["lz4", "zstd"] | None

#: Bytes counted for a held batch in addition to its values, so that many small batches, or batches without
#: columns, fill the buffer, too.
_BATCH_OVERHEAD: Final = 1024


class SpoolFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finished spool file: the description by which a reader finds and checks the rows.

    ``path`` is the path or URL that the writer was given. ``rows`` and ``bytes`` are the rows and the size of
    the file. ``buckets`` has the bucket of each record batch, in the order of the file, and ``checksums`` the
    CRC-32 of each batch's bytes. Batch i is at the bytes ``offsets[i]`` to ``offsets[i + 1]``, so that there
    is one offset more than batches; the bytes of batch 0 include the file's beginning, with the schema.
    ``bucket_rows`` and ``bucket_bytes`` have the rows and the bytes of each bucket; the bytes are counted as
    the rows lie in memory, neither compressed nor with a dictionary. ``schema_hash`` is the SHA-256
    (hexadecimal) of the serialized schema."""

    path: str
    rows: int
    bytes: int
    buckets: tuple[int, ...]
    offsets: tuple[int, ...]
    checksums: tuple[int, ...]
    bucket_rows: tuple[int, ...]
    bucket_bytes: tuple[int, ...]
    schema_hash: str


class SpoolSettings(msgspec.Struct, frozen=True):
    """The settings of a spool file's writer.

    ``compression``: the compression of the record batches. ``buffer_size``: the bytes of rows that are
    collected before they are written, at most 1 GiB; writing a bucket takes the bucket's bytes of memory once
    more. ``fsync``: if true, a finished file survives a failure of the machine; if false, only a failure of
    the process."""

    compression: Compression = "lz4"
    buffer_size: int = 8 * 2**20
    fsync: bool = True

    def __post_init__(self) -> None:
        # The strings of one record batch have less than 2 GiB.
        if not 0 < self.buffer_size <= 2**30:
            raise ValueError(f"a buffer of {self.buffer_size} bytes is not one of 1 byte to 1 GiB")


DEFAULT_SETTINGS: Final = SpoolSettings()


class SpoolWriter:
    """The writer of one spool file; a context manager. The file is at ``path``, a path or URL, after
    :meth:`finish`; if the block ends without that call, with an error or not, no file stays.

    The writer collects rows per bucket: at most ``settings.buffer_size`` bytes in all, or the bytes of
    :data:`BATCH_ROWS` rows if these are more. The bytes count against ``memory``. When the buffer is full,
    the rows of each bucket are written as one record batch, in the order of the buckets. All methods raise
    OperationalError if the system can't write the file."""

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        buckets: int,
        *,
        memory: MemoryAccount,
        settings: SpoolSettings = DEFAULT_SETTINGS,
        calls: SystemCalls | None = None,
        places: Located | None = None,
    ) -> None:
        """``calls``: the system's calls, which tests replace. ``places``: finds the folder of the file,
        None = a directory or an object storage."""
        self.path = path
        self.schema = stored_schema(schema)
        self._schema_hash = schema_hash(self.schema)
        self._memory = memory
        self._settings = settings
        self._held: list[list[pa.RecordBatch]] = [[] for _ in range(buckets)]
        self._held_bytes = 0
        self._buckets: list[int] = []
        self._checksums: list[int] = []
        self._rows = [0] * buckets
        self._bytes = [0] * buckets
        folder, name = located(path, calls) if places is None else places(path)
        with self._system_errors():
            self._file = folder.growing_file(name)
        # Without threads: the instances of operators are the engine's threads, and a column of a few thousand
        # values costs less than its hand-over to another thread.
        options = pa.ipc.IpcWriteOptions(compression=settings.compression, use_threads=False)
        self._writer = pa.ipc.new_file(self._file, self.schema, options=options)
        self._offsets = [0]

    def write(self, batch: pa.RecordBatch, bucket: int) -> None:
        """Add the rows of the batch to the bucket, after the bucket's earlier rows. Raises InternalError if
        the columns differ from the file's schema."""
        for rows in slices(batch, BATCH_ROWS):
            for piece in slices_of_bytes(rows, self._settings.buffer_size):
                if piece.num_rows:
                    self._hold(stored_batch(piece, self.schema), bucket)

    def _hold(self, rows: pa.RecordBatch, bucket: int) -> None:
        size = rows.nbytes + _BATCH_OVERHEAD
        if self._held_bytes + size > self._settings.buffer_size:
            self._write_held()
        self._memory.charge(size)
        self._held_bytes += size
        self._held[bucket].append(rows)

    def finish(self) -> SpoolFile:
        """Write the remaining rows, so that the file appears, and return its description. The file is
        durable then, unless the settings say otherwise."""
        self._write_held()
        with self._system_errors():
            self._writer.close()
            self._file.publish(sync=self._settings.fsync)
        return SpoolFile(
            path=self.path,
            rows=sum(self._rows),
            bytes=self._file.size,
            buckets=(*self._buckets,),
            offsets=(*self._offsets,),
            checksums=(*self._checksums,),
            bucket_rows=(*self._rows,),
            bucket_bytes=(*self._bytes,),
            schema_hash=self._schema_hash,
        )

    def _write_held(self) -> None:
        with self._system_errors():
            for bucket, pieces in enumerate(self._held):
                if pieces:
                    self._write_bucket(bucket, concat_batches(pieces))
                    pieces.clear()
        self._release()

    def _write_bucket(self, bucket: int, rows: pa.RecordBatch) -> None:
        self._writer.write_batch(rows)
        self._checksums.append(self._file.checksum())
        self._offsets.append(self._file.size)
        self._buckets.append(bucket)
        self._rows[bucket] += rows.num_rows
        self._bytes[bucket] += rows.nbytes

    def _release(self) -> None:
        self._memory.release(self._held_bytes)
        self._held_bytes = 0

    def close(self) -> None:
        """Remove the file unless it is finished, and drop the collected rows."""
        self._held.clear()
        self._release()
        with self._system_errors():
            self._file.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _system_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = error.strerror or str(error)
            raise OperationalError(f"the spool file {self.path} can't be written: {problem}") from error
