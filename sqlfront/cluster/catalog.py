"""A session's view of its cluster's catalog: permanent relations are shared by all sessions, temporary ones
belong to the session."""

import secrets
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlfront.cluster.documents import Documents
from sqlfront.cluster.relations import (
    RELATION,
    SCHEMA,
    FileRelation,
    Relation,
    Tables,
    decode_relation,
    encode_relation,
    relation_key,
    tables_of,
)
from sqlfront.cluster.routines import ROUTINE, decode_routine, encode_routine, routine_key
from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.base import Table, superseded
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.memory.spread.documents import TABLE
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_planner.catalog import (
    NO_LOOKUPS,
    Catalog,
    Entry,
    Lookups,
    PathTables,
    TableEntry,
    already_exists,
    is_default,
    name_taken,
)
from sqlfront_planner.routines import Routine, RoutineLookup


class ClusterCatalog(Catalog):
    """A catalog whose permanent entries follow the cluster's documents. The keeper makes each change; when a
    call that changes the catalog returns, all sessions know the change. ``spread``: the memory tables on the
    members that this session knows, by their identities. ``files``: the files that this process may open."""

    def __init__(
        self,
        path_tables: PathTables,
        documents: Documents,
        spread: "weakref.WeakValueDictionary[str, SpreadTable]",
        files: FileAccess = EVERYWHERE,
    ) -> None:
        super().__init__(path_tables)
        self._documents = documents
        self._access = files
        self._tables = Tables(spread.get, self._file_table)
        self._files: weakref.WeakValueDictionary[str, FileTable] = weakref.WeakValueDictionary()
        self._identities: weakref.WeakKeyDictionary[FileTable, str] = weakref.WeakKeyDictionary()
        # Invariant: guarded by the catalog's lock, consistent with the entries. The relation of each name's
        # document, and the document's version.
        self._known: dict[str, tuple[int, Relation]] = {}

    # ---- what the documents say

    def begin(self) -> None:
        """Read the existing documents. Must be called after :meth:`hear` is registered for changes of
        documents, so that no change is missed."""
        for key in (key for kind in (RELATION, ROUTINE, SCHEMA) for key in self._documents.keys(kind)):
            self.hear(key)

    def hear(self, key: str) -> None:
        """Update the catalog after any session has changed the document ``key``: the entries that depend on
        the document are replaced."""
        if key == SCHEMA and (said := self._documents.get(key)) is not None:
            super().comment_on_schema(said.content.decode())
            return
        with self._lock:
            if key.startswith(RELATION):
                document = self._documents.get(key)
                if document is None:
                    self._known.pop(key, None)
                else:
                    self._known[key] = document.version, decode_relation(document.content)
                self._enter(key)
            elif key.startswith(ROUTINE):
                self._hear_routine(key)
            elif key.startswith(TABLE):
                identity, entered = key.removeprefix(TABLE), self._state.relations
                for name, (_, relation) in self._known.items():
                    if identity in tables_of(relation) and name.removeprefix(RELATION) not in entered:
                        self._enter(name)

    def _hear_routine(self, key: str) -> None:
        """Put the function that the document ``key`` describes into the catalog, or remove it if the document
        is gone. The caller holds the catalog's lock."""
        document, group = self._documents.get(key), dict(self._state.routines)
        if document is not None:
            group[key.removeprefix(ROUTINE)] = decode_routine(document.content)
        elif group.pop(key.removeprefix(ROUTINE), None) is None:
            return
        self._publish_routines(group, temporary=False)

    def _enter(self, key: str) -> None:
        """Put the entry of the relation that the document ``key`` describes into the catalog. Remove the
        entry if the document is gone, or if this session doesn't know the memory table that the relation is,
        or the copy of a cached relation. The caller holds the catalog's lock."""
        known = self._known.get(key)
        entry = None if known is None else self._tables.entry(known[1])
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
            table = FileTable(
                relation.name,
                relation.location,
                relation.version,
                managed=relation.managed,
                access=self._access,
            )
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
        """Add a table or view, a permanent one for all sessions; return the entry that it replaced, None if
        the name was free. Raises ProgrammingError if the name is taken and ``replace`` is False,
        OperationalError if the keeper can't be reached."""
        if entry.temporary:
            return super().add(entry, replace=replace)
        key = relation_key(entry.name)
        while True:
            version, previous = self._picture(key)
            if version and not replace:
                raise already_exists(entry)
            if self._documents.put(ConditionalChange(key, encode_relation(entry, self._identity), version)):
                return previous

    def exchange(self, present: Entry, entry: Entry, lookups: Lookups = NO_LOOKUPS) -> bool:
        """Replace the entry ``present`` by ``entry``, which has the same name; a permanent entry is replaced
        for all sessions. Return False, and change nothing, if ``present`` is no longer in the catalog, or if
        one of the ``lookups`` has another result by now. Raises OperationalError if the keeper can't be
        reached."""
        if present.temporary:
            return super().exchange(present, entry, lookups)
        key = relation_key(present.name)
        version, current = self._picture(key)
        names = filter(None, map(_document_of, lookups))
        premises = tuple((name, self._picture(name)[0]) for name in names)
        if current is not present or not self.agrees(lookups):
            return False
        return self._documents.put(
            ConditionalChange(key, encode_relation(entry, self._identity), version, premises)
        )

    def rename(self, present: Entry, renamed: Entry) -> bool:
        """Replace the entry ``present`` by ``renamed``, which has another name; return False, and change
        nothing, if ``present`` is no longer in the catalog. For a moment a permanent relation has both names;
        if this session or its statement ends then, both may stay. Raises ProgrammingError if the new name is
        taken, OperationalError if the keeper can't be reached."""
        if present.temporary:
            return super().rename(present, renamed)
        version, current = self._picture(relation_key(present.name))
        if current is not present:
            return False
        if not self._documents.put(
            ConditionalChange(relation_key(renamed.name), encode_relation(renamed, self._identity), 0)
        ):
            raise name_taken(renamed)
        removal = ConditionalChange(relation_key(present.name), None, version)
        if self._documents.put(removal, completes=True):
            return True
        self._documents.remove(relation_key(renamed.name))
        return False

    def add_routine(self, routine: Routine, *, replace: bool = False) -> bool:
        """Add a function, a permanent one for all sessions. Return False, and change nothing, if the name is
        taken and ``replace`` is False. Raises OperationalError if the keeper can't be reached."""
        if routine.temporary:
            return super().add_routine(routine, replace=replace)
        expected = None if replace else 0
        return self._documents.put(
            ConditionalChange(routine_key(routine.name), encode_routine(routine), expected)
        )

    def remove_routine(self, name: str, *, temporary: bool) -> bool:
        """Remove the function ``name``, the permanent one for all sessions. Return False if there is no such
        function. Raises OperationalError if the keeper can't be reached."""
        if temporary:
            return super().remove_routine(name, temporary=True)
        while (document := self._documents.get(routine_key(name))) is not None:
            if self._documents.put(ConditionalChange(routine_key(name), None, document.version)):
                return True
        return False

    def comment_on_schema(self, comment: str) -> None:
        """Replace the comment of the schema ``default`` for all sessions. Raises OperationalError if the
        keeper can't be reached."""
        self._documents.put(ConditionalChange(SCHEMA, comment.encode(), None))

    def remove(self, parts: tuple[str, ...]) -> Entry | None:
        """Remove the relation of a dotted name, the temporary one if there is one; return the removed entry,
        None if there was none. A permanent relation is removed for all sessions. Raises OperationalError if
        the keeper can't be reached."""
        name = parts[-1].lower()
        if self.has_temporary(parts):
            return super().remove(parts)
        if not (len(parts) == 1 or is_default(parts[:-1])):
            return None
        key = relation_key(name)
        while True:
            version, entry = self._picture(key)
            if not version or self._documents.put(ConditionalChange(key, None, version)):
                return entry

    def _picture(self, key: str) -> tuple[int, Entry | None]:
        """Return the version of a relation's document as this session knows it (0: no document), and the
        catalog's entry of the relation. A change that expects an outdated version fails; by the time of the
        failure, this session knows the latest version."""
        with self._lock:
            known = self._known.get(key)
            return 0 if known is None else known[0], self._state.relations.get(key.removeprefix(RELATION))

    @contextmanager
    def writing(self, table: Table, holder: str) -> Iterator[bool]:
        """Return a context for writing to the table's files, in which no other session adds files to the
        table. ``holder`` is the name of this process's member, by which other sessions notice if it is lost.
        Yields True if an earlier writer was lost before it had finished, so that a cached copy of the table
        may lack rows; else False.

        All sessions know the files of an insert as soon as the insert has committed them, before the insert
        adds rows to a cached copy; they know all other changes at the end of the context. Raises
        OperationalError (40001) if the table has been dropped or replaced while the context waited for other
        writers.
        """
        files, identity = self._file_identity(table)
        if files is None or identity is None:
            yield False
            return
        token = f"{holder}.{secrets.token_hex(4)}"
        with self._documents.turn(identity, f"`{files.name}`", token) as abandoned:
            if all(_under_cache(entry) is not files for entry in self.entries()):
                raise superseded(files.name)
            usual, files.on_insert = files.on_insert, partial(self._republish, files)
            try:
                yield abandoned
            finally:
                files.on_insert = usual
            self._republish(files)

    def is_abandoned(self, table: Table) -> bool:
        """Return whether a writer was lost (it is no longer in the member list) while it was adding files to
        the table."""
        _, identity = self._file_identity(table)
        return identity is not None and self._documents.is_abandoned(identity)

    def _file_identity(self, table: Table) -> tuple[FileTable | None, str | None]:
        """Return the file table that ``table`` is, or of which it is a cached copy, and the identity of this
        file table in the cluster. The file table is None for any other table; the identity is None if the
        cluster doesn't know the file table."""
        files = _under_cache(table.origin) if isinstance(table, CachedTable) else table
        return (files, self._identities.get(files)) if isinstance(files, FileTable) else (None, None)

    def _republish(self, table: FileTable) -> None:
        """Publish a file table's new version to all sessions, in the documents of all its names."""
        for key in list(self._known):
            while True:
                version, entry = self._picture(key)
                if entry is None or _under_cache(entry) is not table:
                    break
                content, current = encode_relation(entry, self._identity), self._documents.get(key)
                if current is not None and (current.version, current.content) == (version, content):
                    break
                # The files have their rows: what is left is to tell it.
                if self._documents.put(ConditionalChange(key, content, version), completes=True):
                    break


def _document_of(lookup: tuple[tuple[str, ...], bool] | RoutineLookup) -> str | None:
    """Return the key of the document that describes the permanent relation or function of the name in a
    lookup; None for a name in another schema than ``default``, which has no documents."""
    if isinstance(lookup, RoutineLookup):
        return routine_key(lookup.parts[-1])
    parts, _ = lookup
    return relation_key(parts[-1]) if len(parts) == 1 or is_default(parts[:-1]) else None


def _under_cache(entry: Entry | None) -> Table | None:
    """Return the entry's table; for a cached relation, the table of which the cache is a copy. Return None
    for a view, and for None."""
    table = entry.table if isinstance(entry, TableEntry) else None
    return _under_cache(table.origin) if isinstance(table, CachedTable) else table
