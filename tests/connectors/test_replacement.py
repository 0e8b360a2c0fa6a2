"""The replacement of a folder: its old contents or the new ones, whoever dies, reads and writes meanwhile."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sqlfront_connectors.files import replacement
from sqlfront_connectors.files.commits import complete_dead
from sqlfront_connectors.files.exchange import exchange
from sqlfront_connectors.files.replacement import (
    FolderSwap,
    Replacement,
    ReplacementInPlace,
    begin_replacement,
)
from sqlfront_connectors.files.writers import PREFIX, locked
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_values.errors import OperationalError, ProgrammingError

#: The files of a version; each has the version's text.
NAMES = ("part-0", "part-1", "_SUCCESS")


def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a system without the exchange."""

    def missing(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(replacement, "exchange", missing)


def write(text: str, into: Replacement) -> Replacement:
    for name in NAMES:
        Path(into.part(name)).write_text(text)
    return into


def replace(folder: Path, text: str) -> None:
    write(text, begin_replacement(str(folder), EVERYWHERE)).commit()


def seen(folder: Path) -> set[tuple[str, str]]:
    """All files below the folder, with their texts."""
    return {(str(path.relative_to(folder)), path.read_text()) for path in folder.rglob("*") if path.is_file()}


def version(text: str) -> set[tuple[str, str]]:
    return {(name, text) for name in NAMES}


def left_beside(folder: Path) -> list[str]:
    places = (folder.parent, folder)
    return [
        name for place in places if place.is_dir() for name in os.listdir(place) if name.startswith(PREFIX)
    ]


WAYS = pytest.mark.parametrize("way", [FolderSwap, ReplacementInPlace])


@pytest.fixture(autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no exchange in the tests of the way in place."""
    if (
        getattr(request.node, "callspec", None)
        and request.node.callspec.params.get("way") is ReplacementInPlace
    ):
        no_exchange(monkeypatch)


@WAYS
def test_all_that_was_there_goes(tmp_path: Path, way: type) -> None:
    folder = tmp_path / "out"
    (folder / "p=1" / "deep").mkdir(parents=True)
    for name in ("notes.txt", ".hidden", "_SUCCESS", "._SUCCESS.crc", "p=1/a", "p=1/deep/b"):
        (folder / name).write_text("old")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis").write_text("kept")
    (folder / "link").symlink_to(tmp_path / "precious")

    begun = begin_replacement(str(folder), EVERYWHERE)
    assert isinstance(begun, way)
    write("new", begun).commit()

    assert seen(folder) == version("new")
    assert sorted(os.listdir(folder)) == sorted(NAMES)
    assert (tmp_path / "precious" / "thesis").read_text() == "kept"
    assert not left_beside(folder)


@WAYS
def test_a_folder_that_is_not_there_is_made_with_its_parents(tmp_path: Path, way: type) -> None:
    folder = tmp_path / "a" / "b" / "out"

    replace(folder, "new")

    assert seen(folder) == version("new") and not left_beside(folder)


@WAYS
def test_an_aborted_replacement_leaves_the_old_contents_alone(tmp_path: Path, way: type) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")

    begun = write("new", begin_replacement(str(folder), EVERYWHERE))
    assert seen(folder) >= version("old")
    begun.abort()
    begun.abort()

    assert seen(folder) == version("old") and not left_beside(folder)


@WAYS
def test_a_part_is_begun_once(tmp_path: Path, way: type) -> None:
    begun = begin_replacement(str(tmp_path / "out"), EVERYWHERE)
    begun.part("part-0-task-7")

    if way is FolderSwap:
        with pytest.raises(FileExistsError):
            begun.part("part-0-task-7")
    begun.abort()


@WAYS
def test_the_replaced_folder_keeps_its_mode(tmp_path: Path, way: type) -> None:
    folder = tmp_path / "out"
    folder.mkdir(mode=0o700)
    folder.chmod(0o2750)

    replace(folder, "new")

    assert folder.stat().st_mode & 0o7777 == 0o2750


def test_the_new_folder_takes_the_place_of_a_link_whose_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_text("kept")
    for name, target in (("link", "target"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / target)

        replace(tmp_path / name, "new")

        assert not (tmp_path / name).is_symlink() and seen(tmp_path / name) == version("new")
    assert seen(tmp_path / "target") == {("file", "kept")} and not (tmp_path / "nowhere").exists()


def test_the_new_folder_takes_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")

    replace(tmp_path / "out", "new")

    assert seen(tmp_path / "out") == version("new") and not left_beside(tmp_path / "out")


def test_links_above_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    replace(tmp_path / "link" / "out", "new")

    assert (tmp_path / "link").is_symlink() and seen(tmp_path / "real" / "out") == version("new")


def test_the_current_directory_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder)

    begun = begin_replacement(".", EVERYWHERE)
    assert isinstance(begun, ReplacementInPlace)
    write("new", begun).commit()

    assert seen(Path(os.getcwd())) == version("new")


def test_only_allowed_folders_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    access = FileAccess.of([str(tmp_path / "mine")])
    with pytest.raises(ProgrammingError, match="may not be read or written"):
        begin_replacement(str(tmp_path / "yours"), access)
    (tmp_path / "mine" / "link").symlink_to(tmp_path)
    with pytest.raises(ProgrammingError, match="may not be read or written"):
        begin_replacement(str(tmp_path / "mine" / "link" / "yours"), access)

    for folder, way in ((tmp_path / "mine" / "out", FolderSwap), (tmp_path / "mine", ReplacementInPlace)):
        for text in ("old", "new"):
            begun = begin_replacement(str(folder), access)
            assert isinstance(begun, way)
            write(text, begun).commit()
        assert seen(folder) == version("new")
    assert not left_beside(tmp_path / "mine") and os.listdir(tmp_path) == ["mine"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as others")
def test_a_folder_in_a_closed_parent_is_replaced_in_place() -> None:
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        parent.chmod(0o755)
        folder = parent / "out"
        folder.mkdir()
        os.chown(folder, 1001, 1001)
        (folder / "old").write_text("old")
        os.seteuid(1001)
        try:
            begun = begin_replacement(str(folder), EVERYWHERE)
            assert isinstance(begun, ReplacementInPlace)
            write("new", begun).commit()
            assert seen(folder) == version("new")
            with pytest.raises(PermissionError):
                begin_replacement(str(parent / "other"), EVERYWHERE)
        finally:
            os.seteuid(0)


# ---- death


def dies_at(step: int, work: Callable[[], object], calls: tuple[str, ...]) -> bool:
    """Do the work in a child process that is killed by SIGKILL before its n-th change of the disk; False if
    the work had fewer."""
    child = os.fork()
    if child == 0:
        left = step

        def dying(function: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*arguments, **named)

            return call

        for place, name in (*((os, call) for call in calls), (replacement, "exchange")):
            setattr(place, name, dying(getattr(place, name)))
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("is_there", [True, False], ids=["over a folder", "of a missing folder"])
def test_who_is_killed_at_any_step_leaves_the_old_or_the_new_contents(
    tmp_path: Path, is_there: bool, every: int
) -> None:
    calls = ("open", "mkdir", "rename", "unlink", "rmdir", "fchmod", "close", "stat", "scandir")
    before = version("old") if is_there else set()
    states, died = list[bool](), True
    while died:
        folder = tmp_path / str(len(states)) / "out"
        folder.parent.mkdir()
        if is_there:
            replace(folder, "old")
        died = dies_at(len(states) * every, partial(replace, folder, "new"), calls)

        assert seen(folder) in (before, version("new")), len(states)
        states.append(seen(folder) == version("new"))
        replace(folder, "third")
        assert seen(folder) == version("third") and not left_beside(folder)
    assert len(states) > 20 / every and states == sorted(states) and True in states[:-1] and not states[0]


def test_without_the_exchange_the_next_writer_completes_what_the_killed_one_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_exchange(monkeypatch)
    states, died = list[bool](), True
    while died:
        folder = tmp_path / str(len(states)) / "out"
        folder.parent.mkdir()
        replace(folder, "old")
        died = dies_at(len(states), partial(replace, folder, "new"), ("open", "mkdir", "rename", "unlink"))

        write("third", begin_replacement(str(folder), EVERYWHERE)).abort()
        with locked(str(folder), EVERYWHERE) as place:
            complete_dead(place)
        found = seen(folder)
        assert found in (version("old"), version("new")), len(states)
        states.append(found == version("new"))
        replace(folder, "third")
        assert seen(folder) == version("third") and not left_beside(folder)
    assert len(states) > 20 and states == sorted(states)


# ---- others meanwhile

_READER = """
import os, sys
folder, seen, looks = sys.argv[1], set(), 0
while not os.path.exists(folder + ".done"):
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # raises if nothing is there
    texts = set()
    for number in range(20):
        try:
            with open(os.open(f"part-{number}", os.O_RDONLY, dir_fd=place)) as file:
                texts.add(file.read())
        except FileNotFoundError:  # an old folder, which is being removed
            texts.clear()
            break
    os.close(place)
    assert len(texts) <= 1, texts
    seen |= texts
    looks += 1
print(len(seen), looks)
"""


def test_other_programs_see_whole_versions_while_two_writers_replace_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"

    def put(text: str) -> None:
        begun = begin_replacement(str(folder), EVERYWHERE)
        for number in range(20):
            Path(begun.part(f"part-{number}")).write_text(text)
        begun.commit()

    put("0")
    readers = [
        subprocess.Popen([sys.executable, "-c", _READER, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    def write_many(letter: str) -> None:
        for number in range(60):
            put(f"{letter}{number}")

    writers = [threading.Thread(target=write_many, args=(letter,)) for letter in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    last = {text for _, text in seen(folder)}
    (tmp_path / "out.done").touch()
    told = [reader.communicate()[0].split() for reader in readers]

    assert last in ({"a59"}, {"b59"}) and not left_beside(folder)
    assert all(reader.returncode == 0 for reader in readers)
    assert max(int(versions) for versions, _ in told) > 1


def test_a_reader_that_lists_the_folder_is_awaited(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    writer = threading.Thread(target=replace, args=(folder, "new"))
    with locked(str(folder), EVERYWHERE, shared=True):
        writer.start()
        writer.join(0.05)
        assert seen(folder) == version("old")
    writer.join()

    assert seen(folder) == version("new")


def test_who_awaits_the_lock_of_a_folder_gets_the_folder_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    inodes = list[int]()

    def read() -> None:
        with locked(str(folder), EVERYWHERE, shared=True) as place:
            inodes.append(os.fstat(place).st_ino)

    reader = threading.Thread(target=read)
    with locked(str(folder), EVERYWHERE):
        reader.start()
        reader.join(0.05)
        folder.rename(tmp_path / "elsewhere")
        folder.mkdir()
    reader.join()

    assert inodes == [folder.stat().st_ino]


def test_a_writer_that_can_not_publish_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    begun = write("new", begin_replacement(str(folder), EVERYWHERE))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(replacement, "exchange", full)
        with pytest.raises(OSError, match="No space left"):
            begun.commit()
    begun.abort()

    assert seen(folder) == version("old") and not left_beside(folder)


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EBUSY])
def test_parts_move_into_a_folder_that_can_not_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    inode = folder.stat().st_ino

    def fixed(first: tuple[int, str], second: tuple[int, str]) -> None:
        if second[1] == "out":
            raise OSError(code, os.strerror(code))
        exchange(first, second)

    monkeypatch.setattr(replacement, "exchange", fixed)
    replace(folder, "new")

    assert seen(folder) == version("new") and not left_beside(folder)
    assert folder.stat().st_ino == inode


def test_a_new_folder_that_somebody_has_removed_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    replace(folder, "old")
    for is_there in (True, False):
        begun = write("new", begin_replacement(str(folder), EVERYWHERE))
        (hidden,) = left_beside(folder)
        shutil.rmtree(tmp_path / hidden / "built")
        if not is_there:
            shutil.rmtree(folder)
        with pytest.raises(FileNotFoundError):
            begun.commit()
        begun.abort()
        assert folder.exists() is is_there and not left_beside(folder)


def test_the_exchange_of_names_that_stand_for_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    place = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(FileNotFoundError):
        exchange((place, "a"), (place, "b"))
    os.close(place)


def test_the_parts_of_who_lives_stay(tmp_path: Path) -> None:
    living = write("living", begin_replacement(str(tmp_path / "one"), EVERYWHERE))

    replace(tmp_path / "other", "new")
    living.commit()

    assert seen(tmp_path / "one") == version("living") and not left_beside(tmp_path / "one")


def test_an_error_of_the_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront_connectors.files.writers.PATIENCE", 0.02)
    folder = tmp_path / "out"
    replace(folder, "old")
    begun = write("new", begin_replacement(str(folder), EVERYWHERE))
    with locked(str(folder), EVERYWHERE), pytest.raises(OperationalError, match="another process"):
        begun.commit()
    begun.abort()

    assert seen(folder) == version("old")
