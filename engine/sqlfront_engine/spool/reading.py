"""Reading of spool files: checks that a file is as its description says, and reads the record batches of
some buckets."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import Final
from zlib import crc32

import pyarrow as pa

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_engine.spool.stored_form import schema_hash
from sqlfront_engine.storage.addresses import located
from sqlfront_values.arrow.bounds import check_bounds
from sqlfront_values.errors import OperationalError

#: Bytes read at a time for the checksum.
_CHUNK: Final = 2**20


class Verification(Enum):
    """The choices for what is checked in a spool file before its rows are read: its size, schema and numbers
    of batches and rows (SIZE), or in addition the checksum of all bytes (FULL)."""

    SIZE = "size"
    """The file's size, its schema, and the numbers of batches and rows. A flipped bit is not found."""
    FULL = "full"
    """The checksum of all bytes in addition; the whole file is read for it."""


class SpoolDamaged(OperationalError):
    """The error for a spool file that is missing, or that differs from what was written. ``path`` names the
    file, ``problem`` says what is wrong."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"the spool file {path} {problem}")
        self.path = path
        self.problem = problem


def read_spool(
    file: SpoolFile,
    buckets: range | None = None,
    *,
    verify: Verification = Verification.SIZE,
    access: FileAccess = EVERYWHERE,
) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of the buckets (None = all) in the order of the file, without reading the
    others. ``verify``: what is checked before. ``access``: the files that may be opened. Raises SpoolDamaged,
    before the first batch or at a batch, if the file is missing or differs from its description ``file``;
    OperationalError if the file can't be opened for another reason, or if an object storage can't be reached
    meanwhile."""
    with _opened(file, verify, access) as reader:
        rows = [0] * len(file.bucket_rows)
        for place, bucket in enumerate(file.buckets):
            if buckets is None or bucket in buckets:
                with _damages(file):
                    batch = reader.get_batch(place)
                    check_bounds(batch)
                rows[bucket] += batch.num_rows
                yield batch
        for bucket, written in enumerate(file.bucket_rows):
            if buckets is None or bucket in buckets:
                _expect(file, rows[bucket], written, f"rows in bucket {bucket}")


def check_spool(
    file: SpoolFile, *, verify: Verification = Verification.SIZE, access: FileAccess = EVERYWHERE
) -> None:
    """Check the file without reading its rows. Raises SpoolDamaged if the file is missing or differs from
    its description ``file``; OperationalError if it can't be opened for another reason."""
    with _opened(file, verify, access):
        pass


@contextmanager
def _opened(
    file: SpoolFile, verify: Verification, access: FileAccess
) -> Iterator[pa.ipc.RecordBatchFileReader]:
    with ExitStack() as stack:
        try:
            folder, name = located(file.path)
            source = stack.enter_context(folder.opened(name, access))
        except (FileNotFoundError, NotADirectoryError):
            raise SpoolDamaged(file.path, "is missing") from None
        except OSError as error:
            raise OperationalError(f"the spool file {file.path} can't be opened: {error}") from error
        with _damages(file):
            reader = _checked(source, file, verify)
        yield reader


def _checked(source: pa.NativeFile, file: SpoolFile, verify: Verification) -> pa.ipc.RecordBatchFileReader:
    _expect(file, source.size(), file.bytes, "bytes")
    if verify is Verification.FULL:
        _expect(file, _checksum(source), file.checksum, "as the checksum")
    reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(use_threads=False))
    _expect(file, reader.num_record_batches, len(file.buckets), "record batches")
    _expect(file, schema_hash(reader.schema), file.schema_hash, "as the hash of the schema")
    return reader


def _checksum(source: pa.NativeFile) -> int:
    checksum = 0
    source.seek(0)
    while chunk := source.read(_CHUNK):
        checksum = crc32(chunk, checksum)
    return checksum


def _expect(file: SpoolFile, found: int | str, written: int | str, what: str) -> None:
    if found != written:
        raise SpoolDamaged(file.path, f"has {found} {what}, but was written with {written}")


@contextmanager
def _damages(file: SpoolFile) -> Iterator[None]:
    """Return a context manager that converts errors of Arrow and of the system inside the block to
    SpoolDamaged."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, ValueError, KeyError) as error:
        raise SpoolDamaged(file.path, f"can't be read: {error}") from error
