"""A stranger on the same machine who was first at the place where a cluster keeps its secret."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlfront.cluster.addresses import find, lock, run_directory
from sqlfront.cluster.credentials import Protection
from sqlfront.cluster.private_folder import PrivateFolder
from sqlfront_values.errors import OperationalError

STRANGER = 65534
USER = os.getuid()
as_root = pytest.mark.skipif(USER != 0, reason="only root can give files to a stranger")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of a machine without XDG_RUNTIME_DIR, where everybody may write."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of somebody's, with files of the names that a cluster uses."""
    folder = tmp_path / "victim"
    (folder / "sqlfront-cluster").mkdir(parents=True)
    for name in ("secret", "lock", "launcher.log", "cluster.json"):
        (folder / name).write_text(f"precious {name}")
        (folder / "sqlfront-cluster" / name).write_text(f"precious {name}")
    folder.chmod(0o700)
    (folder / "sqlfront-cluster").chmod(0o700)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def give(path: Path) -> None:
    """Make the stranger its owner, if that can be done here."""
    if USER == 0:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def a_link_in_place_of_the_users_folder(temporary: Path, victim: Path) -> None:
    link = temporary / f"sqlfront-{USER}"
    link.symlink_to(victim)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)


def a_link_in_place_of_the_clusters_folder(temporary: Path, victim: Path) -> None:
    (temporary / f"sqlfront-{USER}").mkdir(0o700)
    (temporary / f"sqlfront-{USER}" / "sqlfront-cluster").symlink_to(victim)


def a_folder_of_the_stranger(temporary: Path, victim: Path) -> None:
    folder = temporary / f"sqlfront-{USER}"
    folder.mkdir(0o700)
    os.chown(folder, STRANGER, STRANGER)


def a_clusters_folder_of_the_stranger(temporary: Path, victim: Path) -> None:
    folder = temporary / f"sqlfront-{USER}" / "sqlfront-cluster"
    folder.mkdir(0o700, parents=True)
    os.chown(folder, STRANGER, STRANGER)


def a_folder_open_to_all(temporary: Path, victim: Path) -> None:
    folder = temporary / f"sqlfront-{USER}" / "sqlfront-cluster"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    folder.chmod(0o755)


def a_way_open_to_all(temporary: Path, victim: Path) -> None:
    folder = temporary / f"sqlfront-{USER}"
    folder.mkdir()
    folder.chmod(0o777)


def a_file_in_place_of_the_folder(temporary: Path, victim: Path) -> None:
    (temporary / f"sqlfront-{USER}").write_text("squatted")


@as_root
@pytest.mark.parametrize(
    "squat",
    [
        a_link_in_place_of_the_users_folder,
        a_link_in_place_of_the_clusters_folder,
        a_folder_of_the_stranger,
        a_clusters_folder_of_the_stranger,
        a_folder_open_to_all,
        a_way_open_to_all,
        a_file_in_place_of_the_folder,
    ],
)
def test_a_squatted_place_is_refused(
    temporary: Path, victim: Path, squat: Callable[[Path, Path], None]
) -> None:
    squat(temporary, victim)
    before = contents(victim)

    for use in (lambda: run_directory(None), lambda: find("sqlfront://", Protection())):
        with pytest.raises(OperationalError):
            use()
    assert contents(victim) == before


def test_the_command_leaves_the_victims_files_alone(temporary: Path, victim: Path) -> None:
    link = temporary / f"sqlfront-{USER}"
    link.symlink_to(victim / "sqlfront-cluster")
    give(link)
    before = contents(victim)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TMPDIR": str(temporary),
    }
    for action in (["start", "-n", "1"], ["stop"], ["status"]):
        command = [sys.executable, "-m", "sqlfront", "cluster", *action]
        tried = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        if USER == 0:
            assert tried.returncode == 1 and "is a symbolic link of another user" in tried.stderr, tried
    assert contents(victim) == before


@pytest.mark.parametrize("name", ["secret", "lock", "cluster.json"])
def test_a_link_among_the_files_is_not_followed(tmp_path: Path, victim: Path, name: str) -> None:
    (tmp_path / "run").mkdir(0o700)
    (tmp_path / "run" / name).symlink_to(victim / name)
    before = contents(victim)

    with PrivateFolder(tmp_path / "run") as folder:
        with pytest.raises(OperationalError, match="is a symbolic link"):
            folder.read(name)
        with pytest.raises(OperationalError, match="is a symbolic link"):
            folder.open(name, os.O_RDWR | os.O_CREAT)
        folder.create(name, b"mine")
        assert folder.read(name) == b"mine"
    assert contents(victim) == before


def test_folders_that_change_places_afterwards_lead_nowhere(tmp_path: Path, victim: Path) -> None:
    with PrivateFolder(tmp_path / "run") as folder:
        (tmp_path / "run").rename(tmp_path / "moved")
        (tmp_path / "run").symlink_to(victim)
        folder.create("secret", b"mine")
        folder.remove("lock")

    assert (tmp_path / "moved" / "secret").read_bytes() == b"mine"
    assert (victim / "secret").read_text() == "precious secret" and (victim / "lock").exists()


def test_the_usual_place_is_made_for_this_user_alone(temporary: Path) -> None:
    with run_directory(None) as folder:
        descriptor = lock(folder)
        assert descriptor is not None
        os.close(descriptor)
        folder.create("secret", b"x")

    made = temporary / f"sqlfront-{USER}" / "sqlfront-cluster"
    modes = [path.stat().st_mode & 0o7777 for path in (made.parent, made, made / "lock", made / "secret")]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_a_link_of_this_users_own_may_be_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to("real")

    with PrivateFolder(tmp_path / "name" / "run") as folder:
        folder.create("secret", b"x")

    assert (tmp_path / "real" / "run" / "secret").exists()
