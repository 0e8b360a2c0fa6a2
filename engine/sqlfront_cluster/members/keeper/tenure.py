"""The right of a process to be the keeper of a cluster."""

from typing import Final, Protocol

from sqlfront_engine.scheduler import Clock


class Tenure(Protocol):
    """The right of one process to be the keeper."""

    @property
    def epoch(self) -> int:
        """The keeper's epoch, from 1 on: higher than the epochs of all former keepers of the cluster."""

    @property
    def begins(self) -> bool:
        """Whether the keeper begins its cluster; otherwise it follows another keeper."""

    def is_held(self) -> bool:
        """Return whether no other process has become the keeper since. Raises OSError if that can't be found
        out now."""


class _OnlyKeeper:
    """The tenure of a keeper that nobody can follow."""

    epoch, begins = 1, True

    def is_held(self) -> bool:
        """Return True."""
        return True


ONLY_KEEPER: Final = _OnlyKeeper()


class RecentTenure:
    """A tenure that is asked at most once in ``period`` seconds of the clock whether it is still held."""

    def __init__(self, tenure: Tenure, clock: Clock, period: float) -> None:
        self.epoch = tenure.epoch
        self._tenure = tenure
        self._clock = clock
        self._period = period
        self._confirmed = clock.now()

    def is_held(self) -> bool:
        """Return whether no other process had become the keeper a period ago. Raises OSError if that can't be
        found out now."""
        now = self._clock.now()
        if now - self._confirmed >= self._period:
            if not self._tenure.is_held():
                return False
            self._confirmed = now
        return True
