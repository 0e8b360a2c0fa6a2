"""Dates and timestamps beyond Python's are values like others as long as they don't become Python's."""

import pytest

from sqlfront import DataError, Session


def test_far_dates_are_compared_joined_and_shown_as_text() -> None:
    with Session() as session:
        session.sql("CREATE TABLE far (k INT, t TIMESTAMP, d DATE) USING memory")
        session.sql("INSERT INTO far VALUES (1, TIMESTAMP'+12000-01-01 00:00:00', DATE'+12000-01-01')")
        rows = session.sql(
            "SELECT a.k, year(a.d), CAST(a.t AS STRING) FROM far AS a JOIN far AS b"
            " ON a.d = b.d AND a.t = b.t WHERE a.d > DATE'2020-01-01'"
            " AND a.t < TIMESTAMP'+12000-01-02 00:00:00'"
        ).collect()

    assert [tuple(row) for row in rows] == [(1, 12000, "+12000-01-01 00:00:00")]


@pytest.mark.parametrize("more", ["", ", array(1)"])
def test_a_timestamp_beyond_pythons_in_the_sessions_zone_is_an_error(more: str) -> None:
    with Session() as session:
        session.sql("SET TIME ZONE 'America/New_York'")
        result = session.sql(f"SELECT TIMESTAMP'0001-01-01 00:00:00Z' AS t{more}")

        with pytest.raises(DataError, match="outside of the years 1 to 9999"):
            result.collect()
