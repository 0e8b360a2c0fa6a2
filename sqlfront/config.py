"""What a session can be told."""

from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_engine.errors import ProgrammingError, spark_error
from sqlfront_engine.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile

    from sqlfront_engine import zone_names
else:
    zone_names = lazy_module("sqlfront_engine.zone_names")

MEBIBYTE: Final = 1 << 20


class Launcher(Enum):
    """Where a session's own members live."""

    EMBEDDED = "embedded"
    """In this process."""
    LOCAL = "local"
    """Each in a process of its own on this machine, which ends with this one."""
    SPARK = "spark"
    """Each on an executor of the Spark session that stands beside this one."""


class Config(msgspec.Struct, frozen=True):
    """A session's configuration.

    ``workers``: cooperative worker threads, None = one per core. ``memory_limit``: bytes that all running
    statements may hold together, None = six tenths of the machine's memory. ``query_memory_limit``: bytes
    that one statement may hold, None = the same. ``timeout``: seconds that a statement may take, None = no
    limit. ``time_zone``: of TIMESTAMP values, a name that Spark knows (``Europe/Paris``, ``+05:30``).
    ``warehouse``: directory for tables USING a file format without LOCATION, None = a temporary one that
    goes with the session.

    ``members``: how many members memory tables are spread over and queries run on, None = one, or one on each
    executor. ``launcher``: where these live; embedded ones share the workers and the memory, the others have
    as many each (on an executor None means its slots, and its part of the host's memory). ``cluster``: use
    the members of a running cluster instead, and the tables that its sessions have in common; see
    :func:`~sqlfront.cluster.addresses.find`, for ``secret``, too. ``collect_rows``: with several members,
    inputs of up to that many estimated rows are collected by one of them instead of being exchanged.
    ``silence_limit``: seconds after which one of the session's own members that says nothing is given up (one
    whose process ends, at once). It has to be longer than anything holds up this process, which keeps their
    list: ``to_pandas`` of six million rows does so for more than seven seconds. ``resource_profile``: what
    Spark is to reserve for each member on its executors, None = a slot; a slot has to be left.

    ``plan_cache``: how many plans the session keeps for texts that come again, with the same literals or
    others; 0 = none.
    """

    workers: int | None = None
    memory_limit: int | None = None
    query_memory_limit: int | None = None
    timeout: float | None = None
    time_zone: str = "UTC"
    warehouse: str | None = None
    members: int | None = None
    launcher: Launcher = Launcher.EMBEDDED
    cluster: str | None = None
    secret: str | None = None
    collect_rows: float = 20_000
    silence_limit: float = 30.0
    resource_profile: "ResourceProfile | None" = None
    plan_cache: int = 1000

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ProgrammingError(f"workers must be at least 1, not {self.workers}")
        if self.plan_cache < 0:
            raise ProgrammingError(f"plan_cache must be at least 0, not {self.plan_cache}")
        if self.members is not None and self.members < 1:
            raise ProgrammingError(f"members must be at least 1, not {self.members}")
        if self.cluster is not None and ((self.members or 1) > 1 or self.launcher is not Launcher.EMBEDDED):
            raise ProgrammingError("a session of a cluster has no members of its own: give one or the other")
        if self.secret is not None and self.cluster is None:
            raise ProgrammingError("a secret is for the cluster that a session is to join; there is none")
        if self.resource_profile is not None and self.launcher is not Launcher.SPARK:
            raise ProgrammingError("a resource profile is for members on Spark's executors: launcher='spark'")
        for name, value in (
            ("memory_limit", self.memory_limit),
            ("query_memory_limit", self.query_memory_limit),
        ):
            if value is not None and value < MEBIBYTE:
                raise ProgrammingError(f"{name} must be at least {MEBIBYTE} bytes (1 MiB), not {value}")
        if self.timeout is not None and self.timeout <= 0:
            raise ProgrammingError(f"timeout must be positive, not {self.timeout}")
        if self.silence_limit <= 0:
            raise ProgrammingError(f"silence_limit must be positive, not {self.silence_limit}")
        check_time_zone(self.time_zone)


def check_time_zone(name: str) -> str:
    """The name, if it is a time zone's (see :func:`~sqlfront_engine.zone_names.zone_of`). Errors:
    INVALID_CONF_VALUE.TIME_ZONE."""
    if name == "UTC":
        return name
    try:
        zone_names.zone_of(name)
    except ValueError:
        raise spark_error(
            "INVALID_CONF_VALUE.TIME_ZONE",
            f"The value '{name}' in the config \"spark.sql.session.timeZone\" is invalid. Cannot resolve the"
            " given timezone.",
        ) from None
    return name
