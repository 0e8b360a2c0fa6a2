"""Module-level functions of the package: ``connect``, ``attach``, ``sql``."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront.config import Config, Launcher
from sqlfront.results.result import Parameters, Result
from sqlfront.session import Session
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile

    from sqlfront import connection
    from sqlfront.spark import attached
    from sqlfront.spark.frame import Frame
    from sqlfront.spark.start import SparkSource
else:
    connection = lazy_module("sqlfront.connection")
    attached = lazy_module("sqlfront.spark.attached")

_lock = threading.Lock()
_default: list[Session] = []


def connect(
    cluster: str | Config | None = None,
    *,
    config: Config | None = None,
    secret: str | None = None,
    credentials: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    authority: str | None = None,
    insecure: bool | None = None,
    allow_user_code: bool | None = None,
    workers: int | None = None,
    members: int | None = None,
    launcher: str | None = None,
    memory_limit: int | None = None,
    timeout: float | None = None,
    time_zone: str | None = None,
    file_access: str | Sequence[str] | None = None,
    spark: "SparkSource | None" = None,
    resource_profile: "ResourceProfile | None" = None,
) -> "connection.Connection":
    """Open a new session, and return a connection to the session. ``cluster``: the address of a running
    cluster (``sqlfront://host:port``), or a :class:`~sqlfront.config.Config`; None with a ``credentials``
    file = the cluster of that file. The session's tables live as long as the session or, in a cluster, as
    long as the cluster. ``spark``: see :func:`attach`. The other keywords override the fields of ``config``
    with the same names (:class:`~sqlfront.config.Config` explains them); None leaves a field as it is.

    >>> with connect() as connection:
    ...     connection.execute("select 1 + ?", [2]).fetchall()
    [(3,)]
    """
    if isinstance(cluster, Config):
        cluster, config = None, cluster
    if cluster is None and credentials is not None and (config is None or config.cluster is None):
        cluster = "sqlfront://"
    given = {
        "cluster": cluster,
        "secret": secret,
        "credentials": credentials,
        "certificate": certificate,
        "key": key,
        "authority": authority,
        "insecure": insecure,
        "allow_user_code": allow_user_code,
        "workers": workers,
        "members": members,
        "launcher": None if launcher is None else _launcher(launcher),
        "memory_limit": memory_limit,
        "timeout": timeout,
        "time_zone": time_zone,
        "file_access": file_access,
        "resource_profile": resource_profile,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    made = replace(config or Config(), **changes)
    return connection.Connection(Session(made) if spark is None else attached.AttachedSession(spark, made))


def attach(spark: "SparkSource", config: Config | None = None) -> "attached.AttachedSession":
    """A session beside a Spark session, classic or Connect; :func:`sql` uses the new session from now on. The
    session sees Spark's tables and views, and passes statements that it can't run to Spark. The answers are
    ``spark.sql``'s.

    ``spark`` may also say how to start a Spark session: a ``SparkSession.Builder``, a master (``"local[4]"``)
    or a server of Spark Connect (``"sc://host"``). The Spark session then starts in the background when a
    statement first needs Spark; until then no part of PySpark is loaded. A Spark session started here has the
    time zone of ``config`` unless the builder sets another, and stops when the sqlfront session is closed.
    """
    session = attached.AttachedSession(spark, config)
    with _lock:
        _default[:] = [session]
    return session


def _launcher(name: str) -> Launcher:
    try:
        return Launcher(name)
    except ValueError:
        known = ", ".join(each.value for each in Launcher)
        raise ProgrammingError(f"unknown launcher {name!r}; known launchers: {known}") from None


def sql(text: str, args: Parameters | None = None, **frames: object) -> "Result | Frame":
    """Run one statement in the process's default session, as ``spark.sql`` does: ``:name`` and ``?`` take
    ``args`` (values without a parameter are ignored), and ``{name}`` in the text stands for the Arrow data
    given as keyword ``name``. Returns a :class:`~sqlfront.spark.frame.Frame` after :func:`attach`, else a
    Result.

    >>> sql("select :x + 1 as y", {"x": 1}).collect()
    [Row(y=2)]
    """
    return default_session().sql(text, args, **frames)


def default_session() -> Session:
    """The session behind :func:`sql`: the session that :func:`attach` made last. A new session is made if
    there is none, or if the last one is closed."""
    with _lock:
        if not _default or _default[0].closed:
            _default[:] = [Session(Config())]
        return _default[0]
