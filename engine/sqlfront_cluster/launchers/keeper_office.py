"""The office of keeper of a cluster on one machine: a folder that says who is the keeper, and where.

The keeper holds an OS lock on the file ``lock``, which the system releases when the keeper's process ends,
however it ends. The file ``cluster.json`` has the keeper's process, address and epoch. A process that gets
the lock of a keeper that has ended without removing ``cluster.json`` is the next keeper. If the keeper's
process was stopped and holds the lock nevertheless, the next keeper puts a new, locked file in the place of
``lock``; the former keeper sees that when it goes on, and ends. Those who want the office take turns by a
lock on the file ``succession``, which a process holds for an instant. Each member has a shared lock on the
file ``members`` as long as its process lives, so that nobody begins another cluster in the folder before.
"""

import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from sqlfront_values.errors import OperationalError

#: The files of the office.
LOCK: Final = "lock"
RUN_FILE: Final = "cluster.json"
CREDENTIALS: Final = "credentials.json"
TURNS: Final = "succession"
PRESENCE: Final = "members"
#: A file that exists while the cluster is being stopped, so that nobody takes the office.
STOPPING: Final = "stopping"
logger = logging.getLogger(__name__)

_FILE_MODE: Final = 0o600
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class RunFile(msgspec.Struct, frozen=True):
    """The content of ``cluster.json``, a file in the directory of a running cluster: the process (``pid``),
    the ``address`` and the ``epoch`` of the keeper. ``folder``: the folder of the members' sockets and logs,
    to be removed when the cluster has ended; empty = none. ``member``: the member in the keeper's process;
    empty = none."""

    pid: int
    address: str
    epoch: int = 1
    folder: str = ""
    member: str = ""


class HeldOffice:
    """The office in the ``folder``, held with the lock ``descriptor`` by the keeper of ``epoch``. ``ended``:
    members that have ended with the former keeper, since they were in its process. It is a
    :class:`~sqlfront_cluster.members.keeper.tenure.Tenure`."""

    def __init__(
        self, folder: Path, descriptor: int, epoch: int, ended: frozenset[str] = frozenset()
    ) -> None:
        self.epoch, self.ended = epoch, ended
        self.folder = folder
        self._descriptor = descriptor

    def office(self) -> "KeeperOffice":
        """Return the office as the members of its cluster see it."""
        return KeeperOffice(str(self.folder.absolute()))

    def is_held(self) -> bool:
        """Return whether no other process has taken the office."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.folder / LOCK))
        except OSError:  # the lock was released, or the folder is gone
            return False

    def announce(self, address: str, sockets: str, member: str = "") -> None:
        """Write into the folder where this keeper is, for members and clients. ``sockets``: the folder of the
        members' sockets and logs. ``member``: the member in this process, empty = none."""
        run_file = RunFile(os.getpid(), address, self.epoch, sockets, member)
        _replace(self.folder / RUN_FILE, msgspec.json.encode(run_file))
        credentials = self.folder / CREDENTIALS
        try:
            content = msgspec.json.decode(credentials.read_bytes(), type=dict[str, object])
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            # The cluster goes on: members need no credentials.
            logger.warning(
                "%s can't be read, and clients don't find the keeper by it: %s", credentials, error
            )
            return
        _replace(credentials, msgspec.json.encode({**content, "address": address}))

    @property
    def begins(self) -> bool:
        """Whether the keeper begins its cluster, so that it follows nobody."""
        return self.epoch == 1

    def release(self, *, ends: bool = False) -> None:
        """Give up the office; to be called once. ``ends`` makes no difference: the system tells others that
        nobody has the lock."""
        os.close(self._descriptor)


class KeeperOffice:
    """The office of keeper in the folder at the path ``folder``, as members see it."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def present(self) -> RunFile | None:
        """Return who was announced last as the keeper; None if the cluster has ended."""
        try:
            return msgspec.json.decode((self.folder / RUN_FILE).read_bytes(), type=RunFile)
        except (OSError, msgspec.MsgspecError):
            return None

    def is_stopping(self) -> bool:
        """Return whether the cluster is being stopped."""
        return (self.folder / STOPPING).exists()

    def enter(self) -> Callable[[], None]:
        """Show that this process is a member of the cluster, until the function that is returned is called.
        Raises OperationalError if the folder can't be used."""
        try:
            descriptor = os.open(self.folder / PRESENCE, _FLAGS, _FILE_MODE)
        except OSError as error:
            raise OperationalError(f"{self.folder / PRESENCE} can't be used: {error.strerror}") from error
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return partial(os.close, descriptor)

    def has_members(self) -> bool:
        """Return whether a process that is a member of the folder's cluster is alive."""
        try:
            descriptor = os.open(self.folder / PRESENCE, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not _locked(descriptor)
        finally:
            os.close(descriptor)

    def take(self, *, after: int, silent: bool, member: str = "") -> HeldOffice | None:
        """Take the office after the keeper of the epoch ``after``, and return it; None if that keeper lives,
        another process has the office or wants it at this instant, or the cluster has ended. ``silent``: the
        keeper's process has not answered for so long that it may be followed although it holds the lock.
        ``member``: the member in this process."""
        try:
            turns = os.open(self.folder / TURNS, _FLAGS, _FILE_MODE)
        except OSError:
            return None
        try:
            if not _locked(turns):
                return None
            present = self.present()
            if present is None or present.epoch != after or self.is_stopping():
                return None
            free = self._lock()
            descriptor = free if free is not None or not silent else self._lock_anew()
            if descriptor is None:
                return None
            # While it is this process's turn: no other process may become the keeper of the same epoch.
            self._claim(present, member)
            # The system has released the lock: the process has ended.
            ended = frozenset({present.member} if free is not None and present.member else ())
            return HeldOffice(self.folder, descriptor, after + 1, ended)
        finally:
            os.close(turns)

    def _claim(self, former: RunFile, member: str) -> None:
        """Write into the folder that this process is the keeper of the next epoch; its address follows by
        :meth:`HeldOffice.announce`."""
        claim = msgspec.structs.replace(former, pid=os.getpid(), epoch=former.epoch + 1, member=member)
        _replace(self.folder / RUN_FILE, msgspec.json.encode(claim))

    def _lock(self) -> int | None:
        descriptor = os.open(self.folder / LOCK, _FLAGS, _FILE_MODE)
        if _locked(descriptor):
            return descriptor
        os.close(descriptor)
        return None

    def _lock_anew(self) -> int | None:
        """Put a new, locked file in the place of that which the former keeper has locked."""
        new = self.folder / f"{LOCK}.new"
        descriptor = os.open(new, _FLAGS, _FILE_MODE)
        if not _locked(descriptor):
            os.close(descriptor)
            return None
        os.replace(new, self.folder / LOCK)
        return descriptor


def _locked(descriptor: int) -> bool:
    """Try to lock the file, and return whether this process has the lock now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(path: Path, content: bytes) -> None:
    """Replace the file at ``path`` in one step, so that no reader sees a part of the content."""
    new = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        os.unlink(new)
    with os.fdopen(os.open(new, _FLAGS | os.O_EXCL, _FILE_MODE), "wb") as file:
        file.write(content)
    os.replace(new, path)
