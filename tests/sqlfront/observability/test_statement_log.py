"""Log lines: slow statements and failed ones, each at most once, without values."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront import Config
from sqlfront.observability.statement_log import FIELDS

SECRET = "hunter2"


@pytest.fixture
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(config=Config(slow_query=0.0)) as made:
        yield made


def fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name, _ in FIELDS}


def test_a_slow_statement_is_one_line(
    connection: sqlfront.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sqlfront")
    connection.execute(f"SELECT\n  '{SECRET}', ?", [SECRET]).fetchall()

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("sqlfront.slow_query", logging.INFO)
    assert record.getMessage().endswith("s in lane direct: SELECT ?, ?")
    found = fields(record)
    assert (found["query_state"], found["query_rows_given"], found["query_error"]) == ("finished", 1, "")
    phases = found["query_phases"]
    assert isinstance(phases, dict)
    assert list(phases) == ["parse", "plan", "wait", "run", "fetch"]
    assert sum(phases.values()) == pytest.approx(found["query_seconds"])


def test_a_statement_below_the_threshold_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sqlfront")
    with sqlfront.connect(config=Config(slow_query=1000.0)) as connection:
        connection.execute("SELECT 1").fetchall()

    assert [record for record in caplog.records if record.name.startswith("sqlfront.")] == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"SELECT CAST('{SECRET}' AS INT)", "CAST_INVALID_INPUT"),
        ("SELECT CAST(? AS INT)", "CAST_INVALID_INPUT"),
        ("SELECT CAST(concat(?, id) AS INT) FROM range(100000)", "CAST_INVALID_INPUT"),
        ("SELEC", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_failed_statement_is_one_line_without_values(
    connection: sqlfront.Connection, caplog: pytest.LogCaptureFixture, text: str, error: str
) -> None:
    caplog.set_level(logging.INFO, "sqlfront")
    with pytest.raises(sqlfront.Error):
        connection.execute(text, [SECRET] if "?" in text else None).fetchall()

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("sqlfront.queries", logging.ERROR)
    found = fields(record)
    assert (found["query_error"], found["query_state"]) == (error, "failed")
    assert not [value for value in (record.getMessage(), *found.values()) if SECRET in str(value)]


def test_nothing_is_logged_unless_the_configuration_asks_for_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sqlfront")
    with sqlfront.connect(config=Config(query_history=5)) as connection, pytest.raises(sqlfront.Error):
        connection.execute("SELEC")

    assert caplog.records == []
