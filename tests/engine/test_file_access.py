"""Which files a process opens for statements and jobs."""

import os
from pathlib import Path

import pytest

from sqlfront_engine.file_access import EVERYWHERE, NOWHERE, FileAccess
from sqlfront_values.errors import OperationalError, ProgrammingError


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A folder with a file; beside it a secret one."""
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "a").write_text("open")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("secret")
    return folder


def text(access: FileAccess, path: Path | str) -> str:
    with access.reading(str(path)) as file:
        return Path(file.source).read_text()


def test_everywhere_is_everywhere(inside: Path) -> None:
    assert text(EVERYWHERE, inside.parent / "outside" / "a") == "secret"
    assert not EVERYWHERE.is_limited


def test_files_below_a_root_are_read(inside: Path) -> None:
    assert text(FileAccess.of([str(inside)]), inside / "a") == "open"


def test_a_root_may_be_named_through_a_link(inside: Path, tmp_path: Path) -> None:
    (tmp_path / "name").symlink_to(inside)

    assert text(FileAccess.of([str(tmp_path / "name")]), inside / "a") == "open"


@pytest.mark.parametrize("access", [NOWHERE, FileAccess.of(["/nonexistent"])])
def test_all_else_is_refused(inside: Path, access: FileAccess) -> None:
    with pytest.raises(ProgrammingError, match="may not be read or written here") as caught:
        text(access, inside / "a")

    assert caught.value.sqlstate == "42501"


@pytest.mark.parametrize("path", ["../outside/a", "link", "folder/a", "folder/missing", "../insider", ".."])
def test_links_and_dots_are_resolved_first(inside: Path, path: str) -> None:
    (inside / "link").symlink_to(inside.parent / "outside" / "a")
    (inside / "folder").symlink_to(inside.parent / "outside")
    (inside.parent / "insider").write_text("its name begins so, too")

    with pytest.raises(ProgrammingError, match="may not be read or written here"):
        text(FileAccess.of([str(inside)]), inside / path)


class Swapped(FileAccess, frozen=True):
    """Somebody makes a folder a link to another one as soon as it has been checked."""

    def check(self, path: str) -> None:
        super().check(path)
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(folder.parents[1] / "outside")


@pytest.fixture
def swapped(inside: Path) -> FileAccess:
    below = inside / "below"
    below.mkdir()
    (below / "a").write_text("open")
    return Swapped((os.path.realpath(inside),))


def test_a_folder_that_becomes_a_link_after_the_check_leads_nowhere(
    inside: Path, swapped: FileAccess
) -> None:
    with pytest.raises(ProgrammingError, match="may not be read"):
        text(swapped, inside / "below" / "a")


def test_such_a_folder_is_neither_listed_nor_written_to(inside: Path, swapped: FileAccess) -> None:
    with pytest.raises(ProgrammingError, match="may not be read"):
        swapped.names(str(inside / "below"))
    (inside / "below").unlink()
    (inside / "moved").rename(inside / "below")
    with pytest.raises(ProgrammingError, match="may not be read"), swapped.folder(str(inside / "below")):
        pass


def test_nothing_done_to_the_folder_while_a_file_is_read_leads_elsewhere(inside: Path) -> None:
    with FileAccess.of([str(inside)]).reading(str(inside / "a")) as file:
        (inside / "a").unlink()
        (inside / "a").symlink_to(inside.parent / "outside" / "a")
        assert Path(file.source).read_text() == "open"


@pytest.mark.parametrize("limited", [True, False])
def test_a_pipe_keeps_nobody_waiting(inside: Path, limited: bool) -> None:
    os.mkfifo(inside / "pipe")

    with pytest.raises(OperationalError, match="pipe is not a regular file"):
        text(FileAccess.of([str(inside)]) if limited else EVERYWHERE, inside / "pipe")


def test_one_folder_is_no_word() -> None:
    with pytest.raises(ProgrammingError, match=r"one folder is \['/data'\]"):
        FileAccess.of("/data")
