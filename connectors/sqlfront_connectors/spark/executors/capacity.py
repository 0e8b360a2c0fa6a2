"""Whether a session has the executors and slots for members, which is asked before they are started: Spark
itself would try for minutes."""

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlfront_engine.errors import NotSupportedError, OperationalError

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile
    from pyspark.sql import SparkSession

#: Seconds that executors have to register with their session.
PATIENCE: Final = 4.0
_PERIOD: Final = 0.1
#: SQLSTATE: insufficient resources.
TOO_FEW: Final = "53000"


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many executors a session has now, and how many tasks of one kind they can run at a time."""

    executors: int
    slots: int

    def refusal(self, size: int) -> str | None:
        """Why that many members can't be had, None if they can: each needs an executor and a slot, and one
        slot stays free for Spark's own work.

        >>> Capacity(3, 6).refusal(3)
        >>> Capacity(3, 3).refusal(3)
        '3 members need 3 executors with 4 slots together, one of them for Spark itself; there are 3 with 3'
        """
        if self.executors >= size and self.slots > size:
            return None
        return (
            f"{size} members need {size} executors with {size + 1} slots together, one of them for Spark"
            f" itself; there are {self.executors} with {self.slots}"
        )


def await_capacity(
    spark: "SparkSession", size: int | None, profile: "ResourceProfile | None"
) -> tuple[int, int]:
    """Wait a little until the session has what ``size`` members need (None: one on each executor); returns
    their number, and the slots of an executor. NotSupportedError if executors come and go, OperationalError
    if there are too few."""
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
        if time.monotonic() >= deadline:
            raise OperationalError(refusal, sqlstate=TOO_FEW)
        time.sleep(_PERIOD)


def capacity(spark: "SparkSession", profile: "ResourceProfile | None" = None) -> Capacity:
    """What a classic session has now, for tasks of that profile."""
    context = spark.sparkContext._jsc.sc()
    if profile is None:
        tasks = context.resourceProfileManager().defaultResourceProfile()
    else:
        tasks = profile._java_resource_profile
    executors = 1 if _in_one_process(spark) else context.getExecutorIds().size()
    return Capacity(executors, context.maxNumConcurrentTasks(tasks))


def is_stopped(spark: "SparkSession") -> bool:
    """Whether the session has ended."""
    if is_connect(spark):
        return bool(spark.is_stopped)  # type: ignore[attr-defined]
    return spark.sparkContext._jsc is None


def is_connect(spark: "SparkSession") -> bool:
    """Whether the session is one over Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _in_one_process(spark: "SparkSession") -> bool:
    """Whether the driver is the only executor."""
    return re.fullmatch(r"local(\[.*\])?", setting(spark, "spark.master")) is not None


def _expected(spark: "SparkSession") -> int | None:
    """How many executors the session was told to have; None if it wasn't."""
    found = re.match(r"local-cluster\[\s*(\d+)", setting(spark, "spark.master"))
    stated = found.group(1) if found else setting(spark, "spark.executor.instances")
    return int(stated) if stated else None


def setting(spark: "SparkSession", name: str) -> str:
    """A setting of the session, empty if it has none."""
    return spark.conf.get(name, "") or ""
