"""Relations of a cluster's catalog, as stored in documents with the keys ``relation:<name>``.

A relation's document holds the name and what the name stands for; the tables have documents of their own
(``sqlfront_connectors.memory.spread.documents``). Temporary tables have no document here. A table's versions
and its name change separately: the name is entered when the table has its rows.
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
    """The entry of a memory table in the cluster's catalog, under a ``name``. ``identity``: the id of the
    table itself, which is never used again for another table, and which stays when the name changes."""

    name: str
    identity: str
    details: RelationDetails = NO_DETAILS


class FileRelation(msgspec.Struct, frozen=True, tag=True):
    """The entry of a table over files in the cluster's catalog, with the list of the table's files
    (``version``). ``identity``: the table's id in the cluster, unique for all time. ``managed``: whether DROP
    TABLE removes the files at ``location``."""

    name: str
    identity: str
    location: str
    managed: bool
    version: FileVersion
    details: RelationDetails = NO_DETAILS


class ViewRelation(msgspec.Struct, frozen=True, tag=True):
    """The entry of a view in the cluster's catalog. ``sql``: the text of the view's query. ``columns``: the
    names of the view's columns, which replace the names in the query; empty = the query's names. ``schema``:
    the query's columns at the view's creation, None = not known. ``time_zone``: the zone of the session that
    made the view, None = not known; ``ansi``: likewise whether ANSI mode was on."""

    name: str
    sql: str
    columns: tuple[str, ...]
    details: RelationDetails = NO_DETAILS
    schema: pa.Schema | None = None
    time_zone: str | None = None
    ansi: bool | None = None


class CachedRelation(msgspec.Struct, frozen=True, tag=True):
    """The entry of a relation after CACHE TABLE. ``origin`` is the entry of the relation before; ``identity``
    is the id of the memory table with the relation's copy, which queries read."""

    origin: "MemoryRelation | FileRelation | ViewRelation"
    identity: str


Relation: TypeAlias = MemoryRelation | FileRelation | ViewRelation | CachedRelation


def relation_key(name: str) -> str:
    """Return the key of the document that stores the relation ``name``; case doesn't matter."""
    return RELATION + name.lower()


def tables_of(relation: Relation) -> tuple[str, ...]:
    """Return the identities (ids) of the memory tables that the relation refers to: the id of a memory table;
    for a cached relation, the id of its copy in memory, then the id of the cached table if it is a memory
    table. Empty for other relations."""
    match relation:
        case MemoryRelation():
            return (relation.identity,)
        case CachedRelation():
            return (relation.identity, *tables_of(relation.origin))
        case _:
            return ()


def decode_relation(content: bytes) -> Relation:
    """Decode a relation from the content of its document."""
    relation: Relation = codec.decode(content, Relation)  # type: ignore[arg-type]
    return relation


def encode_relation(entry: Entry, identity: Callable[[FileTable], str]) -> bytes:
    """Encode the catalog's entry as the content of a relation's document; ``identity`` returns the id of a
    table over files. Raises NotSupportedError for a table that only this process can read."""
    return codec.encode(_relation(entry, identity))


def _relation(entry: Entry, identity: Callable[[FileTable], str]) -> Relation:
    if isinstance(entry, ViewEntry):
        return ViewRelation(
            entry.name, entry.sql, entry.columns, entry.details, entry.schema, entry.time_zone, entry.ansi
        )
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
    """A factory of catalog entries from relations; all entries for one table's id (``identity``) have the
    same table object.

    ``spread(identity)`` returns the memory table with this id, whose rows are spread over the members; None
    while the table's document hasn't arrived. ``files(relation)`` returns the table of a file relation, with
    the relation's list of files.
    """

    def __init__(
        self,
        spread: Callable[[str], SpreadTable | None],
        files: Callable[[FileRelation], FileTable],
    ) -> None:
        self._spread = spread
        self._files = files

    def entry(self, relation: Relation) -> Entry | None:
        """Return the catalog's entry for a relation; None while the document of one of its tables hasn't
        arrived."""
        match relation:
            case ViewRelation():
                return ViewEntry(
                    relation.name,
                    relation.sql,
                    relation.columns,
                    details=relation.details,
                    schema=relation.schema,
                    time_zone=relation.time_zone,
                    ansi=relation.ansi,
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
