"""What the rewritten tokens keep that sqlglot's parser would lose."""

import pytest
from sqlglot import exp

from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_planner.tokens.tokenizing import unescape


def calls(sql: str) -> list[str]:
    """The names of the function calls of a query, as written, in the text's order."""
    nodes = parse_query(sql).tree.find_all(exp.Anonymous)
    found = sorted(nodes, key=lambda node: node.meta["start"])
    return [str(node.this).removeprefix(FUNCTION_MARK) for node in found]


@pytest.mark.parametrize(
    "name",
    [
        "nvl",
        "ifnull",
        "coalesce",
        "element_at",
        "date_sub",
        "substr",
        "mod",
        "left",
        "replace",
        "if",
        "any",
        "date",
    ],
)
def test_a_call_keeps_its_name(name: str) -> None:
    assert calls(f"select {name}(a, b)") == [name]


def test_names_with_column_lists_are_no_calls() -> None:
    sql = (
        "with x(a) as (select f(1)) select * from x as y(b), (select 2) z(c) join values (3) v(d) on g(b) = c"
    )

    assert calls(sql) == ["f", "g"]


def test_types_with_parameters_are_no_calls() -> None:
    sql = """select cast(f(a) as decimal(10, 2)), b::decimal(5, 1),
                    cast(c as map<string, decimal(1, 0)>), decimal(d)"""

    assert calls(sql) == ["f", "decimal"]


def test_extract_keeps_its_field_as_written() -> None:
    call = parse_query("select extract(Year from d)").tree.expressions[0]

    assert call.expressions[0] == exp.Literal.string("Year")


def test_words_of_the_grammar_are_no_calls() -> None:
    sql = """select a in (1), exists (select 1), sum(a) filter (where (b)), s like any ('x'),
                    rank() over (order by a)
             from t where not (a) and (b) group by grouping sets ((a), ()) having (a) = any_value(b)"""

    assert calls(sql) == ["sum", "rank", "any_value"]


@pytest.mark.parametrize(
    "literal, value",
    [
        ("'it\\'s'", "it's"),
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        ("'a\\nb'", "a\nb"),
        ("'a\\%b\\_c'", "a\\%b\\_c"),
        ("'\\101'", "A"),
        ("'\\u0041'", "A"),
        ("'\\x41'", "x41"),
        ("'\\Z'", "\x1a"),
        ("r'a\\nb'", "a\\nb"),
    ],
)
def test_string_has_sparks_value(literal: str, value: str) -> None:
    assert unescape(literal) == value


def test_strings_in_a_row_are_one() -> None:
    assert parse_query("select 'a' 'b' \"c\"").tree.expressions == [exp.Literal.string("abc")]
