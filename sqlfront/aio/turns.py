"""The turns of lookups that an event loop runs itself: so many in each pass of the loop, and in order."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

#: Lookups in each pass of an event loop: together about a millisecond, for which all other tasks wait.
LOOKUPS: Final = 32


class Turns:
    """The turns of one event loop. Tasks that find no turn left wait in order, so that none of them waits for
    more than the others' next lookups."""

    def __init__(self) -> None:
        self._left = LOOKUPS
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_renewed = True

    def take(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Take a turn in this pass of the loop; return whether there was one left."""
        self._begin(loop)
        if not self._left or self._waiting:
            return False
        self._left -= 1
        return True

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for a turn after :meth:`take` found none."""
        self._begin(loop)
        turn = loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            with suppress(ValueError):  # the turn had come
                self._waiting.remove(turn)
            raise

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """See to it that the next pass of the loop has turns anew."""
        if self._is_renewed:
            self._is_renewed = False
            loop.call_soon(self._renew, loop)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin a pass of the loop: first the tasks that wait have turns."""
        self._left, waiting = LOOKUPS, self._waiting
        while waiting and self._left:
            turn = waiting.popleft()
            if not turn.done():  # else its task is being cancelled
                turn.set_result(None)
                self._left -= 1
        self._is_renewed = not waiting and self._left == LOOKUPS
        if not self._is_renewed:
            loop.call_soon(self._renew, loop)


#: The turns of the running event loops.
_turns: "Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]]" = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """The turns of an event loop, which all connections share."""
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns.setdefault(loop, Turns())
    return turns
