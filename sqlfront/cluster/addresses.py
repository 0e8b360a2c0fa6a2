"""Where a cluster is: ``sqlfront://host:port``, ``sqlfront:///path/of/its/socket``, or ``sqlfront://`` for
the one that ``sqlfront cluster start`` has started on this machine."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from sqlfront_engine.errors import OperationalError, ProgrammingError
from sqlfront_engine.network.addresses import UNIX_PREFIX

SCHEME: Final = "sqlfront://"
SECRET_VARIABLE: Final = "SQLFRONT_SECRET"
PRIVATE: Final = 0o600


class RunFile(msgspec.Struct, frozen=True):
    """What a started cluster leaves in its directory: the launcher's process and the keeper's address."""

    pid: int
    address: str


def find(address: str, secret: str | None = None) -> tuple[str, bytes]:
    """The keeper's address and the cluster's secret. ``secret`` None: the variable ``SQLFRONT_SECRET``, or
    for a cluster of this machine's what its launcher left.

    ProgrammingError for a malformed address or a missing secret, OperationalError if no cluster runs here.

    >>> find("sqlfront://127.0.0.1:4711", "s")
    ('127.0.0.1:4711', b's')
    >>> find("sqlfront:///run/cluster/keeper", "s")
    ('unix:/run/cluster/keeper', b's')
    """
    if not address.startswith(SCHEME):
        raise ProgrammingError(f"{address!r} is no address of a cluster; use {SCHEME}host:port")
    place = unquote(address.removeprefix(SCHEME))
    given = secret or os.environ.get(SECRET_VARIABLE, "").strip()
    if not place:
        directory = run_directory(None)
        running = running_cluster(directory)
        if running is None:
            raise OperationalError(
                "no cluster runs on this machine; start one with `sqlfront cluster start`", sqlstate="08001"
            )
        return running.address, given.encode() or (directory / "secret").read_bytes()
    if not given:
        raise ProgrammingError(
            f"a cluster needs a secret: pass secret=..., or set the variable {SECRET_VARIABLE}"
        )
    return f"{UNIX_PREFIX}{place}" if place.startswith("/") else place, given.encode()


def run_directory(given: str | None) -> Path:
    """Where a cluster's files are; made for this user alone. None: this user's usual place."""
    if given is None:
        base = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/sqlfront-{os.getuid()}"
        directory = Path(base, "sqlfront-cluster")
    else:
        directory = Path(given)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_uid != os.getuid():
        raise OperationalError(f"{directory} belongs to another user")
    return directory


def lock(directory: Path) -> int | None:
    """The directory's lock, or None if a launcher has it."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def running_cluster(directory: Path) -> RunFile | None:
    """The cluster of the directory, if its launcher is alive."""
    descriptor = lock(directory)
    if descriptor is not None:
        os.close(descriptor)
        return None
    try:
        return msgspec.json.decode((directory / "cluster.json").read_bytes(), type=RunFile)
    except FileNotFoundError:
        raise OperationalError(f"the cluster of {directory} is just being started or stopped") from None
