"""Inserts into a folder of files: whole or not at all, whoever dies, and side by side."""

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
from msgspec import structs

from sqlfront_connectors.base import insert_all
from sqlfront_connectors.files import FileTable, file_write, writers
from sqlfront_connectors.files.commits import FolderWrite, settled
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.writers import PREFIX
from sqlfront_engine.file_access import EVERYWHERE
from sqlfront_values.errors import OperationalError
from tests.attack.two_writers import PARTITIONS, ROWS, SCHEMA, numbers, opened

#: The calls by which a commit changes the disk.
CHANGES = ("open", "mkdir", "rename", "unlink", "rmdir")


def rows(number: int, count: int = ROWS) -> pa.RecordBatch:
    columns = {"number": [number] * count, "part": [row % PARTITIONS for row in range(count)]}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def overwrite(table: FileTable, number: int) -> None:
    insert_all(table, [rows(number)], overwrite=True)


def writers_folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(PREFIX)]


def parts(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Do the work in a process of its own that is gone before its n-th change; False if it had less."""
    child = os.fork()
    if child == 0:
        left = step

        def dying(function: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(9)
                return function(*arguments, **named)

            return call

        for name in CHANGES:
            setattr(os, name, dying(getattr(os, name)))
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("overwrites", [True, False], ids=["overwrite", "insert"])
def test_whoever_dies_at_any_step_leaves_one_version_or_the_other(
    tmp_path: Path, overwrites: bool, every: int
) -> None:
    after = {2: ROWS} if overwrites else {1: ROWS, 2: ROWS}
    seen, died = list[bool](), True
    while died:
        folder = tmp_path / str(len(seen))
        overwrite(opened(str(folder)), 1)
        died = dies_at(
            len(seen) * every, partial(insert_all, opened(str(folder)), [rows(2)], overwrite=overwrites)
        )
        found = numbers(opened(str(folder)))
        seen.append(found == after)
        assert found in ({1: ROWS}, after), (len(seen), found)
        overwrite(opened(str(folder)), 3)
        assert numbers(opened(str(folder))) == {3: ROWS}
        assert not writers_folders(folder) and len(parts(folder)) == PARTITIONS
    assert len(seen) > 20 / every and True in seen[:-1]
    assert seen == sorted(seen), "a version was there and went again"


@pytest.mark.parametrize("step", range(0, 60, 4))
def test_a_partition_is_read_as_the_whole_table_is(tmp_path: Path, step: int) -> None:
    overwrite(opened(str(tmp_path)), 1)
    dies_at(step, lambda: overwrite(opened(str(tmp_path)), 2))

    whole = {os.path.basename(file.path) for file in opened(str(tmp_path)).version.files}
    one = {os.path.basename(file.path) for file in opened(str(tmp_path / "part=1")).version.files}

    assert len(one) == 1 and one < whole


def test_two_sessions_overwrite_one_after_the_other(tmp_path: Path) -> None:
    one, other = opened(str(tmp_path)), opened(str(tmp_path))

    overwrite(one, 1)
    overwrite(other, 2)

    assert numbers(opened(str(tmp_path))) == {2: ROWS}
    assert len(parts(tmp_path)) == PARTITIONS


def test_inserts_of_two_sessions_add_up(tmp_path: Path) -> None:
    one, other = opened(str(tmp_path)), opened(str(tmp_path))

    insert_all(one, [rows(1)])
    insert_all(other, [rows(2)])
    insert_all(one, [rows(1)])

    assert numbers(opened(str(tmp_path))) == {1: 2 * ROWS, 2: ROWS}


def test_what_a_reader_here_still_holds_is_seen_by_nobody_else(tmp_path: Path) -> None:
    table = opened(str(tmp_path))
    overwrite(table, 1)
    held = table.snapshot()

    overwrite(table, 2)

    assert len(parts(tmp_path)) > 2 * PARTITIONS
    assert numbers(opened(str(tmp_path))) == {2: ROWS}
    table.refresh()
    assert numbers(table) == {2: ROWS}
    del held
    assert len(parts(tmp_path)) == PARTITIONS and not writers_folders(tmp_path)


def test_the_parts_of_who_lives_stay(tmp_path: Path) -> None:
    living = FolderWrite(str(tmp_path), EVERYWHERE)
    Path(living.part("part-living.parquet")).write_bytes(b"PAR1")

    overwrite(opened(str(tmp_path)), 1)

    assert [path.name for path in writers_folders(tmp_path)[0].iterdir()] != []
    living.abort()
    assert not writers_folders(tmp_path)


def test_the_parts_of_the_dead_go_with_the_next_write(tmp_path: Path) -> None:
    def die() -> None:
        dead = FolderWrite(str(tmp_path), EVERYWHERE)
        Path(dead.part("part-dead.parquet")).write_bytes(bytes(100_000))
        os._exit(9)

    assert dies_at(1000, die)
    assert len(writers_folders(tmp_path)) == 1

    insert_all(opened(str(tmp_path)), [rows(1)])

    assert not writers_folders(tmp_path)
    assert numbers(opened(str(tmp_path))) == {1: ROWS}


def test_whoever_waits_too_long_for_another_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "PATIENCE", 0.05)
    table = opened(str(tmp_path))
    overwrite(table, 1)

    with (
        settled(str(tmp_path), EVERYWHERE),
        pytest.raises(OperationalError, match="another process") as caught,
    ):
        overwrite(table, 2)

    assert caught.value.sqlstate == "55P03"
    assert numbers(opened(str(tmp_path))) == {1: ROWS}


def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(str(tmp_path))
    overwrite(table, 1)
    before = {path: path.read_bytes() for path in parts(tmp_path)}

    def full(*arguments: object, **named: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("mkdir", "rename"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, full)
            with pytest.raises(OperationalError, match="No space left on device") as caught:
                overwrite(table, 2)
        assert caught.value.sqlstate == "53100"
        assert {path: path.read_bytes() for path in parts(tmp_path)} == before
        assert numbers(table) == {1: ROWS}


def test_many_rows_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_write, "ENOUGH", rows(1).nbytes * 2)
    table = opened(str(tmp_path))
    write = table.begin_insert()
    for _ in range(5):
        write.append(rows(1))

    assert len(parts(tmp_path)) > 2 * PARTITIONS
    assert numbers(opened(str(tmp_path))) == {}
    assert write.commit() == 5 * ROWS
    assert numbers(opened(str(tmp_path))) == {1: 5 * ROWS} == numbers(table)
    assert len(parts(tmp_path)) == 3 * PARTITIONS


def test_an_insert_that_is_given_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_write, "ENOUGH", 1)
    write = opened(str(tmp_path)).begin_insert()
    write.append(rows(1))
    write.abort()

    assert list(tmp_path.iterdir()) == []


def test_a_dropped_table_removes_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    table = opened(str(tmp_path / "table"))
    overwrite(table, 1)
    victim = tmp_path / "part-00000-victim.parquet"
    victim.write_text("precious")
    version = structs.replace(table.version, number=9, files=(DataFile(str(victim), 8),))
    hostile = FileTable("t", str(tmp_path / "table"), version, managed=True)

    hostile.drop()
    del hostile, version

    assert victim.read_text() == "precious"


@pytest.mark.parametrize("count", [1, 2])
def test_parts_that_have_gone_are_no_commit(tmp_path: Path, count: int) -> None:
    """Somebody has tidied up hidden folders: the rows are lost, and the insert says so."""
    write = FolderWrite(str(tmp_path), EVERYWHERE)
    for number in range(count):
        write.part(f"part-{number}.csv")
    shutil.rmtree(writers_folders(tmp_path)[0])

    with pytest.raises(FileNotFoundError), write.alone():
        write.commit()

    assert not parts(tmp_path)


@contextmanager
def user(number: int) -> Iterator[None]:
    """This process acts as another user, in the group 2000, which may write to what the others make."""
    mask = os.umask(0o002)
    os.setegid(2000)
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.umask(mask)


class Held:
    """What somebody may hold."""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as others")
def test_users_who_share_a_folder_see_who_is_alive_and_what_is_committed() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, 1001, 2000)
        folder.chmod(0o2775)
        with user(1001):
            living = FolderWrite(name, EVERYWHERE)
            Path(living.part("part-1.csv")).write_text("1")
        with user(1002):
            other = FolderWrite(name, EVERYWHERE)
            Path(other.part("part-2.csv")).write_text("2")
            with other.alone():
                other.commit()
        with user(1001), living.alone():
            living.commit([str(folder / "part-2.csv")])
        with user(1002), settled(name, EVERYWHERE) as pending:
            assert pending.removed == {str(folder / "part-2.csv")}
        with user(1001):
            living.remove_when_unread([(Held(), str(folder / "part-2.csv"))])

        assert [path.name for path in parts(folder)] == ["part-1.csv"]


def test_what_is_behind_a_link_is_not_overwritten(tmp_path: Path) -> None:
    """The rows behind it would come back with the next listing."""
    table = tmp_path / "table"
    overwrite(opened(str(table)), 1)
    (table / "part=1").rename(tmp_path / "elsewhere")
    (table / "part=1").symlink_to(tmp_path / "elsewhere")
    before = parts(tmp_path)

    with pytest.raises(OperationalError, match="link, which no writer follows"):
        overwrite(opened(str(table)), 2)

    assert parts(tmp_path) == before and not writers_folders(table)
    assert numbers(opened(str(table))) == {1: ROWS}


def test_what_can_not_be_removed_counts_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(str(tmp_path))
    overwrite(table, 1)

    unlink = os.unlink

    def parts_stay(path: str, *, dir_fd: int | None = None) -> None:
        if path.startswith("part-"):
            raise PermissionError(errno.EPERM, "Operation not permitted")
        unlink(path, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", parts_stay)
        overwrite(table, 2)

    assert len(parts(tmp_path)) > 2 * PARTITIONS
    assert numbers(opened(str(tmp_path))) == {2: ROWS}
    overwrite(table, 3)
    assert numbers(opened(str(tmp_path))) == {3: ROWS} and len(parts(tmp_path)) == PARTITIONS


@pytest.mark.parametrize("name", ["null\0", "half\ud800"])
def test_a_name_that_no_file_can_have_is_no_place_to_write_to(tmp_path: Path, name: str) -> None:
    table = FileTable("t", str(tmp_path / name), opened(str(tmp_path)).version)

    with pytest.raises(OperationalError, match="no name of a file"):
        overwrite(table, 1)


def test_another_sessions_insert_is_adopted_while_a_thread_has_the_turn(tmp_path: Path) -> None:
    table, theirs = opened(str(tmp_path)), opened(str(tmp_path))
    overwrite(theirs, 1)

    with table.turn():
        hearing = threading.Thread(target=table.adopt, args=(theirs.version,), daemon=True)
        hearing.start()
        hearing.join(10)
        assert not hearing.is_alive()
        assert numbers(table) == {1: ROWS}


# ---- what an overwrite may remove


def test_foreign_files_are_not_overwritten(tmp_path: Path) -> None:
    overwrite(opened(str(tmp_path)), 1)
    (tmp_path / "part=1" / "thesis.parquet").write_bytes(next(iter(parts(tmp_path))).read_bytes())
    (tmp_path / "_notes.txt").write_text("hidden files are none of the table's")

    with pytest.raises(OperationalError, match=r"part=1/thesis\.parquet .*overwriteForeignFiles 'true'"):
        overwrite(opened(str(tmp_path)), 2)

    assert set(numbers(opened(str(tmp_path)))) == {1}
    assert not writers_folders(tmp_path)
    (tmp_path / "part=1" / "thesis.parquet").unlink()
    overwrite(opened(str(tmp_path)), 2)
    assert (tmp_path / "_notes.txt").exists()


@pytest.mark.parametrize("name", ["part-numbers.parquet", "part-2026.parquet", "part-00001x.parquet"])
def test_not_all_that_begins_like_a_part_is_one(tmp_path: Path, name: str) -> None:
    overwrite(opened(str(tmp_path)), 1)
    foreign = tmp_path / "part=1" / name
    foreign.write_bytes(next(iter(parts(tmp_path))).read_bytes())

    with pytest.raises(OperationalError, match="no writer of this table has made"):
        overwrite(opened(str(tmp_path)), 2)

    assert foreign.exists()


@pytest.mark.parametrize("name", ["part-00000", "part-r-00000-1.gz.parquet", "part-00000-a.c000.parquet"])
def test_parts_of_other_writers_are_overwritten(tmp_path: Path, name: str) -> None:
    overwrite(opened(str(tmp_path)), 1)
    (tmp_path / "part=1" / name).write_bytes(next(iter(parts(tmp_path))).read_bytes())

    overwrite(opened(str(tmp_path)), 2)

    assert numbers(opened(str(tmp_path))) == {2: ROWS}


def test_a_note_leads_nowhere_else(tmp_path: Path) -> None:
    table = tmp_path / "table"
    overwrite(opened(str(table)), 1)
    (tmp_path / "victim").write_text("precious")
    (table / "way").symlink_to(tmp_path)
    for number, path in enumerate(["../victim", str(tmp_path / "victim"), "way/victim"]):
        writer = table / f"{PREFIX}{number}"
        writer.mkdir()
        (writer / "commit").write_text(f'{{"adds": [], "removes": ["{path}"]}}')
    (table / "way").unlink()
    (table / "way").mkdir()

    overwrite(opened(str(table)), 2)

    assert (tmp_path / "victim").read_text() == "precious"
    assert numbers(opened(str(table))) == {2: ROWS}


def test_a_pipe_in_place_of_a_note_keeps_nobody_waiting(tmp_path: Path) -> None:
    overwrite(opened(str(tmp_path)), 1)
    writer = tmp_path / f"{PREFIX}planted"
    writer.mkdir()
    os.mkfifo(writer / "commit")
    os.mkfifo(writer / "lock")

    assert numbers(opened(str(tmp_path))) == {1: ROWS}
    overwrite(opened(str(tmp_path)), 2)
    assert numbers(opened(str(tmp_path))) == {2: ROWS}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to a stranger")
def test_a_strangers_note_in_a_folder_of_all_counts_for_nothing(tmp_path: Path) -> None:
    overwrite(opened(str(tmp_path)), 1)
    tmp_path.chmod(0o1777)
    writer = tmp_path / f"{PREFIX}squatted"
    writer.mkdir()
    names = [str(path.relative_to(tmp_path)) for path in parts(tmp_path)]
    (writer / "commit").write_text(str({"adds": [], "removes": names}).replace("'", '"'))
    os.chown(writer, 65534, 65534)

    assert numbers(opened(str(tmp_path))) == {1: ROWS}
    overwrite(opened(str(tmp_path)), 2)
    assert (writer / "commit").exists()
