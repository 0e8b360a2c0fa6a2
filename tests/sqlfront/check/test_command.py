"""The command on files: a line for each statement, and the exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from sqlfront.shell.main import main

SCRIPT = """\
-- planes; and what flies
CREATE TABLE plane (tailnum STRING, maker STRING) USING memory CLUSTERED BY (tailnum);
SELECT maker
FROM plane WHERE tailnum = 'N14228';

SELECT * FROM trips JOIN plane USING (tailnum);
"""
NO_TRIPS = (
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `trips` cannot be found. Verify the spelling and "
    "correctness of the schema and catalog. Did you mean one of the following? [`plane`]."
)
PROGRAM = '''\
LOOKUP = "SELECT maker FROM plane WHERE tailnum = :t"

def main(connection, column):
    cursor = connection.execute("CREATE TABLE plane (tailnum STRING, maker STRING) CLUSTERED BY (tailnum)")
    cursor.execute(LOOKUP, {"t": "N14228"})
    cursor.execute("""
        SELECT count(*) FROM plane
    """)
    cursor.execute(f"SELECT {column} FROM plane")
'''


def test_a_mark_of_the_byte_order_is_no_part_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a.sql", "SELECT 1"), ("b.py", "spark.sql('SELECT 1')")):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert main(["check", str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == f"{tmp_path / name}:1: direct: no table\n"


def test_a_script_and_a_program(tmp_path: Path) -> None:
    script, program = tmp_path / "a.sql", tmp_path / "b.py"
    script.write_text(SCRIPT)
    program.write_text(PROGRAM)

    command = [sys.executable, "-m", "sqlfront", "check", str(script), str(program)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.stdout.splitlines() == [
        f"{script}:2: command: not a query, done without Spark",
        f"{script}:3: direct: plane by key, no job",
        f"{script}:6: spark: {NO_TRIPS}",
        f"{program}:4: command: not a query, done without Spark",
        f"{program}:5: direct: plane by key, no job",
        f"{program}:7: light: a job; how much `plane` will hold isn't known here",
        f"{program}:9: unknown: the fields of the f-string aren't known before the program runs",
    ]
    assert done.stderr == "7 statements, 2 direct, 1 light, 2 command, 1 spark, 1 unknown\n"
    assert done.returncode == 5


@pytest.mark.parametrize(
    ("name", "source", "code"),
    [
        ("fine.sql", "SELECT 1; VALUES (2)", 0),
        ("wrong.sql", "SELECT 1; SELECT nix FROM VALUES (1) AS t(a); SELECT * FROM trips", 1),
        ("wrong.py", "def (", 2),
        ("binary.sql", "\udcff", 2),
    ],
)
def test_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, source: str, code: int
) -> None:
    file = tmp_path / name
    file.write_text(source, encoding="utf-8", errors="surrogateescape")

    assert main(["check", str(file)]) == code
    printed = capsys.readouterr()
    assert name in (printed.err if code == 2 else printed.out)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "no.sql")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no.sql: No such file or directory" in printed.err
