"""Literals in a text that comes again: whatever they look like, the cached plan gives the answer of a new
one."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlfront import Connection
from tests.sqlfront.plan_cache.sessions import answer, connection

#: Alike to look at, of other types or values; and what is no literal, or none that can be a parameter.
LITERALS = (
    # numbers
    *("1", "1.0", "1L", "1e0", "1BD", "-1", "01", "1.50", "1.5", "1.5D", "1F", "1S", "1Y", "1.", "1d", "1bd"),
    *("- 1", "-(1)", "+1", "- -1", ".5", "-.5", "1e-5", "1.e1", "1E+0", "1.50BD", "1.5e0", "1.5e0BD"),
    *("0", "-0", "0.0", "-0.0", "0.0D", "-0.0D", "0000000001", "5.55", "5.550", "5.555", "2", "10", "300"),
    *("1e400", "128", "2147483647", "2147483648", "-2147483648", "-2147483649", "3000000000", "12345678901"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "9" * 38, "9" * 39),
    # strings
    *("'1'", "'1.0'", "'01'", "' 1 '", "'-1'", "'a'", "''", "'it''s'", "'it\\'s'", '"it\'s"', '"1"'),
    *("'2020-01-01'", "r'1'", "R'a\\b'", "'a\\\\b'", "'1' '2'", "'' '1'", "'\\u0031'", "'NaN'", "'%1%'"),
    *("'_'", "'tRue'"),
    # other literals, and expressions
    *("DATE '2020-01-01'", "date'2020-01-02'", "TIMESTAMP '2020-01-01 00:00:00'", "X'31'", "x'3031'"),
    *("timestamp'2020-01-01 00:00:00.5'", "timestamp_ntz'2020-01-01 00:00:00'", "null", "true", "false"),
    *("INTERVAL 1 DAY", "INTERVAL '1' DAY", "INTERVAL '1-2' YEAR TO MONTH", "CAST('1' AS INT)", "1 + 0"),
    *("DOUBLE('NaN')", "abs(-1)", "current_date"),
    # comments
    *("1 /* 2 */", "/* '1 */ 1", "1 -- 3'\n", "'1'/**/"),
)  # fmt: skip
COLUMNS = ("k", "i", "y", "d", "f", "st", "dt", "ts", "b")
#: ``{}`` is a literal, ``?c`` a column, ``?n`` a digit.
TEMPLATES = (
    "SELECT * FROM t WHERE ?c = {}",
    "SELECT k, {} FROM t WHERE ?c = {}",
    "SELECT k FROM t WHERE {} = ?c",
    "SELECT k, ?c FROM t WHERE ?c < {}",
    "SELECT k FROM t WHERE ?c IN ({}, {}, {})",
    "SELECT k FROM t WHERE ?c BETWEEN {} AND {}",
    "SELECT k FROM t WHERE ?c <=> {}",
    "SELECT k FROM t WHERE ?c = {} AND ?c = {}",
    "SELECT k FROM t WHERE ?c = {} OR ?c = {}",
    "SELECT k FROM t WHERE NOT ?c = {}",
    "SELECT k FROM t WHERE ?c - {} = {}",
    "SELECT k FROM t WHERE ?c = -{}",
    "SELECT k FROM t WHERE (?c, k) = ({}, {})",
    "SELECT k FROM t WHERE coalesce(?c, {}) = {}",
    "SELECT k FROM t WHERE ?c = {} AND 1 = 0",
    "SELECT {}",
    "SELECT {} AS a, {} AS b",
    "SELECT ?c + {} FROM t WHERE k = {}",
    "SELECT count(*), ?c FROM t WHERE ?c >= {} GROUP BY ?c HAVING count(*) > {}",
    "SELECT k FROM t WHERE ?c = {} ORDER BY k LIMIT ?n",
    "SELECT k, st FROM t ORDER BY ?n",
    "SELECT t.k, n FROM t JOIN u ON t.st = u.x WHERE t.k = {}",
    "SELECT t.k, n FROM t LEFT JOIN u ON t.st = u.x AND u.n = {} WHERE t.?c = {}",
    "SELECT k FROM t WHERE st LIKE {}",
    "SELECT k FROM t WHERE k IN (SELECT k FROM t WHERE ?c = {})",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE n = {} AND x = st)",
    "WITH w AS (SELECT * FROM t WHERE ?c = {}) SELECT k FROM w WHERE ?c = {}",
    "SELECT CASE WHEN ?c = {} THEN {} ELSE {} END FROM t",
    "SELECT * FROM (VALUES ({}), ({})) v(a) WHERE a = {}",
    "SELECT * FROM u WHERE x IN ({}, {})",
    "SELECT sum(n) FROM u WHERE n > {}",
    "SELECT round(?c, ?n) FROM t WHERE k = {}",
    "SELECT k FROM t WHERE k = {} UNION ALL SELECT n FROM u WHERE n = {}",
    # what only looks like a literal
    "SELECT `?c` FROM t WHERE `?c` = {}",
    "SELECT k AS `a?n` FROM t WHERE k = ?n",
    "SELECT k a?n FROM t WHERE k = ?n",
    "SELECT /*+ BROADCAST(t) */ k FROM t WHERE ?c = {}",
    "SELECT k FROM t -- {}\n WHERE ?c = {}",
    "SELECT k FROM t WHERE dt = DATE '2020-01-0?n'",
    "SELECT k FROM t WHERE st = '1' '?n'",
    'SELECT k FROM t WHERE st = "?n"',
    "SELECT k FROM t WHERE k=-?n",
    "SELECT k FROM t WHERE k= - ?n",
)  # fmt: skip


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Connection, Connection]]:
    """With cached plans, and without."""
    with connection(1000) as cached, connection(0) as anew:
        yield cached, anew


@st.composite
def texts(draw: st.DrawFn) -> list[str]:
    """Texts that differ in a few literals only, some of them several times."""
    template = draw(st.sampled_from(TEMPLATES)).replace("?c", draw(st.sampled_from(COLUMNS)))
    few = st.sampled_from(draw(st.lists(st.sampled_from(LITERALS), min_size=1, max_size=4, unique=True)))
    found = []
    for _ in range(draw(st.integers(2, 5))):
        text = template
        while "{}" in text:
            text = text.replace("{}", draw(few), 1)
        while "?n" in text:
            text = text.replace("?n", str(draw(st.integers(0, 9))), 1)
        found += [text] * draw(st.integers(1, 2))
    return draw(st.permutations(found))


@settings(max_examples=100)
@given(asked=texts())
def test_a_cached_plan_gives_the_answer_of_a_new_one(
    both: tuple[Connection, Connection], asked: list[str]
) -> None:
    cached, anew = both
    cached.session.context.plans.clear()
    for text in asked:
        assert answer(cached, text) == answer(anew, text), text


@pytest.mark.parametrize("literal", LITERALS)
def test_after_any_literal_any_other_is_what_it_is(both: tuple[Connection, Connection], literal: str) -> None:
    cached, anew = both
    cached.session.context.plans.clear()
    asked = [f"SELECT k FROM t WHERE k = {each}" for each in (literal, "1", "'1'", "1.0", literal)]

    assert [answer(cached, text) for text in asked * 2] == [answer(anew, text) for text in asked] * 2


@pytest.mark.parametrize("first", ["1.0", "1e0", "1D", "9223372036854775808", "'1'"])
def test_a_literal_that_can_be_no_parameter_keeps_no_other_from_being_one(
    both: tuple[Connection, Connection], first: str
) -> None:
    cached, anew = both
    cached.session.context.plans.clear()
    answer(cached, f"SELECT k FROM t WHERE NOT y = {first}")
    text = "SELECT k FROM t WHERE NOT y = 0"

    assert [answer(cached, text) for _ in range(3)] == [answer(anew, text)] * 3


VALUES = st.sampled_from((1, 1.0, "1", True, None, -1, 2**40, 1.5, "a", b"1"))


@settings(max_examples=80)
@given(
    column=st.sampled_from(COLUMNS),
    given_values=st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=6),
)
def test_arguments_that_look_alike_have_plans_of_their_own(
    both: tuple[Connection, Connection], column: str, given_values: list[tuple[object, object]]
) -> None:
    cached, anew = both
    text = f"SELECT k, ? AS x, ? IS NULL FROM t WHERE {column} = ? AND k < 1000"
    for one, other in given_values:
        asked = (one, other, one)
        assert answer(cached, text, asked) == answer(anew, text, asked), asked


def test_texts_that_differ_in_literals_share_a_plan(both: tuple[Connection, Connection]) -> None:
    plans = both[0].session.context.plans
    plans.clear()
    for number in range(50):
        answer(both[0], f"SELECT i FROM t WHERE k = {number}")
        answer(both[0], f"SELECT i FROM t WHERE st = 'x{number}' AND i > -{number}")

    assert sorted(plan.hits for plan in plans.entries()) == [49, 49]
