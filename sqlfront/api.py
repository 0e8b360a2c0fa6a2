"""Module-level functions of the package: ``connect``, ``attach``, ``sql``."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from sqlfront.config import Config, Launcher
from sqlfront.results.result import Parameters, Result
from sqlfront.session import Session
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile

    from sqlfront import connection
    from sqlfront.configuration import connecting
    from sqlfront.spark import attached
    from sqlfront.spark.frame import Frame
    from sqlfront.spark.start import SparkSource
else:
    connection = lazy_module("sqlfront.connection")
    connecting = lazy_module("sqlfront.configuration.connecting")
    attached = lazy_module("sqlfront.spark.attached")

_lock = threading.Lock()
_default: list[Session] = []
#: Arguments with which a session joins a cluster.
_ADDRESSES: Final = frozenset(["cluster", "credentials"])


def connect(
    url: str | Config | None = None,
    *,
    config: Config | None = None,
    cluster: str | os.PathLike[str] | None = None,
    lite: bool | None = None,
    secret: str | None = None,
    credentials: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    authority: str | None = None,
    insecure: bool | None = None,
    allow_user_code: bool | None = None,
    processor_modules: Sequence[str] | None = None,
    workers: int | None = None,
    members: int | None = None,
    launcher: str | None = None,
    memory_limit: int | None = None,
    query_memory_limit: int | None = None,
    timeout: float | None = None,
    time_zone: str | None = None,
    warehouse: str | None = None,
    file_access: str | Sequence[str] | None = None,
    collect_rows: float | None = None,
    silence_limit: float | None = None,
    backups: int | None = None,
    handover_timeout: float | None = None,
    force_leave: bool | None = None,
    plan_cache: int | None = None,
    job_store: str | os.PathLike[str] | None = None,
    job_recovery: bool | None = None,
    job_options: Mapping[str, str | float] | None = None,
    query_history: int | None = None,
    slow_query: float | None = None,
    metrics: str | None = None,
    tracing: bool | None = None,
    show_literals: bool | None = None,
    spark: "SparkSource | None" = None,
    resource_profile: "ResourceProfile | None" = None,
) -> "connection.Connection":
    """Open a new session, and return a connection to the session. ``url``: a URL
    (:mod:`sqlfront.configuration.urls`), the name of a connection in ``sqlfront.toml``, or a
    :class:`~sqlfront.config.Config`. If it is None and ``credentials`` is the path of a credentials file, the
    session uses the cluster of that file. The session's tables live as long as the session or, in a cluster,
    as long as the cluster. ``spark``: see :func:`attach`. All other keywords are fields of
    :class:`~sqlfront.config.Config`, where they are explained; None = not given.

    If several sources give a setting, the first of these counts: keywords and ``config``, ``url``, variables
    ``SQLFRONT_*`` of the environment (:mod:`sqlfront.configuration.connecting`), ``sqlfront.toml``.

    Raises ProgrammingError for settings that are malformed, unknown or don't fit together, and
    OperationalError if the session can't be opened.

    >>> with connect() as connection:
    ...     connection.execute("select 1 + ?", [2]).fetchall()
    [(3,)]
    >>> with connect("sqlfront:?time_zone=Europe/Paris") as connection:
    ...     connection.execute("select current_timezone()").fetchall()
    [('Europe/Paris',)]
    """
    if isinstance(url, Config):
        url, config = None, url
    if url is not None and cluster is not None:
        raise ProgrammingError("url and cluster are both given; one of these says the place")
    given = {
        "cluster": os.fspath(cluster) if isinstance(cluster, os.PathLike) else cluster,
        "lite": lite,
        "secret": secret,
        "credentials": credentials,
        "certificate": certificate,
        "key": key,
        "authority": authority,
        "insecure": insecure,
        "allow_user_code": allow_user_code,
        "processor_modules": processor_modules,
        "workers": workers,
        "members": members,
        "launcher": None if launcher is None else _launcher(launcher),
        "memory_limit": memory_limit,
        "query_memory_limit": query_memory_limit,
        "timeout": timeout,
        "time_zone": time_zone,
        "warehouse": warehouse,
        "file_access": file_access,
        "collect_rows": collect_rows,
        "silence_limit": silence_limit,
        "backups": backups,
        "handover_timeout": handover_timeout,
        "force_leave": force_leave,
        "plan_cache": plan_cache,
        "job_store": job_store,
        "job_recovery": job_recovery,
        "job_options": job_options,
        "query_history": query_history,
        "slow_query": slow_query,
        "metrics": metrics,
        "tracing": tracing,
        "show_literals": show_literals,
        "spark": spark,
        "resource_profile": resource_profile,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return connection.Connection(open_session(url, changes, config))


def open_session(url: str | None, given: Mapping[str, object], config: Config | None) -> Session:
    """Open a session. ``url``: a URL or the name of a connection in ``sqlfront.toml``; ``given``: the
    arguments of :func:`connect` that aren't None, by their names. Raises ProgrammingError for settings that
    are malformed, unknown or don't fit together, OperationalError if the session can't be opened."""
    spark = cast("SparkSource | None", given.get("spark"))
    if url is not None or given.keys() & _ADDRESSES or (config is None and _environment_speaks()):
        resolved = connecting.resolve(url, given, config)
        made, spark = resolved.config, resolved.spark if spark is None else spark
    else:
        changes = {name: value for name, value in given.items() if name != "spark"}
        made = replace(config or Config(), **changes)
    return Session(made) if spark is None else attached.AttachedSession(spark, made)


def _environment_speaks() -> bool:
    """Return whether the environment has a variable ``SQLFRONT_*``. The check imports no module."""
    return any(name.startswith("SQLFRONT_") for name in os.environ)


def attach(
    spark: "SparkSource | attached.AttachedSession", config: Config | None = None
) -> "attached.AttachedSession":
    """Make a session beside a Spark session, classic or Connect, and let :func:`sql` use the new session from
    now on. The session sees Spark's tables and views, and passes statements that it can't run to Spark. The
    answers are those of ``spark.sql``.

    ``spark`` is a Spark session, or says how to start one: a ``SparkSession.Builder``, a master
    (``"local[4]"``) or a server of Spark Connect (``"sc://host"``). The Spark session then starts in the
    background when a statement first needs Spark; until then no part of PySpark is loaded. A Spark session
    started here has the time zone of ``config`` unless the builder sets another, and stops when the sqlfront
    session is closed.

    If ``spark`` is an open session that this function has returned, the session itself is returned, so that a
    notebook may run ``spark = sqlfront.attach(spark)`` again. With another ``config``, a second session is
    made beside the same Spark session.
    """
    if isinstance(spark, attached.AttachedSession) and not spark.closed and config in (None, spark.config):
        session = spark
    else:
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
    """Run one statement in the process's default session, as ``spark.sql`` does. ``args`` are the values of
    the parameters ``:name`` or ``?`` (values without a parameter are ignored); ``{name}`` in the text stands
    for the Arrow data that is passed as the keyword ``name``. Returns a :class:`~sqlfront.spark.frame.Frame`
    after :func:`attach`, else a Result.

    >>> sql("select :x + 1 as y", {"x": 1}).collect()
    [Row(y=2)]
    """
    return default_session().sql(text, args, **frames)


def default_session() -> Session:
    """Return the session in which :func:`sql` runs statements: the session that :func:`attach` returned last.
    If there is none, or if it is closed, a new session is made, with the settings that the variables
    ``SQLFRONT_*`` of the environment give."""
    with _lock:
        if not _default or _default[0].closed:
            _default[:] = [open_session(None, {}, None)]
        return _default[0]


@contextmanager
def as_default(session: Session) -> Iterator[None]:
    """Let :func:`sql` use ``session`` within the ``with`` block; after it, :func:`sql` uses the session from
    before."""
    with _lock:
        before, _default[:] = list(_default), [session]
    try:
        yield
    finally:
        with _lock:
            _default[:] = before
