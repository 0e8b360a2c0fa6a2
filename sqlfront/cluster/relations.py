"""What the names of a cluster's catalog stand for, as its documents ``relation:<name>`` say.

The tables themselves are in documents of their own (``sqlfront_connectors.memory.documents``). Temporary
tables have no name here. Versions and names change separately: a name is entered when its table has its rows.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from sqlfront.cache import CachedTable
from sqlfront_cluster import codec
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.version import FileVersion
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry
from sqlfront_values.errors import NotSupportedError

RELATION: Final = "relation:"


class MemoryRelation(msgspec.Struct, frozen=True, tag=True):
    """The spread table of that identity."""

    name: str
    identity: str


class FileRelation(msgspec.Struct, frozen=True, tag=True):
    """A table over files, with those that it has now."""

    name: str
    identity: str
    location: str
    managed: bool
    version: FileVersion


class ViewRelation(msgspec.Struct, frozen=True, tag=True):
    """See :class:`~sqlfront_planner.catalog.ViewEntry`."""

    name: str
    sql: str
    columns: tuple[str, ...]


class CachedRelation(msgspec.Struct, frozen=True, tag=True):
    """A copy in the spread table ``identity`` answers for another relation."""

    origin: "MemoryRelation | FileRelation | ViewRelation"
    identity: str


Relation: TypeAlias = MemoryRelation | FileRelation | ViewRelation | CachedRelation


def relation_key(name: str) -> str:
    """The key of what the name stands for."""
    return RELATION + name.lower()


def tables_of(relation: Relation) -> tuple[str, ...]:
    """The identities of the spread tables that it stands for."""
    match relation:
        case MemoryRelation():
            return (relation.identity,)
        case CachedRelation():
            return (relation.identity, *tables_of(relation.origin))
        case _:
            return ()


def decode_relation(content: bytes) -> Relation:
    """What a name's document says."""
    relation: Relation = codec.decode(content, Relation)  # type: ignore[arg-type]
    return relation


def encode_relation(entry: Entry, identity: Callable[[FileTable], str]) -> bytes:
    """What the catalog's entry becomes; ``identity`` names file tables. NotSupportedError for a table that
    only this process can read."""
    return codec.encode(_relation(entry, identity))


def _relation(entry: Entry, identity: Callable[[FileTable], str]) -> Relation:
    if isinstance(entry, ViewEntry):
        return ViewRelation(entry.name, entry.sql, entry.columns)
    match entry.table:
        case SpreadTable() as table:
            return MemoryRelation(entry.name, table.identity)
        case FileTable() as table:
            return FileRelation(entry.name, identity(table), table.location, table.managed, table.version)
        case CachedTable(origin=origin, copy=SpreadTable() as copy):
            inner = _relation(origin, identity)
            assert not isinstance(inner, CachedRelation)
            return CachedRelation(inner, copy.identity)
        case table:
            raise NotSupportedError(
                f"`{entry.name}` (format {table.format}) can't be a table of the cluster; make it temporary"
            )


class Tables:
    """Makes the catalog's entries of relations; the same table is always the same object.

    ``spread(identity)`` gives the table of that identity, None while it isn't known yet;
    ``files(relation)`` that of a file relation, in the version that it says.
    """

    def __init__(
        self,
        spread: Callable[[str], SpreadTable | None],
        files: Callable[[FileRelation], FileTable],
    ) -> None:
        self._spread = spread
        self._files = files

    def entry(self, relation: Relation) -> Entry | None:
        """The entry; None while a table that it stands for isn't known."""
        match relation:
            case ViewRelation():
                return ViewEntry(relation.name, relation.sql, relation.columns)
            case MemoryRelation():
                table = self._spread(relation.identity)
                return None if table is None else TableEntry(relation.name, table)
            case FileRelation():
                return TableEntry(relation.name, self._files(relation))
            case CachedRelation():
                origin, copy = self.entry(relation.origin), self._spread(relation.identity)
                if origin is None or copy is None:
                    return None
                return TableEntry(origin.name, CachedTable(origin, copy))
