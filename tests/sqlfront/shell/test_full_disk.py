"""A disk without room: messages, exit codes, and no half file."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.configuration import ShellOptions
from sqlfront.shell.exit_codes import ExitCode
from sqlfront.shell.interactive.commands.registry import run_text
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.prompt.history import KeptHistory
from sqlfront.shell.interactive.shell import Shell
from sqlfront.shell.main import main
from sqlfront.shell.output.formats import FORMATS
from tests.small_disks import small_disk

#: More than the disk holds, in every format.
ROWS = "select uuid() as u, uuid() as v from range(16000)"
SOME = ("csv", "json", "arrow", "parquet")
OTHERS = [pytest.param(name, marks=pytest.mark.doors) for name in sorted(set(FORMATS) - {"none"} - set(SOME))]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of a megabyte."""
    with small_disk(tmp_path_factory.mktemp("disk") / "small", "1m") as folder:
        yield folder


@pytest.mark.parametrize("format_name", [*SOME, *OTHERS])
def test_no_format_leaves_a_half_file(
    format_name: str, disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = disk / "out"
    path.write_text("before")

    code = main(["--format", format_name, "-o", str(path), "-c", ROWS])

    assert code == ExitCode.OUTPUT
    assert capfd.readouterr().err == f"sqlfront: can't write {path}: No space left on device\n"
    assert {file.name: file.read_text() for file in disk.iterdir()} == {"out": "before"}
    path.unlink()


def test_an_output_file_of_the_shell_keeps_the_answers_that_fit(disk: Path) -> None:
    path, out = disk / "out", io.StringIO()
    with (
        sqlfront.Session() as session,
        Shell(session, Screen(out, coloured=False), ShellOptions(), "csv") as shell,
    ):
        assert run_text(shell, rf"\o {path}")
        assert run_text(shell, "select 1 as a;")
        for format_name in ("table", "json", "parquet"):
            shell.format = format_name
            assert not run_text(shell, f"{ROWS};")
            assert "can't write the answer: No space left on device" in out.getvalue()
            assert path.read_bytes() == b"a\n1\n", format_name
            out.truncate(0)
        shell.format = "csv"
        assert run_text(shell, "select 2 as b;")
        assert run_text(shell, r"\o")

    assert path.read_bytes() == b"a\n1\nb\n2\n"
    path.unlink()


def test_a_history_keeps_no_half_text(disk: Path) -> None:
    said: list[str] = []
    history = KeptHistory(disk / "history", said.append)
    history.append_string("select 1")
    kept = (disk / "history").read_bytes()
    history.append_string("x" * 2_000_000)
    history.append_string("select 2")

    assert said == [f"the history is not kept: can't write {disk / 'history'}: No space left on device"]
    assert (disk / "history").read_bytes() == kept
    assert history.get_strings()[-1] == "select 2"
