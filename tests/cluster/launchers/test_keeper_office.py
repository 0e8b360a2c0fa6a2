"""The office of keeper: one process at a time has it, and each has an epoch of its own."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sqlfront_cluster.launchers.keeper_office import (
    CREDENTIALS,
    LOCK,
    RUN_FILE,
    STOPPING,
    KeeperOffice,
    RunFile,
)


@pytest.fixture
def office(tmp_path: Path) -> KeeperOffice:
    """The office of a keeper of epoch 1 that has ended."""
    (tmp_path / RUN_FILE).write_bytes(msgspec.json.encode(RunFile(1, "unix:/keeper", folder="/members")))
    return KeeperOffice(str(tmp_path))


@pytest.fixture
def stopped(office: KeeperOffice) -> Iterator[KeeperOffice]:
    """The same office, whose keeper was stopped and has the lock nevertheless."""
    descriptor = os.open(office.folder / LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield office
    os.close(descriptor)


def test_the_next_keeper_has_the_next_epoch(office: KeeperOffice) -> None:
    held = office.take(after=1, silent=False)
    assert held is not None and held.is_held() and held.epoch == 2
    held.announce("unix:/keeper.2", "/members")
    assert office.present() == RunFile(os.getpid(), "unix:/keeper.2", 2, "/members")
    held.release()


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_damaged_credentials_keep_nobody_from_being_the_keeper(office: KeeperOffice, content: bytes) -> None:
    (office.folder / CREDENTIALS).write_bytes(content)
    held = office.take(after=1, silent=False)
    assert held is not None
    held.announce("unix:/keeper.2", "/members")
    assert office.present() == RunFile(os.getpid(), "unix:/keeper.2", 2, "/members")
    assert (office.folder / CREDENTIALS).read_bytes() == content
    held.release()


@pytest.mark.parametrize("silent", [False, True])
def test_nobody_has_the_epoch_of_a_keeper_that_is_not_at_its_address_yet(
    office: KeeperOffice, *, silent: bool
) -> None:
    held = office.take(after=1, silent=False)
    assert held is not None
    assert office.take(after=1, silent=silent) is None
    assert office.present() == RunFile(os.getpid(), "unix:/keeper", 2, "/members")
    assert held.is_held()
    held.release()
    following = office.take(after=2, silent=False)
    assert following is not None and following.epoch == 3
    following.release()


def test_a_keeper_that_was_stopped_is_followed_by_one_process(stopped: KeeperOffice) -> None:
    assert stopped.take(after=1, silent=False) is None
    held = stopped.take(after=1, silent=True)
    assert held is not None
    assert stopped.take(after=1, silent=True) is None
    assert stopped.take(after=2, silent=False) is None
    assert held.is_held()
    held.release()


def test_nobody_takes_the_office_of_a_cluster_that_is_stopped_or_has_ended(office: KeeperOffice) -> None:
    (office.folder / STOPPING).touch()
    assert office.take(after=1, silent=True) is None
    (office.folder / STOPPING).unlink()
    (office.folder / RUN_FILE).unlink()
    assert office.take(after=1, silent=True) is None
