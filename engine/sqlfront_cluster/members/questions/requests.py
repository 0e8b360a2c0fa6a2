"""Requests between members outside of jobs: one request, one answer.

Made for questions that can be answered at once, such as a lookup by key. The thread that receives a request
answers it; the asking thread reads the answer from the network itself, if the transport allows. Neither
member stores anything after the answer or the end of the wait.

A question or an answer may get lost although the connection holds. As long as somebody waits for longer than
a period, the asking member asks about these requests once per period (:class:`CheckRequests`). A member
handles the messages of one peer in sequence and answers questions at once, so that its reply arrives behind
the answers: a request without an answer by then is lost, and its wait ends with an error.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Final, Protocol

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.member_list import MemberList, left_or_lost, topology_changed
from sqlfront_cluster.members.protocol.messages import Answer, CheckRequests, Request, RequestsHandled
from sqlfront_cluster.network.transport import Body, Part, Peer, Transport
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import stopped_error
from sqlfront_engine.scheduler import Clock
from sqlfront_values.errors import Error, NotSupportedError, OperationalError

#: Bytes above which an answer is sent in the body: the receiver reads bodies into memory of their own,
#: messages into its buffer of the same size.
_LONG: Final = 65_536
#: Seconds between two checks for lost questions and answers.
_CHECK_PERIOD: Final = 1.0
#: Seconds between two checks of a sleeping asker for the end of its wait: a stopped query ends so late at
#: most; an answer in time costs nothing.
_LOOK: Final = 0.05


class RequestService(ABC):
    """A resource of a member that answers questions of other members, on the threads that receive the
    questions."""

    @abstractmethod
    def answer(self, content: bytes) -> bytes:
        """Return the answer to the question ``content``, quickly and without waiting: until then no other
        message of the asking member is handled. The content comes from an authenticated member, but must be
        checked like any input. May be called on several threads. An error raised here is raised at the asking
        member."""


class BodyService(RequestService):
    """A service that also receives and returns large data, in the body of messages, which isn't copied."""

    @abstractmethod
    def exchange(self, content: bytes, body: pa.Buffer | None) -> tuple[bytes, Sequence[Part]]:
        """Return the answer to the question ``content``, and the parts of a body to send with the answer;
        quickly and without waiting, like :meth:`RequestService.answer`. ``body``: the body of the question,
        None = no body; the service may keep a reference to it. An error raised here is raised at the asking
        member."""


class Wait(Protocol):
    """The wait for answers on behalf of a query or a task, which ends early when the query is stopped."""

    def stopped(self, now: Callable[[], float]) -> Error | None:
        """Return the error that ends the wait, None as long as the wait may go on. ``now``: returns the time
        of the engine's clock in seconds."""


class RequestingMember(Protocol):
    """The attributes of a member that requests need."""

    name: str
    members: MemberList
    peers: dict[str, Peer]
    check_usable: Callable[[], None]


class Requests:
    """A member's questions to other members, and its answers to their questions. ``services``: the member's
    resources, among which are the services that answer."""

    def __init__(
        self, member: RequestingMember, transport: Transport, services: Mapping[str, object], clock: Clock
    ) -> None:
        self._member = member
        self._transport = transport
        self._services = services
        self._clock = clock
        self._now = clock.now
        self._numbers = itertools.count(1)
        self._lock = Lock()
        # Invariant: changed by single operations only; holds the rounds that a thread waits for.
        self._rounds: dict[int, _Round] = {}
        # Whether a check is scheduled, and the rounds that there were at the last check.
        self._checking = False
        self._seen: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self._rounds)

    # ---- asking

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: Wait | None = None
    ) -> dict[str, bytes | memoryview]:
        """Ask the service with the key ``service`` of several members, and return their answers by member
        name. ``questions``: the question to each member, by the member's name. All questions are sent before
        the first wait for an answer; a question to this member itself needs no message.

        Raises the first error among the answers. Raises OperationalError if a member is missing or is lost
        meanwhile (SQLSTATE 08006), or if the cluster has changed in between, such as by a member that leaves
        in good order (40001); also, within hundredths of a second, if ``query`` is cancelled (HY008) or its
        timeout is over (57014).
        """
        member = self._member
        member.check_usable()
        version, own = member.members.version, member.name
        number = next(self._numbers)
        asked = self._rounds[number] = _Round(questions, own, self._lock, query, self._now)
        peers: dict[str, Peer] = {}
        if not self._checking:
            self._watch()

        def send() -> None:
            for name, peer in peers.items():
                peer.send(Request(number, version, service, questions[name]))
            if own in questions:
                asked.answers[own] = self._find(service).answer(questions[own])

        try:
            peers.update((name, self._peer(name)) for name in questions if name != own)
            if not peers:
                send()
            elif not self._transport.attend(tuple(peers.values()), asked.is_over, send):
                asked.wait()
        finally:
            del self._rounds[number]
        if asked.error is not None:
            raise asked.error
        return asked.answers

    def _peer(self, name: str) -> Peer:
        peer = self._member.peers.get(name)
        if peer is None:
            raise left_or_lost(self._member.members, name)
        return peer

    def answered(self, sender: str, message: Answer, body: Body) -> None:
        """Handle the answer of the member ``sender``; does nothing if nobody waits for it any more."""
        asked = self._rounds.get(message.request)
        if asked is None:
            return
        if message.error is not None:
            asked.failed(sender, message.error.error())
        else:
            asked.answered(sender, message.content if body is None else _content(body))

    def lost(self, member: str) -> None:
        """End all waits for an answer of ``member``, which is lost or has left, with an error."""
        for asked in list(self._rounds.values()):
            asked.failed(member, left_or_lost(self._member.members, member))

    def cancel(self) -> None:
        """End all waits for answers with the error of a cancelled query, since this member is about to
        leave."""
        self.abandon(stopped_error(JobStatus.CANCELLED))

    def abandon(self, error: Error) -> None:
        """End all waits for answers with ``error``, which the asking threads raise."""
        for asked in list(self._rounds.values()):
            asked.give_up(error)

    # ---- lost questions and answers

    def _watch(self) -> None:
        """Schedule the next check unless one is scheduled."""
        with self._lock:
            if self._checking:
                return
            self._checking = True
        self._clock.call_at(self._now() + _CHECK_PERIOD, self._check)

    def _check(self) -> None:
        """Ask about the requests that wait since the last check at least."""
        self._checking = (
            False  # before the look at the rounds: a round that comes now schedules a check itself
        )
        rounds = self._rounds.copy()
        old, self._seen = self._seen, frozenset(rounds)
        numbers: dict[str, list[int]] = {}
        for number in self._seen & old:
            for name in rounds[number].missing():
                numbers.setdefault(name, []).append(number)
        for name, asked in numbers.items():
            peer = self._member.peers.get(name)
            if peer is not None:
                peer.send(CheckRequests(tuple(asked)))
        if rounds:
            self._watch()

    def handled(self, sender: str, message: RequestsHandled) -> None:
        """End those waits for an answer of ``sender`` that the member has answered, or never got."""
        for number in message.requests:
            asked = self._rounds.get(number)
            if asked is not None:
                asked.failed(sender, answer_lost(sender))

    # ---- answering

    def asked(self, peer: Peer, message: Request, body: Body = None) -> None:
        """Answer the question of a peer at once, on this thread: with the service's result or error, or with
        the error for an unknown service or for a question that was asked with a version of the member list
        that this member doesn't accept."""
        try:
            version = message.list_version
            if version is not None and not self._member.members.accepts(version):
                raise topology_changed(version, self._member.members.version)
            service = self._find(message.service)
            if isinstance(service, BodyService) and version is None:
                given = body if isinstance(body, pa.Buffer) else None
                content, parts = service.exchange(message.content, given)
                peer.send(Answer(message.request, content), parts)
                return
            content = service.answer(message.content)
            if len(content) <= _LONG:
                peer.send(Answer(message.request, content))
            else:
                peer.send(Answer(message.request), (content,))
        except Exception as error:  # noqa: BLE001 - raised by the asking member
            record = codec.ErrorData.of(error)
            peer.send(Answer(message.request, error=replace(record, member=self._member.name)))

    def _find(self, service: str) -> RequestService:
        found = self._services.get(service)
        if not isinstance(found, RequestService):
            raise NotSupportedError(f"member {self._member.name} has no service {service!r}")
        return found


class _Round:
    """Questions to several members that were sent together, and their answers so far. Any number of threads
    deliver answers, and one thread waits for all of them. The wait ends with the first error, or when the
    query is stopped."""

    __slots__ = ("_lock", "_now", "_over", "_query", "_waiting", "answers", "error")

    def __init__(
        self,
        names: Iterable[str],
        own: str,
        lock: Lock,
        query: Wait | None,
        now: Callable[[], float],
    ) -> None:
        """``names``: the members that were asked. ``own``: this member's name, whose answer isn't waited for.
        ``query``: the query whose end also ends the wait, None = no query. ``now``: returns the clock's time
        (s)."""
        self.answers: dict[str, bytes | memoryview] = {}
        self.error: Error | None = None
        self._waiting = set(names)
        self._waiting.discard(own)
        self._query = query
        self._now = now
        # Guards the next field and all changes; shared by all rounds.
        self._lock = lock
        # The lock on which the waiting thread sleeps.
        self._over: Lock | None = None

    def is_over(self) -> bool:
        """Return whether all answers or an error have come, or the query was stopped; called by the waiting
        thread."""
        if self._waiting and self._query is not None:
            error = self._query.stopped(self._now)
            if error is not None:
                self.give_up(error)
        return not self._waiting

    def wait(self) -> None:
        """Block until all answers or an error have come, or the query was stopped."""
        with self._lock:
            if not self._waiting:
                return
            self._over = over = Lock()
            over.acquire()
        while not self.is_over():
            over.acquire(timeout=_LOOK)

    def missing(self) -> Sequence[str]:
        """Return the names of the members that have not answered."""
        with self._lock:
            return sorted(self._waiting)

    def answered(self, name: str, content: bytes | memoryview) -> None:
        """Record the answer of the member ``name``; does nothing unless its answer is still missing."""
        with self._lock:
            if name in self._waiting:
                self.answers[name] = content
                self._waiting.discard(name)
                self._wake()

    def failed(self, name: str, error: Error) -> None:
        """End the wait with ``error``, an error of the member ``name``, unless that member has answered."""
        if name in self._waiting:
            self.give_up(error)

    def give_up(self, error: Error) -> None:
        """End the wait with ``error``, unless it has ended already."""
        with self._lock:
            if self._waiting:
                self.error = error
                self._waiting.clear()
                self._wake()

    def _wake(self) -> None:
        """With the lock held: wake the waiting thread if no answer is missing any more or an error has
        come."""
        if not self._waiting and self._over is not None:
            self._over.release()


def _content(body: Body) -> memoryview:
    """Return the content of an answer that was too long for the message and came in its body; empty without a
    body."""
    (part,) = (body,) if isinstance(body, pa.Buffer) else body or (b"",)
    return memoryview(part)


def answer_lost(member: str) -> OperationalError:
    """Return the error (SQLSTATE 08006) of a request to ``member`` whose question or answer got lost although
    the connection holds."""
    return OperationalError(
        f"a request to member {member} or its answer was lost; if it asked for a change, it isn't known"
        " whether the change was made",
        sqlstate="08006",
    )
