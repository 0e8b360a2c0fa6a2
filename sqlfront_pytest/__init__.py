"""pytest's plug-in of sqlfront: a session for each test, without a JVM.

In: a test that asks for a fixture. Out: ``sqlfront_session``, a session that no other test has seen, opened
in less than a millisecond; ``spark_session``, the same session for code that is given a ``spark``;
``sqlfront_connection``, a connection of PEP 249 to the session. Override ``sqlfront_config`` to configure
these fixtures.

pytest loads the plug-in in every project of an environment, so that this package stands beside ``sqlfront``
and loads ``sqlfront`` when a test first asks for a fixture.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sqlfront import Config, Connection, Session


@pytest.fixture(scope="session")
def sqlfront_config() -> "Config":
    """The configuration of the sessions of tests: the defaults, without the environment's variables. Projects
    override this fixture in ``conftest.py``."""
    config: Config = import_module("sqlfront").Config()
    return config


@pytest.fixture
def sqlfront_session(sqlfront_config: "Config") -> "Iterator[Session]":
    """A new session, in which :func:`sqlfront.sql` runs its statements as well. Tables, views, settings and
    temporary files end with the test."""
    api = import_module("sqlfront.api")
    session: Session
    with api.Session(sqlfront_config) as session, api.as_default(session):
        yield session


@pytest.fixture
def spark_session(sqlfront_session: "Session") -> "Session":
    """The test's session, for code that runs ``spark.sql(...)``: results have the methods of PySpark's
    frames that give rows; ``createDataFrame`` and ``register`` take rows, data frames and Arrow data."""
    return sqlfront_session


@pytest.fixture
def sqlfront_connection(sqlfront_session: "Session") -> "Iterator[Connection]":
    """A connection of PEP 249 to the test's session."""
    connection: Connection
    with import_module("sqlfront.connection").Connection(sqlfront_session) as connection:
        yield connection
