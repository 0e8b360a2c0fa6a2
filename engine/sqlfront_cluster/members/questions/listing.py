"""The running queries of all members: listing and cancelling from any member or client.

For a listing, a member asks all members and clients to which it is connected. The listing is complete when
each has answered or is lost, or at the timeout. Clients, those without a place in the member list included,
aren't connected with each other: if a client asks, the members answer for the other clients, too, and they
forward the client's cancellations to the other clients.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from threading import Event, Lock
from typing import Final, Protocol

import msgspec

from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.protocol.messages import JobList, ListJobs
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
    """The running queries of all members, as one member has asked for them. ``jobs``: the queries, oldest
    first. ``silent``: the names of the members that have not answered."""

    jobs: tuple[JobSummary, ...]
    silent: tuple[str, ...] = ()


class ListingMember(Protocol):
    """The attributes and methods of a member that :class:`Listings` needs."""

    name: str
    members: MemberList
    clients: frozenset[str]
    peers: dict[str, Peer]

    def jobs(self) -> tuple[JobSummary, ...]:
        """Return the running queries that this member coordinates."""


class Listings:
    """The listings under way at one member: its questions to all members for their running queries, asked for
    itself or for a client."""

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
        own, members, clients = self._member.name, self._member.members, self._clients()
        # Other connected processes, such as Spark's tasks, have no queries.
        asked = tuple(name for name in tuple(self._member.peers) if name in members or name in clients)
        self._ask(asked, timeout, done, for_clients=own in clients or own not in members)

    def asked(self, peer: Peer, message: ListJobs) -> None:
        """Answer the question of ``peer`` with the queries that this member coordinates. If the question is a
        client's, ask the other clients first, and add their queries."""

        def answer(listing: JobListing) -> None:
            peer.send(JobList(message.request, listing.jobs, listing.silent))

        clients = self._clients() - {peer.name} if message.for_clients else ()
        self._ask(clients, CLIENT_TIMEOUT, answer)

    def answered(self, member: str, message: JobList) -> None:
        """Handle the answer of ``member`` to a question for its running queries; does nothing if the listing
        has ended."""
        asked = self._rounds.get(message.request)
        if asked is not None and asked.answered(member, message.jobs, message.silent):
            self._finish(message.request)

    def lost(self, member: str) -> None:
        """Handle the loss of a member: no listing waits for its answer any more."""
        for number, asked in self._rounds.copy().items():
            if asked.answered(member):
                self._finish(number)

    def _clients(self) -> frozenset[str]:
        lite = (each.name for each in self._member.members.members if each.lite)
        return self._member.clients.union(lite)

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
    """One listing under way: its questions, and the answers so far. ``own``: the queries of this member.
    ``names``: the members that were asked. ``done``: receives the listing at the end."""

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
        """True if all members have answered or are lost."""
        return not self._waiting

    def answered(self, member: str, jobs: Iterable[JobSummary] = (), silent: Iterable[str] = ()) -> bool:
        """Record the answer of ``member``, or its loss. ``jobs``: the queries in the answer. ``silent``: the
        clients from which ``member`` got no answer. Returns True if this answer completes the listing; False
        if answers are missing, and for a second answer of one member."""
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
        """Call ``done`` with the listing so far, in which the members without an answer are the silent
        ones."""
        if self.forget_timer is not None:
            self.forget_timer()
        with self._lock:
            jobs = sorted(self._jobs.values(), key=lambda job: (job.started, job.id))
            silent = sorted((self._silent | self._waiting) - self._heard)
        self._done(JobListing(tuple(jobs), tuple(silent)))


def wait_for_jobs(
    begin: Callable[[Callable[[JobListing], None], float], None], timeout: float = LISTING_TIMEOUT
) -> JobListing:
    """Ask all members for their running queries, wait for the answers and return them. ``begin``: a member's
    :meth:`~sqlfront_cluster.members.member.Member.list_jobs`, which starts the listing. ``timeout``: seconds
    in which members have to answer. Raises OperationalError if no listing comes, because this member has
    ended."""
    found: list[JobListing] = []
    heard = Event()

    def done(listing: JobListing) -> None:
        found.append(listing)
        heard.set()

    begin(done, timeout)
    if not heard.wait(timeout + LISTING_TIMEOUT):  # the member's clock has stopped
        raise OperationalError("the queries can't be listed: this member has ended", sqlstate="08003")
    return found[0]
