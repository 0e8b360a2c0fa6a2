"""A member of the cluster: takes part in light jobs, and coordinates the jobs submitted to it.

All code here reacts to a message, a timer or the submission of a job, and never waits. Messages of one peer
are handled in sequence, messages of different peers concurrently.

Possible races between messages, and their outcome:

* Data (or an InputClosed) that arrives before its job's Init is stored, and delivered when the Init arrives.
  It is dropped after ``NEVER_INITIALISED`` seconds without an Init, and after the loss of the sender.
* A message that arrives after the job's end here is recognised for ``ENDED_MEMORY`` seconds by the job's id;
  a later message counts as data before the Init. A successfully ended job gets no more data, since it ends
  only after all its streams. The job may still get an InputClosed for data sent by this member.
* A job may begin here after its coordinator has ended it (the Terminate overtook the Init, or got lost). The
  checker (:mod:`sqlfront_cluster.members.jobs.checker`) finds such jobs, and all other messages that got
  lost.

A member consists of ``job_coordinator`` (the jobs submitted to it) and ``job_participant`` (the parts of jobs
that run on it), both over one ``job_table``; ``inline_pump``, ``checker``, ``job_timers``; ``submissions``
and ``client_jobs`` (jobs of clients without a place in the member list); ``listing`` and ``requests``.
"""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from sqlfront_cluster.members.jobs.checker import JobChecker
from sqlfront_cluster.members.jobs.client_jobs import ClientJobs
from sqlfront_cluster.members.jobs.inline_pump import InlinePump
from sqlfront_cluster.members.jobs.job_coordinator import JobCoordinator
from sqlfront_cluster.members.jobs.job_participant import JobParticipant
from sqlfront_cluster.members.jobs.job_table import JobTable
from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.jobs.participation import PartEnded
from sqlfront_cluster.members.jobs.submissions import Submissions
from sqlfront_cluster.members.member_statistics import MemberStatistics
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import (
    Acknowledge,
    Answer,
    AskOutcome,
    CancelQuery,
    CheckJobs,
    CheckParts,
    CheckRequests,
    CheckStreams,
    Completed,
    Data,
    Ended,
    Init,
    InputClosed,
    JobList,
    ListJobs,
    Outcome,
    Request,
    RequestsHandled,
    StreamsSent,
    Submit,
    Terminate,
    UnknownJobs,
    UnknownParts,
)
from sqlfront_cluster.members.questions.listing import LISTING_TIMEOUT, JobListing, Listings
from sqlfront_cluster.members.questions.outcomes import Outcomes
from sqlfront_cluster.members.questions.requests import Requests
from sqlfront_cluster.network.transport import Body, Peer, Transport
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatus, JobSummary
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_values.errors import Error
from sqlfront_values.settings import EMBEDDED

#: Bits of the random number from which each member counts its job ids: all members make ids, and two members'
#: ids must not meet. An int64 then has room for counting.
JOB_ID_BITS: Final = 62

logger = logging.getLogger(__name__)

#: Hears of the begin of a job's part: the job's trace context, its id and its coordinator; returns the
#: function that hears of the end.
WatchPart = Callable[[str, int, str], PartEnded]


class Member:
    """A member of a cluster: it takes part in light jobs, and coordinates the jobs submitted to it.

    ``resources``: objects by the keys under which processors of jobs on this member find them, such as the
    store of its shares of tables; a resource that is a service also answers the other members' requests.
    ``members``: the member list with which the member begins.
    """

    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        members: MemberList,
        resources: Mapping[str, object] = NO_RESOURCES,
    ) -> None:
        self.engine = engine
        self.name, self.by_reference = transport.name, transport.by_reference
        self.members = members
        self.peers: dict[str, Peer] = {}
        #: Called before each job; raises if no job may begin here now.
        self.check_usable: Callable[[], None] = _always_usable
        #: Called as a part of a job with a trace context begins here for another member; None = nobody
        #: watches.
        self.watch_part: WatchPart | None = None
        #: Whether this is a client without a place in the member list, which submits its jobs to members.
        self.observes = False
        #: The names of the clients without a place in the member list.
        self.clients: frozenset[str] = frozenset()
        self._transport = transport
        clock = engine.clock
        jobs = self._jobs = JobTable(clock)
        # The table's fields, which never change.
        self._lock = jobs.lock
        self._participations, self._coordinations = jobs.participations, jobs.coordinations
        pump = InlinePump(engine, self._lose).pump
        self._checker = JobChecker(self.name, jobs, self.peers, clock, pump, self._unknown_submission)
        timers = JobTimers(jobs, clock, self._checker.check)
        self._participant = JobParticipant(self, jobs, timers, pump, transport, resources)
        # Found once: each batch comes this way.
        self._hear = self._participant.hear
        self._coordinator = JobCoordinator(self, jobs, self._participant, timers, pump)
        #: The jobs that this client has submitted to members, and those that clients have submitted to this
        #: member.
        self.submissions = Submissions(self, self._participant)
        self.client_jobs = ClientJobs(self, self._coordinator)
        self._listings = Listings(self, clock)
        #: This member's questions for the ends of jobs that others coordinate, and its answers.
        self.outcomes = Outcomes(self)
        #: This member's questions without a job, and its answers to others' questions.
        self.requests = Requests(self, transport, resources, clock)
        engine.number_from(secrets.randbits(JOB_ID_BITS))
        transport.start(self)

    # ---- coordinating

    def submit(self, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Run a DAG as a light job on the members that it needs, coordinated by this member, or, if this is a
        client without a place in the member list, by another. Returns the job, whose result is read batch by
        batch while the job runs.

        Raises OperationalError if no member is left, or a member named by the DAG is missing.
        """
        if self.observes:
            return self.submissions.submit(dag, config)
        return self.coordinate(self.engine.next_number(), dag, config)

    def needed(self, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> tuple[str, ...]:
        """Return the names of the members that would run a part of a job of this DAG now. Locks the DAG: it
        can't be changed any more. Raises OperationalError if no member is left, or a member named by the DAG
        is missing."""
        return self._coordinator.needed(dag, config)

    def coordinate(self, number: int, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Run a DAG as a light job on the members that it needs, coordinated by this member. ``number``: the
        job's id, chosen by the caller and unique in the cluster. Raises InterfaceError if the DAG is invalid
        or a job with this id runs here already, OperationalError if no member is left, or a member named by
        the DAG is missing; then no other member has heard of the job."""
        self.check_usable()
        return self._coordinator.coordinate(number, dag, config)

    def attend(self, others: Sequence[str], done: Callable[[], bool]) -> bool:
        """Handle the messages of the members ``others`` on the calling thread until ``done()`` is true; the
        result is that of :meth:`~sqlfront_cluster.network.transport.Transport.attend`."""
        peers = [peer for name in others if (peer := self.peers.get(name)) is not None]
        return self._transport.attend(peers, done)

    # ---- the queries of all members

    def jobs(self) -> tuple[JobSummary, ...]:
        """Return the running queries that were submitted to this member, on whatever members they run."""
        executions = self.engine.executions()
        with self._lock:
            coordinations = self._coordinations.copy().items()
        coordinated = {number: each.participants for number, each in coordinations}
        return tuple(
            self.engine.summary(execution, self.name, coordinated.get(execution.id, (self.name,)))
            for execution in executions
            if execution.id in coordinated or execution.member == EMBEDDED
        )

    def list_jobs(self, done: Callable[[JobListing], None], timeout: float = LISTING_TIMEOUT) -> None:
        """Ask all members for their queries. ``done`` is called once, on any thread and within ``timeout``
        seconds, with the queries and the names of members without an answer."""
        self._listings.begin(done, timeout)

    def cancel(self, query: int, coordinator: str, by: str = "") -> None:
        """Cancel the query with the id ``query``, whose coordinator is the member ``coordinator`` (possibly
        this member). Without a connection to the coordinator, all connected members are asked to forward the
        request. Does nothing if the query has ended. ``by``: who cancels, for the error's text."""
        if coordinator == self.name:
            self.engine.cancel(query, by)
            return
        peer = self.peers.get(coordinator)
        for each in tuple(self.peers.values()) if peer is None else (peer,):
            each.send(CancelQuery(query, coordinator, by))

    def _cancel(self, message: CancelQuery) -> None:
        peer = self.peers.get(message.coordinator)
        if message.coordinator == self.name:
            self.engine.cancel(message.query, message.by)
        elif peer is not None:
            peer.send(message)

    def watch(self, trace: str, job: int, coordinator: str) -> PartEnded:
        """Return the function that hears of the end of this member's part of the job ``job``, which
        ``coordinator`` has begun; it does nothing unless somebody watches, and the job has a trace context
        (``trace``)."""
        if self.watch_part is None or not trace:
            return _tell_nobody
        return self.watch_part(trace, job, coordinator)

    def _unknown_submission(self, coordinator: str, number: int) -> None:
        self.submissions.unknown(coordinator, number)

    # ---- the transport's calls

    def connected(self, peer: Peer) -> None:
        """Record the connection to a member."""
        self.peers[peer.name] = peer

    def disconnected(self, peer: Peer, reason: str) -> None:
        """Handle the loss of the connection to a member, and of all messages in transit."""
        if self.peers.get(peer.name) is peer:
            del self.peers[peer.name]
        with self._lock:
            self._jobs.drop_early(peer.name)
            self._jobs.ended.forget_coordinator(peer.name)
        self.gone(peer.name)
        self._listings.lost(peer.name)
        self.outcomes.lost(peer.name)

    def gone(self, name: str) -> None:
        """Fail the jobs and requests here that need the member ``name``, which was lost, or has left: the
        list in use says which."""
        self._coordinator.lost(name)
        self._participant.lost(name)
        self.requests.lost(name)

    def _lose(self, peer: Peer) -> None:
        self._participant.lost(peer.name)

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        """Handle a message of a peer; :mod:`sqlfront_cluster.members.protocol.messages` has all messages and
        their meaning."""
        match message:
            case Answer():
                self.requests.answered(peer.name, message, body)
            case Request():
                self.requests.asked(peer, message, body)
            case CheckRequests():
                peer.send(RequestsHandled(message.requests))
            case RequestsHandled():
                self.requests.handled(peer.name, message)
            case Init():
                if self._checker.takes(peer, message):
                    self._participant.begin(peer, message)
            case Data():
                self._hear(peer, message, body)
                if message.completes:
                    self._coordinator.completed(peer.name, Completed(message.job, JobStatus.COMPLETED))
            case InputClosed() | Acknowledge():
                self._hear(peer, message, body)
            case Completed():
                self._coordinator.completed(peer.name, message)
            case Terminate():
                self._participant.terminate(peer, message)
            case CheckJobs():
                self._checker.asked_by_participant(peer, message)
            case Submit():
                self.client_jobs.submitted(peer, message)
            case Ended():
                self.submissions.ended(peer.name, message)
            case UnknownJobs():
                self._checker.unknown(peer.name, message)
            case CheckParts():
                self._checker.asked_by_coordinator(peer, message)
            case UnknownParts():
                self._coordinator.unknown_parts(peer, message)
            case CheckStreams():
                self._checker.asked_by_receiver(peer, message)
            case StreamsSent():
                self._checker.told_by_sender(peer, message)
            case ListJobs():
                self._listings.asked(peer, message)
            case JobList():
                self._listings.answered(peer.name, message)
            case CancelQuery():
                self._cancel(message)
            case AskOutcome():
                self.outcomes.asked(peer, message)
            case Outcome():
                self.outcomes.answered(peer.name, message)
            case _:
                logger.warning("%s sent %s, which nobody takes", peer.name, type(message).__name__)

    # ---- statistics, and the end

    def statistics(self) -> MemberStatistics:
        """Return the current state of the member."""
        with self._lock:
            participations = list(self._participations.values())
            counts = len(self._coordinations), len(self._jobs.early), len(self._jobs.ended)
        streams = [participation.streams() for participation in participations]
        return MemberStatistics(
            tuple(sorted(self.peers)),
            len(participations),
            *counts,
            tuple(chain.from_iterable(senders for senders, _ in streams)),
            tuple(chain.from_iterable(receivers for _, receivers in streams)),
            len(self._listings),
            len(self.requests),
        )

    def abandon(self, error: Error) -> None:
        """End every job that runs or is coordinated here, and every wait for answers, with ``error``."""
        with self._lock:
            participations = list(self._participations.values())
        for each in participations:
            each.execution.fail(error)
        self.requests.abandon(error)

    def close(self) -> None:
        """Cancel all jobs here and close the connections. The other members see this member as lost, since it
        doesn't leave in an orderly way."""
        self.engine.close()
        self.requests.cancel()
        self._transport.close()

    def cancel_all(self) -> None:
        """Cancel all jobs and requests of this member, which stays a member; the coordinator and the
        participants of the jobs are notified."""
        self.engine.cancel_all()
        self.requests.cancel()


def _tell_nobody(status: JobStatus, error: Error | None) -> None:
    """Do nothing; the callback at the end of a part of a job for which nobody waits."""


def _always_usable() -> None:
    """Accept every job; the check before a job on a member that has no keeper."""
