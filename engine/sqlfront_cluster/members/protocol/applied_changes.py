"""The changes of documents that their writers may ask for again, since a writer may have missed the answer.

The keeper and all members have equal copies, so that a new keeper knows which requests were carried out.

>>> changes = AppliedChanges()
>>> changes.note("client", 7, oldest=6, version=30)
>>> changes.find("client", 7), changes.find("client", 6)
(30, None)
>>> changes.note("client", 8, oldest=8, version=31)
>>> changes.entries()
(('client', 8, 31),)
"""

from collections.abc import Container, Iterable

from sqlfront_cluster.members.protocol.cluster_messages import AppliedChange


class AppliedChanges:
    """The changes that were made for requests whose writers may not have the answer yet."""

    def __init__(self, entries: Iterable[AppliedChange] = ()) -> None:
        # By writer and by request: the version.
        self._versions: dict[str, dict[int, int]] = {}
        for writer, request, version in entries:
            self._versions.setdefault(writer, {})[request] = version

    def note(self, writer: str, request: int, *, oldest: int, version: int) -> None:
        """Record that the ``request`` of ``writer`` was carried out and has made ``version``, and forget the
        writer's requests before ``oldest``, which are answered."""
        kept = {each: made for each, made in self._versions.get(writer, {}).items() if each >= oldest}
        self._versions[writer] = {**kept, request: version}

    def find(self, writer: str, request: int) -> int | None:
        """Return the version that the request has made; None if it wasn't carried out."""
        return self._versions.get(writer, {}).get(request)

    def keep_only(self, present: Container[str]) -> None:
        """Forget the requests of all writers that are not in ``present``, the members and the clients without
        a place in the member list."""
        for writer in [each for each in self._versions if each not in present]:
            del self._versions[writer]

    def forget(self, gone: Iterable[str]) -> None:
        """Forget the requests of the writers ``gone``."""
        for writer in gone:
            self._versions.pop(writer, None)

    def entries(self) -> tuple[AppliedChange, ...]:
        """Return all entries, for another copy."""
        return tuple(
            (writer, request, version)
            for writer, versions in self._versions.items()
            for request, version in versions.items()
        )
