"""One test body that every connector passes; a third party's connector would be added to ``CONNECTORS``."""

import datetime
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_connectors import registry
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import Table, TableDefinition, WritableTable, insert_all
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, decimal, physical
from tests.connectors.reading import read

SCHEMA = pa.schema(
    [("id", BIGINT), ("name", STRING), ("price", decimal(12, 2)), ("day", DATE), ("ratio", DOUBLE)]
)
ROWS: list[dict[str, object]] = [
    {"id": 1, "name": "a", "price": Decimal("1.50"), "day": datetime.date(2024, 2, 29), "ratio": 0.5},
    {"id": 2, "name": "žluťoučký 🐎", "price": None, "day": None, "ratio": -0.25},
    {"id": None, "name": None, "price": Decimal("-99.99"), "day": datetime.date(1969, 7, 20), "ratio": None},
    {
        "id": 4,
        "name": "a,b\"c'",
        "price": Decimal("0.00"),
        "day": datetime.date(9999, 12, 31),
        "ratio": 1e300,
    },
]


def batch(rows: list[dict[str, object]]) -> pa.RecordBatch:
    """The rows in physical form."""
    columns = [from_values([row[field.name] for row in rows], physical(field.type)) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, names=SCHEMA.names)


def created(format_name: str, **definition: object) -> Callable[[Path], Table]:
    """Makes a table of the format and inserts the rows in two parts."""

    def make(folder: Path) -> Table:
        location = None if format_name == "memory" else str(folder / "data")
        table = registry.create(
            format_name,
            TableDefinition("t", SCHEMA, location=location, **definition),  # type: ignore[arg-type]
        )
        assert isinstance(table, WritableTable)
        insert_all(table, [batch(ROWS[:1])])
        insert_all(table, [batch(ROWS[1:3]), batch(ROWS[3:])])
        return table

    return make


CONNECTORS: dict[str, Callable[[Path], Table]] = {
    "memory": created("memory"),
    "memory clustered": created("memory", clustered_by=("id",), buckets=5),
    "memory clustered by two": created("memory", clustered_by=("name", "price")),
    "parquet": created("parquet"),
    "csv": created("csv", options={"header": "true"}),
    "json": created("json"),
    "arrow": lambda _: ArrowTable("t", pa.Table.from_batches([batch(ROWS)])),
}


@pytest.fixture(params=CONNECTORS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table of each connector with the four rows."""
    return CONNECTORS[request.param](tmp_path)


@pytest.fixture(params=[name for name in CONNECTORS if name != "arrow"])
def writable(request: pytest.FixtureRequest, tmp_path: Path) -> WritableTable:
    """A table of each connector that takes rows."""
    made = CONNECTORS[request.param](tmp_path)
    assert isinstance(made, WritableTable)
    return made


def in_order(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def test_gives_all_rows_in_logical_values(table: Table) -> None:
    assert in_order(read(table.snapshot(), range(5))) == in_order(ROWS)


def test_shows_the_logical_schema(table: Table) -> None:
    assert table.schema == SCHEMA


def test_gives_the_wanted_columns_in_the_wanted_order(table: Table) -> None:
    rows = read(table.snapshot(), [3, 0])

    assert all(list(row) == ["day", "id"] for row in rows)
    assert in_order(rows) == in_order([{"day": row["day"], "id": row["id"]} for row in ROWS])


def test_counts_rows_without_columns(table: Table) -> None:
    assert len(read(table.snapshot(), [])) == 4


def test_stops_at_a_limit(table: Table) -> None:
    assert len(read(table.snapshot(), [0], limit=3)) == 3


@pytest.mark.parametrize("instances", [2, 3, 7])
def test_parallel_instances_read_every_row_once(table: Table, instances: int) -> None:
    assert in_order(read(table.snapshot(), range(5), instances=instances)) == in_order(ROWS)


@pytest.mark.parametrize("wanted", [1, 4, 77])
def test_filters_lose_no_row_that_passes(table: Table, wanted: int) -> None:
    condition = Call(BOOLEAN, "equal", (Column(BIGINT, 0, "id"), Literal(BIGINT, wanted)))
    rows = read(table.snapshot(), range(5), (condition,))

    assert [row for row in rows if row["id"] == wanted] == [row for row in ROWS if row["id"] == wanted]


def test_exact_filters_are_applied_completely(table: Table) -> None:
    condition = Call(BOOLEAN, "equal", (Column(BIGINT, 0, "id"), Literal(BIGINT, 4)))
    snapshot = table.snapshot()
    if snapshot.exact_filters((condition,)):
        assert read(snapshot, range(5), (condition,)) == [ROWS[3]]


def test_knows_its_row_count_or_says_that_it_does_not(table: Table) -> None:
    assert table.snapshot().statistics.rows in (4, None)


def test_a_snapshot_does_not_see_later_inserts(writable: WritableTable) -> None:
    before = writable.snapshot()
    insert_all(writable, [batch(ROWS)])

    assert len(read(before, [0])) == 4
    assert len(read(writable.snapshot(), [0])) == 8
    assert writable.snapshot().version > before.version


def test_overwriting_replaces_all_rows_and_leaves_old_readers_theirs(writable: WritableTable) -> None:
    before = writable.snapshot()
    insert_all(writable, [batch(ROWS[:1])], overwrite=True)

    assert read(writable.snapshot(), range(5)) == ROWS[:1]
    assert in_order(read(before, range(5))) == in_order(ROWS)


def test_an_aborted_insert_leaves_no_trace(writable: WritableTable) -> None:
    version = writable.snapshot().version
    write = writable.begin_insert()
    write.append(batch(ROWS))
    write.abort()

    assert writable.snapshot().version == version
    assert len(read(writable.snapshot(), [0])) == 4


def test_an_insert_that_fails_half_way_leaves_no_trace(writable: WritableTable) -> None:
    def batches() -> object:
        yield batch(ROWS)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        insert_all(writable, batches())  # type: ignore[arg-type]

    assert len(read(writable.snapshot(), [0])) == 4


def test_dropping_leaves_old_readers_their_rows(writable: WritableTable) -> None:
    before = writable.snapshot()
    writable.drop()

    assert in_order(read(before, range(5))) == in_order(ROWS)


def test_inserts_of_many_threads_all_arrive(writable: WritableTable) -> None:
    threads = [threading.Thread(target=insert_all, args=(writable, [batch(ROWS)])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(read(writable.snapshot(), [0])) == 4 + 8 * 4
