"""A light job as its coordinator sees it: the participants, their answers, and the messages to them."""

import threading
from collections.abc import Callable, Container, Mapping, Sequence

from msgspec.structs import replace

from sqlfront_cluster.members.protocol.member_list import member_left, member_lost
from sqlfront_cluster.members.protocol.messages import Completed, Init, Terminate
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import OperationalError


class Coordination:
    """The coordinator's record of one job on several members: which participants have answered.
    ``execution``: the coordinator's own part of the job; it ends only when the participants ``others`` have
    answered, too. ``coordinator``: this member's name. ``peers``: the connections to members by name.
    ``call``: a function that takes another function, and lets a worker thread call it soon. ``clients``:
    the names of the clients that have submitted the job: one, or none if the coordinator itself has."""

    def __init__(
        self,
        execution: Execution,
        coordinator: str,
        others: Sequence[str],
        peers: Mapping[str, Peer],
        call: Callable[[Callable[[], None]], None],
        clients: Container[str] = (),
    ) -> None:
        self.execution = execution
        self._clients = clients
        self.participants = (coordinator, *others)
        execution.participants = self.participants
        self._peers = peers
        self._call = call
        self._lock = threading.Lock()
        # Participants without an answer to their Init.
        self._waiting = set(others)
        self._terminated = False
        self._init: Init | None = None
        self._looked_at = False
        execution.hold(len(others))
        execution.on_stop = self._terminate

    def begin(self, message: Init) -> None:
        """Send ``message`` to all participants except the coordinator; a participant without a connection
        counts as lost."""
        self._init = message
        for name in sorted(self._waiting):
            peer = self._peers.get(name)
            if peer is None:
                self.lost(name)
            else:
                peer.send(message)

    def completed(self, sender: str, message: Completed) -> None:
        """Handle the last message of the participant ``sender``: record the counters of its tasklets, and
        fail the job if the participant failed, or stopped although the coordinator had not ended the job. The
        job keeps its first error."""
        if not self._answered(sender):
            return
        self.execution.note(sender, message.tasklets)
        if message.error is not None:
            self.execution.fail(message.error.error())
        elif message.status is not JobStatus.COMPLETED and not self._terminated:
            self.execution.fail(OperationalError(f"member {sender} has stopped the query", sqlstate="57014"))
        self.execution.release()

    def lost(self, member: str, *, leaving: bool = False) -> None:
        """Handle the loss of a member, or the end of a ``leaving`` one: if it is a participant that had not
        answered, the job fails, unless the coordinator has ended the job before; if it is the job's client,
        the job is cancelled."""
        if member in self._clients:
            self.execution.stop(JobStatus.CANCELLED)
        if self._answered(member):
            if self.known:
                self.execution.fail(member_left(member) if leaving else member_lost(member))
            self.execution.release()

    def overdue(self) -> Sequence[str]:
        """Return the participants that have not answered, for the checker; none at the first call, when the
        job may have begun just now."""
        looked_at, self._looked_at = self._looked_at, True
        with self._lock:
            return sorted(self._waiting) if looked_at else ()

    def never_begun(self, peer: Peer) -> None:
        """Handle that the participant ``peer`` knows nothing of the job, whose Init may have been lost: send
        it again if it was sent, or wait no longer for the participant if the job was stopped."""
        if self._terminated:
            if self._answered(peer.name):
                self.execution.release()
        elif self._init is not None:
            peer.send(replace(self._init, again=True))

    def _answered(self, member: str) -> bool:
        with self._lock:
            if member not in self._waiting:
                return False
            self._waiting.discard(member)
            return True

    @property
    def over(self) -> bool:
        """True if all participants have answered."""
        return not self._waiting

    @property
    def known(self) -> bool:
        """True until the coordinator has ended the job; the answer to participants that ask whether the job
        still runs (CheckJobs)."""
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
