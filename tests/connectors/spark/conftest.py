"""The link that these tests share: to the live Spark of the run, in a session of its own."""

from collections.abc import Iterator

import pytest

from sqlfront_connectors.spark.link import SparkLink
from tests.oracle.spark import SparkOracle


@pytest.fixture(scope="session")
def link(spark: SparkOracle) -> Iterator[SparkLink]:
    """A link to a session without views."""
    link = SparkLink(spark.new_session())
    yield link
    link.close()
