"""Lookups that the event loop runs itself: which ones, how many in a pass, and what is left to threads."""

import asyncio
import gc
import itertools
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.aio import AsyncConnection, connect, lookups
from sqlfront.aio.turns import LOOKUPS, Turns
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import Error, ProgrammingError
from tests.sqlfront.aio.waiting import until

BY_KEY = "SELECT v FROM t WHERE k = ?"


def run(steps: Callable[[AsyncConnection], Awaitable[object]], members: int = 1) -> None:
    """Run the steps with a connection that has the table ``t`` of a thousand keys; ``w`` holds each of ten
    keys two thousand times."""

    async def main() -> None:
        async with connect(members=members) as connection:
            await connection.execute(
                "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, concat('v', id) AS v"
                " FROM range(1000)"
            )
            await connection.execute(
                "CREATE TABLE w USING memory CLUSTERED BY (k) AS SELECT id % 10 AS k, id AS v"
                " FROM range(20000)"
            )
            await steps(connection)

    asyncio.run(main())


@contextmanager
def hops_of(connection: AsyncConnection) -> Iterator[list[object]]:
    """The calls that go to threads within the context."""
    threads, calls = connection._threads, list[object]()
    plain = threads.run

    def counted(call: Callable[[], Any], *others: Any) -> Awaitable[Any]:
        calls.append(call)
        return plain(call, *others)

    threads.run = counted  # type: ignore[method-assign,assignment]
    try:
        yield calls
    finally:
        del threads.run


async def rows_of(connection: AsyncConnection, *statement: Any) -> list[tuple[object, ...]]:
    """The rows of a statement."""
    return await (await connection.execute(*statement)).fetchall()


async def hops(connection: AsyncConnection, *statement: Any) -> int:
    """The hops to threads that a statement and the reading of its rows take."""
    with hops_of(connection) as calls:
        await rows_of(connection, *statement)
    return len(calls)


# ---- which statements


def test_a_lookup_that_a_thread_has_read_by_its_plan_takes_no_hop() -> None:
    async def steps(connection: AsyncConnection) -> None:
        assert [await hops(connection, BY_KEY, [k]) for k in range(4)] == [1, 1, 0, 0]
        assert [await hops(connection, f"SELECT k FROM t WHERE k = {k}") for k in range(4)] == [1, 1, 0, 0]
        prepared = connection.prepare("SELECT k, v FROM t WHERE k = :k")
        assert [await hops(connection, prepared, {"k": k}) for k in range(4)] == [1, 1, 0, 0]
        assert await rows_of(connection, BY_KEY, [7]) == [("v7",)]
        assert await rows_of(connection, prepared, {"k": 8}) == [(8, "v8")]

    run(steps)


def test_a_new_version_is_read_by_a_thread_first() -> None:
    async def steps(connection: AsyncConnection) -> None:
        for k in range(3):
            await hops(connection, BY_KEY, [k])
        await connection.execute("INSERT INTO t VALUES (1, 'new')")
        assert [await hops(connection, BY_KEY, [1]) for _ in range(2)] == [1, 0]
        assert sorted(await rows_of(connection, BY_KEY, [1])) == [("new",), ("v1",)]

    run(steps)


def test_a_changed_name_or_setting_is_seen() -> None:
    async def steps(connection: AsyncConnection) -> None:
        for k in range(3):
            await hops(connection, BY_KEY, [k])
        await connection.register("t", pa.table({"k": [1], "v": ["view"]}))
        assert await rows_of(connection, BY_KEY, [1]) == [("view",)]
        await connection.unregister("t")
        assert await rows_of(connection, BY_KEY, [1]) == [("v1",)]
        await connection.execute("DROP TABLE t")
        with pytest.raises(ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
            await connection.execute(BY_KEY, [1])

    run(steps)


def test_too_many_rows_of_a_key_are_for_a_job() -> None:
    """The plan serves few keys; for many of them the statement goes to a thread, and its answer is right."""

    async def steps(connection: AsyncConnection) -> None:
        query = "SELECT count(*) FROM w WHERE k IN (?, ?, ?, ?, ?, ?, ?)"
        few, many = [1, 11, 11, 11, 11, 11, 11], [1, 2, 3, 4, 5, 6, 7]
        for _ in range(3):
            assert await rows_of(connection, query, few) == [(2000,)]
        assert await rows_of(connection, query, many) == [(14_000,)]

    run(steps)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT sum(v) FROM w WHERE v > ?", [3]),
        ("SELECT length(repeat('x', ?))", [3]),
        ("SELECT v FROM t WHERE k = length(repeat('x', ?))", [3]),
        ("SELECT v FROM t WHERE v = ?", ["v1"]),
        ("SELECT v FROM t WHERE k IN (SELECT k FROM w WHERE v = ?)", [3]),
        ("SELECT count(*) FROM sys.members WHERE name = ?", ["a"]),
        (BY_KEY + " OR v = ?", [1, "x" * 5000]),
    ],
)
def test_other_statements_take_a_hop(query: str, values: list[object]) -> None:
    async def steps(connection: AsyncConnection) -> None:
        assert all([await hops(connection, query, values) for _ in range(4)])

    run(steps)


def test_lookups_on_other_members_take_a_hop() -> None:
    async def steps(connection: AsyncConnection) -> None:
        assert [await hops(connection, BY_KEY, [k]) for k in range(4)] == [1, 1, 1, 1]

    run(steps, members=2)


def test_errors_are_those_of_a_thread() -> None:
    async def steps(connection: AsyncConnection) -> None:
        for k in range(3):
            await hops(connection, BY_KEY, [k])
        plain = connection.session
        for values in ([], [1, 2], [object()], ["x"], {"k": 1}):
            with pytest.raises(Error) as expected:
                sqlfront.connection.Connection(plain).execute(BY_KEY, values).fetchall()
            with pytest.raises(type(expected.value)) as found:
                await rows_of(connection, BY_KEY, values)
            assert str(found.value) == str(expected.value)
        assert await rows_of(connection, BY_KEY, [1]) == [("v1",)]

    run(steps)


def test_a_plan_whose_lookups_take_long_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(connection: AsyncConnection) -> None:
        monkeypatch.setattr(lookups, "RESTS", 5)
        for k in range(2):
            await hops(connection, BY_KEY, [k])
        monkeypatch.setattr(lookups, "MOST_SECONDS", 0.0)
        assert [await hops(connection, BY_KEY, [k]) for k in range(3)] == [0, 0, 0]
        monkeypatch.setattr(lookups, "MOST_SECONDS", 60.0)
        assert [await hops(connection, BY_KEY, [k]) for k in range(8)] == [1, 1, 1, 1, 1, 1, 0, 0]

    run(steps)


def test_a_dropped_table_is_not_kept() -> None:
    async def steps(connection: AsyncConnection) -> None:
        for k in range(3):
            await hops(connection, BY_KEY, [k])
        entry = connection.session.context.catalog.lookup(("t",))
        assert isinstance(entry, TableEntry)
        table = weakref.ref(entry.table)
        del entry
        await connection.execute("DROP TABLE t")

        def is_gone() -> bool:
            gc.collect()
            return table() is None

        await until(is_gone)  # a thread lets go of its last call some time after the answer

    run(steps)


# ---- turns


def test_no_pass_of_the_loop_runs_more_than_its_lookups() -> None:
    """A heartbeat of every pass counts the lookups between two beats."""

    async def steps(connection: AsyncConnection) -> None:
        for k in range(3):
            await hops(connection, BY_KEY, [k])
        done, beats = 0, list[int]()

        async def ask(place: int) -> None:
            nonlocal done
            cursor = connection.cursor()
            for k in range(10):
                await cursor.execute(BY_KEY, [place + k])
                done += 1

        async def heart() -> None:
            while True:
                beats.append(done)
                await asyncio.sleep(0)

        beating = asyncio.create_task(heart())
        await asyncio.gather(*map(ask, range(100)))
        beating.cancel()
        assert done == 1000
        assert max(after - before for before, after in itertools.pairwise(beats)) <= 2 * LOOKUPS

    run(steps)


def test_a_greedy_task_leaves_turns_to_others() -> None:
    async def main() -> None:
        loop, turns = asyncio.get_running_loop(), Turns()
        order: list[str] = []

        async def ask(name: str, count: int) -> None:
            for _ in range(count):
                if not turns.take(loop):
                    await turns.wait(loop)
                order.append(name)

        await asyncio.gather(ask("greedy", 20 * LOOKUPS), ask("late", 3))
        assert order.index("late") < 2 * LOOKUPS
        assert order.count("late") == 3
        assert max(place for place, name in enumerate(order) if name == "late") < 8 * LOOKUPS

    asyncio.run(main())


def test_a_task_cancelled_while_it_waits_for_a_turn_leaves_the_turn_to_others() -> None:
    async def main() -> None:
        loop, turns = asyncio.get_running_loop(), Turns()
        while turns.take(loop):
            pass
        waiting = [asyncio.ensure_future(turns.wait(loop)) for _ in range(3 * LOOKUPS)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in ended[1::2]] == [type(None)] * len(ended[1::2])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert turns.take(loop)

    asyncio.run(main())
