"""What memory tables hold is counted against the memory of their member."""

import gc
from collections.abc import Iterable

from sqlfront_connectors.memory.segment import Segment
from sqlfront_engine.errors import OperationalError
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.memory import MemoryBudget


class TableMemory:
    """Charges rows and indexes to ``budget`` for as long as anybody can read them. Versions of a table share
    most of what they hold, which counts once."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        # Invariant: ids of living objects; who dies takes its own out.
        self._held: set[int] = set()

    def hold(self, segments: Iterable[Segment], table: str) -> None:
        """Count a version that is about to be published. OperationalError if it doesn't fit: it names the
        table, what it needs, and the limit."""
        fresh = [each for segment in segments for each in _parts(segment) if id(each[0]) not in self._held]
        if not fresh:
            return
        self.charge(sum(size for _, size in fresh), table)
        for part, size in fresh:
            self._held.add(id(part))
            when_forgotten(part, self._let_go, id(part), size).atexit = False

    def charge(self, size: int, table: str) -> None:
        """Count so many bytes until they are released."""
        name = f"Table `{table}`"
        try:
            self.budget.charge(size, name)
        except OperationalError:
            gc.collect()  # versions that nobody can read any more may be parts of cycles
            self.budget.charge(size, name)

    def _let_go(self, identity: int, size: int) -> None:
        self._held.discard(identity)
        self.budget.release(size)


def _parts(segment: Segment) -> Iterable[tuple[object, int]]:
    """What a segment holds in memory, with the bytes of each."""
    yield segment.batch, segment.size
    for index in segment.indexes:
        if index.size:
            yield index, index.size
