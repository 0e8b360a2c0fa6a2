"""Spark's grammar: what is a syntax error, and what is only not built."""

import re
import time
from contextlib import suppress

import pytest

from sqlfront_planner.statement import parse
from sqlfront_planner.syntax.check import check_syntax
from sqlfront_planner.syntax.grammar import Grammar, spark_grammar
from sqlfront_planner.syntax.lexer import tokens_of, without_comments
from sqlfront_planner.syntax.recognizer import first_wrong_token, keywords_as_names
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from tests.fuzz.corpus import spark_statements


@pytest.mark.parametrize("sql", spark_statements())
def test_no_statement_of_sparks_reference_is_a_syntax_error(sql: str) -> None:
    check_syntax(sql)
    with suppress(NotSupportedError):
        parse(sql)


@pytest.mark.parametrize(
    "sql", ["CREATE ROLE r", "GRANT SELECT ON t TO u", "SHOW LOCKS", "CREATE INDEX i", "DFS -ls /", "COMMIT"]
)
def test_statements_of_hive_are_refused_as_spark_does(sql: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        parse(sql)
    assert caught.value.condition == "INVALID_STATEMENT_OR_CLAUSE"


@pytest.mark.parametrize(
    "sql, name",
    [
        ("ALTER TABLE t ADD PARTITION (a = 1)", "ALTER TABLE with PARTITION"),
        ("ALTER TABLE t CHANGE COLUMN a b INT", "ALTER TABLE"),
        ("ALTER TABLE t REPLACE COLUMNS (a INT)", "ALTER TABLE with REPLACE COLUMNS"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "ANALYZE TABLE"),
        ("BEGIN SELECT 1; END", "BEGIN"),
        ("CREATE OR REPLACE TEMPORARY FUNCTION f AS 'x'", "CREATE TEMPORARY FUNCTION"),
        ("CREATE TABLE t (a INT DEFAULT 1)", "CREATE TABLE with DEFAULT"),
        ("CREATE TABLE t (a INT) SKEWED BY (a) ON (1)", "CREATE TABLE with SKEWED BY"),
        ("EXPLAIN COST SELECT 1", "EXPLAIN COST"),
        ("EXPLAIN INSERT INTO t VALUES (1)", "EXPLAIN of INSERT INTO"),
        ("TRUNCATE TABLE t PARTITION (a = 1)", "TRUNCATE TABLE with PARTITION"),
        ("REPLACE TABLE t AS SELECT 1", "REPLACE TABLE"),
    ],
)
def test_what_spark_takes_and_is_not_built_has_its_name(sql: str, name: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        parse(sql)
    assert caught.value.message == f"{name} is not supported."


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ("a CHAR(5)", "CHAR(5)"),
        ("a INT, b varchar(20) NOT NULL", "VARCHAR(20)"),
        ("a ARRAY<CHARACTER(3)>", "CHARACTER(3)"),
        ("a STRUCT<b: VARCHAR(3)>", "VARCHAR(3)"),
    ],
)
def test_columns_of_a_length_are_refused_by_their_type(columns: str, name: str) -> None:
    for sql in (
        f"CREATE TABLE t ({columns}) USING parquet",
        f"CREATE TEMPORARY VIEW t ({columns}) USING csv OPTIONS (path 'a.csv')",
    ):
        with pytest.raises(NotSupportedError, match=re.escape(f"column of type {name} is not supported")):
            parse(sql)


def test_the_first_token_that_does_not_fit_is_told() -> None:
    tokens = tokens_of("SELECT a b c FROM t")
    assert first_wrong_token(tokens) == 3
    assert first_wrong_token(tokens_of("SELECT (1")) == 3
    assert first_wrong_token(tokens_of("SELECT a b FROM t")) is None


def test_keywords_that_are_names_are_told_from_the_others() -> None:
    sql = "SELECT select, a AS from FROM t where WHERE by = 1 GROUP BY group"
    tokens = tokens_of(sql)
    found = [sql[tokens.starts[place] : tokens.ends[place]] for place in keywords_as_names(tokens)]
    assert found == ["select", "from", "where", "by", "group"]


@pytest.mark.parametrize("depth", [10, 1_000, 5_000])
def test_no_nesting_is_too_deep(depth: int) -> None:
    check_syntax(f"SELECT {'(' * depth}1{')' * depth}")
    with pytest.raises(Error) as caught:
        check_syntax(f"SELECT {'(' * depth}1{')' * (depth - 1)}")
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


def test_a_text_of_too_many_commas_is_told_at_once() -> None:
    begin = time.process_time()
    for element in ("1", "'a,b'"):
        with pytest.raises(NotSupportedError) as caught:
            check_syntax(f"SELECT 1 IN ({', '.join([element] * 1_000_000)})")
        assert caught.value.condition == "FAILED_TO_PARSE_TOO_COMPLEX"
    assert time.process_time() - begin < 2
    check_syntax(f"SELECT length('{',' * 1_000_000}'), '{',' * 1_000_000}'")


def test_the_time_grows_with_the_text() -> None:
    """A hundred thousand tokens take seconds; readings that multiplied would take years."""
    begin = time.process_time()
    check_syntax("SELECT " + " + ".join(f"a.b(c{number}, 1)" for number in range(10_000)))
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    "sql, kinds",
    [
        ("1.5x", ["<integer>", ".", "<word>"]),
        ("1.5e3 1e3 1e+3x .5 5.", [*["<number>"] * 3, "X", "<decimal>", "<decimal>"]),
        ("1 1L 2bd 3y", ["<integer>", "<long>", "<number>", "<number>"]),
        ("a>>1", ["A", ">>", "<integer>"]),
        ("array(1)>>1", ["ARRAY", "(", "<integer>", ")", ">", ">", "<integer>"]),
        ("'it''s' r'\\' \"a\"", ["<string>"] * 3),
        ("TEMP REGEXP !> ==", ["TEMPORARY", "RLIKE", "<=", "="]),
        ("a */*b", ["A", "*/", "*", "B"]),
        ("'a", ["<unknown>", "A"]),
    ],
)
def test_tokens_are_those_of_sparks_lexer(sql: str, kinds: list[str]) -> None:
    assert tokens_of(sql).kinds == kinds


def test_without_comments_everything_stays_in_its_place() -> None:
    sql = "SELECT /* /* */ */ 1 -- one \\\n two\n, '--', /*+ hint */ 2"
    blank = without_comments(sql)
    assert len(blank) == len(sql)
    assert blank.split() == ["SELECT", "1", ",", "'--',", "/*+", "hint", "*/", "2"]
    assert blank.index("'--'") == sql.index("'--'")


def test_no_rule_is_empty_or_begins_with_itself() -> None:
    """The recognizer depends on both."""
    grammar = spark_grammar()
    for rule in grammar.rules():
        assert not grammar.start(rule).is_end(), rule
        grammar.moves(grammar.start(rule), grammar.kinds["<word>"])  # endless if it did


def test_a_grammar_may_nest_choices_and_lists() -> None:
    grammar = Grammar("a: X ( {b} | Y ) Z?\nb: X+ '.'\nc: ','")
    start = grammar.start("a")
    ((pushed, state),) = grammar.moves(start, grammar.kinds["X"])
    assert pushed == () and not state.is_end()
    assert grammar.moves(state, grammar.kinds["Z"]) == ()
    assert len(grammar.moves(state, grammar.kinds["X"])) == 1
