"""The statements of durable jobs, from text to struct; their words are names elsewhere."""

import re
from itertools import cycle, product
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sqlfront_planner.script import split_statements
from sqlfront_planner.statement import is_about_jobs, only_reads, parse
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.structs import (
    CancelJob,
    CreateJob,
    CreateTable,
    DescribeColumn,
    DescribeJob,
    DescribeTable,
    DropJob,
    ExplainJob,
    Insert,
    InsertDirectory,
    Query,
    ResumeJob,
    ShowJobs,
)
from sqlfront_planner.syntax.grammar import spark_grammar
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from tests.fuzz.corpus import spark_statements
from tests.fuzz.statements import texts

WORDS = ("job", "jobs", "cancel", "resume")
OTHERS = (
    "show jobs like 'a*'",
    "describe job extended `a b`",
    "cancel job if exists j",
    "resume job j;",
    "drop job if exists j",
)

#: Statements that a job may run, with their class.
INNER = (
    ("select 1", Query),
    ("(SELECT 1)", Query),
    ("with a as (select 1) select * from a", Query),
    ("values (1), (2)", Query),
    ("table t", Query),
    ("from t select a", Query),
    ("select 1 as job -- the only\n from t", Query),
    ("select ';', /* ; */ 'as select'", Query),
    ("create table t as select 1", CreateTable),
    ("CREATE OR REPLACE TABLE a.t USING parquet PARTITIONED BY (a) AS SELECT 1 AS a", CreateTable),
    (
        "create table if not exists t using memory clustered by (k) into 4 buckets (select 1 as k)",
        CreateTable,
    ),
    ("insert into t values (1)", Insert),
    ("insert into table a.t (b, c) select 1, 2", Insert),
    ("INSERT OVERWRITE t TABLE u", Insert),
    ("insert overwrite directory '/x' using csv options (sep ';') select 1", InsertDirectory),
    ("insert overwrite local directory 'file:/x' using json (values (1))", InsertDirectory),
)

#: Beginnings of CREATE JOB, with the fields that they set.
BEGINNINGS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("create job j as ", {}),
    ("CREATE JOB IF NOT EXISTS j AS\n", {"mode": CreateMode.SKIP}),
    ("create or replace job j as /* one */ ", {"mode": CreateMode.REPLACE}),
    ("-- daily\ncreate job j options (a 1) as ", {"options": {"a": "1"}}),
    (
        "create job j options (key 'v', 'k e' = \"w\", a.b.c 5, `d e`.f = true, g=1.50, as false) as ",
        {
            "options": {"key": "v", "k e": "w", "a.b.c": "5", "d e.f": "true", "g": "1.50", "as": "false"},
        },
    ),
)


def failure(sql: str) -> Error:
    with pytest.raises(Error) as caught:
        parse(sql)
    return caught.value


def outcome(sql: str) -> str:
    """The statement, or the error, as a text."""
    try:
        return repr(parse(sql))
    except Error as error:
        return f"{type(error).__name__} {error}"


@pytest.mark.parametrize(("inner", "kind"), INNER)
@pytest.mark.parametrize(("beginning", "fields"), BEGINNINGS)
@pytest.mark.parametrize("end", ["", ";", " ; -- one\n;"])
def test_create_job(inner: str, kind: type, beginning: str, fields: dict[str, Any], end: str) -> None:
    job = parse(beginning + inner + end)

    assert isinstance(job, CreateJob)
    assert isinstance(job.statement, kind)
    assert (job.text, job.start) == (inner, len(beginning))
    assert job == replace(
        CreateJob("j", job.statement, inner, len(beginning)),
        **fields,
    )


@pytest.mark.parametrize(("inner", "kind"), INNER)
def test_a_jobs_statement_is_what_it_is_without_the_job(inner: str, kind: type) -> None:
    job = parse(f"create job j as {inner}")

    assert isinstance(job, CreateJob)
    assert repr(job.statement).replace("create job j as ", "") == repr(parse(inner))


@pytest.mark.parametrize(("explain", "extended"), [("explain", False), ("EXPLAIN EXTENDED", True)])
@pytest.mark.parametrize(("inner", "kind"), INNER)
def test_explain_create_job(explain: str, extended: bool, inner: str, kind: type) -> None:
    sql = f"{explain} create or replace job j as {inner}"

    statement = parse(sql)

    assert isinstance(statement, ExplainJob)
    assert statement.extended is extended
    assert (statement.job.mode, statement.job.text) == (CreateMode.REPLACE, inner)
    assert sql[statement.job.start :] == inner
    assert only_reads(sql)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("show jobs", ShowJobs()),
        ("SHOW JOBS LIKE 'a*|b'", ShowJobs("a*|b")),
        ('show jobs "a";', ShowJobs("a")),
        ("describe job j", DescribeJob("j")),
        ("desc job extended `a b`;", DescribeJob("a b", extended=True)),
        ("DESCRIBE /* the */ JOB -- nightly\n j", DescribeJob("j")),
        ("DESC JOB`j`", DescribeJob("j")),
        ("desc job extended`j`", DescribeJob("j", extended=True)),
        ("desc job extended", DescribeJob("extended")),
        ("desc job extended extended", DescribeJob("extended", extended=True)),
        ("desc job formatted", DescribeJob("formatted")),
        ("cancel job j", CancelJob("j")),
        ("CANCEL JOB IF EXISTS `j``k`;", CancelJob("j`k", if_exists=True)),
        ("cancel job `a.b`", CancelJob("a.b")),
        ("cancel job if", CancelJob("if")),
        ("cancel job if exists if", CancelJob("if", if_exists=True)),
        ("resume job Job", ResumeJob("Job")),
        ("resume job if exists 1a", ResumeJob("1a", if_exists=True)),
        ("drop job select", DropJob("select")),
        ("drop /* a */ job if -- b\n exists j ; ;", DropJob("j", if_exists=True)),
    ],
)
def test_the_other_statements(sql: str, statement: object) -> None:
    assert parse(sql) == statement


@pytest.mark.parametrize("name", ["if", "as", "options", "job", "exists", "replace", "`as select`", "not"])
def test_a_job_may_have_the_name_of_a_keyword(name: str) -> None:
    for sql in (
        f"create job {name} as select 1",
        f"create job if not exists {name} as select 1",
        f"create or replace job {name} options ({name} 1) as select 1",
    ):
        statement = parse(sql)
        assert isinstance(statement, CreateJob)
        assert (statement.name, statement.text) == (name.strip("`"), "select 1")


def test_parameters_are_those_of_the_inner_statement() -> None:
    for inner in (
        "insert into t values (?, 1, ?)",
        "create table t as select :a, :b",
        "insert overwrite directory ? using csv options (a ?) select ?",
    ):
        job = parse(f"create job j as {inner}")
        assert isinstance(job, CreateJob)
        assert repr(job.statement).replace("create job j as ", "") == repr(parse(inner))


@pytest.mark.parametrize(
    ("inner", "name"),
    [
        ("drop table t", "DROP TABLE"),
        ("update t set a = 1", "UPDATE"),
        ("delete from t", "DELETE"),
        ("merge into job using u on true when matched then delete", "MERGE INTO"),
        ("create view v as select 1", "CREATE VIEW"),
        ("create temporary table t as select 1", "CREATE TEMPORARY TABLE"),
        ("create table t (a int) using memory", "CREATE TABLE without a query"),
        ("replace table t as select 1", "REPLACE TABLE"),
        ("cache table t as select 1", "CACHE TABLE"),
        ("create job day as select 1", "CREATE JOB"),
        ("create or replace job b as create job c as select 1", "CREATE JOB"),
        ("cancel job day", "CANCEL JOB"),
        ("show jobs", "SHOW JOBS"),
        ("explain select 1", "EXPLAIN"),
        ("explain create job b as select 1", "EXPLAIN CREATE JOB"),
        ("set a = 1; select 1", "SET"),
        ("kill query 1", "KILL QUERY"),
        ("begin select 1; end", "BEGIN"),
        ("grant select on t to u", "GRANT"),
        ("alter table t add columns (a int)", "ALTER TABLE"),
        ("call f()", "CALL"),
    ],
)
def test_a_statement_that_no_job_runs_is_refused_by_name(inner: str, name: str) -> None:
    sql = f"create job a as\n  {inner}"

    error = failure(sql)

    assert isinstance(error, ProgrammingError)
    assert error.message == (
        "A job runs a query, CREATE [OR REPLACE] TABLE ... AS, INSERT INTO, INSERT OVERWRITE or "
        f"INSERT OVERWRITE DIRECTORY, not {name}."
    )
    assert error.position is not None
    assert error.position[0] == sql.index(inner)
    assert str(error).splitlines()[1:] == [f"LINE 2:   {inner}", " " * 10 + "^" * (error.position[1] - 18)]


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("create job", "end of input"),
        ("create job j", "end of input"),
        ("create job j as", "end of input"),
        ("create job j as;", "';'"),
        ("create job j select 1", "'select'"),
        ("create job as select 1", "'select'"),
        ("create jobs j as select 1", "'jobs'"),
        ("create temporary job j as select 1", "'job'"),
        ("create or replace job if not exists j as select 1", "'not'"),
        ("create job if exists j as select 1", "'exists'"),
        ("create job if not exists as select 1", "'select'"),
        ("create job 'j' as select 1", "''j''"),
        ("create job :j as select 1", "':'"),
        ("create job ? as select 1", "'?'"),
        ("create job identifier('j') as select 1", "'('"),
        ("create job j k as select 1", "'k'"),
        ("create job j, k as select 1", "','"),
        ("create job j (a int) as select 1", "'('"),
        ("create job j options as select 1", "'as'"),
        ("create job j options () as select 1", "')'"),
        ("create job j options (a) as select 1", "')'"),
        ("create job j options (a ?) as select 1", "'?'"),
        ("create job j options (:a 1) as select 1", "':'"),
        ("create job j options (a b) as select 1", "'b'"),
        ("create job j options (a 1 + 1) as select 1", "'+'"),
        ("create job j options (a 1,) as select 1", "')'"),
        ("create job j options (a 1) options (b 1) as select 1", "'options'"),
        ("create job j as options (a 1) select 1", "'options'"),
        ("create job j as select 1; select 2", "'select'"),
        ("create job j as as select 1", "'as'"),
        ("show job", "end of input"),
        ("show jobs where a = 1", "'where'"),
        ("show jobs like ?", "'?'"),
        ("show jobs in a", "'in'"),
        ("describe job extended j as json", "'as'"),
        ("describe jobs j k", "'k'"),
        ("cancel", "end of input"),
        ("cancel j", "'j'"),
        ("cancel jobs j", "'jobs'"),
        ("cancel job", "end of input"),
        ("cancel job if exists", "end of input"),
        ("cancel job j k", "'k'"),
        ("resume job 'j'", "''j''"),
        ("resume job j, k", "','"),
        ("drop job if not exists j", "'not'"),
        ("drop job j purge", "'purge'"),
        ("explain create job j", "end of input"),
    ],
)
def test_a_wrong_text_is_a_syntax_error(sql: str, near: str) -> None:
    error = failure(sql)

    assert error.condition == "PARSE_SYNTAX_ERROR"
    assert error.message == f"Syntax error at or near {near}."


def test_or_replace_and_if_not_exists_are_refused_as_for_tables() -> None:
    errors = [
        failure(f"create or replace {kind} if not exists t as select 1").message
        for kind in ("table", "job  ")
    ]
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "sql",
    ["create job {} as select 1", "drop job {}", "cancel job if exists {};", "describe job extended {}"],
)
@pytest.mark.parametrize("name", ["a.b", "`a`.`b c`.d", "a . b", "``"])
def test_a_jobs_name_is_one_identifier(sql: str, name: str) -> None:
    text = f"/* a\n */ {sql.format(name)}"

    error = failure(text)

    assert isinstance(error, ProgrammingError)
    assert error.message == f"The name of a job is one identifier, not {name}."
    assert error.position is not None
    assert text[slice(*error.position)] == name
    assert f"LINE 2:  */ {sql.format(name)}" in str(error)


def test_an_option_stands_once() -> None:
    assert failure("create job j options (a 1, a 2) as select 1").condition == "DUPLICATE_KEY"


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        ("create job j as\nselect a b c from u", ["LINE 2: select a b c from u", "                   ^"]),
        (
            "create job j as\ncreate table t as\nselect cast(1 as nope)",
            ["LINE 3: select cast(1 as nope)", "                         ^^^^"],
        ),
        (
            "explain create job j as\n insert into t partition (a = 1) select 1",
            ["LINE 2:  insert into t partition (a = 1) select 1", "                       ^^^^^^^^^"],
        ),
    ],
)
def test_an_error_of_the_inner_statement_is_shown_in_the_whole_text(sql: str, lines: list[str]) -> None:
    assert str(failure(sql)).splitlines()[-2:] == lines


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("explain analyze create job j as select 1", "EXPLAIN ANALYZE of CREATE JOB"),
        ("explain (format json) create job day as select 1", "EXPLAIN FORMAT of CREATE JOB"),
        ("explain drop job j", "EXPLAIN of DROP JOB"),
        ("explain describe job j", "EXPLAIN of DESCRIBE"),
        ("explain explain create job j as select 1", "EXPLAIN of EXPLAIN CREATE JOB"),
    ],
)
def test_what_explain_does_not_show_is_refused_by_name(sql: str, name: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        parse(sql)
    assert caught.value.message == f"{name} is not supported."


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("describe job", DescribeTable("job")),
        ("desc job;", DescribeTable("job")),
        ("describe extended job", DescribeTable("job", extended=True)),
        ("describe job as json", DescribeTable("job", as_json=True)),
        ("describe job as json;", DescribeTable("job", as_json=True)),
        ("describe job.a", DescribeTable("job.a")),
        ("describe job .a", DescribeTable("job.a")),
        ("describe table job a", DescribeColumn("job", "a")),
        ("describe `job` a", DescribeColumn("job", "a")),
        ("describe extended job a", DescribeColumn("job", "a", extended=True)),
        ("describe jobs a", DescribeColumn("jobs", "a")),
    ],
)
def test_describe_of_a_relation_called_job(sql: str, statement: object) -> None:
    assert parse(sql) == statement
    assert not is_about_jobs(sql)


@pytest.mark.parametrize("sql", spark_statements())
def test_the_words_are_names_in_sparks_statements(sql: str) -> None:
    """Each name of a statement in turn, and all at once, becomes one of the words."""
    names = {
        sql[start:end]
        for kind, start, end in zip(*_parts(sql), strict=True)
        if kind not in spark_grammar().kinds and kind.isidentifier()
    }
    single = zip([{name} for name in sorted(names)], cycle(WORDS), strict=False)
    for changed, word in (*single, *product([names], WORDS)):
        text, neutral = _renamed(sql, changed, word), _renamed(sql, changed, "z" * len(word))
        if not is_about_jobs(text):
            assert _alike(outcome(text)) == _alike(outcome(neutral))


@pytest.mark.parametrize(
    "sql",
    [
        "select job, jobs.cancel, resume as job from jobs, cancel resume",
        "select job jobs from job cancel where job.cancel = resume order by jobs",
        "with job as (select 1 as a) select sum(cancel) over resume from job window resume as (order by 1)",
        "select job(1), cancel[0], resume.job.jobs, :job, struct(1) from job",
        "select transform(jobs, job -> job + cancel), cast(a as struct<job: int>) from resume",
        "create table job (job int, jobs string) using parquet options (cancel 1) partitioned by (job)",
        "create or replace temporary view jobs (job, cancel) as select 1, 2",
        "insert into job (job, cancel) select resume, 1 from jobs",
        "update job set cancel = 1 where resume = 2",
        "delete from job where cancel",
        "drop table if exists job",
        "show functions like job",
        "show jobs functions",
        "show columns in job in jobs",
        "alter table job rename column jobs to cancel",
        "use job",
        "set job = 1",
        "refresh job",
        "cache lazy table job as select 1",
        "truncate table job",
        "analyze table jobs compute statistics",
        "create function job as 'x'",
        "explain insert into job select 1",
    ],
)
def test_the_words_are_names_everywhere(sql: str) -> None:
    assert _alike(outcome(sql)) == _alike(outcome(_alike(sql)))


def _alike(text: str) -> str:
    """The text with letters z in the place of these words."""
    return re.sub("(?i)jobs?|cancel|resume|zzz+", lambda word: "z" * len(word[0]), text)


def _parts(sql: str) -> tuple[list[str], list[int], list[int]]:
    tokens = tokens_of(sql)
    return tokens.kinds, tokens.starts, tokens.ends


def _renamed(sql: str, names: set[str], new: str) -> str:
    """The text with another name in the place of these names."""
    place, pieces = 0, list[str]()
    for _, start, end in zip(*_parts(sql), strict=True):
        if sql[start:end] in names:
            pieces += [sql[place:start], new]
            place = end
    return "".join([*pieces, sql[place:]])


def test_a_changed_statement_is_a_statement_or_an_error() -> None:
    """The statement of a job is a statement of its own, wherever it stands."""
    corpus = [beginning + inner for (beginning, _), (inner, _) in product(BEGINNINGS, INNER)] + [
        f"explain extended {BEGINNINGS[0][0]}{inner}" for inner, _ in INNER
    ]
    found = 0
    for text in texts(2_000, 7, [*corpus, *OTHERS * 5]):
        try:
            statement = parse(text)
        except Error:
            continue
        job = statement.job if isinstance(statement, ExplainJob) else statement
        if isinstance(job, CreateJob):
            found += 1
            assert text[job.start : job.start + len(job.text)] == job.text
            assert type(parse(job.text)) is type(job.statement)
            assert is_about_jobs(text)
    assert found > 50


def test_scripts_are_split_as_before() -> None:
    script = "create job j as select ';' ; cancel job j;\nshow jobs; drop job `;`"

    assert split_statements(script) == (
        "create job j as select ';'",
        "cancel job j",
        "show jobs",
        "drop job `;`",
    )
