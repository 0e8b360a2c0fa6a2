"""The checker of a member's jobs: compares from time to time what coordinators and participants know.

A message may get lost although its connection holds. Once per :data:`CHECK_PERIOD`, for jobs older than a
period, the members ask each other:

* A participant asks the coordinator (and the coordinator a client) whether a job still runs
  (:class:`CheckJobs`). It stops a job that the other doesn't know or has ended, since the :class:`Terminate`
  was lost.
* A coordinator asks the participants that have not answered (:class:`CheckParts`). A participant whose part
  has ended repeats its answer. A participant that knows nothing of the job has lost the :class:`Init`, which
  is sent again; the participant takes an Init only if its part has never begun.
* The receiver of a stream tells the sender what has arrived, and repeats its limit and its refusal
  (:class:`CheckStreams`). If the sender has sent more, its answer arrives behind the rows on their way; rows
  that have not arrived by then are lost, and the receiver fails the job.

Each question is repeated in the next period, so that questions and answers may get lost, too. A member
without old jobs sends nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sqlfront_cluster import codec
from sqlfront_cluster.members.jobs.coordination import Coordination
from sqlfront_cluster.members.jobs.job_table import JobTable, id_in_use
from sqlfront_cluster.members.jobs.participation import Participation
from sqlfront_cluster.members.protocol.messages import (
    CheckJobs,
    CheckParts,
    CheckStreams,
    Completed,
    Init,
    Message,
    StreamsSent,
    Terminate,
    UnknownJobs,
    UnknownParts,
)
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.scheduler import Clock
from sqlfront_values.errors import Error, OperationalError

#: Seconds between two checks of the jobs here: how late a lost job's memory is given back at most.
CHECK_PERIOD: Final = 1.0
#: Seconds for which early data waits for its job's Init: longer than any coordinator takes to plan; the data
#: takes memory meanwhile.
NEVER_INITIALISED: Final = 300.0


class JobChecker:
    """The questions of the member ``name`` to other members about their common jobs, and its answers.
    ``pump``: runs a part of an inline job that may go on, on the thread that reads from the given peer.
    ``unknown_submission``: called with a coordinator and the id of a job that this member has submitted to it
    as a client, and that the coordinator doesn't know."""

    def __init__(
        self,
        name: str,
        jobs: JobTable,
        peers: Mapping[str, Peer],
        clock: Clock,
        pump: Callable[[Participation, Peer], None],
        unknown_submission: Callable[[str, int], None],
    ) -> None:
        self._name = name
        self._jobs = jobs
        self._peers = peers
        self._now = clock.now
        self._pump = pump
        self._unknown_submission = unknown_submission

    # ---- asking

    def check(self) -> None:
        """Drop what was kept for long enough, and ask the other members about all older jobs; to be called
        once per period."""
        jobs, now = self._jobs, self._now()
        with jobs.lock:
            jobs.ended.drop_old(now)
            self._drop_early(now)
            coordinations = list(jobs.coordinations.values())
            participations = [
                each for each in list(jobs.participations.values()) if now - each.since >= CHECK_PERIOD
            ]
        self._ask_coordinators(participations)
        self._ask_senders(participations)
        self._ask_participants(coordinations)

    def _drop_early(self, now: float) -> None:
        for number, early in self._jobs.early.copy().items():
            if now - early.since >= NEVER_INITIALISED:
                del self._jobs.early[number]
                self._jobs.ended.add(number, now)

    def _ask_coordinators(self, participations: Iterable[Participation]) -> None:
        numbers: dict[str, list[int]] = {}
        for each in participations:
            other = each.asked_for(self._name)
            if other is not None:
                numbers.setdefault(other, []).append(each.execution.id)
        for coordinator, asked in numbers.items():
            if coordinator in self._peers:
                self._tell(coordinator, CheckJobs(tuple(asked)))
            else:
                self._stop(coordinator, asked)

    def _ask_senders(self, participations: Iterable[Participation]) -> None:
        for each in participations:
            for sender, states in each.incoming().items():
                self._tell(sender, CheckStreams(each.execution.id, each.coordinator, states))

    def _ask_participants(self, coordinations: Iterable[Coordination]) -> None:
        numbers: dict[str, list[int]] = {}
        for each in coordinations:
            for participant in each.overdue():
                if not each.known:
                    self._tell(participant, Terminate(each.execution.id))
                numbers.setdefault(participant, []).append(each.execution.id)
        for participant, asked in numbers.items():
            self._tell(participant, CheckParts(tuple(asked)))

    def _tell(self, member: str, message: Message) -> None:
        peer = self._peers.get(member)
        if peer is not None:
            peer.send(message)

    # ---- as coordinator

    def asked_by_participant(self, peer: Peer, message: CheckJobs) -> None:
        """Answer a participant with those jobs that it has to stop, if there are any."""
        unknown = tuple(number for number in message.jobs if not self._knows(number))
        if unknown:
            peer.send(UnknownJobs(unknown))

    def _knows(self, number: int) -> bool:
        """Return whether job ``number``, of which another member runs a part, goes on here: this member
        coordinates it, or has submitted it as a client."""
        coordination = self._jobs.coordinations.get(number)
        if coordination is not None:
            return coordination.known
        participation = self._jobs.participations.get(number)
        return participation is not None and participation.submitted

    # ---- as participant

    def unknown(self, coordinator: str, message: UnknownJobs) -> None:
        """Stop the jobs that their coordinator doesn't know any more."""
        self._stop(coordinator, message.jobs)

    def _stop(self, other: str, numbers: Sequence[int]) -> None:
        """Stop the jobs ``numbers``, which go on here, and which the coordinator or the client ``other``
        doesn't know (any more)."""
        for number in numbers:
            participation = self._jobs.participations.get(number)
            if participation is None or not participation.belongs_to(other):
                continue
            if participation.submitted:
                self._unknown_submission(other, number)
            else:
                participation.execution.stop(JobStatus.CANCELLED)

    def asked_by_coordinator(self, peer: Peer, message: CheckParts) -> None:
        """Repeat the answers of those jobs whose part here has ended, and tell the coordinator which jobs
        have never begun here."""
        missing = []
        for number in message.jobs:
            with self._jobs.lock:
                running = self._jobs.has_part(number)
                answer = None if running else self._ended_answer(number, peer.name)
            if answer is not None:
                peer.send(answer)
            elif not running:
                missing.append(number)
        if missing:
            peer.send(UnknownParts(tuple(missing)))

    def takes(self, peer: Peer, message: Init) -> bool:
        """Return whether an Init begins a part of a job here, whose id is reserved then. It begins none if a
        part of the job runs here or has ended: a repeated Init may arrive after the first one, and also
        before it, since an Init waits for the member list that it was made with. The answer of a part that
        has ended is repeated."""
        with self._jobs.lock:
            part = self._jobs.participations.get(message.job)
            if part is not None and not part.belongs_to(peer.name):
                answer: Completed | None = failed(message.job, id_in_use(message.job))
            elif self._jobs.has_part(message.job):
                return False
            else:
                answer = self._ended_answer(message.job, peer.name, repeated=message.again)
                if answer is None:
                    self._jobs.reserve(message.job)
        if answer is not None:
            peer.send(answer)
        return answer is None

    def _ended_answer(self, number: int, coordinator: str, *, repeated: bool = True) -> Completed | None:
        """With the lock held: return the answer of a part that has ended here, None if it never began.
        ``repeated``: whether the coordinator has asked before, so that the answer may have been dropped."""
        part = self._jobs.ended.get(number)
        if part is not None and part.answer is not None:
            return part.answer
        if not (repeated and self._jobs.ended.may_have_dropped(number, coordinator)):
            return None
        error = OperationalError(
            f"the answer of member {self._name} was lost, and the outcome isn't known there any more",
            sqlstate="08006",
        )
        return failed(number, error)

    # ---- as sender and receiver of a stream

    def asked_by_receiver(self, peer: Peer, message: CheckStreams) -> None:
        """Take the receiver's limits and refusals, and answer if more was sent than has arrived there."""
        with self._jobs.lock:
            participation = self._jobs.participations.get(message.job)
            part = self._jobs.ended.get(message.job)
            dropped = self._jobs.ended.may_have_dropped(message.job, message.coordinator)
        if participation is not None:
            participation.told(peer.name, message.streams)
            self._answer_receiver(peer, message, participation.sent_to)
            self._pump(participation, peer)
        elif part is not None:
            self._answer_receiver(peer, message, part.sent_to)
        elif dropped:
            peer.send(StreamsSent(message.job, None))

    def _answer_receiver(self, peer: Peer, message: CheckStreams, sent_to: Callable[[str, int], int]) -> None:
        counts = []
        for state in message.streams:
            count = sent_to(peer.name, state.edge)
            if count > state.arrived:
                counts.append((state.edge, count))
        if counts:
            peer.send(StreamsSent(message.job, tuple(counts)))

    def told_by_sender(self, peer: Peer, message: StreamsSent) -> None:
        """Fail the job if rows that the sender had sent before its answer have not arrived."""
        participation = self._jobs.participations.get(message.job)
        if participation is not None:
            participation.check_arrived(peer.name, message.counts)


def failed(job: int, error: Error) -> Completed:
    """Return the answer to an Init by which the coordinator hears that the job could not begin."""
    return Completed(job, JobStatus.FAILED, codec.ErrorData.of(error))
