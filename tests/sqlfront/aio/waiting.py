"""What tests of tasks wait for: a long query to cancel, and a connection on which nothing runs any more."""

import asyncio
import time
from collections.abc import Callable

from sqlfront.aio import AsyncConnection


def long_query(number: int) -> str:
    """A query that runs for minutes."""
    return (
        f"SELECT count(*) + {number} FROM range(3000000) AS a JOIN range(3000000) AS b ON a.id % 7 = b.id % 5"
    )


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        await asyncio.sleep(0.005)


async def free(connection: AsyncConnection) -> None:
    """Wait until no query of the connection runs, on any member, and none holds memory."""
    session = connection.session
    deadline = time.monotonic() + 60
    while session.execute("SELECT count(*) FROM sys.light_jobs").collect()[0][0]:
        assert time.monotonic() < deadline, "a query runs still"
        await asyncio.sleep(0.005)
    await until(lambda: session.engine.memory.used <= session.engine.tables.used)
