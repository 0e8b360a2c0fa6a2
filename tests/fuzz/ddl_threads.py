"""Random DDL and copies beside readers and writers: threads that share a session, or two of a cluster.

Each town has a table of rows ``(k, 2 * k)``, views of the table, and some threads. Inserters add rows with
new keys and delete some; changers rename, widen, cache, refresh, replace and drop; readers ask the table and
the views. Whatever the order, an answer has each row whose INSERT had returned before the query began, no row
whose INSERT had failed or whose DELETE had returned, and no key twice; a statement fails only because a name
is gone or taken, the table was altered meanwhile, or its rows can't be changed in place::

    python -m tests.fuzz.ddl_threads --minutes 10 --seed 1 --members 3
    python -m tests.fuzz.ddl_threads --minutes 10 --seed 1 --processes
    python -m tests.fuzz.ddl_threads --minutes 10 --seed 1 --leaving      # members join and leave meanwhile
"""

import argparse
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import cycle
from typing import Final, TypeAlias, cast

from sqlfront import Connection, connect
from sqlfront_values.errors import Error
from tests.fuzz.cluster_sessions import Crew
from tests.oracle import processes

#: The formats of the towns' tables, in turns.
FORMATS: Final = ("memory", "memory CLUSTERED BY (k) INTO 7 BUCKETS", "parquet", "json")
#: Those of towns whose members come and go.
SPREAD_FORMATS: Final = (
    "memory OPTIONS (backups 0)",
    "memory",
    "memory CLUSTERED BY (k) INTO 7 BUCKETS",
    "memory CLUSTERED BY (k) OPTIONS (backups 2)",
)
_INSERTERS, _READERS, _CHANGERS = 2, 3, 2
_RELATIONS: Final = ("t", "u", "kept", "passing", "deep")
#: The conditions of names that are gone or taken, of copies, whose rows can't be changed, and of files that
#: UPDATE or DELETE has replaced before they were read.
_EXPECTED: Final = (
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
    "TABLE_OR_VIEW_NOT_FOUND",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
    "COLUMN_ALREADY_EXISTS",
)
#: The SQLSTATE of a statement that may be run again.
_AGAIN: Final = "40001"
#: Those of statements that have failed, and have changed nothing, because members come and go.
_LEAVING: Final = ("08001", "08006")
_KEPT: Final = "CREATE OR REPLACE VIEW kept AS SELECT k, v FROM t WHERE k > {}"
_PASSING: Final = "CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT k, v FROM t WHERE k > {}"
_DEEP: Final = (
    "CREATE OR REPLACE TEMPORARY VIEW deep AS"
    " SELECT k, max(v) AS v FROM (SELECT k, v FROM kept UNION ALL SELECT k, v FROM t WHERE k > {}) GROUP BY k"
)


#: What a thread does again and again.
Work: TypeAlias = Callable[[Connection, random.Random], None]
#: Opens the sessions of a town.
Place: TypeAlias = Callable[[], AbstractContextManager[tuple[Connection, ...]]]


class Town:
    """Some seconds of threads under a seed, which use the connections in turns. ``leaving``: members come and
    go meanwhile. ``outcomes`` counts what happened."""

    def __init__(
        self, connections: Sequence[Connection], table_format: str, seed: int, *, leaving: bool = False
    ) -> None:
        self._connections = connections
        self._leaving = leaving
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._confirmed: set[int] = set()
        self._failed: set[int] = set()
        self._deleting: set[int] = set()
        self._next = 0
        self._end = 0.0
        self._errors: list[BaseException] = []
        self.outcomes: Counter[str] = Counter()
        connections[0].execute(f"CREATE TABLE t (k BIGINT, v BIGINT) USING {table_format}")
        connections[0].execute(_KEPT.format(-1))
        for connection in connections:
            connection.execute(_PASSING.format(-1))
            connection.execute(_DEEP.format(-1))

    def live(self, seconds: float) -> None:
        """Run the threads to their end. AssertionError for a wrong answer, or for an unexpected error."""
        self._end = time.monotonic() + seconds
        works = [self._insert] * _INSERTERS + [self._read] * _READERS + [self._change] * _CHANGERS
        threads = [
            threading.Thread(target=self._repeat, args=(work, connection, self._chance.random()))
            for work, connection in zip(works, cycle(self._connections), strict=False)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "a statement never ends"
        if self._errors:
            raise self._errors[0]
        for connection in self._connections:
            present = "t" if self._rows(connection, "t") is not None else "u"
            for name in (present, "kept", "passing", "deep"):
                rows = self._rows(connection, name)
                if rows is not None:
                    self._check(name, rows, self._confirmed, self._failed)
            kept = {k for k, _ in self._rows(connection, present) or ()}
            undone = sorted(self._confirmed - kept)
            assert not undone, f"{present} lacks {undone[:9]} of {len(self._confirmed)}, whose DELETEs failed"
            assert kept == self._confirmed, f"{present} has {sorted(kept - self._confirmed)[:9]}, too"

    def _repeat(self, work: Work, connection: Connection, seed: float) -> None:
        chance = random.Random(seed)
        try:
            while time.monotonic() < self._end and not self._errors:
                work(connection, chance)
        except BaseException as error:
            self._errors.append(error)
            raise

    # ---- threads

    def _insert(self, connection: Connection, chance: random.Random) -> None:
        with self._lock:
            keys = range(self._next, self._next + chance.choice([1, 1, 3, 40]))
            self._next = keys.stop
        values = ", ".join(f"({k}, {2 * k})" for k in keys)
        done = self._do(connection, f"INSERT INTO {chance.choice('tttu')} (k, v) VALUES {values}")
        with self._lock:
            (self._confirmed if done else self._failed).update(keys)
        if done and chance.random() < 0.2:
            self._delete(connection, keys)

    def _delete(self, connection: Connection, keys: range) -> None:
        with self._lock:
            self._deleting.update(keys)
        if self._do(connection, f"DELETE FROM t WHERE k BETWEEN {keys.start} AND {keys.stop - 1}"):
            with self._lock:
                self._confirmed.difference_update(keys)
                self._failed.update(keys)

    def _read(self, connection: Connection, chance: random.Random) -> None:
        name = chance.choice(_RELATIONS)
        with self._lock:
            confirmed, failed = set(self._confirmed), set(self._failed)
        rows = self._rows(connection, name)
        if rows is not None:
            self._check(name, rows, confirmed, failed)

    def _check(self, name: str, rows: list[tuple[int, int]], confirmed: set[int], failed: set[int]) -> None:
        keys = Counter(k for k, _ in rows)
        with self._lock:
            missing = confirmed - keys.keys() - self._deleting
        lost = sorted(failed & keys.keys())
        twice = sorted(k for k, count in keys.items() if count > 1)
        assert not missing, f"{name} lacks {sorted(missing)[:9]} of {len(confirmed)} rows"
        assert not lost, f"{name} has the rows {lost[:9]} of failed INSERTs or finished DELETEs"
        assert not twice, f"{name} has {twice[:9]} twice"
        assert all(v == 2 * k for k, v in rows), f"{name} has other values"

    def _change(self, connection: Connection, chance: random.Random) -> None:
        name, table = chance.choice(_RELATIONS), chance.choice("tu")
        view, low = chance.choice(["kept", "passing", "deep"]), -chance.randrange(1, 4)
        define = {"kept": _KEPT, "passing": _PASSING, "deep": _DEEP}[view].format(low)
        moves = (
            (f"CACHE TABLE {name}",) * 3,
            (f"CACHE TABLE {view}",),
            (f"CACHE TABLE {name}", f"UNCACHE TABLE {name}"),
            (f"UNCACHE TABLE {name}",),
            (f"REFRESH TABLE {name}",),
            (f"COMMENT ON TABLE {table} IS 'c{low}'",),
            ("ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t"),
            (f"ALTER TABLE {table} ADD COLUMN (c{chance.randrange(30)} INT)",),
            ("UPDATE t SET v = 2 * k WHERE k % 7 = 3",),
            (define,),
            (f"ALTER VIEW kept AS SELECT k, v FROM t WHERE k > {low}",),
            (f"DROP VIEW IF EXISTS {view}", define),
        )
        for statement in chance.choice(moves):
            self._do(connection, statement)

    # ---- statements

    def _do(self, connection: Connection, text: str) -> bool:
        """Whether the statement succeeded; False if a name was gone or taken, or the table was altered
        meanwhile."""
        try:
            connection.cursor().execute(text)
        except Error as error:
            self._expect(error, text)
            return False
        self._count(text)
        return True

    def _rows(self, connection: Connection, name: str) -> list[tuple[int, int]] | None:
        """The rows of a relation; None if there is none of that name."""
        text = f"SELECT k, v FROM {name}"
        try:
            rows = cast("list[tuple[int, int]]", connection.cursor().execute(text).fetchall())
        except Error as error:
            self._expect(error, text)
            return None
        self._count(text)
        return rows

    def _expect(self, error: Error, text: str) -> None:
        allowed = (_AGAIN, *_LEAVING) if self._leaving else (_AGAIN,)
        if error.condition not in _EXPECTED and error.sqlstate not in allowed:
            error.add_note(text)
            raise error
        self._count(error.condition or error.sqlstate or "")

    def _count(self, what: str) -> None:
        with self._lock:
            self.outcomes[" ".join(what.split()[:2])] += 1


@contextmanager
def embedded(members: int) -> Iterator[tuple[Connection, ...]]:
    """A session with its own members in this process."""
    with connect(members=members, workers=2) as connection:
        yield (connection,)


@contextmanager
def of_cluster() -> Iterator[tuple[Connection, ...]]:
    """Two sessions of a cluster of three processes."""
    with connect(processes.config()) as one, connect(processes.config()) as other:
        yield one, other
        processes.drop_all(one)


@contextmanager
def leaving_members(seed: int) -> Iterator[Place]:
    """Members in processes that join and leave until the end of the context. Its value opens three sessions
    of theirs, one of which has no place in the member list."""
    crew, ended = Crew(seed, kills=False), threading.Event()
    changes = threading.Thread(target=crew.change, args=(ended,), daemon=True)

    @contextmanager
    def place() -> Iterator[tuple[Connection, ...]]:
        with crew.open(lite=True) as one, crew.open(lite=False) as two, crew.open(lite=True) as three:
            yield one, two, three
            processes.drop_all(one)

    changes.start()
    try:
        yield place
        ended.set()
        changes.join()
        crew.check_the_end()
    finally:
        ended.set()
        changes.join()
        crew.close()


def campaign(
    seeds: Iterable[int],
    place: Place,
    seconds: float,
    each: float = 3.0,
    formats: Sequence[str] = FORMATS,
    *,
    leaving: bool = False,
) -> Counter[str]:
    """Run towns of the seeds until the seconds are over, each for some; return what happened how often.
    ``place`` opens the sessions of a town. ``leaving``: members come and go meanwhile."""
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + seconds
    for seed in seeds:
        with place() as connections:
            table_format = formats[seed % len(formats)]
            town = Town(connections, table_format, seed, leaving=leaving)
            try:
                town.live(each)
            except BaseException as error:
                error.add_note(f"seed {seed}, USING {table_format}")
                raise
        outcomes += town.outcomes
        outcomes["towns"] += 1
        if time.monotonic() > end:
            break
    return outcomes


def main() -> None:
    """Run towns for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--leaving", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + 1_000_000)
    if options.leaving:
        with leaving_members(options.seed) as place:
            print(dict(campaign(seeds, place, options.minutes * 60, 6.0, SPREAD_FORMATS, leaving=True)))
        return
    place = of_cluster if options.processes else partial(embedded, options.members)
    print(dict(campaign(seeds, place, options.minutes * 60)))


if __name__ == "__main__":
    main()
