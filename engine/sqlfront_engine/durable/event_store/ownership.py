"""The owner of a store: one cluster may write, all others only read.

On a directory the owner holds an OS file lock, which the system releases when the owner's process ends,
however it ends. On an object storage the owner renews a *lease*: objects ``owner.1``, ``owner.2``, ..., each
created only if absent. Whoever sees the highest number unchanged for the lease's duration, by its own clock,
may create the next one; no two clocks need to agree. An owner that has not renewed its lease in time, by its
own clock, has lost it. Ownership keeps two clusters apart; that a former coordinator changes nothing is
guaranteed by the epochs alone.
"""

import fcntl
import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.scheduler import Clock
from sqlfront_engine.storage.folders import Folder
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_values.errors import OperationalError

logger: Final = logging.getLogger(__name__)

#: Seconds for which a lease is valid.
LEASE: Final = 10.0
#: Seconds since the last renewal after which a reader that sees a lease for the first time takes its owner
#: for gone, although the clocks of the storage and of the reader may differ.
_OLD: Final = 3 * LEASE
#: The name of the thread that renews a lease.
LEASE_THREAD: Final = "sqlfront-job-store-lease"
_LOCK: Final = "owner"
_LEASE_NAME: Final = re.compile(r"owner\.(\d+)")
#: Attempts at the lock and seconds between them: a reader that asks for the owner holds it for an instant.
_ATTEMPTS: Final = 5
_PAUSE: Final = 0.01


class Owner(msgspec.Struct, frozen=True):
    """The owner of a store: the id of its cluster, and the name of the member that has the lock or lease.
    ``released``: whether the owner has given up the store."""

    cluster: str
    member: str
    released: bool = False


class Ownership(Protocol):
    """The right of one cluster to write to a store, until it is released or lost."""

    @property
    def is_held(self) -> bool:
        """Whether the cluster still owns the store; a lease is lost if it is not renewed in time."""

    def release(self) -> None:
        """Give up the store; a second call does nothing."""


def refused(address: str, owner: Owner | None) -> OperationalError:
    """Return the error for a cluster that tries to write to the store of ``owner``. ``address``: the path or
    URL of the store; ``owner`` None: unknown."""
    by = "another cluster" if owner is None else f"cluster {owner.cluster} (member {owner.member})"
    return OperationalError(f"the job store {address} belongs to {by} at present; others may only read it")


# ---- directories


class FileLock:
    """The :class:`Ownership` of a store in a directory, by an OS file lock."""

    def __init__(self, folder: LocalFolder, owner: Owner) -> None:
        """Take the lock. Raises OperationalError if another process, or another FileLock of this process,
        has the lock; OSError if the lock file can't be opened or the file system has no locks."""
        folder.make()
        descriptor = os.open(folder.path(_LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor, folder)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, msgspec.json.encode(owner))
        except BaseException:
            os.close(descriptor)
            raise
        # A forked child inherits the lock with the descriptor, and would keep it after its parent.
        _held.add(descriptor)
        self._close = when_forgotten(self, _unlock, descriptor)

    @property
    def is_held(self) -> bool:
        """Whether the lock was not released yet."""
        return self._close.alive

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        self._close()


#: The descriptors with locks of this process.
_held: set[int] = set()


def _unlock(descriptor: int) -> None:
    # First of all: once it is closed, another file can get the number, which a forked child would close.
    _held.discard(descriptor)
    os.close(descriptor)


def _close_inherited() -> None:
    for descriptor in list(_held):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


def _lock(descriptor: int, folder: LocalFolder) -> None:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            continue
    raise refused(folder.address, _written(folder))


def _written(folder: LocalFolder) -> Owner | None:
    try:
        return msgspec.json.decode(folder.read(_LOCK), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None


def lock_owner(folder: LocalFolder) -> Owner | None:
    """Return the owner that has the directory's lock now, None if no process has it. If the owner's name
    can't be read, its cluster and member are ``unknown``."""
    try:
        descriptor = os.open(folder.path(_LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written(folder) or Owner("unknown", "unknown")
    finally:
        os.close(descriptor)
    return None


# ---- object storages


class _Leased(msgspec.Struct, frozen=True):
    """The contents of an object that represents a lease. ``token`` is random, so that a member recognises
    objects of its own lease."""

    owner: Owner
    token: str


class LeaseView:
    """A reader's view of the leases by which processes own a store on an object storage: which lease is the
    last one, and for how long the reader has seen it unchanged. Safe to use from several threads."""

    def __init__(self, folder: Folder, clock: Clock) -> None:
        self.folder = folder
        self.clock = clock
        # The number of the last lease, the time when this reader first saw it, and whether its owner was
        # already gone then.
        self._seen = (0, 0.0, False)

    def look(self) -> int:
        """Look at the store, and return the number of its last lease, 0 if there is none; each renewal makes
        a lease with a new number. Note the time if the number has changed since the last look. Raises OSError
        if the storage can't be reached."""
        number = _highest(self.folder)
        if number != self._seen[0]:
            self._seen = (number, self.clock.now(), self._is_old(number))
        return number

    def _is_old(self, number: int) -> bool:
        """Return whether the lease was last renewed so long ago, by the clock of this machine, that its owner
        must be gone, even if the clocks of the machines differ by several seconds."""
        try:
            return number > 0 and time.time() - self.folder.modified(_lease_name(number)) > _OLD
        except FileNotFoundError:
            return False

    @property
    def end(self) -> float:
        """The time, by the reader's clock, at which the last lease ends if it is not renewed."""
        return self._seen[1] + LEASE

    def owner(self) -> Owner | None:
        """Return the owner of the last lease; None if there is no lease, if the last one was released, or if
        its owner seems to be gone. The owner may only have been slow: a process that wants the store takes a
        :class:`Lease`, of which one process at a time succeeds. Raises OSError if the storage can't be
        reached."""
        self.look()
        return None if self._seen[2] or self.clock.now() >= self.end else lease_owner(self.folder)


class Lease:
    """The :class:`Ownership` of a store on an object storage, by a lease. A lease ends :data:`LEASE` seconds
    after its last renewal: call :meth:`keep`, whose thread renews the lease, or :meth:`renew` several times
    within that time."""

    def __init__(self, view: LeaseView, owner: Owner, sleep: Callable[[float], None] = time.sleep) -> None:
        """Take the lease on a store. ``view``: the leases on the store. If the last lease was not released,
        waits until the view has seen it unchanged for :data:`LEASE` seconds. Raises OperationalError if the
        last owner renews its lease, if another process takes the lease first, or if the storage can't create
        an object only if it is absent. ``sleep``: waits for a number of seconds."""
        self._folder = folder = view.folder
        self._owner = owner
        self._clock = view.clock
        self._token = uuid.uuid4().hex
        self._stopped = threading.Event()
        self._process = os.getpid()
        self._number = view.look()
        found = lease_owner(folder)
        while found is not None and self._clock.now() < view.end:
            sleep(LEASE / 10)
            if view.look() != self._number:
                raise refused(folder.address, found)
        self._expires = self._clock.now()
        if not self._create(owner):
            raise refused(folder.address, lease_owner(folder))
        self._check_exclusive_creation()

    def _check_exclusive_creation(self) -> None:
        """Check that the storage refuses to create the lease's object once more. Raises OperationalError if
        it doesn't, as with servers and older libraries that ignore the condition."""
        name = _lease_name(self._number)
        try:
            self._folder.create(name, msgspec.json.encode(_Leased(self._owner, self._token)))
        except FileExistsError:
            return
        self._folder.remove_files([name])
        raise OperationalError(
            f"the job store {self._folder.address} can't be written: the storage or its library replaces an"
            " object that was to be created only if absent"
        )

    def _create(self, owner: Owner) -> bool:
        """Create the lease's next object. Returns True if the lease belongs to this object then, False if
        another process has created an object first."""
        began = self._clock.now()
        name = _lease_name(self._number + 1)
        try:
            self._folder.create(name, msgspec.json.encode(_Leased(owner, self._token)))
        except FileExistsError:
            # It may be this lease's own, from an attempt whose answer was lost.
            if _leased(self._folder, name).token != self._token:
                return False
        self._number += 1
        if _highest(self._folder) != self._number:
            return False
        self._expires = began + LEASE
        self._folder.remove_files([_lease_name(self._number - 2)])
        return True

    @property
    def is_held(self) -> bool:
        """Whether the lease was renewed within :data:`LEASE` seconds and was not released. A forked child
        doesn't hold its parent's lease."""
        return (
            os.getpid() == self._process and not self._stopped.is_set() and self._clock.now() < self._expires
        )

    def renew(self) -> None:
        """Make the lease valid for :data:`LEASE` seconds from now. Raises OperationalError if the lease is
        lost; OSError if the storage can't be reached: then the end of the lease stays as it was."""
        if not self.is_held or not self._create(self._owner):
            self._stopped.set()
            raise OperationalError(f"the lease on the job store {self._folder.address} is lost")

    def keep(self) -> None:
        """Start a daemon thread that renews the lease until it is released or lost."""
        threading.Thread(target=self._keep, name=LEASE_THREAD, daemon=True).start()

    def _keep(self) -> None:
        while not self._stopped.wait(LEASE / 4):
            try:
                self.renew()
            except OSError as error:
                logger.warning("the lease on %s was not renewed: %s", self._folder.address, error)
            except OperationalError as error:
                logger.error("%s", error)

    def release(self) -> None:
        """Release the lease, so that the next owner need not wait for its end; do nothing if the lease is
        lost or released."""
        if self.is_held:
            self._stopped.set()
            with suppress(OSError):
                self._create(msgspec.structs.replace(self._owner, released=True))


def lease_owner(folder: Folder) -> Owner | None:
    """Return the last owner by a lease; None if there was no lease, or if the last one was released. The
    lease may have run out."""
    number = _highest(folder)
    if number == 0:
        return None
    owner = _leased(folder, _lease_name(number)).owner
    return None if owner.released else owner


def _leased(folder: Folder, name: str) -> _Leased:
    try:
        return msgspec.json.decode(folder.read(name), type=_Leased)
    except msgspec.DecodeError as error:
        raise OperationalError(f"{folder.address}/{name} is no lease of a job store: {error}") from error


def _lease_name(number: int) -> str:
    return f"owner.{number}"


def _highest(folder: Folder) -> int:
    found = (_LEASE_NAME.fullmatch(name) for name in folder.names())
    return max((int(one[1]) for one in found if one), default=0)
