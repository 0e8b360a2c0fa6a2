"""Addresses: paths of directories, and URLs of prefixes of an object storage."""

import os
import re
from typing import Final

from sqlfront_engine.storage.folders import Folder
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.storage.object_folder import ObjectFolder
from sqlfront_engine.system_calls import SystemCalls

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILE: Final = "file://"


def open_folder(address: str) -> Folder:
    """Return the folder at a path or a URL; nothing is created, and no request is sent. Raises
    OperationalError for a URL that can't be used as a folder, or whose library is not installed."""
    if address.startswith(_FILE):
        return LocalFolder(address.removeprefix(_FILE))
    return ObjectFolder.open(address) if _URL.match(address) else LocalFolder(address)


def located(path: str, calls: SystemCalls | None = None) -> tuple[Folder, str]:
    """Return the folder of the file at a path or a URL, and the file's name. ``calls``: the system's calls,
    which tests replace. Raises OperationalError for a URL that can't be used, or whose library is not
    installed."""
    folder, _, name = path.rpartition("/")
    if _URL.match(path):
        return open_folder(folder), name
    return LocalFolder(os.path.dirname(os.path.abspath(path)), calls), os.path.basename(path)
