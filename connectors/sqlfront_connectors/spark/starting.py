"""Spark sessions that are started for somebody, by a builder or a URL, and stopped when nobody needs them."""

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

#: How the address of a server of Spark Connect begins.
_REMOTE: Final = "sc://"
#: For how long a server is tried again that can't be reached (s); PySpark tries for minutes. One that takes
#: the connection and says nothing is given up by gRPC after 20 s, once.
_PATIENCE: Final = 1.0
#: What has Spark draw a bar where sqlfront's user looks.
_PROGRESS: Final = "spark.ui.showConsoleProgress"
#: What there is to know of an error of gRPC.
_DETAILS: Final = r'details = "(.*)"'

_lock: Final = threading.Lock()
#: How many use each session that was started here.
_users: Final[dict["SparkSession", int]] = {}


class StartedSession(msgspec.Struct, frozen=True):
    """A session that somebody uses. ``ours``: it was started here, and ends with its last user."""

    spark: "SparkSession"
    ours: bool

    def close(self) -> None:
        """It isn't used any more; to be called once. OperationalError if it is gone already."""
        if not self.ours:
            return
        with _lock:
            _users[self.spark] -= 1
            if _users[self.spark]:
                return
            del _users[self.spark]
            if is_stopped(self.spark):
                raise gone()  # stopping it again would take the next session for this one
            with ours():
                if is_remote(self.spark):
                    _hurry(self.spark)
                self.spark.stop()


class Connecting:
    """The server that is asked for a session and hasn't answered yet, if there is one. Any thread may call
    any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spark: SparkSession | None = None
        self._closed = False

    @contextmanager
    def to(self, spark: "SparkSession") -> Iterator[None]:
        """The server of that session is asked inside of the block."""
        with self._lock:
            if self._closed:
                raise OperationalError("nobody waits for it any more")
            self._spark = spark
        atexit.register(self.close)  # later than PySpark's own, and so before: that would wait for the server
        try:
            yield
        finally:
            atexit.unregister(self.close)
            with self._lock:
                self._spark = None

    def close(self) -> None:
        """Wait for it no more: what it is asked fails at once. Closing twice is no error."""
        with self._lock:
            self._closed = True
            if self._spark is not None:
                self._spark.client.close()


def options_of(source: "SparkSession.Builder | str") -> Mapping[str, str]:
    """The settings that the source gives the session."""
    return {} if isinstance(source, str) else {key: str(value) for key, value in source._options.items()}


def start_session(
    source: "SparkSession.Builder | str", settings: Mapping[str, str], connecting: Connecting
) -> StartedSession:
    """The session of a master (``local[4]``) or of a server of Spark Connect (``sc://host``), or what a
    builder's ``getOrCreate`` gives: a new one, or the one that this process has. A new one has these
    settings, unless the builder says otherwise. ``connecting`` can end the waiting for a server.

    Raises OperationalError for whatever prevents that, first of all a PySpark that isn't installed.
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


def _connected(url: str, settings: Mapping[str, str], connecting: Connecting) -> StartedSession:
    spark = spark_sql.SparkSession.builder.remote(url).create()
    before = spark.client.get_retry_policies()
    _hurry(spark)
    try:
        with connecting.to(spark):
            _settle(spark, settings)
    except BaseException:
        spark.client.close()  # so that it isn't asked to end the session, either
        spark.stop()
        raise
    spark.client.set_retry_policies(before)
    with _lock:
        _users[spark] = 1
    return StartedSession(spark, ours=True)


def _hurry(spark: "SparkSession") -> None:
    """Give the server up soon, from now on, that can't be reached."""
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
    """Whether the source gives the session that this process has already."""
    return _has_session() and not _is_server(source)


def _is_server(source: "SparkSession.Builder | str") -> TypeGuard[str]:
    return isinstance(source, str) and source.startswith(_REMOTE)


def _has_session() -> bool:
    """Whether this process has a Spark session already; PySpark isn't loaded for that."""
    classic, remote = sys.modules.get("pyspark.core.context"), sys.modules.get("pyspark.sql.connect.session")
    return (classic is not None and classic.SparkContext._active_spark_context is not None) or (
        remote is not None and remote.SparkSession._get_default_session() is not None
    )


def _settle(spark: "SparkSession", settings: Mapping[str, str]) -> None:
    """Give a new session its settings, of which it is asked at least one: so it has answered."""
    for key, value in settings.items():
        spark.conf.set(key, value)
