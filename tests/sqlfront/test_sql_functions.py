"""SQL functions (CREATE FUNCTION) where they are kept: sessions, catalogs, cached plans and copies. What
they compute is in ``tests/slt/sql_functions_*.slt``."""

import pytest

import sqlfront
from sqlfront.session import Session
from sqlfront_values.errors import NotSupportedError, ProgrammingError

TABLE = "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 7 BUCKETS AS SELECT id AS k FROM range(50)"


@pytest.fixture
def session() -> Session:
    return sqlfront.Session()


def value(session: Session, sql: str, args: list[object] | None = None) -> object:
    (row,) = session.sql(sql, args).collect()
    return row[0]


def test_a_permanent_function_has_a_complete_name(session: Session) -> None:
    session.sql("CREATE FUNCTION f(x INT) RETURN x * 100")
    session.sql("CREATE TEMPORARY FUNCTION f(x INT) RETURN x")
    result = session.sql("SELECT f(1), default.f(1), spark_catalog.default.f(1), session.f(1)")
    assert result.columns == ["f(1)", "spark_catalog.default.f(1)", "spark_catalog.default.f(1)", "f(1)"]
    assert result.collect() == [(1, 100, 100, 1)]


def test_the_users_functions_are_listed(session: Session) -> None:
    session.sql("CREATE FUNCTION g(x INT) RETURN x")
    session.sql("CREATE TEMPORARY FUNCTION f(x INT) RETURN x")
    assert session.sql("SHOW USER FUNCTIONS").collect() == [("f",), ("spark_catalog.default.g",)]
    assert session.sql("SHOW FUNCTIONS LIKE 'g'").collect() == [("spark_catalog.default.g",)]
    assert session.sql("SHOW SYSTEM FUNCTIONS LIKE 'g'").collect() == []


def test_a_function_is_described_as_by_spark(session: Session) -> None:
    session.sql(
        "CREATE FUNCTION f(x INT, long STRING DEFAULT 'a' COMMENT 'b') RETURNS INT COMMENT 'c' RETURN x"
    )
    lines = [row[0] for row in session.sql("DESCRIBE FUNCTION EXTENDED f").collect()]
    assert lines[:7] == [
        "Function:      spark_catalog.default.f",
        "Type:          SCALAR",
        "Input:         x    INT   ",
        "               long STRING DEFAULT 'a' 'b'",
        "Returns:       INT",
        "Comment:       c",
        "Deterministic: true",
    ]
    assert lines[-1] == "Body:          x"


def test_a_permanent_function_sees_no_temporary_one(session: Session) -> None:
    session.sql("CREATE FUNCTION inner_one() RETURN 'permanent'")
    session.sql("CREATE FUNCTION outer_one() RETURN inner_one()")
    session.sql("CREATE TEMPORARY FUNCTION inner_one() RETURN 'temporary'")
    assert session.sql("SELECT outer_one(), inner_one()").collect() == [("permanent", "temporary")]
    with pytest.raises(ProgrammingError) as caught:
        session.sql("CREATE FUNCTION other() RETURN inner_one()")
    assert caught.value.condition == "INVALID_TEMP_OBJ_REFERENCE"


def test_a_cached_plan_ends_with_its_function(session: Session) -> None:
    for number in range(3):
        session.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURN x + {number}")
        assert value(session, "SELECT f(1)") == 1 + number
        assert value(session, "SELECT f(?)", [5]) == 5 + number
    session.sql("DROP TEMPORARY FUNCTION f")
    with pytest.raises(ProgrammingError) as caught:
        session.sql("SELECT f(1)")
    assert caught.value.condition == "UNRESOLVED_ROUTINE"


def test_calls_with_other_arguments_share_a_plan(session: Session) -> None:
    session.sql("CREATE TEMPORARY FUNCTION f(x INT) RETURN x * 2")
    assert [value(session, f"SELECT f(id) FROM range(10) WHERE id = {k}") for k in range(4)] == [0, 2, 4, 6]
    assert len(session.context.plans) == 1


def test_a_copy_of_a_view_ends_with_the_function_that_the_view_calls(session: Session) -> None:
    session.sql("CREATE FUNCTION f() RETURN 1")
    session.sql("CREATE VIEW v AS SELECT f() AS a")
    session.sql("CACHE TABLE v")
    session.sql("CREATE OR REPLACE FUNCTION f() RETURN 2")
    assert value(session, "SELECT a FROM v") == 2


def test_a_table_keeps_rows_by_a_function_and_direct_lookups_take_its_values(session: Session) -> None:
    session.sql(
        "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 7 BUCKETS AS SELECT id AS k FROM range(50)"
    )
    session.sql("CREATE TEMPORARY FUNCTION half(x BIGINT) RETURN x DIV 2")
    assert value(session, "SELECT k FROM t WHERE k = half(40)") == 20
    assert session.sql("SELECT count(*) FROM t WHERE half(k) < 5").collect() == [(10,)]


def test_all_sessions_of_a_cluster_see_a_permanent_function() -> None:
    with sqlfront.connect(members=2) as connection:
        session = connection.session
        session.sql("CREATE FUNCTION f(x INT) RETURN x + 1")
        session.sql(
            "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 7 BUCKETS AS SELECT id AS k FROM range(50)"
        )
        assert session.sql("SELECT sum(f(CAST(k AS INT))) FROM t").collect() == [(1275,)]
        with pytest.raises(ProgrammingError) as caught:
            session.sql("CREATE FUNCTION f(x INT) RETURN x + 1")
        assert caught.value.condition == "ROUTINE_ALREADY_EXISTS"
        session.sql("CREATE OR REPLACE FUNCTION f(x INT) RETURN x + 2")
        assert session.sql("SELECT f(1)").collect() == [(3,)]
        session.sql("DROP FUNCTION f")
        with pytest.raises(ProgrammingError):
            session.sql("SELECT f(1)")


def test_a_function_keeps_the_ansi_mode_of_its_making(session: Session) -> None:
    session.sql("CREATE TEMPORARY FUNCTION f(x STRING) RETURN CAST(x AS INT)")
    session.sql("SET spark.sql.ansi.enabled = false")
    with pytest.raises(NotSupportedError, match="ANSI"):
        session.sql("SELECT f('a')")
    session.sql("CREATE OR REPLACE TEMPORARY FUNCTION f(x STRING) RETURN CAST(x AS INT)")
    assert value(session, "SELECT f('a')") is None
