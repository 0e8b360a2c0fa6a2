"""sqlfront.aio: statements of tasks, cancellation, closing, and an event loop that is never blocked."""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import pyarrow as pa
import pytest

import sqlfront
from sqlfront import InterfaceError, NotSupportedError, OperationalError, ProgrammingError
from sqlfront.aio import AsyncConnection, AsyncCursor, connect
from tests.sqlfront.aio.waiting import free, long_query, until

LONG = long_query(1)


def run(steps: Callable[[AsyncConnection], Awaitable[object]]) -> None:
    """Run the steps over a new connection, and see that nothing of it is left."""

    async def main() -> None:
        async with connect(workers=2) as connection:
            await steps(connection)

    asyncio.run(main())
    assert [thread for thread in threading.enumerate() if thread.name.startswith("sqlfront-aio")] == []


def test_the_package_needs_no_import_of_its_own() -> None:
    assert sqlfront.__getattr__("aio") is sys.modules["sqlfront.aio"]
    with pytest.raises(AttributeError, match="no attribute 'oia'"):
        sqlfront.__getattr__("oia")


# ---- statements and rows


def test_rows_by_every_method() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()
        for size in (7, 1000, 20_000):
            query = f"SELECT id, string(id) AS s FROM range({size}) ORDER BY id"
            expected = [(number, str(number)) for number in range(size)]
            assert await (await cursor.execute(query)).fetchall() == expected
            assert [row async for row in await cursor.execute(query)] == expected
            await cursor.execute(query)
            first = await cursor.fetchone()
            some = await cursor.fetchmany(3)
            assert [first, *some, *await cursor.fetchall()] == expected
            assert (await cursor.fetchone(), await cursor.fetchmany(2), await cursor.fetchall()) == (
                None,
                [],
                [],
            )
            await cursor.execute(query)
            assert (await cursor.fetch_arrow_table()).num_rows == size
            await cursor.execute(query)
            assert sum([batch.num_rows async for batch in cursor.batches()]) == size

    run(steps)


def test_parameters_many_and_facts() -> None:
    async def steps(connection: AsyncConnection) -> None:
        async with connection.cursor() as cursor:
            await cursor.execute("CREATE TABLE t (k INT) USING memory")
            await cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
            assert cursor.rowcount == 3
            await cursor.execute("SELECT k FROM t WHERE k > :low ORDER BY k", {"low": 1})
            assert await cursor.fetchmany() == [(2,)]
            assert cursor.description is not None
            assert cursor.description[0][0] == "k"
            assert cursor.stats is not None
        prepared = connection.prepare("SELECT count(*) FROM t WHERE k = ?")
        assert [await (await connection.execute(prepared, [k])).fetchall() for k in (1, 9)] == [
            [(1,)],
            [(0,)],
        ]
        await connection.register("v", pa.table({"a": [1, 2]}))
        assert await (await connection.execute("SELECT sum(a) FROM v")).fetchone() == (3,)
        await connection.unregister("v")
        await connection.commit()
        with pytest.raises(NotSupportedError):
            await connection.rollback()

    run(steps)


def test_errors_are_those_of_a_cursor() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()
        with pytest.raises(ProgrammingError, match="no rows to fetch"):
            await cursor.fetchone()
        with pytest.raises(ProgrammingError, match="UNRESOLVED_COLUMN"):
            await cursor.execute("SELECT nothing FROM range(3)")
        with pytest.raises(ProgrammingError, match="without a result"):
            await cursor.executemany("SELECT ?", [[1]])
        with pytest.raises(OperationalError, match="longer than its timeout"):
            await (await cursor.execute(LONG, timeout=0.05)).fetchall()
        await cursor.execute("SELECT 1")
        await cursor.fetchone()
        with pytest.raises(InterfaceError):
            await cursor.fetch_arrow_table()
        await cursor.close()
        for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute("SELECT 1")):
            with pytest.raises(InterfaceError, match="cursor is closed"):
                await use()

    run(steps)


# ---- the event loop goes on


def test_the_event_loop_goes_on_while_statements_run() -> None:
    """A heartbeat is counted while a long query runs and while many rows are fetched."""

    async def steps(connection: AsyncConnection) -> None:
        beats: list[float] = []

        async def heart() -> None:
            while True:
                beats.append(time.perf_counter())
                await asyncio.sleep(0.002)

        beating = asyncio.create_task(heart())
        with pytest.raises(OperationalError):
            await (await connection.execute(LONG, timeout=0.5)).fetchall()
        during_query = len(beats)
        rows = await (await connection.execute("SELECT id, id * 2 FROM range(200000)")).fetchall()
        beating.cancel()
        assert len(rows) == 200_000
        assert during_query >= 5
        assert len(beats) > during_query

    run(steps)


def test_an_iteration_reads_no_further_than_its_rows_are_asked_for() -> None:
    """Fifty million rows, of which a slow reader takes a few: what is held stays small."""

    async def steps(connection: AsyncConnection) -> None:
        memory = connection.session.engine.memory
        before = pa.total_allocated_bytes()
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT id, id % 7 FROM range(50000000)")
            count = 0
            async for _ in cursor:
                count += 1
                if count % 2000 == 0:
                    await asyncio.sleep(0)
                    assert pa.total_allocated_bytes() - before < 64 << 20
                if count == 100_000:
                    break
        await until(lambda: memory.used == 0)
        assert count == 100_000

    run(steps)


# ---- cancellation


@pytest.mark.parametrize("after", [0.0, 0.02, 0.2])
def test_a_cancelled_task_cancels_its_query(after: float) -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(after):
                await (await cursor.execute(LONG)).fetchall()
        await free(connection)
        assert await (await cursor.execute("SELECT 1")).fetchall() == [(1,)]

    run(steps)


def test_a_task_that_waits_for_a_thread_never_begins() -> None:
    async def steps(connection: AsyncConnection) -> None:
        async def forever() -> None:
            await (await connection.execute(LONG)).fetchall()

        tasks = [asyncio.create_task(forever()) for _ in range(100)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(error) for error in ended} == {asyncio.CancelledError}
        await free(connection)

    run(steps)


def test_a_task_cancelled_again_and_again_ends_once() -> None:
    async def steps(connection: AsyncConnection) -> None:
        task = asyncio.ensure_future(_read_all(connection, LONG))
        await asyncio.sleep(0.05)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        await free(connection)

    run(steps)


def test_a_cancelled_executemany_stops_between_its_statements() -> None:
    async def steps(connection: AsyncConnection) -> None:
        await connection.execute("CREATE TABLE t (k INT) USING memory")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await connection.executemany("INSERT INTO t VALUES (?)", [(k,) for k in range(200_000)])
        await free(connection)
        [(count,)] = await _read_all(connection, "SELECT count(*) FROM t")
        assert count < 200_000  # type: ignore[operator]

    run(steps)


def test_cancel_by_another_task_is_an_operational_error() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()

        async def statement() -> None:
            await (await cursor.execute(LONG)).fetchall()

        task = asyncio.create_task(statement())
        await asyncio.sleep(0.05)
        cursor.cancel()
        with pytest.raises(OperationalError, match="cancelled"):
            await task
        assert await (await cursor.execute("SELECT 2")).fetchone() == (2,)

    run(steps)


def test_a_cancelled_iteration_frees_its_rows() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = await connection.execute("SELECT id FROM range(50000000)")

        async def read() -> None:
            async for _ in cursor:
                await asyncio.sleep(0)

        task = asyncio.create_task(read())
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cursor.close()
        await free(connection)

    run(steps)


# ---- sharing, closing, loops


def test_a_cursor_serves_one_task() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()
        first = asyncio.create_task(cursor.execute(LONG))
        await asyncio.sleep(0.02)
        if not first.done():
            with pytest.raises(InterfaceError, match="another task uses the cursor"):
                await cursor.execute("SELECT 1")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    run(steps)


def test_closing_a_connection_ends_what_runs() -> None:
    async def main() -> None:
        connection = await connect(workers=2)
        task = asyncio.ensure_future(_read_all(connection, LONG))
        await asyncio.sleep(0.05)
        await connection.close()
        with pytest.raises((InterfaceError, OperationalError)):
            await task
        await connection.close()
        assert connection.closed
        with pytest.raises(InterfaceError, match="closed"):
            await connection.execute("SELECT 1")
        with pytest.raises(InterfaceError, match="closed"):
            async with connection:
                pass

    asyncio.run(main())


def test_a_task_cancelled_while_it_closes_closes_and_is_cancelled() -> None:
    async def main() -> None:
        connection = await connect(workers=1)
        let_go, began = threading.Event(), asyncio.Event()
        close, loop = connection._blocking.close, asyncio.get_running_loop()

        def close_later() -> None:
            loop.call_soon_threadsafe(began.set)
            let_go.wait(30)
            close()

        connection._blocking.close = close_later  # type: ignore[method-assign]
        task = asyncio.create_task(connection.close())
        await began.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.closed

    asyncio.run(main())


def test_closing_a_cursor_ends_the_statement_of_another_task() -> None:
    async def steps(connection: AsyncConnection) -> None:
        cursor = connection.cursor()
        task = asyncio.ensure_future(_fetch_all(cursor, LONG))
        await asyncio.sleep(0.05)
        await cursor.close()
        with pytest.raises((InterfaceError, OperationalError)):
            await task
        await free(connection)

    run(steps)


def test_several_loops_use_one_connection() -> None:
    connection = AsyncConnection(sqlfront.connect(workers=1))
    results: list[object] = []

    def loop() -> None:
        results.append(asyncio.run(_read_all(connection, "SELECT 1")))

    threads = [threading.Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loop()
    asyncio.run(connection.close())
    assert results == [[(1,)]] * 4


def test_a_loop_that_ends_in_the_middle_leaves_nothing() -> None:
    connection = AsyncConnection(sqlfront.connect(workers=1))

    async def main() -> None:
        asyncio.ensure_future(_read_all(connection, LONG))  # noqa: RUF006 - asyncio.run() cancels the task
        await asyncio.sleep(0.05)

    asyncio.run(main())
    asyncio.run(free(connection))
    asyncio.run(connection.close())


def test_a_connection_that_can_not_be_opened_leaves_no_thread() -> None:
    async def main() -> None:
        with pytest.raises(ProgrammingError, match="no connection 'nowhere'"):
            await connect("nowhere")
        with pytest.raises(ProgrammingError, match="members must be"):
            async with connect("sqlfront:?members=0"):
                pass

    asyncio.run(main())
    assert [thread for thread in threading.enumerate() if thread.name.startswith("sqlfront-aio")] == []


def test_a_forgotten_connection_ends_its_threads() -> None:
    async def main() -> None:
        connection = await connect(workers=1)
        assert await _read_all(connection, "SELECT 1") == [(1,)]

    asyncio.run(main())
    gc.collect()
    deadline = time.monotonic() + 30
    while any(thread.name.startswith("sqlfront-aio") for thread in threading.enumerate()):
        assert time.monotonic() < deadline


async def _read_all(connection: AsyncConnection, query: str) -> list[tuple[object, ...]]:
    return await _fetch_all(connection.cursor(), query)


async def _fetch_all(cursor: AsyncCursor, query: str) -> list[tuple[object, ...]]:
    return await (await cursor.execute(query)).fetchall()
