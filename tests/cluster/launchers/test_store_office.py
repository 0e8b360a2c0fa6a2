"""The office of keeper in a store: an epoch belongs to one process, and a keeper that was followed learns
it."""

import errno
from pathlib import Path

import pytest

from sqlfront_cluster.launchers import store_office
from sqlfront_cluster.launchers.store_office import STILL, StoreOffice, StoreTenure, begin, keeper_in
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_engine.testing import FakeClock
from sqlfront_values.errors import OperationalError


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def first(store: str, clock: FakeClock) -> StoreTenure:
    """The office, held by the keeper of a new cluster."""
    tenure = begin(store, clock, sleep=clock.advance)
    tenure.announce("10.0.0.1:7654", "")
    return tenure


def office_of(store: str, clock: FakeClock) -> StoreOffice:
    found = StoreOffice.found(store, clock, "10.0.0.1:7654")
    assert found is not None
    return found


def test_the_first_keeper_begins(first: StoreTenure, store: str, clock: FakeClock) -> None:
    assert (first.epoch, first.begins, first.is_held()) == (1, True, True)
    present = office_of(store, clock).present()
    assert present is not None and (present.epoch, present.address) == (1, "10.0.0.1:7654")
    assert keeper_in(store, clock) == "10.0.0.1:7654"


def test_nobody_follows_a_keeper_whose_beats_go_on(first: StoreTenure, store: str, clock: FakeClock) -> None:
    office = office_of(store, clock)
    for _ in range(5):
        assert first.is_held()
        assert office.take(after=1, silent=True) is None
        clock.advance(STILL * 0.9)


def test_one_process_follows_a_keeper_whose_beats_have_stopped_and_the_keeper_learns_it(
    first: StoreTenure, store: str, clock: FakeClock
) -> None:
    one, other = office_of(store, clock), office_of(store, clock)
    assert one.take(after=1, silent=False) is None and other.take(after=1, silent=False) is None
    clock.advance(STILL)
    second = one.take(after=1, silent=False)
    assert second is not None and (second.epoch, second.begins) == (2, False)
    assert other.take(after=1, silent=False) is None
    assert second.is_held() and not first.is_held()
    second.announce("10.0.0.2:7000", "")
    present = other.present()
    assert present is not None and (present.epoch, present.address) == (2, "10.0.0.2:7000")


def test_a_keeper_that_leaves_is_followed_at_once(first: StoreTenure, store: str, clock: FakeClock) -> None:
    office = office_of(store, clock)
    first.release()
    assert office.take(after=1, silent=False) is not None


def test_a_second_cluster_is_refused_while_the_first_one_has_a_keeper(
    first: StoreTenure, store: str, clock: FakeClock
) -> None:
    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        assert first.is_held()

    with pytest.raises(OperationalError, match=r"a cluster runs with the store .*10\.0\.0\.1:7654"):
        begin(store, clock, sleep)


def test_a_cluster_begins_after_the_end_of_the_former_one(
    first: StoreTenure, store: str, clock: FakeClock
) -> None:
    office = office_of(store, clock)
    first.release(ends=True)
    before = clock.now()
    following = begin(store, clock, sleep=clock.advance)
    assert clock.now() == before
    assert (following.epoch, following.begins) == (2, True)
    assert office.present() is None  # for a member of the former cluster there is no keeper any more


def test_a_cluster_whose_processes_were_killed_is_given_time(
    first: StoreTenure, store: str, clock: FakeClock
) -> None:
    before = clock.now()
    assert begin(store, clock, sleep=clock.advance).begins
    assert clock.now() - before >= store_office.PATIENCE
    assert not first.is_held()


def test_members_of_a_keeper_without_the_store_have_no_office(first: StoreTenure, store: str) -> None:
    assert StoreOffice.found(store, FakeClock(), "10.0.0.9:1") is None


def test_a_store_that_nobody_may_write_is_told(
    store: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: LocalFolder, name: str, data: bytes) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(LocalFolder, "create", refuse)
    with pytest.raises(OperationalError, match=r"which decides on the keeper, can't be used: .*denied"):
        begin(store, clock)


def test_a_keeper_that_does_not_reach_the_store_says_so(
    first: StoreTenure, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: LocalFolder, name: str, data: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(LocalFolder, "create", fail)
    with pytest.raises(OSError, match="Input/output"):
        first.is_held()
