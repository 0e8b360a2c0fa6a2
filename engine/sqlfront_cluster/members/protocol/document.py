"""A replicated document of a cluster, and a change of it."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

#: Keys of documents, each with the version that the document has to have (0: there is no document).
Premises: TypeAlias = tuple[tuple[str, int], ...]


class Document(msgspec.Struct, frozen=True):
    """A replicated document, such as a table's definition. ``version``: the number of its last change; the
    changes of all documents are counted together."""

    version: int
    content: bytes


class ConditionalChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a document that the keeper makes only if nothing has changed that the writer relies on.

    ``content`` becomes the content of the document ``key``, None = the document is removed. The keeper
    requires that the document's version is ``expected`` (0: no such document exists, None: any version), that
    other documents, the ``premises``, still have the versions given with their keys, and that no partition
    has changed its owner since the version ``dealt`` of the member list (None: partitions don't matter).
    """

    key: str
    content: bytes | None
    expected: int | None
    premises: Premises = ()
    dealt: int | None = None


def versions_of(documents: Mapping[str, Document]) -> dict[str, int]:
    """Return the versions of documents by key."""
    return {key: document.version for key, document in documents.items()}


def complete(come: Mapping[str, Document], versions: Mapping[str, int]) -> dict[str, Document] | None:
    """Return those documents that have come, by key, which are meant by ``versions``: all documents of the
    sender, with their versions. None if one of them got lost.

    >>> complete({"a": Document(1, b""), "b": Document(2, b"")}, {"b": 2})
    {'b': Document(version=2, content=b'')}
    >>> complete({"a": Document(1, b"")}, {"a": 3})
    """
    documents = {key: come[key] for key in versions if key in come}
    return documents if versions_of(documents) == versions else None
