"""Rows of spread tables changed without a job: what members are told, and what becomes of their shares."""

import datetime
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlfront_cluster.codec.rows import encode_rows
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_connectors.base import ColumnStatistics
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.row_changes import NO_SHARE, RowChange, encode_change
from sqlfront_connectors.memory.spread.share_statistics import (
    ShareStatistics,
    decode_share_change,
    decode_statistics,
    encode_statistics,
)
from sqlfront_connectors.memory.spread.store import STORE, decode_question
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_values.errors import OperationalError
from sqlfront_values.types import DAY_TIME_INTERVAL, TIMESTAMP
from tests.connectors.test_spread import ALL, MEMBERS, Members
from tests.connectors.test_spread_rows import HERE, SCHEMA, THERE, find, keys_of, messages, table

Rows = list[tuple[object, ...]]


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


def numbered(spread: SpreadTable, *keys: int) -> Rows:
    """The rows of these keys, and their numbers."""
    path = NumberedTable(spread).snapshot().row_path((0,), (0, 1, 2))
    assert path is not None
    return [row for rows in path.find([(key,) for key in keys]) for row in rows]


def update(spread: SpreadTable, *keys: int) -> None:
    rows = [(key, "new", number) for key, _, number in numbered(spread, *keys)]
    spread.change_rows(rows, stores=True)


def delete(spread: SpreadTable, *keys: int) -> None:
    rows = [(key, number) for key, _, number in numbered(spread, *keys)]
    spread.change_rows(rows, stores=False)


def test_a_change_costs_one_request_to_each_member_with_changed_rows(members: Members) -> None:
    spread = table(members, *range(50))
    before = messages(members)
    delete(spread, *keys_of(members, THERE, 1))

    assert messages(members) - before == {"Request": 1 + 1, "Answer": 1 + 1}


def test_rows_are_added_by_one_request_to_each_member_that_owns_them(members: Members) -> None:
    spread = table(members, *range(50))
    there, here = keys_of(members, THERE, 52)[50:], keys_of(members, HERE, 52)[50:]
    before = messages(members)
    spread.add_rows([(key, "added") for key in there])

    assert messages(members) - before == {"Request": 1, "Answer": 1}
    spread.add_rows([(key, "added") for key in here])
    assert members.read(spread) == sorted(
        [(key, str(key)) for key in range(50)] + [(key, "added") for key in (*there, *here)]
    )
    assert spread.snapshot().statistics.rows == 54


def test_rows_are_added_to_a_table_without_rows(members: Members) -> None:
    spread = table(members)
    spread.add_rows([(1, "one")])
    spread.add_rows([])
    spread.add_rows([(2, "two")])

    assert members.read(spread) == [(1, "one"), (2, "two")]


def test_rows_are_changed_where_they_are(members: Members) -> None:
    spread = table(members, *range(50))
    before = spread.snapshot()
    keys = [keys_of(members, owner, 1)[0] for owner in (HERE, THERE)]
    update(spread, *keys)
    delete(spread, 30, 31)

    expected = [(key, "new" if key in keys else str(key)) for key in range(50) if key not in (30, 31)]
    assert members.read(spread) == expected
    assert find(spread, (keys[0],), (30,)) == [[(keys[0], "new")], []]
    assert members.run_scan(before.scan(ALL)) == [(key, str(key)) for key in range(50)]
    known = spread.snapshot().statistics
    assert (known.rows, known.columns["k"].maximum) == (48, 49)


def test_a_share_without_changes_is_the_same_one(members: Members) -> None:
    spread = table(members, *range(50))
    (key,) = keys_of(members, THERE, 1)
    before = members.shares(spread.snapshot().held.key)
    update(spread, key)
    after = members.shares(spread.snapshot().held.key)

    same = [was.segments is now.segments for was, now in zip(before, after, strict=True)]
    assert same == [True, False, True]


def test_what_is_said_of_shares_is_what_a_job_says(members: Members) -> None:
    one, other = table(members, *range(50)), table(members, *range(50))
    for key in range(10):
        update(one, key)
        delete(one, 20 + key)
    version = one.snapshot().held
    assert version.known.rows == 40

    again = table(members, *(key for key in range(50) if not 20 <= key < 30))
    columns = again.snapshot().held.known.columns
    assert version.known.columns[0].minimum == columns[0].minimum
    assert version.known.columns[0].maximum == columns[0].maximum
    assert other.snapshot().held.known.rows == 50


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["add", "update", "delete", "keys"]), st.lists(st.integers(0, 40), max_size=3)
        ),
        max_size=25,
    )
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_statistics_follow_any_changes(members: Members, steps: list[tuple[str, list[int]]]) -> None:
    spread = table(members, *range(20), 7)
    for how, keys in steps:
        match how:
            case "add":
                spread.add_rows([(key, None if key % 3 else "added") for key in keys])
            case "update":
                update(spread, *dict.fromkeys(keys))
            case "delete":
                delete(spread, *dict.fromkeys(keys))
            case "keys":
                spread.change_keys([(key,) for key in dict.fromkeys(keys)], None)

    held = spread.snapshot().held
    rows = [row for found in find(spread, *((key,) for key in range(41))) for row in found]
    present, values = {cast("int", key) for key, _ in rows}, [value for _, value in rows]
    assert (held.known.rows, held.known.columns[0].distinct) == (len(rows), len(present))
    if rows:
        assert held.known.size == sum(share.size for share in members.shares(held.key))
        of_keys, of_values = held.known.columns
        assert cast("int", of_keys.minimum) <= min(present) <= max(present) <= cast("int", of_keys.maximum)
        assert cast("int", of_values.nulls) >= values.count(None)
        assert of_values.distinct or not any(values)


def test_distinct_values_are_counted_while_a_table_grows(members: Members) -> None:
    spread = table(members, 0)
    for key in range(1, 60):
        spread.add_rows([(key, f"value {key}")])

    of_keys, of_values = spread.snapshot().held.known.columns
    assert of_keys == ColumnStatistics(60, 0, 0, 59)
    assert 60 // len(MEMBERS) // 2 <= cast("int", of_values.distinct) <= 60


def test_a_change_that_fails_was_never_made(members: Members) -> None:
    spread = table(members, *range(50))
    key, keys = spread.snapshot().held.key, members.keys()
    rows = numbered(spread, 1)
    members.deal_anew(MEMBERS[:1])
    with pytest.raises(OperationalError, match="were lost with"):
        spread.change_rows([(1, rows[0][-1])], stores=False)

    assert spread.snapshot().held.key == key
    assert members.keys() == keys


class Overtaken(Members):
    """Members of which a session asks for the member list just before another session publishes a version;
    a version of an overtaken one is refused, as by the keeper."""

    meanwhile: Callable[[], None] | None = None

    @property
    def member_list(self) -> MemberList:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().member_list

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        if version.number != table.snapshot().held.number + 1:
            raise OperationalError("the table has changed", sqlstate="40001")
        super().publish(table, version, dealt)


def test_a_change_of_a_version_that_is_overtaken_asks_the_owners_of_that_version() -> None:
    """The later version is in place, so that the present owner of the partition has a share of the former
    version, too, but one without the row."""
    members = Overtaken()
    with members.cluster:
        members.deal_anew([HERE])
        for member in members.cluster.members:
            both = MemberInfo(HERE), MemberInfo(THERE, hands_over=True)
            member.members = msgspec.structs.replace(member.members, members=both)
        spread = table(members, *range(20))
        former, found = spread.snapshot(), numbered(spread, *range(20))
        members.deal_anew([HERE, THERE])
        moved = [row for row in found if row[0] in keys_of(members, THERE, 20)]
        members.meanwhile = lambda: place_anew(spread)
        with pytest.raises(OperationalError, match="has changed") as caught:
            spread.change_rows(moved, stores=True)
        assert members.read(spread) == [(key, str(key)) for key in range(20)]

    assert caught.value.sqlstate == "40001"
    assert former is not spread.snapshot()


@pytest.mark.parametrize("backups", [0, 1])
def test_rows_are_changed_where_they_are_after_their_partitions_have_moved(
    members: Members, backups: int
) -> None:
    spread = table(members, *range(50))
    spread.backups = backups
    members.deal_anew(MEMBERS[1:] + MEMBERS[:1])
    place_anew(spread)
    placed = spread.snapshot().held
    members.deal_anew(MEMBERS[::-1])
    update(spread, 1, 2)
    delete(spread, 3)

    spread.add_rows([(100, "100"), (101, "101")])
    made = spread.snapshot().held
    assert (made.owners, made.dealt) == (placed.owners, placed.dealt)
    expected = [(key, "new" if key in (1, 2) else str(key)) for key in (*range(50), 100, 101) if key != 3]
    assert members.read(spread) == expected
    place_anew(spread)
    assert spread.snapshot().held.dealt == members.dealt()
    assert members.read(spread) == expected


def test_a_stopped_query_changes_nothing(members: Members) -> None:
    spread = table(members, *range(50))
    key, (other,) = spread.snapshot().held.key, keys_of(members, THERE, 1)
    query = members.cluster.coordinator.engine.begin_query()
    rows = [(other, number) for _, _, number in numbered(spread, other)]
    query.cancel()
    with pytest.raises(OperationalError) as caught:
        spread.change_rows(rows, stores=False, query=query)

    assert caught.value.sqlstate == "HY008"
    assert spread.snapshot().held.key == key
    assert find(spread, (other,)) == [[(other, str(other))]]


# ---- other rows under the same numbers


def test_a_row_is_deleted_only_if_it_is_the_one_that_was_found(members: Members) -> None:
    spread = table(members, *range(50))
    one, other = keys_of(members, HERE, 2)
    found = {key: number for key, _, number in numbered(spread, one, other)}
    key = spread.snapshot().held.key
    with pytest.raises(OperationalError, match="not where they were found") as caught:
        spread.change_rows([(one, "new", found[other])], stores=True)

    assert caught.value.sqlstate == "40001"
    assert spread.snapshot().held.key == key
    spread.change_rows([(one, "new", found[one])], stores=True)
    with pytest.raises(OperationalError, match="not where they were found"):
        spread.change_rows([(one, found[one])], stores=False)  # it is deleted already
    assert find(spread, (one,), (other,)) == [[(one, "new")], [(other, str(other))]]


# ---- hostile questions


def change(spread: SpreadTable, **changes: object) -> bytes:
    key = spread.snapshot().held.key
    assert key is not None
    content = decode_question(encode_change("t@new", key, "t", 0, False, [(HERE, ([(0, 0)], [(1, "new")]))]))
    assert isinstance(content, RowChange)
    ((owner, gone, added),) = content.changes
    share = changes.pop("owner", owner), changes.pop("gone", gone), changes.pop("added", added)
    return msgspec.msgpack.encode(msgspec.structs.replace(content, changes=(share,), **changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gone": (0,)}, "malformed question"),
        ({"gone": ((0, 0),)}, "not where they were found"),
        ({"gone": ((-1, 0),)}, "not where they were found"),
        ({"gone": ((1_000, 0),)}, "not where they were found"),
        ({"gone": ((2**63, 0),)}, "not where they were found"),
        ({"added": msgspec.Raw(encode_rows([("1", "a")]))}, "malformed row"),
        ({"added": msgspec.Raw(encode_rows([(1,)]))}, "malformed row"),
        ({"added": msgspec.Raw(b"\xc0")}, "malformed row"),
        ({"owner": THERE}, "is gone"),
        ({"base": STORE}, "is gone"),
        ({"base": ""}, "is gone"),
        ({"dealt": 9}, "have moved"),
    ],
)
def test_a_change_that_makes_no_sense(members: Members, changes: dict[str, object], reason: str) -> None:
    spread = table(members, *range(50))
    keys = members.keys()

    with pytest.raises(OperationalError, match=reason):
        members.stores[HERE].answer(change(spread, **changes))
    assert members.keys() == keys


@given(places=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_changed_changes_are_refused_or_done(members: Members, places: list[tuple[int, int]]) -> None:
    spread = table(members, 1)
    content = bytearray(change(spread, gone=(), added=msgspec.Raw(encode_rows([(5, "new")]))))
    for place, value in places:
        content[place % len(content)] = value
    try:
        answer = members.stores[HERE].answer(bytes(content))
    except OperationalError:
        return
    finally:
        for key in members.keys() - {spread.snapshot().held.key}:
            members.release(key)
    question = decode_question(bytes(content))
    if isinstance(question, RowChange):
        assert answer == NO_SHARE or (
            decode_statistics(answer, SCHEMA) if question.whole else decode_share_change(answer, len(SCHEMA))
        )


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        (DAY_TIME_INTERVAL, (datetime.timedelta(days=-106_751_991), datetime.timedelta(days=106_751_991))),
        (
            TIMESTAMP,
            (
                datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
                datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999, datetime.UTC),
            ),
        ),
        (pa.string(), (None, None)),
    ],
)
def test_statistics_travel(kind: pa.DataType, bounds: tuple[object, object]) -> None:
    known = ShareStatistics(5, 100, (ColumnStatistics(3, 1, *bounds),))

    assert decode_statistics(encode_statistics(known), pa.schema([("c", kind)])) == known
