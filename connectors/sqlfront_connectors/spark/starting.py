"""Spark sessions that are started for somebody, by a builder or a URL, and stopped when nobody needs them."""

import os
import re
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_connectors.spark.failures import ours, quiet, translated
from sqlfront_connectors.spark.link import is_remote
from sqlfront_engine.errors import OperationalError
from sqlfront_engine.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark import sql as spark_sql
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client import retries
else:
    spark_sql = lazy_module("pyspark.sql")
    retries = lazy_module("pyspark.sql.connect.client.retries")

#: How the address of a server of Spark Connect begins.
_REMOTE: Final = "sc://"
#: How often a server is tried that doesn't answer, the last time after a second; PySpark tries for minutes.
_RETRIES: Final = 3
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
            with ours():
                self.spark.stop()


def options_of(source: "SparkSession.Builder | str") -> Mapping[str, str]:
    """The settings that the source gives the session."""
    return {} if isinstance(source, str) else {key: str(value) for key, value in source._options.items()}


def start_session(source: "SparkSession.Builder | str", settings: Mapping[str, str]) -> StartedSession:
    """The session of a master (``local[4]``) or of a server of Spark Connect (``sc://host``), or what a
    builder's ``getOrCreate`` gives: a new one, or the one that this process has. A new one has these
    settings, unless the builder says otherwise.

    Raises OperationalError for whatever prevents that, first of all a PySpark that isn't installed.
    """
    try:
        with quiet(), _lock:
            started = _started(source)
            if started.ours:
                given = options_of(source)
                _settle(started.spark, {key: value for key, value in settings.items() if key not in given})
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


def _started(source: "SparkSession.Builder | str") -> StartedSession:
    if isinstance(source, str):
        if _is_server(source):
            return StartedSession(spark_sql.SparkSession.builder.remote(source).create(), ours=True)
        if source.startswith("local"):  # its workers are this Python, whatever is first on the path
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        source = spark_sql.SparkSession.builder.master(source).config(_PROGRESS, "false")
    there = _has_session()
    spark = source.getOrCreate()
    return StartedSession(spark, ours=not there or spark in _users)


def is_there(source: "SparkSession.Builder | str") -> bool:
    """Whether the source gives the session that this process has already."""
    return _has_session() and not _is_server(source)


def _is_server(source: "SparkSession.Builder | str") -> bool:
    return isinstance(source, str) and source.startswith(_REMOTE)


def _has_session() -> bool:
    """Whether this process has a Spark session already; PySpark isn't loaded for that."""
    classic, remote = sys.modules.get("pyspark.core.context"), sys.modules.get("pyspark.sql.connect.session")
    return (classic is not None and classic.SparkContext._active_spark_context is not None) or (
        remote is not None and remote.SparkSession._get_default_session() is not None
    )


def _settle(spark: "SparkSession", settings: Mapping[str, str]) -> None:
    """Give a new session its settings; one whose server doesn't take them is no more."""
    before = None
    if is_remote(spark):
        before = spark.client.get_retry_policies()
        spark.client.set_retry_policies([retries.DefaultPolicy(max_retries=_RETRIES)])
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
    except BaseException:
        spark.stop()
        raise
    if before is not None:
        spark.client.set_retry_policies(before)
