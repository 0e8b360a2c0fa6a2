"""Windows of time: what is refused, because Spark filters and groups sessions in an order of its own."""

import pytest

import sqlfront

EVENTS = (
    "(SELECT * FROM VALUES ('a', TIMESTAMP'2024-01-01 00:00:00', 1), ('a', TIMESTAMP'2024-01-01 00:04:00', 2)"
    " AS v(k, ts, v)) e"
)
SESSIONS = f"SELECT k, session_window(ts, '5 minutes') AS s, count(*) AS n FROM {EVENTS} GROUP BY ALL"


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        (f"SELECT n FROM ({SESSIONS}) WHERE s.end > TIMESTAMP'2024-01-01'", "A filter of merged sessions"),
        (f"SELECT k FROM {EVENTS} WHERE window(ts, '1 hour').start IS NULL", "window in WHERE"),
        (f"SELECT k FROM {EVENTS} ORDER BY window(ts, '1 hour')", "window in ORDER BY"),
        (f"SELECT window(window.start, '1 day') FROM {EVENTS}", "A window of a window"),
        (
            f"SELECT count(*) FROM {EVENTS} GROUP BY ROLLUP(k, session_window(ts, '1 hour'))",
            "Sessions in grouping sets",
        ),
        (f"SELECT session_window(ts, '1 day -1 hour') FROM {EVENTS}", "A gap of sessions with parts of both"),
        (
            (
                f"SELECT max(session_window.end), count(DISTINCT v) FROM {EVENTS} "
                "GROUP BY session_window(ts, '1 hour')"
            ),
            "An aggregate function of a session beside DISTINCT",
        ),
    ],
)
def test_is_refused_by_name(query: str, construct: str) -> None:
    with sqlfront.connect() as connection, pytest.raises(sqlfront.NotSupportedError, match=construct):
        connection.execute(query).fetchall()


def test_a_filter_of_other_keys_is_none_of_sessions() -> None:
    assert [
        row.n for row in sqlfront.sql(f"SELECT n FROM ({SESSIONS}) WHERE k = 'a' AND n > 1").collect()
    ] == [2]


def test_a_plan_serves_other_widths() -> None:
    with sqlfront.connect() as connection:
        widths = ("1 hour", "2 minutes")
        query = f"SELECT count(*) FROM {EVENTS} GROUP BY window(ts, ?)"
        assert [len(connection.execute(query, [width]).fetchall()) for width in widths] == [1, 2]
