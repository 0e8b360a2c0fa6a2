"""Literals mean what parameters mean, here and to Spark."""

import random
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from tests.oracle import subject
from tests.sqlfront.sqlalchemy import expressions

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle

_LITERALS = {"literal_binds": True}


def _answer(connection: sa.Connection, statement: Any) -> object:
    """The rows, NaN as a text, or the error's condition."""
    try:
        rows = (
            connection.execute(statement)
            if not isinstance(statement, str)
            else connection.exec_driver_sql(statement)
        )
        return repr([tuple(row) for row in rows])
    except sa.exc.DBAPIError as error:
        return getattr(error.orig, "condition", None) or str(error.orig)


@pytest.mark.parametrize("seed", range(1))
def test_random_queries_by_parameters_and_by_literals_agree(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    with engine.connect() as connection:
        expressions.TABLE.create(connection)
        connection.execute(expressions.TABLE.insert(), expressions.rows(chance, 30))
        answered = 0
        for _ in range(25):
            query = expressions.query(chance)
            text = str(query.compile(engine, compile_kwargs=_LITERALS))
            answer = _answer(connection, query)
            answered += str(answer).startswith("[(")

            assert _answer(connection, text) == answer, text
    assert answered > 5


@pytest.mark.doors
def test_many_random_queries_by_parameters_and_by_literals_agree(engine: Engine) -> None:
    for seed in range(100, 160):
        test_random_queries_by_parameters_and_by_literals_agree(engine, seed)
        with engine.connect() as connection:
            expressions.TABLE.drop(connection)


@pytest.mark.spark
def test_spark_reads_the_literals_as_we_do(engine: Engine, spark: "SparkOracle") -> None:
    chance = random.Random(7)
    with engine.connect() as connection:
        for _ in range(15):
            row = {name: expressions.value(name, chance) for name in expressions.NAMES}
            columns = [
                sa.literal(item, expressions.TABLE.c[name].type).label(name) for name, item in row.items()
            ]
            text = str(sa.select(*columns).compile(engine, compile_kwargs=_LITERALS))
            driver: Any = connection.connection.dbapi_connection

            assert subject.answer(driver, text) == spark.answer(text), text
