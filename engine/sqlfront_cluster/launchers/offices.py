"""The contract of an office of keeper: a place that decides which process is the keeper of a cluster.

:mod:`~sqlfront_cluster.launchers.keeper_office` is a folder on one machine, whose lock the system releases;
:mod:`~sqlfront_cluster.launchers.store_office` is a store that all machines share, with exclusive epochs.
"""

from collections.abc import Callable
from typing import Protocol

from sqlfront_cluster.launchers.keeper_office import RunFile
from sqlfront_cluster.members.keeper.tenure import Tenure


class OfficeTenure(Tenure, Protocol):
    """The office, held by this process."""

    def office(self) -> "Office":
        """Return the office as the members of its cluster see it."""

    @property
    def ended(self) -> frozenset[str]:
        """The members that are known to have ended with the former keeper, in whose process they were."""

    def announce(self, address: str, sockets: str, member: str = "") -> None:
        """Write where this keeper is, for members and clients. ``sockets``: the folder of the members'
        sockets and logs, empty = none. ``member``: the member in this process, empty = none. Raises OSError
        if that can't be written."""

    def release(self, *, ends: bool = False) -> None:
        """Give up the office; to be called once. ``ends``: the cluster has no other members. Errors of the
        place are logged: then the others see by themselves that the keeper is gone."""


class Office(Protocol):
    """The office as the members of its cluster see it."""

    def enter(self) -> Callable[[], None]:
        """Show that this process is a member of the cluster; the function that is returned ends that."""

    def present(self) -> RunFile | None:
        """Return who was announced last as the keeper; None if the cluster has ended. The address is empty if
        the keeper has not announced it yet."""

    def is_stopping(self) -> bool:
        """Return whether the cluster is being stopped."""

    def take(self, *, after: int, silent: bool, member: str = "") -> OfficeTenure | None:
        """Take the office after the keeper of the epoch ``after``, and return it; None if that keeper lives,
        or another process has the office. ``silent``: the keeper's process has not answered for so long that
        it may be followed although the system says that it lives. ``member``: the member in this
        process."""
