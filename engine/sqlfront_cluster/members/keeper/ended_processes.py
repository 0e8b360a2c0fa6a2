"""The keeper's watch for processes on its machine that have ended."""

from collections.abc import Callable, Container
from functools import partial
from typing import Final

from sqlfront_cluster.network.peer_process import PeerProcess
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.scheduler import Clock

#: Seconds between two looks at the process of a lost connection. A process that is killed loses its
#: connections a little before its last thread has ended.
PERIOD: Final = 0.02
#: Seconds until the end of a process is told again, to a keeper that couldn't act on it.
TOLD_AGAIN: Final = 0.2


class EndedProcesses:
    """The processes of connected members and clients, as far as the system tells when they end. From the loss
    of a connection on, until the member is connected again or :meth:`forget` is called, it looks whether the
    process has ended.

    ``ended``: called with the name of a member whose process has ended; returns False if it is to be told
    again. ``clock``: the time. No method takes a lock: the keeper calls under its lock those that are not
    called by the clock."""

    def __init__(self, clock: Clock, ended: Callable[[str], bool]) -> None:
        self._clock, self._ended = clock, ended
        self._processes: dict[str, PeerProcess] = {}
        # Members without a connection.
        self._lost: set[str] = set()
        self._closed = False

    def met(self, peer: Peer) -> None:
        """Record a new connection; to be called in the receiver's ``connected``."""
        self.forget(peer.name)
        process = None if self._closed else peer.process()
        if process is not None:
            self._processes[peer.name] = process

    def lost(self, peer: Peer) -> None:
        """Record the loss of a connection."""
        if peer.name in self._processes:
            self._lost.add(peer.name)
            self._look_later(peer.name, self._processes[peer.name])

    def forget(self, name: str) -> None:
        """Forget the member ``name``, or its former connection."""
        self._processes.pop(name, None)
        self._lost.discard(name)

    def keep_only(self, names: Container[str]) -> None:
        """Forget all members but ``names``."""
        for name in [name for name in self._processes if name not in names]:
            self.forget(name)

    def close(self) -> None:
        """Forget all members, and those that connect later."""
        self._closed = True
        self.keep_only(())

    def _look_later(self, name: str, process: PeerProcess, seconds: float = PERIOD) -> None:
        self._clock.call_at(self._clock.now() + seconds, partial(self._look, name, process))

    def _look(self, name: str, process: PeerProcess) -> None:
        if name not in self._lost or self._processes.get(name) is not process:
            return
        if not process.ended:
            self._look_later(name, process)
        elif not self._ended(name):
            self._look_later(name, process, TOLD_AGAIN)
