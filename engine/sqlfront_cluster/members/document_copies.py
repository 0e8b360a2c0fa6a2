"""The documents of the cluster as one member has them, and the member's requests for changes of documents.

Requests wait while there is no keeper, or while the keeper's documents are still coming; those without an
answer are sent again to the next keeper, which knows which of them were carried out.
"""

from collections.abc import Callable, Container, Iterator
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.members.applied_changes import AppliedChanges
from sqlfront_cluster.members.cluster_messages import (
    AppliedChange,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    DocumentsSeen,
    Premises,
    PutDocument,
)
from sqlfront_cluster.members.document import Document
from sqlfront_cluster.members.membership_state import MembershipStatus
from sqlfront_cluster.members.messages import Message
from sqlfront_cluster.members.watchers import notify
from sqlfront_values.errors import OperationalError

#: The outcome of a change: the answer, or the error.
PutOutcome: TypeAlias = DocumentAnswer | OperationalError


class _Put(msgspec.Struct):
    """A request for a change of a document, until it is answered. ``done``: receives the outcome. ``sent``:
    whether the request was sent to any keeper."""

    request: PutDocument
    done: Callable[[PutOutcome], None]
    sent: bool = False


class DocumentCopies:
    """The copies of the cluster's documents at one member, and the member's requests for changes. ``send``:
    sends a message to the keeper, if there is one. ``status``: the membership's state, whose lock guards all
    fields; methods whose description says "with the lock held" don't take the lock."""

    def __init__(self, send: Callable[[Message], None], status: MembershipStatus) -> None:
        #: The documents by key.
        self.documents: dict[str, Document] = {}
        #: Functions called with a document's key after each change of the document.
        self.watchers: list[Callable[[str], None]] = []
        #: The number of the last change that this member has.
        self.seen = 0
        self._send = send
        self._status, self._lock = status, status.lock
        self._applied = AppliedChanges()
        # Whether the keeper has sent all documents since it was connected.
        self._synced = False
        # Documents that the keeper has sent since it was connected, until it has sent all.
        self._coming: dict[str, Document] = {}
        self._puts: dict[int, _Put] = {}
        self._requests = 0

    # ---- requests

    def put(
        self,
        key: str,
        content: bytes | None,
        expected: int | None,
        done: Callable[[PutOutcome], None],
        premises: Premises = (),
        dealt: int | None = None,
    ) -> None:
        """Request a change; :meth:`~sqlfront_cluster.members.membership.Membership.put` has the contract."""
        with self._lock:
            ended = self._status.ended
            if not ended:
                self._requests += 1
                request = PutDocument(self._requests, key, expected, content, premises, dealt=dealt)
                self._puts[self._requests] = put = _Put(request, done)
                if self._synced:
                    self._send_put(put)
        if ended:
            done(_not_sent(self._status.why))

    def _send_put(self, put: _Put) -> None:
        """With the lock held: send a request for a change; at most once for each connection."""
        put.sent = True
        self._send(replace(put.request, oldest=next(iter(self._puts))))

    def answered(self, message: DocumentAnswer) -> None:
        """Give the keeper's answer to whoever has made the request; does nothing for a second answer."""
        with self._lock:
            put = self._puts.pop(message.request, None)
        if put is not None:
            put.done(message)

    def fail_requests(self) -> None:
        """End all requests without an answer with an error, since the membership has ended."""
        with self._lock:
            puts, self._puts = self._puts, {}
        why = self._status.why
        for put in puts.values():
            put.done(_unanswered(why) if put.sent else _not_sent(why))

    # ---- the keeper's documents

    def pause(self) -> None:
        """With the lock held: send no request until all documents have come again, since the keeper was lost
        or asks what this member has."""
        self._synced = False

    def begin(self) -> None:
        """With the lock held: expect all documents from a newly connected keeper."""
        self._synced, self._coming = False, {}

    def copy(self, message: DocumentCopy) -> None:
        """Store one of the documents of a newly connected keeper until all have come."""
        self._coming[message.key] = Document(message.version, message.content)

    def take_all(self, message: DocumentKeys) -> list[str]:
        """With the lock held: use the documents that the keeper has sent since it was connected, all at once:
        a part of them would be a state that the cluster never had. Sends the waiting requests. Returns the
        keys of the documents that differ from those before, in order; the watchers are not called."""
        documents, self._coming = self._coming, {}
        former, self.documents = self.documents, documents
        self.seen = message.version
        self._applied = AppliedChanges(message.applied)
        self._synced = True
        for put in self._puts.values():
            self._send_put(put)
        return [
            key for key in sorted(former.keys() | documents.keys()) if former.get(key) != documents.get(key)
        ]

    def change(self, message: DocumentChanged) -> None:
        """Make a change of one document, call the watchers, and tell the keeper that this member has the
        change."""
        with self._lock:
            if message.content is None:
                changed = self.documents.pop(message.key, None) is not None
            else:
                changed = True
                self.documents[message.key] = Document(message.version, message.content)
            self.seen = max(self.seen, message.version)
            request, oldest = message.request, message.oldest
            self._applied.note(message.writer, request, oldest=oldest, version=message.version)
        if changed:
            notify(self.watchers, message.key)
        self.tell_seen()

    def tell_seen(self) -> None:
        """Tell the keeper which changes this member has."""
        self._send(DocumentsSeen(self.seen))

    def keep_only(self, present: Container[str]) -> None:
        """With the lock held: forget which requests of members and clients that are not ``present`` were
        carried out."""
        self._applied.keep_only(present)

    # ---- the report to a new keeper

    def messages(self) -> Iterator[DocumentCopy]:
        """With the lock held: yield all documents as messages to a new keeper."""
        for key, document in self.documents.items():
            yield DocumentCopy(key, document.version, document.content)

    def applied(self) -> tuple[AppliedChange, ...]:
        """With the lock held: return the changes that their writers may ask for again."""
        return self._applied.entries()


def _unanswered(why: str) -> OperationalError:
    return OperationalError(f"{why}; the change may have been made", sqlstate="08007")


def _not_sent(why: str) -> OperationalError:
    return OperationalError(f"{why}; nothing was changed", sqlstate="08006")
