"""UPDATE and DELETE of the rows of given keys on members: which statements the members carry out by the keys
alone, and that their effect is that of one process."""

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import pytest

import sqlfront
from sqlfront.state.plans import ChangePlan

CREATE: Final = (
    "CREATE TABLE t (k BIGINT, c INT, s STRING, d DATE, n DECIMAL(9, 2) NOT NULL) USING memory"
    " CLUSTERED BY (k)"
)
STATEMENTS: Final = (
    "UPDATE t SET c = :c WHERE k = :k",
    "UPDATE t SET s = :s, d = :d WHERE k = :k",
    "UPDATE t SET n = :n, s = NULL WHERE k IN (:k, :l)",
    "UPDATE t SET s = upper(:s), c = :c + 1 WHERE k = :k",
    "UPDATE t SET c = :s WHERE k = :k",
    "UPDATE t SET c = c + :c WHERE k = :k",
    "UPDATE t SET c = :c WHERE k = :k AND s = :s",
    "UPDATE t SET n = :nothing WHERE k = :k",
    "DELETE FROM t WHERE k = :k",
    "DELETE FROM t WHERE k IN (:k, :l)",
    "DELETE FROM t WHERE k = :nothing",
    "INSERT INTO t VALUES (:k, :c, :s, :d, :n), (:l, :c, :s, :d, :n)",
)


@pytest.fixture
def members() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=3, workers=1) as connection:
        connection.execute(CREATE)
        connection.execute("INSERT INTO t VALUES (1, 1, 'a', NULL, 1), (2, 2, 'b', NULL, 2)")
        yield connection


@pytest.mark.parametrize(
    ("statement", "places"),
    [
        ("UPDATE t SET c = ? WHERE k = ?", (1,)),
        ("UPDATE t SET c = ?, s = 'x' WHERE k IN (?, 7)", (1, 2)),
        ("UPDATE t SET s = NULL, c = ? WHERE k = ?", (1, 2)),
        ("UPDATE t SET d = current_date(), c = ? WHERE k = ?", (1, 3)),
        ("DELETE FROM t WHERE k = ? OR k = ?", None),
    ],
)
def test_values_that_do_not_depend_on_the_row_are_set_by_the_keys_alone(
    members: sqlfront.Connection, statement: str, places: tuple[int, ...] | None
) -> None:
    members.execute(statement, [1, 1])

    found = [cached.plan for cached in members.session.context.plans.entries()]
    keyed = [plan.keyed for plan in found if isinstance(plan, ChangePlan) and plan.keyed is not None]
    assert [change.places for change in keyed] == [places]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET c = c + ? WHERE k = ?",
        "UPDATE t SET s = CAST(c AS STRING), c = ? WHERE k = ?",
        "UPDATE t SET c = ? WHERE k = ? AND s = 'a'",
        "UPDATE t SET n = ? WHERE k = ?",
        "DELETE FROM t WHERE k = ? AND c = ?",
    ],
)
def test_other_changes_find_their_rows_first(members: sqlfront.Connection, statement: str) -> None:
    members.execute(statement, [1, 1])

    plans = [cached.plan for cached in members.session.context.plans.entries()]
    assert all(plan.keyed is None for plan in plans if isinstance(plan, ChangePlan))


def outcome(connection: sqlfront.Connection, text: str, values: dict[str, object]) -> object:
    """The number of affected rows, or the error's condition."""
    try:
        return connection.execute(text, values).rowcount
    except sqlfront.Error as error:
        return type(error), error.condition


def test_statements_on_members_do_what_they_do_in_one_process(members: sqlfront.Connection) -> None:
    drawn = random.Random(20)
    with sqlfront.connect(workers=1) as alone:
        alone.execute(CREATE)
        alone.execute("INSERT INTO t SELECT * FROM VALUES (1, 1, 'a', NULL, 1), (2, 2, 'b', NULL, 2)")
        for _ in range(150):
            text = drawn.choice(STATEMENTS)
            values: dict[str, object] = {
                "k": drawn.choice((None, *range(8))),
                "l": drawn.randrange(8),
                "c": drawn.choice((None, drawn.randrange(100), 2**31 - 1)),
                "s": drawn.choice((None, "", "a", "17", "ä" * 9)),
                "d": drawn.choice((None, datetime.date(2026, 11, 29), datetime.date(1, 1, 1))),
                "n": drawn.choice((Decimal("1.25"), 3)),
                "nothing": None,
            }
            used = {name: value for name, value in values.items() if f":{name}" in text}
            assert outcome(members, text, used) == outcome(alone, text, used), (text, used)
            rows = [sorted(each.execute("SELECT * FROM t").fetchall(), key=repr) for each in (members, alone)]
            assert rows[0] == rows[1], (text, used)
