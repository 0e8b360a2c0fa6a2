"""Translation of the grammar's tree (``statements.lark``) into a statement."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import lark
import pyarrow as pa

from sqlfront_planner.relation_details import RelationDetails, changed
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.declarations import (
    ColumnDeclaration,
    declaration,
    schema_of,
    unique_properties,
    with_columns,
)
from sqlfront_planner.statements.directories import unique_options
from sqlfront_planner.statements.dotted_names import dotted, name_parts
from sqlfront_planner.statements.field_comments import commented
from sqlfront_planner.statements.query_parser import parse_query, statement_text
from sqlfront_planner.statements.structs import (
    AddColumns,
    AddedColumn,
    AlterView,
    CacheTable,
    CancelJob,
    ChangeColumns,
    ChangeProperties,
    CommentOnColumn,
    CommentOnSchema,
    CommentOnTable,
    CreateIndex,
    CreateJob,
    CreateSchema,
    CreateTable,
    CreateView,
    DescribeColumn,
    DescribeFunction,
    DescribeJob,
    DescribeQuery,
    DescribeSchema,
    DescribeTable,
    Drop,
    DropIndex,
    DropJob,
    DropSchema,
    FunctionScope,
    Insert,
    InsertDirectory,
    JobStatement,
    KillQuery,
    OuterParameter,
    Query,
    RefreshTable,
    RelationKind,
    RelationScope,
    RenameRelation,
    RepairTable,
    ResetOption,
    ResumeJob,
    SetCatalog,
    SetOption,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentSchema,
    ShowFunctions,
    ShowIndexes,
    ShowJobs,
    ShowPartitions,
    ShowProperties,
    ShowSchemas,
    ShowTables,
    ShowTablesExtended,
    ShowViews,
    TruncateTable,
    UncacheTable,
    UseDatabase,
)
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_planner.tokens.tokenizing import unescape
from sqlfront_values import types
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError, spark_error
from sqlfront_values.zones.local import local_zone

_TYPES: Final = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.TINYINT,
    "BYTE": types.TINYINT,
    "SMALLINT": types.SMALLINT,
    "SHORT": types.SMALLINT,
    "INT": types.INT,
    "INTEGER": types.INT,
    "BIGINT": types.BIGINT,
    "LONG": types.BIGINT,
    "FLOAT": types.FLOAT,
    "REAL": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "BINARY": types.BINARY,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
    "VARIANT": types.VARIANT,
    "VOID": types.VOID,
}
#: A text that ends with the word SET.
_SET_ALONE: Final = re.compile(r"\bset[\s;]*\Z", re.IGNORECASE)
#: Spark's default of spark.sql.sources.bucketing.maxBuckets.
_MOST_BUCKETS: Final = 100_000
_DECIMAL_DEFAULTS: Final = (10, 0)

Part = tuple[str, object]
Parts = list[object]
Built = TypeVar("Built")


def _statement(kind: type[Built], *, text: str | None = None) -> Callable[[object, Parts], Built]:
    """Make the method for a rule whose labelled parts are the fields of a statement; ``text`` names the field
    that an unlabelled text fills, if there is one."""

    def build(_: object, parts: Parts) -> Built:
        texts = [part for part in parts if text and isinstance(part, str)]
        return kind(**_named(parts), **{str(text): part for part in texts[:1]})

    return build


def _label(name: str, value: object) -> Callable[[object, Parts], Part]:
    """Make the method for a rule of words only, which stands for this value of the field ``name``."""
    return lambda _, parts: (name, value)


def _tuple_of_parts(name: str) -> Callable[[object, Parts], Part]:
    """Make the method for a list, which is the value of the field ``name``."""
    return lambda _, parts: (name, tuple(parts))


class StatementBuilder(lark.Transformer[lark.Token, object]):
    """A transformer that turns lark's tree of a statement into the statement, bottom-up. ``sql`` is the text,
    the statement begins at the offset ``start``; ``parse_inner(offset)`` parses the statement inside CREATE
    JOB.

    Each method handles the rule or terminal of the same name, given the results of its parts. A labelled part
    is a pair of a field's name in the statement and the field's value."""

    def __init__(self, sql: str, start: int, parse_inner: Callable[[int], JobStatement]) -> None:
        super().__init__()
        self._sql = sql
        self._start = start
        self._parse_inner = parse_inner
        # The number of parameters ``?`` before the query.
        self._positional = 0

    def start(self, parts: Parts) -> object:
        return parts[0]

    # ---- tokens

    def STRING(self, token: lark.Token) -> str:  # noqa: N802 - named as the terminal
        return unescape(str(token))

    def QUOTED_NAME(self, token: lark.Token) -> str:  # noqa: N802
        return str(token)[1:-1].replace("``", "`")

    def WORD(self, token: lark.Token) -> str:  # noqa: N802
        return str(token)

    def INTEGER(self, token: lark.Token) -> int:  # noqa: N802
        return int(token)

    def QUERY(self, token: lark.Token) -> Query:  # noqa: N802
        assert token.start_pos is not None
        return parse_query(self._sql, self._start + token.start_pos, self._positional)

    def PARAMETER(self, token: lark.Token) -> OuterParameter:  # noqa: N802
        if str(token) != "?":
            return OuterParameter(str(token)[1:])
        self._positional += 1
        return OuterParameter(PositionalParameter.at(self._positional - 1))

    DESCRIBED_QUERY = QUERY

    def identifier(self, parts: Parts) -> object:
        return parts[0]

    def name(self, parts: Parts) -> Part:
        """Return the labelled part "name": a dotted name as one text, with backticks where a part needs
        them."""
        return "name", dotted([str(part) for part in parts])

    name_list = _tuple_of_parts("columns")

    # ---- types

    def plain_type(self, parts: Parts) -> pa.DataType:
        return _TYPES[str(parts[0]).upper()]

    def sized_type(self, parts: Parts) -> pa.DataType:
        # Spark checks and truncates written values, pads CHAR with blanks, and ignores the blanks in
        # comparisons.
        name, length = str(parts[0]).upper(), parts[1]
        raise NotSupportedError(
            f"A column of type {name}({length}) is not supported; STRING holds texts of any length.",
            sqlstate="0A000",
        )

    def unknown_type(self, parts: Parts) -> pa.DataType:
        raise spark_error("UNSUPPORTED_DATATYPE", f'Unsupported data type "{str(parts[0]).upper()}".')

    def decimal_type(self, parts: Parts) -> pa.DataType:
        precision, scale, *_ = (
            *(part for part in parts if isinstance(part, int)),
            *_DECIMAL_DEFAULTS[len(parts) - 1 :],
        )
        if not 0 <= scale <= precision <= types.MAX_PRECISION or precision < 1:
            raise spark_error(
                "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", f"There is no DECIMAL({precision},{scale})."
            )
        return types.decimal(precision, scale)

    def time_type(self, parts: Parts) -> pa.DataType:
        return types.time(int(str(parts[0]))) if parts else types.TIME

    def array_type(self, parts: Parts) -> pa.DataType:
        return pa.list_(parts[0])

    def map_type(self, parts: Parts) -> pa.DataType:
        return pa.map_(parts[0], parts[1])

    def struct_type(self, parts: Parts) -> pa.DataType:
        return pa.struct(parts)

    def field(self, parts: Parts) -> pa.Field:
        comment = _named(parts[2:]).get("comment")
        assert comment is None or isinstance(comment, str)
        return commented(str(parts[0]), parts[1], comment)

    def interval_type(self, parts: Parts) -> pa.DataType:
        first, last = str(parts[0]).upper(), str(parts[-1]).upper()
        kind = types.INTERVALS.get((first, last))
        if kind is None:
            raise spark_error("PARSE_SYNTAX_ERROR", f"There is no interval type {first} TO {last}.")
        return kind

    # ---- clauses

    def column(self, parts: Parts) -> ColumnDeclaration:
        return declaration(str(parts[0]), parts[1], parts[2:])  # type: ignore[arg-type]

    def column_clause(self, parts: Parts) -> Part:
        return parts[0]  # type: ignore[return-value]

    required = _label("required", True)
    columns = _tuple_of_parts("declared")

    def view_column(self, parts: Parts) -> ColumnDeclaration:
        return declaration(str(parts[0]), types.VOID, parts[1:])  # type: ignore[arg-type]

    view_columns = _tuple_of_parts("declared")
    or_replace = _label("mode", CreateMode.REPLACE)
    temporary = _label("scope", RelationScope.TEMPORARY)
    global_temporary = _label("scope", RelationScope.GLOBAL_TEMPORARY)
    if_not_exists = _label("mode", CreateMode.SKIP)
    if_exists = _label("if_exists", True)
    lazy = _label("lazy", True)
    overwrite = _label("overwrite", True)
    extended = _label("extended", True)
    table_kind = _label("kind", RelationKind.TABLE)
    view_kind = _label("kind", RelationKind.VIEW)

    def as_query(self, parts: Parts) -> Part:
        return "query", parts[0]

    def using(self, parts: Parts) -> Part:
        return "format", str(parts[0]).lower()

    def option(self, parts: Parts) -> Part:
        key, value = parts
        return str(key), value

    def option_key(self, parts: Parts) -> str:
        return ".".join(str(part) for part in parts)

    def option_value(self, parts: Parts) -> str:
        return str(parts[0])

    def TRUE(self, _: lark.Token) -> str:  # noqa: N802
        return "true"

    def FALSE(self, _: lark.Token) -> str:  # noqa: N802
        return "false"

    def options(self, parts: Parts) -> Part:
        return "options", _named(parts)

    def properties(self, parts: Parts) -> Part:
        return "properties", unique_properties(parts)  # type: ignore[arg-type]

    def unset(self, parts: Parts) -> Part:
        keys = [str(part) for part in parts if isinstance(part, str)]
        return "unset", tuple(unique_properties([(key, "") for key in keys]))

    def comment(self, parts: Parts) -> Part:
        return "comment", parts[0]

    def schema_mode(self, parts: Parts) -> Part:
        """Return the labelled part of the clause WITH SCHEMA of CREATE VIEW. Only COMPENSATION, Spark's
        default, is implemented."""
        return "schema_mode", None

    def location(self, parts: Parts) -> Part:
        return "location", parts[0]

    def partitioned_by(self, parts: Parts) -> Part:
        return "partitioned_by", _named(parts)["columns"]

    def clustered_by(self, parts: Parts) -> Part:
        buckets = next((part for part in parts if isinstance(part, int)), None)
        if buckets is not None and not 0 < buckets <= _MOST_BUCKETS:
            raise spark_error(
                "INVALID_BUCKET_COUNT",
                "Number of buckets should be greater than 0 but less than or equal to bucketing.maxBuckets"
                f" (`{_MOST_BUCKETS}`). Got `{buckets}`.",
            )
        return "clustered_by", (_named(parts)["columns"], buckets)

    def in_database(self, parts: Parts) -> Part:
        return "database", _named(parts)["name"]

    # ---- statements

    def create_table(self, parts: Parts) -> CreateTable:
        given = _detailed(self._once(parts))
        declared = given.pop("declared", None)
        if declared is not None:
            given["schema"] = schema_of(declared)  # type: ignore[arg-type]
        _check_qualifier(given)
        return CreateTable(**_clustering(given))  # type: ignore[arg-type]

    def create_view(self, parts: Parts) -> CreateView:
        _check_mode(parts)
        clauses = self._once(parts)
        if "scope" in clauses and "properties" in clauses:
            raise ProgrammingError(
                "Operation not allowed: TBLPROPERTIES can't coexist with CREATE TEMPORARY VIEW.",
                condition="_LEGACY_ERROR_TEMP_0035",
            )
        given = _detailed(clauses)
        declared = given.pop("declared", ())
        given["columns"] = tuple(column.name for column in declared)  # type: ignore[attr-defined]
        given.pop("schema_mode", None)
        _check_qualifier(given)
        query = next(part for part in parts if isinstance(part, Query))
        return CreateView(query=query, **given)  # type: ignore[arg-type]

    def create_view_using(self, parts: Parts) -> CreateTable:
        given = _detailed(self._once(parts))
        declared = given.pop("declared", None)
        if declared is not None:
            given["schema"] = schema_of(declared)  # type: ignore[arg-type]
        _check_qualifier(given)
        return CreateTable(**given, is_view=True)  # type: ignore[arg-type]

    create_index = _statement(CreateIndex, text="index")
    drop_index = _statement(DropIndex, text="index")
    show_indexes = _statement(ShowIndexes)

    def cache_table(self, parts: Parts) -> CacheTable:
        given = self._once(parts)
        options: Mapping[str, object] = given.pop("options", {})  # type: ignore[assignment]
        if "backups" in map(str.lower, options):
            raise ProgrammingError(
                "CACHE TABLE takes no option backups: the copy of a lost member's rows is made anew from the"
                " relation that was copied"
            )
        return CacheTable(**_clustering(given))  # type: ignore[arg-type]

    uncache_table = _statement(UncacheTable)

    def drop(self, parts: Parts) -> Drop:
        given = _named(parts)
        given.pop("scope", None)
        return Drop(**given)  # type: ignore[arg-type]

    schema_properties = _label("properties", None)

    def create_schema(self, parts: Parts) -> CreateSchema:
        given = self._once(parts)
        return CreateSchema(**{key: given[key] for key in ("name", "mode") if key in given})  # type: ignore[arg-type]

    drop_schema = _statement(DropSchema)

    def set_catalog(self, parts: Parts) -> SetCatalog:
        return SetCatalog(str(parts[0]))

    def partition_value(self, parts: Parts) -> tuple[str, str]:
        return str(parts[0]), str(parts[1])

    def partition_values(self, parts: Parts) -> Part:
        return "values", _named(parts)

    show_partitions = _statement(ShowPartitions)
    change_properties = _statement(ChangeProperties)
    column_kind = _label("kind", None)
    schema_kind = _label("kind", "schema")

    def comment_on(self, parts: Parts) -> CommentOnTable | CommentOnColumn | CommentOnSchema:
        given = _named(parts)
        comment = next((str(part) for part in parts if isinstance(part, str)), "")
        whole = name_parts(str(given["name"]))
        if given["kind"] is RelationKind.TABLE:
            return CommentOnTable(dotted(whole), comment)
        if given["kind"] == "schema":
            return CommentOnSchema(dotted(whole), comment)
        if len(whole) == 1:
            raise spark_error(
                "INVALID_SQL_SYNTAX.COMMENT_ON_COLUMN_INCORRECT_IDENTIFIER",
                "Invalid SQL syntax: COMMENT ON COLUMN requires an identifier with at least two parts. "
                "Please qualify the column with the table name.",
            )
        return CommentOnColumn(dotted(whole[:-1]), dotted(whole[-1:]), comment, "COMMENT ON COLUMN")

    def alter_column(self, parts: Parts) -> CommentOnColumn:
        given = _named(parts)
        return CommentOnColumn(
            str(given["name"]), str(given["column"]), str(given["comment"]), "ALTER TABLE ... ALTER COLUMN"
        )

    def renamed(self, parts: Parts) -> Part:
        return "target", dotted([str(part) for part in parts])

    rename_relation = _statement(RenameRelation)

    def position(self, parts: Parts) -> Part:
        return "after", str(parts[0]) if parts else None

    def added_column(self, parts: Parts) -> AddedColumn:
        given, kind = _named(parts), parts[1]
        clauses = [part for part in parts[2:] if part[0] != "after"]  # type: ignore[index]
        declared = declaration(str(given["column"]), kind, clauses)  # type: ignore[arg-type]
        return AddedColumn(
            declared.name,
            declared.type,
            declared.comments,
            declared.required,
            given.get("after"),  # type: ignore[arg-type]
        )

    added_columns = _tuple_of_parts("columns")

    def add_columns(self, parts: Parts) -> AddColumns:
        given = _named(parts)
        return AddColumns(str(given["name"]), given["columns"])  # type: ignore[arg-type]

    def column_names(self, parts: Parts) -> Part:
        return "columns", tuple(part[1] for part in parts)  # type: ignore[index]

    def drop_columns(self, parts: Parts) -> ChangeColumns:
        given = _named(parts)
        given.pop("kind")
        return ChangeColumns(operation="DROP COLUMN", **given)  # type: ignore[arg-type]

    def rename_column(self, parts: Parts) -> ChangeColumns:
        given = _named(parts)
        return ChangeColumns(str(given["name"]), given["columns"], "RENAME COLUMN")  # type: ignore[arg-type]

    def alter_view(self, parts: Parts) -> AlterView:
        given = _named(parts)
        return AlterView(str(given["name"]), given["query"])  # type: ignore[arg-type]

    def insert(self, parts: Parts) -> Insert:
        query = next(part for part in parts if isinstance(part, Query))
        return Insert(query=query, **_named(parts))  # type: ignore[arg-type]

    by_name = _label("by_name", True)
    truncate_table = _statement(TruncateTable)

    local = _label("local", True)

    def path(self, parts: Parts) -> Part:
        return "path", _joined(parts)

    def writer_value(self, parts: Parts) -> str | OuterParameter:
        return _joined(parts)

    writer_option = option
    writer_key = option_key
    writer_word = identifier

    def writer_options(self, parts: Parts) -> Part:
        return "options", unique_options(parts)  # type: ignore[arg-type]

    def insert_directory(self, parts: Parts) -> InsertDirectory:
        query = next(part for part in parts if isinstance(part, Query))
        return InsertDirectory(query, **_named(parts))  # type: ignore[arg-type]

    show_tables = _statement(ShowTables, text="pattern")
    show_tables_extended = _statement(ShowTablesExtended, text="pattern")
    show_views = _statement(ShowViews, text="pattern")
    show_columns = _statement(ShowColumns)
    show_schemas = _statement(ShowSchemas, text="pattern")

    def show_catalogs(self, parts: Parts) -> ShowCatalogs:
        return ShowCatalogs(*map(str, parts))

    def show_current_schema(self, _: Parts) -> ShowCurrentSchema:
        return ShowCurrentSchema()

    show_properties = _statement(ShowProperties, text="key")
    show_create_table = _statement(ShowCreateTable)

    def function_scope(self, parts: Parts) -> Part:
        word = str(parts[0]).lower()
        scope = next((scope for scope in FunctionScope if scope.value == word), None)
        if scope is None:
            raise _wrong_show("SCOPE", f"SHOW `{word}` FUNCTIONS not supported.")
        return "scope", scope

    like = _label("like", True)

    def show_functions(self, parts: Parts) -> ShowFunctions:
        given = _named(parts)
        pattern = next((part for part in parts if isinstance(part, str)), None)
        name = given.pop("name", None)
        is_first = given.keys().isdisjoint(("like", "scope"))
        if is_first and str(name).lower() == "functions":  # SHOW FUNCTIONS FUNCTIONS: the scope comes first
            raise _wrong_show("SCOPE", "SHOW `functions` FUNCTIONS not supported.")
        given.pop("like", None)
        if name is not None:
            if "database" in given:
                raise _wrong_show(
                    "PATTERN", f'Invalid pattern in SHOW FUNCTIONS: `{name}`. It must be a "STRING" literal.'
                )
            *database, pattern = name_parts(str(name))
            given["database"] = dotted(database) if database else None
        return ShowFunctions(pattern=pattern, **given)  # type: ignore[arg-type]

    def describe_query(self, parts: Parts) -> DescribeQuery:
        (query,) = parts
        assert isinstance(query, Query)
        return DescribeQuery(query)

    describe_table = _statement(DescribeTable)

    def column_name(self, parts: Parts) -> Part:
        return "column", dotted([str(part) for part in parts])

    as_json = _label("as_json", True)

    def describe_column(self, parts: Parts) -> DescribeColumn:
        if ("as_json", True) in parts:
            raise spark_error(
                "UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON",
                "The feature is not supported: DESC TABLE COLUMN AS JSON not supported for individual "
                "columns.",
            )
        return DescribeColumn(**_named(parts))  # type: ignore[arg-type]

    def describe_function(self, parts: Parts) -> DescribeFunction:
        written = next((str(part) for part in parts if isinstance(part, str)), None)
        given = _named(parts)
        name = given.pop("name", None) or dotted([str(written)])
        return DescribeFunction(name=name, **given)  # type: ignore[arg-type]

    describe_schema = _statement(DescribeSchema)

    def ZONE_INTERVAL(self, token: lark.Token) -> Query:  # noqa: N802
        assert token.start_pos is not None
        start = self._start + token.start_pos
        return parse_query("SELECT".ljust(start) + self._sql[start:])

    def set_option(self, parts: Parts) -> SetOption:
        if len(parts) == 1 and not isinstance(parts[0], lark.Token):
            zone = parts[0]
            return SetOption("spark.sql.session.timeZone", zone if isinstance(zone, Query) else str(zone))
        if not parts and not _SET_ALONE.search(self._sql):  # a comment behind it is a key
            raise spark_error(
                "INVALID_SET_SYNTAX", "Expected format is 'SET', 'SET key', or 'SET key=value'."
            )
        key, value, *_ = (*(str(part).strip() for part in parts), None, None)
        return SetOption(key, value)

    def reset_option(self, parts: Parts) -> ResetOption:
        return ResetOption(str(parts[0]) if parts else None)

    def LOCAL_ZONE(self, token: lark.Token) -> str:  # noqa: N802
        return local_zone()

    refresh_table = _statement(RefreshTable)
    repair_table = _statement(RepairTable)

    def kill_query(self, parts: Parts) -> KillQuery:
        (given,) = parts
        assert isinstance(given, int | OuterParameter)
        return KillQuery(given if isinstance(given, int) else given.name)

    def JOB_NAME(self, token: lark.Token) -> Part:  # noqa: N802
        assert token.start_pos is not None
        *qualifier, name = name_parts(str(token))
        if qualifier or not name:
            place = self._start + token.start_pos
            raise ProgrammingError(
                f"The name of a job is one identifier, not {token}.",
                sqlstate="42601",
                position=(place, place + len(token)),
            )
        return "name", name

    def JOB_STATEMENT(self, token: lark.Token) -> Part:  # noqa: N802
        assert token.start_pos is not None
        return "start", self._start + token.start_pos

    def job_options(self, parts: Parts) -> Part:
        return "options", unique_options(parts)  # type: ignore[arg-type]

    def create_job(self, parts: Parts) -> CreateJob:
        given = _named(parts)
        start = given["start"]
        assert isinstance(start, int)
        text = statement_text(self._sql, start)
        return CreateJob(statement=self._parse_inner(start), text=text, **given)  # type: ignore[arg-type]

    def show_jobs(self, parts: Parts) -> ShowJobs:
        return ShowJobs(*map(str, parts))

    job_not_exists = if_not_exists
    job_exists = if_exists
    job_extended = extended

    describe_job = _statement(DescribeJob)
    cancel_job = _statement(CancelJob)
    resume_job = _statement(ResumeJob)
    drop_job = _statement(DropJob)

    def use_database(self, parts: Parts) -> UseDatabase:
        return UseDatabase(str(_named(parts)["name"]))

    def _once(self, parts: Parts) -> dict[str, object]:
        """Return the values of a statement's clauses by their labels. Raises DUPLICATE_CLAUSES if a clause
        occurs twice."""
        names = [part[0] for part in parts if isinstance(part, tuple)]
        for name in names:
            if names.count(name) > 1:
                raise spark_error(
                    "DUPLICATE_CLAUSES",
                    f"Found duplicate clauses: {str(name).upper().replace('_', ' ')}. Please, remove one of "
                    "them.",
                )
        return _named(parts)


def _wrong_show(what: str, message: str) -> Error:
    """Make the error INVALID_SQL_SYNTAX.SHOW_FUNCTIONS_INVALID_SCOPE or _INVALID_PATTERN for SHOW FUNCTIONS;
    ``what`` is SCOPE or PATTERN."""
    return spark_error(f"INVALID_SQL_SYNTAX.SHOW_FUNCTIONS_INVALID_{what}", f"Invalid SQL syntax: {message}")


def _joined(parts: Parts) -> str | OuterParameter:
    """Return the joined text of adjacent string literals; if the only part is a parameter, return the
    parameter."""
    return parts[0] if isinstance(parts[0], OuterParameter) else "".join(map(str, parts))


def _named(parts: Parts) -> dict[str, object]:
    """The values of the labelled parts of a statement by their labels; other parts are left out."""
    return dict(part for part in parts if isinstance(part, tuple))


def _detailed(given: dict[str, object]) -> dict[str, object]:
    """Return the statement's fields with the comment, the properties and the declared columns' comments and
    NOT NULL moved into the field ``details``. As in Spark, CREATE ignores the property ``comment``."""
    properties: dict[str, str] = dict(given.pop("properties", {}))  # type: ignore[call-overload]
    properties.pop("comment", None)
    comment = given.pop("comment", None)
    assert comment is None or isinstance(comment, str)
    details = RelationDetails(comment, changed((), properties))
    given["details"] = with_columns(details, given.get("declared", ()))  # type: ignore[arg-type]
    return given


def _clustering(given: dict[str, object]) -> dict[str, object]:
    """Return the statement's fields with the pair "clustered_by" split into two fields: the columns
    ``clustered_by`` and the number ``buckets``. Without CLUSTERED BY the fields are unchanged."""
    clustered = given.pop("clustered_by", None)
    if isinstance(clustered, tuple):
        given["clustered_by"], given["buckets"] = clustered
    return given


def _check_mode(parts: Parts) -> None:
    """Raise an error if CREATE VIEW has IF NOT EXISTS together with OR REPLACE or TEMPORARY."""
    given = _named(parts)
    if ("mode", CreateMode.SKIP) not in parts:
        return
    if ("mode", CreateMode.REPLACE) in parts:
        raise spark_error(
            "CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE",
            f"CREATE VIEW {given['name']} with both IF NOT EXISTS and REPLACE is not allowed.",
        )
    if "scope" in given:
        raise ProgrammingError("It is not allowed to define a TEMPORARY view with IF NOT EXISTS.")


def _check_qualifier(given: dict[str, object]) -> None:
    """Raise INVALID_TEMP_OBJ_QUALIFIER if the name of a temporary relation has a qualifier."""
    *qualifier, last = name_parts(str(given["name"]))
    if "scope" in given and qualifier:
        raise spark_error(
            "INVALID_TEMP_OBJ_QUALIFIER",
            f"Temporary VIEW `{last}` cannot be qualified with `{'.'.join(qualifier)}`.",
        )
