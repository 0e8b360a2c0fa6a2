"""Rows that other processes push straight to the members of a cluster, and read from them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.cluster.processes import ProcessMembers
from sqlfront_cluster import codec
from sqlfront_cluster.codec import BatchEncoder, ErrorData
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.questions.outsider import Outsider
from sqlfront_connectors.memory.exchange.fetching import MOST_ROWS, fetch
from sqlfront_connectors.memory.exchange.loads import HeldVersion, SpreadLoad
from sqlfront_connectors.memory.exchange.pushing import DeliveredRows, Pusher, push_all
from sqlfront_connectors.memory.exchange.service import EXCHANGE, BeginLoad, Hold, Put, ReadShare
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.spark.transfer import tasks
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import Error, InternalError, NotSupportedError, OperationalError
from sqlfront_values.types import BIGINT, STRING, decimal, physical
from tests.sqlfront.held_shares import shares, staged
from tests.sqlfront.quick_service import SERVICE
from tests.sqlfront.test_cluster import SECRET, address, kill, until

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("loads")

Rows = list[tuple[object, ...]]
#: What is said of a member that isn't there, by who looks for it or by the others.
LOST = ("08001", "08006", "40001")


def started() -> LocalCluster:
    return LocalCluster(3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with started() as cluster:
        yield cluster


class House:
    """A session of a cluster, and who pushes and fetches on its behalf."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.connection = sqlfront.connect(address(cluster), secret=SECRET, workers=1)
        members = self.connection.session.cluster
        assert isinstance(members, ProcessMembers)
        self.members = members
        self._names = itertools.count()

    def connect(self, name: str, address: str) -> Outsider:
        return Outsider(self.members.door.network, address, name)

    def table(self, clause: str = "CLUSTERED BY (k)") -> SpreadTable:
        name = f"t{next(self._names)}"
        self.run(f"CREATE TEMPORARY TABLE {name} (k BIGINT, s STRING, d DECIMAL(9,2)) {clause}")
        entry = self.connection.session.context.catalog.lookup((name,))
        assert isinstance(entry, TableEntry)
        assert isinstance(entry.table, SpreadTable)
        return entry.table

    def load(self, table: SpreadTable) -> SpreadLoad:
        return SpreadLoad(table, self.members.door.coordinator)

    def push(self, load: SpreadLoad, *batches: pa.RecordBatch) -> list[DeliveredRows]:
        return [*push_all(load.target, self.connect, batches)]

    def fill(self, table: SpreadTable, numbers: range) -> None:
        with self.load(table) as load:
            load.publish(self.push(load, rows(numbers)), overwrite=True)

    def hold(self, table: SpreadTable, columns: tuple[int, ...] = (0,), parts: int = 2) -> HeldVersion:
        return HeldVersion(table.snapshot(), columns, parts, self.members.door.coordinator)

    def read(self, held: HeldVersion) -> list[object]:
        batches = fetch(held.origin, self.connect, held.pieces)
        return sorted(value for batch in batches for value in batch.column(0).to_pylist())

    def run(self, sql: str) -> None:
        self.connection.execute(sql)

    def ask(self, sql: str) -> Rows:
        return self.connection.execute(sql).fetchall()

    def facts(self, table: SpreadTable) -> Rows:
        return self.ask(f"select count(*), count(distinct k), sum(k), sum(d), count(s) from {table.name}")

    def outsider(self) -> Outsider:
        """Somebody who asks the first member."""
        first = self.cluster.members.members[0]
        return self.connect(first.name, first.address)


@pytest.fixture
def house(cluster: LocalCluster) -> Iterator[House]:
    house = House(cluster)
    with house.connection:
        yield house


def rows(numbers: range) -> pa.RecordBatch:
    """Rows with these keys, in physical form."""
    words = [None if number % 7 == 0 else f"word {number % 3}" for number in numbers]
    amounts = pa.array(numbers, BIGINT).view(physical(decimal(9, 2)))
    columns = [pa.array(numbers, BIGINT), pa.array(words, STRING), amounts]
    return pa.record_batch(columns, names=["a", "b", "c"])


def many_rows(count: int) -> Iterator[pa.RecordBatch]:
    """So many times 70,000 rows."""
    return (rows(range(start, start + 70_000)) for start in range(0, count * 70_000, 70_000))


def expected(numbers: range) -> Rows:
    """What :meth:`House.facts` says of a table with these keys."""
    words = sum(number % 7 != 0 for number in numbers)
    return [(len(numbers), len(numbers), sum(numbers), Decimal(sum(numbers)) / 100, words)]


# ---- in


def test_rows_go_to_the_owners_of_their_keys(house: House) -> None:
    table = house.table()
    with house.load(table) as load:
        brought = [
            *house.push(load, rows(range(70_000)), rows(range(70_000, 70_001))),
            *house.push(load),
            *house.push(load, rows(range(70_001, 90_000))),
        ]
        assert load.publish(brought, overwrite=False) == 90_000

    assert house.facts(table) == expected(range(90_000))
    # By key, at its owner.
    assert house.ask(f"select s, d from {table.name} where k = 80000") == [("word 2", Decimal("800.00"))]
    assert {name for name, _ in shares(house.connection)} == {"local-0", "local-1", "local-2"}


def test_a_load_adds_rows_or_replaces_all(house: House) -> None:
    table = house.table()
    house.fill(table, range(100))
    with house.load(table) as load:
        assert load.publish(house.push(load, rows(range(100, 150))), overwrite=False) == 50
    assert house.facts(table) == expected(range(150))

    with house.load(table) as load:
        assert load.publish(house.push(load, rows(range(7))), overwrite=True) == 7
    assert house.facts(table) == expected(range(7))

    with house.load(table) as load:
        assert load.publish([], overwrite=True) == 0
    assert house.facts(table)[0][0] == 0


def test_a_table_without_keys_takes_rows_anywhere(house: House) -> None:
    table = house.table("")
    with house.load(table) as load:
        brought = house.push(load, *many_rows(4))
        assert len(brought) == 3
        load.publish(brought, overwrite=True)

    assert house.facts(table) == expected(range(280_000))


def test_attempts_that_are_not_published_leave_nothing(house: House) -> None:
    table = house.table()
    with house.load(table) as load:
        won = house.push(load, rows(range(5000)))
        house.push(load, rows(range(5000)))  # the same task again
        failing = Pusher(load.target, house.connect)
        for batch in many_rows(2):  # on its way when its process ends
            failing.push(batch)
        assert load.publish(won, overwrite=True) == 5000
        failing.close()

    assert house.facts(table) == expected(range(5000))
    assert staged(house.connection) == []


def test_an_attempt_that_gives_up_is_forgotten_at_once(house: House) -> None:
    with house.load(house.table()) as load:
        pusher = Pusher(load.target, house.connect)
        pusher.push(rows(range(100_000)))
        until(lambda: all(each[2] for each in staged(house.connection)))
        pusher.close(forget=True)

        assert [each[1:] for each in staged(house.connection)] == [(1, 0)] * 3


def test_attempts_at_the_same_time(house: House) -> None:
    table = house.table()
    found: list[list[DeliveredRows]] = [[] for _ in range(8)]
    with house.load(table) as load:

        def task(number: int) -> None:
            keys = range(number // 2 * 10_000, (number // 2 + 1) * 10_000)
            found[number] = house.push(load, rows(keys[:3000]), rows(keys[3000:]))

        threads = [threading.Thread(target=task, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        brought = [each for number in (0, 3, 4, 7) for each in found[number]]
        assert load.publish(brought, overwrite=True) == 40_000

    assert house.facts(table) == expected(range(40_000))


def test_rows_that_come_late_are_refused(house: House) -> None:
    table = house.table()
    with house.load(table) as load:
        target = load.target
    with pytest.raises(OperationalError, match="the load of these rows has ended"):
        [*push_all(target, house.connect, [rows(range(10))])]
    assert house.facts(table)[0][0] == 0


def test_an_attempt_whose_rows_are_not_there_is_not_published(house: House) -> None:
    table = house.table()
    house.fill(table, range(10))
    with house.load(table) as load:
        brought = house.push(load, rows(range(100)))
        with pytest.raises(OperationalError, match="the load of these rows has ended"):
            load.publish([*brought, DeliveredRows("no such", "local-0", 3)], overwrite=True)
    with house.load(table) as load:
        first, *others = house.push(load, rows(range(100)))
        wrong = DeliveredRows(first.attempt, first.member, first.rows + 1)
        with pytest.raises(InternalError, match="rows for `t0`"):
            load.publish([wrong, *others], overwrite=True)

    assert house.facts(table) == expected(range(10))
    assert staged(house.connection) == []


def test_a_load_ends_with_its_coordinator(house: House, cluster: LocalCluster) -> None:
    other = House(cluster)
    load = other.load(other.table()).__enter__()
    other.push(load, rows(range(10_000)))
    assert len(staged(house.connection)) == 3
    other.connection.close()

    until(lambda: staged(house.connection) == [])


def test_a_member_that_is_lost_ends_the_load(house: House) -> None:
    with started() as cluster:
        house = House(cluster)
        with house.connection:
            table = house.table()
            with house.load(table) as load:
                brought = house.push(load, rows(range(1000)))
                kill(cluster, "local-1")
                until(lambda: house.members.member_list.dealt > 3)
                with pytest.raises(OperationalError) as late:
                    house.push(load, rows(range(1000)))
                assert late.value.sqlstate in LOST
                (said,) = tasks.push(codec.encode(load.target), house.members.door.network, [rows(range(9))])
                (row,) = said.to_pylist()
                assert codec.decode(row["error"], ErrorData).error().sqlstate in LOST
                with pytest.raises(OperationalError, match="have moved") as error:
                    load.publish(brought, overwrite=True)
                assert error.value.sqlstate == "40001"
            house.fill(table, range(500))
            assert house.facts(table) == expected(range(500))
            assert staged(house.connection) == []


def test_nobody_takes_rows_when_all_members_are_lost() -> None:
    with started() as cluster:
        house = House(cluster)
        with house.connection:
            table = house.table()
            for name in tuple(cluster.processes):
                kill(cluster, name)
            until(lambda: not any(house.members.member_list.owners))
            with pytest.raises(OperationalError, match="no member is left") as error:
                house.load(table)
            assert error.value.sqlstate == "08001"


def test_what_is_staged_is_counted(house: House) -> None:
    limit = 8 << 20
    with LocalCluster(1, workers=1, service=SERVICE, secret=SECRET.encode(), memory_limit=limit) as cluster:
        house = House(cluster)
        with house.connection:
            table = house.table()
            with (
                house.load(table) as load,
                pytest.raises(OperationalError, match="Loading `t0` needs") as error,
            ):
                house.push(load, *many_rows(10))
            assert error.value.condition == "UNABLE_TO_ACQUIRE_MEMORY"
            house.fill(table, range(1000))
            assert house.facts(table) == expected(range(1000))


@pytest.mark.parametrize("clause", ["CLUSTERED BY (k)", ""])
def test_members_without_addresses_take_no_loads(clause: str) -> None:
    with sqlfront.connect(members=2, workers=1) as connection:
        connection.execute(f"CREATE TABLE t (k BIGINT) {clause}")
        entry = connection.session.context.catalog.lookup(("t",))
        assert isinstance(entry, TableEntry)
        assert isinstance(entry.table, SpreadTable)
        with pytest.raises(NotSupportedError, match="`t` can't be reached by other processes"):
            SpreadLoad(entry.table, "me")


# ---- out


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("clause", ["CLUSTERED BY (k)", ""])
def test_pieces_hold_every_row_once(house: House, clause: str, parts: int) -> None:
    table = house.table(clause)
    house.fill(table, range(3 * MOST_ROWS))
    house.run(f"DELETE FROM {table.name} WHERE k % 1000 = 3")
    house.run(f"INSERT INTO {table.name} VALUES (-1, NULL, 0)")

    with house.hold(table, (0, 1), parts) as held:
        assert len(held.pieces) <= 3 * parts
        assert held.rows >= 3 * MOST_ROWS - 196
        batches = [*fetch(held.origin, house.connect, held.pieces)]

    left = [-1, *(number for number in range(3 * MOST_ROWS) if number % 1000 != 3)]
    assert sorted(value for batch in batches for value in batch.column(0).to_pylist()) == left
    words = sum(len(batch) - batch.column(1).null_count for batch in batches)
    assert words == sum(number % 7 != 0 for number in left[1:])


def test_an_empty_table_has_no_pieces(house: House) -> None:
    table = house.table()
    with house.hold(table) as held:
        assert (held.rows, held.pieces) == (0, ())
    house.fill(table, range(0))
    with house.hold(table) as held:
        assert house.read(held) == []


def test_a_version_can_be_read_as_long_as_it_is_held(house: House) -> None:
    table = house.table()
    house.fill(table, range(1000))
    with house.hold(table) as held:
        house.fill(table, range(5))
        house.fill(table, range(7))
        until(lambda: [each[1] for each in shares(house.connection)] == [4, 4, 4])
        house.ask("SELECT 1")
        assert house.read(held) == [*range(1000)]

    until(lambda: [each[1] for each in shares(house.connection)] == [2, 2, 2])
    with pytest.raises(OperationalError, match="is gone") as error:
        house.read(held)
    assert error.value.sqlstate == "40001"


def test_a_version_is_held_no_longer_than_its_coordinator_is_there(
    house: House, cluster: LocalCluster
) -> None:
    table = house.table()
    house.fill(table, range(1000))
    other = House(cluster)
    held = HeldVersion(table.snapshot(), (0,), 1, other.members.door.coordinator)
    house.fill(table, range(5))
    until(lambda: [each[1] for each in shares(house.connection)] == [4, 4, 4])
    other.connection.close()

    until(lambda: [each[1] for each in shares(house.connection)] == [2, 2, 2])
    held.close()


def test_a_held_version_is_read_from_backups_when_a_member_dies() -> None:
    """Without backups the reader hears that the query may be run again, and then that rows are lost."""
    with started() as cluster:
        house = House(cluster)
        with house.connection:
            tables = [house.table(f"USING memory CLUSTERED BY (k) OPTIONS (backups {n})") for n in (0, 1)]
            for table in tables:
                house.fill(table, range(1000))
            bare, backed = (house.hold(table) for table in tables)
            kill(cluster, "local-1")
            assert house.read(backed) == [*range(1000)]
            with pytest.raises(OperationalError, match=f"rows of `{tables[0].name}` can't be read") as error:
                house.read(bare)
            assert error.value.sqlstate == "40001"

            until(lambda: "local-1" not in house.members.member_list.data_members)
            with house.hold(tables[1]) as held:
                assert house.read(held) == [*range(1000)]
            with pytest.raises(OperationalError, match="were lost with local-1"):
                house.hold(tables[0])


def test_a_version_that_is_gone_is_not_held(house: House) -> None:
    table = house.table()
    house.fill(table, range(10))
    old = table.snapshot()
    house.fill(table, range(5))
    until(lambda: [each[1] for each in shares(house.connection)] == [2, 2, 2])

    with pytest.raises(OperationalError, match="is gone"):
        HeldVersion(old, (0,), 1, house.members.door.coordinator)


# ---- who asks what makes no sense


def test_what_is_no_question_is_refused(house: House) -> None:
    table = house.table()
    house.fill(table, range(10))
    key = table.snapshot().held.key
    assert key is not None
    schema = pa.schema([("k", BIGINT)])
    wrong = BatchEncoder().encode(pa.record_batch([pa.array(["a"])], names=["k"]))
    many = BatchEncoder().encode(pa.record_batch([pa.array([1]), pa.array([1])], names=["k", "l"]))
    dealt = house.members.member_list.dealt
    coordinator = house.members.door.coordinator
    with house.outsider() as line:
        line.ask(EXCHANGE, codec.encode(BeginLoad("x", "t", schema, dealt, coordinator)))
        for question, body, reason in (
            (BeginLoad("y", "t", schema, dealt + 1, coordinator), (), "have moved"),
            (Put("x", "1", None), (), "no body"),
            (Put("x", "2", None), wrong.body, "no schema came before"),
            (Put("x", "3", wrong.schema), wrong.body, "column 0 has type string instead of int64"),
            (Put("x", "4", many.schema), many.body, "2 columns instead of 1"),
            (Put("x", "5", wrong.schema), (b"bytes",), "malformed batch"),
            (Put("z", "1", wrong.schema), wrong.body, "load of these rows has ended"),
            (Hold("memory:store", "t", "1", coordinator), (), "is gone"),
            (ReadShare(key, "t", (3,), 0, 1), (), "no columns"),
            (ReadShare(key, "t", (-1,), 0, 1), (), "no columns"),
            (ReadShare("no such@1", "t", (0,), 0, 1), (), "is gone"),
        ):
            with pytest.raises(Error, match=reason):
                line.ask(EXCHANGE, codec.encode(question), body)
        with pytest.raises(OperationalError, match="malformed"):
            line.ask(EXCHANGE, b"what?")
        assert line.ask(EXCHANGE, codec.encode(ReadShare(key, "t", (0,), 5, -5)))[1] is None
        assert line.unanswered == 0
    assert house.facts(table) == expected(range(10))


def test_who_looks_for_another_member_finds_none(house: House) -> None:
    first = house.cluster.members.members[0]
    with pytest.raises(OperationalError, match="instead of local-9"):
        house.connect("local-9", first.address)
