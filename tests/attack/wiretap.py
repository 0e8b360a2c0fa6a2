"""A proxy between two members or a client and its cluster: it records what goes through, and may alter it."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

#: Replaces bytes on their way; called with each piece as it arrives.
Alter = Callable[[bytes], bytes]


def unaltered(data: bytes) -> bytes:
    """The bytes as they are."""
    return data


class Wiretap:
    """Forwards connections made to :attr:`address` to the TCP address ``target``.

    ``sent`` and ``answered`` hold, for each connection in the order of their beginnings, all bytes of the
    connecting side and of the other one.
    """

    def __init__(self, target: str, alter: Alter = unaltered, alter_answers: Alter = unaltered) -> None:
        self.sent: list[bytearray] = []
        self.answered: list[bytearray] = []
        self._target = target
        self._alter, self._alter_answers = alter, alter_answers
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._run(self._take)

    @property
    def bytes(self) -> bytes:
        """All that went through, in either direction."""
        return b"".join([*self.sent, *self.answered])

    def _run(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name="wiretap", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self) -> None:
        host, _, port = self._target.rpartition(":")
        with suppress(OSError):  # the listener is closed
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection((host, int(port)), 5)
                far.settimeout(None)
                self._sockets += [near, far]
                self.sent.append(bytearray())
                self.answered.append(bytearray())
                there, back = self.sent[-1], self.answered[-1]
                self._run(lambda: _forward(near, far, there, self._alter))  # noqa: B023 - begins at once
                self._run(lambda: _forward(far, near, back, self._alter_answers))  # noqa: B023

    def close(self) -> None:
        """End all that goes through."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in self._sockets:
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _forward(source: socket.socket, target: socket.socket, record: bytearray, alter: Alter) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            record += piece
            target.sendall(alter(piece))
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
