"""The documents of the cluster as one member has them, and the member's requests for changes of documents.

Requests wait while there is no keeper, or while the keeper's documents are still coming; those without an
answer are sent again to the next keeper, which knows which of them were carried out.

Any message may get lost although the connection holds. The member finds a lost change by the gap in the
numbers, or by the keeper's answer to a heartbeat, which comes behind all that the keeper has sent before; it
then asks for all documents again. A request that was sent before a heartbeat, and has no answer behind that
heartbeat's, is sent again: it was lost, or its answer was, or the keeper still waits for other members.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.membership.membership_state import MembershipStatus
from sqlfront_cluster.members.membership.watchers import notify
from sqlfront_cluster.members.protocol.applied_changes import AppliedChanges
from sqlfront_cluster.members.protocol.cluster_messages import (
    AppliedChange,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    PutDocument,
    SendAgain,
)
from sqlfront_cluster.members.protocol.document import (
    ConditionalChange,
    Document,
    complete,
    versions_of,
)
from sqlfront_cluster.members.protocol.messages import Message
from sqlfront_values.errors import OperationalError

#: The outcome of a change: the answer, or the error.
PutOutcome: TypeAlias = DocumentAnswer | OperationalError


class _Put(msgspec.Struct):
    """A request for a change of a document, until it is answered. ``done``: receives the outcome. ``sent``:
    the time before which the request was last sent to a keeper (s, the member's clock), None = it wasn't."""

    request: PutDocument
    done: Callable[[PutOutcome], None]
    sent: float | None = None


class DocumentCopies:
    """The copies of the cluster's documents at the member ``name``, and the member's requests for changes.
    ``send``: sends a message to the keeper, if there is one. ``status``: the membership's state, whose lock
    guards all fields; methods whose description says "with the lock held" don't take the lock."""

    def __init__(self, name: str, send: Callable[[Message], None], status: MembershipStatus) -> None:
        #: The documents by key.
        self.documents: dict[str, Document] = {}
        #: Functions called with a document's key after each change of the document, before the writer of the
        #: change learns that all members have it.
        self.watchers: list[Callable[[str], None]] = []
        #: Functions called with a document's key after the watchers, while the writer may go on already.
        self.followers: list[Callable[[str], None]] = []
        #: The number of the last change that this member has.
        self.seen = 0
        #: The number of the last change of which the watchers have heard: the keeper is told this one.
        self.watched = 0
        self._name, self._send = name, send
        self._status, self._lock = status, status.lock
        self._applied = AppliedChanges()
        # Whether the keeper has sent all documents since it was connected, and no change since has got lost.
        self._synced = False
        # The time before which all documents were asked for (s), unless they come without that.
        self._asked = -inf
        # Documents that the keeper has sent since it was connected, or asked for all, until it has sent all.
        self._coming: dict[str, Document] = {}
        self._puts: dict[int, _Put] = {}
        self._requests = 0

    # ---- requests

    def put(self, change: ConditionalChange, done: Callable[[PutOutcome], None]) -> int:
        """Request a change; :meth:`~sqlfront_cluster.members.membership.membership.Membership.put` has the
        contract."""
        with self._lock:
            ended = self._status.ended
            self._requests += 1
            request = self._requests
            if not ended:
                self._puts[request] = put = _Put(PutDocument(request, change), done)
                if self._synced:
                    self._send_put(put)
        if ended:
            done(_not_sent(self._status.why))
        return request

    def withdraw(self, request: int) -> bool:
        """Forget a request that was not sent to any keeper, so that the change is never made; return whether
        that was possible."""
        with self._lock:
            put = self._puts.get(request)
            if put is None or put.sent is not None:
                return False
            del self._puts[request]
        return True

    def _send_put(self, put: _Put) -> None:
        """With the lock held: send a request for a change. Never while an answer to the request may be on its
        way: a change that was refused might be made after all."""
        self._send(replace(put.request, oldest=next(iter(self._puts))))
        put.sent = self._status.now()

    def answered(self, message: DocumentAnswer) -> None:
        """Give the keeper's answer to whoever has made the request; does nothing for a second answer, nor for
        one without the change before it, which was lost: both come again with all documents."""
        with self._lock:
            lost = message.stored and not self.has(message.version)
            put = None if lost else self._puts.pop(message.request, None)
        if put is not None:
            put.done(message)

    def fail_requests(self) -> None:
        """End all requests without an answer with an error, since the membership has ended."""
        with self._lock:
            puts, self._puts = self._puts, {}
        why = self._status.why
        for put in puts.values():
            put.done(_not_sent(why) if put.sent is None else _unanswered(why))

    # ---- the keeper's documents

    def pause(self) -> None:
        """With the lock held: send no request until all documents have come again, since the keeper was lost
        or asks what this member has."""
        self._synced, self._asked = False, -inf

    def begin(self) -> None:
        """With the lock held: expect all documents from a newly connected keeper."""
        self.pause()
        self._coming = {}

    def has(self, version: int) -> bool:
        """Return whether this member has all documents with all changes up to ``version``, which the keeper
        has sent before. If a change got lost, ask for all documents."""
        with self._lock:
            if self._synced and version > self.seen:
                self._ask()
            return self._synced

    def count(self, version: int) -> bool:
        """Take note of the change of something else with the number ``version``. Return False, and ask for
        all documents, if a change before got lost."""
        with self._lock:
            if not self.has(version - 1):
                return False
            self.seen = self.watched = version
            return True

    def _ask(self) -> None:
        """With the lock held: ask the keeper for all documents; nothing is changed here until they come."""
        self._synced = False
        self._send(SendAgain())
        self._asked = self._status.now()

    def compare(self, sent: float, version: int, *, lacks_list: bool) -> None:
        """Ask again for what got lost before the keeper's answer to the heartbeat of the time ``sent`` (s).
        ``version``: the number of the last change that the keeper had sent by then. ``lacks_list``: whether
        the keeper had sent a member list that this member doesn't have."""
        with self._lock:
            if not self._synced or version > self.seen or lacks_list:
                if self._asked < sent:  # else they are still coming
                    self._ask()
                return
            for put in self._puts.values():
                if put.sent is not None and put.sent < sent:
                    self._send_put(put)

    def copy(self, message: DocumentCopy) -> None:
        """Keep one of the documents that a keeper sends when it was connected, or asked for all documents,
        until all have come."""
        self._coming[message.key] = Document(message.version, message.content)

    def take_all(self, message: DocumentKeys) -> list[str] | None:
        """With the lock held: use all the documents that the keeper has sent one by one, at once: a part of
        them would be a state that the cluster never had. Sends the waiting requests. Returns the
        keys of the documents that differ from those before, in order; neither watchers nor followers are
        called. If a document got lost, asks for all again, and returns None."""
        coming, self._coming = self._coming, {}
        documents = complete(coming, message.versions)
        if documents is None:
            self._ask()
            return None
        former, self.documents = self.documents, documents
        self.seen = message.version
        self._applied = AppliedChanges(message.applied)
        waited, self._synced = not self._synced, True
        for put in self._puts.values() if waited else ():
            self._send_put(put)
        return [
            key for key in sorted(former.keys() | documents.keys()) if former.get(key) != documents.get(key)
        ]

    def change(self, message: DocumentChanged) -> None:
        """Make a change of one document, call the watchers, tell the keeper that this member has the change,
        unless this member has asked for it (then the keeper does not wait for the message), and call the
        followers. Does nothing if a change before got lost, or all documents are still coming, of which this
        change is part."""
        with self._lock:
            if not self.has(message.version - 1):
                return
            if message.content is None:
                changed = self.documents.pop(message.key, None) is not None
            else:
                changed = True
                self.documents[message.key] = Document(message.version, message.content)
            self.seen = message.version
            request, oldest = message.request, message.oldest
            self._applied.note(message.writer, request, oldest=oldest, version=message.version)
        if changed:
            notify(self.watchers, message.key)
        self.watched = message.version
        if message.writer != self._name:
            self.tell_seen()
        if changed:
            notify(self.followers, message.key)

    def tell_seen(self) -> None:
        """Tell the keeper of which changes this member's watchers have heard."""
        self._send(DocumentsSeen(self.watched))

    def forget(self, gone: Iterable[str]) -> None:
        """With the lock held: forget which requests of the members and clients ``gone`` were carried out.
        Those of others stay, known here or not: this member may have to tell a new keeper."""
        self._applied.forget(gone)

    # ---- the report to a new keeper

    def messages(self) -> Iterator[DocumentCopy]:
        """With the lock held: yield all documents as messages to a new keeper."""
        for key, document in self.documents.items():
            yield DocumentCopy(key, document.version, document.content)

    def versions(self) -> dict[str, int]:
        """With the lock held: return the versions of all documents by key."""
        return versions_of(self.documents)

    def applied(self) -> tuple[AppliedChange, ...]:
        """With the lock held: return the changes that their writers may ask for again."""
        return self._applied.entries()


def _unanswered(why: str) -> OperationalError:
    return OperationalError(f"{why}; the change may have been made", sqlstate="08007")


def _not_sent(why: str) -> OperationalError:
    return OperationalError(f"{why}; nothing was changed", sqlstate="08006")
