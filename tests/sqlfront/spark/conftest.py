"""The live Spark of these tests: that of the run or, with ``SQLFRONT_TEST_SPARK=connect``, sessions over
Spark Connect, on a server that they start; no other test of the live Spark can run in that process."""

from collections.abc import Iterator
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from sqlfront_connectors.spark.sessions.remote import KEPT
from tests.connectors.spark.conftest import CONNECT, connect_session


class Sessions(Protocol):
    """What has sessions to give."""

    def new_session(self) -> SparkSession:
        """A session without views and with its own settings."""


class ConnectSessions:
    """Those of one server."""

    def __init__(self, first: SparkSession) -> None:
        self._first = first

    def new_session(self) -> SparkSession:
        """See :class:`Sessions`."""
        return self._first.newSession()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    """Where the tests have their sessions from. A test that asks for it carries `@pytest.mark.spark`."""
    if CONNECT:
        yield ConnectSessions(connect_session(tmp_path_factory.mktemp("warehouse")))
    else:
        yield request.getfixturevalue("spark")


def views(session: SparkSession) -> list[str]:
    """The names of a session's temporary views. Over Spark Connect a query over tables of sqlfront's is one,
    too, as long as somebody has its rows: those don't count."""
    tables = session.catalog.listTables()
    return [view.name for view in tables if view.isTemporary and not view.name.startswith(KEPT)]
