"""The session's catalog: tables and views by name, for the life of the session.

The only database is ``default``; a temporary view hides a table or view of the same name in the database. All
methods may be called from several threads: a change makes a new version, and a reader sees one complete
version.

If a Spark session is attached (``sqlfront.attach``), the names of its relations are visible, too
(:class:`Elsewhere`).
"""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

import msgspec
import pyarrow as pa
from msgspec import structs

from sqlfront_connectors.base import Table
from sqlfront_planner.relation_details import NO_DETAILS, RelationDetails
from sqlfront_planner.routines import Routine, RoutineLookup
from sqlfront_values.errors import NotSupportedError, spark_error

DEFAULT_DATABASE: Final = "default"
DEFAULT_CATALOG: Final = "spark_catalog"
#: The qualifier of global temporary tables and views.
GLOBAL_TEMP: Final = ("global_temp",)
#: The catalog and the schema of temporary tables and views that aren't global, as Spark names them.
SESSION_SCHEMA: Final = ("system", "session")
#: The schemas of tables that the session itself fills.
SYSTEM_SCHEMAS: Final = frozenset({"information_schema", "sys"})


class NamedRelation:
    """The base of the entries of the catalog, :class:`TableEntry` and :class:`ViewEntry`, which have these
    fields: the ``name`` of the relation, whether it is ``temporary``, and the qualifier ``database`` that SQL
    must write before the name (empty: none)."""

    __slots__ = ()
    name: str
    temporary: bool
    database: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the entry's dotted name, with only those qualifiers that SQL must write."""
        return (*self.database, self.name)

    @property
    def qualifier(self) -> tuple[str, ...]:
        """The longest qualifier that may stand before a column's name, in lower case; its last parts alone
        are allowed, too, as ``t`` for ``spark_catalog.default.t``."""
        if self.temporary:
            return tuple(part.lower() for part in self.parts)
        return (DEFAULT_CATALOG, DEFAULT_DATABASE, self.name.lower())


class TableEntry(NamedRelation, msgspec.Struct, frozen=True, eq=False):
    """A named table. In SQL, a ``temporary`` entry is a temporary view, which has the rows of ``table``.

    A temporary entry has no ``database``, unless it is global (GLOBAL_TEMP) or stands for a relation of the
    attached Spark session; then ``database`` is the relation's complete qualifier. ``details`` are the
    table's comments and properties, also after CACHE TABLE, when ``table`` is the table's copy in memory."""

    name: str
    table: Table
    temporary: bool = False
    database: tuple[str, ...] = ()
    details: RelationDetails = NO_DETAILS


class ViewEntry(NamedRelation, msgspec.Struct, frozen=True, eq=False):
    """A view: the text of its query, which is bound again at each use.

    ``columns`` rename the query's columns if given. ``database`` is the qualifier of a global temporary view.
    ``details``: comments and properties. ``schema``: the query's columns at the view's creation, which the
    view keeps even if its tables get others; None if the columns weren't known.

    ``sees`` concerns a temporary view: the temporary relations, in lower case, that its query read at its
    creation; any other name in the query means a permanent relation, also later. None: all temporary
    relations are visible.

    ``time_zone``: the session's time zone when the view was made, in which its TIMESTAMP literals are read;
    None = the zone of the session that reads the view. ``ansi``: likewise whether ANSI mode was on, in which
    the query is bound."""

    name: str
    sql: str
    columns: tuple[str, ...] = ()
    temporary: bool = False
    database: tuple[str, ...] = ()
    details: RelationDetails = NO_DETAILS
    schema: pa.Schema | None = None
    sees: frozenset[str] | None = None
    time_zone: str | None = None
    ansi: bool | None = None

    @property
    def columns_at_creation(self) -> pa.Schema | None:
        """The columns that the view had when it was created, under the view's names for them; None if the
        columns weren't known."""
        if self.schema is None or not self.columns:
            return self.schema
        return pa.schema(list(map(pa.field, self.columns, self.schema.types)))


Entry = TableEntry | ViewEntry
PathTables = Callable[[str, str], "Table | None"]
#: Lookups and their results: of relations (a dotted name, and whether temporary relations are visible), and
#: of functions.
Lookups = Mapping[tuple[tuple[str, ...], bool] | RoutineLookup, Entry | Routine | None]
NO_LOOKUPS: Final[Lookups] = MappingProxyType({})


class Elsewhere(Protocol):
    """The relations of an attached Spark session, whose names are visible in this session: Spark's temporary
    views hide relations of this session; Spark's other relations are visible if this session has none of the
    name. An implementation asks Spark for the names."""

    def has_view(self, name: str) -> bool:
        """Return whether the Spark session has a temporary view of that name."""

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the fully qualified name, in parts, of the Spark session's relation that a dotted name
        means; None if the Spark session has no such relation."""

    def entry(self, parts: tuple[str, ...]) -> Entry:
        """Return an entry for the Spark session's relation of a dotted name, by which this session can read
        the relation's rows."""


class FoundElsewhere(NotSupportedError):
    """An error for a statement that the attached Spark session has to run, such as a query of a relation that
    only Spark can read."""


class _State(msgspec.Struct, frozen=True):
    """One version of the catalog's content, never changed. ``relations`` are the permanent tables and views,
    ``temporary`` the temporary ones, both by key; ``routines`` and ``temporary_routines`` are the users'
    functions by lower-case name. ``comment`` is the comment of the schema ``default``."""

    version: int
    relations: Mapping[str, Entry]
    temporary: Mapping[str, Entry]
    comment: str = "default database"
    routines: Mapping[str, Routine] = MappingProxyType({})
    temporary_routines: Mapping[str, Routine] = MappingProxyType({})


class Catalog:
    """A mapping of names to tables and views.

    ``path_tables(format, path)`` makes the table of ``format.`path```, or returns None if the format is
    unknown.
    """

    def __init__(self, path_tables: PathTables | None = None) -> None:
        self._path_tables = path_tables
        #: The other session whose names are visible, too; :meth:`lookup` raises FoundElsewhere for its
        #: relations.
        self.elsewhere: Elsewhere | None = None
        self._lock = threading.Lock()
        self._state = _State(0, MappingProxyType({}), MappingProxyType({}))

    def pinned(self) -> "PinnedCatalog":
        """Return the current version of the catalog, which later changes don't affect, and which records its
        lookups."""
        return PinnedCatalog(self._path_tables, self._state, elsewhere=self.elsewhere)

    def without_temporary(self) -> "PinnedCatalog":
        """Return the current version of the catalog without temporary relations, as the query of a permanent
        view sees it."""
        return self.pinned().without_temporary()

    def seen_by(self, view: ViewEntry | Routine) -> "PinnedCatalog":
        """Return the current version of the catalog as the query of ``view``, or the body of a function, sees
        it: with only those temporary relations that it may read."""
        return self.pinned().seen_by(view)

    def with_elsewhere(self) -> "PinnedCatalog":
        """Return the current version of the catalog, in which a lookup of a relation of the attached Spark
        session returns an entry instead of raising FoundElsewhere."""
        return _WideCatalog(self._path_tables, self._state, elsewhere=self.elsewhere)

    def mapped(self, change: Callable[[Entry], Entry]) -> "PinnedCatalog":
        """Return the current version of the catalog with each entry replaced by ``change(entry)``. A lookup
        of a relation of the attached Spark session returns an entry as with :meth:`with_elsewhere`."""
        state = self._state
        relations, temporary = (
            MappingProxyType({key: change(entry) for key, entry in group.items()})
            for group in (state.relations, state.temporary)
        )
        changed = structs.replace(state, relations=relations, temporary=temporary)
        return _WideCatalog(self._path_tables, changed, elsewhere=self.elsewhere)

    @property
    def version(self) -> int:
        """A number that grows with every change of the catalog."""
        return self._state.version

    def touch(self) -> None:
        """Make a new version with the same content, so that ``version`` grows; called when the names of the
        attached Spark session's relations may have changed."""
        with self._lock:
            state = self._state
            self._state = structs.replace(state, version=state.version + 1)

    @property
    def comment(self) -> str:
        """The comment of the schema ``default``."""
        return self._state.comment

    def comment_on_schema(self, comment: str) -> None:
        """Replace the comment of the schema ``default``."""
        with self._lock:
            state = self._state
            self._state = structs.replace(state, version=state.version + 1, comment=comment)

    def lookup(self, parts: tuple[str, ...], *, temporary: bool = True) -> Entry | None:
        """Return the relation of a dotted name, case-insensitively; None if no relation has the name. Without
        ``temporary`` only permanent relations are found.

        Raises FoundElsewhere if the name means a relation of an attached Spark session (:class:`Elsewhere`),
        unless this session holds a copy of that table in memory, which is then returned."""
        elsewhere = self.elsewhere
        if elsewhere is not None and temporary and len(parts) == 1 and elsewhere.has_view(parts[0]):
            return self._found_elsewhere(parts, "temporary view")
        found = self.own(parts, temporary=temporary)
        if found is None and elsewhere is not None and (whole := elsewhere.whole_name(parts)) is not None:
            copy = self._state.temporary.get(_key(whole)) if temporary else None
            return copy or self._found_elsewhere(parts, "table")
        return found

    def _found_elsewhere(self, parts: tuple[str, ...], kind: str) -> Entry:
        """Raise FoundElsewhere for a relation of the attached Spark session; ``kind`` ("table" or "temporary
        view") is for the message. A subclass returns an entry for the relation instead."""
        raise FoundElsewhere(f"`{'.'.join(parts)}` is a {kind} of Spark's")

    def own(self, parts: tuple[str, ...], *, temporary: bool = True) -> Entry | None:
        """Return the relation of a dotted name in this session, ignoring an attached Spark session; None if
        no relation has the name. Without ``temporary`` only permanent relations are found."""
        state = self._state
        found = state.temporary.get(_key(parts)) if temporary else None
        if found is None and (len(parts) == 1 or is_default(parts[:-1])):
            return state.relations.get(parts[-1].lower())
        if found is None and temporary and is_session_schema(parts[:-1]):
            return state.temporary.get(parts[-1].lower())
        return found

    def has_temporary(self, parts: tuple[str, ...]) -> bool:
        """Return whether the dotted name means a temporary table or view of this session."""
        return _key(parts) in self._state.temporary

    def agrees(self, lookups: Lookups) -> bool:
        """Return whether the lookups still have the same results, so that a plan that was made with these
        results is valid."""
        try:
            return all(self._found(lookup) is found for lookup, found in lookups.items())
        except FoundElsewhere:
            return False

    def _found(self, lookup: tuple[tuple[str, ...], bool] | RoutineLookup) -> Entry | Routine | None:
        if isinstance(lookup, RoutineLookup):
            return self.routine(lookup.parts, temporary=lookup.temporary)
        parts, temporary = lookup
        return self.lookup(parts, temporary=temporary)

    def path_table(self, parts: tuple[str, ...]) -> Table | None:
        """Return the table that a name like ``format.`path```, or the name of a table in a system schema,
        means; None if the name isn't of that form or the format is unknown."""
        if len(parts) == 3 and parts[0].lower() == DEFAULT_CATALOG and parts[1].lower() in SYSTEM_SCHEMAS:
            parts = parts[1:]
        if len(parts) != 2 or self._path_tables is None:
            return None
        return self._path_tables(parts[0].lower(), parts[1])

    def entries(self) -> tuple[Entry, ...]:
        """Return all tables and views, sorted by name, the permanent ones before the temporary ones."""
        state = self._state
        return tuple(group[name] for group in (state.relations, state.temporary) for name in sorted(group))

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables and views, sorted, in the case in which they were given."""
        return tuple(sorted({entry.name for entry in self.entries()}))

    def add(self, entry: Entry, *, replace: bool = False) -> Entry | None:
        """Add a table or view; return the entry that it replaced, None if the name was free.

        Raises ProgrammingError (TABLE_OR_VIEW_ALREADY_EXISTS, or TEMP_TABLE_OR_VIEW_ALREADY_EXISTS for a
        temporary entry) if the name is taken and ``replace`` is False.
        """
        with self._lock:
            state = self._state
            group = state.temporary if entry.temporary else state.relations
            key = _key_of(entry)
            previous = group.get(key)
            if previous is not None and not replace:
                raise already_exists(entry)
            self._publish({**group, key: entry}, temporary=entry.temporary)
            return previous

    def exchange(self, present: Entry, entry: Entry, lookups: Lookups = NO_LOOKUPS) -> bool:
        """Replace the entry ``present`` by ``entry``, which has the same name. Return True if it was
        replaced. Return False, and change nothing, if ``present`` is no longer in the catalog, or if one of
        the ``lookups`` has another result by now."""
        while True:
            state = self._state
            if not self.agrees(lookups):  # asks the other session, too, hence without the lock
                return False
            with self._lock:
                if self._state is not state:
                    continue
                temporary, key = present.temporary, _key_of(present)
                group = state.temporary if temporary else state.relations
                if group.get(key) is not present:
                    return False
                self._publish({**group, key: entry}, temporary=temporary)
                return True

    def rename(self, present: Entry, renamed: Entry) -> bool:
        """Replace the entry ``present`` by ``renamed``, which has another name. Return True if it was
        replaced; return False, and change nothing, if ``present`` is no longer in the catalog. Raises
        ProgrammingError (TABLE_OR_VIEW_ALREADY_EXISTS) if the new name is taken."""
        with self._lock:
            temporary = present.temporary
            group = dict(self._state.temporary if temporary else self._state.relations)
            if group.pop(_key_of(present), None) is not present:
                return False
            if _key_of(renamed) in (_key_of(present), *group):
                raise name_taken(renamed)
            group[_key_of(renamed)] = renamed
            self._publish(group, temporary=temporary)
            return True

    def remove(self, parts: tuple[str, ...]) -> Entry | None:
        """Remove the relation that a dotted name means, the temporary relation if there is one. Return the
        removed entry; None if no relation has the name."""
        with self._lock:
            state = self._state
            key = parts[-1].lower()
            if self.has_temporary(parts):
                temporary, group, key = True, dict(state.temporary), _key(parts)
            elif key in state.relations and (len(parts) == 1 or is_default(parts[:-1])):
                temporary, group = False, dict(state.relations)
            else:
                return None
            removed = group.pop(key)
            self._publish(group, temporary=temporary)
            return removed

    # ---- functions

    def routine(self, parts: tuple[str, ...], *, temporary: bool = True) -> Routine | None:
        """Return the user's function of a dotted name, case-insensitively, a temporary function before a
        permanent one; None if no such function has the name. Without ``temporary`` only permanent functions
        are found."""
        state, key, qualifier = self._state, parts[-1].lower(), parts[:-1]
        if temporary and (not qualifier or is_session_schema(qualifier)):
            found = state.temporary_routines.get(key)
            if found is not None:
                return found
        return state.routines.get(key) if not qualifier or is_default(qualifier) else None

    def routines(self) -> tuple[Routine, ...]:
        """Return all functions of users, sorted by name, the permanent ones before the temporary ones."""
        state = self._state
        return tuple(
            group[name] for group in (state.routines, state.temporary_routines) for name in sorted(group)
        )

    def add_routine(self, routine: Routine, *, replace: bool = False) -> bool:
        """Add a function. Return False, and change nothing, if the name is taken and ``replace`` is False."""
        with self._lock:
            group = self._routine_group(temporary=routine.temporary)
            key = routine.name.lower()
            if key in group and not replace:
                return False
            self._publish_routines({**group, key: routine}, temporary=routine.temporary)
            return True

    def remove_routine(self, name: str, *, temporary: bool) -> bool:
        """Remove the function ``name``, the temporary or the permanent one. Return False if there is no such
        function."""
        with self._lock:
            group = dict(self._routine_group(temporary=temporary))
            if group.pop(name.lower(), None) is None:
                return False
            self._publish_routines(group, temporary=temporary)
            return True

    def _routine_group(self, *, temporary: bool) -> Mapping[str, Routine]:
        return self._state.temporary_routines if temporary else self._state.routines

    def _publish_routines(self, group: Mapping[str, Routine], *, temporary: bool) -> None:
        """Make a new version of the catalog with these temporary or permanent functions. The caller must hold
        the lock."""
        state, frozen = self._state, MappingProxyType(dict(group))
        changed = {"temporary_routines" if temporary else "routines": frozen}
        self._state = structs.replace(state, version=state.version + 1, **changed)

    def _publish(self, group: Mapping[str, Entry], *, temporary: bool) -> None:
        """Make a new version of the catalog in which ``group`` replaces the temporary relations or, if
        ``temporary`` is False, the permanent relations. The caller must hold the lock."""
        state, frozen = self._state, MappingProxyType(dict(group))
        changed = {"temporary" if temporary else "relations": frozen}
        self._state = structs.replace(state, version=state.version + 1, **changed)


class PinnedCatalog(Catalog):
    """One version of a catalog, which records all its lookups and their results: the dependencies of a
    plan."""

    def __init__(
        self,
        path_tables: PathTables | None,
        state: _State,
        lookups: dict[tuple[tuple[str, ...], bool] | RoutineLookup, Entry | Routine | None] | None = None,
        *,
        temporary: bool = True,
        elsewhere: Elsewhere | None = None,
        sees: frozenset[str] | None = None,
    ) -> None:
        """``state``: the relations of the version. ``lookups``: where lookups are recorded, None = a new
        dictionary. ``temporary``: whether lookups find temporary relations; if ``sees`` is not None, only
        those with these names, in lower case. ``elsewhere``: the relations of an attached Spark session, None
        = no such session."""
        super().__init__(path_tables)
        self.elsewhere = elsewhere
        self._state = state
        self._temporary = temporary
        self._sees = sees
        self._lookups = {} if lookups is None else lookups

    def pinned(self) -> "PinnedCatalog":
        """Return the same version, with an empty record of lookups."""
        return type(self)(
            self._path_tables,
            self._state,
            temporary=self._temporary,
            elsewhere=self.elsewhere,
            sees=self._sees,
        )

    @property
    def lookups(self) -> Lookups:
        """The lookups so far, with their results."""
        return self._lookups

    def without_temporary(self) -> "PinnedCatalog":
        """Return the same version without temporary relations, as the query of a permanent view sees it; both
        write to the same record of lookups."""
        nothing: Mapping[str, Entry] = MappingProxyType({})
        state = structs.replace(self._state, temporary=nothing, temporary_routines=MappingProxyType({}))
        return type(self)(self._path_tables, state, self._lookups, temporary=False, elsewhere=self.elsewhere)

    def seen_by(self, view: ViewEntry | Routine) -> "PinnedCatalog":
        """Return the same version as the query of ``view`` (or the body of a function) sees it, with only
        those temporary relations that the view may read; both write to the same record of lookups."""
        if not view.temporary:
            return self.without_temporary()
        return type(self)(
            self._path_tables, self._state, self._lookups, elsewhere=self.elsewhere, sees=view.sees
        )

    def lookup(self, parts: tuple[str, ...], *, temporary: bool = True) -> Entry | None:
        """Return the relation of a dotted name, case-insensitively, and record the result; None if no
        relation has the name. Without ``temporary`` only permanent relations are found. Raises FoundElsewhere
        if the name means a relation of an attached Spark session of which this session holds no copy."""
        seen = temporary and self._temporary and (self._sees is None or parts[-1].lower() in self._sees)
        entry = self._lookups[parts, seen] = super().lookup(parts, temporary=seen)
        return entry

    def routine(self, parts: tuple[str, ...], *, temporary: bool = True) -> Routine | None:
        """Return the user's function of a dotted name, case-insensitively, and record the result; None if no
        such function has the name. Without ``temporary`` only permanent functions are found."""
        seen = temporary and self._temporary
        found = self._lookups[RoutineLookup(parts, seen)] = super().routine(parts, temporary=seen)
        return found


class _WideCatalog(PinnedCatalog):
    """A pinned catalog in which a name of a relation of the attached Spark session means an entry by which
    this session reads the relation."""

    def _found_elsewhere(self, parts: tuple[str, ...], kind: str) -> Entry:
        assert self.elsewhere is not None
        return self.elsewhere.entry(parts)


def _key(parts: tuple[str, ...]) -> str:
    """Return the key in the catalog of a temporary table or view with the dotted name ``parts``."""
    return "\0".join(parts).lower()  # a part may have dots of its own


def _key_of(entry: Entry) -> str:
    return _key(entry.parts) if entry.temporary else entry.name.lower()


def is_default(qualifier: tuple[str, ...]) -> bool:
    """Return whether a qualifier names ``default``, the only database.

    >>> is_default(("default",)), is_default(("spark_catalog", "DEFAULT")), is_default(("other",))
    (True, True, False)
    """
    lowered = tuple(part.lower() for part in qualifier)
    return lowered in ((DEFAULT_DATABASE,), (DEFAULT_CATALOG, DEFAULT_DATABASE))


def is_session_schema(qualifier: tuple[str, ...]) -> bool:
    """Return whether a qualifier names the schema of temporary tables and views.

    >>> is_session_schema(("session",)), is_session_schema(("System", "session")), is_session_schema(())
    (True, True, False)
    """
    return bool(qualifier) and tuple(part.lower() for part in qualifier) in (
        SESSION_SCHEMA[1:],
        SESSION_SCHEMA,
    )


def already_exists(entry: Entry) -> Exception:
    """Make the error for an entry that can't be added because its name is taken:
    TABLE_OR_VIEW_ALREADY_EXISTS, or TEMP_TABLE_OR_VIEW_ALREADY_EXISTS for a temporary entry."""
    if entry.temporary:
        return spark_error(
            "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
            f"Cannot create the temporary view `{entry.name}` because it already exists. "
            "Choose a different name, drop or replace the existing view.",
        )
    return name_taken(entry)


def name_taken(entry: Entry) -> Exception:
    """Make the error TABLE_OR_VIEW_ALREADY_EXISTS for a relation that can't have its name because another
    relation has it."""
    schema = "" if entry.temporary else f"`{DEFAULT_DATABASE}`."
    return spark_error(
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        f"Cannot create table or view {schema}`{entry.name}` because it already exists. "
        "Choose a different name, drop or replace the existing object, or add the IF NOT EXISTS clause.",
    )
