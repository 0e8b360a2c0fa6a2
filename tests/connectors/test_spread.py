"""Memory tables spread over members: shares, versions, and what is known of them."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pytest

import sqlfront_connectors.registry  # noqa: F401 - makes the processors known
from sqlfront_cluster.launchers.embedded import EmbeddedCluster
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_connectors.base import (
    ColumnStatistics,
    Location,
    Partitioning,
    ScanPlan,
    ScanRequest,
    WritableTable,
    insert_all,
)
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.share_statistics import ShareStatistics, merged, nothing
from sqlfront_connectors.memory.spread.store import STORE, TableStore
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version import MOST_JOBS, TableVersion
from sqlfront_connectors.memory.spread.version_keys import LiveVersions
from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InternalError, OperationalError
from sqlfront_values.types import BIGINT, STRING

SCHEMA = pa.schema([("k", BIGINT), ("s", STRING)])
ALL = ScanRequest((0, 1))
MEMBERS = ("embedded-0", "embedded-1", "embedded-2")


class Members:
    """Three embedded members with their stores; `fail` makes the next job fail."""

    def __init__(self, size: int = 3) -> None:
        self.stores = {name: TableStore(name, self.dealt) for name in MEMBERS[:size]}
        self.cluster = EmbeddedCluster(size, workers=2, resources=self.stores.__getitem__)
        self.fail = False
        self.turns = itertools.count(1)
        self.live = LiveVersions()

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterator[pa.RecordBatch]:
        yield from self.cluster.coordinator.submit(dag, JobConfig(resources=resources)).batches()
        if self.fail:
            raise OperationalError("as told")

    @property
    def member_list(self) -> MemberList:
        return self.cluster.coordinator.members

    def dealt(self) -> int:
        return self.member_list.dealt

    def deal_anew(self, owners: Sequence[str]) -> None:
        """Give the partitions to these members in turn; the others are gone."""
        before = self.member_list
        new = MemberList(
            before.version + 1,
            tuple(map(MemberInfo, owners)),
            tuple(owners[partition % len(owners)] for partition in range(271)),
            dealt=before.version + 1,
        )
        for member in self.cluster.members:
            member.members = new

    def begin_attempt(self, table: PublishedTable) -> None:
        pass

    def end_attempt(self, table: PublishedTable, *, failed: bool) -> None:
        pass

    def begin_turn(self, table: PublishedTable) -> str:
        return str(next(self.turns))

    def end_turn(self, table: PublishedTable) -> None:
        pass

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        self.live.add(version.key)
        table.adopt(version)

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        return self.cluster.coordinator.requests.ask(service, questions, query)

    def dropped(self, table: PublishedTable) -> None:
        pass

    def release(self, key: str) -> None:
        self.live.forget(key)
        for member, store in self.stores.items():
            for unneeded in self.live.unneeded(key, member, store.keys_held):
                store.free(unneeded)

    def shares(self, key: str | None) -> list[TableShare]:
        shares = [store.get(key) for store in self.stores.values()] if key else []
        return [share for share in shares if isinstance(share, TableShare)]

    def keys(self) -> set[str]:
        return {key for store in self.stores.values() for key in store.keys_held}

    def read(self, table: PublishedTable, request: ScanRequest = ALL) -> list[tuple[object, ...]]:
        return self.run_scan(table.snapshot().scan(request))

    def run_scan(self, planned: ScanPlan) -> list[tuple[object, ...]]:
        dag = DAG()
        place = OnlyOn() if planned.location is Location.HERE else None
        source = dag.vertex("scan", planned.source, None if place is None else 1, place)
        dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
        batches = self.run(dag, planned.resources)
        return sorted(row for batch in batches for row in zip(*map(pa.Array.to_pylist, batch), strict=True))


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(numbers, BIGINT), pa.array(map(str, numbers), STRING)], schema=SCHEMA)


@pytest.mark.parametrize("partitions", [271, 8, None])
def test_rows_are_read_from_all_shares(members: Members, partitions: int | None) -> None:
    placed = None if partitions is None else Partitioning((0,), partitions)
    table = SpreadTable("t", SCHEMA, placed, members)

    assert insert_all(table, [rows(*range(500)), rows(*range(500, 1000))]) == 1000
    assert members.read(table) == [(number, str(number)) for number in range(1000)]
    assert all(share.rows > 0 for share in members.shares(table.snapshot().held.key)[: 3 if placed else 2])


def test_a_member_has_the_rows_of_its_partitions(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    insert_all(table, [rows(*range(1000))])

    for share in members.shares(table.snapshot().held.key):
        (segment,) = share.segments
        assert segment.offsets is not None
        filled = [p for p in range(271) if segment.offsets[p + 1] > segment.offsets[p]]
        assert set(filled) <= set(share.partitions)
        assert len(share.partitions) in (90, 91)


def test_a_key_is_looked_up_in_the_shares(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    insert_all(table, [rows(*range(100))])

    assert table.snapshot().keys == ((0,),)
    assert members.read(table, ScanRequest((1,), by=(0,), keys=((42,),))) == [("42",)]
    assert members.read(table, ScanRequest((1,), by=(0,), keys=((42,), (7,), (-1,)))) == [("42",), ("7",)]
    assert members.read(table, ScanRequest((1,), by=(0,), keys=())) == []


def test_inserts_append_and_overwrites_replace(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    assert members.read(table) == []

    insert_all(table, [rows(1, 2)])
    insert_all(table, [rows(3)])
    assert members.read(table) == [(1, "1"), (2, "2"), (3, "3")]
    insert_all(table, [rows(4)], overwrite=True)
    assert members.read(table) == [(4, "4")]
    assert isinstance(table, WritableTable)


def test_a_version_stays_as_long_as_somebody_holds_its_snapshot(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, None, members)
    insert_all(table, [rows(1)])
    before = table.snapshot()
    insert_all(table, [rows(2)])

    assert members.keys() == {before.held.key, table.snapshot().held.key}
    del before
    gc.collect()
    assert members.keys() == {table.snapshot().held.key}
    table.drop()
    assert members.read(table) == [(1, "1"), (2, "2")]
    del table
    assert members.keys() == set()


def test_an_insert_that_fails_leaves_the_old_version_and_no_share(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, None, members)
    insert_all(table, [rows(1)])
    key = table.snapshot().held.key

    members.fail = True
    with pytest.raises(OperationalError, match="as told"):
        insert_all(table, [rows(2)])
    members.fail = False
    gc.collect()

    assert members.keys() == {key}
    assert members.read(table) == [(1, "1")]


def test_a_share_that_is_gone_is_an_error_that_says_what_to_do(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, None, members)
    insert_all(table, [rows(1)])
    members.stores["embedded-1"].free(str(table.snapshot().held.key))

    with pytest.raises(OperationalError, match="run the query again") as caught:
        members.read(table)
    assert caught.value.sqlstate == "40001"


@pytest.fixture(params=[Partitioning((0,), 271), Partitioning((0,), 16), None], ids=["271", "16", "no key"])
def moved(request: pytest.FixtureRequest, members: Members) -> SpreadTable:
    """Fifty rows that were stored before the partitions were dealt anew."""
    table = SpreadTable("t", SCHEMA, request.param, members)
    insert_all(table, [rows(*range(50))])
    members.deal_anew(("embedded-2", "embedded-0", "embedded-1"))
    return table


def test_rows_are_read_where_they_are(members: Members, moved: SpreadTable) -> None:
    assert not moved.in_place
    assert [key for key, _ in members.read(moved)] == list(range(50))
    assert moved.snapshot().scan(ALL).placed is None


def test_a_key_is_found_where_it_was_stored(members: Members, moved: SpreadTable) -> None:
    assert moved.snapshot().keys == (() if moved.partitioning is None else ((0,),))
    for by in moved.snapshot().keys:
        for key in range(50):
            assert members.read(moved, ScanRequest((1,), by=by, keys=((key,),))) == [(str(key),)]


def test_rows_are_placed_anew(members: Members, moved: SpreadTable) -> None:
    place_anew(moved)

    assert moved.in_place
    assert [key for key, _ in members.read(moved)] == list(range(50))


def test_an_insert_places_the_rows_anew(members: Members, moved: SpreadTable) -> None:
    insert_all(moved, [rows(100)])

    assert moved.in_place
    assert [key for key, _ in members.read(moved)] == [*range(50), 100]


def test_a_table_says_which_partitions_are_gone(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    insert_all(table, [rows(*range(50))])
    members.deal_anew(MEMBERS[:2])

    for attempt in (lambda: members.read(table), lambda: insert_all(table, [rows(1)])):
        with pytest.raises(OperationalError, match=r"partitions 2, 5, 8, .*\(90 of 271\) of `t`.*embedded-2"):
            attempt()
    insert_all(table, [rows(7)], overwrite=True)
    assert [key for key, _ in members.read(table)] == [7]


def test_a_query_that_was_planned_before_is_to_be_run_again(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    insert_all(table, [rows(1)])
    planned = table.snapshot().scan(ALL)
    members.deal_anew(("embedded-2", "embedded-0", "embedded-1"))

    with pytest.raises(OperationalError, match="have moved") as caught:
        members.run_scan(planned)
    assert caught.value.sqlstate == "40001"


def test_a_share_is_staged_once() -> None:
    store = TableStore()
    store.stage("t@1", TableShare(SCHEMA))

    assert STORE in store and "t@1" in store
    with pytest.raises(InternalError):
        store.stage("t@1", TableShare(SCHEMA))


def test_a_share_that_comes_after_it_was_freed_is_forgotten() -> None:
    store = TableStore()
    store.free("t@1")
    store.stage("t@1", TableShare(SCHEMA))

    assert "t@1" not in store


def test_the_rows_of_a_job_come_once(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    assert insert_all(table, [rows(1, 2)], token="job-1") == 2

    for overwrite in (False, True):
        with pytest.raises(OperationalError, match="`t` has the rows of the job job-1 already"):
            insert_all(table, [rows(1, 2)], overwrite=overwrite, token="job-1")

    assert members.read(table) == [(1, "1"), (2, "2")]


def test_later_versions_know_the_jobs_of_earlier_ones(members: Members) -> None:
    table, wide = (SpreadTable("t", SCHEMA, Partitioning((0,), 271), members) for _ in range(2))
    insert_all(table, [rows(1)], token="job-1")
    insert_all(table, [rows(2)], overwrite=True)
    table.set_indexes((IndexDefinition("i", (1,)),))
    insert_all(table, [rows(3)], token="job-2")
    members.deal_anew(MEMBERS[1:] + MEMBERS[:1])
    place_anew(table)
    insert_all(wide, [rows(2, 3)])
    wide.succeed(table)

    for each in (table, wide):
        assert each.snapshot().held.jobs == ("job-1", "job-2")
        assert each.snapshot().indexes == (IndexDefinition("i", (1,)),)
        assert members.read(each) == [(2, "2"), (3, "3")]


def test_a_table_knows_its_latest_jobs_only(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, None, members)
    for number in range(MOST_JOBS + 1):
        table.publish((), overwrite=False, job=f"job-{number}")

    assert table.snapshot().held.jobs == tuple(f"job-{number}" for number in range(1, MOST_JOBS + 1))
    assert not table.has_rows_of("job-0")


def test_statistics_are_those_of_all_rows(members: Members) -> None:
    table = SpreadTable("t", SCHEMA, Partitioning((0,), 271), members)
    insert_all(table, [rows(*range(900))])
    insert_all(table, [rows(*range(900, 1000))])
    known = table.snapshot().statistics

    assert known.rows == 1000
    assert known.size is not None and known.size > 10_000
    assert known.columns["k"] == ColumnStatistics(1000, 0, 0, 999)


def column(rows: int, distinct: int) -> ShareStatistics:
    return ShareStatistics(rows, rows, (ColumnStatistics(distinct, 0),))


@pytest.mark.parametrize(
    "parts, at_least, at_most",
    [
        ([(1000, 7), (1000, 7), (1000, 6)], 7, 7),
        ([(1000, 1000), (1000, 1000)], 2000, 2000),
        # 150,000 values, four rows of each, dealt out at random to three.
        ([(200_000, 110_500)] * 3, 140_000, 160_000),
        ([(1000, 10), (0, 0)], 10, 10),
    ],
)
def test_distinct_values_of_random_parts_are_estimated(
    parts: list[tuple[int, int]], at_least: int, at_most: int
) -> None:
    (known,) = merged([column(*part) for part in parts], 1, None).columns

    assert known.distinct is not None
    assert at_least <= known.distinct <= at_most


def test_distinct_keys_of_partitions_add_up() -> None:
    (known,) = merged([column(1000, 20), column(1000, 30)], 1, Partitioning((0,), 271)).columns

    assert known.distinct == 50


def test_bounds_and_nulls_are_merged() -> None:
    first = ShareStatistics(2, 1, (ColumnStatistics(1, 1, 5, 5),))
    second = ShareStatistics(3, 1, (ColumnStatistics(3, 0, -1, 3),))

    assert merged([first, second], 1, None) == ShareStatistics(5, 2, (ColumnStatistics(4, 1, -1, 5),))
    assert merged([nothing(1), second], 1, None) == second
