"""Rows of spread tables changed by their keys in one question: the members find the rows."""

import math
from collections.abc import Callable, Iterator
from threading import Event

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlfront_cluster.codec.rows import encode_rows
from sqlfront_connectors.base import Key, Partitioning, TooManyRows, insert_all
from sqlfront_connectors.memory.keyed_table import NewValues
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.spread.key_changes import (
    KeyAnswer,
    KeyChange,
    encode_key_change,
    read_answers,
)
from sqlfront_connectors.memory.spread.lookup import BEYOND, TOO_MANY
from sqlfront_connectors.memory.spread.row_changes import NO_SHARE
from sqlfront_connectors.memory.spread.store import decode_question
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_values.errors import OperationalError
from sqlfront_values.types import BIGINT, DOUBLE
from tests.cluster.codec.values import FLAT, values
from tests.connectors.test_spread import Members
from tests.connectors.test_spread_rows import (
    BY_KEY,
    HERE,
    SCHEMA,
    THERE,
    batch,
    find,
    fits,
    keys_of,
    messages,
    table,
)

NEW = NewValues((1,), ("new",))


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


def test_a_change_by_keys_costs_one_question_to_each_member_with_rows(members: Members) -> None:
    spread = table(members, *range(50))
    there = [(key,) for key in keys_of(members, THERE, 2)]
    before = messages(members)

    assert spread.change_keys(there, NEW) == 2
    assert messages(members) - before == {"Request": 1, "Answer": 1}
    assert find(spread, *there) == [[(key, "new")] for (key,) in there]


def test_rows_are_changed_and_deleted_on_all_members(members: Members) -> None:
    spread = table(members, *range(50), 7)

    assert spread.change_keys([(key,) for key in (5, 6, 7, 99)], NEW) == 4
    assert spread.change_keys([(key,) for key in (7, 8, 99)], None) == 3
    expected = [(key, "new" if key in (5, 6) else str(key)) for key in range(50) if key not in (7, 8)]
    assert members.read(spread) == expected
    assert spread.snapshot().statistics.rows == 48


def test_a_change_of_no_rows_publishes_nothing(members: Members) -> None:
    spread = table(members, *range(50))
    key, keys = spread.snapshot().held.key, members.keys()

    assert spread.change_keys([(99,)], None) == 0
    assert spread.change_keys([], NEW) == 0
    assert (spread.snapshot().held.key, members.keys()) == (key, keys)


def test_members_without_the_rows_keep_their_shares(members: Members) -> None:
    spread = table(members, *range(50))
    (there,) = keys_of(members, THERE, 1)
    absent = next(key for key in keys_of(members, HERE, 100) if key >= 50)
    before = members.shares(spread.snapshot().held.key)

    assert spread.change_keys([(there,), (absent,)], NEW) == 1
    after = members.shares(spread.snapshot().held.key)
    assert [was is now for was, now in zip(before, after, strict=True)] == [True, False, True]


def test_equal_keys_change_a_row_once(members: Members) -> None:
    spread = SpreadTable("t", pa.schema([("k", DOUBLE), ("s", pa.string())]), BY_KEY, members)
    insert_all(spread, [batch(spread.schema, (math.nan, "a"), (0.0, "b"))])
    nan = float("nan")

    assert spread.change_keys([(math.nan,), (nan,), (-0.0,), (0.0,)], NEW) == 2
    assert [row[1] for rows in find(spread, (nan,), (0.0,)) for row in rows] == ["new", "new"]


def test_a_table_without_rows_or_partition_key_has_to_find_them(members: Members) -> None:
    empty, unkeyed = (SpreadTable("t", SCHEMA, key, members) for key in (BY_KEY, None))
    insert_all(unkeyed, [batch(SCHEMA, (1, "1"))])

    assert empty.change_keys([(1,)], NEW) is None
    assert unkeyed.change_keys([(1,)], NEW) is None


def test_rows_whose_partitions_have_moved_are_changed_where_they_are(members: Members) -> None:
    spread = table(members, *range(50))
    members.deal_anew(["embedded-0", "embedded-1", "embedded-2"])

    assert spread.change_keys([(1,)], NEW) == 1
    assert find(spread, (1,)) == [[(1, "new")]]
    assert not spread.in_place


def test_a_stopped_query_changes_nothing(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = table(members, *range(50))
    key, (other,) = spread.snapshot().held.key, keys_of(members, THERE, 1)
    query = members.cluster.coordinator.engine.begin_query()
    store, stopped = members.stores[THERE], Event()

    def late(content: bytes, answer: Callable[[bytes], bytes] = store.answer) -> bytes:
        assert stopped.wait(60)
        return answer(content)

    monkeypatch.setattr(store, "answer", late)
    query.cancel()
    try:
        with pytest.raises(OperationalError) as caught:
            spread.change_keys([(other,)], None, query)
    finally:
        stopped.set()

    assert caught.value.sqlstate == "HY008"
    assert spread.snapshot().held.key == key


# ---- the same as by rows that are found first


@st.composite
def changes(draw: st.DrawFn) -> tuple[tuple[pa.DataType, ...], list[Key], list[Key], NewValues | None]:
    """The types of a table's columns, of which the first is the key, its rows, keys, and new values."""
    types = (
        draw(st.sampled_from((BIGINT, pa.string(), pa.date32()))),
        *draw(st.lists(st.sampled_from(FLAT), max_size=3)),
    )
    rows = draw(st.lists(st.tuples(*(values(kind).filter(fits) for kind in types)), min_size=1, max_size=6))
    keys = list(dict.fromkeys(row[:1] for row in draw(st.lists(st.sampled_from(rows), max_size=3))))
    places = draw(st.lists(st.sampled_from(range(1, len(types))), unique=True)) if len(types) > 1 else []
    new = tuple(draw(values(types[place]).filter(fits)) for place in places)
    return types, rows, keys, NewValues(tuple(places), new) if draw(st.booleans()) else None


@given(changes())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_rows_are_those_of_a_change_of_found_rows(
    members: Members, change: tuple[tuple[pa.DataType, ...], list[Key], list[Key], NewValues | None]
) -> None:
    types, rows, keys, new = change
    schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate(types)])
    by_keys, by_rows = (SpreadTable("t", schema, Partitioning((0,), 271), members) for _ in range(2))
    for each in (by_keys, by_rows):
        insert_all(each, [batch(schema, *rows)])

    def found() -> list[tuple[object, ...]]:
        columns = (*range(len(types)), len(types))
        path = NumberedTable(by_rows).snapshot().row_path((0,), columns)
        assert path is not None
        matched = [row for some in path.find(keys) for row in some]
        if new is None:
            return [(row[0], row[-1]) for row in matched]
        said = dict(zip(new.places, new.values, strict=True))
        return [tuple(said.get(place, value) for place, value in enumerate(row)) for row in matched]

    count = by_rows.change_found(found, stores=new is not None)
    assert by_keys.change_keys(keys, new) == count
    assert repr(find_all(by_keys, rows)) == repr(find_all(by_rows, rows))
    assert by_keys.snapshot().held.known == by_rows.snapshot().held.known


def find_all(spread: SpreadTable, rows: list[Key]) -> list[list[tuple[object, ...]]]:
    """The present rows of the keys that the table had at first."""
    path = spread.snapshot().row_path((0,), tuple(range(len(spread.schema))))
    return [] if path is None else [sorted(some, key=repr) for some in path.find([row[:1] for row in rows])]


# ---- hostile questions and answers


def question(spread: SpreadTable, **changed: object) -> bytes:
    key = spread.snapshot().held.key
    assert key is not None
    encoded = encode_key_change("t@new", key, "t", 0, NEW, False, [(HERE, [(1,)])])
    content = decode_question(encoded)
    assert isinstance(content, KeyChange)
    ((owner, keys),) = content.changes
    share = changed.pop("owner", owner), changed.pop("keys", keys)
    return msgspec.msgpack.encode(msgspec.structs.replace(content, changes=(share,), **changed))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"keys": msgspec.Raw(encode_rows([("1",)]))}, "malformed row"),
        ({"keys": msgspec.Raw(encode_rows([(1, 2)]))}, "malformed row"),
        ({"keys": msgspec.Raw(b"\xc0")}, "malformed row"),
        ({"values": msgspec.Raw(encode_rows([(1,)]))}, "malformed row"),
        ({"values": msgspec.Raw(encode_rows([("a", "b")]))}, "malformed row"),
        ({"values": msgspec.Raw(encode_rows([]))}, "malformed"),
        ({"values": msgspec.Raw(encode_rows([("a",), ("b",)]))}, "malformed"),
        ({"places": (0,)}, "no row stays on its member"),
        ({"places": (2,)}, "no row stays on its member"),
        ({"places": (-1,)}, "no row stays on its member"),
        ({"places": (1, 1)}, "malformed"),
        ({"owner": THERE}, "is gone"),
        ({"base": ""}, "is gone"),
        ({"dealt": 9}, "have moved"),
    ],
)
def test_a_change_that_makes_no_sense(members: Members, changed: dict[str, object], reason: str) -> None:
    spread = table(members, *keys_of(members, HERE, 3), 1)
    keys = members.keys()
    asked = question(
        spread, **({"keys": msgspec.Raw(encode_rows([(keys_of(members, HERE, 1)[0],)]))} | changed)
    )

    with pytest.raises(OperationalError, match=reason):
        members.stores[HERE].answer(asked)
    assert members.keys() == keys


@given(places=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_changed_questions_are_refused_or_answered(members: Members, places: list[tuple[int, int]]) -> None:
    spread = table(members, *keys_of(members, HERE, 3))
    content = bytearray(question(spread))
    for place, value in places:
        content[place % len(content)] = value
    try:
        members.stores[HERE].answer(bytes(content))
    except OperationalError:
        return
    finally:
        for key in members.keys() - {spread.snapshot().held.key}:
            members.release(key)


def answer(*counts: int) -> bytes:
    return msgspec.msgpack.encode(KeyAnswer(counts, msgspec.Raw(NO_SHARE)))


def test_answers_are_read_by_the_shares_of_the_question() -> None:
    found = read_answers("t", {"a": ["a", "b"], "b": ["b"]}, {"a": answer(2, 0), "b": answer(0)})

    assert {owner: count for owner, (count, _) in found.items()} == {"a": 2, "b": 0}


@pytest.mark.parametrize(
    ("told", "error", "reason"),
    [
        (answer(1), OperationalError, "not where they were found"),
        (answer(), OperationalError, "malformed answer"),
        (answer(2, 2), OperationalError, "malformed answer"),
        (b"\xc1", OperationalError, "malformed answer"),
        (b"", OperationalError, "malformed answer"),
        (BEYOND, OverflowError, "beyond Python"),
        (TOO_MANY, TooManyRows, "^$"),
    ],
)
def test_an_answer_that_does_not_fit(told: bytes, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        read_answers("t", {"a": ["a"], "b": ["a"]}, {"a": answer(2), "b": told})
