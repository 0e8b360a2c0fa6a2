"""What the documents of a cluster say about tables and views.

``table:<identity>`` holds the current version of a spread memory table, ``relation:<name>`` what a name of
the catalog stands for. Temporary tables have no name here. Versions and names change separately: a name is
entered when its table has its rows.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront.cache import CachedTable
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.version import FileVersion
from sqlfront_connectors.memory.index import IndexDefinition
from sqlfront_connectors.memory.share_statistics import decode_statistics, encode_statistics
from sqlfront_connectors.memory.spread import SpreadTable, TableVersion
from sqlfront_engine import codec
from sqlfront_engine.errors import NotSupportedError
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry

TABLE: Final = "table:"
RELATION: Final = "relation:"


# ---- versions of spread tables


class TableDocument(msgspec.Struct, frozen=True):
    """A spread table and its current version; ``known``: see
    :func:`~sqlfront_connectors.memory.share_statistics.encode_statistics`. ``creator``: the member whose
    table it is as long as no name stands for it."""

    name: str
    schema: pa.Schema
    partitioning: tuple[tuple[int, ...], int] | None
    creator: str
    reloaded: bool
    number: int
    key: str | None
    known: bytes
    dealt: int
    owners: tuple[str, ...]
    indexes: tuple[IndexDefinition, ...] = ()


def encode_table(table: SpreadTable, version: TableVersion, creator: str) -> bytes:
    """The document's content."""
    placed = table.partitioning
    return codec.encode(
        TableDocument(
            table.name,
            table.schema,
            None if placed is None else (placed.columns, placed.count),
            creator,
            table.reloaded,
            version.number,
            version.key,
            encode_statistics(version.known),
            version.dealt,
            version.owners,
            version.indexes,
        )
    )


def decode_table(content: bytes) -> TableDocument:
    """The other way round."""
    return codec.decode(content, TableDocument)


def version_of(document: TableDocument) -> TableVersion:
    """The version that the document publishes."""
    return TableVersion(
        document.number,
        document.key,
        decode_statistics(document.known, document.schema),
        document.dealt,
        document.owners,
        document.indexes,
    )


def partitioning_of(document: TableDocument) -> Partitioning | None:
    """How its rows are placed."""
    return None if document.partitioning is None else Partitioning(*document.partitioning)


# ---- what names stand for


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
