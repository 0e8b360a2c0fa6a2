"""Engines of a cluster whose members are processes: each opens the cluster by a URL alone."""

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from sqlfront.cluster.processes import SERVICE
from sqlfront_cluster.launchers.local import LocalCluster

pytestmark = pytest.mark.doors

SECRET = "a/s@e?c r&e%t"
METADATA = sa.MetaData()
ORDERS = sa.Table(
    "orders",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("customer", sa.String, index=True),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.Column("at", sa.DateTime),
)
AT = datetime.datetime(2026, 1, 1, 12)
ROWS = [
    {"id": number, "customer": f"c{number % 7}", "price": Decimal(number) / 4, "at": AT}
    for number in range(2000)
]


@pytest.fixture(scope="module", params=["socket", "tcp"])
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    tcp = request.param == "tcp"
    with LocalCluster(
        3, workers=1, tcp=tcp, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0
    ) as cluster:
        yield cluster


def url(cluster: LocalCluster) -> sa.URL:
    """The URL of the cluster, made from its parts, so that SQLAlchemy encodes the secret. Without a user,
    even an empty one, SQLAlchemy would write no password."""
    made = sa.URL.create("sqlfront+cluster", username="", password=SECRET, query={"workers": "1"})
    place = cluster.address.removeprefix("unix:")
    if place != cluster.address:
        return made.set(database=place)
    host, _, port = place.rpartition(":")
    return made.set(host=host, port=int(port))


@pytest.fixture
def engine(cluster: LocalCluster) -> Iterator[Engine]:
    made = create_engine(url(cluster).render_as_string(hide_password=False), pool_pre_ping=True)
    yield made
    with made.connect() as connection:
        METADATA.drop_all(connection)
    made.dispose()


def test_engines_see_each_others_tables(cluster: LocalCluster, engine: Engine) -> None:
    METADATA.create_all(engine)
    with engine.connect() as connection:
        assert connection.execute(ORDERS.insert(), ROWS).rowcount == len(ROWS)
    other = create_engine(url(cluster), poolclass=NullPool)
    with other.connect() as connection:
        found = sa.inspect(connection)
        assert found.get_table_names() == ["orders"]
        assert [column["name"] for column in found.get_columns("orders")] == list(ORDERS.c.keys())
        assert found.get_indexes("orders")[0]["column_names"] == ["customer"]
        query = sa.select(ORDERS.c.customer, sa.func.sum(ORDERS.c.price)).group_by(ORDERS.c.customer)
        expected = {
            f"c{rest}": sum(row["price"] for row in ROWS[rest::7])  # type: ignore[misc]
            for rest in range(7)
        }
        assert dict(map(tuple, connection.execute(query))) == expected
        connection.execute(ORDERS.update().where(ORDERS.c.id == 7).values(price=None))
        connection.execute(ORDERS.delete().where(ORDERS.c.id >= 1000))
    with engine.connect() as connection:
        assert connection.execute(ORDERS.select().where(ORDERS.c.id == 7)).one() == (7, "c0", None, AT)
        assert connection.scalar(sa.select(sa.func.count()).select_from(ORDERS)) == 1000
        assert connection.scalar(sa.text("SELECT count(*) FROM sys.members")) >= 4
    other.dispose()


def test_pandas_writes_and_reads(engine: Engine) -> None:
    frame = pd.DataFrame(ROWS).astype({"price": float}).rename(columns={"id": "number"})
    frame.to_sql("frames", engine, index=False, chunksize=700)
    read = pd.read_sql("SELECT * FROM frames ORDER BY number", engine)
    with engine.connect() as connection:
        connection.execute(sa.text("DROP TABLE frames"))
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)


def test_no_message_shows_the_secret(cluster: LocalCluster) -> None:
    wrong = url(cluster).set(password="guess")
    engine = create_engine(wrong)
    with pytest.raises(sa.exc.DBAPIError) as caught:
        engine.connect()
    assert "guess" not in str(caught.value) and "guess" not in repr(engine)
    engine.dispose()


def test_a_cluster_that_ends_is_told_as_a_lost_connection() -> None:
    with LocalCluster(1, workers=1, service=SERVICE, secret=SECRET.encode()) as cluster:
        engine = create_engine(url(cluster))
        connection = engine.connect()
        assert connection.scalar(sa.text("SELECT 1")) == 1
        cluster.close()
        with pytest.raises(sa.exc.DBAPIError) as caught:
            connection.execute(sa.text("CREATE TABLE t USING memory AS SELECT 1 AS a"))
        assert caught.value.connection_invalidated, caught.value
        connection.close()
        engine.dispose()
