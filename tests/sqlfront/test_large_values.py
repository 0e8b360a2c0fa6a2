"""What would be large is cut, or refused before it is made; in a process of its own, which must not die."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sqlfront
from sqlfront.config import Launcher

#: What has no room in a session of 1 GiB, with a part of the error.
REFUSED = {
    "SELECT array_join(array_repeat('a', 50000), repeat('x', 50000))": "array_join would make 2.3 GiB",
    "SELECT replace(repeat('a', 60000), 'a', repeat('b', 60000))": "replace would make 3.4 GiB",
    "SELECT regexp_replace(repeat('a', 60000), 'a', repeat('b', 60000))": "regexp_replace in project needs",
    "SELECT regexp_replace(repeat('a', 60000), '(a)', concat('$1', repeat('b', 60000)))": "regexp_replace in",
    "SELECT space(2147483647)": "space in project needs 2 GiB",
    "SELECT length(space(2147483647)) FROM range(2)": "space in project needs 2 GiB",
    "SELECT repeat('x', 2000000000)": "repeat in project needs 1.9 GiB",
    "SELECT lpad('x', 2147483647, 'ab')": "lpad would make 2 GiB",
    "SELECT rpad('x', 2147483647, 'ä')": "rpad would make",
    "SELECT sequence(1, 500000000)": "sequence in project needs",
    "SELECT array_repeat(1, 2147483632)": "array_repeat in project needs",
    "SELECT array_insert(array(1), 2147483631, 1)": "array_insert in project needs",
    "SELECT format_string('%.2147483647f', 1D)": "format_string would make 2 GiB",
    "SELECT format_string('%2147483647d', 1)": "format_string would make 2 GiB",
    "SELECT length(concat_ws(repeat('-', 50000), array_repeat('a', 50000)))": "concat_ws would make 2.3 GiB",
}
#: What is made, all at once or in pieces, and the only row.
ANSWERED = {
    "SELECT space(2147483647) FROM range(0)": None,
    "SELECT length(space(100000000))": (100_000_000,),
    "SELECT size(sequence(1, 5000000))": (5_000_000,),
    "SELECT sum(length(lpad(string(id), 60000, 'ab'))) FROM range(5000)": (300_000_000,),
    "SELECT sum(length(hex(lpad(string(id), 60000, ' ')))) FROM range(5000)": (600_000_000,),
    "SELECT length(max(rpad(string(id), 60000, ' '))) FROM range(5000)": (60_000,),
    "SELECT count(*) FROM range(70000) WHERE concat(repeat('x', 10000), string(id)) > 'x'": (70_000,),
    "SELECT count(DISTINCT CASE WHEN id > 0 THEN repeat('x', 5000) ELSE 'b' END) FROM range(60000)": (2,),
    "SELECT sum(size(array_repeat(id, 1000))) FROM range(60000)": (60_000_000,),
    "SELECT hex('\\ud800'), '\\ud83d\\ude00'": ("3F", "😀"),
}


def outcomes(statements: list[str]) -> list[tuple[list[object], float]]:
    """What becomes of each, and the seconds it took, in one process that has to survive all of them."""
    program = [sys.executable, str(Path(__file__).with_name("large_values.py"))]
    lines = "".join(f"{json.dumps(statement)}\n" for statement in statements)
    ran = subprocess.run(program, input=lines, capture_output=True, text=True, timeout=300, check=False)
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, f"{statements[len(said)]} ended the process: {ran.returncode} {ran.stderr}"
    return [(outcome, seconds) for outcome, seconds in said]


def test_what_is_too_large_is_refused_at_once_by_name() -> None:
    for (statement, part), (outcome, seconds) in zip(REFUSED.items(), outcomes(list(REFUSED)), strict=True):
        _, is_operational, message = outcome
        assert is_operational is True, (statement, outcome)
        assert part in str(message), statement
        assert seconds < 60, statement


def test_what_has_room_in_pieces_is_made_in_pieces() -> None:
    for (statement, row), (outcome, _) in zip(ANSWERED.items(), outcomes(list(ANSWERED)), strict=True):
        assert outcome == ["rows", 0 if row is None else 1, repr([] if row is None else [row])], statement


def test_planning_makes_nothing_large() -> None:
    (text,) = sqlfront.sql("EXPLAIN SELECT space(2147483647)").collect()[0]
    assert "space(2147483647)" in str(text)


def test_a_case_whose_branch_would_be_too_large_is_answered_where_no_row_takes_it() -> None:
    query = (
        "SELECT CASE WHEN id < 3 THEN length(lpad('x', int(id), 'y')) ELSE 0 END"
        " FROM VALUES (1), (2147483647) t(id)"
    )
    assert sqlfront.sql(query).collect() == [(1,), (0,)]


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT array_repeat(1, 2147483647)", "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"),
        ("SELECT array_insert(array(1), 2147483647, 1)", "COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION"),
        ("SELECT sequence(1L, 3000000000L)", "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"),
        (f"SELECT {'9' * 100_000}", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"),
        (f"SELECT {'9' * 100_000}L", "INVALID_NUMERIC_LITERAL_RANGE"),
    ],
)
def test_one_value_beyond_sparks_limits_is_sparks_error(query: str, condition: str) -> None:
    with pytest.raises(sqlfront.DatabaseError) as failure:
        sqlfront.sql(query).collect()
    assert failure.value.condition == condition


@pytest.mark.cluster
def test_members_in_processes_survive_what_is_too_large() -> None:
    config = sqlfront.Config(launcher=Launcher.LOCAL, members=3, memory_limit=1024**3)
    with sqlfront.connect(config) as connection:
        cursor = connection.cursor()
        cursor.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (id) INTO 30 BUCKETS AS SELECT id FROM range(1000)"
        )
        for statement, part in REFUSED.items():
            with pytest.raises(sqlfront.OperationalError, match=re.escape(part.partition(" in project")[0])):
                cursor.execute(f"{statement.partition(' FROM ')[0]} FROM t WHERE id < 3").fetchall()
        assert cursor.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]
