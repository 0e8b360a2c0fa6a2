"""Addresses of clusters: ``sqlfront://host:port``, ``sqlfront:///path/of/its/socket``, or ``sqlfront://`` for
the cluster that ``sqlfront cluster start`` has started on this machine."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from sqlfront.cluster.credentials import CREDENTIALS_VARIABLE, Credentials, Protection, security_of
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront.configuration import redaction
from sqlfront_cluster.network.addresses import UNIX_PREFIX
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import OperationalError, ProgrammingError

SCHEME: Final = "sqlfront://"


class RunFile(msgspec.Struct, frozen=True):
    """The file ``cluster.json`` of a started cluster: the launcher's process and the keeper's address."""

    pid: int
    address: str


#: The file in a started cluster's directory with the credentials for the cluster's clients.
CREDENTIALS: Final = "credentials.json"


def find(address: str, given: Protection) -> tuple[str, Security]:
    """Return the address of the keeper (``host:port`` or ``unix:path``) of the cluster at ``address``, and
    the security settings that open the cluster.

    The address may supply settings that ``given`` leaves out:
    ``sqlfront://host:port?credentials=/path/of/the/file`` (also certificate, key and authority, and
    insecure). ``sqlfront://`` is the cluster of the credentials file, if there is a file, else this
    machine's cluster, with the credentials file that its launcher has left.

    Raises ProgrammingError for a malformed address or a missing secret, OperationalError if no cluster runs
    here.

    >>> find("sqlfront://127.0.0.1:4711", Protection(secret="s"))
    ('127.0.0.1:4711', Security(...))
    >>> find("sqlfront:///run/cluster/keeper", Protection(secret="s"))[0]
    'unix:/run/cluster/keeper'
    """
    if not address.startswith(SCHEME):
        shown = redaction.without_secrets(address)
        raise ProgrammingError(f"{shown!r} is not the address of a cluster; use {SCHEME}host:port")
    if "@" in address:
        raise ProgrammingError(
            f"{redaction.without_secrets(address)!r} has a user or a password; give secret=..., or pass the"
            " URL to connect()"
        )
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
    """The directory of a cluster's files; made for this user alone. None: this user's default directory.

    Raises OperationalError if other users could interfere, see
    :class:`~sqlfront.cluster.private_folder.PrivateFolder`.
    """
    if given is not None:
        return PrivateFolder(Path(given), strict=False)
    base = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/sqlfront-{os.getuid()}"
    return PrivateFolder(Path(base, "sqlfront-cluster"))


def lock(directory: PrivateFolder) -> int | None:
    """Lock the directory for a launcher. Return the descriptor that holds the lock until it is closed; None
    if another process holds the lock."""
    descriptor = directory.open("lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def has_launcher(directory: PrivateFolder) -> bool:
    """Whether a launcher is alive whose files are in the directory, be it one that starts or stops."""
    descriptor = lock(directory)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def running_cluster(directory: PrivateFolder) -> RunFile | None:
    """Read the run file of the cluster whose files are in the directory. Return None if no launcher is
    alive. Raises OperationalError while the cluster starts or stops."""
    if not has_launcher(directory):
        return None
    try:
        return msgspec.json.decode(directory.read("cluster.json"), type=RunFile)
    except FileNotFoundError:
        raise OperationalError(
            f"the cluster of {directory.path} is being started or stopped; try again"
        ) from None
