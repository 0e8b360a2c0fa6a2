"""Two hundred tasks and two hundred threads over one session and over a cluster of three embedded members: no
wrong answer, no dead-lock, and nothing left when all are cancelled."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import sqlfront
from sqlfront import Connection, OperationalError
from sqlfront.aio import AsyncConnection, connect
from tests.sqlfront.aio.waiting import free, long_query

CROWD = 200
ROWS = 1000
TABLE = (
    "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 31 BUCKETS"
    f" AS SELECT id AS k, id * 3 AS v FROM range({ROWS})"
)
MEMBERS = pytest.mark.parametrize("members", [pytest.param(1, marks=pytest.mark.doors), 3])


def query_of(number: int) -> tuple[str, list[object], list[tuple[object, ...]]]:
    """A query, its parameters, and its answer: mostly lookups, and some aggregates."""
    if number % 10:
        return "SELECT v FROM t WHERE k = ?", [number % ROWS], [(number % ROWS * 3,)]
    low = number % ROWS
    return "SELECT count(*), sum(v) FROM t WHERE k >= ?", [low], [(ROWS - low, sum(range(low, ROWS)) * 3)]


@MEMBERS
def test_two_hundred_tasks_get_right_answers(members: int, capsys: pytest.CaptureFixture[str]) -> None:
    async def task(connection: AsyncConnection, first: int) -> None:
        async with connection.cursor() as cursor:
            for number in range(first, first + 5):
                query, parameters, answer = query_of(number)
                assert await (await cursor.execute(query, parameters)).fetchall() == answer

    async def main() -> float:
        async with connect(members=members, workers=2) as connection:
            await connection.execute(TABLE)
            began = time.perf_counter()
            async with asyncio.timeout(300), asyncio.TaskGroup() as group:
                for first in range(CROWD):
                    group.create_task(task(connection, first))
            seconds = time.perf_counter() - began
            await free(connection)
            return seconds

    seconds = asyncio.run(main())
    with capsys.disabled():
        print(f" [{CROWD} tasks, {members} members: {CROWD * 5 / seconds:,.0f} queries/s]", end="")


@MEMBERS
def test_two_hundred_threads_get_right_answers(members: int, capsys: pytest.CaptureFixture[str]) -> None:
    def thread(connection: Connection, first: int) -> None:
        cursor = connection.cursor()
        for number in range(first, first + 5):
            query, parameters, answer = query_of(number)
            assert cursor.execute(query, parameters).fetchall() == answer

    with sqlfront.connect(members=members, workers=2) as connection, ThreadPoolExecutor(CROWD) as pool:
        connection.execute(TABLE)
        began = time.perf_counter()
        for running in [pool.submit(thread, connection, first) for first in range(CROWD)]:
            running.result(300)
        seconds = time.perf_counter() - began
    with capsys.disabled():
        print(f" [{CROWD} threads, {members} members: {CROWD * 5 / seconds:,.0f} queries/s]", end="")


@MEMBERS
def test_two_hundred_cancelled_tasks_leave_nothing(members: int) -> None:
    async def task(connection: AsyncConnection, number: int) -> None:
        cursor = await connection.execute(
            "SELECT id FROM range(3000000)" if number % 3 else long_query(number)
        )
        async for _ in cursor:
            await asyncio.sleep(0)

    async def main() -> None:
        async with connect(members=members, workers=2) as connection:
            tasks = [asyncio.create_task(task(connection, number)) for number in range(CROWD)]
            await asyncio.sleep(0.3)
            for each in tasks:
                each.cancel()
            async with asyncio.timeout(300):
                ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(error) for error in ended} == {asyncio.CancelledError}
            await free(connection)
            assert await (await connection.execute("SELECT 1")).fetchall() == [(1,)]

    asyncio.run(main())


def test_two_hundred_cancelled_threads_leave_nothing() -> None:
    errors: list[BaseException] = []

    with sqlfront.connect(workers=2) as connection:
        cursors = [connection.cursor() for _ in range(CROWD)]
        begun = threading.Barrier(CROWD + 1)

        def thread(number: int) -> None:
            begun.wait()
            try:
                cursors[number].execute(long_query(number)).fetchall()
            except OperationalError as error:
                errors.append(error)

        threads = [threading.Thread(target=thread, args=(number,)) for number in range(CROWD)]
        for each in threads:
            each.start()
        begun.wait()
        deadline = time.monotonic() + 300
        while any(each.is_alive() for each in threads):
            assert time.monotonic() < deadline
            for cursor, each in zip(cursors, threads, strict=True):
                if each.is_alive():
                    cursor.cancel()
            threads[-1].join(0.02)
        assert len(errors) == CROWD
        asyncio.run(free(AsyncConnection(connection)))
