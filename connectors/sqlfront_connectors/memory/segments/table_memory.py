"""The accounting of memory tables: their rows and indexes are charged to the memory budget of their
member."""

import gc
import weakref
from collections.abc import Iterable
from typing import Final

from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_engine.memory import MemoryBudget
from sqlfront_values.errors import OperationalError


class TableMemory:
    """An account that charges rows and indexes of memory tables to ``budget`` as long as any reader can use
    them. Versions of a table share most of their segments and indexes; a shared part is charged once."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        #: Ids of the counted objects. Invariant: all these objects live.
        self.held: set[int] = set()

    def hold(self, segments: Iterable[Segment], table: str) -> None:
        """Charge the segments of a version that is about to be published, and their indexes. The bytes of a
        segment or index are released when nothing refers to it any more. Raises OperationalError if the
        budget is exceeded; the message names the table, the needed size, and the limit."""
        held, fresh = self.held, list[tuple[object, int]]()
        for segment in segments:
            if id(segment.batch) not in held:
                fresh.append((segment.batch, segment.size))
            for index in segment.indexes:
                if id(index) not in held and index.size:
                    fresh.append((index, index.size))
        if not fresh:
            return
        self.charge(sum([size for _, size in fresh]), table)
        for part, size in fresh:
            held.add(id(part))
            reference = _Reference(part, _let_go)
            reference.memory, reference.identity, reference.size = self, id(part), size
            _REFERENCES[id(reference)] = reference

    def free(self) -> int:
        """Return how many bytes the account could be charged with, after versions that nobody needs were
        freed."""
        if self.budget.relief is not None:
            self.budget.relief()
        return self.budget.free

    def charge(self, size: int, table: str) -> None:
        """Charge ``size`` bytes to the budget in the name of the table ``table``; the caller has to release
        them. Raises OperationalError if the budget is exceeded even after a garbage collection."""
        name = f"Table `{table}`"
        try:
            self.budget.charge(size, name)
        except OperationalError:
            gc.collect()  # versions without readers may be parts of cycles
            self.budget.charge(size, name)


class _Reference(weakref.ref[object]):
    """A weak reference to a charged batch or index, at whose end ``size`` bytes are released in ``memory``.
    ``identity``: the object's id. Cheaper than a :class:`weakref.finalize`, because every change of a row
    makes two references."""

    __slots__ = ("identity", "memory", "size")

    memory: TableMemory
    identity: int
    size: int


#: All references by their ids, for as long as the counted objects live.
_REFERENCES: Final[dict[int, _Reference]] = {}


def _let_go(reference: weakref.ref[object]) -> None:
    assert isinstance(reference, _Reference)
    del _REFERENCES[id(reference)]
    reference.memory.held.discard(reference.identity)
    reference.memory.budget.release(reference.size)
