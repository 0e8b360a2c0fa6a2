"""sqlfront for asyncio: connections and cursors whose methods are coroutines.

In: statements of tasks, as for PEP 249, with psycopg's names. Out: rows, batches and data frames. Statements
run on threads of the connection, so that the event loop never waits for a statement; only lookups that take
microseconds run on the loop. Cancelling a task cancels the task's query. Tasks may share a connection; a
cursor serves one task at a time.

    async with sqlfront.aio.connect() as connection:
        cursor = await connection.execute("SELECT id FROM range(3)")
        async for row in cursor:
            ...

Reading order: ``threads`` (calls on threads, and their cancellation), ``lookups`` (the lookups that an event
loop runs itself), ``turns`` (how many lookups run in one pass of the loop), ``connection`` (connections and
cursors), ``opening`` (``connect``).
"""

from sqlfront.aio.connection import AsyncConnection, AsyncCursor
from sqlfront.aio.opening import Opening, connect

__all__ = ["AsyncConnection", "AsyncCursor", "Opening", "connect"]
