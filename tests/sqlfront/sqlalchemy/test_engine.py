"""URLs, the session of an engine, transactions, streaming and the catalog."""

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import Column, Engine, Index, Integer, MetaData, String, Table, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

import sqlfront
from sqlfront.spark.attached import AttachedSession
from sqlfront.sqlalchemy.dialect import SqlfrontDialect
from sqlfront.sqlalchemy.urls import engine_url


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection


@pytest.mark.parametrize(
    ("url", "keywords"),
    [
        ("sqlfront://", {"url": "sqlfront:"}),
        (
            "sqlfront://?members=2&time_zone=Europe/Paris",
            {"url": "sqlfront:", "members": 2, "time_zone": "Europe/Paris"},
        ),
        (
            "sqlfront:///folder?memory_limit=1g",
            {"url": "sqlfront:", "warehouse": "folder", "memory_limit": 2**30},
        ),
        ("sqlfront:////a/b", {"url": "sqlfront:", "warehouse": "/a/b"}),
        ("sqlfront+cluster://h:1", {"cluster": "sqlfront://h:1"}),
        (
            "sqlfront+cluster://:s%2F@[::1]:2?timeout=3",
            {"cluster": "sqlfront://[::1]:2", "secret": "s/", "timeout": 3.0},
        ),
        ("sqlfront+cluster://", {"cluster": "sqlfront://"}),
        ("sqlfront+cluster:///run/keeper", {"cluster": "sqlfront:///run/keeper"}),
        (
            "sqlfront+cluster://:s@/run/a b?timeout=3",
            {"cluster": "sqlfront:///run/a%20b", "secret": "s", "timeout": 3.0},
        ),
    ],
)
def test_a_url_gives_the_keywords_of_connect(url: str, keywords: dict[str, Any]) -> None:
    assert engine_url(make_url(url), cluster="+" in url.partition(":")[0]).keywords == keywords


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlfront://?memers=2", "'memers' is not an option of the URL; did you mean 'members'"),
        ("sqlfront://?members=two", "the option members of the URL must be an integer, not 'two'"),
        ("sqlfront://?members=2&members=3", "the option members 2 times"),
        ("sqlfront://host", r"has no host \(host\); write a cluster as sqlfront\+cluster://"),
        ("sqlfront+cluster://user:pass@host", "a secret and no users"),
        ("sqlfront+cluster://:pass@host:1/sales", r"a cluster has no databases \(sales\)"),
    ],
)
def test_a_url_that_says_nothing_sensible_is_refused(url: str, message: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match=message) as caught:
        create_engine(url).connect()
    assert "pass" not in str(caught.value)


def test_the_environment_does_not_change_the_place_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLFRONT_CONNECTION", "sqlfront://127.0.0.1:1")
    monkeypatch.setenv("SQLFRONT_CLUSTER", "sqlfront://127.0.0.1:1")
    monkeypatch.setenv("SQLFRONT_MEMBERS", "2")
    monkeypatch.setenv("SQLFRONT_TIME_ZONE", "Europe/Paris")
    engine = create_engine("sqlfront://")
    with engine.connect() as connection:
        config = _driver(connection).session.config
        assert (config.cluster, config.members) == (None, None)
        assert connection.scalar(text("SELECT current_timezone()")) == "Europe/Paris"
    engine.dispose()


def test_a_url_gives_members_and_spark_beside_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLFRONT_CLUSTER", "sqlfront://127.0.0.1:1")
    engine = create_engine("sqlfront://?members=2&spark=local[1]")
    with engine.connect() as connection:
        session = _driver(connection).session
        assert isinstance(session, AttachedSession)
        assert session.config.members == 2
    engine.dispose()


def test_connections_of_an_engine_share_a_session_until_it_is_disposed(engine: Engine) -> None:
    with engine.connect() as first, engine.connect() as second:
        first.execute(text("CREATE TABLE t (a int)"))
        session = _driver(first).session

        assert second.execute(text("SELECT count(*) FROM t")).scalar() == 0
        engine.dispose()
        assert not session.closed
        assert second.execute(text("SELECT count(*) FROM t")).scalar() == 0
    session.close()
    with engine.connect() as third:
        assert inspect(third).get_table_names() == []


def test_dispose_closes_the_session_and_the_next_connection_opens_another(engine: Engine) -> None:
    with engine.connect() as connection:
        session = _driver(connection).session
    assert not session.closed
    engine.dispose()
    assert session.closed
    with engine.connect() as connection:
        assert not _driver(connection).session.closed


def test_engines_share_a_session_by_its_name() -> None:
    url = "sqlfront://?session=test_engine&workers=1"
    with create_engine(url, poolclass=NullPool).connect() as connection:
        connection.execute(text("CREATE TABLE t (a int)"))
        session = _driver(connection).session
    try:
        other = create_engine(url, poolclass=NullPool)
        other.dispose()
        with other.connect() as connection:
            assert inspect(connection).has_table("T")
    finally:
        session.close()


def test_a_statement_takes_effect_at_once_and_rollback_changes_nothing(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("CREATE TABLE t (a int)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
        connection.rollback()

        assert connection.scalar(text("SELECT count(*) FROM t")) == 1
        assert connection.get_isolation_level() == "AUTOCOMMIT"


def test_a_closed_session_is_noticed_and_replaced() -> None:
    engine = create_engine("sqlfront://", pool_pre_ping=True)
    with engine.connect() as connection:
        session = _driver(connection).session
    session.close()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
        _driver(connection).session.close()
        with pytest.raises(sa.exc.DBAPIError) as caught:
            connection.scalar(text("SELECT 1"))
        assert caught.value.connection_invalidated
    engine.dispose()


def test_streamed_rows_are_computed_as_they_are_read(engine: Engine) -> None:
    """The five hundred millionth row divides by zero; who reads the first rows doesn't notice."""
    query = text("SELECT id, 1 / (500000000 - id) FROM range(1000000000)")
    with engine.connect() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        first = [next(iter(part))[0] for _, part in zip(range(3), rows.partitions(1000), strict=False)]
        rows.close()

    assert first == [0, 1000, 2000]


def test_statements_without_rows_run_once_with_stream_results(engine: Engine) -> None:
    table = Table("t", MetaData(), Column("id", Integer, primary_key=True), Column("n", Integer))
    with engine.connect().execution_options(stream_results=True) as connection:
        table.create(connection)
        connection.exec_driver_sql("CREATE TABLE other (a int)")

        assert connection.execute(table.insert(), {"id": 1, "n": 1}).rowcount == 1
        assert connection.execute(table.insert(), [{"id": 2, "n": 2}, {"id": 3, "n": 3}]).rowcount == 2
        assert connection.execute(table.update().where(table.c.id > 1).values(n=0)).rowcount == 2
        assert connection.execute(table.delete().where(table.c.id == 3)).rowcount == 1
        assert connection.execute(text("INSERT INTO other VALUES (5)")).rowcount == 1
        assert connection.execute(table.select().order_by(table.c.id)).all() == [(1, 1), (2, 0)]
        assert connection.execute(text("SELECT a FROM other")).all() == [(5,)]


def test_pandas_copies_by_chunks_over_a_streaming_connection(engine: Engine) -> None:
    with engine.connect().execution_options(stream_results=True) as connection:
        for chunk in pd.read_sql("SELECT id FROM range(10)", connection, chunksize=4):
            chunk.to_sql("copied", connection, index=False, if_exists="append")

        assert connection.execute(text("SELECT count(*), max(id) FROM copied")).all() == [(10, 9)]


def test_the_catalog_is_read(engine: Engine, tmp_path: Path) -> None:
    metadata = MetaData()
    table = Table(
        "orders",
        metadata,
        Column("Order ID", Integer, primary_key=True),
        Column("a%b`c.d", String, comment="it's"),
        Index("by_text", "a%b`c.d"),
        comment="all orders",
    )
    Table(
        "files",
        metadata,
        Column("x", Integer),
        Column("day", sa.Date),
        sqlfront_using="parquet",
        sqlfront_location=str(tmp_path / "files"),
        sqlfront_partitioned_by=["day"],
    )
    metadata.create_all(engine)
    metadata.create_all(engine)  # finds them
    with engine.connect() as connection:
        connection.execute(text("CREATE VIEW v AS SELECT 1 AS one"))
        connection.execute(text("CREATE TEMPORARY VIEW tv AS SELECT 2 AS two"))
        connection.execute(
            table.insert(), [{"Order ID": 1, "a%b`c.d": "x"}, {"Order ID": 2, "a%b`c.d": None}]
        )
        found = inspect(connection)

        assert sorted(found.get_table_names()) == ["files", "orders"]
        assert (found.get_view_names(), found.get_temp_view_names()) == (["v"], ["tv"])
        assert "default" in found.get_schema_names()
        assert sorted(found.get_table_names("default")) == ["files", "orders"]
        assert found.get_view_definition("v") == "SELECT 1 AS one"
        columns = [(each["name"], each["nullable"], each["comment"]) for each in found.get_columns("orders")]
        assert columns == [("Order ID", False, None), ("a%b`c.d", True, "it's")]
        assert found.get_table_comment("orders") == {"text": "all orders"}
        assert found.get_indexes("orders") == [
            {"name": "by_text", "column_names": ["a%b`c.d"], "unique": False}
        ]
        assert found.get_indexes("v") == found.get_indexes("files") == []
        assert found.get_table_options("orders") == {
            "sqlfront_using": "memory",
            "sqlfront_clustered_by": ["Order ID"],
            "sqlfront_buckets": 271,
        }
        options = found.get_table_options("files")
        assert (options["sqlfront_using"], options["sqlfront_partitioned_by"]) == ("parquet", ["day"])
        assert found.has_table("ORDERS")
        assert not found.has_table("nosuch")
        for reader in (
            found.get_columns,
            found.get_indexes,
            found.get_pk_constraint,
            found.get_table_options,
        ):
            with pytest.raises(sa.exc.NoSuchTableError):
                reader("nosuch")
        reflected = Table("orders", MetaData(), autoload_with=connection)
        assert connection.execute(
            sa.select(reflected.c["a%b`c.d"]).where(reflected.c["Order ID"] == 1)
        ).all() == [("x",)]
    metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []


def test_names_are_listed_with_the_capitals_of_their_creation(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE MyTable (a int)"))
        connection.execute(text("CREATE TABLE TABLES (a int)"))
        connection.execute(text("CREATE VIEW MyView AS SELECT 1 AS a"))
        connection.execute(text("CREATE TEMPORARY VIEW mytable AS SELECT 2 AS a"))
        found = inspect(connection)

        assert found.get_table_names() == ["MyTable", "TABLES"]
        assert (found.get_view_names(), found.get_temp_view_names()) == (["MyView"], ["mytable"])
        assert "tables" in found.get_table_names("information_schema")
        assert found.has_table("mytable")


def test_a_temporary_view_hides_no_table_of_its_name(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE t (a int)"))
        connection.execute(text("CREATE TEMPORARY VIEW t AS SELECT 2 AS a"))
        found = inspect(connection)

        assert (found.get_table_names(), found.get_temp_view_names()) == (["t"], ["t"])


def test_names_of_columns_with_commas_and_backticks_are_reflected(engine: Engine) -> None:
    keys = ["a, b", "c`d", "e]", "a"]
    columns = [Column(name, Integer) for name in [*keys, "b"]]
    table = Table("t", MetaData(), *columns, sqlfront_using="memory", sqlfront_clustered_by=keys)
    Index("i", table.c["e]"], table.c["a, b"], table.c.b)
    table.create(engine)
    found = inspect(engine)

    assert found.get_table_options("t")["sqlfront_clustered_by"] == keys
    assert found.get_indexes("t")[0]["column_names"] == ["e]", "a, b", "b"]


@pytest.mark.parametrize(
    ("version", "numbers"), [("0.2.0", (0, 2, 0)), ("0.2.0rc1", (0, 2, 0)), ("1.10.3.dev4+g1", (1, 10, 3))]
)
def test_an_engine_tells_the_version(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, version: str, numbers: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sqlfront, "__version__", version)
    with engine.connect():
        assert engine.dialect.server_version_info == numbers


def test_a_reflected_table_has_files_of_its_own_unless_it_was_made_with_a_location(
    engine: Engine, tmp_path: Path
) -> None:
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE managed USING parquet AS SELECT 1 AS a"))
        connection.execute(
            text(f"CREATE TABLE placed USING parquet LOCATION '{tmp_path}/x' AS SELECT 2 AS a")
        )
    metadata = MetaData()
    metadata.reflect(engine)
    other = create_engine("sqlfront://")
    metadata.create_all(other)
    with other.connect() as connection:
        connection.execute(text("INSERT INTO managed VALUES (7)"))
        assert connection.execute(text("SELECT a FROM managed")).all() == [(7,)]
        assert connection.execute(text("SELECT a FROM placed")).all() == [(2,)]
    other.dispose()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT a FROM managed")).all() == [(1,)]


_TABLE = Table("t", MetaData(), Column("a", Integer))


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (sa.schema.CreateTable(Table("t", MetaData(), Column("a", Integer, sa.Identity()))), "no IDENTITY"),
        (sa.schema.CreateTable(Table("t", MetaData(), Column("a"))), "the column has no type"),
        (sa.schema.CreateIndex(Index("i", _TABLE.c.a + 1)), "without expressions"),
        (sa.select(sa.literal(1)).fetch(1, with_ties=True), "ties or percent"),
    ],
)
def test_what_spark_lacks_is_refused_by_name(element: Any, message: str) -> None:
    with pytest.raises(sa.exc.CompileError, match=message):
        element.compile(dialect=SqlfrontDialect())


def test_lookups_by_a_primary_key_take_the_direct_lane(engine: Engine) -> None:
    table = Table("t", MetaData(), Column("id", Integer, primary_key=True), Column("at", sa.DateTime))
    at = datetime.datetime(2020, 3, 29, 2, 30)
    with engine.connect() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"id": number, "at": at} for number in range(100)])
        rows = connection.execute(table.select().where(table.c.id == 7))

        assert rows.cursor is not None
        assert str(rows.cursor.stats.lane.value) == "direct"
        assert rows.all() == [(7, at)]
