"""EXECUTE IMMEDIATE and IDENTIFIER beside parameters and cached plans. What statements answer is in
``tests/slt/execute_immediate.slt``."""

import pytest

import sqlfront
from sqlfront.session import Session
from sqlfront_values.errors import DataError, ProgrammingError


@pytest.fixture
def session() -> Session:
    session = sqlfront.Session()
    session.sql("CREATE TEMPORARY VIEW t AS SELECT id AS k, id * 10 AS v FROM range(5)")
    session.sql("CREATE TEMPORARY VIEW u AS SELECT id AS k, id * 7 AS v FROM range(5)")
    return session


def test_an_argument_names_the_table_of_each_run(session: Session) -> None:
    for table, factor in (("t", 10), ("u", 7), ("t", 10)):
        answer = session.sql("SELECT v FROM IDENTIFIER(:table) WHERE k = :k", {"table": table, "k": 3})
        assert answer.collect() == [(3 * factor,)]


def test_parameters_without_names_keep_their_order(session: Session) -> None:
    text = "SELECT ?, IDENTIFIER(? || ?), ? FROM IDENTIFIER(?) WHERE k = ?"
    result = session.sql(text, [1, "t.", "v", 2, "t", 4])
    assert result.collect() == [(1, 40, 2)]
    assert result.columns[1] == "v"


def test_names_of_variables_and_prepared_statements() -> None:
    connection = sqlfront.connect()
    session = connection.session
    session.sql("DECLARE name STRING DEFAULT 'range'")
    statement = connection.prepare("SELECT count(*) FROM IDENTIFIER(name)(4)")
    assert statement.execute().collect() == [(4,)]
    session.sql("SET VAR name = 'nosuch'")
    with pytest.raises(ProgrammingError) as caught:
        statement.execute()
    assert caught.value.condition == "UNRESOLVABLE_TABLE_VALUED_FUNCTION"


def test_explain_shows_the_plan_behind_a_name(session: Session) -> None:
    (row,) = session.sql("EXPLAIN SELECT * FROM IDENTIFIER('t')").collect()
    assert "Range" in str(row[0])


def test_the_text_may_have_parameters_of_the_statement(session: Session) -> None:
    assert session.sql("EXECUTE IMMEDIATE ? USING ?", ["SELECT v FROM t WHERE k = ?", 2]).collect() == [(20,)]
    assert session.sql("EXECUTE IMMEDIATE :q", {"q": "SELECT 1"}).collect() == [(1,)]


def test_a_plan_of_the_text_is_kept(session: Session) -> None:
    session.context.plans.clear()
    for number in range(3):
        answer = session.sql("EXECUTE IMMEDIATE 'SELECT v FROM t WHERE k = ?' USING ?", [number])
        assert answer.collect() == [(number * 10,)]
    assert [plan.hits for plan in session.context.plans.entries() if "WHERE" in plan.text] == [2]


def test_a_null_argument_keeps_its_type(session: Session) -> None:
    session.sql("DECLARE s STRING")
    result = session.sql("EXECUTE IMMEDIATE 'SELECT ? AS a' USING s")
    assert (result.dtypes, result.collect()) == ([("a", "string")], [(None,)])


def test_a_null_text_is_an_error(session: Session) -> None:
    session.sql("DECLARE s STRING")
    with pytest.raises(DataError) as caught:
        session.sql("EXECUTE IMMEDIATE s")
    assert caught.value.condition == "NULL_QUERY_STRING_EXECUTE_IMMEDIATE"


def test_rows_go_into_variables(session: Session) -> None:
    session.sql("DECLARE a, b INT")
    query = "WITH c AS (SELECT * FROM t) SELECT k, v FROM c WHERE k = ?"
    session.sql(f"EXECUTE IMMEDIATE '{query}' INTO a, b USING 3")
    assert session.sql("SELECT a, b").collect() == [(3, 30)]
