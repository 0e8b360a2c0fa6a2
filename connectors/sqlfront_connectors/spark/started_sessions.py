"""Spark sessions that sqlfront starts, by a builder or a URL, and stops after their last use."""

import atexit
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeGuard

import msgspec

from sqlfront_connectors.spark.failures import gone, ours, quiet, translated
from sqlfront_connectors.spark.link import is_remote, is_stopped
from sqlfront_values.errors import OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark import sql as spark_sql
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client import retries
else:
    spark_sql = lazy_module("pyspark.sql")
    retries = lazy_module("pyspark.sql.connect.client.retries")

#: The prefix of the address of a Spark Connect server.
_REMOTE: Final = "sc://"
#: Time for which an unreachable server is retried (s); PySpark retries for minutes. gRPC gives up a server
#: that accepts the connection and doesn't answer after 20 s, once.
_PATIENCE: Final = 1.0
#: The setting by which Spark draws a progress bar on the user's console.
_PROGRESS: Final = "spark.ui.showConsoleProgress"
#: The informative part of a gRPC error.
_DETAILS: Final = r'details = "(.*)"'

_lock: Final = threading.Lock()
#: The number of users of each session that was started here.
_users: Final[dict["SparkSession", int]] = {}


class StartedSession(msgspec.Struct, frozen=True):
    """One use of a Spark session, of several in this process. ``ours``: True if sqlfront has started the
    session, and stops it after the last use; False if the user's program had started it."""

    spark: "SparkSession"
    ours: bool

    def close(self) -> None:
        """End this use of the session. If sqlfront has started the session, and this was its last use, stop
        the session. To be called once. Raises OperationalError if the session to be stopped has ended
        already."""
        if not self.ours:
            return
        with _lock:
            _users[self.spark] -= 1
            if _users[self.spark]:
                return
            del _users[self.spark]
            if is_stopped(self.spark):
                raise gone()  # a second stop would hit the next session
            with ours():
                if is_remote(self.spark):
                    _hurry(self.spark)
                self.spark.stop()


class PendingConnection:
    """A handle by which another thread can end the wait for a Spark Connect server that was asked for a
    session and hasn't answered yet. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spark: SparkSession | None = None
        self._closed = False

    @contextmanager
    def to(self, spark: "SparkSession") -> Iterator[None]:
        """Return a context manager for the calls to the server of ``spark``: while it is entered,
        :meth:`close` makes these calls fail. Raises OperationalError on entering if :meth:`close` was called
        before."""
        with self._lock:
            if self._closed:
                raise OperationalError("the session that waited for Spark is closed")
            self._spark = spark
        atexit.register(self.close)  # runs before PySpark's own, which would wait
        try:
            yield
        finally:
            atexit.unregister(self.close)
            with self._lock:
                self._spark = None

    def close(self) -> None:
        """End the wait for the server, now and in future: calls under way fail at once. A second call is no
        error."""
        with self._lock:
            self._closed = True
            if self._spark is not None:
                self._spark.client.close()


def options_of(source: "SparkSession.Builder | str") -> Mapping[str, str]:
    """Return the settings that ``source`` gives a new session: the options of a builder, none for a URL."""
    return {} if isinstance(source, str) else {key: str(value) for key, value in source._options.items()}


def start_session(
    source: "SparkSession.Builder | str", settings: Mapping[str, str], connecting: PendingConnection
) -> StartedSession:
    """Return a Spark session for ``source``: the URL of a master (``local[4]``) or of a Spark Connect server
    (``sc://host``), or a builder, whose ``getOrCreate`` is called.

    For a server the session is always new. Otherwise the result is the present session of this process if
    there is one. ``settings``: given to a new session, except those for which the builder has values.
    ``connecting``: the handle that can end the wait for a server.

    Raises OperationalError for any failure, such as a PySpark that isn't installed.
    """
    try:
        if _is_server(source):
            with quiet():
                return _connected(source, settings, connecting)
        with quiet(), _lock:
            started = _started(source)
            if started.ours:
                given = options_of(source)
                try:
                    _settle(started.spark, {key: settings[key] for key in settings.keys() - given.keys()})
                except BaseException:
                    started.spark.stop()
                    raise
                _users[started.spark] = _users.get(started.spark, 0) + 1
            return started
    except ModuleNotFoundError as error:
        raise OperationalError(f"{error.name} is not installed: pip install 'sqlfront[spark]'") from error
    except Exception as error:
        known = translated(error)
        text = str(error) if known is None else known.message
        details = re.search(_DETAILS, text)
        name = f" ({source})" if isinstance(source, str) else ""
        reason = text.strip() if details is None else details[1]
        raise OperationalError(f"Spark can't be started{name}: {reason}") from error


def _connected(url: str, settings: Mapping[str, str], connecting: PendingConnection) -> StartedSession:
    spark = spark_sql.SparkSession.builder.remote(url).create()
    before = spark.client.get_retry_policies()
    _hurry(spark)
    try:
        with connecting.to(spark):
            _settle(spark, settings)
    except BaseException:
        spark.client.close()  # so that the server isn't asked to end the session, either
        spark.stop()
        raise
    spark.client.set_retry_policies(before)
    with _lock:
        _users[spark] = 1
    return StartedSession(spark, ours=True)


def _hurry(spark: "SparkSession") -> None:
    """Make calls of ``spark`` to an unreachable server fail :data:`_PATIENCE` seconds from now, instead of
    after PySpark's minutes."""
    until = time.monotonic() + _PATIENCE

    class Hurried(retries.DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            return time.monotonic() < until and super().can_retry(e)

    spark.client.set_retry_policies([Hurried()])


def _started(source: "SparkSession.Builder | str") -> StartedSession:
    if isinstance(source, str):
        if source.startswith("local"):  # its workers are this Python, whatever is first on the path
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        source = spark_sql.SparkSession.builder.master(source).config(_PROGRESS, "false")
    there = _has_session()
    spark = source.getOrCreate()
    return StartedSession(spark, ours=not there or spark in _users)


def is_there(source: "SparkSession.Builder | str") -> bool:
    """Return whether :func:`start_session` would return a session that exists in this process already."""
    return _has_session() and not _is_server(source)


def _is_server(source: "SparkSession.Builder | str") -> TypeGuard[str]:
    return isinstance(source, str) and source.startswith(_REMOTE)


def _has_session() -> bool:
    """Return whether this process has a Spark session already, without importing PySpark."""
    classic, remote = sys.modules.get("pyspark.core.context"), sys.modules.get("pyspark.sql.connect.session")
    return (classic is not None and classic.SparkContext._active_spark_context is not None) or (
        remote is not None and remote.SparkSession._get_default_session() is not None
    )


def _settle(spark: "SparkSession", settings: Mapping[str, str]) -> None:
    """Set the ``settings``, at least one, in a new session. Over Spark Connect this also waits for the
    server's first answer."""
    for key, value in settings.items():
        spark.conf.set(key, value)
