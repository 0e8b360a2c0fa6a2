"""A light job from its coordinator's view: the participants, their answers, and the messages to them."""

import threading
from collections.abc import Callable, Mapping, Sequence

from sqlfront_cluster.members.messages import Completed, Init, Terminate
from sqlfront_cluster.members.participation import member_lost
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import OperationalError


class Coordination:
    """The Init messages of one job, and their answers. The coordinator's own part is ``execution``, whose end
    also waits for the answers of the participants ``others``. ``call`` has a worker call a function soon."""

    def __init__(
        self,
        execution: Execution,
        coordinator: str,
        others: Sequence[str],
        peers: Mapping[str, Peer],
        call: Callable[[Callable[[], None]], None],
    ) -> None:
        self.execution = execution
        self.participants = (coordinator, *others)
        execution.participants = self.participants
        self._peers = peers
        self._call = call
        self._lock = threading.Lock()
        # Participants without an answer to their Init.
        self._waiting = set(others)
        self._terminated = False
        execution.hold(len(others))
        execution.on_stop = self._terminate

    def begin(self, message: Init) -> None:
        """Send ``message`` to all other participants; a participant without a connection is lost."""
        for name in sorted(self._waiting):
            peer = self._peers.get(name)
            if peer is None:
                self.lost(name)
            else:
                peer.send(message)

    def completed(self, sender: str, message: Completed) -> None:
        """Take the answer of the participant ``sender``: keep its counters, and fail the job if the
        participant failed, or stopped without being told to. The job keeps its first error."""
        if not self._answered(sender):
            return
        self.execution.note(sender, message.tasklets)
        if message.error is not None:
            self.execution.fail(message.error.error())
        elif message.status is not JobStatus.COMPLETED and not self._terminated:
            self.execution.fail(OperationalError(f"member {sender} has stopped the query", sqlstate="57014"))
        self.execution.release()

    def lost(self, member: str) -> None:
        """Record the loss of a participant; the job fails if the participant had not answered."""
        if self._answered(member):
            self.execution.fail(member_lost(member))
            self.execution.release()

    def _answered(self, member: str) -> bool:
        with self._lock:
            if member not in self._waiting:
                return False
            self._waiting.discard(member)
            return True

    @property
    def over(self) -> bool:
        """Whether all participants have answered."""
        return not self._waiting

    @property
    def known(self) -> bool:
        """Whether the job still runs: the answer to its participants' CheckJobs."""
        return not self._terminated

    def _terminate(self) -> None:
        # A finalizer may stop the job at any point; sending takes locks, so a worker sends.
        self._terminated = True
        self._call(self._send_terminate)

    def _send_terminate(self) -> None:
        with self._lock:
            waiting = sorted(self._waiting)
        for name in waiting:
            peer = self._peers.get(name)
            if peer is not None:
                peer.send(Terminate(self.execution.id))
