"""The contract of memory tables: one body of reads and writes for the table of one process, and for tables
that are spread over one member and over several."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from sqlfront_connectors.base import Partitioning, ScanPieces, ScanRequest, insert_all
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.keyed_table import KeyedSnapshot, KeyedTable
from sqlfront_connectors.memory.numbered_table import HOME, NumberedTable
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, STRING
from tests.connectors.test_spread import ALL, Members, rows

SCHEMA = pa.schema([("k", BIGINT), ("s", STRING)])
BY_KEY = Partitioning((0,), 271)
BY_S = IndexDefinition("by_s", (1,))

Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module", params=[0, 1, 3], ids=["here", "one member", "three members"])
def members(request: pytest.FixtureRequest) -> Iterator[tuple[int, Members]]:
    """The number of members over which tables are spread, 0 = tables of this process; and members on which
    jobs run."""
    members = Members(request.param or 3)
    with members.cluster:
        yield request.param, members


@pytest.fixture(params=[BY_KEY, Partitioning((0,), 8), None], ids=["271 buckets", "8 buckets", "no key"])
def table(request: pytest.FixtureRequest, members: tuple[int, Members]) -> KeyedTable:
    """An empty table of the schema."""
    return made(members, request.param)


@pytest.fixture
def keyed(members: tuple[int, Members]) -> KeyedTable:
    """A table by key, with the rows 0 to 99."""
    table = made(members, BY_KEY)
    insert_all(table, [rows(*range(100))])
    return table


def made(members: tuple[int, Members], partitioning: Partitioning | None) -> KeyedTable:
    size, among = members
    if not size:
        return MemoryTable("t", SCHEMA, partitioning)
    return SpreadTable("t", SCHEMA, partitioning, among)


def read(members: tuple[int, Members], snapshot: KeyedSnapshot, request: ScanRequest = ALL) -> Rows:
    return members[1].run_scan(snapshot.scan(request))


def expected(*keys: int) -> Rows:
    return [(key, str(key)) for key in keys]


def found(snapshot: KeyedSnapshot, by: tuple[int, ...], *keys: object) -> Rows:
    path = snapshot.row_path(by, (0, 1))
    assert path is not None
    return sorted(tuple(row) for of_key in path.find([(key,) for key in keys]) for row in of_key)


def change(table: KeyedTable, keys: Sequence[int], value: str | None = None) -> None:
    """Delete the rows of these keys, or give them a new value."""
    with table.turn():
        path = NumberedTable(table).snapshot().row_path((0,), (0, 1, 2))
        assert path is not None
        found = [row for of_key in path.find([(key,) for key in keys]) for row in of_key]
        if value is None:
            gone = [(*(row[place] for place in table.home_columns), row[2]) for row in found]
            table.change_rows(gone, stores=False)
        else:
            table.change_rows([(row[0], value, row[2]) for row in found], stores=True)


# ---- writes


def test_an_empty_table_has_no_rows(members: tuple[int, Members], table: KeyedTable) -> None:
    snapshot = table.snapshot()

    assert read(members, snapshot) == []
    assert [*(snapshot.small_rows((0, 1), 10) or ())] == []
    assert snapshot.statistics.rows == 0
    assert (table.name, table.format, table.schema) == ("t", "memory", SCHEMA)


def test_inserts_append_and_overwrites_replace(members: tuple[int, Members], table: KeyedTable) -> None:
    assert insert_all(table, [rows(1, 2), rows(3)]) == 3
    assert insert_all(table, [rows(4)]) == 1
    assert read(members, table.snapshot()) == expected(1, 2, 3, 4)

    assert table.publish([rows(*range(5000))], overwrite=True) == 5000
    assert read(members, table.snapshot()) == expected(*range(5000))


def test_an_aborted_insert_leaves_no_trace(members: tuple[int, Members], table: KeyedTable) -> None:
    insert_all(table, [rows(1)])
    version = table.snapshot().version
    write = table.begin_insert(overwrite=True)
    write.append(rows(2))
    write.abort()

    assert table.snapshot().version == version
    assert read(members, table.snapshot()) == expected(1)


def test_readers_keep_their_version(members: tuple[int, Members], keyed: KeyedTable) -> None:
    before = keyed.snapshot()
    insert_all(keyed, [rows(100)])
    change(keyed, range(50))
    keyed.publish([rows(7)], overwrite=True)

    assert read(members, before) == expected(*range(100))
    assert found(before, (0,), 3, 200) == expected(3)
    assert before.statistics.rows == 100
    assert keyed.snapshot().version == before.version + 3


def test_rows_are_deleted_and_replaced_by_number(members: tuple[int, Members], keyed: KeyedTable) -> None:
    change(keyed, range(0, 100, 3))
    change(keyed, [1, 98], "new")
    insert_all(keyed, [rows(0)])

    left = sorted([*expected(0), *expected(*(key for key in range(100) if key % 3 and key not in (1, 98)))])
    after = sorted([*left, (1, "new"), (98, "new")])
    assert read(members, keyed.snapshot()) == after
    assert found(keyed.snapshot(), (0,), 0, 1, 2, 3) == [(0, "0"), (1, "new"), (2, "2")]
    assert keyed.snapshot().statistics.rows == len(after)


# ---- reads


def test_a_scan_reads_what_it_is_asked_for(members: tuple[int, Members], table: KeyedTable) -> None:
    insert_all(table, [rows(*range(1000))])
    snapshot = table.snapshot()

    assert read(members, snapshot, ScanRequest((1,))) == sorted((str(key),) for key in range(1000))
    assert len(read(members, snapshot, ScanRequest((0,), limit=10))) >= 10
    condition = Call(BOOLEAN, "equal", (Column(BIGINT, 0, "k"), Literal(BIGINT, 7)))
    assert snapshot.exact_filters((condition,)) == ()
    assert (7, "7") in read(members, snapshot, ScanRequest((0, 1), (condition,)))


def test_rows_are_found_by_key(members: tuple[int, Members], keyed: KeyedTable) -> None:
    snapshot = keyed.snapshot()

    assert snapshot.keys == ((0,),)
    assert read(members, snapshot, ScanRequest((0, 1), by=(0,), keys=((42,), (7,), (-1,)))) == expected(7, 42)
    assert read(members, snapshot, ScanRequest((0, 1), by=(0,), keys=())) == []
    assert found(snapshot, (0,), 42, 7, -1, None) == expected(7, 42)
    assert snapshot.row_path((1,), (0,)) is None


def test_an_index_finds_rows_and_follows_changes(members: tuple[int, Members], keyed: KeyedTable) -> None:
    keyed.set_indexes((BY_S,))
    insert_all(keyed, [rows(100)])
    change(keyed, [5])
    change(keyed, [6], "7")
    snapshot = keyed.snapshot()

    assert snapshot.indexes == (BY_S,)
    assert snapshot.keys == ((0,), (1,))
    assert found(snapshot, (1,), "7", "100", "5") == [(6, "7"), (7, "7"), (100, "100")]
    assert read(members, snapshot, ScanRequest((0,), by=(1,), keys=(("7",),))) == [(6,), (7,)]
    keyed.publish([rows(1, 2)], overwrite=True)
    assert found(keyed.snapshot(), (1,), "7", "2") == expected(2)
    keyed.set_indexes(())
    assert keyed.snapshot().row_path((1,), (0, 1)) is None


def test_statistics_describe_the_rows(keyed: KeyedTable) -> None:
    known = keyed.snapshot().statistics

    assert (known.rows, known.columns["k"].nulls) == (100, 0)
    assert (known.columns["k"].minimum, known.columns["k"].maximum) == (0, 99)
    assert known.columns["k"].distinct == 100
    assert known.size is not None and known.size >= 800


def test_chunks_without_matching_rows_are_counted(keyed: KeyedTable) -> None:
    low, high = (
        Call(BOOLEAN, "less", (Column(BIGINT, 0, "k"), Literal(BIGINT, bound))) for bound in (-5, 1000)
    )
    snapshot = keyed.snapshot()
    (none,), (every,) = (
        snapshot.pieces(ScanRequest((0,), (low,))),
        snapshot.pieces(ScanRequest((0,), (high,))),
    )

    assert none == ScanPieces("chunks", 0, every.total)
    assert every.read == every.total > 0
    assert snapshot.pieces(ScanRequest((0,), by=(0,), keys=((1,),))) == ()


def test_the_placement_is_known(members: tuple[int, Members], keyed: KeyedTable) -> None:
    assert keyed.is_spread == bool(members[0])
    assert keyed.home_columns == ((0,) if members[0] else ())
    assert keyed.in_place


def test_a_row_has_a_home_without_clustering_columns(members: tuple[int, Members]) -> None:
    table = made(members, None)
    numbered = NumberedTable(table).schema

    assert [numbered[place] for place in table.home_columns] == ([HOME] if members[0] else [])


def test_a_change_of_no_rows_publishes_nothing(keyed: KeyedTable) -> None:
    before = keyed.snapshot()
    change(keyed, [])
    change(keyed, [-1], "new")

    assert keyed.snapshot() is before
