"""The schemas of sqlfront's results are Spark's, nulls included."""

from __future__ import annotations

import pytest

import sqlfront
from tests.oracle.schemas.comparison import GAPS, compare


def test_nulls_of_all_stored_queries() -> None:
    """Gaps that are closed leave the file."""
    different, compared = compare()
    assert list(different) == GAPS.read_text().splitlines(), "\n".join(
        f"{q}\n{t}" for q, t in different.items()
    )
    assert compared > 1000


@pytest.mark.parametrize("now", ["1 AS x", "array(1) AS x, struct(1, 2) AS y", "'a' AS x, 1 AS y, 2 AS z"])
def test_a_table_that_has_changed_since_the_query(now: str) -> None:
    """The schema is still that of the rows; of their nulls nothing is known."""
    with sqlfront.connect() as connection:
        session = connection.session
        session.sql("CREATE TABLE t USING memory AS SELECT 1 AS x, array('b') AS y")
        result = session.sql("SELECT x, y FROM t" if "y" in now else "SELECT * FROM t")
        session.sql("DROP TABLE t")
        session.sql(f"CREATE TABLE t USING memory AS SELECT {now}")

        assert result.schema_tree() == (
            "root\n |-- x: integer (nullable = true)\n |-- y: array (nullable = true)\n"
            " |    |-- element: string (containsNull = true)\n"
        )
