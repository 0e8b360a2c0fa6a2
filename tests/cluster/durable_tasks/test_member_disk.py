"""The directory for outputs on a member's disk: names, hostile ones too, and what is left over."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlfront_cluster.durable_tasks.member_disk import MemberDisk, remove_leftovers
from sqlfront_cluster.durable_tasks.output_places import MOST_BYTES, OutputBytes, ReadOutput, read_output
from sqlfront_values.errors import OperationalError

NAME = "0.1.0-1.2.arrow"
HOSTILE = [
    "../secret",
    "..",
    ".",
    "",
    "/etc/hostname",
    "a/../../../secret",
    "a\\..\\secret",
    ".hidden",
    "a\0b",
    "a\n",
    "x" * 300,
    "é",
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[MemberDisk]:
    """A member's disk, beside a file that is nobody's business."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "disk").mkdir()
    with MemberDisk("m", str(tmp_path / "disk")) as disk:
        yield disk


def question(disk: MemberDisk, job: str, file: str, offset: int = 0, length: int = 100) -> ReadOutput:
    return ReadOutput(disk.incarnation, job, file, offset, length)


def test_two_folders_of_a_job_have_two_names(disk: MemberDisk, tmp_path: Path) -> None:
    first, second = disk.begin("job-1"), disk.begin("job-1")

    assert first.address != second.address
    (place,) = (tmp_path / "disk").iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_nothing_is_made_before_the_first_job(disk: MemberDisk, tmp_path: Path) -> None:
    assert disk.folder("job-1.1") is None
    assert not [*(tmp_path / "disk").iterdir()]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_find_nothing(disk: MemberDisk, name: str) -> None:
    folder = disk.begin("job-1")
    Path(folder.address, NAME).write_text("rows")
    job = os.path.basename(folder.address)

    assert read_output(disk, question(disk, job, name)) == OutputBytes(None)
    assert read_output(disk, question(disk, name, NAME)) == OutputBytes(None)
    if name:
        with pytest.raises(OperationalError, match="is no id of a job"):
            disk.begin(name)


def test_a_link_to_a_folder_is_followed_nowhere(disk: MemberDisk, tmp_path: Path) -> None:
    """Nobody else may write into the directory; but a name never leads out of it by its own text."""
    folder = disk.begin("job-1")
    Path(folder.address, NAME).write_text("rows")

    assert read_output(disk, question(disk, "job-1.1", NAME)).data == b"rows"
    assert read_output(disk, question(disk, "job-1.1/../job-1.1", NAME)) == OutputBytes(None)


def test_files_of_another_process_of_the_member_are_not_there(disk: MemberDisk) -> None:
    folder = disk.begin("job-1")
    Path(folder.address, NAME).write_text("rows")

    assert read_output(disk, ReadOutput("another", "job-1.1", NAME, 0, 100)) == OutputBytes(None)


@pytest.mark.parametrize(
    ("offset", "length", "start", "data"),
    [
        (0, 4, 0, b"0123"),
        (8, 4, 8, b"89"),
        (-3, 100, 7, b"789"),
        (-100, 4, 0, b"0123"),
        (10, 4, 10, b""),
        (1 << 62, 4, 10, b""),
        (0, 0, 0, b""),
        (0, -1, 0, b""),
    ],
)
def test_ranges_of_bytes(disk: MemberDisk, offset: int, length: int, start: int, data: bytes) -> None:
    Path(disk.begin("job-1").address, NAME).write_bytes(b"0123456789")

    assert read_output(disk, question(disk, "job-1.1", NAME, offset, length)) == OutputBytes(10, start, data)


def test_an_answer_is_bounded(disk: MemberDisk) -> None:
    Path(disk.begin("job-1").address, NAME).write_bytes(bytes(3 * MOST_BYTES))

    assert len(read_output(disk, question(disk, "job-1.1", NAME, 0, 1 << 62)).data) == MOST_BYTES


def test_a_file_that_cannot_be_read_is_a_problem(disk: MemberDisk) -> None:
    Path(disk.begin("job-1").address, NAME).mkdir()

    assert read_output(disk, question(disk, "job-1.1", NAME)).problem == "Is a directory"


def test_a_closed_disk_leaves_nothing(tmp_path: Path) -> None:
    disk = MemberDisk("m", str(tmp_path))
    Path(disk.begin("job-1").address, NAME).write_text("rows")

    disk.close()
    disk.close()

    assert not [*tmp_path.iterdir()]


def test_a_removed_folder_is_not_made_again(disk: MemberDisk) -> None:
    folder = disk.begin("job-1")
    folder.remove()

    with pytest.raises(FileNotFoundError):
        folder.growing_file(NAME)


def test_no_room_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OperationalError, match=r"member m can't make a directory.*file: Not a directory"):
        MemberDisk("m", str(tmp_path / "file")).begin("job-1")


PROGRAM = """
import sys
from pathlib import Path
from sqlfront_cluster.durable_tasks.member_disk import MemberDisk
disk = MemberDisk("killed", sys.argv[1])
Path(disk.begin("job-1").address, "rows").write_text("rows")
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_next_member_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    """As long as the member lives, nobody does, also while it is stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        (place,) = tmp_path.iterdir()
        program.send_signal(signal.SIGSTOP)
        remove_leftovers(str(tmp_path))
        assert [*tmp_path.iterdir()] == [place]
        program.kill()

    with MemberDisk("m", str(tmp_path)) as disk:
        disk.begin("job-2")

        assert not place.exists()
        assert len([*tmp_path.iterdir()]) == 1


def test_what_only_looks_like_a_member_directory_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "sqlfront-outputs-link").symlink_to(elsewhere)
    (tmp_path / "sqlfront-outputs-file").touch()

    remove_leftovers(str(tmp_path))

    assert len([*tmp_path.iterdir()]) == 3
