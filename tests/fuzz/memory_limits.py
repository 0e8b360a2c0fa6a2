"""Random queries over random tables, in sessions of 1 to 100 MiB with a job store, beside one with room.

    python -m tests.fuzz.memory_limits                        # two hundred queries
    python -m tests.fuzz.memory_limits --count 20 --seed 7    # other ones
    python -m tests.fuzz.memory_limits --seed 7 --only 12     # one of them again

A query may end with the rows of the session with room, or with the error of a lack of memory that names
operator, use and limit. Findings are other rows, other errors, a job or a file that is left in the store,
memory that stays charged, and a session that doesn't answer the next query.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

import sqlfront
from sqlfront.connection import Connection
from sqlfront_values.errors import NO_MEMORY

MIB: Final = 2**20
#: The queries over the same tables.
QUERIES: Final = 5
#: An error that says what lacked which memory.
NAMED: Final = re.compile(
    r".+ needs .+ more memory, but .+ already uses .+ of its limit of .+\.|.+ would make .+; the limit is .+",
    re.DOTALL,
)

#: Columns by which rows are joined, grouped and sorted: expressions over the row's number, ``id``.
KEYS: Final = (
    "id",
    "id % 7",
    "id % 5000",
    "id * 7919",
    "cast(id % 3 = 0 AS boolean)",
    "CASE WHEN id % 10 < 9 THEN 1 ELSE id END",
    "nullif(id % 50, 3)",
    "cast(NULL AS int)",
    "cast(id AS double)",
    "cast(id % 999 AS decimal(12, 2))",
    "cast(id AS decimal(30, 5))",
    "cast(id AS string)",
    "repeat(cast(id % 900 AS string), 20)",
    "repeat(cast(id AS string), 100)",
    "date_add(DATE'2020-01-01', cast(id % 3000 AS int))",
    "array(id % 5, id % 11)",
    "named_struct('a', id % 100, 'b', cast(id % 9 AS string))",
    "named_struct('a', array(named_struct('b', id)), 'c', cast(NULL AS int))",
)
#: Further columns of a table, by their bytes.
PADS: Final = (
    "1",
    "repeat('x', 50)",
    "repeat(cast(id AS string), 40)",
    "IF(id % 100 = 0, repeat(cast(id AS string), 800), NULL)",
    "named_struct('a', id, 'b', repeat(cast(id AS string), 10))",
    "array_repeat(id, 30)",
    "map(cast(id AS string), id)",
)
#: Queries over the tables ``s`` and ``t``, which have the columns id, k, j (a second key) and p.
TEMPLATES: Final = (
    "SELECT k, count(*) AS n FROM s GROUP BY k",
    "SELECT k, j, max(id) AS m, min(id) AS l FROM s GROUP BY k, j",
    "SELECT id, max(to_json(named_struct('p', p))) AS p FROM s GROUP BY id",
    "SELECT j, count(DISTINCT k) AS n, sum(id) AS t FROM s GROUP BY j",
    "SELECT k, size(collect_list(id)) AS n FROM s GROUP BY k",
    "SELECT DISTINCT k, p_text FROM (SELECT k, to_json(named_struct('p', p)) AS p_text FROM s)",
    "SELECT k, id, p FROM s ORDER BY k, id",
    "SELECT id, k, p FROM s ORDER BY j DESC, id LIMIT 500",
    "SELECT s.id, t.id AS other, s.p FROM s JOIN t ON s.id = t.id",
    "SELECT count(*) AS n, sum(s.id) AS t FROM s JOIN t ON s.id = t.id AND s.k <=> t.k",
    "SELECT s.id, t.p FROM s LEFT JOIN t ON s.id = t.id + 5",
    "SELECT s.id, t.id AS other FROM s FULL JOIN t ON s.id = t.id * 2",
    "SELECT id, k FROM s WHERE id NOT IN (SELECT id + 1 FROM t)",
    "SELECT id FROM s LEFT SEMI JOIN t ON s.id = t.id AND s.id % 3 <> t.id % 2",
    "SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM s",
    "SELECT id, sum(id) OVER (PARTITION BY j ORDER BY id) AS r, p FROM s",
    "SELECT id, rank() OVER (ORDER BY id DESC) AS r FROM s",
    "SELECT id, k FROM s UNION SELECT id, k FROM t",
    "SELECT k FROM s EXCEPT SELECT k FROM t WHERE id > 10",
    "SELECT id, j FROM s INTERSECT SELECT id, j FROM t",
    "SELECT id, p FROM s UNION ALL SELECT id, NULL FROM (SELECT id FROM t GROUP BY id)",
    "SELECT count(*) AS n, count(DISTINCT k) AS d, count(DISTINCT j) AS e FROM s",
    "WITH w AS (SELECT k, max(id) AS m FROM s GROUP BY k) SELECT a.m FROM w a JOIN w b ON a.m = b.m",
    "SELECT s.id FROM s JOIN (SELECT k, avg(id) AS a FROM t GROUP BY k) u ON s.k = u.k WHERE s.id > u.a",
)


class TableShape(msgspec.Struct, frozen=True):
    """The shape of a table: its number of rows, the expressions of its columns, and of how many files (0: it
    is in memory)."""

    rows: int
    key: str
    other: str
    pad: str
    files: int

    def query(self, file: int) -> str:
        """The query of the rows of the file with this number; of all rows for a table in memory."""
        part = f" WHERE id % {self.files} = {file}" if self.files > 1 else ""
        return f"SELECT id, {self.key} AS k, {self.other} AS j, {self.pad} AS p FROM range({self.rows}){part}"


class Trial(msgspec.Struct, frozen=True):
    """A query, and the session in which it runs: its memory in bytes, and its workers."""

    number: int
    sql: str
    limit: int
    workers: int


class Finding(msgspec.Struct, frozen=True):
    """What is wrong with a trial, over the tables of the shapes."""

    trial: Trial
    tables: tuple[TableShape, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.trial}\n    {self.tables}\n    {self.text[:600]}"


def shapes(chance: random.Random, most_rows: int) -> tuple[TableShape, TableShape]:
    """The shapes of the tables ``s`` and ``t``."""
    key, other = chance.choice(KEYS), chance.choice(KEYS)
    pads = chance.choice(PADS), chance.choice(PADS)
    rows = [int(10 ** min(_digits(most_rows), chance.uniform(2, 1 + _digits(most_rows)))) for _ in pads]
    files = [chance.choice([0, 1, 1, 3]) if count < 20_000 else chance.choice([1, 3]) for count in rows]
    first, second = (
        TableShape(count, key, other, pad, parts) for count, pad, parts in zip(rows, pads, files, strict=True)
    )
    return first, second


def _digits(number: int) -> float:
    return math.log10(number)


def trials(chance: random.Random, first: int) -> Iterator[Trial]:
    """The trials over the same tables; their numbers begin at ``first``."""
    for number in range(first, first + QUERIES):
        limit = int(MIB * 10 ** chance.uniform(0, 2))
        yield Trial(number, chance.choice(TEMPLATES), limit, chance.choice([1, 2, 4]))


def make(connection: Connection, folder: Path, name: str, shape: TableShape, *, fill: bool) -> None:
    """Make a table in the session; ``fill``: write its files, which another session has done otherwise."""
    if not shape.files:
        connection.execute(f"CREATE TABLE {name} USING memory AS {shape.query(0)}")
        return
    where = f"USING parquet LOCATION '{folder / name}'"
    connection.execute(f"CREATE TABLE {name} {where}{f' AS {shape.query(0)}' if fill else ''}")
    for file in range(1, shape.files if fill else 0):
        connection.execute(f"INSERT INTO {name} {shape.query(file)}")


def rows_of(connection: Connection, sql: str) -> tuple[Counter[str], str]:
    """The rows of a query's answer, and the lane that answered."""
    result = connection.session.execute(sql)
    rows = Counter(map(repr, result.collect()))
    return rows, result.stats.lane


class Outcome(msgspec.Struct, frozen=True):
    """What became of a trial: ``lane``, or "no memory" with the error's ``text``."""

    trial: Trial
    tables: tuple[TableShape, ...]
    lane: str
    text: str = ""


def tried(
    trial: Trial, tables: tuple[TableShape, ...], room: Connection, folder: Path
) -> Iterator[Outcome | Finding]:
    """Run one trial; yield its findings and its outcome."""
    store = folder / f"store{trial.number}"
    with sqlfront.connect(
        job_store=str(store), memory_limit=trial.limit, workers=trial.workers
    ) as connection:
        try:
            for name, shape in zip("st", tables, strict=True):
                make(connection, folder, name, shape, fill=False)
            held = connection.session.context.engine.memory.used
            rows, lane = rows_of(connection, trial.sql)
        except sqlfront.Error as error:
            if error.sqlstate == NO_MEMORY and NAMED.fullmatch(error.message):
                yield Outcome(trial, tables, "no memory", error.message)
            else:
                yield Finding(trial, tables, f"{type(error).__name__}: {error}")
            held = -1
        else:
            yield Outcome(trial, tables, lane)
            if rows != rows_of(room, trial.sql)[0]:
                yield Finding(trial, tables, f"other rows, by {lane}")
        for text in left(connection, store, held):
            yield Finding(trial, tables, text)


def left(connection: Connection, store: Path, held: int) -> Iterator[str]:
    """What a query has left in its session, which held so many bytes before (-1 = unknown), and in the
    store."""
    if connection.execute("SELECT 1 + 1").fetchall() != [(2,)]:
        yield "the session doesn't answer"
    if connection.execute("SHOW JOBS").fetchall():
        yield "a job is left"
    files = [name for _, _, names in os.walk(store / "spool") for name in names]
    if files:
        yield f"files are left: {files[:3]}"
    used = connection.session.context.engine.memory.used
    if held not in (-1, used):
        yield f"{used - held} bytes stay charged"


def campaign(
    seed: int, count: int, most_rows: int = 300_000, only: Sequence[int] = ()
) -> Iterator[Outcome | Finding]:
    """Yield what became of so many trials of a seed, and the findings. ``only``: the numbers of the trials to
    run, empty = all."""
    for first in range(0, count, QUERIES):
        chance = random.Random(f"{seed}/{first}")
        tables = shapes(chance, most_rows)
        chosen = [trial for trial in trials(chance, first) if not only or trial.number in only]
        if chosen:
            yield from _over_tables(tables, chosen[: count - first])


def _over_tables(tables: tuple[TableShape, ...], chosen: list[Trial]) -> Iterator[Outcome | Finding]:
    with tempfile.TemporaryDirectory() as folder, sqlfront.connect(workers=2) as room:
        for name, shape in zip("st", tables, strict=True):
            make(room, Path(folder), name, shape, fill=True)
        for trial in chosen:
            yield from tried(trial, tables, room, Path(folder))


def main() -> int:
    """Run the trials that the command line asks for; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Queries in sessions with little memory")
    parser.add_argument("--count", type=int, default=200, help="queries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=300_000, help="the most rows of a table")
    parser.add_argument("--only", nargs="*", type=int, default=(), help="numbers of queries")
    options = parser.parse_args()
    ended, found = Counter[str](), 0
    for event in campaign(options.seed, options.count, options.rows, options.only):
        if isinstance(event, Finding):
            found += 1
            print(event, flush=True)
        else:
            ended[event.lane] += 1
            if event.text:
                print(f"{event.trial}: {event.text} {event.tables}", flush=True)
    print(f"{sum(ended.values())} queries: {dict(ended.most_common())}; {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
