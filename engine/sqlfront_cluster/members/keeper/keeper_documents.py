"""The documents of the cluster as the keeper has them, and the changes that not yet all members have.

>>> documents = KeeperDocuments()
>>> documents.put("client", PutDocument(1, ConditionalChange("table", b"content", 0)), dealt=0)
DocumentChanged(key='table', version=1, content=b'content', writer='client', request=1, oldest=0, epoch=1)
>>> documents.answers(lambda writer: 0)
[]
>>> documents.answers(lambda writer: 1)
[('client', DocumentAnswer(request=1, stored=True, version=1, epoch=1))]
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

import msgspec

from sqlfront_cluster.members.protocol.applied_changes import AppliedChanges
from sqlfront_cluster.members.protocol.cluster_messages import (
    AppliedChange,
    DocumentAnswer,
    DocumentChanged,
    DocumentCopy,
    DocumentKeys,
    KeeperMessage,
    PutDocument,
)
from sqlfront_cluster.members.protocol.document import ConditionalChange, Document, versions_of


class _Change(msgspec.Struct, frozen=True):
    """A change of a document that not yet all members have. ``writer``: the member that asked for the change
    and waits for the answer. ``request``: the number in the writer's :class:`PutDocument`."""

    version: int
    writer: str
    request: int


class KeeperDocuments:
    """The documents at the keeper, whose lock guards them. ``contents``: the documents to begin with, by key.
    ``version``: the number of the last change. ``applied``: the changes that their writers may ask for
    again."""

    def __init__(
        self,
        contents: Mapping[str, Document] | None = None,
        version: int = 0,
        applied: Iterable[AppliedChange] = (),
    ) -> None:
        #: The documents by key.
        self.contents: dict[str, Document] = dict(contents or {})
        #: The number of the last change.
        self.version = version
        self._applied = AppliedChanges(applied)
        self._changes: list[_Change] = []

    def put(self, writer: str, message: PutDocument, dealt: int) -> DocumentChanged | DocumentAnswer | None:
        """Make the change that ``writer`` asks for, if the documents' versions and the owners of partitions
        are those that it expects. ``dealt``: the version of the member list in which a partition last changed
        its owner. Returns the message about the change to all members, or the refusal to the writer; None if
        the change was made before."""
        made = self._applied.find(writer, message.request)
        if made is not None:
            again = _Change(made, writer, message.request)
            if again not in self._changes:
                self._changes.append(again)
            return None
        change = message.change
        if not self._allows(change, dealt):
            return DocumentAnswer(message.request, stored=False, version=self._version_of(change.key))
        self.count()
        return self._change(writer, message)

    def _allows(self, change: ConditionalChange, dealt: int) -> bool:
        """Return whether the documents' versions and the owners of partitions are those that the writer
        expects. Whoever hears of new owners from this keeper has heard of all changes that expect the former
        ones before."""
        expected = (*change.premises, (change.key, change.expected))
        return change.dealt in (None, dealt) and all(
            version is None or self._version_of(key) == version for key, version in expected
        )

    def _change(self, writer: str, message: PutDocument) -> DocumentChanged:
        """Make the change ``message`` of ``writer``, as the change with the present number."""
        key, content = message.change.key, message.change.content
        if content is None:
            self.contents.pop(key, None)
        else:
            self.contents[key] = Document(self.version, content)
        request, oldest = message.request, message.oldest
        self._applied.note(writer, request, oldest=oldest, version=self.version)
        self._changes.append(_Change(self.version, writer, request))
        return DocumentChanged(key, self.version, content, writer, request, oldest=oldest)

    def _version_of(self, key: str) -> int:
        document = self.contents.get(key)
        return 0 if document is None else document.version

    def answers(self, seen: Callable[[str], int]) -> list[tuple[str, DocumentAnswer]]:
        """Return the answers for the changes that all members except their writers have now, each with the
        name of the writer; each answer is returned once. ``seen``: a function that returns the number of the
        last change that all members except the given writer have."""
        if not self._changes:
            return []
        complete = [change for change in self._changes if change.version <= seen(change.writer)]
        self._changes = [change for change in self._changes if change not in complete]
        return [
            (change.writer, DocumentAnswer(change.request, stored=True, version=change.version))
            for change in complete
        ]

    def count(self) -> int:
        """Return the number of a change of something else, which members hear of in the order of the changes
        of documents."""
        self.version += 1
        return self.version

    def messages(self, clients: tuple[str, ...]) -> Iterator[KeeperMessage]:
        """Yield the messages that give a member all documents, and the names of the ``clients``."""
        for key, document in sorted(self.contents.items(), key=lambda item: item[1].version):
            yield DocumentCopy(key, document.version, document.content)
        yield DocumentKeys(versions_of(self.contents), self.version, clients, self._applied.entries())

    def keep_only(self, present: Container[str]) -> None:
        """Forget which requests of writers were carried out that are not in ``present``, the members and the
        clients without a place in the member list."""
        self._applied.keep_only(present)
