"""Where a cluster is: ``sqlfront://host:port``, ``sqlfront:///path/of/its/socket``, or ``sqlfront://`` for
the one that ``sqlfront cluster start`` has started on this machine."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from sqlfront.cluster.credentials import CREDENTIALS_VARIABLE, Credentials, Protection, security_of
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront_cluster.network.addresses import UNIX_PREFIX
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import OperationalError, ProgrammingError

SCHEME: Final = "sqlfront://"


class RunFile(msgspec.Struct, frozen=True):
    """What a started cluster leaves in its directory: the launcher's process and the keeper's address."""

    pid: int
    address: str


#: What a started cluster leaves in its directory for its clients.
CREDENTIALS: Final = "credentials.json"


def find(address: str, given: Protection) -> tuple[str, Security]:
    """The keeper's address, and what opens its cluster.

    What ``given`` doesn't say, the address may: ``sqlfront://host:port?credentials=/path/of/the/file`` (also
    certificate, key and authority, and insecure). ``sqlfront://`` is the cluster of the credentials file, if
    there is one, else this machine's, whose launcher has left one.

    ProgrammingError for a malformed address or a missing secret, OperationalError if no cluster runs here.

    >>> find("sqlfront://127.0.0.1:4711", Protection(secret="s"))
    ('127.0.0.1:4711', Security(...))
    >>> find("sqlfront:///run/cluster/keeper", Protection(secret="s"))[0]
    'unix:/run/cluster/keeper'
    """
    if not address.startswith(SCHEME):
        raise ProgrammingError(f"{address!r} is no address of a cluster; use {SCHEME}host:port")
    place, _, query = address.removeprefix(SCHEME).partition("?")
    place = unquote(place)
    given = given.or_else(Protection.of_query(query))
    if place:
        found = given.found()
        return f"{UNIX_PREFIX}{place}" if place.startswith("/") else place, security_of(found)
    if given.credentials is None and not os.environ.get(CREDENTIALS_VARIABLE):
        with run_directory(None) as directory:
            if running_cluster(directory) is None:
                raise OperationalError(
                    "no cluster runs on this machine; start one with `sqlfront cluster start`",
                    sqlstate="08001",
                )
            left = Credentials.parsed(directory.read(CREDENTIALS), CREDENTIALS)
        found = given.found(left)
    else:
        found = given.found()
    if not found.address:
        raise ProgrammingError(f"the credentials file names no cluster; use {SCHEME}host:port")
    return found.address, security_of(found)


def run_directory(given: str | None) -> PrivateFolder:
    """Where a cluster's files are; made for this user alone. None: this user's usual place.

    OperationalError if others have a hand in it, see :class:`~sqlfront.cluster.private_folder.PrivateFolder`.
    """
    if given is not None:
        return PrivateFolder(Path(given), strict=False)
    base = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/sqlfront-{os.getuid()}"
    return PrivateFolder(Path(base, "sqlfront-cluster"))


def lock(directory: PrivateFolder) -> int | None:
    """The directory's lock, or None if a launcher has it."""
    descriptor = directory.open("lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def running_cluster(directory: PrivateFolder) -> RunFile | None:
    """The cluster of the directory, if its launcher is alive."""
    descriptor = lock(directory)
    if descriptor is not None:
        os.close(descriptor)
        return None
    try:
        return msgspec.json.decode(directory.read("cluster.json"), type=RunFile)
    except FileNotFoundError:
        raise OperationalError(f"the cluster of {directory.path} is just being started or stopped") from None
