"""From text to statements: the first word, the grammar, the parser's errors, scripts."""

import pyarrow as pa
import pytest

from sqlfront_planner.script import split_statements
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.directories import directory_target
from sqlfront_planner.statements.structs import (
    CacheTable,
    CreateIndex,
    CreateTable,
    CreateView,
    Delete,
    DescribeQuery,
    DescribeTable,
    Drop,
    DropIndex,
    Explain,
    ExplainFormat,
    ExplainMode,
    FunctionScope,
    Insert,
    InsertDirectory,
    KillQuery,
    Query,
    RefreshPath,
    RefreshTable,
    RelationKind,
    RelationScope,
    SetOption,
    ShowFunctions,
    ShowIndexes,
    ShowTables,
    UncacheTable,
    Update,
    UseDatabase,
)
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError


def failure(sql: str) -> Error:
    with pytest.raises(Error) as caught:
        parse(sql)
    return caught.value


@pytest.mark.parametrize(
    "sql, statement",
    [
        ("show tables", ShowTables()),
        ("SHOW TABLES IN default LIKE 'a*'", ShowTables("default", "a*")),
        ("show functions", ShowFunctions()),
        ("SHOW USER FUNCTIONS 'a*'", ShowFunctions(FunctionScope.USER, None, "a*")),
        ("SHOW system FUNCTIONS FROM d LIKE 'a*|b'", ShowFunctions(FunctionScope.SYSTEM, "d", "a*|b")),
        ("SHOW FUNCTIONS LIKE c.d.f", ShowFunctions(FunctionScope.ALL, "c.d", "f")),
        ("describe t", DescribeTable("t")),
        ("desc table extended t", DescribeTable("t", extended=True)),
        ("drop table if exists a.b", Drop(RelationKind.TABLE, "a.b", if_exists=True)),
        ("drop table if", Drop(RelationKind.TABLE, "if")),
        ("drop table if exists if", Drop(RelationKind.TABLE, "if", if_exists=True)),
        ("drop view v;", Drop(RelationKind.VIEW, "v")),
        ("cache table t clustered by (a, b)", CacheTable("t", clustered_by=("a", "b"))),
        ("cache lazy table t", CacheTable("t", lazy=True)),
        ("uncache table if exists t", UncacheTable("t", if_exists=True)),
        ("refresh table t", RefreshTable("t")),
        ("refresh table -- a comment\nt", RefreshTable("t")),
        ("refresh 'a' \"b c\" ;", RefreshPath("ab c", quoted=True)),
        ("refresh a/b", RefreshPath("a/b")),
        ("refresh t;", RefreshPath("t;")),
        ("refresh table", RefreshPath("table")),
        ("refresh -- ", RefreshPath("--")),
        ("create index i on t (a, `b c`)", CreateIndex("i", "t", ("a", "b c"))),
        (
            "CREATE INDEX IF NOT EXISTS i ON TABLE a.t USING Hash (k)",
            CreateIndex("i", "a.t", ("k",), "hash", CreateMode.SKIP),
        ),
        ("drop index i on t", DropIndex("i", "t")),
        ("drop index if exists i on table t;", DropIndex("i", "t", if_exists=True)),
        ("show indexes from t", ShowIndexes("t")),
        ("use default", UseDatabase("default")),
        ("kill query 42", KillQuery(42)),
        ("KILL QUERY ? -- the first", KillQuery("?0")),
        ("kill query :id;", KillQuery("id")),
        ("set", SetOption()),
        ("set a.b", SetOption("a.b")),
        ("set a.b = 5 x", SetOption("a.b", "5 x")),
        ("set time zone 'UTC'", SetOption("spark.sql.session.timeZone", "UTC")),
        (
            "create table t using parquet location '/a'",
            CreateTable("t", format="parquet", location="/a"),
        ),
    ],
)
def test_statement(sql: str, statement: object) -> None:
    assert parse(sql) == statement


def test_create_table_with_everything() -> None:
    statement = parse(
        "CREATE OR REPLACE TEMP TABLE t (a int not null comment 'x', `b c` decimal(10,2), date date, "
        "n array<struct<x: int, y string>>) USING csv OPTIONS (header true, 'sep' = ';') PARTITIONED BY (a)"
    )

    assert isinstance(statement, CreateTable)
    assert statement.schema == pa.schema(
        [
            ("a", pa.int32()),
            ("b c", pa.decimal128(10, 2)),
            ("date", pa.date32()),
            ("n", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]))),
        ]
    )
    assert dict(statement.options) == {"header": "true", "sep": ";"}
    assert statement.partitioned_by == ("a",)
    assert (statement.mode, statement.scope) == (CreateMode.REPLACE, RelationScope.TEMPORARY)


def test_create_table_as_select_into_buckets() -> None:
    statement = parse("create table t using memory clustered by (k) into 16 buckets as select 1 as k")

    assert isinstance(statement, CreateTable)
    assert (statement.clustered_by, statement.buckets) == (("k",), 16)
    assert statement.query is not None
    assert statement.query.text == "select 1 as k"


def test_create_view_keeps_the_querys_text() -> None:
    statement = parse("create or replace temporary view v (x) as with a as (select 1) select * from a")

    assert isinstance(statement, CreateView)
    assert statement.query.text == "with a as (select 1) select * from a"
    assert statement.columns == ("x",)


@pytest.mark.parametrize("query", ["select 1, 2", "values (1, 2)", "table u", "(select 1, 2)"])
def test_insert_takes_any_query(query: str) -> None:
    statement = parse(f"insert overwrite table t (a, b) {query}")

    assert isinstance(statement, Insert)
    assert (statement.name, statement.columns, statement.overwrite) == ("t", ("a", "b"), True)
    assert statement.query.text == query


def test_delete_and_update_hold_the_query_of_their_rows() -> None:
    delete = parse("delete from db.t as x where x.a = 1 and b in (select c from u where c > 2)")
    update = parse("update t set a = b + 1, t.b = case when a = 1 then 2 end, c = default where a + b = 3")

    assert isinstance(delete, Delete)
    assert delete.name == "db.t"
    assert [part.sql() for part in delete.rows.tree.expressions] == [
        "*",
        "(x.a = 1 AND b IN (SELECT c FROM u WHERE c > 2))",
    ]
    assert isinstance(update, Update)
    assert (update.name, update.assigned) == ("t", 3)
    assert len(update.rows.tree.expressions) == 8
    assert update.rows.tree.sql().endswith("(NULL), (a + b = 3) FROM t")


@pytest.mark.parametrize(
    "words, mode",
    [
        ("", ExplainMode.SIMPLE),
        ("extended ", ExplainMode.EXTENDED),
        ("analyze ", ExplainMode.ANALYZE),
        ("(analyze) ", ExplainMode.ANALYZE),
        ("extended (analyze)", ExplainMode.EXTENDED_ANALYZE),
        ("( /* no query */ extended , ANALYZE ) ", ExplainMode.EXTENDED_ANALYZE),
    ],
)
def test_explain(words: str, mode: ExplainMode) -> None:
    statement = parse(f"explain {words}select 1")

    assert isinstance(statement, Explain)
    assert statement.mode is mode
    assert statement.format is ExplainFormat.TEXT
    assert isinstance(statement.query, Query)


@pytest.mark.parametrize("form", ExplainFormat)
@pytest.mark.parametrize("options", ["(format {})", "analyze (format {})", "(analyze, format {})"])
def test_explain_in_a_format(form: ExplainFormat, options: str) -> None:
    statement = parse(f"explain {options.format(form.value)} select 1")

    assert isinstance(statement, Explain)
    assert statement.format is form


def test_explain_of_a_query_in_parentheses() -> None:
    statement = parse("explain (select 1)")

    assert isinstance(statement, Explain)
    assert statement.mode is ExplainMode.SIMPLE
    assert isinstance(statement.query, Query)


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("explain (format yaml) select 1", "'yaml'"),
        ("explain (format) select 1", "')'"),
        ("explain (analyze verbose) select 1", "'verbose'"),
        ("explain (analyze, analyze) select 1", "'analyze'"),
        ("explain analyze (analyze) select 1", "'analyze'"),
        ("explain (format json", "end of input"),
    ],
)
def test_explain_with_wrong_options(sql: str, place: str) -> None:
    assert f"Syntax error at or near {place}." in str(failure(sql))


def test_graphs_show_no_logical_plans() -> None:
    with pytest.raises(NotSupportedError, match="EXPLAIN EXTENDED in the format dot"):
        parse("explain (extended, format dot) select 1")


def test_describe_query() -> None:
    assert isinstance(parse("describe select 1"), DescribeQuery)


@pytest.mark.parametrize("sql", ["call f()", "alter table t recover partitions"])
def test_what_is_not_built_is_refused_by_name(sql: str) -> None:
    error = failure(sql)

    assert isinstance(error, NotSupportedError)
    assert error.message.lower().startswith(sql.split(maxsplit=1)[0])


@pytest.mark.parametrize(
    "sql, near",
    [
        ("selec 1", "'selec'"),
        ("select a b c from t", "'c'"),
        ("select (1", "end of input"),
        ("select 1 +", "end of input"),
        ("select ,a from t", "','"),
        ("select f(1,)", "')'"),
        ("select a between 1 2", "'2'"),
        ("select 1; select 2", "'select'"),
        ("create table", "end of input"),
        ("insert into t select * fro u", "'u'"),
        ("explain select * from (select 1", "end of input"),
    ],
)
def test_syntax_error_names_the_place(sql: str, near: str) -> None:
    error = failure(sql)

    assert isinstance(error, ProgrammingError)
    assert (error.condition, error.sqlstate) == ("PARSE_SYNTAX_ERROR", "42601")
    assert error.message == f"Syntax error at or near {near}."
    assert error.position is not None


def test_position_in_an_embedded_query_is_that_of_the_whole_text() -> None:
    sql = "create table t using memory as\nselect a b c from u"

    assert str(failure(sql)).splitlines()[-2:] == ["LINE 2: select a b c from u", "                   ^"]


@pytest.mark.parametrize("count", [0, 100_001, 1 << 31, 10**30])
def test_the_number_of_buckets_has_sparks_bounds(count: int) -> None:
    for made in ("CREATE TABLE t (k INT) USING memory", "CACHE TABLE t"):
        error = failure(f"{made} CLUSTERED BY (k) INTO {count} BUCKETS")
        assert (error.condition, error.sqlstate) == ("INVALID_BUCKET_COUNT", "22003")
        assert str(count) in error.message


@pytest.mark.parametrize(
    "sql, condition",
    [
        ("select 'abc", "PARSE_SYNTAX_ERROR"),
        ("select `abc", "PARSE_SYNTAX_ERROR"),
        ("select /* x", "UNCLOSED_BRACKETED_COMMENT"),
        ("select /* /* */", "UNCLOSED_BRACKETED_COMMENT"),
    ],
)
def test_an_open_quote_or_comment_is_pointed_at(sql: str, condition: str) -> None:
    error = failure(sql)

    assert error.condition == condition
    assert error.position == (7, 8)


@pytest.mark.parametrize(
    "sql, condition",
    [
        ("", "PARSE_EMPTY_STATEMENT"),
        (" \n", "PARSE_EMPTY_STATEMENT"),
        (";", "PARSE_SYNTAX_ERROR"),
        ("-- nothing", "PARSE_SYNTAX_ERROR"),
        ("/* a */", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_an_empty_text_is_no_statement(sql: str, condition: str) -> None:
    assert failure(sql).condition == condition


@pytest.mark.parametrize("sql", ["select cast(1 as nope)", "create table t (a nope)"])
def test_an_unknown_type_is_named(sql: str) -> None:
    error = failure(sql)

    assert error.condition == "UNSUPPORTED_DATATYPE"
    assert "NOPE" in error.message


def test_a_pipe_keeps_the_order_of_its_steps() -> None:
    statement = parse("from t |> limit 1 |> where a = 1")

    assert isinstance(statement, Query)
    assert statement.text == "from t |> limit 1 |> where a = 1"
    assert "(SELECT * FROM t LIMIT 1)" in statement.tree.sql()


def test_a_set_operation_behind_a_step_is_refused() -> None:
    error = failure("from t |> where a = 1 union all table u")

    assert isinstance(error, NotSupportedError)
    assert error.message == "A set operation behind a step of |> is not supported."


def test_a_word_that_ends_the_text_may_be_an_alias() -> None:
    assert isinstance(parse("select * from t where"), Query)


def test_script_is_split_outside_quotes_and_comments() -> None:
    script = "select ';', \"a;\", `b;` -- c;\n; /* d; */ select r'\\';;"

    assert split_statements(script) == (
        "select ';', \"a;\", `b;` -- c;",
        "/* d; */ select r'\\'",
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("create table t (select int)", ["select"]),
        (
            "create table if not exists a.`b c` ( with int, from decimal(3, 2) not null) using csv",
            ["with", "from"],
        ),
        ("create table t (select int, b)", None),
        ("create table t (select a b)", None),
        ("create table t as (select int)", None),
        ("create table t using csv (select int)", None),
    ],
)
def test_brackets_behind_a_new_tables_name_hold_columns_if_they_can(
    text: str, columns: list[str] | None
) -> None:
    statement = parse(text)

    assert isinstance(statement, CreateTable)
    assert (None if statement.schema is None else statement.schema.names) == columns
    assert (statement.query is None) is (columns is not None)


@pytest.mark.parametrize(
    ("sql", "path", "format_name", "options"),
    [
        ("insert overwrite directory '/x' using CSV select 1", "/x", "csv", {}),
        ("INSERT OVERWRITE LOCAL DIRECTORY 'file:/x' USING json (VALUES (1))", "file:/x", "json", {}),
        ("INSERT OVERWRITE DIRECTORY '/a' \"/b\" USING csv TABLE t;", "/a/b", "csv", {}),
        (
            "INSERT OVERWRITE DIRECTORY USING csv OPTIONS (PATH '/x', 'a.b' = 1, c true) FROM t SELECT a",
            "/x",
            "csv",
            {"a.b": "1", "c": "true"},
        ),
        (
            "INSERT OVERWRITE /* a */ DIRECTORY--b\n'/x'--c\nUSING csv WITH t AS (SELECT 1) SELECT 2",
            "/x",
            "csv",
            {},
        ),
        ("INSERT OVERWRITE DIRECTORY ? USING csv OPTIONS (a ?) SELECT ?", "/x", "csv", {"a": "true"}),
        ("INSERT OVERWRITE DIRECTORY:p USING csv OPTIONS (a :q) SELECT :p", "/x", "csv", {"a": "7"}),
        ("INSERT OVERWRITE DIRECTORY USING csv OPTIONS (path ?) SELECT ?", "/x", "csv", {}),
        ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "/x", None, {}),
        ("INSERT OVERWRITE DIRECTORY '/x' USING HIVE SELECT 1", "/x", None, {}),
        ("INSERT OVERWRITE DIRECTORY '/x' STORED AS orc SELECT 1", "/x", None, {}),
        (
            "INSERT OVERWRITE LOCAL DIRECTORY '/x' ROW FORMAT DELIMITED LINES TERMINATED BY 'select' TABLE t",
            "/x",
            None,
            {},
        ),
    ],
)
def test_a_directory_to_overwrite(
    sql: str, path: str, format_name: str | None, options: dict[str, str]
) -> None:
    statement = parse(sql)

    assert isinstance(statement, InsertDirectory)
    target = directory_target(statement, {"?0": "/x", "?1": True, "p": "/x", "q": 7}.__getitem__)
    assert (target.path, target.format, target.options) == (path, format_name, options)


@pytest.mark.parametrize("name", ["directory", "local", "`local`.directory"])
def test_a_table_may_have_the_name_of_a_word_for_directories(name: str) -> None:
    for sql in (f"INSERT OVERWRITE {name} SELECT 1", f"INSERT OVERWRITE TABLE {name} (a) VALUES (1)"):
        assert isinstance(parse(sql), Insert)
