"""Tables and columns that a session knows, read without running a statement and without starting Spark."""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa

from sqlfront.commands.run import details_of
from sqlfront.session import Session
from sqlfront.system_tables import SYSTEM, SYSTEM_TABLES
from sqlfront_planner.binder import bind
from sqlfront_planner.catalog import Catalog, Entry, TableEntry, ViewEntry
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import Error
from sqlfront_values.types import ddl


class KnownRelation(msgspec.Struct, frozen=True):
    """A table or view: its dotted name, its kind in words, such as "temporary view", and its comment."""

    name: str
    kind: str
    comment: str = ""


class KnownColumn(msgspec.Struct, frozen=True):
    """A column: its name, its type as Spark writes types (empty: unknown), and its comment."""

    name: str
    type: str = ""
    comment: str = ""


class SessionNames:
    """The tables, columns and durable jobs that a session knows, for completion. The columns of a relation
    are cached until the session's catalog changes. Any thread may call the methods; two threads may read the
    same columns twice."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._columns: tuple[int, dict[tuple[str, ...], tuple[KnownColumn, ...]]] = (-1, {})

    def relations(self) -> tuple[KnownRelation, ...]:
        """Return all tables and views: those of the session's catalog, those of Spark if a Spark session is
        started, and the tables of ``sys``."""
        own = [
            KnownRelation(".".join(entry.parts), _kind(entry), details_of(entry).comment or "")
            for entry in self._session.context.catalog.entries()
        ]
        system = [KnownRelation(f"{SYSTEM}.{name}", "system table") for name in SYSTEM_TABLES]
        known = {relation.name.lower() for relation in own}
        sparks = [relation for relation in self._of_spark() if relation.name.lower() not in known]
        return (*own, *sparks, *system)

    def jobs(self) -> tuple[tuple[str, str], ...]:
        """Return the name and the state of each durable job; none without a job store, or if the job store
        can't be read."""
        service = self._session.context.jobs
        try:
            return () if service is None else tuple((job.name, job.phase.value) for job in service.jobs())
        except Error:
            return ()

    def _of_spark(self) -> list[KnownRelation]:
        spark = self._session.spark
        if spark is None:
            return []
        try:
            found = spark.link.tables(None)
        except Error:  # Spark isn't started, or is gone
            return []
        return [
            KnownRelation(name, "view of Spark" if temporary else "table of Spark")
            for _, name, temporary in found
        ]

    def columns(self, parts: Sequence[str]) -> tuple[KnownColumn, ...]:
        """Return the columns of the table or view whose dotted name has these parts; none if the relation is
        unknown."""
        version, known = self._columns
        current = self._session.context.catalog.version
        if version != current:
            known = {}
            self._columns = (current, known)
        key = tuple(part.lower() for part in parts)
        if key not in known:
            known[key] = tuple(self._read_columns(tuple(parts)))
        return known[key]

    def _read_columns(self, parts: tuple[str, ...]) -> Iterator[KnownColumn]:
        """Yield the columns of the table or view whose dotted name has these parts; none if the relation is
        unknown, or only Spark knows it and Spark is not started."""
        catalog = self._session.context.catalog.with_elsewhere()
        if not self._has_spark:
            catalog.elsewhere = None
        try:
            table = catalog.path_table(parts)
            entry = catalog.lookup(parts) if table is None else TableEntry(parts[-1], table)
            schema = None if entry is None else self._schema_of(entry, catalog)
        except (Error, OSError):
            return
        if entry is not None and schema is not None:
            comment_of = details_of(entry).comment_of
            yield from (
                KnownColumn(each.name, ddl(each.type), comment_of(each.name) or "") for each in schema
            )

    @property
    def _has_spark(self) -> bool:
        """Whether the session has a Spark session that is started."""
        spark = self._session.spark
        return spark is not None and spark.is_started

    def _schema_of(self, entry: Entry, catalog: Catalog) -> pa.Schema | None:
        match entry:
            case TableEntry():
                return entry.table.schema
            case ViewEntry():
                query = parse(entry.sql)
                if not isinstance(query, Query):
                    return None
                plan = bind(query, catalog, self._session.context.bind_settings)
                names = entry.columns or plan.schema.names
                return pa.schema(list(zip(names, plan.schema.types, strict=True)))


def _kind(entry: Entry) -> str:
    kind = "view" if isinstance(entry, ViewEntry) or entry.temporary else "table"
    return f"temporary {kind}" if entry.temporary else kind
