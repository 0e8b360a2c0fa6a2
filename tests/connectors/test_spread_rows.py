"""Rows of spread tables found by key: from their owners, without a job."""

import datetime
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlfront_cluster.codec.rows import encode_rows
from sqlfront_connectors.base import Key, Partitioning, insert_all, row_access
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.lookup import BEYOND, Lookup, encode_lookup
from sqlfront_connectors.memory.spread.store import STORE, decode_question
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import OperationalError
from sqlfront_values.partitioning.partitions import key_hasher
from sqlfront_values.types import BIGINT, STRING, is_variant, physical
from tests.cluster.codec.values import FLAT, values
from tests.connectors.test_spread import MEMBERS, Members

SCHEMA = pa.schema([("k", BIGINT), ("s", STRING)])
BY_KEY = Partitioning((0,), 271)
HERE, THERE = MEMBERS[0], MEMBERS[1]


@pytest.fixture(scope="module")
def shared() -> Iterator[Members]:
    """For tests that change nothing of the members."""
    members = Members()
    with members.cluster:
        yield members


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


def batch(schema: pa.Schema, *rows: tuple[object, ...]) -> pa.RecordBatch:
    columns = [
        from_values([row[place] for row in rows], physical(field.type)) for place, field in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def table(members: Members, *keys: int | None, schema: pa.Schema = SCHEMA) -> SpreadTable:
    table = SpreadTable("t", schema, BY_KEY, members)
    insert_all(table, [batch(schema, *((key, str(key)) for key in keys))])
    return table


def find(table: SpreadTable, *keys: Key, columns: tuple[int, ...] = (0, 1)) -> list[list[tuple[object, ...]]]:
    path = table.snapshot().row_path((0,), columns)
    assert path is not None
    return [list(rows) for rows in path.find(keys)]


def keys_of(members: Members, owner: str, count: int) -> list[int]:
    """Some keys whose partition that member owns."""
    hash_key, owners = key_hasher([BIGINT]), members.member_list.owners
    return [key for key in range(10_000) if owners[hash_key((key,)) % len(owners)] == owner][:count]


def messages(members: Members) -> Counter[str]:
    """What the coordinator has sent and received, jobs and requests."""
    statistics = members.cluster.coordinator._transport.statistics()
    counted = Counter[str]()
    for kinds in (statistics.sent, statistics.received):
        counted.update({kind: traffic.messages for kind, traffic in kinds.items()})
    return counted


# ---- what is found


def test_rows_are_found_wherever_they_are(shared: Members) -> None:
    found = find(table(shared, *range(100)), *((key,) for key in range(102)))

    assert found == [[(key, str(key))] for key in range(100)] + [[], []]


def test_a_snapshot_offers_its_rows(shared: Members) -> None:
    assert row_access(table(shared, 1).snapshot()) is not None


def test_several_rows_of_a_key_and_of_null(shared: Members) -> None:
    spread = table(shared, 1, 2, None, 1)
    insert_all(spread, [batch(SCHEMA, (1, "more"), (None, "more"))])

    ones, nulls, threes = find(spread, (1,), (None,), (3,), columns=(1,))

    assert sorted(ones) == [("1",), ("1",), ("more",)]
    assert sorted(nulls) == [("None",), ("more",)]
    assert threes == []


def test_the_same_key_twice(shared: Members) -> None:
    assert find(table(shared, 5), (5,), (6,), (5,)) == [[(5, "5")], [], [(5, "5")]]


def test_columns_in_any_order_and_none(shared: Members) -> None:
    spread = table(shared, 7)

    assert find(spread, (7,), columns=(1, 0, 1)) == [[("7", 7, "7")]]
    assert find(spread, (7,), (8,), columns=()) == [[()], []]
    assert find(spread) == []


def test_a_table_of_other_partitions_lies_by_those_of_jobs(shared: Members) -> None:
    spread = SpreadTable("t", SCHEMA, Partitioning((0,), 8), shared)
    insert_all(spread, [batch(SCHEMA, *((key, str(key)) for key in range(50)))])

    assert find(spread, *((key,) for key in range(50))) == [[(key, str(key))] for key in range(50)]


#: Types that can be clustering keys.
KEYS = [kind for kind in FLAT if not is_variant(kind)]


def fits(value: object) -> bool:
    """Whether an interval's microseconds have 63 bits."""
    return not isinstance(value, datetime.timedelta) or abs(value.days) < 100_000_000


@st.composite
def keyed_rows(draw: st.DrawFn) -> tuple[tuple[pa.DataType, ...], list[tuple[object, ...]]]:
    types = tuple(draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3)))
    row = st.tuples(*(values(kind).filter(fits) for kind in types))
    few = draw(st.lists(row, min_size=1, max_size=4))
    return types, draw(st.lists(st.sampled_from(few), max_size=8))


@given(keyed_rows())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_keys_of_all_types(
    shared: Members, keyed: tuple[tuple[pa.DataType, ...], list[tuple[object, ...]]]
) -> None:
    types, rows = keyed
    by = tuple(range(len(types)))
    schema = pa.schema([*((f"k{place}", kind) for place, kind in enumerate(types)), ("n", pa.int32())])
    spread = SpreadTable("t", schema, Partitioning(by, 271), shared)
    insert_all(spread, [batch(schema, *((*row, number) for number, row in enumerate(rows)))])
    path = spread.snapshot().row_path(by, (*by, len(by)))
    if path is None:  # there are no rows
        assert not rows
        return

    found = path.find(rows)

    for number, (row, some) in enumerate(zip(rows, found, strict=True)):
        assert repr((*row, number)).replace("-0.0", "0.0") in {
            repr(each).replace("-0.0", "0.0") for each in some
        }
        assert {repr(each[:-1]).replace("-0.0", "0.0") for each in some} == {repr(row).replace("-0.0", "0.0")}


def test_nested_values_are_those_of_literals(shared: Members) -> None:
    schema = pa.schema(
        [
            ("k", BIGINT),
            ("l", pa.list_(pa.date32())),
            ("m", pa.map_(STRING, pa.decimal128(5, 2))),
            ("s", pa.struct([("t", pa.timestamp("us", tz="UTC"))])),
        ]
    )
    row = (
        1,
        [datetime.date(2024, 2, 29), None],
        [("a", Decimal("1.50"))],
        {"t": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)},
    )
    spread = SpreadTable("t", schema, BY_KEY, shared)
    insert_all(spread, [batch(schema, row, (2, None, None, None))])

    assert find(spread, (1,), (2,), columns=(0, 1, 2, 3)) == [[row], [(2, None, None, None)]]


def test_a_date_beyond_pythons_years_is_an_overflow(shared: Members) -> None:
    schema = pa.schema([("k", BIGINT), ("d", pa.date32())])
    far = pa.array([4_000_000], pa.int32()).view(pa.date32())
    spread = SpreadTable("t", schema, BY_KEY, shared)
    insert_all(spread, [pa.RecordBatch.from_arrays([pa.array([1]), far], schema=schema)])

    with pytest.raises(OverflowError):
        find(spread, (1,))
    assert find(spread, (1,), columns=(0,)) == [[(1,)]]


# ---- what it costs


def test_a_key_of_another_member_costs_a_request_and_an_answer(members: Members) -> None:
    spread = table(members, *range(1000))
    path = spread.snapshot().row_path((0,), (0, 1))
    assert path is not None
    (key,) = keys_of(members, THERE, 1)
    before = messages(members)

    path.find([(key,)])

    assert messages(members) - before == {"Request": 1, "Answer": 1}


def test_a_key_of_this_member_costs_no_message(members: Members) -> None:
    spread = table(members, *range(1000))
    before = messages(members)

    found = find(spread, *((key,) for key in keys_of(members, HERE, 5)))

    assert [len(rows) for rows in found] == [1] * 5
    assert messages(members) == before


def test_many_keys_cost_a_request_for_each_member(members: Members) -> None:
    spread = table(members, *range(1000))
    before = messages(members)

    find(spread, *((key,) for key in range(500)))

    assert messages(members) - before == {"Request": 2, "Answer": 2}


# ---- by an index


def test_an_index_finds_rows_on_all_members(members: Members) -> None:
    spread = SpreadTable("t", SCHEMA, BY_KEY, members)
    insert_all(spread, [batch(SCHEMA, *((key, f"s{key % 7}") for key in range(100)))])
    spread.set_indexes((IndexDefinition("i", (1,)),))
    path = spread.snapshot().row_path((1,), (0,))
    assert path is not None
    before = messages(members)

    sixes, others = path.find([("s6",), ("none",)])

    assert sorted(sixes) == [(key,) for key in range(6, 100, 7)]
    assert others == []
    assert messages(members) - before == {"Request": 2, "Answer": 2}
    assert path.find([]) == []


def test_an_index_that_has_the_clustering_columns_asks_owners_only(members: Members) -> None:
    spread = SpreadTable("t", SCHEMA, BY_KEY, members)
    insert_all(spread, [batch(SCHEMA, *((key, str(key)) for key in range(100)))])
    spread.set_indexes((IndexDefinition("i", (1, 0)),))
    path = spread.snapshot().row_path((1, 0), (0, 1))
    assert path is not None
    (key,) = keys_of(members, THERE, 1)
    before = messages(members)

    assert path.find([(str(key), key)]) == [[(key, str(key))]]
    assert messages(members) - before == {"Request": 1, "Answer": 1}


def test_an_index_of_a_table_without_clustering(members: Members) -> None:
    spread = SpreadTable("t", SCHEMA, None, members)
    insert_all(spread, [batch(SCHEMA, *((key, str(key)) for key in range(100)))])
    spread.set_indexes((IndexDefinition("i", (0,)),))

    assert find(spread, (5,), (200,)) == [[(5, "5")], []]


# ---- when there is no way, and when it ends


def test_there_is_no_way_by_other_columns_nor_without_a_key(shared: Members) -> None:
    snapshot = table(shared, 1).snapshot()
    assert snapshot.row_path((1,), (0,)) is None
    assert snapshot.row_path((0, 1), (0,)) is None
    assert snapshot.small_rows((0,), 10) is None

    unplaced = SpreadTable("t", SCHEMA, None, shared)
    insert_all(unplaced, [batch(SCHEMA, (1, "1"))])
    assert unplaced.snapshot().row_path((0,), (0,)) is None


def test_an_empty_table_has_all_its_rows_here(shared: Members) -> None:
    snapshot = SpreadTable("t", SCHEMA, BY_KEY, shared).snapshot()

    assert snapshot.small_rows((0,), 10) == ()
    assert snapshot.row_path((0,), (0,)) is None


def test_rows_are_found_where_they_are_after_their_partitions_have_moved(members: Members) -> None:
    spread = table(members, 1, 2, 3)
    path = spread.snapshot().row_path((0,), (0,))
    assert path is not None

    members.deal_anew(MEMBERS[::-1])

    assert not spread.in_place
    assert path.find([(1,)]) == [[(1,)]]
    assert find(spread, (1,), (2,), (3,), (4,)) == [[(1, "1")], [(2, "2")], [(3, "3")], []]


def test_without_a_member_with_rows_there_is_no_way(members: Members) -> None:
    spread = table(members, 1, 2, 3)
    path = spread.snapshot().row_path((0,), (0,))
    assert path is not None

    members.deal_anew(MEMBERS[:1])

    assert spread.snapshot().row_path((0,), (0,)) is None
    with pytest.raises(OperationalError, match="partitions of `t` have moved") as caught:
        path.find([(1,)])
    assert caught.value.sqlstate == "40001"


def test_a_version_that_is_gone_says_so(members: Members) -> None:
    spread = table(members, *range(100))
    path = spread.snapshot().row_path((0,), (0,))
    assert path is not None
    for store in members.stores.values():
        for key in store.keys_held:
            store.free(key)

    for owner in (HERE, THERE):
        with pytest.raises(OperationalError, match=r"the version of `t`.*is gone") as caught:
            path.find([(keys_of(members, owner, 1)[0],)])
        assert caught.value.sqlstate == "40001"


def test_a_path_holds_its_version(members: Members) -> None:
    spread = table(members, 1)
    path = spread.snapshot().row_path((0,), (0, 1))
    assert path is not None
    insert_all(spread, [batch(SCHEMA, (1, "new"))], overwrite=True)

    assert path.find([(1,)]) == [[(1, "1")]]
    assert find(spread, (1,)) == [[(1, "new")]]


# ---- hostile questions


def question(members: Members, spread: SpreadTable, **changes: object) -> bytes:
    key = spread.snapshot().held.key
    assert key is not None
    fields = Lookup(key, "t", (0,), (0, 1), msgspec.Raw(encode_rows([(1,)])))
    return encode_lookup(msgspec.structs.replace(fields, **changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"by": (1,)}, "no access path"),
        ({"by": ()}, "no access path"),
        ({"by": (0, 1)}, "no access path"),
        ({"columns": (2,)}, "no access path"),
        ({"columns": (-1,)}, "no access path"),
        ({"keys": msgspec.Raw(encode_rows([("1",)]))}, "malformed row"),
        ({"keys": msgspec.Raw(encode_rows([(1, 2)]))}, "malformed row"),
        ({"keys": msgspec.Raw(encode_rows([(2**63,)]))}, "malformed row"),
        ({"keys": msgspec.Raw(b"\xc0")}, "malformed row"),
        ({"version": STORE}, "is gone"),
        ({"version": ""}, "is gone"),
    ],
)
def test_a_question_that_makes_no_sense(shared: Members, changes: dict[str, object], reason: str) -> None:
    spread = table(shared, 1)

    with pytest.raises(OperationalError, match=reason):
        shared.stores[HERE].answer(question(shared, spread, **changes))


@given(data=st.binary(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_that_are_no_question(shared: Members, data: bytes) -> None:
    with pytest.raises(OperationalError):
        shared.stores[HERE].answer(data)


@given(places=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_questions_are_refused_or_answered(shared: Members, places: list[tuple[int, int]]) -> None:
    content = bytearray(question(shared, table(shared, 1)))
    for place, value in places:
        content[place % len(content)] = value
    try:
        answer = shared.stores[HERE].answer(bytes(content))
    except OperationalError:
        return
    decoded = decode_question(bytes(content))
    assert isinstance(decoded, Lookup)
    assert decoded.keys
    assert answer == BEYOND or isinstance(msgspec.msgpack.decode(answer), list)
