"""The directory for tables without LOCATION, and the files that a session may open."""

import os
import shutil
import tempfile
import threading
from typing import TYPE_CHECKING

from sqlfront.config import Config
from sqlfront_engine.file_access import EVERYWHERE, FileAccess

if TYPE_CHECKING:
    from sqlfront.cluster import Cluster


class Home:
    """The directory for tables without LOCATION: the configured warehouse, or a temporary directory of the
    session."""

    def __init__(self, warehouse: str | None) -> None:
        self._warehouse = warehouse
        self._temporary: str | None = None
        self._lock = threading.Lock()

    @property
    def made(self) -> str | None:
        """The directory; None while there is none: no warehouse is configured, and no temporary directory was
        needed yet."""
        return self._warehouse if self._warehouse is not None else self._temporary

    def path(self) -> str:
        """Return the directory, which the first call creates."""
        if self._warehouse is not None:
            os.makedirs(self._warehouse, exist_ok=True)
            return self._warehouse
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.mkdtemp(prefix="sqlfront-")
            return self._temporary

    def remove(self) -> None:
        """Remove the temporary directory, if there is one; a warehouse stays."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def files_of(config: Config, home: Home) -> FileAccess:
    """Return the rule that says which files a session's statements may open: the files that
    ``config.file_access`` allows (None = all files) and, for a session without a ``cluster``, the files in
    the session's directory for tables, ``home``."""
    if config.file_access is None:
        return EVERYWHERE
    said = FileAccess.of(config.file_access)
    return said.plus(home.path()) if said.is_limited and config.cluster is None else said


def files_of_client(config: Config, cluster: "Cluster") -> FileAccess:
    """Return the rule that says which files a session of a running cluster opens in its own process: the
    configured files (default: the files that the members open), and those in the session's warehouse."""
    members = cluster.files
    said = members if config.file_access is None else FileAccess.of(config.file_access)
    return (said if config.warehouse is None else said.plus(config.warehouse)).beside(members)
