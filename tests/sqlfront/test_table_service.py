"""What a member does for tables: which shares it keeps, and for how long."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pyarrow as pa
import pytest

from sqlfront.cluster.service import TableService
from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.document import Document
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_connectors.memory.exchange.holding import GRACE, STAGED
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.documents import TABLE, TURN, TableDocument, Turn
from sqlfront_connectors.memory.spread.version_keys import attempt_token
from sqlfront_engine.memory import MemoryBudget
from sqlfront_engine.testing.clock import FakeClock
from sqlfront_values.errors import OperationalError

WRITER = "unix:/run/a@b#1"
SHARE = TableShare(pa.schema([]))


class Place:
    """A member's service, with documents as a test says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.service = TableService()
        members = MemberList(1, (MemberInfo("m"), MemberInfo(WRITER, lite=True)), ())
        self.membership = SimpleNamespace(
            name="m",
            watchers=[],
            followers=[],
            list_watchers=[],
            documents={},
            is_present=lambda name: name in members,
        )
        self.engine = SimpleNamespace(
            clock=self.clock, memory=MemoryBudget("the member", 100), tables=MemoryBudget("the member", 100)
        )
        self.service.attach(
            SimpleNamespace(  # type: ignore[arg-type]
                membership=self.membership,
                engine=self.engine,
                member=SimpleNamespace(members=members),
            )
        )
        self.versions = 0

    @property
    def shares(self) -> set[str]:
        return set(self.service._store.keys_held)

    def put(self, key: str, content: bytes | None) -> None:
        self.versions += 1
        if content is None:
            del self.membership.documents[key]
        else:
            self.membership.documents[key] = Document(self.versions, content)
        for watcher in (*self.membership.watchers, *self.membership.followers):
            watcher(key)

    def write(self, number: int) -> str:
        """A whole turn; returns the key of its version."""
        token = f"{WRITER}.{number}"
        key = f"t@{token}.1"
        self.put(f"{TURN}t", msgspec.msgpack.encode(Turn(WRITER, token)))
        self.stage(key)
        self.publish(key)
        self.put(f"{TURN}t", None)
        return key

    def stage(self, key: str) -> None:
        store = self.service.resources
        store.stage(key, SHARE)  # type: ignore[attr-defined]

    def publish(self, key: str) -> None:
        table = TableDocument("t", pa.schema([]), None, WRITER, False, self.versions, key, b"", 0, ())
        self.put(f"{TABLE}t", codec.encode(table))


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_replaced_version_is_kept_for_some_time(place: Place) -> None:
    first, second = place.write(1), place.write(2)
    assert place.shares == {first, second}
    place.clock.advance(GRACE - 1)
    assert place.shares == {first, second}
    place.clock.advance(1)
    assert place.shares == {second}


def test_a_replaced_version_goes_at_once_where_memory_is_short(place: Place) -> None:
    place.write(1)
    second = place.write(2)

    place.engine.memory.charge(100, "a sort")
    assert len(place.shares) == 2
    with pytest.raises(OperationalError, match="a join needs"):
        place.engine.memory.charge(1, "a join")

    assert place.shares == {second}


def test_a_share_that_comes_when_its_turn_is_over_goes_soon(place: Place) -> None:
    place.stage(f"t@{WRITER}.1.1")
    place.clock.advance(STAGED)
    assert place.shares == set()


def test_one_timer_is_enough_however_much_is_written(place: Place) -> None:
    for number in range(200):
        place.write(number)
        place.clock.advance(0.5)
        assert len(place.clock._timers) <= 1
    place.clock.advance(GRACE)
    assert len(place.shares) == 1 and not place.clock._timers


def attempt(place: Place, number: int) -> str:
    """Stage a share of a change without a turn; returns its key."""
    key = f"t@{attempt_token(f'{WRITER}.a', place.membership.documents[f'{TABLE}t'].version)}.{number}"
    place.stage(key)
    return key


def test_a_share_made_without_a_turn_is_kept_until_the_table_changes(place: Place) -> None:
    first = place.write(1)
    tried, published = attempt(place, 1), attempt(place, 2)
    place.clock.advance(10 * STAGED)
    assert place.shares == {first, tried, published}

    place.publish(published)
    assert place.shares == {first, published}


def test_a_share_that_has_just_been_published_is_kept_by_a_sweep_that_comes_first(place: Place) -> None:
    """A sweep on another thread comes between the change of the document and its followers."""
    first = place.write(1)
    published = attempt(place, 1)
    followers, place.membership.followers = place.membership.followers, [lambda key: place.service.sweep()]
    place.publish(published)
    assert place.shares == {first, published}

    place.membership.followers = followers
    followers[0](f"{TABLE}t")
    place.clock.advance(GRACE)
    assert place.shares == {published}


def test_a_share_made_without_a_turn_goes_with_its_writer_and_with_its_table(place: Place) -> None:
    first = place.write(1)
    attempt(place, 1)
    place.membership.is_present = lambda name: False
    place.service._hear_list()
    assert place.shares == {first}

    place.membership.is_present = lambda name: True
    attempt(place, 2)
    place.put(f"{TABLE}t", None)
    assert place.shares == {first}


def test_a_dropped_tables_shares_go(place: Place) -> None:
    place.write(1)
    place.put(f"{TABLE}t", None)
    place.clock.advance(GRACE)
    assert place.shares == set()
