"""What the token rewriting puts into the tree for itself can't be written by a user."""

import pytest

from sqlfront_planner.statement import parse
from sqlfront_planner.testing import bound
from sqlfront_planner.tokens.tokenizing import FUNCTION_MARK, NOT_NULL_MARK
from sqlfront_values.errors import Error, ProgrammingError
from tests.planner.bound_queries import failure


@pytest.mark.parametrize(
    "sql",
    [
        f"select 1 is '{NOT_NULL_MARK}'",
        f'select 1 is "{NOT_NULL_MARK}"',
        f"select 1 is r'{NOT_NULL_MARK}'",
        f"select 1 is not '{NOT_NULL_MARK}'",
        f"select 1 is `{NOT_NULL_MARK}`",
        f"select 1 is ('{NOT_NULL_MARK}')",
        f"select 1 is :{NOT_NULL_MARK[:1]}",
        "select 1 is ?",
        "select |/ 4",
        "select 2 + |/ 4",
    ],
)
def test_a_mark_of_an_operator_is_a_syntax_error(sql: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        parse(sql)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize("text", [NOT_NULL_MARK, FUNCTION_MARK, f"{FUNCTION_MARK}abs"])
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


def test_square_roots_are_not_the_sign_that_is_marked_as_one() -> None:
    assert bound("select sqrt(4), + 4, `sqrt`(4)").schema.names == ["SQRT(4)", "(+ 4)", "SQRT(4)"]


def test_without_parentheses_a_marked_name_calls_nothing() -> None:
    with pytest.raises(Error):
        bound(f"select {FUNCTION_MARK}abs - 1")
