"""The statements of SQL as frozen data: what :func:`sqlfront_planner.statement.parse` gives."""

from collections.abc import Mapping
from enum import Enum

import msgspec
import pyarrow as pa
from sqlglot import exp


class Query(msgspec.Struct, frozen=True):
    """A query: ``tree`` is sqlglot's, ``sql`` the whole text of the statement that holds it, ``text`` the
    query's own part."""

    sql: str
    text: str
    tree: exp.Expr


class ExplainMode(Enum):
    """How much EXPLAIN tells."""

    SIMPLE = "simple"
    """The lane, its reason and the plan that runs."""
    EXTENDED = "extended"
    """The logical plans too."""
    ANALYZE = "analyze"
    """The query is run, and the plan shows rows, bytes and times."""
    EXTENDED_ANALYZE = "extended analyze"
    """Both."""

    @property
    def is_extended(self) -> bool:
        """Whether it shows the logical plans."""
        return self in (ExplainMode.EXTENDED, ExplainMode.EXTENDED_ANALYZE)

    @property
    def is_analyze(self) -> bool:
        """Whether it runs the query."""
        return self in (ExplainMode.ANALYZE, ExplainMode.EXTENDED_ANALYZE)


class ExplainFormat(Enum):
    """How EXPLAIN's answer is written."""

    TEXT = "text"
    """Trees for people."""
    JSON = "json"
    """The fields of :class:`sqlfront_planner.explain.explanation.Explanation`, for programs."""
    DOT = "dot"
    """A graph in Graphviz' language."""
    MERMAID = "mermaid"
    """A flowchart in Mermaid's language."""


class Explain(msgspec.Struct, frozen=True):
    """``EXPLAIN [EXTENDED | ANALYZE] [(option, ...)] query``; an option is ``EXTENDED``, ``ANALYZE`` or
    ``FORMAT text | json | dot | mermaid``."""

    mode: ExplainMode
    query: Query
    format: ExplainFormat = ExplainFormat.TEXT


class CreateTable(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] TABLE ... USING format``; ``query`` is that of ``AS SELECT``. ``CREATE TEMPORARY
    VIEW ... USING format`` makes a temporary table, too; then ``is_view``.

    ``schema`` holds the columns as declared, None if there are none (from the data, or the query). ``format``
    is None where the statement has no USING.
    """

    name: str
    format: str | None = None
    schema: pa.Schema | None = None
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    location: str | None = None
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    query: Query | None = None
    replace: bool = False
    temporary: bool = False
    is_global: bool = False
    if_not_exists: bool = False
    is_view: bool = False


class CreateView(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW name [(columns)] AS query``."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    replace: bool = False
    temporary: bool = False
    is_global: bool = False
    if_not_exists: bool = False


class CacheTable(msgspec.Struct, frozen=True):
    """``CACHE [LAZY] TABLE name [CLUSTERED BY (columns) [INTO n BUCKETS]] [AS query]``."""

    name: str
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    query: Query | None = None
    lazy: bool = False


class UncacheTable(msgspec.Struct, frozen=True):
    """``UNCACHE TABLE [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


class RelationKind(Enum):
    """What DROP names."""

    TABLE = "table"
    """A table."""
    VIEW = "view"
    """A view, temporary or not."""


class Drop(msgspec.Struct, frozen=True):
    """``DROP TABLE | VIEW [IF EXISTS] name``."""

    kind: RelationKind
    name: str
    if_exists: bool = False


class CreateIndex(msgspec.Struct, frozen=True):
    """``CREATE INDEX [IF NOT EXISTS] index ON [TABLE] name [USING format] (columns)``."""

    index: str
    name: str
    columns: tuple[str, ...]
    format: str | None = None
    if_not_exists: bool = False


class DropIndex(msgspec.Struct, frozen=True):
    """``DROP INDEX [IF EXISTS] index ON [TABLE] name``."""

    index: str
    name: str
    if_exists: bool = False


class ShowIndexes(msgspec.Struct, frozen=True):
    """``SHOW INDEXES ON | FROM | IN [TABLE] name``."""

    name: str


class Insert(msgspec.Struct, frozen=True):
    """``INSERT INTO | OVERWRITE [TABLE] name [(columns)] query``."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    overwrite: bool = False


class Delete(msgspec.Struct, frozen=True):
    """``DELETE FROM name [alias] [WHERE condition]``. ``rows`` is the query for all columns of the table and
    the condition."""

    name: str
    rows: Query


class Update(msgspec.Struct, frozen=True):
    """``UPDATE name [alias] SET column = value, ... [WHERE condition]``. ``rows`` is the query for all
    columns of the table, a value for each of ``columns``, and the condition."""

    name: str
    columns: tuple[str, ...]
    rows: Query


class ShowTables(msgspec.Struct, frozen=True):
    """``SHOW TABLES [IN | FROM database] [[LIKE] 'pattern']``."""

    database: str | None = None
    pattern: str | None = None


class FunctionScope(Enum):
    """Which functions SHOW FUNCTIONS shows."""

    ALL = "all"
    """Every one."""
    SYSTEM = "system"
    """Those of SQL."""
    USER = "user"
    """Those that users have added."""


class ShowFunctions(msgspec.Struct, frozen=True):
    """``SHOW [USER | SYSTEM | ALL] FUNCTIONS [IN | FROM database] [[LIKE] name | 'pattern']``; a name is a
    pattern, too, and its qualifier the database."""

    scope: FunctionScope = FunctionScope.ALL
    database: str | None = None
    pattern: str | None = None


class DescribeTable(msgspec.Struct, frozen=True):
    """``DESCRIBE [TABLE] [EXTENDED] name``."""

    name: str
    extended: bool = False


class DescribeQuery(msgspec.Struct, frozen=True):
    """``DESCRIBE [QUERY] query``: its columns."""

    query: Query


class SetOption(msgspec.Struct, frozen=True):
    """``SET key = value``; without a value the setting is shown, without a key all are. A query gives an
    interval, the offset of a time zone."""

    key: str | None = None
    value: str | Query | None = None


class RefreshTable(msgspec.Struct, frozen=True):
    """``REFRESH TABLE name``: forget what is known of its files."""

    name: str


class RefreshPath(msgspec.Struct, frozen=True):
    """``REFRESH path``: forget what is known of the files there. ``quoted``: the path was a string, so no
    table's name."""

    path: str
    quoted: bool = False


class RepairTable(msgspec.Struct, frozen=True):
    """``[MSCK] REPAIR TABLE name [ADD | SYNC PARTITIONS]``: look for partition directories."""

    name: str


class KillQuery(msgspec.Struct, frozen=True):
    """``KILL QUERY id``; ``id`` is the number, or the name of the parameter that it is (``?0``: the first
    positional one)."""

    id: int | str


class UseDatabase(msgspec.Struct, frozen=True):
    """``USE database``."""

    database: str


Statement = (
    Query
    | Explain
    | CreateTable
    | CreateView
    | CacheTable
    | UncacheTable
    | Drop
    | CreateIndex
    | DropIndex
    | ShowIndexes
    | Insert
    | Delete
    | Update
    | ShowTables
    | ShowFunctions
    | DescribeTable
    | DescribeQuery
    | SetOption
    | RefreshPath
    | RefreshTable
    | RepairTable
    | KillQuery
    | UseDatabase
)
