"""The office of keeper of a cluster whose members share a store: a directory that all machines have, or a
prefix of an object storage.

The keeper of epoch 2 has created ``epoch.000002``, of which the store lets one process succeed. The keeper
writes its address into ``address.000002``, and creates ``beat.000002.000000001`` and so on, one file in a
heartbeat period, as long as it lives. A member that doesn't hear the keeper may claim the next epoch when the
beats have stopped, too: so a member that is cut off alone leaves the keeper in peace. With each beat the
keeper looks for a claim of the next epoch, and ends if there is one: a keeper that was stopped and goes on
decides nothing. A keeper that leaves creates ``released.000002``, so that the next one need not wait, or
``ended.000002`` if it is the last member. Epochs go on when another cluster begins with the store.
"""

import logging
import os
import re
import secrets
import time
from collections.abc import Callable
from typing import Final, Self

import msgspec

from sqlfront_cluster.launchers.keeper_office import RunFile
from sqlfront_engine.scheduler import Clock
from sqlfront_engine.storage.addresses import open_folder
from sqlfront_engine.storage.folders import Folder
from sqlfront_values.errors import OperationalError

logger = logging.getLogger(__name__)

#: Seconds without a beat after which the keeper counts as gone: somewhat more than the period of heartbeats.
STILL: Final = 1.25
#: Seconds for which somebody who wants to begin a cluster waits for a sign of the former one's keeper: longer
#: than members live without a keeper.
PATIENCE: Final = 12.0
_LOOK: Final = 0.25
_FOLDER: Final = "keepers"
_CLAIM: Final = re.compile(r"epoch\.(\d+)")
_LEFT: Final = re.compile(r"(?:address|beat|released|ended)\.(\d+)")


class _Claim(msgspec.Struct, frozen=True):
    """The content of a claim: the id of the ``cluster``, which all of its keepers have in common."""

    cluster: str


class _Place(msgspec.Struct, frozen=True):
    """The ``address`` of a keeper, and its ``process`` on its machine."""

    address: str
    process: int


class StoreTenure:
    """The office, held by the keeper of ``epoch``: a :class:`~sqlfront_cluster.members.keeper.tenure.Tenure`.
    ``begins``: the keeper begins its cluster."""

    #: Without a lock nobody knows whether the former keeper's process has ended.
    ended: frozenset[str] = frozenset()

    def __init__(self, office: "StoreOffice", keepers: Folder, epoch: int, *, begins: bool) -> None:
        self.epoch, self.begins = epoch, begins
        self._office, self._keepers = office, keepers
        self._beats = 0

    def office(self) -> "StoreOffice":
        """Return the office as the members of its cluster see it."""
        return self._office

    def is_held(self) -> bool:
        """Write a beat, and return whether no other process has claimed the next epoch. Raises OSError if the
        store can't be reached."""
        self._beats += 1
        self._keepers.create(_beat(self.epoch, self._beats), b"")
        self._keepers.remove_files([_beat(self.epoch, self._beats - 1)])
        return not self._keepers.exists(_claim(self.epoch + 1))

    def announce(self, address: str, sockets: str, member: str = "") -> None:
        """Write into the store where this keeper is; the rest is not used. Raises OSError."""
        place = _Place(address, os.getpid())
        self._keepers.create(f"address.{self.epoch:06}", msgspec.json.encode(place))

    def release(self, *, ends: bool = False) -> None:
        """Give up the office; to be called once. ``ends``: the cluster has no other members. Logs an error of
        the store: then the others wait until they miss the beats."""
        try:
            self._keepers.create(_ended(self.epoch) if ends else _released(self.epoch), b"")
        except OSError as error:
            logger.warning("the end of this keeper can't be written into the store: %s", error)


class StoreOffice:
    """The office of keeper in the store at ``address``, a path or URL, as the members of ``cluster`` see it.
    Raises OperationalError if the address can't be used."""

    def __init__(self, address: str, clock: Clock, cluster: str) -> None:
        self.address, self.cluster = address, cluster
        self._clock = clock
        self._keepers = open_folder(address).folder(_FOLDER)
        # The keeper's last sign that was seen, and when it was seen first.
        self._sign: tuple[str, ...] = ()
        self._since = clock.now()

    @classmethod
    def found(cls, address: str, clock: Clock, keeper: str) -> Self | None:
        """Return the office of the cluster whose keeper is at the address ``keeper``; None if this keeper
        doesn't use the store. Raises OperationalError if the store can't be read."""
        office = cls(address, clock, "")
        try:
            epoch = office._last()
            place = office._place(epoch)
            if place is None or place.address != keeper:
                return None
            office.cluster = office._claimed(epoch).cluster
        except OSError as error:
            raise _unusable(address, error) from error
        return office

    def enter(self) -> Callable[[], None]:
        """Do nothing: the keeper's beats alone tell whether somebody may begin a cluster with the store."""
        return lambda: None

    def present(self) -> RunFile | None:
        """Return the keeper that has claimed an epoch last, with an empty address if it has not written one
        yet; None if the cluster has ended, or the store can't be read now."""
        try:
            epoch = self._last()
            if not epoch or self._claimed(epoch).cluster != self.cluster:
                return None
            place = self._place(epoch)
        except OSError:
            return None
        return RunFile(0, "", epoch) if place is None else RunFile(place.process, place.address, epoch)

    def is_stopping(self) -> bool:
        """Return False: members of such a cluster are stopped one by one."""
        return False

    def take(self, *, after: int, silent: bool, member: str = "") -> StoreTenure | None:
        """Claim the epoch behind ``after``, and return it; None if the keeper of ``after`` still gives signs
        of life, another process has claimed the epoch, or the store can't be used now. ``silent`` and
        ``member`` make no difference: the keeper's beats tell whether it lives."""
        try:
            if not self._is_gone(after):
                return None
            return self.claim(after + 1, begins=False)
        except OSError:
            return None

    def claim(self, epoch: int, *, begins: bool) -> StoreTenure:
        """Claim an epoch for this process; ``begins``: as the first keeper of its cluster. Raises
        FileExistsError if another process has claimed the epoch, OSError if the store can't be written."""
        self._keepers.create(_claim(epoch), msgspec.json.encode(_Claim(self.cluster)))
        self._tidy_up(epoch - 1)
        return StoreTenure(self, self._keepers, epoch, begins=begins)

    def await_end(self, sleep: Callable[[float], None]) -> int:
        """Wait until a cluster that used the store has ended, and return its last epoch, 0 = there was none.
        Raises OperationalError if its keeper gives a sign of life; OSError if the store can't be read."""
        names, epoch = self._keepers.names(), self._last()
        deadline = self._clock.now() + PATIENCE
        while epoch and _ended(epoch) not in names and self._clock.now() < deadline:
            sleep(_LOOK)
            if self._keepers.names() != names:
                place = self._place(self._last())
                where = "" if place is None else f"; its keeper is at {place.address}"
                raise OperationalError(f"a cluster runs with the store {self.address}{where}")
        return epoch

    def _is_gone(self, epoch: int) -> bool:
        names = self._keepers.names()
        sign = tuple(name for name in names if name.startswith((f"beat.{epoch:06}.", f"address.{epoch:06}")))
        if sign != self._sign:
            self._sign, self._since = sign, self._clock.now()
        return _released(epoch) in names or self._clock.now() - self._since >= STILL

    def _tidy_up(self, before: int) -> None:
        """Remove what keepers of epochs before ``before`` have left, but for their claims."""
        found = (_LEFT.match(name) for name in self._keepers.names())
        self._keepers.remove_files([one.string for one in found if one and int(one[1]) < before])

    def _last(self) -> int:
        found = (_CLAIM.fullmatch(name) for name in self._keepers.names())
        return max((int(one[1]) for one in found if one), default=0)

    def _claimed(self, epoch: int) -> _Claim:
        return msgspec.json.decode(self._keepers.read(_claim(epoch)), type=_Claim)

    def _place(self, epoch: int) -> _Place | None:
        try:
            return msgspec.json.decode(self._keepers.read(f"address.{epoch:06}"), type=_Place)
        except FileNotFoundError:
            return None


def begin(address: str, clock: Clock, sleep: Callable[[float], None] = time.sleep) -> StoreTenure:
    """Claim the office for the keeper of a new cluster with the store at ``address``. If a former cluster has
    not ended in good order, waits :data:`PATIENCE` seconds, by ``sleep``, for a sign of its keeper or of the
    next one. Raises OperationalError if a cluster runs with the store, or the store can't be written."""
    office = StoreOffice(address, clock, secrets.token_hex(8))
    try:
        epoch = office.await_end(sleep) + 1
        return office.claim(epoch, begins=True)
    except FileExistsError:
        raise OperationalError(
            f"another process begins a cluster with the store {address} at this moment"
        ) from None
    except OSError as error:
        raise _unusable(address, error) from error


def keeper_in(address: str, clock: Clock) -> str:
    """Return the address of the keeper that has announced itself last in the store at ``address``, for
    clients; empty if there is none, or the store can't be read now. Raises OperationalError if the address
    can't be used."""
    office = StoreOffice(address, clock, "")
    try:
        place = office._place(office._last())
    except OSError:
        return ""
    return "" if place is None else place.address


def _unusable(address: str, error: OSError) -> OperationalError:
    return OperationalError(f"the store {address}, which decides on the keeper, can't be used: {error}")


def _claim(epoch: int) -> str:
    return f"epoch.{epoch:06}"


def _released(epoch: int) -> str:
    return f"released.{epoch:06}"


def _ended(epoch: int) -> str:
    return f"ended.{epoch:06}"


def _beat(epoch: int, number: int) -> str:
    return f"beat.{epoch:06}.{number:09}"
