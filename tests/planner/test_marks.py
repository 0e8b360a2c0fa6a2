"""Marks that the token rewriting leaves in the tree: no text of a user is one. The answers are Spark's."""

import pytest
from sqlglot import exp

from sqlfront_planner.statement import parse
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import KillQuery
from sqlfront_planner.testing import bound
from sqlfront_planner.tokens.marks import (
    FUNCTION_MARK,
    NotNullMark,
    PositionalParameter,
    ShiftRightUnsigned,
    UnaryPlus,
)
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from sqlfront_values.types import ddl
from tests.planner.bound_queries import Given, failure, plan

#: The text of the mark of IS NOT NULL.
_NOT_NULL = "NOT NULL"


@pytest.mark.parametrize(
    "sql",
    [
        f"select 1 is '{_NOT_NULL}'",
        f'select 1 is "{_NOT_NULL}"',
        f"select 1 is r'{_NOT_NULL}'",
        f"select 1 is not '{_NOT_NULL}'",
        f"select 1 is `{_NOT_NULL}`",
        f"select 1 is ('{_NOT_NULL}')",
        "select 1 is :a",
        "select 1 is ?",
        "select |/ 4",
        "select 2 + |/ 4",
        "select 4 ?? 2",
    ],
)
def test_a_mark_of_an_operator_is_a_syntax_error(sql: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        parse(sql)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize("text", [_NOT_NULL, FUNCTION_MARK, f"{FUNCTION_MARK}abs"])
def test_a_mark_in_a_string_or_a_name_is_text(text: str) -> None:
    assert bound(f"select '{text}' as x").schema.names == ["x"]
    assert bound(f"select 1 as `{text}`").schema.names == [text]
    assert bound(f"select `{text}` from (select 1 as `{text}`)").schema.names == [text]
    assert bound(f"select x.`{text}` from (select named_struct('{text}', 1) as x)").schema.names == [text]


@pytest.mark.parametrize("name", [f"{FUNCTION_MARK}abs", f"{FUNCTION_MARK}{FUNCTION_MARK}abs", FUNCTION_MARK])
@pytest.mark.parametrize("place", ["select `{}`(-1)", "select `{}`(x) over () from (select 1 as x)"])
def test_a_mark_in_a_functions_name_is_part_of_the_name(name: str, place: str) -> None:
    error = failure(place.format(name))

    assert error.condition == "UNRESOLVED_ROUTINE"
    assert f"`{name}`" in error.message


def test_a_mark_in_a_table_functions_name_is_part_of_the_name() -> None:
    assert (
        failure(f"select * from `{FUNCTION_MARK}range`(3)").condition == "UNRESOLVABLE_TABLE_VALUED_FUNCTION"
    )


def test_a_string_is_not_the_operand_of_is_not_null() -> None:
    tree = parse_query("select a is not null").tree
    (mark,) = tree.find_all(exp.Literal)
    assert isinstance(mark.this, NotNullMark) and mark.this == _NOT_NULL

    with pytest.raises(NotSupportedError, match="IS with this operand"):
        bound(f"select 1 is '{_NOT_NULL}'")


def test_operators_of_other_dialects_stand_for_operators_of_spark_only() -> None:
    tree = parse_query("select + sqrt(4), coalesce(16, 2) >>> 2").tree
    assert len(list(tree.find_all(UnaryPlus))) == len(list(tree.find_all(ShiftRightUnsigned))) == 1


@pytest.mark.parametrize("name", ["?0", "?1", "?", "?x", "$NOT NULL", "a b", "0"])
def test_a_name_of_a_parameter_by_position_is_a_name_in_backticks(name: str) -> None:
    assert [ddl(column.type) for column in plan(f"select :`{name}`", {name: 5}).row()] == ["int"]


@pytest.mark.parametrize("name", ["?0", "?x"])
def test_an_argument_by_position_is_not_for_a_name(name: str) -> None:
    error = failure(f"select :`{name}`", [5])

    assert error.condition == "UNBOUND_SQL_PARAMETER"
    assert f"parameter: {name}." in error.message


@pytest.mark.parametrize(
    "sql", ["select ?, :a", "select :a, ?", "select ?, :`?0`", "select ? from (select 1 as x) where x = :a"]
)
@pytest.mark.parametrize("given", [[5], {"a": 5}, None])
def test_parameters_are_all_by_position_or_all_by_name(sql: str, given: Given) -> None:
    assert failure(sql, given).condition == "INVALID_QUERY_MIXED_QUERY_PARAMETERS"


def test_the_field_of_a_type_is_not_a_parameter() -> None:
    sql = "select ?, cast(null as struct<a:int>), null::struct<a:int>"
    assert len(plan(sql, [5]).row()) == 3


def test_the_query_to_kill_is_given_by_position_or_by_any_name() -> None:
    by_position, by_name = parse("kill query ?"), parse("kill query :a")
    assert isinstance(by_position, KillQuery) and isinstance(by_position.id, PositionalParameter)
    assert isinstance(by_name, KillQuery) and not isinstance(by_name.id, PositionalParameter)


def test_square_roots_are_not_the_sign_that_is_marked_as_one() -> None:
    assert bound("select sqrt(4), + 4, `sqrt`(4)").schema.names == ["SQRT(4)", "(+ 4)", "SQRT(4)"]


def test_without_parentheses_a_marked_name_calls_nothing() -> None:
    with pytest.raises(Error):
        bound(f"select {FUNCTION_MARK}abs - 1")
