"""Rows that one client alone writes, each by its key with values that don't depend on the row, and what may
be in them: a confirmed statement counts, a refused one doesn't, one of unknown outcome does or doesn't."""

import random
from typing import Final

import sqlfront
from sqlfront_values.errors import OperationalError

#: The rows of a client.
ROWS: Final = 6
#: The rows that nobody writes, between which those of the clients lie.
OTHERS: Final = 1000
CREATE: Final = (
    "CREATE TABLE note USING memory CLUSTERED BY (k) OPTIONS (backups 1) "
    f"AS SELECT id AS k, 0L AS n FROM range({OTHERS})"
)

#: What a row may hold: its number, or None if there is no such row.
Possible = frozenset[int | None]


class KeyWrites:
    """The rows of the client ``client``, and what each may hold."""

    def __init__(self, client: int) -> None:
        self._first = OTHERS + client * ROWS
        self.possible: dict[int, Possible] = dict.fromkeys(
            range(self._first, self._first + ROWS), frozenset([None])
        )
        self._numbers = 0

    def next_write(self) -> tuple[str, int, Possible]:
        """A statement, the key of its row, and what the row may hold after the statement."""
        self._numbers += 1
        key, number = random.choice([*self.possible]), self._numbers
        before = self.possible[key]
        if before == {None}:
            return f"INSERT INTO note VALUES ({key}, {number})", key, frozenset([number])
        if random.random() < 0.3:
            return f"DELETE FROM note WHERE k = {key}", key, frozenset([None])
        after: Possible = frozenset(None if held is None else number for held in before)
        return f"UPDATE note SET n = {number} WHERE k = {key}", key, after

    def note(self, key: int, after: Possible, error: OperationalError | None, unknown: str) -> None:
        """Take down how a statement has ended; ``unknown``: the SQLSTATE of an unknown outcome."""
        if error is None:
            self.possible[key] = after
        elif error.sqlstate == unknown:
            self.possible[key] |= after

    def next_read(self) -> tuple[str, int]:
        """A lookup of one of the rows, and its key."""
        key = random.choice([*self.possible])
        return f"SELECT n FROM note WHERE k = {key}", key

    def check(self, key: int, rows: list[tuple[object, ...]]) -> str | None:
        """Compare the answer to a lookup with what the row may hold, which is what was found from then on.
        Return what is wrong, if anything."""
        held = [row[0] for row in rows] or [None]
        right = [each for each in self.possible[key] if [each] == held]
        if not right:
            return f"row {key} holds {held} and may hold {sorted(self.possible[key], key=str)}"
        self.possible[key] = frozenset(right)
        return None


def wrong_notes(clients: list[KeyWrites], connection: sqlfront.Connection) -> list[str]:
    """Compare all rows with what they may hold, by one scan; return what is wrong."""
    found: dict[int, list[tuple[object, ...]]] = {}
    for key, number in connection.execute("SELECT k, n FROM note").fetchall():
        found.setdefault(int(str(key)), []).append((number,))
    wrong = [
        text for each in clients for key in each.possible if (text := each.check(key, found.pop(key, [])))
    ]
    if found != {key: [(0,)] for key in range(OTHERS)}:
        strange = {key: rows for key, rows in found.items() if key >= OTHERS or rows != [(0,)]}
        wrong.append(f"rows that nobody writes: {len(found)} of {OTHERS}, among them {strange}")
    return wrong
