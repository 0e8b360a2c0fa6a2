"""Memory accounting: the bytes accumulated by operators, against a budget per query and per member.

A :class:`MemoryBudget` belongs to a member or, below it, to a query; each processor instance charges an
:class:`OperatorAccount`. A charge that would exceed a budget on the way up raises and changes nothing: the
query fails with the operator's name, and other queries go on.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Final

import msgspec

from sqlfront_values.errors import OperationalError
from sqlfront_values.room import NO_LIMIT, in_units


class MemoryStatistics(msgspec.Struct, frozen=True):
    """The bytes of a budget: its limit, the current charge and the highest charge."""

    limit: int
    used: int
    peak: int


class MemoryBudget:
    """Bytes that a member's or a query's operators may hold together, at most ``limit``; ``owner`` is the
    name in messages. A charge counts against ``parent``, too (None = no parent).
    ``relief`` (None = no relief) is called while a charge doesn't fit, to give back unneeded memory; its
    result is whether memory was freed, and ends in False.

    Any thread may charge and release. Releasing takes no lock, since finalizers release, too: a finalizer may
    run while its thread is charging.
    """

    __slots__ = ("_charged", "_lock", "_released", "limit", "owner", "parent", "peak", "relief")

    def __init__(self, owner: str, limit: int, parent: "MemoryBudget | None" = None) -> None:
        self.owner = owner
        self.limit = limit
        self.parent = parent
        self.relief: Callable[[], bool] | None = None
        self.peak = 0
        self._lock = Lock()
        # Invariant: the bytes in use are `_charged` minus the sum of `_released`; the next charge settles the
        # difference.
        self._charged = 0
        self._released: deque[int] = deque()

    @property
    def used(self) -> int:
        """Bytes charged now."""
        return self._charged - sum(list(self._released))

    def charge(self, size: int, operator: str) -> None:
        """Count ``size`` more bytes here and in all parents, or raise OperationalError, which names
        ``operator``, and count nothing."""
        while not self._fits(size):
            if self.relief is None or not self.relief():
                raise _exceeded(self, size, operator)
        if self.parent is not None:
            try:
                self.parent.charge(size, operator)
            except OperationalError:
                self._released.append(size)
                raise

    def _fits(self, size: int) -> bool:
        """Count ``size`` more bytes in this budget alone if the limit allows; return whether it did."""
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
        """Give back ``size`` bytes, here and in all parents."""
        self._released.append(size)
        if self.parent is not None:
            self.parent.release(size)

    def statistics(self) -> MemoryStatistics:
        """Return the limit, the bytes in use, and the peak of use."""
        return MemoryStatistics(self.limit, self.used, self.peak)


#: A budget for callers that need no accounting.
UNLIMITED: Final = MemoryBudget("nobody", NO_LIMIT)


class OperatorAccount:
    """The :class:`~sqlfront_engine.processor.MemoryAccount` of one processor instance; used only by the
    instance's thread."""

    __slots__ = ("_budget", "held", "operator", "peak")

    def __init__(self, budget: MemoryBudget, operator: str) -> None:
        self._budget = budget
        self.operator = operator
        self.held = 0
        self.peak = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes (for the function ``maker``), or raise OperationalError, which names
        maker, operator, use and limit."""
        self._budget.charge(size, f"{maker} in {self.operator}" if maker else self.operator)
        self.held += size
        self.peak = max(self.peak, self.held)

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""
        assert size <= self.held, f"{self.operator} releases {size} bytes of {self.held}"
        self.held -= size
        self._budget.release(size)

    def close(self) -> None:
        """Give back all bytes that are still charged."""
        if self.held:
            self.release(self.held)


def _exceeded(budget: MemoryBudget, size: int, operator: str) -> OperationalError:
    return OperationalError(
        f"{operator} needs {in_units(size)} more memory, but {budget.owner} already uses"
        f" {in_units(budget.used)} of its limit of {in_units(budget.limit)}.",
        condition="UNABLE_TO_ACQUIRE_MEMORY",
    )
