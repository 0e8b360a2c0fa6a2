"""A cache for results of functions: a dictionary with a bounded number of entries."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V]):
    """A dictionary that caches results: when it has ``most`` entries, storing another one empties it first.
    Entries in use are soon computed again. Threads may share a memo; then two threads may compute the same
    value.

    >>> memo = Memo[str, int](2)
    >>> memo.keep("a", 1), memo.keep("b", 2), memo.keep("c", 3), memo
    (1, 2, 3, {'c': 3})
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, value: V) -> V:
        """Store ``value`` under ``key``, after emptying the dictionary if it is full, and return the
        value."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
