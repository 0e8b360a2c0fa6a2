"""The running of inline jobs: jobs so small that the threads run them that bring their messages."""

from collections.abc import Callable
from functools import partial
from typing import Final

from sqlfront_cluster.members.jobs.participation import Participation
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.engine import Engine
from sqlfront_values import room

#: Seconds between two checks for a peer's messages while the peer's thread runs a step: a message waits so
#: long at most, and each check costs a system call.
LISTENING_PERIOD: Final = 0.05


class InlinePump:
    """The running of the parts of inline jobs on one member. ``on_lost``: called with a peer whose connection
    is found broken while its thread runs a part."""

    def __init__(self, engine: Engine, on_lost: Callable[[Peer], None]) -> None:
        self._engine = engine
        self._clock = engine.clock
        self._on_lost = on_lost

    def pump(self, participation: Participation, peer: Peer) -> None:
        """Run the part of an inline job a little further; a large job is left to a worker thread. Does
        nothing if the job isn't inline, or if this member coordinates it, since then the reader of the result
        runs it. In long steps, messages of ``peer`` are handled, too, such as the refusal of further data."""
        if not participation.inline or participation.is_read_here:
            return
        # Hand over to a worker: this thread is in another step, or has done its share.
        if room.meanwhile() is not None or not self._pump_listening(participation, peer):
            self._engine.call(partial(self._pump_on_worker, participation))

    def _pump_listening(self, participation: Participation, peer: Peer) -> bool:
        """Run the part of an inline job on the thread that reads from ``peer``, and handle the peer's
        messages from time to time. The result is that of
        :meth:`~sqlfront_engine.jobs.execution.Execution.pump`."""
        due = self._clock.now() + LISTENING_PERIOD

        def listen() -> None:
            nonlocal due
            if self._clock.now() >= due:
                if not peer.listen():
                    self._on_lost(peer)
                due = self._clock.now() + LISTENING_PERIOD

        room.set_meanwhile(listen)
        try:
            return _pump(participation)
        finally:
            room.set_meanwhile(None)

    def _pump_on_worker(self, participation: Participation) -> None:
        """Run the part of an inline job for a limited time on a worker thread; if the part isn't done then,
        queue the rest, so that other jobs are served between."""
        if not _pump(participation):
            self._engine.call(partial(self._pump_on_worker, participation))


def _pump(participation: Participation) -> bool:
    """Run the part of an inline job for a limited time, and send what it has held back for its end if it has
    not ended. The result is that of :meth:`~sqlfront_engine.jobs.execution.Execution.pump`."""
    done = participation.execution.pump()
    participation.flush()
    return done
