"""Three member processes that the tests of one worker share; each test has a session of its own there."""

import atexit
import tempfile
from functools import cache

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.config import Config
from sqlfront_cluster.launchers.local import LocalCluster

_SECRET = "of the tests"


@cache
def cluster() -> LocalCluster:
    """The cluster, which ends with this process."""
    made = LocalCluster(3, workers=1, service=SERVICE, secret=_SECRET.encode(), silence_limit=30.0)
    atexit.register(made.close)
    return made


def config(**options: object) -> Config:
    """The configuration of a session on the cluster."""
    address = f"sqlfront://{cluster().address.removeprefix('unix:')}"
    warehouse = tempfile.mkdtemp(prefix="sqlfront-")
    made: Config = sqlfront.Config(cluster=address, secret=_SECRET, warehouse=warehouse, **options)  # type: ignore[arg-type]
    return made


def drop_all(connection: sqlfront.Connection) -> None:
    """Leave no table, view or function behind for the other sessions."""
    for _, name, temporary in connection.execute("SHOW TABLES").fetchall():
        if not temporary:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
    for (name,) in connection.execute("SHOW USER FUNCTIONS").fetchall():
        if "." in str(name):  # those of the session have no schema, and end with it
            connection.execute(f"DROP FUNCTION IF EXISTS {name}")
