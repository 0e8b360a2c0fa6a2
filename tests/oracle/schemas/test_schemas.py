"""The schemas of sqlfront's results are Spark's, nulls included."""

from __future__ import annotations

from tests.oracle.schemas.comparison import GAPS, compare


def test_nulls_of_all_stored_queries() -> None:
    """Gaps that are closed leave the file."""
    different, compared = compare()
    assert list(different) == GAPS.read_text().splitlines(), "\n".join(
        f"{q}\n{t}" for q, t in different.items()
    )
    assert compared > 1000
