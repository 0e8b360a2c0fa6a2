"""Clients that move amounts between accounts, and ledgers of what they were told: the sum of the accounts
never changes, a confirmed statement is there for good, a refused one never was, and one of unknown outcome
either was or wasn't."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

import sqlfront
from tests.sqlfront import key_writes
from tests.sqlfront.key_writes import KeyWrites

ACCOUNTS: Final = 200
BALANCE: Final = 100
GROUPS: Final = 10
TOTAL: Final = (ACCOUNTS, ACCOUNTS * BALANCE)
#: The keys of the rows that a client inserts: from this times its number plus one on.
INSERTED: Final = 1_000_000
#: SQLSTATE of errors that don't say whether the statement has written; all others say that it has not.
UNKNOWN: Final = "08007"
#: Seconds: that a statement may take, and that its end may take on a loaded machine.
TIMEOUT: Final = 30.0
SLACK: Final = 15.0

_TABLE: Final = "USING memory CLUSTERED BY (k) OPTIONS (backups 1) AS SELECT id AS k"
CREATE: Final = (
    f"CREATE TABLE account {_TABLE}, id % {GROUPS} AS g, {BALANCE}L AS v, '' AS log FROM range({ACCOUNTS})",
    f"CREATE TABLE owner {_TABLE}, concat('owner ', id) AS name FROM range({ACCOUNTS})",
    f"CREATE TABLE area {_TABLE} FROM range({GROUPS})",
    key_writes.CREATE,
)
_MINE: Final = f"a.k BETWEEN 0 AND {ACCOUNTS - 1}"

#: A row of an answer.
Row = tuple[object, ...]
#: The queries of all accounts, with the one right answer of each.
READS: Final[tuple[tuple[str, list[Row]], ...]] = (
    (f"SELECT count(*), sum(v) FROM account a WHERE {_MINE}", [TOTAL]),
    (
        f"SELECT g, count(*) FROM account a WHERE {_MINE} GROUP BY g ORDER BY g",
        [(group, ACCOUNTS // GROUPS) for group in range(GROUPS)],
    ),
    ("SELECT count(*), sum(a.v) FROM account a JOIN owner o ON a.k = o.k", [TOTAL]),
    (f"SELECT count(*), sum(a.v) FROM account a JOIN area r ON a.g = r.k WHERE {_MINE}", [TOTAL]),
)


class Wrong(AssertionError):
    """What must not be: a wrong answer, another error, one that comes too late, or one that lies."""


class Statement(msgspec.Struct, frozen=True):
    """A statement that writes: a transfer between two accounts, or the insertion of a row (``source`` None)
    with the key ``target``. ``number``: the client's how manieth it is."""

    number: int
    source: int | None
    target: int
    amount: int = 0


class Ledger:
    """What one client was told about its statements, by their numbers."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.confirmed: dict[int, Statement] = {}
        self.unknown: dict[int, Statement] = {}
        self.refused: dict[int, Statement] = {}
        self._numbers = 0

    @property
    def own_key(self) -> int:
        """The key of the row whose log has the numbers of this client's transfers."""
        return -1 - self.client

    def next_statement(self) -> Statement:
        """A transfer, or every tenth time an insertion."""
        self._numbers += 1
        if self._numbers % 10 == 0:
            return Statement(self._numbers, None, INSERTED * (self.client + 1) + self._numbers)
        source, target = random.sample(range(ACCOUNTS), 2)
        return Statement(self._numbers, source, target, random.randint(1, 5))

    def sql(self, statement: Statement) -> str:
        """The statement as text; of a transfer all three rows change or none."""
        source, target, amount = statement.source, statement.target, statement.amount
        if source is None:
            return f"INSERT INTO account VALUES ({target}, 0, 0, '')"
        return (
            f"UPDATE account SET v = v + CASE k WHEN {source} THEN -{amount} WHEN {target} THEN {amount}"
            f" ELSE 0 END, log = CASE k WHEN {self.own_key} THEN concat(log, '{statement.number},') ELSE log"
            f" END WHERE k IN ({source}, {target}, {self.own_key})"
        )

    def note(self, statement: Statement, error: sqlfront.OperationalError | None) -> None:
        """Take down how the statement has ended."""
        if error is None:
            self.confirmed[statement.number] = statement
        else:
            ended = self.unknown if error.sqlstate == UNKNOWN else self.refused
            ended[statement.number] = statement

    def check(self, logged: str, inserted: list[int]) -> list[Statement]:
        """Compare with what is there: the log of this client's transfers, and the keys of its insertions.
        Return the statements that were carried out. Raises :class:`Wrong`."""
        numbers = [int(number) for number in logged.split(",") if number]
        numbers += [key - INSERTED * (self.client + 1) for key in inserted]
        counted = Counter(numbers)
        facts = (
            ("carried out twice", [number for number, count in counted.items() if count > 1]),
            ("confirmed and lost", self.confirmed.keys() - counted.keys()),
            ("refused and carried out", self.refused.keys() & counted.keys()),
        )
        for fact, found in facts:
            if found:
                raise Wrong(f"client {self.client}: statements {sorted(found)} were {fact}")
        known = self.confirmed | self.unknown
        return [known[number] for number in counted]

    def inserted(self) -> tuple[str, range]:
        """A count of this client's insertions that are there now, and what it may be."""
        low = INSERTED * (self.client + 1)
        sure = sum(each.source is None for each in self.confirmed.values())
        perhaps = sum(each.source is None for each in self.unknown.values())
        text = f"SELECT count(*) FROM account WHERE k >= {low} AND k < {low + INSERTED}"
        return text, range(sure, sure + perhaps + 1)


class Figures:
    """What all clients have seen: answers and errors by SQLSTATE, for reads and writes."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.errors: Counter[tuple[str, str | None]] = Counter()
        self.texts: Counter[str] = Counter()
        #: The slowest statement: seconds, and its text.
        self.slowest = (0.0, "")
        #: The longest time between two answers to the same client.
        self.pause = 0.0
        self._lock = threading.Lock()

    def note(
        self, kind: str, sql: str, seconds: float, pause: float, error: sqlfront.OperationalError | None
    ) -> None:
        """A statement has ended; ``pause``: since the client's last answer."""
        with self._lock:
            self.slowest = max(self.slowest, (seconds, sql))
            if error is None:
                self.pause = max(self.pause, pause)
                self.answers[kind] += 1
            else:
                self.errors[kind, error.sqlstate] += 1
                self.texts[f"{kind} {error.sqlstate} {error.message[:150]}"] += 1

    def lines(self) -> list[str]:
        """The figures as text."""
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(self.answers.items()))
        seconds, sql = self.slowest
        lines = [f"answers: {found}; longest pause {self.pause:.2f} s"]
        lines.append(f"  slowest: {seconds:.2f} s for {sql[:100]}")
        for (kind, state), count in sorted(self.errors.items(), key=str):
            lines.append(f"  {count:6} errors of a {kind}, SQLSTATE {state}")
        return lines + [f"  {count:6} {text}" for text, count in self.texts.most_common(8)]


class Client(threading.Thread):
    """A client that reads, joins and, if it ``writes``, also writes, each time at random, until it is
    stopped; ``wrong`` is what must not be. ``connect`` makes its connection, also a new one when the cluster
    has given the old one up."""

    def __init__(
        self, number: int, connect: Callable[[], sqlfront.Connection], figures: Figures, *, writes: bool
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self.writes = writes
        self.ledger = Ledger(number)
        self.notes = KeyWrites(number)
        self.wrong: str | None = None
        self._connect = connect
        self._figures = figures
        self._connection: sqlfront.Connection | None = None
        self._ending = threading.Event()
        self._answered = time.monotonic()

    def begin(self) -> None:
        """Make the client's row, and start."""
        with self._connect() as connection:
            connection.execute(f"INSERT INTO account VALUES ({self.ledger.own_key}, 0, 0, '')")
        self.start()

    def end(self) -> None:
        """Stop after the present statement."""
        self._ending.set()

    def run(self) -> None:
        self._answered = time.monotonic()
        try:
            while not self._ending.is_set():
                self._step()
        except Exception as error:  # noqa: BLE001 - told at the end
            self.wrong = f"{self.name}: {error if isinstance(error, Wrong) else repr(error)}"
        finally:
            self._close()

    def _step(self) -> None:
        kind = random.randrange(-2 if self.writes else 4, 11)
        if kind < 0:
            sql, key, after = self.notes.next_write()
            _, error = self._ask("write by key", sql)
            self.notes.note(key, after, error, UNKNOWN)
        elif kind < 4:
            statement = self.ledger.next_statement()
            _, error = self._ask("write", self.ledger.sql(statement))
            self.ledger.note(statement, error)
        elif kind < 8:
            sql, answer = READS[kind - 4]
            rows, _ = self._ask("join" if "JOIN" in sql else "read", sql)
            if rows is not None and rows != answer:
                raise Wrong(f"{sql}: {str(rows)[:200]} instead of {str(answer)[:200]}")
        elif kind == 8:
            key = random.randrange(ACCOUNTS)
            rows, _ = self._ask("lookup", f"SELECT k, g FROM account WHERE k = {key}")
            if rows is not None and rows != [(key, key % GROUPS)]:
                raise Wrong(f"account {key} is {rows}")
        elif kind == 9:
            sql, key = self.notes.next_read()
            rows, _ = self._ask("lookup", sql)
            if rows is not None and (wrong := self.notes.check(key, rows)):
                raise Wrong(wrong)
        else:
            sql, right = self.ledger.inserted()
            rows, _ = self._ask("read", sql)
            if rows is not None and rows[0][0] not in right:
                raise Wrong(f"{sql}: {rows} is not in {right}")

    def _ask(self, kind: str, sql: str) -> tuple[list[Row] | None, sqlfront.OperationalError | None]:
        """The answer, or None and the OperationalError; Wrong for any other."""
        began, rows, failure = time.monotonic(), None, None
        try:
            if self._connection is None:
                self._connection = self._connect()
            cursor = self._connection.execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        except sqlfront.OperationalError as error:
            failure = error
            if self._connection is None or not is_usable(self._connection):
                self._close()
        except Exception as error:
            raise Wrong(f"{type(error).__name__} for {sql}: {error}") from error
        now = time.monotonic()
        if failure is not None and "were lost" in failure.message:
            raise Wrong(f"rows were lost: {failure}")
        if now - began > TIMEOUT + SLACK:
            raise Wrong(f"after {now - began:.1f} s: {sql}; {failure}")
        self._figures.note(kind, sql, now - began, now - self._answered, failure)
        if failure is None:
            self._answered = now
        return rows, failure

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def is_usable(connection: sqlfront.Connection) -> bool:
    """Whether the cluster has not given the connection's session up."""
    cluster = connection.session.cluster
    return not cluster._running.ended.is_set()  # type: ignore[union-attr]


def check_all(ledgers: list[Ledger], connection: sqlfront.Connection) -> None:
    """Compare all ledgers with what is there, and each account's balance with what follows from the
    statements that were carried out. Raises :class:`Wrong`."""
    found = connection.execute("SELECT k, v, log FROM account").fetchall()
    rows = [(int(str(row[0])), int(str(row[1])), str(row[2])) for row in found]
    balances = {key: value for key, value, _ in rows if 0 <= key < ACCOUNTS}
    logs = {key: log for key, _, log in rows if key < 0}
    expected = dict.fromkeys(range(ACCOUNTS), BALANCE)
    for ledger in ledgers:
        inserted = [key for key, _, _ in rows if key // INSERTED == ledger.client + 1]
        for done in ledger.check(logs[ledger.own_key], inserted):
            if done.source is not None:
                expected[done.source] -= done.amount
                expected[done.target] += done.amount
    if balances != expected:
        differ = {key: (balances.get(key), value) for key, value in expected.items()}
        shown = {key: pair for key, pair in differ.items() if pair[0] != pair[1]}
        raise Wrong(f"balances differ from the ledgers: {shown}")
