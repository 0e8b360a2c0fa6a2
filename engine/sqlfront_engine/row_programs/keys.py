"""The keys that a row program looks up in a table."""

from collections.abc import Callable, Sequence
from itertools import product

from sqlfront_engine.row_programs.program import ProgramRun, Row, RowFunction, checked

#: A function from a run to its distinct keys.
Keys = Callable[[ProgramRun], Sequence[Row]]


class KeyPart:
    """The values to look up for one column of a key. ``candidates``: the positions of these values among the
    constants of a run, such as the values of the statement's literals and parameters. ``asks_for_null``: a
    null among the values finds the rows with null in the column; if false, a null finds no row."""

    __slots__ = ("asks_for_null", "candidates")

    def __init__(self, candidates: Sequence[int], *, asks_for_null: bool = False) -> None:
        self.candidates = tuple(candidates)
        self.asks_for_null = asks_for_null

    def values(self, constants: Sequence[object]) -> list[object]:
        """Return the distinct values to look up in a run for this column of the key. ``constants``: the
        values of the program's constants in this run, such as literals and parameters."""
        found = [constants[place] for place in self.candidates]
        if not self.asks_for_null:
            found = [value for value in found if value is not None]
        return found if len(found) == 1 else list(dict.fromkeys(found))


class KeyParts:
    """A function that returns, for one run of a row program, the keys to look up in a table: a tuple for each
    combination of the values that the :class:`KeyPart` of each key column gives."""

    __slots__ = ("_parts", "_places")

    def __init__(self, parts: Sequence[KeyPart]) -> None:
        self._parts = tuple(parts)
        # The most common case: one candidate for each column.
        single = all(len(part.candidates) == 1 for part in parts)
        self._places = tuple(part.candidates[0] for part in parts) if single else None

    def __call__(self, run: ProgramRun) -> Sequence[Row]:
        if self._places is None:
            return list(product(*[part.values(run.constants) for part in self._parts]))
        constants = run.constants
        key = tuple([constants[place] for place in self._places])
        if None in key:
            for value, part in zip(key, self._parts, strict=True):
                if value is None and not part.asks_for_null:
                    return ()
        return (key,)


def found_rows(source: int, keys: Keys) -> RowFunction:
    """Return a function that looks up rows in a table, given a run of the row program: the rows of the keys
    that ``keys(run)`` returns. ``source``: the position of the table's lookup function in
    :attr:`ProgramRun.finds`."""

    def rows(run: ProgramRun) -> Sequence[Row]:
        wanted = keys(run)
        if not wanted:
            return []
        found = run.finds[source](wanted)
        return checked(found[0] if len(found) == 1 else [row for some in found for row in some])

    return rows
