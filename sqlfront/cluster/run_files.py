"""The files of a running cluster in its directory: who may begin a cluster there, what clients find, and the
end."""

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from sqlfront.cluster.addresses import lock, running_cluster
from sqlfront.cluster.credentials import Credentials
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront_cluster.launchers.keeper_office import (
    CREDENTIALS,
    PRESENCE,
    RUN_FILE,
    STOPPING,
    TURNS,
    HeldOffice,
    KeeperOffice,
    RunFile,
)
from sqlfront_cluster.network.addresses import LONGEST_FOLDER, UNIX_PREFIX
from sqlfront_cluster.network.tls.security import Security
from sqlfront_values.errors import OperationalError

SECRET: Final = "secret"
#: Seconds between two looks at the directory.
LOOK: Final = 0.02


def begin(directory: PrivateFolder) -> HeldOffice:
    """Take the office of the keeper of a new cluster in the directory, and remove what a former cluster has
    left. Raises OperationalError if a cluster runs there, or processes of a former one are alive: they may be
    about to become the keeper."""
    held = lock(directory)
    if held is None:
        raise OperationalError(f"the cluster of {directory.path} runs already")
    if KeeperOffice(str(directory.path)).has_members():
        os.close(held)
        raise OperationalError(
            f"the cluster of {directory.path} has lost its keeper; one of its members becomes the keeper, or"
            " all end within seconds (a stopped process when it goes on): try again"
        )
    clear(directory)
    return HeldOffice(directory.path, held, epoch=1)


def begin_or_find(directory: PrivateFolder, patience: float) -> HeldOffice | RunFile:
    """Take the office of the keeper of a new cluster in the directory, or return where the keeper of the
    cluster is that runs there. Waits at most ``patience`` seconds for a cluster that is being started or
    stopped, or whose next keeper is awaited; raises OperationalError afterwards."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return running_cluster(directory) or begin(directory)
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK)


def new_sockets() -> str:
    """Make a folder for the sockets of a cluster's members, which only this user can open, and return its
    path. The folder has a short path, since the paths of sockets are limited to some hundred bytes."""
    usual = tempfile.gettempdir()
    room = len(os.fsencode(usual)) + len("/sqlfront-") + 8  # mkdtemp's random characters
    return tempfile.mkdtemp(prefix="sqlfront-", dir=usual if room <= LONGEST_FOLDER else "/tmp")


def leave_credentials(
    directory: PrivateFolder, secret: str, address: str, *, own_certificates: bool, insecure: bool
) -> None:
    """Write the credentials with which clients connect to the keeper at ``address`` into the cluster's
    directory. If connections with it are encrypted, and the members have no ``own_certificates``, the
    credentials hold a certificate that is made here."""
    made_here = not (address.startswith(UNIX_PREFIX) or own_certificates or insecure)
    tls = Security(secret.encode()).with_certificates().tls if made_here else None
    directory.create(SECRET, secret.encode())
    directory.create(CREDENTIALS, msgspec.json.encode(Credentials(secret, address, tls, insecure)))


def await_end(directory: PrivateFolder, patience: float) -> bool:
    """Wait until no process of the directory's cluster is alive, and return True; False if one is after
    ``patience`` seconds."""
    office = KeeperOffice(str(directory.path))
    deadline = time.monotonic() + patience
    while office.has_members():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True


def clear(directory: PrivateFolder) -> None:
    """Remove the files of an ended cluster from its directory, and the folder of its sockets. To be called by
    the process that has the office."""
    try:
        left = msgspec.json.decode(directory.read(RUN_FILE), type=RunFile).folder
    except (OSError, msgspec.MsgspecError):
        left = ""
    for file in (SECRET, RUN_FILE, CREDENTIALS, STOPPING, TURNS, PRESENCE):
        directory.remove(file)
    if left and Path(left).name.startswith("sqlfront-"):
        shutil.rmtree(left, ignore_errors=True)
