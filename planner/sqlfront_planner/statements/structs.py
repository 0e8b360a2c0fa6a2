"""The statements of SQL as frozen structs: the results of :func:`sqlfront_planner.statement.parse`."""

from collections.abc import Mapping
from enum import Enum

import msgspec
import pyarrow as pa

from sqlfront_planner.relation_details import NO_COMMENTS, NO_DETAILS, ColumnComments, RelationDetails
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.immediate_structs import ExecuteImmediate
from sqlfront_planner.statements.merge_structs import Merge
from sqlfront_planner.statements.query import Query as Query  # noqa: PLC0414 - a struct of this module, which Merge needs, too
from sqlfront_planner.statements.routine_structs import CreateFunction, DropFunction
from sqlfront_planner.statements.variable_structs import DeclareVariable, DropVariable, SetVariables


class ExplainMode(Enum):
    """The amount of detail that EXPLAIN shows, and whether it runs the query."""

    SIMPLE = "simple"
    """The lane, its reason and the plan that runs."""
    EXTENDED = "extended"
    """The logical plans as well."""
    ANALYZE = "analyze"
    """The physical plan with measured rows, bytes and times; EXPLAIN runs the query."""
    EXTENDED_ANALYZE = "extended analyze"
    """The logical plans and the measurements."""

    @property
    def is_extended(self) -> bool:
        """Whether EXPLAIN shows the logical plans."""
        return self in (ExplainMode.EXTENDED, ExplainMode.EXTENDED_ANALYZE)

    @property
    def is_analyze(self) -> bool:
        """Whether EXPLAIN runs the query."""
        return self in (ExplainMode.ANALYZE, ExplainMode.EXTENDED_ANALYZE)


class ExplainFormat(Enum):
    """The format of EXPLAIN's answer."""

    TEXT = "text"
    """Trees of text for people."""
    JSON = "json"
    """The fields of :class:`sqlfront_planner.explain.explanation.Explanation`, for programs."""
    DOT = "dot"
    """A graph in Graphviz' language."""
    MERMAID = "mermaid"
    """A flowchart in Mermaid's language."""
    DAG = "dag"
    """The DAGs that run, as :func:`sqlfront_engine.dot.to_dot` prints them."""


class Explain(msgspec.Struct, frozen=True):
    """``EXPLAIN [EXTENDED | ANALYZE] [(option, ...)] query``; an option is ``EXTENDED``, ``ANALYZE`` or
    ``FORMAT text | json | dot | mermaid | dag``. ``mode`` combines EXTENDED and ANALYZE before and inside of
    the parentheses."""

    mode: ExplainMode
    query: Query
    format: ExplainFormat = ExplainFormat.TEXT


class RelationScope(Enum):
    """The sessions that see a relation, and its lifetime."""

    PERMANENT = "permanent"
    """All sessions of the catalog; until the relation is dropped."""
    TEMPORARY = "temporary"
    """The session that makes the relation; until the session ends."""
    GLOBAL_TEMPORARY = "global temporary"
    """Like TEMPORARY, and the name has the qualifier ``global_temp``."""

    @property
    def is_temporary(self) -> bool:
        """Whether the relation ends with the session."""
        return self is not RelationScope.PERMANENT


class CreateTable(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] TABLE [IF NOT EXISTS] ...``; ``query`` is the query of ``AS SELECT``, None
    without AS. ``CREATE TEMPORARY VIEW ... USING format`` makes a temporary table, too, and sets ``is_view``.

    ``schema`` holds the declared columns, or None if the statement declares no column (the schema comes from
    the data or the query). ``format`` is None if the statement has no USING, ``buckets`` if CLUSTERED BY has
    no INTO n BUCKETS. ``details``: comments, properties and NOT NULL.
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
    mode: CreateMode = CreateMode.ERROR
    scope: RelationScope = RelationScope.PERMANENT
    is_view: bool = False
    details: RelationDetails = NO_DETAILS


class CreateView(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] name [(columns)] AS query``;
    ``columns`` is empty if the statement lists none. ``details``: comments and properties."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    mode: CreateMode = CreateMode.ERROR
    scope: RelationScope = RelationScope.PERMANENT
    details: RelationDetails = NO_DETAILS


class CacheTable(msgspec.Struct, frozen=True):
    """``CACHE [LAZY] TABLE name [CLUSTERED BY (columns) [INTO n BUCKETS]] [AS query]``. ``buckets`` is n,
    None without INTO; ``query`` is None if the statement caches the existing relation of this name."""

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
    """The kind of relation that DROP names."""

    TABLE = "table"
    """A table."""
    VIEW = "view"
    """A view, temporary or not."""


class Drop(msgspec.Struct, frozen=True):
    """``DROP TABLE | VIEW [IF EXISTS] name``."""

    kind: RelationKind
    name: str
    if_exists: bool = False


class ChangeProperties(msgspec.Struct, frozen=True):
    """``ALTER TABLE | VIEW name SET TBLPROPERTIES (key = value, ...)``, or ``... UNSET TBLPROPERTIES [IF
    EXISTS] (key, ...)``. ``properties`` has the values to set, ``unset`` the keys to remove; one of the two
    is empty."""

    kind: RelationKind
    name: str
    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    unset: tuple[str, ...] = ()
    if_exists: bool = False


class CommentOnTable(msgspec.Struct, frozen=True):
    """``COMMENT ON TABLE name IS 'comment' | NULL``; NULL becomes an empty comment."""

    name: str
    comment: str


class CommentOnColumn(msgspec.Struct, frozen=True):
    """``COMMENT ON COLUMN name.column IS 'comment' | NULL``, or ``ALTER TABLE name ALTER COLUMN column
    COMMENT 'comment'``. ``name`` is the table's; ``operation`` is the name of the statement in error
    messages."""

    name: str
    column: str
    comment: str
    operation: str


class CommentOnSchema(msgspec.Struct, frozen=True):
    """``COMMENT ON SCHEMA name IS 'comment' | NULL``; DATABASE and NAMESPACE mean the same. NULL becomes an
    empty comment."""

    name: str
    comment: str


class RenameRelation(msgspec.Struct, frozen=True):
    """``ALTER TABLE | VIEW name RENAME TO target``."""

    kind: RelationKind
    name: str
    target: str


class AddedColumn(msgspec.Struct, frozen=True):
    """A column of ADD COLUMN. ``name`` is dotted for a field inside of a column. ``required``: the column is
    NOT NULL. ``after``: the column that AFTER names, None without AFTER; FIRST is accepted and has no effect,
    as in Spark."""

    name: str
    type: pa.DataType
    comments: ColumnComments = NO_COMMENTS
    required: bool = False
    after: str | None = None


class AddColumns(msgspec.Struct, frozen=True):
    """``ALTER TABLE name ADD COLUMN | COLUMNS (column type [COMMENT text] [FIRST | AFTER column], ...)``."""

    name: str
    columns: tuple[AddedColumn, ...]


class ChangeColumns(msgspec.Struct, frozen=True):
    """``ALTER TABLE name DROP COLUMN | COLUMNS [IF EXISTS] columns``, or ``... RENAME COLUMN column TO
    name``. Running the statement raises an error, since no table supports either, as in Spark's own catalog.
    ``operation`` is the name of the statement in error messages."""

    name: str
    columns: tuple[str, ...]
    operation: str
    if_exists: bool = False


class AlterView(msgspec.Struct, frozen=True):
    """``ALTER VIEW name AS query``."""

    name: str
    query: Query


class CreateSchema(msgspec.Struct, frozen=True):
    """``CREATE SCHEMA [IF NOT EXISTS] name [...]``; DATABASE and NAMESPACE mean the same."""

    name: str
    mode: CreateMode = CreateMode.ERROR


class DropSchema(msgspec.Struct, frozen=True):
    """``DROP SCHEMA [IF EXISTS] name [CASCADE | RESTRICT]``; DATABASE and NAMESPACE mean the same. The
    struct doesn't keep CASCADE and RESTRICT: the schemas that exist can't be dropped, whatever they hold."""

    name: str
    if_exists: bool = False


class SetCatalog(msgspec.Struct, frozen=True):
    """``SET CATALOG name``."""

    name: str


class ShowPartitions(msgspec.Struct, frozen=True):
    """``SHOW PARTITIONS name [PARTITION (column = value, ...)]``; ``values`` has the values by column, as
    texts."""

    name: str
    values: Mapping[str, str] = msgspec.field(default_factory=dict)


class CreateIndex(msgspec.Struct, frozen=True):
    """``CREATE INDEX [IF NOT EXISTS] index ON [TABLE] name [USING format] (columns)``; ``name`` is the
    table's."""

    index: str
    name: str
    columns: tuple[str, ...]
    format: str | None = None
    mode: CreateMode = CreateMode.ERROR


class DropIndex(msgspec.Struct, frozen=True):
    """``DROP INDEX [IF EXISTS] index ON [TABLE] name``; ``name`` is the table's."""

    index: str
    name: str
    if_exists: bool = False


class ShowIndexes(msgspec.Struct, frozen=True):
    """``SHOW INDEXES ON | FROM | IN [TABLE] name``."""

    name: str


class Insert(msgspec.Struct, frozen=True):
    """``INSERT INTO | OVERWRITE [TABLE] name [(columns) | BY NAME] query``; ``columns`` is empty if the
    statement lists none, ``overwrite`` is true for OVERWRITE, ``by_name`` for BY NAME."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    overwrite: bool = False
    by_name: bool = False


class TruncateTable(msgspec.Struct, frozen=True):
    """``TRUNCATE TABLE name``."""

    name: str


class OuterParameter(msgspec.Struct, frozen=True):
    """A parameter that stands outside of the statement's query. ``name``: the name without the colon of a
    parameter ``:name``; for ``?`` a :class:`~sqlfront_planner.tokens.marks.PositionalParameter`, which has
    the position among all ``?`` of the statement."""

    name: str


class InsertDirectory(msgspec.Struct, frozen=True):
    """``INSERT OVERWRITE [LOCAL] DIRECTORY [path] USING format [OPTIONS (key value, ...)] query``. ``path``
    is None if the options have the path. ``format`` None: the statement asks for one of Hive's formats, which
    are refused when it runs."""

    query: Query
    path: str | OuterParameter | None = None
    format: str | None = None
    options: Mapping[str, str | OuterParameter] = msgspec.field(default_factory=dict)
    local: bool = False

    @property
    def parameters(self) -> tuple[OuterParameter, ...]:
        """The parameters before the query, in the path and the options."""
        return tuple(each for each in (self.path, *self.options.values()) if isinstance(each, OuterParameter))


class Delete(msgspec.Struct, frozen=True):
    """``DELETE FROM name [alias] [WHERE condition]``. ``rows`` is a query over all rows of the table, whose
    columns are the table's columns and then the condition."""

    name: str
    rows: Query


class Update(msgspec.Struct, frozen=True):
    """``UPDATE name [alias] SET column = value, ... [WHERE condition]``. ``rows`` is a query over all rows of
    the table, whose columns are the table's columns, then the ``assigned`` columns (or fields) that SET
    names, then a value for each of these, then the condition."""

    name: str
    assigned: int
    rows: Query


class ShowTables(msgspec.Struct, frozen=True):
    """``SHOW TABLES [IN | FROM database] [[LIKE] 'pattern']``; None for a part that isn't there."""

    database: str | None = None
    pattern: str | None = None


class ShowTablesExtended(msgspec.Struct, frozen=True):
    """``SHOW TABLE EXTENDED [IN | FROM database] LIKE 'pattern'``."""

    pattern: str
    database: str | None = None


class ShowViews(msgspec.Struct, frozen=True):
    """``SHOW VIEWS [IN | FROM database] [[LIKE] 'pattern']``; None for a part that isn't there."""

    database: str | None = None
    pattern: str | None = None


class ShowColumns(msgspec.Struct, frozen=True):
    """``SHOW COLUMNS IN | FROM name [IN | FROM database]``."""

    name: str
    database: str | None = None


class ShowSchemas(msgspec.Struct, frozen=True):
    """``SHOW SCHEMAS [IN | FROM catalog] [[LIKE] 'pattern']``; DATABASES and NAMESPACES mean the same.
    ``database`` holds the catalog's name; both fields are None if their part is missing."""

    database: str | None = None
    pattern: str | None = None


class ShowCatalogs(msgspec.Struct, frozen=True):
    """``SHOW CATALOGS [[LIKE] 'pattern']``."""

    pattern: str | None = None


class ShowCurrentSchema(msgspec.Struct, frozen=True):
    """``SHOW CURRENT SCHEMA``; DATABASE and NAMESPACE mean the same."""


class ShowProperties(msgspec.Struct, frozen=True):
    """``SHOW TBLPROPERTIES name [(key)]``; ``key`` None: all properties."""

    name: str
    key: str | None = None


class ShowCreateTable(msgspec.Struct, frozen=True):
    """``SHOW CREATE TABLE name``."""

    name: str


class FunctionScope(Enum):
    """The functions that SHOW FUNCTIONS lists."""

    ALL = "all"
    """All functions."""
    SYSTEM = "system"
    """Functions of SQL."""
    USER = "user"
    """Functions that users have added."""


class ShowFunctions(msgspec.Struct, frozen=True):
    """``SHOW [USER | SYSTEM | ALL] FUNCTIONS [IN | FROM database] [[LIKE] name | 'pattern']``. ``pattern`` is
    the pattern or the name without its qualifier; ``database`` may be the name's qualifier."""

    scope: FunctionScope = FunctionScope.ALL
    database: str | None = None
    pattern: str | None = None


class DescribeTable(msgspec.Struct, frozen=True):
    """``DESCRIBE [TABLE] [EXTENDED] name [AS JSON]``."""

    name: str
    extended: bool = False
    as_json: bool = False


class DescribeColumn(msgspec.Struct, frozen=True):
    """``DESCRIBE [TABLE] [EXTENDED] name column``."""

    name: str
    column: str
    extended: bool = False


class DescribeFunction(msgspec.Struct, frozen=True):
    """``DESCRIBE FUNCTION [EXTENDED] name | 'name' | operator``."""

    name: str
    extended: bool = False


class DescribeSchema(msgspec.Struct, frozen=True):
    """``DESCRIBE SCHEMA [EXTENDED] name``; DATABASE and NAMESPACE mean the same."""

    name: str
    extended: bool = False


class DescribeQuery(msgspec.Struct, frozen=True):
    """``DESCRIBE [QUERY] query``: list the query's columns."""

    query: Query


class SetOption(msgspec.Struct, frozen=True):
    """``SET key = value``. If ``value`` is None, the statement shows the setting; if ``key`` is None, it
    shows all settings. ``value`` is a query only for ``SET TIME ZONE INTERVAL ...``: the query returns the
    interval, the zone's offset from UTC."""

    key: str | None = None
    value: str | Query | None = None


class ResetOption(msgspec.Struct, frozen=True):
    """``RESET key``: set a setting to its value at the session's start; without ``key``, all settings of
    Spark."""

    key: str | None = None


class RefreshTable(msgspec.Struct, frozen=True):
    """``REFRESH TABLE name``: forget the cached metadata of the table's files."""

    name: str


class RefreshPath(msgspec.Struct, frozen=True):
    """``REFRESH path``: forget the cached metadata of the files below the path. ``quoted``: the path was a
    string literal, and so can't be the name of a table."""

    path: str
    quoted: bool = False


class RepairTable(msgspec.Struct, frozen=True):
    """``[MSCK] REPAIR TABLE name [ADD | SYNC PARTITIONS]``: list the partition directories of the table's
    files again, so that new ones are read and missing ones are not."""

    name: str


class KillQuery(msgspec.Struct, frozen=True):
    """``KILL QUERY id``. ``id`` is the number of the query, or the name of the parameter that holds the
    number."""

    id: int | str


#: A statement that a durable job runs; a CreateTable has a query.
JobStatement = Query | CreateTable | Insert | InsertDirectory


class CreateJob(msgspec.Struct, frozen=True):
    """``CREATE [OR REPLACE] JOB [IF NOT EXISTS] name [OPTIONS (key value, ...)] AS statement``.

    ``statement`` is the statement that the job runs, with positions in the complete text. ``text`` is this
    statement as written, without trailing semicolons; ``start`` is the offset of ``text`` in the complete
    text. The values of ``options`` are texts, whatever literals the statement has.
    """

    name: str
    statement: JobStatement
    text: str
    start: int
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    mode: CreateMode = CreateMode.ERROR


class ExplainJob(msgspec.Struct, frozen=True):
    """``EXPLAIN [EXTENDED] CREATE JOB ...``: show the plan of the job, which isn't created."""

    job: CreateJob
    extended: bool = False


class ShowJobs(msgspec.Struct, frozen=True):
    """``SHOW JOBS [[LIKE] 'pattern']``; ``pattern`` None: all jobs."""

    pattern: str | None = None


class DescribeJob(msgspec.Struct, frozen=True):
    """``DESCRIBE JOB [EXTENDED] name``."""

    name: str
    extended: bool = False


class CancelJob(msgspec.Struct, frozen=True):
    """``CANCEL JOB [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


class ResumeJob(msgspec.Struct, frozen=True):
    """``RESUME JOB [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


class DropJob(msgspec.Struct, frozen=True):
    """``DROP JOB [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


class UseDatabase(msgspec.Struct, frozen=True):
    """``USE database``; the only database that a session accepts is the default one."""

    database: str


Statement = (
    Query
    | Explain
    | CreateTable
    | CreateView
    | CacheTable
    | UncacheTable
    | Drop
    | ChangeProperties
    | CommentOnTable
    | CommentOnColumn
    | CommentOnSchema
    | RenameRelation
    | AddColumns
    | ChangeColumns
    | AlterView
    | CreateSchema
    | DropSchema
    | SetCatalog
    | ShowPartitions
    | CreateIndex
    | DropIndex
    | ShowIndexes
    | Insert
    | InsertDirectory
    | TruncateTable
    | Delete
    | Update
    | Merge
    | ShowTables
    | ShowTablesExtended
    | ShowViews
    | ShowColumns
    | ShowSchemas
    | ShowCatalogs
    | ShowCurrentSchema
    | ShowProperties
    | ShowCreateTable
    | ShowFunctions
    | DescribeTable
    | DescribeColumn
    | DescribeFunction
    | DescribeSchema
    | DescribeQuery
    | ResetOption
    | SetOption
    | RefreshPath
    | RefreshTable
    | RepairTable
    | KillQuery
    | CreateFunction
    | DropFunction
    | ExecuteImmediate
    | DeclareVariable
    | SetVariables
    | DropVariable
    | CreateJob
    | ExplainJob
    | ShowJobs
    | DescribeJob
    | CancelJob
    | ResumeJob
    | DropJob
    | UseDatabase
)
