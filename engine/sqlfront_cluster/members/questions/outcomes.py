"""The ends of jobs that other members coordinate: whoever has found a job asks its coordinator how it ends.

The coordinator answers when the job has ended. It keeps nothing of an ended job: a job that nobody has asked
about before its end is forgotten. Clients aren't connected with each other; a client's question about a job
of another client goes through a member, which asks on the client's behalf.
"""

import itertools
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Protocol

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import AskOutcome, Outcome
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.engine import Engine
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.execution import Execution
from sqlfront_values.errors import Error


class JobOutcome(msgspec.Struct, frozen=True):
    """The end of a job. ``status``: how the job has ended; None = the coordinator doesn't know the job, or
    can't be asked. ``error``: the job's error, None = it succeeded. ``cancelled_by``: who has cancelled the
    job's query (empty = its user), None = nobody has."""

    status: JobStatus | None
    error: Error | None = None
    cancelled_by: str | None = None


UNKNOWN_OUTCOME = JobOutcome(None)
Told = Callable[[JobOutcome], None]


class AskedOutcome:
    """The answer to a question for a job's end: ``outcome`` is None until ``arrived`` is set."""

    def __init__(self) -> None:
        self.outcome: JobOutcome | None = None
        self.arrived = Event()

    def tell(self, outcome: JobOutcome) -> None:
        """Take the answer."""
        self.outcome = outcome
        self.arrived.set()


class OutcomeMember(Protocol):
    """The attributes of a member that :class:`Outcomes` needs."""

    name: str
    engine: Engine
    members: MemberList
    peers: dict[str, Peer]


class Outcomes:
    """The questions of ``member`` for the ends of jobs, and its answers to those of others."""

    def __init__(self, member: OutcomeMember) -> None:
        self._member = member
        self._numbers = itertools.count(1)
        # The member that was asked, and the function that takes the answer; changed by single operations.
        self._open: dict[int, tuple[str, Told]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def ask(self, query: int, coordinator: str) -> AskedOutcome:
        """Ask the member ``coordinator`` how the running job of the query with the id ``query`` ends, through
        another member if there is no connection to the coordinator. The answer comes when the job has
        ended; it may get lost."""
        asked = AskedOutcome()
        self._ask(query, coordinator, asked.tell, self._way_to(coordinator))
        return asked

    def _way_to(self, coordinator: str) -> Peer | None:
        peers = self._member.peers
        between = (peers.get(name) for name in self._member.members.data_members)
        return peers.get(coordinator) or next((peer for peer in between if peer is not None), None)

    def _ask(self, query: int, coordinator: str, told: Told, peer: Peer | None) -> None:
        if peer is None:
            told(UNKNOWN_OUTCOME)
            return
        number = next(self._numbers)
        self._open[number] = peer.name, told
        peer.send(AskOutcome(number, query, coordinator))
        if self._member.peers.get(peer.name) is not peer:  # lost in this moment
            self.lost(peer.name)

    def asked(self, peer: Peer, message: AskOutcome) -> None:
        """Answer the question of ``peer`` when the job has ended."""

        def told(outcome: JobOutcome) -> None:
            error = None if outcome.error is None else codec.ErrorData.of(outcome.error)
            peer.send(Outcome(message.request, outcome.status, error, outcome.cancelled_by))

        if message.coordinator != self._member.name:
            # No further than one member: the members are connected with all.
            self._ask(message.query, message.coordinator, told, self._member.peers.get(message.coordinator))
            return
        runs = [each for each in self._member.engine.executions() if each.query.id == message.query]
        if not runs:
            told(UNKNOWN_OUTCOME)
            return
        # The end may come in a finalizer, which must not send.
        runs[-1].when_ended(lambda run: self._member.engine.call(partial(told, outcome_of(run))))

    def answered(self, sender: str, message: Outcome) -> None:
        """Handle the answer of the member ``sender``; does nothing if it was not asked."""
        asked, told = self._open.get(message.request, ("", None))
        if asked == sender and told is not None and self._open.pop(message.request, None) is not None:
            error = None if message.error is None else message.error.error()
            told(JobOutcome(message.status, error, message.cancelled_by))

    def lost(self, member: str) -> None:
        """Handle the loss of a member: no question waits for its answer any more."""
        for number, (asked, told) in self._open.copy().items():
            if asked == member and self._open.pop(number, None) is not None:
                told(UNKNOWN_OUTCOME)


def outcome_of(execution: Execution) -> JobOutcome:
    """Return the end of a run that has ended."""
    by = execution.query.cancelled_by if execution.query.cancelled else None
    return JobOutcome(execution.status, execution.failure(), by)
