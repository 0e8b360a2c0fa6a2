"""An engine per test."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine with a session of its own, closed after the test."""
    made = create_engine("sqlfront://")
    yield made
    made.dispose()
