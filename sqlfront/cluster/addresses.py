"""Addresses of clusters: ``sqlfront://host:port``, ``sqlfront:///path`` of the cluster's folder or socket, or
``sqlfront://`` for the cluster that ``sqlfront cluster start`` has started on this machine."""

import fcntl
import os
import shlex
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from sqlfront.cluster.credentials import CREDENTIALS_VARIABLE, Credentials, Protection, security_of
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront.configuration import redaction, urls
from sqlfront_cluster.launchers.keeper_office import CREDENTIALS, LOCK, RUN_FILE, RunFile
from sqlfront_cluster.network.addresses import UNIX_PREFIX
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import OperationalError, ProgrammingError

SCHEME: Final = "sqlfront://"


def find(address: str, given: Protection) -> tuple[str, Security]:
    """Find a cluster, by its address or the path of its folder. Return the address of its keeper
    (``host:port`` or ``unix:path``), and the security settings for a connection to it.

    The address may supply settings that ``given`` leaves out, as in
    ``sqlfront://host:port?credentials=/path/of/the/file`` (also certificate, key and authority, and
    insecure). The address ``sqlfront://`` means the cluster of the credentials file, if one is given;
    otherwise it means the cluster of this machine. The folder of a cluster, and that of this machine's
    cluster, have the keeper's address and a credentials file.

    Raises ProgrammingError for a malformed address or a missing secret, OperationalError if no cluster runs
    in the folder or on this machine.

    >>> find("sqlfront://127.0.0.1:4711", Protection(secret="s"))
    ('127.0.0.1:4711', Security(...))
    >>> find("sqlfront:///run/cluster/keeper", Protection(secret="s"))[0]
    'unix:/run/cluster/keeper'
    """
    if not address.startswith(SCHEME):
        if os.path.isdir(address):
            return _found_in(os.path.abspath(address), given)
        raise urls.not_an_address(address)
    if "@" in address:
        raise ProgrammingError(
            f"{redaction.without_secrets(address)!r} has a user or a password; give secret=..., or pass the"
            " URL to connect()"
        )
    place, _, query = address.removeprefix(SCHEME).partition("?")
    place = unquote(place)
    given = given.or_else(Protection.of_query(query))
    in_folder = place.startswith("/") and os.path.isdir(place)
    named = given.credentials is not None or os.environ.get(CREDENTIALS_VARIABLE)
    if in_folder or not (place or named):
        return _found_in(place or None, given)
    found = given.found()
    if place:
        return f"{UNIX_PREFIX}{place}" if place.startswith("/") else place, security_of(found)
    if not found.address:
        raise ProgrammingError(f"the credentials file names no cluster; use {SCHEME}host:port")
    return found.address, security_of(found)


def _found_in(folder: str | None, given: Protection) -> tuple[str, Security]:
    """Find the cluster whose files are in the folder, None = this user's default directory."""
    # Looked for first, since nothing is created in the folder of something else.
    is_there = folder is None or all(Path(folder, name).exists() for name in (LOCK, RUN_FILE))
    if is_there:
        with run_directory(folder) as directory:
            if (running := running_cluster(directory)) is not None:
                left = Credentials.parsed(directory.read(CREDENTIALS), directory.path / CREDENTIALS)
                return running.address, security_of(given.found(left))
    where = "on this machine" if folder is None else f"in {folder}"
    how = "" if folder is None else f" --directory {shlex.quote(folder)}"
    raise OperationalError(
        f"no cluster runs {where}; start one with `sqlfront cluster start{how}`", sqlstate="08001"
    )


def run_directory(given: str | None) -> PrivateFolder:
    """Open the directory of a cluster's files; if it doesn't exist, it is made, accessible to this user
    alone. ``given`` None: this user's default directory.

    Raises ProgrammingError for an empty text, OperationalError if other users could interfere, see
    :class:`~sqlfront.cluster.private_folder.PrivateFolder`.
    """
    if given == "":  # such as that of a variable which isn't set; it would be the current directory
        raise ProgrammingError("the directory of a cluster has a name, not an empty text")
    if given is not None:
        return PrivateFolder(Path(given), strict=False)
    base = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/sqlfront-{os.getuid()}"
    return PrivateFolder(Path(base, "sqlfront-cluster"))


def lock(directory: PrivateFolder) -> int | None:
    """Lock the directory for a launcher. Return the file descriptor of the lock, which holds the lock until
    the descriptor is closed; None if another process holds the lock."""
    descriptor = directory.open(LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def has_launcher(directory: PrivateFolder) -> bool:
    """Return whether a launcher that uses the directory is alive, also one that is starting or stopping."""
    descriptor = lock(directory)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def running_cluster(directory: PrivateFolder) -> RunFile | None:
    """Return the run file of the cluster whose files are in the directory; None if its launcher isn't alive.
    Raises OperationalError while the cluster starts or stops, and if the run file is damaged."""
    if not has_launcher(directory):
        return None
    try:
        return msgspec.json.decode(directory.read(RUN_FILE), type=RunFile)
    except msgspec.MsgspecError as error:
        raise OperationalError(
            f"{directory.path / RUN_FILE} is damaged ({error}), so that the cluster that runs there can't be"
            " found; end its processes, then start it again"
        ) from error
    except FileNotFoundError:
        raise OperationalError(
            f"the cluster of {directory.path} is being started or stopped; try again"
        ) from None
