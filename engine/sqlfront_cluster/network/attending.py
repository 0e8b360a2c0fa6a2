"""Who waits for an answer reads the connection itself, instead of the thread that usually does.

An answer that the reading thread takes from the socket changes threads once more before it is where it is
waited for: 13 to 35 us, and more when the interpreter is busy. So a connection can be *attended*: somebody
who is about to wait closes its gate, which keeps the reading thread asleep, handles whatever arrives as that
thread would, and opens the gate again when what it waited for has come.

The gate is an epoll object, on which the reading thread waits in place of the socket once somebody has wanted
to attend; where there is none (it is Linux's), nobody attends, and everything is as without this module.
"""

import select
import socket
from collections.abc import Callable, Sequence
from typing import Final, Protocol

#: Milliseconds after which who attends looks whether it still has to.
_LOOK: Final = 50
_IN: Final = getattr(select, "EPOLLIN", 0)
_OUT: Final = getattr(select, "EPOLLOUT", 0)


class Gate:
    """Where a connection's reading thread waits for bytes, and isn't woken by them while it is closed."""

    __slots__ = ("_descriptor", "_epoll")

    possible: Final = hasattr(select, "epoll")

    def __init__(self, connection: socket.socket) -> None:
        self._epoll = select.epoll()
        self._descriptor = connection.fileno()
        self._epoll.register(self._descriptor, _IN)

    def wait(self) -> None:
        """Return when there are bytes and the gate is open, or anyway when the connection has ended."""
        self._epoll.poll(None, 1)

    def close(self) -> None:
        """Let the reading thread sleep."""
        self._epoll.modify(self._descriptor, 0)

    def open(self) -> None:
        """Let it go on as usual."""
        self._epoll.modify(self._descriptor, _IN)

    def wake(self) -> None:
        """Let it go on at once (a connection can always, or soon, be written)."""
        self._epoll.modify(self._descriptor, _IN | _OUT)

    def release(self) -> None:
        """Give the descriptor back."""
        self._epoll.close()


class Attended(Protocol):
    """A connection that can be attended."""

    def begin(self) -> bool:
        """Keep the reading thread away; False if that can't be done now."""

    @property
    def descriptor(self) -> int:
        """What to poll; for who attends, as the following."""

    def handle(self) -> bool:
        """Hand on all that has arrived, when there is something; False if the connection has ended."""

    def end(self) -> None:
        """Let the reading thread go on. Without effect unless this thread has begun."""


def attend(
    connections: Sequence[Attended], done: Callable[[], bool], send: Callable[[], None] = lambda: None
) -> bool:
    """Handle what arrives over the connections, on this thread, until ``done()``, which is asked after each
    message and now and then. False: they can't be attended (any more), so somebody else has to bring what is
    waited for. ``send`` is called in either case, before anything is waited for; an answer to what it sends
    is not taken by another thread first.

    An interrupt while nothing arrives changes nothing; one in the midst of handling a message ends that
    connection.
    """
    try:
        if not all(connection.begin() for connection in connections):
            _end(connections)
            send()
            return False
        send()
        poll = select.poll()
        by_descriptor = {}
        for connection in connections:
            by_descriptor[connection.descriptor] = connection
            poll.register(connection.descriptor, select.POLLIN)
        while not done():
            for descriptor, _ in poll.poll(_LOOK):
                if not by_descriptor[descriptor].handle():
                    return done()
        return True
    finally:
        try:
            _end(connections)
        except BaseException:  # an interrupt even here must not keep the reading threads away
            _end(connections)
            raise


def _end(connections: Sequence[Attended]) -> None:
    for connection in connections:
        connection.end()
