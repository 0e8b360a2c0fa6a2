"""A session's picture of its cluster's catalog; temporary tables and views are its own."""

import secrets
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from sqlfront.cache import CachedTable
from sqlfront.cluster.documents import Documents
from sqlfront.cluster.relations import (
    RELATION,
    TABLE,
    FileRelation,
    Relation,
    Tables,
    decode_relation,
    encode_relation,
    relation_key,
    tables_of,
)
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_engine.errors import OperationalError
from sqlfront_planner.catalog import Catalog, Entry, PathTables, TableEntry, already_exists, is_default


class ClusterCatalog(Catalog):
    """What is not temporary here is what the cluster's documents say, as soon as they do: a change is made by
    the keeper, and known to all sessions when it returns. ``spread``: the spread tables by identity."""

    def __init__(
        self,
        path_tables: PathTables,
        documents: Documents,
        spread: "weakref.WeakValueDictionary[str, SpreadTable]",
    ) -> None:
        super().__init__(path_tables)
        self._documents = documents
        self._tables = Tables(spread.get, self._file_table)
        self._files: weakref.WeakValueDictionary[str, FileTable] = weakref.WeakValueDictionary()
        self._identities: weakref.WeakKeyDictionary[FileTable, str] = weakref.WeakKeyDictionary()
        # Invariant: under the catalog's lock; what names are known to stand for.
        self._known: dict[str, Relation] = {}

    # ---- what the documents say

    def begin(self) -> None:
        """Learn what there is; to be called when :meth:`hear` hears of all that changes from now on."""
        for key in self._documents.keys(RELATION):
            self.hear(key)

    def hear(self, key: str) -> None:
        """A document has changed."""
        with self._lock:
            if key.startswith(RELATION):
                document = self._documents.get(key)
                if document is None:
                    self._known.pop(key, None)
                else:
                    self._known[key] = decode_relation(document.content)
                self._enter(key)
            elif key.startswith(TABLE):
                identity = key.removeprefix(TABLE)
                for name, relation in self._known.items():
                    if identity in tables_of(relation):
                        self._enter(name)

    def _enter(self, key: str) -> None:
        """With the lock held: let the name stand for what is known of it."""
        relation = self._known.get(key)
        entry = None if relation is None else self._tables.entry(relation)
        name = key.removeprefix(RELATION)
        group = dict(self._state.relations)
        if entry is None:
            if group.pop(name, None) is None:
                return
        else:
            group[name] = entry
        self._publish(group, temporary=False)

    def _file_table(self, relation: FileRelation) -> FileTable:
        table = self._files.get(relation.identity)
        if table is None:
            table = FileTable(relation.name, relation.location, relation.version, managed=relation.managed)
            self._files[relation.identity] = table
            self._identities[table] = relation.identity
        else:
            table.adopt(relation.version)
        return table

    def _identity(self, table: FileTable) -> str:
        identity = self._identities.get(table)
        if identity is None:
            identity = self._identities[table] = secrets.token_hex(8)
            self._files[identity] = table
        return identity

    # ---- changes

    def add(self, entry: Entry, *, replace: bool = False) -> Entry | None:
        """See :meth:`~sqlfront_planner.catalog.Catalog.add`. OperationalError if the keeper can't
        be asked."""
        if entry.temporary:
            return super().add(entry, replace=replace)
        key = relation_key(entry.name)
        while True:
            version = self._documents.version(key)
            if version and not replace:
                raise already_exists(entry)
            previous = self._state.relations.get(entry.name.lower())
            if self._documents.put(key, encode_relation(entry, self._identity), version):
                return previous

    def remove(self, parts: tuple[str, ...]) -> Entry | None:
        """See :meth:`~sqlfront_planner.catalog.Catalog.remove`."""
        name = parts[-1].lower()
        if len(parts) == 1 and name in self._state.temporary:
            return super().remove(parts)
        entry = self._state.relations.get(name)
        if entry is None or not (len(parts) == 1 or is_default(parts[:-1])):
            return None
        key = relation_key(name)
        while version := self._documents.version(key):
            if self._documents.put(key, None, version):
                return entry
        return None

    @contextmanager
    def writing(self, table: Table, holder: str) -> Iterator[None]:
        """While it lasts no other session adds files to the table; at its end all know its files."""
        if isinstance(table, CachedTable) and isinstance(table.origin, TableEntry):
            table = table.origin.table
        identity = self._identities.get(table) if isinstance(table, FileTable) else None
        if identity is None:
            yield
            return
        assert isinstance(table, FileTable)
        with self._documents.turn(identity, f"`{table.name}`", f"{holder}.{secrets.token_hex(4)}"):
            yield
            self._republish(table)

    def _republish(self, table: FileTable) -> None:
        """Tell all sessions of a file table's new version."""
        for key, relation in tuple(self._known.items()):
            entry = self._state.relations.get(key.removeprefix(RELATION))
            if entry is None or self._identities.get(table) not in _files_of(relation):
                continue
            content = encode_relation(entry, self._identity)
            if not self._documents.put(key, content, self._documents.version(key)):
                raise OperationalError(
                    f"`{table.name}` was changed by another session; its files may not all be known to it",
                    sqlstate="40001",
                )


def _files_of(relation: Relation) -> tuple[str, ...]:
    """The identities of the file tables that a relation stands for."""
    origin = getattr(relation, "origin", relation)
    return (origin.identity,) if isinstance(origin, FileRelation) else ()
