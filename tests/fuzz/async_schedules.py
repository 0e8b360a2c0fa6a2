"""Random schedules of tasks over one asyncio connection: statements, fetches, cancellations and closes.

Each schedule runs some tasks under a seed. A task executes statements of known answers, reads them whole or
in part, waits under time limits, cancels cursors of others, closes its own; another task cancels tasks.
Whatever the order, an answer that arrives is right, every failure is one of the expected errors, and at the
end nothing runs and no memory is held::

    python -m tests.fuzz.async_schedules --minutes 10 --seed 1
"""

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from sqlfront.aio import AsyncConnection, AsyncCursor, connect
from sqlfront_values.errors import InterfaceError, OperationalError, ProgrammingError
from tests.sqlfront.aio.waiting import free, long_query

_ROWS: Final = 500
_TASKS: Final = 12
_STEPS: Final = 8
#: Errors with which a cancelled or closed cursor may end a call.
_STOPPED: Final = (
    "cancelled",
    "is closed",
    "another task uses",
    "longer than its timeout",
    "no rows to fetch",
)


#: One move of a task with its cursor.
Move = Callable[[AsyncCursor], Awaitable[None]]


class Schedule:
    """One schedule over a connection with the table ``t`` of the numbers below :data:`_ROWS`."""

    def __init__(self, connection: AsyncConnection, seed: int) -> None:
        self._connection = connection
        self._chance = random.Random(seed)
        self._cursors: list[AsyncCursor] = []
        self.outcomes: Counter[str] = Counter()

    async def run(self) -> None:
        """Run the tasks to their end. AssertionError for a wrong answer, or for an unexpected error."""
        tasks = [asyncio.create_task(self._task()) for _ in range(_TASKS)]
        trouble = asyncio.create_task(self._trouble(tasks))
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        trouble.cancel()
        await asyncio.gather(trouble, return_exceptions=True)
        for cursor in self._cursors:
            await cursor.close()
        for error in ended:
            if isinstance(error, asyncio.CancelledError):
                self.outcomes["cancelled"] += 1
            elif error is not None:
                raise error
        await free(self._connection)

    async def _task(self) -> None:
        cursor = self._new_cursor()
        for _ in range(_STEPS):
            if cursor.closed:
                cursor = self._new_cursor()
            try:
                await self._chance.choice(self._moves())(cursor)
            except TimeoutError:
                self.outcomes["timeout"] += 1
            except (InterfaceError, OperationalError, ProgrammingError) as error:
                if not any(part in str(error) for part in _STOPPED):
                    raise
                self.outcomes[type(error).__name__] += 1

    def _moves(self) -> Sequence[Move]:
        once = (self._read, self._part, self._long, self._many, self._stop, self._close)
        return (self._lookup, self._lookup, *once)

    def _new_cursor(self) -> AsyncCursor:
        """A new cursor, or now and then the cursor of another task."""
        if self._cursors and self._chance.random() < 0.1:
            return self._chance.choice(self._cursors)
        self._cursors.append(self._connection.cursor())
        return self._cursors[-1]

    async def _lookup(self, cursor: AsyncCursor) -> None:
        key = self._chance.randrange(_ROWS)
        mine = self._connection.cursor()
        await mine.execute("SELECT k, v FROM t WHERE k = ?", [key])
        assert await mine.fetchall() == [(key, f"v{key}")]
        self.outcomes["lookup"] += 1

    async def _read(self, cursor: AsyncCursor) -> None:
        low = self._chance.randrange(_ROWS)
        query = "SELECT sum(k), count(*) FROM t WHERE k >= ?"
        async with asyncio.timeout(self._chance.choice([None, 0.001, 0.01])):
            async with self._connection.cursor() as mine:
                [answer] = await (await mine.execute(query, [low])).fetchall()
        assert answer == (sum(range(low, _ROWS)), _ROWS - low)
        self.outcomes["read"] += 1

    async def _part(self, cursor: AsyncCursor) -> None:
        """Some rows of many; the rest is left unread."""
        mine = self._connection.cursor()
        self._cursors.append(mine)  # others may stop or close this cursor
        await mine.execute("SELECT id FROM range(3000000)")
        wanted = self._chance.randrange(1, 5000)
        rows = await mine.fetchmany(wanted)
        if self._chance.random() < 0.5:
            rows += [row for row in [await mine.fetchone()] if row is not None]
        assert rows == [(number,) for number in range(len(rows))]
        self.outcomes["part"] += 1

    async def _long(self, cursor: AsyncCursor) -> None:
        async with asyncio.timeout(self._chance.choice([0.0, 0.005, 0.03])):
            await (await cursor.execute(long_query(self._chance.randrange(9)), timeout=20)).fetchall()
        raise AssertionError("a long query has ended")

    async def _many(self, cursor: AsyncCursor) -> None:
        async with asyncio.timeout(self._chance.choice([0.005, 0.05])):
            await cursor.executemany("INSERT INTO u VALUES (?)", [(k,) for k in range(300)])
        self.outcomes["many"] += 1

    async def _stop(self, cursor: AsyncCursor) -> None:
        self._chance.choice([cursor, *self._cursors[-3:]]).cancel()
        await asyncio.sleep(0)

    async def _close(self, cursor: AsyncCursor) -> None:
        await cursor.close()

    async def _trouble(self, tasks: Sequence["asyncio.Task[None]"]) -> None:
        """Cancel a task now and then, some of them repeatedly."""
        while True:
            await asyncio.sleep(self._chance.choice([0.0, 0.005, 0.02]))
            task = self._chance.choice(tasks)
            if self._chance.random() < 0.2:
                for _ in range(self._chance.choice([1, 1, 3])):
                    task.cancel()


async def campaign(seeds: "Sequence[int] | range", members: int, seconds: float) -> Counter[str]:
    """Run schedules of the seeds until the seconds are over; return what happened how often."""
    outcomes: Counter[str] = Counter()
    end = time.monotonic() + seconds
    async with connect(members=members, workers=2) as connection:
        await connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 31 BUCKETS"
            f" AS SELECT id AS k, concat('v', id) AS v FROM range({_ROWS})"
        )
        await connection.execute("CREATE TABLE u (k BIGINT) USING memory")
        for seed in seeds:
            schedule = Schedule(connection, seed)
            try:
                async with asyncio.timeout(300):
                    await schedule.run()
            except BaseException as error:
                error.add_note(f"seed {seed}, {members} members")
                raise
            outcomes += schedule.outcomes
            outcomes["schedules"] += 1
            if time.monotonic() > end:
                break
    return outcomes


def main() -> None:
    """Run schedules for some minutes, over one member and over three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for members in (1, 3):
        seeds = range(options.seed, options.seed + 1_000_000)
        print(members, dict(asyncio.run(campaign(seeds, members, options.minutes * 30))))


if __name__ == "__main__":
    main()
