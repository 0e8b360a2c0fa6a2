"""Files that are absent until they are complete; Arrow writes into them."""

import os
import secrets
from contextlib import suppress
from typing import Final
from zlib import crc32

import pyarrow as pa

from sqlfront_engine.system_calls import SystemCalls, write_all

_TEMPORARY: Final = ".spool-tmp"
#: Bytes that small parts are collected to. Arrow writes lengths and paddings of a few bytes each; a call
#: of the system for each would cost more than the copy.
_COLLECTED: Final = 65_536


class GrowingFile:
    """A new file that nobody can read before :meth:`publish`. ``size``: the number of bytes so far. After an
    error the file can only be discarded. All methods raise OSError of the system or of the storage."""

    def __init__(self) -> None:
        self._collected = bytearray()
        self.size = 0
        self._checksum = 0

    @property
    def closed(self) -> bool:
        """Whether the file was published or discarded, so that no more bytes can be written; Arrow reads
        this property."""
        raise NotImplementedError

    def write(self, data: bytes | pa.Buffer) -> int:
        """Append the bytes, and return their number. The bytes are collected in memory first."""
        self.size += len(data)
        self._checksum = crc32(data, self._checksum)
        if len(data) >= _COLLECTED:
            self.flush()
            self._put(memoryview(data).cast("B"))
        else:
            self._collected += data
            if len(self._collected) >= _COLLECTED:
                self.flush()
        return len(data)

    def flush(self) -> None:
        """Hand the bytes collected so far to the system or the storage."""
        if self._collected:
            self._put(memoryview(self._collected))
            self._collected = bytearray()

    def checksum(self) -> int:
        """Return the CRC-32 of the bytes that were written since the last call of this method."""
        checksum, self._checksum = self._checksum, 0
        return checksum

    def _put(self, data: memoryview) -> None:
        raise NotImplementedError

    def publish(self, *, sync: bool) -> None:
        """Complete the file, so that it appears under its name; a file of that name is replaced. With
        ``sync``, the file and its name are durable when the method returns."""
        raise NotImplementedError

    def discard(self) -> None:
        """Remove the file; do nothing if it was published."""
        raise NotImplementedError


class LocalGrowingFile(GrowingFile):
    """A file that is written under a temporary name in the directory of ``path``, and renamed to ``path`` by
    :meth:`publish`."""

    def __init__(self, path: str, calls: SystemCalls) -> None:
        super().__init__()
        self._path = path
        folder, name = os.path.split(path)
        self._present: str | None = os.path.join(folder, f".{name}.{secrets.token_hex(8)}{_TEMPORARY}")
        self._calls = calls
        self._descriptor: int | None = calls.create(self._present)

    @property
    def closed(self) -> bool:
        """Whether the file was published or discarded, so that no more bytes can be written."""
        return self._descriptor is None

    def _put(self, data: memoryview) -> None:
        assert self._descriptor is not None
        write_all(self._calls, self._descriptor, data)

    def publish(self, *, sync: bool) -> None:
        """Close the file and rename it to its path, so that readers find it. With ``sync``, the file and its
        name are durable when the method returns."""
        assert self._descriptor is not None
        assert self._present is not None
        self.flush()
        if sync:
            self._calls.sync(self._descriptor)
        self._close()
        self._calls.rename(self._present, self._path)
        self._present = self._path
        if sync:
            self._calls.sync_folder(os.path.dirname(self._path))
        self._present = None

    def discard(self) -> None:
        """Close and remove the file; do nothing if it was published."""
        self._close()
        if self._present is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._present)
            self._present = None

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def final_name(name: str) -> str:
    """Return the name that the file ``name`` has once it is complete: ``name`` itself, unless it is the
    temporary name of a file that is being written.

    >>> final_name(".a.arrow.0123456789abcdef.spool-tmp"), final_name("a.arrow")
    ('a.arrow', 'a.arrow')
    """
    if not name.endswith(_TEMPORARY):
        return name
    return name.removeprefix(".").removesuffix(_TEMPORARY).rpartition(".")[0]


def remove_temporaries(folder: str) -> list[str]:
    """Remove the unfinished files that killed processes have left in the directory, and return their names;
    an empty list if the directory doesn't exist. No writer may be at work in the directory."""
    try:
        found = sorted(name for name in os.listdir(folder) if name.endswith(_TEMPORARY))
    except FileNotFoundError:
        return []
    for name in found:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    return found
