"""Reading of spool files: checks that a file is as its description says, and reads the record batches of
some buckets."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final
from zlib import crc32

import pyarrow as pa

from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.spool.places import Located
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_engine.spool.stored_form import schema_hash
from sqlfront_engine.storage.addresses import located
from sqlfront_values.arrow.bounds import check_bounds
from sqlfront_values.errors import OperationalError

#: The bytes before the schema at the beginning of an Arrow IPC file.
_MAGIC: Final = 8
#: Bytes of record batches that are read at a time, unless a single batch has more: a read of a small batch
#: costs more than its decoding.
_GROUP: Final = 2**20
#: Without threads: the instances of operators are the engine's threads.
_OPTIONS: Final = pa.ipc.IpcReadOptions(use_threads=False)


class SpoolDamaged(OperationalError):
    """The error for a spool file that is missing, or that differs from what was written. ``path`` names the
    file, ``problem`` says what is wrong. ``place``: the beginning of the paths of all files that are lost
    with this one, since the member that had them is gone; empty = this file alone."""

    def __init__(self, path: str, problem: str, place: str = "") -> None:
        super().__init__(f"the spool file {path} {problem}")
        self.path = path
        self.problem = problem
        self.place = place

    def concerns(self, path: str) -> bool:
        """Return whether the file at ``path`` can't be read either."""
        return path == self.path or (bool(self.place) and path.startswith(self.place))


def read_spool(
    file: SpoolFile,
    buckets: range | None = None,
    batches: range | None = None,
    *,
    access: FileAccess = EVERYWHERE,
    places: Located = located,
) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of the buckets (None = all) in the order of the file, without reading other
    batches. ``batches``: the numbers, from 0, of those of these batches that are wanted; None = all. If none
    is wanted, the file isn't opened. ``access``: the files that may be opened. ``places``: finds the file's
    folder. Raises SpoolDamaged, before the first batch or at a batch, if the file is missing or differs from
    its description ``file``; OperationalError if the file can't be opened for another reason, or if an object
    storage or a member can't be reached meanwhile."""
    chosen = [place for place, bucket in enumerate(file.buckets) if buckets is None or bucket in buckets]
    if batches is not None:
        chosen = chosen[max(batches.start, 0) : max(batches.stop, 0)]
        if not chosen:
            return
    with _opened(file, access, places) as source:
        with _damages(file):
            schema = _checked_schema(source, file)
        rows = [0] * len(file.bucket_rows)
        for group in _groups(file, chosen):
            with _damages(file):
                found = _batches(source, file, group, schema)
            for place, batch in zip(group, found, strict=True):
                rows[file.buckets[place]] += batch.num_rows
                yield batch
        for bucket, written in enumerate(file.bucket_rows):
            if batches is None and (buckets is None or bucket in buckets):
                _expect(file, rows[bucket], written, f"rows in bucket {bucket}")


@contextmanager
def _opened(file: SpoolFile, access: FileAccess, places: Located) -> Iterator[pa.NativeFile]:
    with ExitStack() as stack:
        try:
            folder, name = places(file.path)
            source = stack.enter_context(folder.opened(name, access))
        except (FileNotFoundError, NotADirectoryError):
            raise SpoolDamaged(file.path, "is missing") from None
        except OSError as error:
            raise OperationalError(f"the spool file {file.path} can't be opened: {error}") from error
        yield source


def _checked_schema(source: pa.NativeFile, file: SpoolFile) -> pa.Buffer:
    """Return the schema of the file as the beginning of an Arrow IPC stream, after comparing the file's size,
    schema and number of batches with the description."""
    _expect(file, source.size(), file.bytes, "bytes")
    reader = pa.ipc.open_file(source)
    _expect(file, reader.num_record_batches, len(file.buckets), "record batches")
    _expect(file, schema_hash(reader.schema), file.schema_hash, "as the hash of the schema")
    return reader.schema.serialize()


def _groups(file: SpoolFile, chosen: Sequence[int]) -> Iterator[range]:
    """Group the numbers of record batches, which ascend: batches of a group follow each other in the file,
    and are not many bytes together."""
    begin = 0
    for end, place in enumerate(chosen, 1):
        first = chosen[begin]
        is_last = end == len(chosen) or chosen[end] != place + 1
        if is_last or file.offsets[place + 2] - file.offsets[first] > _GROUP:
            yield range(first, place + 1)
            begin = end


def _batches(source: pa.NativeFile, file: SpoolFile, group: range, schema: pa.Buffer) -> list[pa.RecordBatch]:
    """Return the record batches with these numbers, after comparing the checksum of the bytes of each.
    ``schema``: the file's schema as the beginning of an Arrow IPC stream."""
    begin, end = file.offsets[group.start], file.offsets[group.stop]
    source.seek(begin)
    data = source.read_buffer(end - begin)
    view = memoryview(data)
    for place in group:
        of_batch = view[file.offsets[place] - begin : file.offsets[place + 1] - begin]
        _expect(file, crc32(of_batch), file.checksums[place], f"as the checksum of batch {place}")
    stream = data.slice(_MAGIC) if group.start == 0 else pa.py_buffer(b"".join([schema, data]))
    reader = pa.ipc.open_stream(stream, options=_OPTIONS)
    batches = [reader.read_next_batch() for _ in group]
    for batch in batches:
        check_bounds(batch)
    return batches


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
