"""DELETE and UPDATE that come again with other values: the plan is used again, and never wrongly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import pytest

import sqlfront
from sqlfront.commands.run import StatementRun
from sqlfront.state.plans import ChangePlan, InsertPlan
from sqlfront_planner.catalog import Entry
from tests.sqlfront.test_modification import ask


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        connection.execute("CREATE TABLE t (k INT, b TINYINT, s STRING, d DECIMAL(9,2)) CLUSTERED BY (k)")
        connection.execute("INSERT INTO t SELECT id, id % 100, concat('s', id), id FROM range(2000)")
        yield connection


def plans(connection: sqlfront.Connection) -> list[ChangePlan]:
    return [
        cached.plan
        for cached in connection.session.context.plans.entries()
        if isinstance(cached.plan, ChangePlan)
    ]


def inserts(connection: sqlfront.Connection) -> list[InsertPlan]:
    return [
        cached.plan
        for cached in connection.session.context.plans.entries()
        if isinstance(cached.plan, InsertPlan)
    ]


def test_inserts_of_other_values_use_the_same_plan(connection: sqlfront.Connection) -> None:
    insert = connection.prepare("INSERT INTO t VALUES (?, 1, ?, 2.5)")
    for key in range(3000, 3010):
        connection.execute("INSERT INTO t (s, k) VALUES (:s, :k)", {"k": key, "s": "inserted"})
        insert.execute([key + 100, "prepared"])

    assert len(inserts(connection)) == 2
    assert ask(connection, "SELECT * FROM t WHERE k >= 3000 ORDER BY k") == [
        *((key, None, "inserted", None) for key in range(3000, 3010)),
        *((key, 1, "prepared", Decimal("2.50")) for key in range(3100, 3110)),
    ]


def test_inserts_of_literals_keep_no_plans(connection: sqlfront.Connection) -> None:
    for key in range(3000, 3003):
        connection.execute(f"INSERT INTO t VALUES ({key}, 1, 'a', 2), ({key}, 2, 'b', 3)")

    assert not inserts(connection)
    assert ask(connection, "SELECT count(*) FROM t WHERE k >= 3000") == [(6,)]


@pytest.mark.parametrize("value", [None, 5, "5", 5.5, 2**40, 2**70, Decimal("5.55"), True, b"5"])
def test_values_of_each_type_are_inserted_as_a_job_inserts_them(
    connection: sqlfront.Connection, value: object
) -> None:
    connection.execute("CREATE TABLE c (k INT, b TINYINT, s STRING, d DECIMAL(9,2)) CLUSTERED BY (k)")
    for column in ("k", "b", "s", "d"):
        outcomes = []
        for rows in ("VALUES (?)", "SELECT ? FROM range(1)"):
            outcome: list[object] = []
            for _ in range(2):
                try:
                    outcome.append(connection.execute(f"INSERT INTO c ({column}) {rows}", [value]).rowcount)
                except sqlfront.Error as error:
                    outcome.append((type(error), error.condition))
            outcomes.append((*outcome, *ask(connection, "SELECT * FROM c")))
            connection.execute("DELETE FROM c")
        assert outcomes[0] == outcomes[1], column


def test_an_insert_finds_the_table_that_has_the_name_now(connection: sqlfront.Connection) -> None:
    text = "INSERT INTO t VALUES (?, 1, 'a', 2)"
    for key in (3000, 3001):
        connection.execute(text, [key])
    connection.execute("ALTER TABLE t RENAME TO former")
    with pytest.raises(sqlfront.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        connection.execute(text, [3002])
    connection.execute("CREATE TABLE t (k INT, b STRING, s STRING NOT NULL, d INT) CLUSTERED BY (k)")
    connection.execute(text, [3003])
    connection.execute("CREATE TEMPORARY VIEW t AS SELECT 1")
    with pytest.raises(sqlfront.ProgrammingError):
        connection.execute(text, [3004])
    connection.execute("DROP VIEW t")
    connection.execute("CREATE INDEX by_s ON t (s)")
    connection.execute(text, [3005])

    assert ask(connection, "SELECT * FROM t ORDER BY k") == [(3003, "1", "a", 2), (3005, "1", "a", 2)]
    assert ask(connection, "SELECT k FROM t WHERE s = 'a' ORDER BY k") == [(3003,), (3005,)]
    assert ask(connection, "SELECT count(*) FROM former WHERE k >= 3000") == [(2,)]


def test_a_null_in_a_required_column_is_an_error_for_a_cached_plan_too(
    connection: sqlfront.Connection,
) -> None:
    connection.execute("CREATE TABLE r (k INT NOT NULL, s STRING NOT NULL) CLUSTERED BY (k)")
    text = "INSERT INTO r VALUES (?, CASE WHEN ? <> '' THEN 'x' END)"
    for value in ("a", "b"):
        connection.execute(text, [1, value])
    with pytest.raises(sqlfront.IntegrityError, match="NOT_NULL_ASSERT_VIOLATION"):
        connection.execute(text, [1, ""])

    assert ask(connection, "SELECT s FROM r ORDER BY s") == [("x",), ("x",)]
    assert inserts(connection)


def test_an_insert_refills_the_copies_that_read_the_table(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE VIEW v AS SELECT count(*) AS n FROM t")
    connection.execute("CACHE TABLE v")
    for key in (3000, 3001):
        connection.execute("INSERT INTO t VALUES (?, 1, 'a', 2)", [key])

    assert ask(connection, "SELECT n FROM v") == [(2002,)]


def test_other_values_use_the_same_plan(connection: sqlfront.Connection) -> None:
    for key in range(20):
        connection.execute(f"UPDATE t SET s = 'new {key}', d = d + 1 WHERE k = {key}")
        assert connection.execute(f"DELETE FROM t WHERE k = {key + 100}").rowcount == 1

    assert len(plans(connection)) == 2
    assert ask(connection, "SELECT k, s, d FROM t WHERE k < 20 ORDER BY k") == [
        (key, f"new {key}", Decimal(key + 1)) for key in range(20)
    ]
    assert ask(connection, "SELECT count(*) FROM t") == [(1980,)]


def test_arguments_and_prepared_statements(connection: sqlfront.Connection) -> None:
    update = connection.prepare("UPDATE t SET s = ? WHERE k = ?")
    for key in range(10):
        update.execute(["prepared", key])
        connection.execute("UPDATE t SET b = :b WHERE k = :k", {"b": 7, "k": key})

    assert len(plans(connection)) == 2
    assert ask(connection, "SELECT DISTINCT s, b FROM t WHERE k < 10") == [("prepared", 7)]


@pytest.mark.parametrize("value", ["5", "'5'", "5.5", "5L", "5e0", "NULL", "5BD"])
def test_values_of_other_types_mean_what_they_say(connection: sqlfront.Connection, value: str) -> None:
    with sqlfront.connect() as other:
        other.execute("CREATE TABLE t (k INT, b TINYINT, s STRING, d DECIMAL(9,2)) CLUSTERED BY (k)")
        other.execute("INSERT INTO t SELECT id, id % 100, concat('s', id), id FROM range(2000)")
        connection.execute("UPDATE t SET d = 5 WHERE k = 5")
        other.execute("UPDATE t SET d = 5 WHERE k = 5")
        for session in (connection, other):
            session.execute(f"UPDATE t SET s = 'x' WHERE k = {value}")
            session.execute(f"DELETE FROM t WHERE d = {value} AND k <> 5")
            session.session.context.plans.clear()

        assert Counter(ask(connection, "SELECT * FROM t")) == Counter(ask(other, "SELECT * FROM t"))


def test_a_value_that_does_not_fit_is_an_error_and_changes_nothing(connection: sqlfront.Connection) -> None:
    connection.execute("UPDATE t SET b = 5 WHERE k = 5")
    for value in (300, -129):
        with pytest.raises(sqlfront.DataError) as caught:
            connection.execute(f"UPDATE t SET b = {value} WHERE k = 5")
        assert caught.value.condition == "CAST_OVERFLOW_IN_TABLE_INSERT"
    with pytest.raises(sqlfront.DataError):
        connection.execute("UPDATE t SET b = b / 0 WHERE k = 5")

    assert ask(connection, "SELECT b FROM t WHERE k = 5") == [(5,)]


def test_what_a_name_stands_for_is_looked_up_each_time(connection: sqlfront.Connection) -> None:
    connection.execute("DELETE FROM t WHERE k = 1")
    connection.execute("CREATE OR REPLACE TABLE t AS SELECT id AS k, 'a' AS s FROM range(2000)")
    assert connection.execute("DELETE FROM t WHERE k = 2").rowcount == 1
    connection.execute("CACHE TABLE t")
    with pytest.raises(sqlfront.NotSupportedError):
        connection.execute("DELETE FROM t WHERE k = 3")
    connection.execute("UNCACHE TABLE t")
    connection.execute("DROP TABLE t")
    with pytest.raises(sqlfront.ProgrammingError):
        connection.execute("DELETE FROM t WHERE k = 4")


def test_copies_follow_each_time(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT count(*) AS n FROM t")
    connection.execute("CACHE TABLE v")
    for key in range(3):
        connection.execute(f"DELETE FROM t WHERE k = {key}")
        assert ask(connection, "SELECT n FROM v") == [(1999 - key,)]


def test_rows_by_an_index_are_changed_without_a_job(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE INDEX i ON t (b)")
    for value in range(5):
        assert connection.execute(f"DELETE FROM t WHERE b = {value}").rowcount == 20

    [plan] = plans(connection)
    assert plan.lane == "direct"
    assert ask(connection, "SELECT count(*) FROM t WHERE b < 5") == [(0,)]


@pytest.mark.parametrize("members", [1, 3])
def test_a_plan_that_becomes_unfit_gives_way_to_a_job(members: int) -> None:
    with sqlfront.connect(members=members) as connection:
        connection.execute("CREATE TABLE g AS SELECT id AS k FROM range(10)")
        connection.execute("DELETE FROM g WHERE k > 8")
        connection.execute("INSERT INTO g SELECT id FROM range(10, 5000)")

        assert connection.execute("DELETE FROM g WHERE k > 4990").rowcount == 9
        assert connection.execute("DELETE FROM g WHERE k > 4980").rowcount == 10


@pytest.mark.parametrize("members", [1, 3])
def test_a_date_that_python_has_not_is_kept(members: int) -> None:
    with sqlfront.connect(members=members) as connection:
        connection.execute("CREATE TABLE g (k INT, d DATE, n INT) CLUSTERED BY (k)")
        connection.execute("INSERT INTO g SELECT 1, date_add(DATE'9999-12-31', 100), 0")
        for number in (5, 6):
            connection.execute(f"UPDATE g SET n = {number} WHERE k = 1")

        assert ask(connection, "SELECT n, date_add(d, -100) = DATE'9999-12-31' FROM g") == [(6, True)]


@pytest.mark.parametrize("seed", range(3))
def test_any_changes_by_key_leave_what_a_model_says(connection: sqlfront.Connection, seed: int) -> None:
    chosen = random.Random(seed)
    connection.execute("CREATE INDEX i ON t (s)")
    model: dict[int, tuple[int, str, Decimal]] = {
        key: (key % 100, f"s{key}", Decimal(key)) for key in range(2000)
    }
    for number in range(200):
        key, other = chosen.randrange(50), chosen.randrange(50)
        match chosen.randrange(4):
            case 0:
                connection.execute(f"DELETE FROM t WHERE k = {key}")
                model.pop(key, None)
            case 1:
                connection.execute(f"UPDATE t SET s = 'u{number}', b = b - 1 WHERE k IN ({key}, {other})")
                for each in {key, other} & model.keys():
                    b, _, d = model[each]
                    model[each] = b - 1, f"u{number}", d
            case 2:
                if key not in model:
                    connection.execute(f"INSERT INTO t VALUES ({key}, 1, 's{key}', {number})")
                    model[key] = 1, f"s{key}", Decimal(number)
            case _:
                connection.execute(f"UPDATE t SET d = {number}.5 WHERE s = 's{key}'")
                for each, (b, s, _) in model.items():
                    if s == f"s{key}":
                        model[each] = b, s, Decimal(f"{number}.5")
        assert ask(connection, f"SELECT b, s, d FROM t WHERE k = {key}") == (
            [model[key]] if key in model else []
        )
    assert Counter(ask(connection, "SELECT * FROM t")) == Counter((k, *row) for k, row in model.items())


def test_a_table_that_is_replaced_meanwhile_is_an_error(
    connection: sqlfront.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is looked up twice: for the turn to write, and for the rows."""
    lookup = StatementRun.entry

    def and_replace(run: StatementRun, name: str) -> Entry:
        found = lookup(run, name)
        monkeypatch.undo()
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT id AS k FROM range(10)")
        return found

    monkeypatch.setattr(StatementRun, "entry", and_replace)
    with pytest.raises(sqlfront.OperationalError, match="`t` was replaced"):
        connection.execute("DELETE FROM t WHERE k = 1")
    assert ask(connection, "SELECT count(*) FROM t") == [(10,)]
