"""A limit on the lookups that an event loop runs itself in each pass of the loop, with a queue for the tasks
that exceed the limit."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

#: Lookups in each pass of an event loop: together about a millisecond, for which all other tasks wait.
LOOKUPS: Final = 32


class Turns:
    """The permissions (turns) to run a lookup on one event loop: :data:`LOOKUPS` in each pass of the loop. If
    none is left, tasks wait in a queue, so that no task waits for more than one lookup of each other task."""

    def __init__(self) -> None:
        self._left = LOOKUPS
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_renewed = True

    def take(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Take a turn, the permission to run one lookup in this pass of the loop. Return False if none is
        left, or if other tasks wait: the caller then has to :meth:`wait`."""
        self._begin(loop)
        if not self._left or self._waiting:
            return False
        self._left -= 1
        return True

    async def wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in the queue for a turn, the permission to run one lookup, in a later pass of the loop, and
        take it."""
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
        """Schedule :meth:`_renew` for the next pass of the loop, unless it is scheduled."""
        if self._is_renewed:
            self._is_renewed = False
            loop.call_soon(self._renew, loop)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        """Restore the number of turns for a pass of the loop, and give turns to the waiting tasks first."""
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
    """Return the turns (permissions to run a lookup) of an event loop; all connections share them."""
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns.setdefault(loop, Turns())
    return turns
