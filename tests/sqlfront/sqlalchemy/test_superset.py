"""The calls that Superset 6.1 makes of a database, replayed.

Superset can't share an environment with sqlfront: it pins SQLAlchemy < 2, pyarrow < 19 and sqlglot < 29. Each
test makes the calls of one place of Superset, which its docstring names, in their order and with their
arguments. A database that Superset doesn't know is served by ``BaseEngineSpec`` (db_engine_specs/base.py),
which neither estimates costs nor cancels, so that there is nothing to replay for both.
"""

import datetime
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import column, literal_column, select
from sqlalchemy.pool import NullPool

import sqlfront

#: The grains of db_engine_specs/spark.py, which a site gives by TIME_GRAIN_ADDON_EXPRESSIONS.
_GRAINS = {
    "PT1S": "date_trunc('second', {col})",
    "PT1M": "date_trunc('minute', {col})",
    "PT1H": "date_trunc('hour', {col})",
    "P1D": "date_trunc('day', {col})",
    "P1W": "date_trunc('week', {col})",
    "P1M": "date_trunc('month', {col})",
    "P3M": "date_trunc('quarter', {col})",
    "P1Y": "date_trunc('year', {col})",
    "P1W/1970-01-03T00:00:00Z": "date_trunc('week', {col} + interval '1 day') + interval '5 days'",
    "1969-12-28T00:00:00Z/P1W": "date_trunc('week', {col} + interval '1 day') - interval '1 day'",
}
_TRIPS = """
    CREATE TABLE trips (id BIGINT NOT NULL, city STRING COMMENT 'where it began', price DECIMAL(10, 2),
        km DOUBLE, paid BOOLEAN, at TIMESTAMP, day DATE)
    USING memory CLUSTERED BY (id) INTO 4 BUCKETS COMMENT 'one row a trip'
"""
_ROWS = """
    INSERT INTO trips
    SELECT id, element_at(array('Paris', 'Rome', '100% Oslo', NULL), CAST(id % 4 AS INT) + 1), id / 4,
        id * 1.5D, id % 2 = 0, TIMESTAMP '2024-02-28 10:30:15' + make_dt_interval(0, CAST(id AS INT)),
        DATE '2024-02-28' + CAST(id / 24 AS INT)
    FROM range(100)
"""


class _Database:
    """Superset's model of a database (models/core.py): an engine, without a pool, for each query."""

    def __init__(self, url: str) -> None:
        self.url = url

    def engine(self) -> sa.Engine:
        return sa.create_engine(self.url, poolclass=NullPool, connect_args={})

    def inspector(self) -> sa.Inspector:
        return sa.inspect(self.engine())

    def sql(self, query: Any) -> str:
        """compile_sqla_query: literals instead of parameters, and single percent signs."""
        engine = self.engine()
        text = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
        doubled = engine.dialect.identifier_preparer._double_percents
        return text.replace("%%", "%") if doubled else text

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """_execute_sql_with_mutation_and_logging: the driver's cursor."""
        with closing(self.engine().raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def database() -> Iterator[_Database]:
    made = _Database("sqlfront://?session=superset")
    with made.engine().begin() as connection:
        connection.execute(sa.text(_TRIPS))
        connection.execute(sa.text(_ROWS))
        connection.execute(sa.text("CREATE VIEW dear AS SELECT * FROM trips WHERE price > 20"))
    yield made
    with closing(made.engine().raw_connection()) as connection:
        connection.execute("DROP VIEW dear")
        connection.execute("DROP TABLE trips")


def test_the_connection_is_tested(database: _Database) -> None:
    """``ping``, commands/database/utils.py."""
    engine = database.engine()
    with closing(engine.raw_connection()) as connection:
        assert engine.dialect.do_ping(connection)


def test_schemas_tables_and_views_are_listed(database: _Database) -> None:
    """``get_schema_names``, ``get_table_names``, ``get_view_names``, base.py."""
    inspector = database.inspector()
    assert "default" in set(inspector.get_schema_names())
    assert set(inspector.get_table_names("default")) == {"trips"}
    assert set(inspector.get_view_names("default")) == {"dear"}
    assert inspector.default_schema_name == "default"
    assert inspector.has_table("dear", "default") and not inspector.has_table("nosuch", "default")


def test_a_table_is_described(database: _Database) -> None:
    """``get_table_metadata``, databases/utils.py; ``column_datatype_to_string``, base.py."""
    inspector, dialect = database.inspector(), database.engine().dialect
    columns = inspector.get_columns("trips", "default")
    types = {each["name"]: each["type"].copy().compile(dialect=dialect).upper() for each in columns}
    assert types == {
        "id": "BIGINT",
        "city": "STRING",
        "price": "DECIMAL(10, 2)",
        "km": "DOUBLE",
        "paid": "BOOLEAN",
        "at": "TIMESTAMP",
        "day": "DATE",
    }
    assert [each["nullable"] for each in columns] == [False] + 6 * [True]
    assert columns[1]["comment"] == "where it began"
    assert inspector.get_pk_constraint("trips", "default")["constrained_columns"] == []
    assert inspector.get_foreign_keys("trips", "default") == []
    assert inspector.get_indexes("trips", "default") == []
    assert inspector.get_table_comment("trips", "default") == {"text": "one row a trip"}


def test_a_table_is_previewed(database: _Database) -> None:
    """``select_star`` and ``quote_table``, base.py."""
    quote = database.engine().dialect.identifier_preparer.quote
    source = sa.text(".".join(quote(part) for part in ("default", "trips")))
    names = [each["name"] for each in database.inspector().get_columns("trips", "default")]
    selections: list[list[Any]] = [[literal_column("*")], [column(name) for name in names]]
    for fields in selections:
        rows = database.rows(database.sql(select(*fields).select_from(source).limit(10)))
        assert (len(rows), len(rows[0])) == (10, len(names))


def _grain(expression: str, name: str) -> sa.ColumnElement[Any]:
    """``get_timestamp_expr``, base.py: the label is the name of the pseudo column."""
    return literal_column(expression.replace("{col}", name)).label("__timestamp")


def _floor(at: datetime.datetime, grain: str) -> datetime.datetime:
    """The beginning of the time's grain; the end for weeks that end on Saturday."""
    day = at.replace(hour=0, minute=0, second=0)
    sunday = day - datetime.timedelta((day.weekday() + 1) % 7)
    return {
        "PT1S": at,
        "PT1M": at.replace(second=0),
        "PT1H": at.replace(minute=0, second=0),
        "P1D": day,
        "P1W": day - datetime.timedelta(day.weekday()),
        "P1M": day.replace(day=1),
        "P3M": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "P1Y": day.replace(month=1, day=1),
        "P1W/1970-01-03T00:00:00Z": sunday + datetime.timedelta(6),
        "1969-12-28T00:00:00Z/P1W": sunday,
    }[grain]


@pytest.mark.parametrize("grain", _GRAINS)
def test_a_chart_groups_by_a_grain_of_time(database: _Database, grain: str) -> None:
    """``get_sqla_query``, models/helpers.py, with a time range (``dttm_sql_literal``) and a metric."""
    times: Any = literal_column("at")
    query = (
        select(_grain(_GRAINS[grain], "at"), literal_column("count(*)").label("count"))
        .select_from(sa.table("trips", schema="default"))
        .where(
            times >= sa.text("'2024-02-28 00:00:00.000000'"), times < sa.text("'2024-03-02 00:00:00.000000'")
        )
        .group_by(_grain(_GRAINS[grain], "at"))
        .order_by(sa.desc(literal_column("count")), sa.asc(literal_column("__timestamp")))
        .limit(50000)
    )
    begin = datetime.datetime(2024, 2, 28, 10, 30, 15)
    times_in_range = [
        at
        for at in (begin + datetime.timedelta(hours=number) for number in range(100))
        if at < datetime.datetime(2024, 3, 2)
    ]
    wanted = pd.Series([_floor(at, grain) for at in times_in_range]).value_counts()
    rows = database.rows(database.sql(query))

    assert {at.replace(tzinfo=None): count for at, count in rows} == wanted.to_dict()
    assert [count for _, count in rows] == sorted(wanted, reverse=True)


def test_a_chart_over_a_query_filters_and_limits_its_series(database: _Database) -> None:
    """``get_from_clause`` (the alias virtual_table) and ``get_sqla_query``'s join with the largest series."""
    source: Any = sa.text("SELECT city, price, paid FROM trips -- all\n").columns().alias("virtual_table")
    city: Any = column("city")
    total: Any = literal_column("sum(price)")
    filters = sa.and_(
        column("paid").is_(True) | column("paid").is_(False),
        city.isnot(None),
        city.notlike("%nowhere%"),
        column("price").in_([Decimal(number) / 4 for number in range(90)]),
    )
    main, inner = total.label("SUM(price)"), total.label("mme_inner__")
    largest = (
        select(city.label("city__"), inner)
        .select_from(source)
        .where(filters)
        .group_by(city.label("city__"))
        .order_by(sa.desc(inner))
        .limit(2)
        .alias("series_limit")
    )
    query = (
        select(city.label("city"), main)
        .select_from(source.join(largest, city == column("city__")))
        .where(filters)
        .group_by(city.label("city"))
        .having(sa.text("(count(*) > 0)"))
        .order_by(sa.desc(main))
        .limit(10000)
    )

    # Of the ids 0 to 89: every fourth from 1 on for Rome, and from 0 on for Paris.
    assert database.rows(database.sql(query)) == [("Rome", Decimal("258.75")), ("Paris", Decimal(253))]


def test_the_columns_of_a_query_are_told(database: _Database) -> None:
    """``get_columns_description``, connectors/sqla/utils.py, which runs the query twice on one cursor."""
    with closing(database.engine().raw_connection()) as connection:
        cursor = connection.cursor()
        for _ in range(2):
            cursor.execute("SELECT id, city AS `where from`, at FROM trips LIMIT 1")
        assert len(cursor.fetchall()) == 1
        assert [each[0] for each in cursor.description] == ["id", "where from", "at"]


def test_the_values_of_a_filter_are_offered(database: _Database) -> None:
    """``values_for_column``, models/helpers.py: through pandas, with the text as it is."""
    query: Any = (
        select(column("city").label("column_values")).select_from(sa.table("trips")).distinct().limit(10000)
    )
    with database.engine().connect() as connection:
        values = pd.read_sql_query(sql=sa.text(database.sql(query)), con=connection)["column_values"]
    assert set(values.dropna()) == {"Paris", "Rome", "100% Oslo"}
    assert values.isna().sum() == 1


def test_the_sql_lab_limits_a_query_and_shows_an_error(database: _Database) -> None:
    """``apply_limit_to_sql``, models/core.py: LIMIT in place, or around the query; the driver's errors."""
    assert len(database.rows("SELECT\n  *\nFROM trips\nLIMIT 11")) == 11
    assert len(database.rows("SELECT * FROM (SELECT * FROM trips ORDER BY id) LIMIT 12")) == 12
    with pytest.raises(sqlfront.ProgrammingError, match="UNRESOLVED_COLUMN"):
        database.rows("SELECT nosuch FROM trips")


def test_a_file_is_uploaded(database: _Database) -> None:
    """``df_to_sql``, base.py: rows in one INSERT, since the dialect has such."""
    engine = database.engine()
    assert engine.dialect.supports_multivalues_insert
    frame = pd.DataFrame({"a b": [1, 2], "text": ["x%s", None]})
    options: dict[str, Any] = {"chunksize": 1000, "index": False, "schema": "default", "method": "multi"}
    for exists, times in (("fail", 1), ("append", 2), ("replace", 1)):
        frame.to_sql("uploaded", con=engine, if_exists=exists, **options)
        assert (
            database.rows("SELECT * FROM uploaded ORDER BY 1") == [(1, "x%s")] * times + [(2, None)] * times
        )
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("uploaded", con=engine, if_exists="fail", **options)
    sa.Table("uploaded", sa.MetaData(), schema="default").drop(engine)
