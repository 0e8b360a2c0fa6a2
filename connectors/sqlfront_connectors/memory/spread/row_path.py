"""Rows of spread tables by key: a question to the owner of the key. By an index: a question to all owners."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec.rows import encode_rows
from sqlfront_cluster.members.member_list import NOBODY, MemberList
from sqlfront_connectors.base import Key, Partitioning, RowValues
from sqlfront_connectors.memory.spread.lookup import Lookup, answer_decoder, encode_lookup
from sqlfront_connectors.memory.spread.store import STORE, partitions_moved
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.partitioning.partitions import key_hasher


class SpreadVersion(Protocol):
    """A version of a spread table."""

    @property
    def members(self) -> "MemberRequests":
        """The members among whom the version is spread."""

    def check_complete(self) -> None:
        """Raise OperationalError unless all members that hold a part of the version are present."""


class MemberRequests(Protocol):
    """The members, limited to the methods that a lookup needs."""

    @property
    def member_list(self) -> MemberList:
        """The members of the cluster now, and the dealing of the partitions."""

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """Send each question to a service of the member by whose name it is given, and return the answers by
        member; see :meth:`sqlfront_cluster.members.requests.Requests.ask`."""


class RowRequest:
    """The parts of a lookup that don't depend on its keys, made once. ``question``: a question without keys.

    ``hash`` returns the number of a key's partition before the modulus; None: the rows of a key may be on any
    member, since the index lacks some of the clustering columns.
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
    """A :class:`~sqlfront_connectors.base.RowPath` over members. Holds its version.

    A lookup sends one question to each member that may have rows of the keys. Raises OperationalError with
    SQLSTATE 40001 if the partitions were dealt anew or the version is gone, 08006 if a member is lost
    meanwhile, and the error of a stopped query if the path belongs to a query.
    """

    __slots__ = ("_query", "_version", "_way")

    def __init__(self, version: SpreadVersion, way: RowRequest, query: QueryRun | None = None) -> None:
        self._version = version
        self._way = way
        self._query = query

    def find(self, keys: Sequence[Key]) -> list[list[RowValues]]:
        """Return the rows of each key, in the order of the keys. Raises OverflowError for values beyond
        Python's years, TooManyRows for too many rows on one member, and the errors named above."""
        owners, hash_key, read = self._owners(), self._way.hash, self._way.read
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

    def _owners(self) -> tuple[str, ...]:
        members, question = self._version.members.member_list, self._way.question
        if members.dealt != question.dealt:
            raise partitions_moved(question.table)
        return members.owners

    def _encoded(self, keys: Sequence[Key]) -> bytes:
        asked = self._way.question
        return encode_lookup(
            Lookup(
                asked.version,
                asked.table,
                asked.dealt,
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
