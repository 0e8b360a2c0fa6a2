"""Memory accounting: the bytes accumulated by operators, against a budget per query and per member.

A :class:`MemoryBudget` belongs to a member or, as a child of the member's budget, to a query; each processor
instance charges an :class:`OperatorAccount`. A charge that would exceed the budget of the query or the member
raises and changes nothing: the query fails with the operator's name, and other queries go on.
"""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Final

import msgspec

from sqlfront_values.errors import OperationalError
from sqlfront_values.room import NO_LIMIT, in_units

#: The number of blocks of rows for which a query's memory limit has room, and the least bytes of a block: a
#: query has several operators, and several instances of each, which may all hold blocks at the same time.
_BLOCKS: Final = 32
_LEAST_BLOCK: Final = 32 * 1024


def block_bytes_of(limit: int) -> int:
    """Return the bytes of rows that an instance of an operator works on at a time, if its query may hold
    ``limit`` bytes.

    >>> block_bytes_of(64 * 2**20) // 2**20
    2
    """
    return max(_LEAST_BLOCK, limit // _BLOCKS)


class MemoryStatistics(msgspec.Struct, frozen=True):
    """The state of a budget in bytes: the limit, the bytes charged now, and the most bytes ever charged."""

    limit: int
    used: int
    peak: int


class MemoryBudget:
    """A limit on the bytes that the operators of a member or of a query may hold together.

    ``limit``: bytes. ``owner``: the budget's name in messages. ``parent``: a budget against which each charge
    counts, too (None = no parent). ``relief`` (None = none) is called, repeatedly, while a charge doesn't
    fit, to free memory that is not needed; it returns True if it has freed some, and False once nothing is
    left to free.

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
        """The number of bytes charged now."""
        return self._charged - sum(list(self._released))

    @property
    def free(self) -> int:
        """The number of bytes that fit now into this budget and all its parents, 0 if none fit."""
        free = max(0, self.limit - self.used)
        return free if self.parent is None else min(free, self.parent.free)

    def charge(self, size: int, operator: str) -> None:
        """Count ``size`` more bytes in this budget and in all its parents. Raises OperationalError, which
        names ``operator``, and counts nothing, if a limit would be exceeded and ``relief`` frees too
        little."""
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
        """Give back ``size`` bytes, in this budget and in all its parents."""
        self._released.append(size)
        if self.parent is not None:
            self.parent.release(size)

    def statistics(self) -> MemoryStatistics:
        """Return the limit, the bytes in use, and the peak of use."""
        return MemoryStatistics(self.limit, self.used, self.peak)


#: A budget for callers that need no accounting.
UNLIMITED: Final = MemoryBudget("nobody", NO_LIMIT)


class OperatorAccount:
    """The :class:`~sqlfront_engine.processor.MemoryAccount` of one processor instance, which charges
    ``budget``; used only by the instance's thread. ``operator``: the name in messages."""

    __slots__ = ("_budget", "held", "operator", "peak")

    def __init__(self, budget: MemoryBudget, operator: str) -> None:
        self._budget = budget
        self.operator = operator
        self.held = 0
        self.peak = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes in the operator's budget. Raises OperationalError if a limit would be
        exceeded; the message names ``maker`` (the SQL function that makes the bytes, empty = none), operator,
        use and limit."""
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
