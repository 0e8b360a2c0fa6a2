"""Batch mode in this process: outputs, variables, scripts, and the exit codes."""

import io
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from sqlfront.shell.leaving import end_at_interrupt
from sqlfront.shell.main import main
from sqlfront.shell.output.destination import OutputError, Terminated, opened

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command; return the exit code, and the texts on standard output and error."""

    def command(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        code = main(arguments)
        out, messages = capsysbinary.readouterr()
        return code, out.decode(), messages.decode()

    return command


def test_a_file_has_all_results_and_is_replaced_at_the_end(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o640)

    assert run("-o", str(path), "--format", "csv", "-c", "select 1 as a; select 2 as b") == (0, "", "")

    assert path.read_text() == "a\n1\nb\n2\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_failed_statement_leaves_the_file_as_it_was(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")

    code, _, messages = run("-o", str(path), "--format", "csv", "-c", "select 1 as a; select nope")

    assert (code, path.read_text(), os.listdir(tmp_path)) == (1, "before", ["out.csv"])
    assert "UNRESOLVED_COLUMN" in messages


@pytest.mark.parametrize("arguments", [("-v", "d=DATE'2024-02-30'"), ("--time-zone", "Mars/Olympus")])
def test_what_fails_before_the_first_statement_leaves_no_file(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, _, messages = run("-o", str(tmp_path / "out.csv"), *arguments, "-c", "select 1")

    assert (code, os.listdir(tmp_path)) == (2 if arguments[0] == "-v" else 3, [])
    assert messages.startswith("sqlfront: ")


def test_a_symbolic_link_stays_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")

    run("-o", str(tmp_path / "link.csv"), "--format", "csv", "-c", "select 1 as a")

    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\n1\n"


def test_parquet_goes_to_a_file(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "out.parquet")

    assert run("-o", path, "--format", "parquet", "-c", "select 1.50 as a, null as b")[0] == 0
    assert pq.read_table(path).num_rows == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "{}/no/out", "-c", "select 1"), "can't write {}/no/out: No such file or directory"),
        (("-o", "{}", "-c", "select 1"), "can't write {}: Is a directory"),
        (("-o", "/dev/full", "-c", "select 1"), "can't write /dev/full: No space left on device"),
        (
            ("-o", "{}/out", "--format", "parquet", "-c", "select 1; select 2"),
            "a parquet file holds the rows of one statement, not of two",
        ),
        (
            ("-o", "{}/out", "--format", "parquet", "-c", "create temp view v as select 1"),
            "no statement has rows for a parquet file",
        ),
    ],
)
def test_output_that_cannot_be_written_is_exit_code_6(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, out, messages = run("-q", *(argument.format(tmp_path) for argument in arguments))

    assert (code, out, messages) == (6, "", f"sqlfront: {message.format(tmp_path)}\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("format_name", ["csv", "json", "arrow", "parquet", "table"])
def test_a_full_disk_leaves_no_half_file(run: Run, tmp_path: Path, format_name: str) -> None:
    """By the limit of a file's size, which needs no disk of its own."""
    path = tmp_path / "out"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        query = "select id, uuid() as u from range(2000)"
        found = run("-q", "-o", str(path), "--format", format_name, "-c", query)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert found == (6, "", f"sqlfront: can't write {path}: File too large\n")
    assert os.listdir(tmp_path) == []


@contextmanager
def standard_output(path: Path) -> Iterator[None]:
    """Have descriptor 1 append to the file."""
    kept = os.dup(1)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@pytest.mark.parametrize("name", ["/dev/stdout", "log"])
def test_standard_output_under_another_name_is_appended_to(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text("first\n")

    with standard_output(log), opened(name if name.startswith("/") else str(log)) as out:
        out.write(b"second\n")

    assert log.read_text() == "first\nsecond\n"


def end_this_process() -> None:
    """Send SIGTERM, whose handler has run when the function returns."""
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_signal_removes_the_unfinished_file(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), opened(str(tmp_path / "out")):
        end_this_process()

    assert os.listdir(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(tmp_path: Path, number: signal.Signals) -> None:
    """As nohup starts a process."""
    with ignored(number):
        with opened(str(tmp_path / "out")) as out:
            signal.raise_signal(number)
            out.write(b"whole")
        assert signal.getsignal(number) is signal.SIG_IGN

    assert (tmp_path / "out").read_bytes() == b"whole"


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """As a script's shell starts a process in the background."""
    with ignored(signal.SIGINT):
        assert main(["--format", "none", "-q", "-c", "select 1"]) == 0
        end_at_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@contextmanager
def ignored(number: signal.Signals) -> Iterator[None]:
    """Ignore a signal in the block."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


def test_a_file_whose_folder_went_away_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OutputError, match="No such file"), opened(str(folder / "out")):
        shutil.rmtree(folder)


def test_variables_are_typed_parameters_and_text(run: Run) -> None:
    query = "select :n + 1 as n, :d + interval 1 day as d, :s as s, typeof(:p) as p, ${code} as c from ${t}"
    variables = ["n=41", "d=DATE'2024-02-28'", "s=it's; -- text", "p=1.50", "code=1 + 1", "t=range(1)"]
    arguments = [part for assignment in variables for part in ("-v", assignment)]

    code, out, _ = run(*arguments, "--format", "csv", "-c", query)

    assert (code, out) == (0, 'n,d,s,p,c\n42,2024-02-29,it\'s; -- text,"decimal(3,2)",2\n')


def test_the_text_of_a_variable_may_be_several_statements(run: Run) -> None:
    assert (
        run("-v", "both=1 as a; select 2 as b", "--format", "csv", "-c", "select ${both}")[1]
        == "a\n1\nb\n2\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-v", "d=DATE'2024-02-30'", "-c", "select 1"), 2, "-v d: [INVALID_TYPED_LITERAL]"),
        (("-v", "city=x", "-c", "select ${ciy}"), 1, "no variable has the name ciy; did you mean city?"),
        (("-v", "city=x", "-c", "select :ciy"), 1, "UNBOUND_SQL_PARAMETER"),
    ],
)
def test_wrong_variables_are_named(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    found, out, messages = run(*arguments)

    assert (found, out) == (code, "")
    assert message in messages


def test_quiet_prints_rows_and_errors_only(run: Run) -> None:
    code, out, messages = run("-q", "--null", "-", "-c", "select null as a; select nope")

    assert (code, out) == (1, "+---+\n|a  |\n+---+\n|-  |\n+---+\n")
    assert messages.startswith("ProgrammingError")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("select 'é'".encode("latin-1"), "not UTF-8 text: byte 9 is 0xE9 (invalid continuation byte)"),
        (b"select 1;" * 10_000 + b"\xff", "not UTF-8 text: byte 90001 is 0xFF (invalid start byte)"),
        ("select 1".encode("utf-16"), "UTF-16 text, as its first bytes tell; expected UTF-8"),
        ("select 1".encode("utf-32"), "UTF-32 text, as its first bytes tell; expected UTF-8"),
    ],
)
def test_a_script_in_another_encoding_is_refused_before_it_runs(
    run: Run, tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "script.sql"
    path.write_bytes(data)

    assert run("-f", str(path)) == (2, "", f"sqlfront: can't read {path}: {message}\n")


def test_a_mark_of_the_byte_order_is_no_part_of_a_script(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "script.sql"
    path.write_text("select 'é' as a", encoding="utf-8-sig")

    assert run("--format", "csv", "-f", str(path))[:2] == (0, "a\né\n")
    assert run("--format", "csv", stdin=path.read_bytes())[:2] == (0, "a\né\n")


def test_a_statement_of_a_pipe_runs_before_the_next_one_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second statement is read once the first one's table exists."""
    out = tmp_path / "made"

    class Pipe(io.RawIOBase):
        """A pipe whose other end writes when it is read again."""

        steps = iter([f"create table t using parquet location '{out}' as select 1 as a; sel", "ect 2 as b"])

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: "Buffer") -> int:
            step = next(self.steps, "")
            assert out.exists() is (not step.startswith("create")), step
            memoryview(buffer)[: len(step)] = step.encode()
            return len(step)

    with io.TextIOWrapper(io.BufferedReader(Pipe())) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main(["-q", "-o", str(tmp_path / "rows"), "--format", "csv"]) == 0
    assert (tmp_path / "rows").read_text() == "b\n2\n"
