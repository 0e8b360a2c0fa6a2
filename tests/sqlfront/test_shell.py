"""The command line, as processes: data on stdout, all else on stderr, and the exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

LONG = """
    create table n using memory as select * from values {values} as t(a);
    select count(*) from n a cross join n b cross join n c cross join n d where a.a + b.a + c.a + d.a = -1
""".format(values=", ".join(f"({number})" for number in range(300)))


def sqlfront(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "sqlfront", *arguments],
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_table_on_stdout_and_its_footer_on_stderr() -> None:
    done = sqlfront("-c", "select 1 as a, 'é' as b; select 2 as c")

    assert (
        done.stdout
        == "+---+---+\n|a  |b  |\n+---+---+\n|1  |é  |\n+---+---+\n+---+\n|c  |\n+---+\n|2  |\n+---+\n"
    )
    first, second = [line for line in done.stderr.splitlines() if line]
    for line in (first, second):
        count, took, lane = line.split(", ")
        assert (count, lane) == ("1 row", "direct")
        assert took.endswith("ms")
    assert done.returncode == 0


def test_statements_of_files_options_and_stdin_run_in_order(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "-- a comment; with a semicolon\ncreate table t (a int);\ninsert into t values (1), (2);\n"
    )

    done = sqlfront(
        "--format",
        "csv",
        "-f",
        str(script),
        "-c",
        "select sum(a) as s from t",
        "-f",
        "-",
        stdin="select 'x;y' as x",
    )

    assert done.stdout == "s\n3\nx\nx;y\n"
    assert done.returncode == 0
    assert sqlfront("--format", "csv", stdin="select 7 as a").stdout == "a\n7\n"


VALUES = (
    "select * from values (1, 'a,\"b\"', 1.50, date'2024-02-29', cast('NaN' as double), X'00ff'), "
    "(null, '', null, null, null, null) as t(i, s, d, dt, f, b)"
)


def test_csv_quotes_and_tells_nulls_from_empty_strings() -> None:
    lines = sqlfront("--format", "csv", "-c", VALUES).stdout.splitlines()

    assert lines[0] == "i,s,d,dt,f,b"
    assert lines[1].startswith('1,"a,""b""",1.50,2024-02-29,NaN,')
    assert lines[2].startswith(",")


def test_json_is_an_array_of_objects() -> None:
    rows = json.loads(sqlfront("--format", "json", "-c", VALUES).stdout)

    assert rows == [
        {"i": 1, "s": 'a,"b"', "d": "1.50", "dt": "2024-02-29", "f": "NaN", "b": "00ff"},
        {"i": None, "s": "", "d": None, "dt": None, "f": None, "b": None},
    ]
    assert json.loads(sqlfront("--format", "json", "-c", "select 1 as a where false").stdout) == []


def test_arrow_is_an_ipc_stream(tmp_path: Path) -> None:
    out = tmp_path / "out.arrow"
    with out.open("wb") as file:
        subprocess.run(
            [sys.executable, "-m", "sqlfront", "--format", "arrow", "-c", "select 1.50 as d, 'x' as s"],
            stdout=file,
            timeout=120,
            check=True,
        )

    table = pa.ipc.open_stream(out.read_bytes()).read_all()
    assert table.schema == pa.schema([("d", pa.decimal128(3, 2)), ("s", pa.string())])
    assert table.num_rows == 1


def test_a_plan_is_printed_as_the_text_that_it_is() -> None:
    lines = sqlfront("-c", "explain select a from values (1), (2) t(a) where a > 1").stdout.splitlines()

    assert lines[0].startswith("lane: direct (")
    assert lines[1:3] == ["Result", "  Filter: a#0 > 1"]


def test_vertical_has_a_line_per_value() -> None:
    assert sqlfront("--format", "vertical", "-c", "select 1 as a, 'x' as b").stdout == (
        "-RECORD 0--\n a   | 1   \n b   | x   \n"
    )


def test_a_failed_statement_stops_and_tells_where() -> None:
    done = sqlfront("-c", "select 1 as a", "-c", "select\n  nope from values (1) t(a)", "-c", "select 3 as c")

    assert done.returncode == 1
    assert "|c  |" not in done.stdout
    assert "ProgrammingError: [UNRESOLVED_COLUMN" in done.stderr
    assert "LINE 2:   nope from values (1) t(a)\n" in done.stderr
    assert "          ^^^^" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--format", "xml"], ["-f", "/nowhere/x.sql"], ["--timeout", "-1"], ["--nope"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    done = sqlfront(*arguments, "-c", "select 1")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_no_session_is_exit_code_3() -> None:
    assert sqlfront("--time-zone", "Mars/Olympus", "-c", "select 1").returncode == 3


def test_a_timeout_is_exit_code_4() -> None:
    done = sqlfront("--timeout", "0.5", "-c", LONG)

    assert done.returncode == 4
    assert "OperationalError" in done.stderr


def test_an_interrupt_is_exit_code_130() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlfront", "--format", "csv", "-c", "select 'began' as a", "-c", LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["a\n", "began\n"]
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=30)

    # An interrupt in an exec() of the standard library has CPython end by the signal itself, though it was
    # caught. To a shell that is 130, too.
    assert process.returncode in (130, -signal.SIGINT), messages
    assert "interrupted" in messages
    assert "Traceback" not in messages


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "sqlfront",
            "--format",
            "csv",
            "-c",
            LONG.split(";")[0] + "; select * from n a cross join n b",
        ],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    os.close(read)
    _, messages = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "Traceback" not in messages
