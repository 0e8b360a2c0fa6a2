"""A file that has a temporary name until it is complete; Arrow writes into it."""

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
    """A new file that is written under a temporary name in the folder of ``path``, and renamed to ``path``
    by :meth:`publish`. ``size`` and ``checksum`` (CRC-32) cover all bytes once the file is published. After
    an error the file can only be discarded."""

    def __init__(self, path: str, calls: SystemCalls) -> None:
        self._path = os.path.abspath(path)
        folder, name = os.path.split(self._path)
        self._present: str | None = os.path.join(folder, f".{name}.{secrets.token_hex(8)}{_TEMPORARY}")
        self._calls = calls
        self._collected = bytearray()
        self._descriptor: int | None = calls.create(self._present)
        self.size = 0
        self.checksum = 0

    @property
    def closed(self) -> bool:
        """Whether the file was published or discarded, so that no more bytes can be written; Arrow reads
        this property."""
        return self._descriptor is None

    def write(self, data: bytes | pa.Buffer) -> int:
        """Append the bytes, and return their number. The bytes are collected in memory first."""
        if len(data) >= _COLLECTED:
            self.flush()
            self._put(memoryview(data).cast("B"))
        else:
            self._collected += data
            if len(self._collected) >= _COLLECTED:
                self.flush()
        return len(data)

    def flush(self) -> None:
        """Write the bytes collected so far to the system's file."""
        if self._collected:
            self._put(memoryview(self._collected))
            self._collected = bytearray()

    def _put(self, data: memoryview) -> None:
        assert self._descriptor is not None
        self.size += len(data)
        self.checksum = crc32(data, self.checksum)
        write_all(self._calls, self._descriptor, data)

    def publish(self, *, sync: bool) -> None:
        """Close the file and rename it to its path. With ``sync``, the file and its name are durable on
        return."""
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


def remove_temporaries(folder: str) -> list[str]:
    """Remove the unfinished spool files that killed processes have left in the folder, and return their
    names; an empty list if the folder doesn't exist. No writer may be at work in the folder."""
    try:
        found = sorted(name for name in os.listdir(folder) if name.endswith(_TEMPORARY))
    except FileNotFoundError:
        return []
    for name in found:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    return found
