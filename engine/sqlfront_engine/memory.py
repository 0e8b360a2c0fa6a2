"""Memory is counted: what operators accumulate, against a budget per query and per member.

A :class:`MemoryBudget` belongs to a member or, below it, to a query; each processor instance charges an
:class:`OperatorAccount`. A charge that would exceed a budget on the way up raises and changes nothing, so
the query fails with the operator's name, and everything else goes on.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Final

import msgspec

from sqlfront_values.errors import OperationalError
from sqlfront_values.room import NO_LIMIT, in_units


class MemoryStatistics(msgspec.Struct, frozen=True):
    """Bytes of a budget: its limit, what is charged now and what was at most."""

    limit: int
    used: int
    peak: int


class MemoryBudget:
    """Bytes that a member's or a query's operators may hold together; ``owner`` is its name in messages.

    ``relief``, None = there is none, is called when a charge doesn't fit, to give back what nobody needs; it
    answers whether it has found anything.

    Any thread may charge and release. Releasing takes no lock, since it happens in finalizers too, which
    may run while the same thread is charging.
    """

    __slots__ = ("_charged", "_lock", "_released", "limit", "owner", "parent", "peak", "relief")

    def __init__(self, owner: str, limit: int, parent: "MemoryBudget | None" = None) -> None:
        self.owner = owner
        self.limit = limit
        self.parent = parent
        self.relief: Callable[[], bool] | None = None
        self.peak = 0
        self._lock = Lock()
        # Invariant: what is used is `_charged` minus the sum of `_released`, which the next charge settles.
        self._charged = 0
        self._released: deque[int] = deque()

    @property
    def used(self) -> int:
        """Bytes charged now."""
        return self._charged - sum(tuple(self._released))

    def charge(self, size: int, operator: str) -> None:
        """Count ``size`` more bytes here and in all parents, or raise OperationalError and count nothing."""
        if not self._fits(size):
            relieved = self.relief is not None and self.relief()
            if not relieved or not self._fits(size):
                raise _exceeded(self, size, operator)
        if self.parent is not None:
            try:
                self.parent.charge(size, operator)
            except OperationalError:
                self._released.append(size)
                raise

    def _fits(self, size: int) -> bool:
        """Count the bytes here, if the limit allows it."""
        with self._lock:
            while self._released:
                self._charged -= self._released.popleft()
            used = self._charged + size
            if used > self.limit:
                return False
            self._charged = used
            self.peak = max(self.peak, used)
            return True

    def release(self, size: int) -> None:
        """Give back ``size`` bytes."""
        self._released.append(size)
        if self.parent is not None:
            self.parent.release(size)

    def statistics(self) -> MemoryStatistics:
        """Limit, use and peak."""
        return MemoryStatistics(self.limit, self.used, self.peak)


#: A budget for whoever need not count.
UNLIMITED: Final = MemoryBudget("nobody", NO_LIMIT)


class OperatorAccount:
    """The :class:`~sqlfront_engine.processor.MemoryAccount` of one processor instance; used by its thread
    only."""

    __slots__ = ("_budget", "held", "operator", "peak")

    def __init__(self, budget: MemoryBudget, operator: str) -> None:
        self._budget = budget
        self.operator = operator
        self.held = 0
        self.peak = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes (for the function ``maker``), or raise OperationalError that names it and
        operator, use and limit."""
        self._budget.charge(size, f"{maker} in {self.operator}" if maker else self.operator)
        self.held += size
        self.peak = max(self.peak, self.held)

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""
        assert size <= self.held, f"{self.operator} releases {size} bytes of {self.held}"
        self.held -= size
        self._budget.release(size)

    def close(self) -> None:
        """Give back all that is still charged."""
        if self.held:
            self.release(self.held)


def _exceeded(budget: MemoryBudget, size: int, operator: str) -> OperationalError:
    return OperationalError(
        f"{operator} needs {in_units(size)} more memory, but {budget.owner} already uses"
        f" {in_units(budget.used)} of its limit of {in_units(budget.limit)}.",
        condition="UNABLE_TO_ACQUIRE_MEMORY",
    )
