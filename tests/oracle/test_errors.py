"""What an error carries beside Spark's condition: PEP 249's class, the place in the text; and what it leaves
as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from tests.oracle import slt
from tests.oracle.answers import Failure
from tests.oracle.complete import SLT_FOLDER
from tests.oracle.gaps import key, known_gaps
from tests.oracle.slt import Record

ERRORS = slt.read(Path(SLT_FOLDER) / "errors.slt")
GAPS = known_gaps()
FAILING = [record for record in ERRORS if isinstance(record.expected, Failure) and key(record) not in GAPS]

#: SQLSTATE's class, or the whole of it, and PEP 249's class for it.
CLASSES = {
    "0A": sqlfront.NotSupportedError,
    "21": sqlfront.DataError,
    "22": sqlfront.DataError,
    "42": sqlfront.ProgrammingError,
    "42K03": sqlfront.OperationalError,  # a path that isn't there
    "P0": sqlfront.DataError,  # raise_error, assert_true
}
#: Conditions of the SQL itself: the message shows where.
AT_A_PLACE = (
    "PARSE_SYNTAX_ERROR",
    "UNRESOLVED_",
    "AMBIGUOUS_REFERENCE",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DATATYPE_MISMATCH",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect() as connection:
        for record in ERRORS:
            if not record.is_query:
                connection.execute(record.sql)
        yield connection


def raised(connection: sqlfront.Connection, record: Record) -> sqlfront.Error:
    with pytest.raises(sqlfront.Error) as caught:
        connection.execute(record.sql).fetchall()
    return caught.value


@pytest.mark.parametrize("record", FAILING, ids=lambda record: record.place)
def test_class_follows_the_sqlstate(connection: sqlfront.Connection, record: Record) -> None:
    error = raised(connection, record)

    assert error.sqlstate is not None
    assert type(error) is CLASSES.get(error.sqlstate, CLASSES[error.sqlstate[:2]])


@pytest.mark.parametrize("record", FAILING, ids=lambda record: record.place)
def test_message_shows_the_place(connection: sqlfront.Connection, record: Record) -> None:
    error = raised(connection, record)

    if (error.condition or "").startswith(AT_A_PLACE):
        assert error.position is not None
        last_lines = str(error).splitlines()[-2:]
        assert last_lines[0].startswith("LINE ")
        assert last_lines[1].strip().startswith("^")


@pytest.mark.parametrize("record", FAILING, ids=lambda record: record.place)
def test_tables_and_connection_are_as_before(connection: sqlfront.Connection, record: Record) -> None:
    before = connection.execute("SELECT * FROM t").fetchall()

    raised(connection, record)

    assert connection.execute("SELECT * FROM t").fetchall() == before
