"""The running queries of all members: listing and cancelling, for any coordinator.

A listing is one round of questions without lasting state: a member asks all its connected members. The
listing is complete when each of them has answered or is lost, or at the timeout. Clients aren't connected
with each other. So for a client, the other members also answer for the other clients, and forward the
client's cancellations to them.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from threading import Event, Lock
from typing import Final, Protocol

import msgspec

from sqlfront_cluster.members.member_list import MemberList
from sqlfront_cluster.members.messages import JobList, ListJobs
from sqlfront_cluster.network.transport import Peer
from sqlfront_engine.job_statistics import JobSummary
from sqlfront_engine.scheduler import Clock
from sqlfront_values.errors import OperationalError

#: Seconds in which the others have to answer: a user waits for the list.
LISTING_TIMEOUT: Final = 1.0
#: Seconds in which clients have to answer a member asking for another client, so that the member's answer is
#: in time.
CLIENT_TIMEOUT: Final = 0.5


class JobListing(msgspec.Struct, frozen=True):
    """The running queries, oldest first, and the members that have not answered."""

    jobs: tuple[JobSummary, ...]
    silent: tuple[str, ...] = ()


class ListingMember(Protocol):
    """The parts of a member needed for listings."""

    name: str
    members: MemberList
    peers: dict[str, Peer]

    def jobs(self) -> tuple[JobSummary, ...]:
        """The queries coordinated here."""


class Listings:
    """A member's pending listings, its own and those for clients."""

    def __init__(self, member: ListingMember, clock: Clock) -> None:
        self._member = member
        self._clock = clock
        self._numbers = itertools.count(1)
        # Guards the next field.
        self._lock = Lock()
        self._rounds: dict[int, _Round] = {}

    def __len__(self) -> int:
        return len(self._rounds)

    def begin(self, done: Callable[[JobListing], None], timeout: float) -> None:
        """Ask all connected members for their queries. ``done`` is called once, on any thread, with the
        listing: when all have answered or are lost, or after ``timeout`` seconds."""
        for_clients = self._member.name in self._clients()
        # A connected process that is no member has no queries.
        members = tuple(name for name in tuple(self._member.peers) if name in self._member.members)
        self._ask(members, timeout, done, for_clients=for_clients)

    def asked(self, peer: Peer, message: ListJobs) -> None:
        """Answer a peer's question with the queries coordinated here and, if the question asks for them, with
        the queries of the other clients, which are asked first."""

        def answer(listing: JobListing) -> None:
            peer.send(JobList(message.request, listing.jobs, listing.silent))

        clients = self._clients() - {peer.name} if message.for_clients else ()
        self._ask(clients, CLIENT_TIMEOUT, answer)

    def answered(self, member: str, message: JobList) -> None:
        """Take the answer of ``member`` to a question; ignored if its listing has ended."""
        asked = self._rounds.get(message.request)
        if asked is not None and asked.answered(member, message.jobs, message.silent):
            self._finish(message.request)

    def lost(self, member: str) -> None:
        """Record the loss of a member, whose queries are lost, too."""
        for number, asked in self._rounds.copy().items():
            if asked.answered(member):
                self._finish(number)

    def _clients(self) -> frozenset[str]:
        return frozenset(each.name for each in self._member.members.members if each.lite)

    def _ask(
        self,
        names: Collection[str],
        timeout: float,
        done: Callable[[JobListing], None],
        *,
        for_clients: bool = False,
    ) -> None:
        number = next(self._numbers)
        asked = _Round(self._member.jobs(), names, done)
        peers: Mapping[str, Peer] = self._member.peers
        with self._lock:
            self._rounds[number] = asked
        if names:
            asked.forget_timer = self._clock.call_at(
                self._clock.now() + timeout, partial(self._finish, number)
            )
        for name in names:
            peer = peers.get(name)
            if peer is None:
                asked.answered(name)
            else:
                peer.send(ListJobs(number, for_clients))
        if asked.complete:
            self._finish(number)

    def _finish(self, number: int) -> None:
        with self._lock:
            asked = self._rounds.pop(number, None)
        if asked is not None:
            asked.finish()


class _Round:
    """A round of questions, and the answers so far."""

    def __init__(
        self, own: Iterable[JobSummary], names: Iterable[str], done: Callable[[JobListing], None]
    ) -> None:
        self.forget_timer: Callable[[], None] | None = None
        self._done = done
        self._lock = Lock()
        self._waiting = set(names)
        self._heard: set[str] = set()
        self._silent: set[str] = set()
        self._jobs = {job.id: job for job in own}

    @property
    def complete(self) -> bool:
        """Whether all members have answered."""
        return not self._waiting

    def answered(self, member: str, jobs: Iterable[JobSummary] = (), silent: Iterable[str] = ()) -> bool:
        """Take the answer of ``member``, or its loss: its queries ``jobs``, and the clients ``silent`` that
        it got no answer from. Returns whether this answer completes the round; False also for a second
        answer."""
        with self._lock:
            if member not in self._waiting:
                return False
            self._waiting.discard(member)
            self._silent.update(silent)
            for job in jobs:
                self._jobs[job.id] = job
                self._heard.add(job.coordinator)
            return not self._waiting

    def finish(self) -> None:
        """Call ``done`` with the listing so far; members without an answer are silent ones."""
        if self.forget_timer is not None:
            self.forget_timer()
        with self._lock:
            jobs = sorted(self._jobs.values(), key=lambda job: (job.started, job.id))
            silent = sorted((self._silent | self._waiting) - self._heard)
        self._done(JobListing(tuple(jobs), tuple(silent)))


def wait_for_jobs(
    begin: Callable[[Callable[[JobListing], None], float], None], timeout: float = LISTING_TIMEOUT
) -> JobListing:
    """Call ``begin``, a member's :meth:`~sqlfront_cluster.members.member.Member.list_jobs`, wait for the
    listing and return it. ``timeout``: seconds in which members have to answer. Raises OperationalError if no
    listing comes, because this member has ended."""
    found: list[JobListing] = []
    heard = Event()

    def done(listing: JobListing) -> None:
        found.append(listing)
        heard.set()

    begin(done, timeout)
    if not heard.wait(timeout + LISTING_TIMEOUT):  # the member's clock has stopped
        raise OperationalError("the queries can't be listed: this member has ended", sqlstate="08003")
    return found[0]
