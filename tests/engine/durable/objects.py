"""An object storage in memory, whose creation of an object is exclusive as a real one's."""

import threading
import uuid
from typing import ClassVar

from fsspec.implementations.memory import MemoryFileSystem

from sqlfront_engine.storage.object_folder import ObjectFolder


class MemoryStorage(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """fsspec's storage in memory, which creates an object only if it is absent. fsspec itself looks for the
    object first and writes then; a lock makes one step of both."""

    protocol = "exclusive-memory"
    store: ClassVar[dict[str, object]] = {}
    _lock = threading.Lock()

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        with self._lock:
            super().pipe_file(path, value, mode=mode)


def memory_folder(storage: MemoryStorage | None = None) -> ObjectFolder:
    """Return a new, empty folder."""
    return ObjectFolder(storage or MemoryStorage(), "memory", f"/bucket/{uuid.uuid4().hex}")
