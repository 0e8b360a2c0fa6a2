"""Lookups of rows of spread tables by key: one question to the member that has the key's rows. If the key is
an index's, that member may be unknown; then every member with rows is asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec.rows import encode_rows
from sqlfront_cluster.members.protocol.member_list import NOBODY, MemberList
from sqlfront_connectors.base import Key, Partitioning, RowValues
from sqlfront_connectors.memory.spread.lookup import Lookup, answer_decoder, encode_lookup
from sqlfront_connectors.memory.spread.store import STORE, partitions_moved
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.partitioning.partitions import key_hasher


class SpreadVersion(Protocol):
    """A version of a table whose rows are spread over members, limited to the methods that a lookup needs."""

    @property
    def members(self) -> "MemberRequests":
        """The members over which the version's rows are spread."""

    @property
    def owners(self) -> tuple[str, ...]:
        """The member that has the rows of each partition."""

    @property
    def at_owners(self) -> bool:
        """Whether all members among :attr:`owners` are present."""

    def check_complete(self) -> None:
        """Raise OperationalError if a member that had rows of the version has left the cluster."""


class MemberRequests(Protocol):
    """The members of the cluster, limited to the methods that a lookup needs."""

    @property
    def member_list(self) -> MemberList:
        """The current member list, with the owners of the partitions."""

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """Send a question to each of several members, and return the answers by the member's name.
        ``service``: the key of the service that answers. ``questions``: by the member's name. ``query``: a
        query at whose end the waiting stops. Raises the first error among the answers; OperationalError if a
        member is missing or lost (SQLSTATE 08006), the cluster has changed (40001), or the query was stopped.
        """


class RowRequest:
    """The parts of a lookup that are the same for all keys, so that they are made once. ``question``: the
    lookup without keys. ``read``: the decoder of the answers.

    ``hash``: a function that returns the hash of a key, from which the key's partition follows; None = the
    lookup's columns lack some column of the partition key, so that a key's rows may be on any member.
    """

    __slots__ = ("hash", "question", "read")

    def __init__(self, schema: pa.Schema, partitioning: Partitioning | None, question: Lookup) -> None:
        self.question = question
        self.read = answer_decoder(schema, question.columns)
        self.hash: Callable[[Key], int] | None = None
        if partitioning is not None and {*partitioning.columns} <= {*question.by}:
            hash_key = key_hasher([schema.field(ordinal).type for ordinal in partitioning.columns])
            if partitioning.columns == question.by:
                self.hash = hash_key
            else:
                places = [question.by.index(ordinal) for ordinal in partitioning.columns]
                self.hash = lambda key: hash_key([key[place] for place in places])


class SpreadPath:
    """A lookup of rows by key (a :class:`~sqlfront_connectors.base.RowPath`) in a table whose rows are spread
    over members. While it exists, the members keep the version. ``way``: the parts of the lookup that don't
    depend on the keys, such as the wanted columns.

    A lookup sends one question to each member that may have rows with the keys. :meth:`find` raises
    OperationalError with SQLSTATE 40001 if partitions have changed their owners or the version is gone, with
    08006 if a member is lost meanwhile, and the error of a stopped query if ``query`` is given and stopped.
    """

    __slots__ = ("_query", "_version", "_way")

    def __init__(self, version: SpreadVersion, way: RowRequest, query: QueryRun | None = None) -> None:
        self._version = version
        self._way = way
        self._query = query

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """Return the rows of each key, in the order of the keys; no rows for a key that isn't found. Raises
        OverflowError for values beyond Python's years, TooManyRows for too many rows on one member, and
        OperationalError if a member with rows or the version is gone (SQLSTATE 40001), a member is lost
        (08006) or the query was stopped."""
        hash_key, read = self._way.hash, self._way.read
        if not self._version.at_owners:
            raise partitions_moved(self._way.question.table)
        owners = self._version.owners
        if hash_key is None:
            return self._find_anywhere(keys, owners)
        if len(keys) == 1:
            owner = owners[hash_key(keys[0]) % len(owners)]
            return read(self._ask({owner: self._encoded(keys)})[owner], 1)
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(owners[hash_key(key) % len(owners)], []).append(place)
        answers = self._ask(
            {owner: self._encoded([keys[place] for place in own]) for owner, own in places.items()}
        )
        found: list[list[RowValues]] = [[] for _ in keys]
        for owner, own in places.items():
            for place, rows in zip(own, read(answers[owner], len(own)), strict=True):
                found[place] = rows
        return found

    def _find_anywhere(self, keys: Sequence[Key], owners: tuple[str, ...]) -> list[list[RowValues]]:
        if not keys:
            return []
        answers = self._ask(dict.fromkeys(owners, self._encoded(keys)))
        found: list[list[RowValues]] = [[] for _ in keys]
        for owner in sorted(answers):
            for rows, more in zip(found, self._way.read(answers[owner], len(keys)), strict=True):
                rows += more
        return found

    def _encoded(self, keys: Sequence[Key]) -> bytes:
        asked = self._way.question
        return encode_lookup(
            Lookup(
                asked.version,
                asked.table,
                asked.by,
                asked.columns,
                msgspec.Raw(encode_rows(keys)),
                asked.numbered,
            )
        )

    def _ask(self, questions: Mapping[str, bytes]) -> Mapping[str, bytes | memoryview]:
        if NOBODY in questions:
            self._version.check_complete()
        return self._version.members.ask(STORE, questions, self._query)
