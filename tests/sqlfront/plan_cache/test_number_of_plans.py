"""Arguments and literals of random types and values: each combination of types has few plans, whatever other
types the same text was run with, and every answer is that of a session without cached plans."""

import random
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from sqlfront import Connection
from tests.sqlfront.plan_cache.sessions import answer, connection

DAY = date(2020, 1, 1)
MOMENT = datetime(2020, 1, 1)
#: One function per type of argument, which draws a value.
DRAWN: tuple[Callable[[random.Random], object], ...] = (
    lambda drawn: None,
    lambda drawn: drawn.randrange(1000),
    lambda drawn: drawn.randrange(2**33, 2**40),
    lambda drawn: drawn.randrange(10**19, 10**20),
    lambda drawn: Decimal(drawn.randrange(100, 999)).scaleb(-2),
    lambda drawn: drawn.random(),
    lambda drawn: str(drawn.randrange(10**6)),
    lambda drawn: DAY + timedelta(drawn.randrange(300)),
    lambda drawn: MOMENT + timedelta(drawn.randrange(300)),
    lambda drawn: drawn.random() < 0.5,
    lambda drawn: bytes([drawn.randrange(256)]),
)
#: Statements whose plan depends on the types of the arguments alone.
BY_TYPE = (
    *(f"SELECT k FROM t WHERE {column} = ?" for column in ("k", "i", "y", "f", "st", "dt", "ts", "b")),
    *(f"SELECT k FROM t WHERE {column} <=> ?" for column in ("k", "st", "dt")),
    "SELECT k FROM t WHERE k IN (?, 5)",
    "SELECT k FROM t WHERE k = ? AND st = 'a' LIMIT 3",
    "SELECT k FROM t WHERE coalesce(?, k) = k",
    "SELECT k FROM t WHERE k = ? + 1",
    "SELECT k + ? AS a FROM t",
    "SELECT CASE WHEN k = ? THEN 1 END AS a FROM t",
    "SELECT k FROM t WHERE k IN (SELECT k FROM t WHERE i = ?)",
    "SELECT k FROM t WHERE k = ? UNION ALL SELECT n FROM u WHERE n > 5",
    "SELECT t.k, n FROM t JOIN u ON t.st = u.x WHERE t.i = ?",
    "SELECT k FROM t WHERE st LIKE ?",
    "SELECT concat(st, ?) AS a FROM t",
    "SELECT date_add(dt, ?) AS a FROM t",
    "SELECT extract(year FROM ?) AS a",
    "SELECT cast(? AS STRING) AS a",
)
#: Numbers of digits of drawn numbers, of INT and BIGINT.
DIGITS = (*range(1, 20), *range(1, 20))
#: Statements in which a whole number stands beside a decimal, whose type depends on the number's digits.
BESIDE_DECIMALS = (
    *(f"SELECT k FROM t WHERE d {operator} ?" for operator in ("=", "<>", "<", ">=", "<=>")),
    "SELECT k FROM t WHERE ? > d",
    "SELECT k FROM t WHERE d BETWEEN ? AND 5",
    "SELECT k FROM t WHERE d * 2 > ? - d",
    "SELECT k FROM t WHERE d > ? + 0.5 AND k > 0",
    "SELECT d * ? AS a, ? / d AS b FROM t",
    "SELECT sum(d) % ? AS a FROM t GROUP BY b",
    "SELECT coalesce(nullif(d, ?), 0) AS a FROM t",
    "SELECT CASE WHEN d > ? THEN d + ? END AS a FROM t",
    "SELECT cast(k AS DECIMAL(38, 30)) * ? AS a FROM t",
    "SELECT k FROM p WHERE d = ?",
)
#: Forms of literals, each of one type; ``{}`` stands for a digit.
LITERALS = ("{}", "-{}", "'{}'", "3{}000000000", "{}.5", "{}.25", "{}D", "1e{}", "NULL", "DATE '2020-01-0{}'")
#: The forms whose literals become parameters, by the condition that compares them with a column.
LIFTED = {
    "SELECT st FROM t WHERE k = {}": ("{}", "-{}", "3{}000000000"),
    "SELECT k FROM t WHERE NOT i = {}": ("{}", "-{}", "3{}000000000"),
    "SELECT k FROM t WHERE st = {} AND k > 0": ("'{}'",),
    "SELECT k FROM t WHERE f < {}": ("{}D",),
}


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Connection, Connection]]:
    """With cached plans, and without."""
    with connection(1000) as cached, connection(0) as anew:
        yield cached, anew


@pytest.mark.parametrize("text", BY_TYPE)
def test_arguments_of_one_type_share_a_plan_whatever_was_run_before(
    both: tuple[Connection, Connection], text: str
) -> None:
    cached, anew = both
    drawn = random.Random(text)
    cached.session.context.plans.clear()
    for _ in range(3):
        for draw in drawn.sample(DRAWN, len(DRAWN)):
            arguments = (draw(drawn),)
            assert answer(cached, text, arguments) == answer(anew, text, arguments), arguments

    assert len(cached.session.context.plans) <= len(DRAWN)
    assert sum(plan.hits for plan in cached.session.context.plans.entries()) > 0


@pytest.mark.parametrize("text", BESIDE_DECIMALS)
def test_whole_numbers_beside_decimals_share_a_plan_by_their_digits(
    both: tuple[Connection, Connection], text: str
) -> None:
    cached, anew = both
    drawn = random.Random(text)
    cached.session.context.plans.clear()
    numbers = [drawn.choice((-1, 1)) * drawn.randrange(10 ** (digits - 1), 10**digits) for digits in DIGITS]
    for number in (*numbers, 0, -1, 1, 2, 10, None):
        arguments, shown = (number,) * text.count("?"), "NULL" if number is None else str(number)
        assert answer(cached, text, arguments) == answer(anew, text.replace("?", shown)), arguments

    # One for each number of digits, one more where INT and BIGINT have as many, one for NULL.
    assert len(cached.session.context.plans) <= max(DIGITS) + 2
    if text[-1] == "?":
        kept = len(cached.session.context.plans)
        for number in range(-9, 10):
            shown = text.replace("?", str(number))
            assert answer(cached, shown) == answer(anew, shown), shown
        assert len(cached.session.context.plans) <= kept + 3, "with and without a sign, and 0"


def test_a_prepared_statement_keeps_a_plan_for_numbers_of_as_many_digits(
    both: tuple[Connection, Connection],
) -> None:
    cached, anew = both
    text = "SELECT d * ? AS a FROM t"
    prepared = cached.session.prepare(text)
    for number in (1, 2, 30, 3, 300000000, 40, 2**40, 5):
        assert answer(cached, prepared, (number,)) == answer(anew, text, (number,)), number


def test_two_arguments_have_a_plan_for_each_pair_of_types(both: tuple[Connection, Connection]) -> None:
    cached, _ = both
    text = "SELECT k FROM t WHERE k = :one OR concat(st, '') LIKE :other"
    drawn, pairs = random.Random(5), set[tuple[int, int]]()
    cached.session.context.plans.clear()
    for _ in range(150):
        pair = drawn.randrange(5), drawn.randrange(5)
        pairs.add(pair)
        arguments = {"one": DRAWN[pair[0]](drawn), "other": DRAWN[pair[1]](drawn)}
        answers = [connection.execute(text, arguments).fetchall() for connection in both]
        assert sorted(map(repr, answers[0])) == sorted(map(repr, answers[1])), arguments

    assert len(cached.session.context.plans) == len(pairs)


def test_null_has_a_plan_of_its_own(both: tuple[Connection, Connection]) -> None:
    cached, _ = both
    text = "SELECT st FROM t WHERE k = ?"
    cached.session.context.plans.clear()
    for value in (1, None, 2, 10, None, -1):
        answer(cached, text, (value,))

    assert sorted(plan.hits for plan in cached.session.context.plans.entries()) == [1, 3]


@pytest.mark.parametrize("text", LIFTED)
def test_a_literal_of_another_type_takes_no_plan_from_the_others(
    both: tuple[Connection, Connection], text: str
) -> None:
    cached, anew = both
    drawn = random.Random(text)
    cached.session.context.plans.clear()
    asked = [literal.format(digit) for literal in LITERALS for digit in (1, 2, 3)]
    for literal in drawn.sample(asked, len(asked)):
        shown = text.format(literal)
        assert answer(cached, shown) == answer(anew, shown), literal

    plans = cached.session.context.plans
    for form in LIFTED[text]:
        kept = len(plans)
        for digit in (4, 5, 6):
            answer(cached, text.format(form.format(digit)))
        assert len(plans) == kept, form


def test_a_value_that_planning_needs_has_plans_by_value_for_its_type_only(
    both: tuple[Connection, Connection],
) -> None:
    cached, _ = both
    text = "SELECT k FROM t WHERE k < ? ORDER BY k"
    cached.session.context.plans.clear()
    for value in (10**20, 10**21, 1, 2, 3, 2**40, 2**41, 0.5, 1.5):
        answer(cached, text, (value,))

    assert sorted(plan.hits for plan in cached.session.context.plans.entries()) == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    "by_value",
    [
        "SELECT k, ? + 1 FROM t",
        "SELECT round(f, ?) AS a FROM t",
        "SELECT ntile(?) OVER (ORDER BY k) AS a FROM t",
    ],
)
def test_plans_by_value_leave_the_plan_of_a_statement_in_use(by_value: str) -> None:
    """The argument names a column, or the plan has it as a constant: each value has a plan of its own."""
    with connection(8) as session:
        plans = session.session.context.plans
        for number in range(1, 40):
            session.execute(by_value, (number,))
            session.execute("SELECT k FROM t WHERE k = ?", (number,))
        assert len(plans) <= 8
        (used,) = [plan for plan in plans.entries() if plan.text == "SELECT k FROM t WHERE k = ?"]
        assert used.hits == 38


def test_a_column_with_a_name_of_its_own_has_one_plan_for_all_values() -> None:
    with connection(8) as session:
        plans = session.session.context.plans
        for number in range(1, 40):
            session.execute("SELECT k, ? + 1 AS a FROM t", (number,))
        assert len(plans) == 1
