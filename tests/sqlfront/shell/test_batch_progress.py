"""A script at a terminal shows how far its statement is."""

import re
from pathlib import Path

from sqlfront.shell.exit_codes import ExitCode
from tests.sqlfront.shell.terminal import Terminal

ENDLESS = "SELECT count(*) FROM range(0, 1000000000000000) WHERE sin(id) > 2"
READ = re.compile(r"[\d,]{7,} rows read, \d+\.\d s$", re.MULTILINE)


def test_the_rows_read_are_shown_until_ctrl_c(tmp_path: Path) -> None:
    with Terminal("-c", f"SELECT 1 AS one; {ENDLESS}", folder=tmp_path) as shell:
        shell.wait(lambda text: READ.search(text) is not None)
        shell.send("\x03")
        assert shell.ended() == ExitCode.INTERRUPTED
        assert "one" in shell.text()
        assert "rows read" not in shell.text()


def test_the_line_fits_a_narrow_terminal(tmp_path: Path) -> None:
    with Terminal("--timeout", "2", "-c", ENDLESS, folder=tmp_path, columns=12) as shell:
        assert shell.ended() == ExitCode.TIMEOUT
        drawn, _, rest = shell.written.rpartition(b"\r" + b" " * 11 + b"\r")
        assert drawn
        assert b"longer than its timeout" in rest
        assert max(map(len, drawn.split(b"\r"))) <= 11
        assert b"\n" not in drawn


def test_quiet_shows_no_progress(tmp_path: Path) -> None:
    with Terminal("--quiet", "--timeout", "2", "-c", ENDLESS, folder=tmp_path) as shell:
        assert shell.ended() == ExitCode.TIMEOUT
        assert b"rows read" not in shell.written
