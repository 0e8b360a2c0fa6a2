"""The relations of Spark's that queries read, and how often."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from sqlfront_planner.catalog import Catalog, FoundElsewhere
from sqlfront_values.errors import Error

#: Relations whose readings are counted; the relation that was read longest ago makes room.
_MOST: Final = 1000


class ReadCounts:
    """The numbers of times that queries have read each relation of Spark's since its last copy, by which
    automatic copies are decided. Any thread may call the methods. Relations that were not read for long are
    forgotten: at most 1,000 are counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[str, ...], int] = OrderedDict()

    def count(self, name: tuple[str, ...]) -> int:
        """Count that a query reads the relation ``name`` (parts, with catalog and database); return how often
        queries have read it, this time included."""
        with self._lock:
            found = self._counts.pop(name, 0) + 1
            self._counts[name] = found
            if len(self._counts) > _MOST:
                self._counts.popitem(last=False)
        return found

    def of(self, name: tuple[str, ...]) -> int:
        """Return how often queries have read the relation ``name`` (parts, with catalog and database); 0 for
        a relation that isn't counted."""
        return self._counts.get(name, 0)

    def reset(self, name: tuple[str, ...]) -> None:
        """Set the number of the relation's reads to 0, since the relation is copied now."""
        with self._lock:
            self._counts.pop(name, None)


def names_elsewhere(tree: exp.Expr, catalog: Catalog) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names, in parts, of the relations in a query's FROM clauses that only Spark has; each
    name once. The name of a common table expression is not among them, wherever it stands."""
    seen: set[tuple[str, ...]] = {(cte.alias.lower(),) for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        parts = tuple(part.name for part in table.parts if isinstance(part, exp.Identifier))
        key = tuple(map(str.lower, parts))
        if not parts or key in seen:
            continue
        seen.add(key)
        try:
            catalog.lookup(parts)
        except FoundElsewhere:
            yield parts
        except Error:
            continue
