"""Configuration of a session."""

import math
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import asdict

from sqlfront.field_types import check_types
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processors.own_classes import is_module_name
from sqlfront_values.errors import ProgrammingError, spark_error
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.zones import names as zone_names

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile

    from sqlfront.configuration import redaction
    from sqlfront.jobs import job_options as options_of_jobs
else:
    redaction = lazy_module("sqlfront.configuration.redaction")
    options_of_jobs = lazy_module("sqlfront.jobs.job_options")
    ResourceProfile = object

#: Bytes of a mebibyte, the unit of Config's memory limits and the smallest limit.
MEBIBYTE: Final = 1 << 20
#: Fields with checks of their own instead of the check of their types.
_UNTYPED: Final = frozenset({"job_store", "resource_profile"})
#: Fields that take path objects, too.
_PATHS: Final = frozenset({"warehouse", "credentials", "certificate", "key", "authority"})


class Launcher(Enum):
    """The processes in which a session's own members run."""

    EMBEDDED = "embedded"
    """In this process."""
    LOCAL = "local"
    """Each in a separate process on this machine; the processes end with this process."""
    SPARK = "spark"
    """Each on an executor of the Spark session beside this session."""


class Config(msgspec.Struct, frozen=True):
    """A session's configuration.

    ``workers``: cooperative worker threads, None = one per core. ``memory_limit``: bytes that all running
    statements and memory tables may hold together, None = six tenths of the machine's memory, or of the share
    that a control group (a container) leaves. ``query_memory_limit``: bytes that one statement may hold, on
    each member of a cluster, None = the member's ``memory_limit``. ``timeout``: seconds that a statement may
    take, None = no limit. ``time_zone``: the time zone of TIMESTAMP values, by a name that Spark knows
    (``Europe/Paris``, ``+05:30``). ``warehouse``: directory for tables USING a file format without LOCATION,
    None = a temporary directory, removed with the session.

    ``file_access``: the files that statements may read and write besides the warehouse: ``"all"``,
    ``"none"``, or a sequence of folders; None = all, or for a session of a ``cluster`` the files that its
    members open. Links and ``..`` are resolved first. The files that a cluster's members open are bounded
    where the cluster is started, whatever this setting says.

    ``members``: the number of members that hold memory tables and run queries, None = one, or one on each
    executor. ``launcher``: the processes in which these members run. Embedded members share the ``workers``
    and the memory; every other member has so many workers, and so much memory, for itself (on an executor
    None means the executor's slots, and its part of the host's memory). ``cluster``: use the members of a
    running cluster instead, and the tables shared by the cluster's sessions; see
    :func:`~sqlfront.cluster.addresses.find`. ``collect_rows``: with several members, one member collects
    inputs of up to that many estimated rows instead of exchanging rows between members. ``silence_limit``:
    seconds after which one of the session's own members is removed if it sends nothing (a member whose
    process ends is removed at once). The limit has to be longer than any pause of this process, which keeps
    the member list: ``to_pandas`` of six million rows pauses the process for more than seven seconds.
    ``handover_timeout``: seconds for which one of the session's own members in processes (``launcher``
    ``local``) that gets SIGTERM may move its rows of memory tables to the other members; the rows that are
    left then are lost, 0 = all of its rows are lost. ``force_leave``: whether such a member leaves also where
    the other members have no room for its rows; if not, it stays, and another SIGTERM ends it.
    ``resource_profile``: the resources that Spark reserves for each member on its executors, None = a slot; a
    slot has to be left.

    ``lite``: whether the session of a ``cluster`` is a lite member, which coordinates its queries itself; its
    coming and going changes the member list. If False, the session has no place in the list: a member that
    the session picks for each query coordinates the query, and passes the rows on.

    ``secret``: the secret of the ``cluster``; None = the variable ``SQLFRONT_SECRET``, or the secret that the
    cluster's launcher has left on this machine. ``credentials``: the file with the secret and a certificate
    that the launcher has written for sessions on other machines; None = the variable
    ``SQLFRONT_CREDENTIALS``. Members and sessions encrypt their TCP connections by certificates: derived from
    the secret (which needs the package ``cryptography``), or the certificate in ``credentials``, or your own
    PEM files ``certificate``, its ``key``, and the ``authority`` that signs all certificates. ``insecure``:
    no encryption; both sides have to set it. ``allow_user_code``: whether members in other processes run
    Python functions of a pipeline, and processors of any module; None = the session's own members run them.
    ``processor_modules``: names of modules whose processors these members run anyway, with those of their
    submodules. For the members of a ``cluster``, the launcher of the cluster decides.

    ``backups``: the number of backups, 0 to 2, of each row of a memory table that the session creates by
    CREATE TABLE without ``OPTIONS (backups n)``; a backup is on another member. None = as the cluster
    was begun with (by ``sqlfront cluster start --backups``, or by a session that started its members with
    ``backups``), else 1 if the members are other processes, 0 if they are in this process, which all of them
    end with. Copies that CACHE TABLE makes have no backups, since they can be loaded again.

    ``plan_cache``: the number of plans that the session keeps for repeated texts, with the same literals or
    others; 0 = none.

    ``job_store``: the directory of durable jobs (CREATE JOB), which outlive the session, or the URL of one on
    an object storage, such as ``s3://bucket/jobs``; None = the session has no durable jobs. ``job_recovery``:
    whether the session takes over the jobs of the store that have not ended, as soon as no process owns the
    store (Flink's ``execution.batch.job-recovery.enabled``); if not, RESUME JOB does. ``job_options``: the
    options of durable jobs, by the names that OPTIONS of CREATE JOB takes, with values as numbers, booleans
    or texts such as ``10 min`` and ``16m``; they apply to jobs that don't give the option, and to queries
    that run as durable jobs. None = the defaults. A job keeps its options wherever the job is resumed.

    What operators see, all of it off by default: ``query_history``: the number of ended statements that
    ``sys.queries`` keeps. ``slow_query``: seconds; statements that took longer, and all failed ones, are
    logged (``sqlfront.slow_query``, ``sqlfront.queries``); None = no lines. ``metrics``: the address
    ``host:port`` at which this process serves metrics to Prometheus (extra ``metrics``), port 0 = any free
    port; None = no metrics. ``tracing``: whether each statement has a span of OpenTelemetry (extra
    ``tracing``); the session's own members then have spans, too. ``show_literals``: whether the texts of
    statements in ``sys.queries``, log lines and spans keep their literals, which may be secrets.
    """

    workers: int | None = None
    memory_limit: int | None = None
    query_memory_limit: int | None = None
    timeout: float | None = None
    time_zone: str = "UTC"
    warehouse: str | None = None
    file_access: str | Sequence[str] | None = None
    members: int | None = None
    launcher: Launcher = Launcher.EMBEDDED
    cluster: str | None = None
    lite: bool = True
    secret: str | None = None
    credentials: str | None = None
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    insecure: bool = False
    allow_user_code: bool | None = None
    processor_modules: Sequence[str] | None = None
    collect_rows: float = 20_000
    silence_limit: float = 30.0
    handover_timeout: float = 300.0
    force_leave: bool = False
    resource_profile: "ResourceProfile | None" = None
    backups: int | None = None
    plan_cache: int = 1000
    job_store: str | os.PathLike[str] | None = None
    job_recovery: bool = False
    job_options: Mapping[str, str | float | bool] | None = None
    query_history: int = 0
    slow_query: float | None = None
    metrics: str | None = None
    tracing: bool = False
    show_literals: bool = False

    def __post_init__(self) -> None:
        check_types(self, _UNTYPED, _PATHS)
        if self.workers is not None and self.workers < 1:
            raise ProgrammingError(f"workers must be at least 1, not {self.workers}")
        if self.plan_cache < 0:
            raise ProgrammingError(f"plan_cache must be at least 0, not {self.plan_cache}")
        if self.query_history < 0:
            raise ProgrammingError(f"query_history must be at least 0, not {self.query_history}")
        if self.slow_query is not None and not 0 <= self.slow_query < math.inf:
            raise ProgrammingError(f"slow_query must be a number of seconds, not {self.slow_query}")
        if self.members is not None and self.members < 1:
            raise ProgrammingError(f"members must be at least 1, not {self.members}")
        if self.cluster is not None and ((self.members or 1) > 1 or self.launcher is not Launcher.EMBEDDED):
            raise ProgrammingError(
                "a session of a cluster has no members of its own: give either cluster or members, launcher"
            )
        if self.job_store is not None:
            check_job_store(self.job_store)
        if self.job_options is not None:
            options_of_jobs.job_settings(options_of_jobs.with_defaults({}, self.job_options))
        self._check_access()
        self._check_processor_modules()
        if self.resource_profile is not None and self.launcher is not Launcher.SPARK:
            raise ProgrammingError("a resource profile needs members on Spark's executors: launcher='spark'")
        for name, value in (
            ("memory_limit", self.memory_limit),
            ("query_memory_limit", self.query_memory_limit),
        ):
            if value is not None and value < MEBIBYTE:
                raise ProgrammingError(f"{name} must be at least {MEBIBYTE} bytes (1 MiB), not {value}")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ProgrammingError(f"timeout must be a positive number of seconds, not {self.timeout}")
        if not self.silence_limit > 0:
            raise ProgrammingError(f"silence_limit must be positive, not {self.silence_limit}")
        if self.backups not in (None, 0, 1, 2):
            raise ProgrammingError(f"backups must be 0, 1 or 2, not {self.backups}")
        if not 0 <= self.handover_timeout < math.inf:
            raise ProgrammingError(
                f"handover_timeout must be a number of seconds, not {self.handover_timeout}"
            )
        if isinstance(self.file_access, str):
            FileAccess.of(self.file_access)
        check_time_zone(self.time_zone)

    @property
    def is_observed(self) -> bool:
        """Whether the session records its statements for operators: in logs, metrics, traces or
        ``sys.queries``."""
        asked = self.slow_query is not None or self.metrics is not None
        return asked or self.tracing or self.query_history > 0

    def __repr__(self) -> str:
        cluster = None if self.cluster is None else redaction.without_secrets(self.cluster)
        shown = {**asdict(self), "secret": None if self.secret is None else "...", "cluster": cluster}
        return f"Config({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _check_access(self) -> None:
        if self.cluster is None and (self.secret is not None or self.credentials is not None):
            kind = "a secret needs" if self.credentials is None else "credentials need"
            raise ProgrammingError(f"{kind} a cluster that the session joins: give cluster=...")
        if not self.lite and self.cluster is None:
            raise ProgrammingError("lite=False is for the session of a cluster: give cluster=...")
        if not self.lite and self.job_store is not None:
            raise ProgrammingError(
                "a session with lite=False coordinates no durable jobs: give either job_store or lite=False"
            )
        if self.cluster is not None and self.allow_user_code is not None:
            raise ProgrammingError(
                "the start of a cluster decides whether its members run user code: `sqlfront cluster start"
                " --allow-user-code`"
            )
        if self.cluster is not None and self.processor_modules is not None:
            raise ProgrammingError(
                "the start of a cluster decides whose processors its members run: `sqlfront cluster start"
                " --processor-module`"
            )
        if self.cluster is None and self.launcher is Launcher.EMBEDDED:
            for name in ("certificate", "key", "authority", "insecure"):
                if getattr(self, name):
                    raise ProgrammingError(f"{name} needs members in other processes; this session has none")

    def _check_processor_modules(self) -> None:
        for name in self.processor_modules or ():
            if not is_module_name(name):
                raise ProgrammingError(f"processor_modules: {name!r} is no name of a module")


def check_time_zone(name: str) -> str:
    """Return ``name`` if it names a time zone that Spark knows, such as ``Europe/Paris`` or ``+05:30``.
    Raises INVALID_CONF_VALUE.TIME_ZONE if it doesn't."""
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


def check_job_store(address: object) -> None:
    """Raise ProgrammingError unless ``address`` can be the path of a directory, or a URL."""
    text = os.fspath(address) if isinstance(address, os.PathLike) else address
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ProgrammingError(f"job_store must be the path of a directory, or a URL, not {address!r}")
