"""What an error gives away: no record of a file, and no long text of a statement."""

from pathlib import Path

import pytest

import sqlfront
from sqlfront_values.errors import LONGEST_QUOTATION, Error, ProgrammingError, point_at

LONG = "x" * 1_000_000
#: A message quotes so much at each of its ends, then comes the line of SQL with its caret.
MOST = 5 * LONGEST_QUOTATION


STATEMENTS = (
    f"SELECT {LONG}",
    f"SELECT {LONG}(1)",
    f"SELECT '{LONG}' FROM nowhere",
    f"SELECT * FROM {LONG}",
    f"SELECT CAST('{LONG}' AS INT)",
    f"SELECT 1 +* '{LONG}'",
    f"SELECT /* {LONG} */ nothing",
    f"SELECT id.{LONG} FROM range(1)",
    f"SET {LONG} = 1",
    f"CREATE TABLE t (a INT) USING {LONG}",
    f"SELECT * FROM csv.`/nowhere/{LONG}`",
)


def test_an_error_is_short_however_long_the_statement() -> None:
    with sqlfront.connect() as connection:
        for statement in STATEMENTS:
            with pytest.raises(Error) as caught:
                connection.execute(statement).fetchall()
            assert len(str(caught.value)) < MOST, statement[:20]


def test_of_a_long_line_the_part_around_the_mistake_is_shown() -> None:
    shown = point_at(f"SELECT {LONG}, oops, {LONG}", (len(LONG) + 9, len(LONG) + 13))

    line, carets = shown.splitlines()
    assert len(line) < LONGEST_QUOTATION + 20
    assert line[carets.index("^") : carets.index("^") + 4] == "oops" and carets.count("^") == 4


def test_short_messages_are_whole() -> None:
    message = "y" * 2 * LONGEST_QUOTATION

    assert ProgrammingError(message).message == message


@pytest.mark.parametrize("format_name", ["csv", "json", "parquet"])
def test_records_of_a_file_are_not_quoted(tmp_path: Path, format_name: str) -> None:
    (tmp_path / f"a.{format_name}").write_text("1,2\nsecret\n3,4,secret\n{secret\n")
    made = "CREATE OR REPLACE TABLE t (a INT, b INT) USING"
    said = []
    with sqlfront.connect() as connection:
        for mode in ("PERMISSIVE", "FAILFAST"):
            options = f"OPTIONS (mode '{mode}')" if format_name != "parquet" else ""
            connection.execute(f"{made} {format_name} {options} LOCATION '{tmp_path}'")
            try:
                connection.execute("SELECT count(a), count(b) FROM t").fetchall()
            except Error as error:
                said.append(str(error))

    assert said and not [text for text in said if "3,4,secret" in text or "{secret" in text]
