"""The check that a Spark session has enough executors and slots for members, made before the members are
started; without the check, Spark would try to start them for minutes."""

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlfront_connectors.spark.failures import gone
from sqlfront_connectors.spark.link import is_remote, is_stopped, while_it_lasts
from sqlfront_engine.scheduler import available_cores
from sqlfront_values.errors import NotSupportedError, OperationalError

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile
    from pyspark.sql import SparkSession

#: Time limit for executors to register with their session, and the time between two looks (s): a session may
#: be there before its executors. The limit is that of Spark's own scheduler
#: (``spark.scheduler.maxRegisteredResourcesWaitingTime``).
PATIENCE: Final = 30.0
_PERIOD: Final = 0.1
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[(\d+),(\d+),\d+\]")
#: SQLSTATE: insufficient resources.
TOO_FEW: Final = "53000"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The executors and task slots that a Spark session has at present, as far as members can use them.

    ``slots``: the number of tasks with the session's default resources that run at a time. ``each``: the
    slots that one member takes. ``members``: the number of tasks with the members' resource profile that can
    run at a time, None = no profile, only ``slots`` counts."""

    executors: int
    slots: int
    each: int = 1
    members: int | None = None

    def refusal(self, size: int) -> str | None:
        """Return the reason why the session can't run ``size`` members, None if it can. Each member needs an
        executor and ``each`` slots; one more slot stays free for Spark's own work.

        >>> Capacity(3, 6).refusal(3)
        >>> Capacity(3, 3).refusal(3)
        '3 members need 3 executors with 4 slots together, one of them for Spark itself; there are 3 with 3'
        """
        needed = size * self.each + 1
        if self.members is not None and self.members < size:
            return f"there is room for {self.members} members with their resource profile, not for {size}"
        if self.executors >= size and self.slots >= needed:
            return None
        return (
            f"{size} members need {size} executors with {needed} slots together, one of them for Spark"
            f" itself; there are {self.executors} with {self.slots}"
        )


def await_capacity(
    spark: "SparkSession", size: int | None, profile: "ResourceProfile | None"
) -> tuple[int, int]:
    """Wait up to :data:`PATIENCE` seconds until the session has the capacity for ``size`` members (None: one
    on each executor), each with the resources ``profile`` (None: the session's default resources). Returns
    the number of members, and the number of slots of one executor.

    Raises NotSupportedError if executors are allocated dynamically or, over Spark Connect, can't be counted;
    OperationalError if there are too few executors or slots when the time is over or all executors are there
    that the session's settings state, or if the session is stopped.
    """
    if is_stopped(spark):
        raise gone()
    with while_it_lasts(spark):
        return _await_capacity(spark, size, profile)


def _await_capacity(
    spark: "SparkSession", size: int | None, profile: "ResourceProfile | None"
) -> tuple[int, int]:
    if setting(spark, "spark.dynamicAllocation.enabled") == "true":
        raise NotSupportedError(
            "members live on executors that stay: the session must not allocate them dynamically"
            " (spark.dynamicAllocation.enabled=false)"
        )
    deadline = time.monotonic() + PATIENCE
    expected = _expected(spark)
    while True:
        there = capacity(spark, profile)
        wanted = size or max(expected or 1, there.executors)
        refusal = there.refusal(wanted)
        if refusal is None:
            return wanted, there.slots // there.executors
        if there.executors == expected or time.monotonic() >= deadline:
            raise OperationalError(refusal, sqlstate=TOO_FEW)
        time.sleep(_PERIOD)


def capacity(spark: "SparkSession", profile: "ResourceProfile | None" = None) -> Capacity:
    """Return the session's present capacity for members with the resources ``profile`` (None = the session's
    default resources). Over Spark Connect the capacity is read from the session's settings; raises
    NotSupportedError if the settings don't state the capacity, or if a profile is given."""
    if is_remote(spark):
        return _stated(spark, profile)
    context = spark.sparkContext._jsc.sc()
    # With a local master, the driver runs the tasks.
    executors = 1 if _LOCAL.fullmatch(_master(spark)) else context.getExecutorIds().size()
    profiles = context.resourceProfileManager()
    slots = context.maxNumConcurrentTasks(profiles.defaultResourceProfile())
    if profile is None:
        return Capacity(executors, slots)
    profiles.addResourceProfile(profile._java_resource_profile)  # an unknown one can't be counted
    cores = profile.taskResources["cpus"].amount if "cpus" in profile.taskResources else 1
    each = math.ceil(cores / int(setting(spark, "spark.task.cpus") or 1))
    return Capacity(executors, slots, each, context.maxNumConcurrentTasks(profile._java_resource_profile))


def _stated(spark: "SparkSession", profile: "ResourceProfile | None") -> Capacity:
    """Return the capacity that the settings of a session over Spark Connect state, since its executors can't
    be counted. Raises NotSupportedError for a profile, and if the settings don't state the capacity."""
    if profile is not None:
        raise NotSupportedError("over Spark Connect, slots of a resource profile can't be counted")
    if local := _LOCAL.fullmatch(_master(spark)):
        return Capacity(1, available_cores() if local[1] == "*" else int(local[1] or 1))
    if cluster := _LOCAL_CLUSTER.match(_master(spark)):
        return Capacity(int(cluster[1]), int(cluster[1]) * int(cluster[2]))
    executors, cores = setting(spark, "spark.executor.instances"), setting(spark, "spark.executor.cores")
    if not executors or not cores:
        raise NotSupportedError(
            "over Spark Connect, executors and slots can only be counted by the settings"
            " spark.executor.instances and spark.executor.cores; the session doesn't have both"
        )
    for_each = int(cores) // int(setting(spark, "spark.task.cpus") or 1)
    return Capacity(int(executors), int(executors) * for_each)


def _expected(spark: "SparkSession") -> int | None:
    """Return the number of executors that the session's settings state; None if they state none. A local
    master's driver counts as one."""
    if _LOCAL.fullmatch(_master(spark)):
        return 1
    cluster = _LOCAL_CLUSTER.match(_master(spark))
    stated = cluster[1] if cluster else setting(spark, "spark.executor.instances")
    return int(stated) if stated else None


def _master(spark: "SparkSession") -> str:
    return setting(spark, "spark.master").replace(" ", "")


def setting(spark: "SparkSession", name: str) -> str:
    """Return the session's value of the Spark setting ``name``, the empty text if the setting is unset."""
    return spark.conf.get(name, "") or ""
