"""Relations of the names in a cluster's catalog, stored in documents ``relation:<name>``.

The tables themselves have documents of their own (``sqlfront_connectors.memory.spread.documents``). Temporary
tables have no name here. Versions and names change separately: a name is entered when its table has its rows.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster import codec
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.version import FileVersion
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.catalog import Entry, TableEntry, ViewEntry
from sqlfront_planner.relation_details import NO_DETAILS, RelationDetails
from sqlfront_values.errors import NotSupportedError

RELATION: Final = "relation:"
#: The key of the document with the comment of the schema ``default``, in UTF-8.
SCHEMA: Final = "schema:default"


class MemoryRelation(msgspec.Struct, frozen=True, tag=True):
    """A memory table of the cluster: the spread table ``identity`` under a name."""

    name: str
    identity: str
    details: RelationDetails = NO_DETAILS


class FileRelation(msgspec.Struct, frozen=True, tag=True):
    """A table over files, with its current files."""

    name: str
    identity: str
    location: str
    managed: bool
    version: FileVersion
    details: RelationDetails = NO_DETAILS


class ViewRelation(msgspec.Struct, frozen=True, tag=True):
    """A view; see :class:`~sqlfront_planner.catalog.ViewEntry`."""

    name: str
    sql: str
    columns: tuple[str, ...]
    details: RelationDetails = NO_DETAILS
    schema: pa.Schema | None = None


class CachedRelation(msgspec.Struct, frozen=True, tag=True):
    """Another relation, with a copy in the spread table ``identity`` that answers queries."""

    origin: "MemoryRelation | FileRelation | ViewRelation"
    identity: str


Relation: TypeAlias = MemoryRelation | FileRelation | ViewRelation | CachedRelation


def relation_key(name: str) -> str:
    """The key of the document for the relation ``name``."""
    return RELATION + name.lower()


def tables_of(relation: Relation) -> tuple[str, ...]:
    """The identities of the spread tables that the relation refers to."""
    match relation:
        case MemoryRelation():
            return (relation.identity,)
        case CachedRelation():
            return (relation.identity, *tables_of(relation.origin))
        case _:
            return ()


def decode_relation(content: bytes) -> Relation:
    """Decode the relation in a name's document."""
    relation: Relation = codec.decode(content, Relation)  # type: ignore[arg-type]
    return relation


def encode_relation(entry: Entry, identity: Callable[[FileTable], str]) -> bytes:
    """Encode the catalog's entry as a relation; ``identity`` gives the identities of file tables. Raises
    NotSupportedError for a table that only this process can read."""
    return codec.encode(_relation(entry, identity))


def _relation(entry: Entry, identity: Callable[[FileTable], str]) -> Relation:
    if isinstance(entry, ViewEntry):
        return ViewRelation(entry.name, entry.sql, entry.columns, entry.details, entry.schema)
    match entry.table:
        case SpreadTable() as table:
            return MemoryRelation(entry.name, table.identity, entry.details)
        case FileTable() as table:
            return FileRelation(
                entry.name, identity(table), table.location, table.managed, table.version, entry.details
            )
        case CachedTable(origin=origin, copy=SpreadTable() as copy):
            inner = _relation(origin, identity)
            assert not isinstance(inner, CachedRelation)
            return CachedRelation(inner, copy.identity)
        case table:
            raise NotSupportedError(
                f"`{entry.name}` (format {table.format}) can't be a table of the cluster; make it temporary"
            )


class Tables:
    """A factory of catalog entries for relations; a table is always the same object.

    ``spread(identity)`` gives the spread table with the identity, None while it isn't known yet;
    ``files(relation)`` gives the table of a file relation, in the relation's version.
    """

    def __init__(
        self,
        spread: Callable[[str], SpreadTable | None],
        files: Callable[[FileRelation], FileTable],
    ) -> None:
        self._spread = spread
        self._files = files

    def entry(self, relation: Relation) -> Entry | None:
        """The catalog's entry of a relation; None while one of the relation's tables isn't known."""
        match relation:
            case ViewRelation():
                return ViewEntry(
                    relation.name,
                    relation.sql,
                    relation.columns,
                    details=relation.details,
                    schema=relation.schema,
                )
            case MemoryRelation():
                table = self._spread(relation.identity)
                return None if table is None else TableEntry(relation.name, table, details=relation.details)
            case FileRelation():
                return TableEntry(relation.name, self._files(relation), details=relation.details)
            case CachedRelation():
                origin, copy = self.entry(relation.origin), self._spread(relation.identity)
                if origin is None or copy is None:
                    return None
                return TableEntry(origin.name, CachedTable(origin, copy))
