"""Who may begin a cluster in a directory."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sqlfront.cluster.addresses import run_directory
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront.cluster.run_files import await_end, begin, begin_or_find, clear
from sqlfront_cluster.launchers.keeper_office import RUN_FILE, STOPPING, KeeperOffice, RunFile
from sqlfront_values.errors import OperationalError


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[PrivateFolder]:
    with run_directory(str(tmp_path / "run")) as directory:
        yield directory


def test_one_process_begins_a_cluster(directory: PrivateFolder) -> None:
    held = begin(directory)
    with pytest.raises(OperationalError, match="runs already"):
        begin(directory)
    held.announce("unix:/keeper", "")
    assert begin_or_find(directory, 0) == RunFile(os.getpid(), "unix:/keeper")
    held.release()


def test_nobody_begins_a_cluster_while_members_of_the_former_one_live(directory: PrivateFolder) -> None:
    leave = KeeperOffice(str(directory.path)).enter()
    for _ in range(2):
        with pytest.raises(OperationalError, match="has lost its keeper"):
            begin(directory)
    assert not await_end(directory, 0)
    leave()
    assert await_end(directory, 0)
    begin(directory).release()


def test_what_an_ended_cluster_has_left_is_removed(directory: PrivateFolder) -> None:
    """Its processes were killed while it was being stopped: with ``stopping`` nobody could become the next
    keeper."""
    directory.create(STOPPING)
    directory.create(RUN_FILE, msgspec.json.encode(RunFile(1, "unix:/keeper", 7)))
    held = begin(directory)
    assert held.epoch == 1
    assert [path.name for path in directory.path.iterdir()] == ["lock"]
    held.release()


def test_only_folders_of_sockets_are_removed(directory: PrivateFolder, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    directory.create(RUN_FILE, msgspec.json.encode(RunFile(1, "unix:/k", folder=str(tmp_path / "mine"))))
    clear(directory)
    assert (tmp_path / "mine").exists()
