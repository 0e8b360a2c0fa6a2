"""Rows from a live Spark straight into the members of a cluster of processes, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import sqlfront
from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.rows import HeldFrame
from sqlfront_connectors.spark.sessions.classic import ClassicSession
from sqlfront_connectors.spark.sessions.remote import RemoteSession
from sqlfront_connectors.spark.transfer.loading import load, spread_frame
from sqlfront_connectors.spark.types import logical_schema
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.connectors.spark.conftest import CONNECT
from tests.connectors.spark.test_link import NESTED, SIMPLE
from tests.sqlfront.test_cluster import SECRET, address

pytestmark = pytest.mark.spark

NUMBERS = "SELECT id AS k, concat('w', id % 5) AS s, CAST(id AS DECIMAL(9, 2)) AS d FROM range(0, {}, 1, 3)"


class House:
    """A session of a cluster of two members, and one of the live Spark."""

    def __init__(self, spark: SparkSession, connection: sqlfront.Connection) -> None:
        self.spark, self.connection = spark, connection
        members = connection.session.cluster
        assert isinstance(members, ProcessMembers)
        self.members = members
        self._names = itertools.count()

    def table(self, frame: DataFrame, keys: tuple[int, ...] = ()) -> SpreadTable:
        """A table for the frame's rows."""
        placed = Partitioning(keys, 271) if keys else None
        return self.members.table(f"t{next(self._names)}", logical_schema(frame.schema), placed)

    def load(self, table: SpreadTable, frame: DataFrame, *, overwrite: bool = True) -> int:
        return load(frame, table, self.members.door, overwrite=overwrite)

    def loaded(self, sql: str, keys: tuple[int, ...] = ()) -> SpreadTable:
        frame = self.spark.sql(sql)
        table = self.table(frame, keys)
        self.load(table, frame)
        return table

    def back(self, table: SpreadTable, columns: tuple[int, ...] | None = None) -> HeldFrame:
        return spread_frame(self.spark, table.snapshot(), self.members.door, columns)

    def rows(self, table: SpreadTable) -> int | None:
        return table.snapshot().statistics.rows


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        2, workers=1, service=SERVICE, secret=SECRET.encode(), memory_limit=64 << 20
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def house(link: SparkLink, cluster: LocalCluster) -> Iterator[House]:
    with sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection:
        yield House(link.spark, connection)


def differences(house: House, one: DataFrame, other: DataFrame) -> int:
    """How many rows are in one of the two only; by their text, which says all of each."""
    texts = [frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))) for frame in (one, other)]
    texts = [frame.selectExpr("to_json(struct(*)) AS text") for frame in texts]
    return texts[0].exceptAll(texts[1]).union(texts[1].exceptAll(texts[0])).count()


def test_a_table_goes_to_the_members_and_back(house: House) -> None:
    table = house.loaded(NUMBERS.format(30_000), keys=(0,))

    assert house.rows(table) == 30_000
    with house.back(table) as frame:
        assert logical_schema(frame.data.schema) == table.schema
        assert frame.data.exceptAll(house.spark.sql(NUMBERS.format(30_000))).count() == 0
        assert frame.data.count() == 30_000
        # Whatever Spark makes of its partitions.
        assert frame.data.coalesce(1).union(frame.data).coalesce(2).distinct().count() == 30_000


def test_rows_are_where_their_keys_are_looked_for(house: House) -> None:
    table = house.loaded(NUMBERS.format(1000), keys=(0,))
    path = table.snapshot().row_path((0,), (0, 1))
    assert path is not None
    assert path.find([(number,) for number in range(0, 1000, 7)]) == [
        [(number, f"w{number % 5}")] for number in range(0, 1000, 7)
    ]


@pytest.mark.parametrize(
    "sql", [pytest.param(SIMPLE, marks=pytest.mark.cluster), NESTED], ids=["simple", "nested"]
)
def test_every_type_and_any_names(house: House, sql: str) -> None:
    table = house.loaded(sql)

    with house.back(table) as frame:
        assert logical_schema(frame.data.schema) == table.schema
        assert differences(house, frame.data, house.spark.sql(sql)) == 0


def test_tasks_get_batches_by_their_rows(house: House) -> None:
    def lengths(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([{"rows": batch.num_rows}])

    frame = house.spark.range(0, 9000, 1, 1).mapInArrow(lengths, "rows bigint")
    table = house.table(frame)
    house.load(table, frame)
    with house.back(table) as back:
        rows = sorted(row.rows for row in back.data.collect())
        assert rows == ([9000] if CONNECT else [1000, 4000, 4000])
    # What else the thread has Spark do is as it was.
    assert [row.rows for row in frame.collect()] == [9000]


def test_rows_are_added(house: House) -> None:
    table = house.loaded(NUMBERS.format(10), keys=(0,))
    more = house.spark.sql(NUMBERS.format(20)).where("k >= 10")

    assert house.load(table, more, overwrite=False) == 10
    with house.back(table) as frame:
        assert sorted(row.k for row in frame.data.collect()) == [*range(20)]


@pytest.mark.cluster
def test_no_rows(house: House) -> None:
    table = house.loaded(NUMBERS.format(0), keys=(0,))

    assert house.rows(table) == 0
    with house.back(table) as frame:
        assert frame.data.collect() == []


@pytest.mark.cluster
def test_some_columns(house: House) -> None:
    table = house.loaded(NUMBERS.format(100))

    with house.back(table, (1, 0)) as frame:
        assert frame.data.columns == ["s", "k"]
        assert sorted(map(tuple, frame.data.where("k < 3").collect())) == [("w0", 0), ("w1", 1), ("w2", 2)]


def test_spark_knows_how_large_a_table_is(house: House) -> None:
    table = house.loaded(NUMBERS.format(30_000))
    size = table.snapshot().statistics.size
    assert size is not None

    with house.back(table) as frame:
        place = RemoteSession(house.spark) if CONNECT else ClassicSession(house.spark)
        estimate = place.size(frame.data)
        assert estimate is not None
        assert size / 2 < estimate < 3 * size


@pytest.mark.cluster
def test_the_frame_is_of_one_version(house: House) -> None:
    table = house.loaded(NUMBERS.format(100))
    with house.back(table) as frame:
        house.load(table, house.spark.sql(NUMBERS.format(5)))
        assert frame.data.count() == 100
    assert house.rows(table) == 5


def test_other_types_are_refused(house: House) -> None:
    table = house.loaded(NUMBERS.format(5))
    with pytest.raises(ProgrammingError, match="has columns of the types bigint, string, decimal"):
        house.load(table, house.spark.sql("SELECT 1, 'a', 2.50"))


@pytest.mark.cluster
def test_a_task_that_fails_half_way_leaves_nothing(house: House) -> None:
    table = house.loaded(NUMBERS.format(5), keys=(0,))
    failing = house.spark.sql(NUMBERS.format(300_000)).where("k < 250000 OR raise_error('half-way') IS NULL")
    with pytest.raises(PySparkException, match="half-way"):
        house.load(table, failing)

    assert house.rows(table) == 5
    assert house.load(table, house.spark.sql(NUMBERS.format(6))) == 6


def test_the_error_of_a_member_is_ours(house: House) -> None:
    table = house.loaded(NUMBERS.format(5), keys=(0,))
    large = house.spark.sql(
        "SELECT id AS k, repeat(uuid(), 20) AS s, 1.50BD AS d FROM range(0, 300000, 1, 2)"
    )
    large = large.selectExpr("k", "s", "CAST(d AS DECIMAL(9, 2)) AS d")
    with pytest.raises(OperationalError, match=f"Loading `{table.name}` needs .* more memory") as error:
        house.load(table, large)

    assert error.value.condition == "UNABLE_TO_ACQUIRE_MEMORY"
    assert house.rows(table) == 5
    assert house.load(table, house.spark.sql(NUMBERS.format(6))) == 6
