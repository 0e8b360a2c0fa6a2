"""SQL variables (DECLARE) beside cached plans, prepared statements, copies and members. What names mean and
values become is in ``tests/slt/sql_variables.slt``."""

import pytest

import sqlfront
from sqlfront.session import Session
from sqlfront_values.errors import ProgrammingError

TABLE = (
    "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 7 BUCKETS "
    "AS SELECT id AS k, id * 10 AS v FROM range(50)"
)


@pytest.fixture
def session() -> Session:
    session = sqlfront.Session()
    session.sql("DECLARE x INT DEFAULT 1")
    return session


def value(session: Session, sql: str, args: list[object] | dict[str, object] | None = None) -> object:
    (row,) = session.sql(sql, args).collect()
    return row[0]


def test_a_changed_variable_is_read_by_the_same_plan(session: Session) -> None:
    session.sql(TABLE)
    session.context.plans.clear()
    for number in range(5):
        session.sql(f"SET VAR x = {number}")
        assert value(session, "SELECT v FROM t WHERE k = x") == number * 10
    assert [plan.hits for plan in session.context.plans.entries() if "WHERE" in plan.text] == [4]


def test_a_null_and_a_value_take_turns(session: Session) -> None:
    for number in (None, 3, None, 4):
        session.sql("SET VAR x = ?", [number])
        assert value(session, "SELECT x + 1 AS y") == (None if number is None else number + 1)


def test_a_limit_by_a_variable_follows_it(session: Session) -> None:
    for number in (3, 5, 0, 20):
        session.sql(f"SET VAR x = {number}")
        assert len(session.sql("SELECT id FROM range(10) LIMIT x").collect()) == min(number, 10)


def test_a_name_shows_the_value_of_its_run(session: Session) -> None:
    for number in (1, 2, 1):
        session.sql(f"SET VAR x = {number}")
        result = session.sql("SELECT x + 1")
        assert result.columns == [f"(variablereference(system.session.x={number}) + 1)"]
        assert result.collect() == [(number + 1,)]


def test_a_variable_of_another_type_makes_another_plan(session: Session) -> None:
    assert value(session, "SELECT typeof(x)") == "int"
    session.sql("DECLARE OR REPLACE x STRING DEFAULT 'a'")
    assert value(session, "SELECT typeof(x)") == "string"
    session.sql("DROP TEMPORARY VARIABLE x")
    with pytest.raises(ProgrammingError) as caught:
        session.sql("SELECT typeof(x)")
    assert caught.value.condition == "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"


def test_variables_stand_beside_parameters(session: Session) -> None:
    assert session.sql("SELECT ?, x, ?, 7", ["a", "b"]).collect() == [("a", 1, "b", 7)]
    assert session.sql("SELECT :a, x, :b", {"b": 2, "a": 3}).collect() == [(3, 1, 2)]
    with pytest.raises(ProgrammingError) as caught:
        session.sql("SELECT ?, ?", ["a"])
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"
    session.sql("SET VAR x = ? + x", [41])
    assert value(session, "SELECT x") == 42


def test_prepared_statements_read_the_variables_of_each_run() -> None:
    connection = sqlfront.connect()
    session = connection.session
    session.sql(TABLE)
    session.sql("DECLARE x INT DEFAULT 1")
    statement = connection.prepare("SELECT v + ? FROM t WHERE k = x")
    assert [row[0] for row in statement.execute([1]).collect()] == [11]
    session.sql("SET VAR x = 4")
    assert [row[0] for row in statement.execute([2]).collect()] == [42]
    session.sql("DECLARE OR REPLACE x BIGINT DEFAULT 5")
    assert [row[0] for row in statement.execute([3]).collect()] == [53]


def test_changes_of_tables_read_variables(session: Session) -> None:
    session.sql(TABLE)
    session.sql("UPDATE t SET v = x WHERE k = x")
    assert value(session, "SELECT v FROM t WHERE k = 1") == 1
    session.sql("SET VAR x = 2")
    session.sql("DELETE FROM t WHERE k <= x")
    assert value(session, "SELECT count(*) FROM t") == 47
    session.sql("INSERT INTO t VALUES (x, x + 1)")
    assert value(session, "SELECT v FROM t WHERE k = 2") == 3


def test_a_copy_of_a_view_ends_with_the_value_of_its_variable(session: Session) -> None:
    session.sql("CREATE TEMPORARY VIEW v AS SELECT x AS a")
    session.sql("CACHE TABLE v")
    session.sql("SET VAR x = 2")
    assert value(session, "SELECT a FROM v") == 2


def test_permanent_views_see_no_variable(session: Session) -> None:
    with pytest.raises(ProgrammingError) as caught:
        session.sql("CREATE VIEW v AS SELECT x AS a")
    assert caught.value.condition == "INVALID_TEMP_OBJ_REFERENCE"
    session.sql("CREATE VIEW v AS SELECT id AS a FROM range(1)")
    session.sql("CREATE FUNCTION f(x INT) RETURN x")
    assert session.sql("SELECT a, f(5) FROM v").collect() == [(0, 5)]


def test_variables_are_read_on_other_members() -> None:
    with sqlfront.connect(members=2) as connection:
        session = connection.session
        session.sql(TABLE)
        session.sql("DECLARE x INT DEFAULT 7")
        session.sql("DECLARE l ARRAY<INT> DEFAULT array(1, 2)")
        assert session.sql("SELECT v FROM t WHERE k = x").collect() == [(70,)]
        assert session.sql("SELECT sum(v + x), max(array_contains(l, CAST(k AS INT))) FROM t").collect() == [
            (12600, True)
        ]


def test_sessions_have_variables_of_their_own(session: Session) -> None:
    with pytest.raises(ProgrammingError):
        sqlfront.Session().sql("SELECT x")


def test_a_variable_beside_a_decimal_is_no_literal(session: Session) -> None:
    session.sql("DECLARE d DECIMAL(5, 2) DEFAULT 1.5")
    assert value(session, "SELECT typeof(x * 1.5)") == "decimal(13,1)"
    assert value(session, "SELECT typeof(x + d)") == "decimal(13,2)"
    assert value(session, "SELECT count(*) FROM range(3) WHERE CAST(id AS DECIMAL(3, 1)) = x") == 1
