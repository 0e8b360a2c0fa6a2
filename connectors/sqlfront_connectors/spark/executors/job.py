"""The barrier job whose tasks are the members: it begins when all its tasks can run at once, and ends as soon
as one task ends."""

import re
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sqlfront_connectors.spark.executors.interrupts import spare
from sqlfront_connectors.spark.executors.packages import on_barrier
from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.link import is_remote, is_stopped
from sqlfront_values.errors import OperationalError

if TYPE_CHECKING:
    from pyspark.resource import ResourceProfile
    from pyspark.sql import SparkSession

_LOST: Final = re.compile(r"ExecutorLostFailure \((executor \S+).*?\) Reason: (.*)")
_RAISED: Final = re.compile(r"^(\w+(?:Error|Exception): .*)$", re.MULTILINE)
_SERVE: Final = "sqlfront_connectors.spark.executors.member:serve"


class BarrierJob:
    """A running Spark job of ``size`` tasks, each of which is a member of a cluster. The constructor starts
    the job.

    ``orders``: the configuration of the members, which is pickled; each task passes it to
    :func:`~sqlfront_connectors.spark.executors.member.serve`. ``profile``: the resources of a task, None =
    the session's default resources. ``on_end`` is called on a thread of this object when the job has ended,
    for whatever reason.
    """

    def __init__(
        self,
        spark: "SparkSession",
        size: int,
        orders: object,
        profile: "ResourceProfile | None",
        on_end: Callable[[], None],
    ) -> None:
        #: The reason of the job's end; None while it runs.
        self.outcome: str | None = None
        self._spark = spark
        self._group = f"sqlfront-members-{secrets.token_hex(4)}"
        if not is_remote(spark):
            spare(spark.sparkContext, self._group)
        task = on_barrier(_SERVE, orders)
        with ours():
            one_each = spark.range(0, size, 1, size)
            self._tasks = one_each.mapInArrow(task, "outcome string", barrier=True, profile=profile)
        self._on_end = on_end
        # Not an InheritableThread, which has the caller's tags and job group: a cancellation of these doesn't
        # mean the members.
        self._thread = threading.Thread(target=self._run, name="sqlfront-executors", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if is_remote(self._spark):
                self._spark.addTag(self._group)
            else:
                self._spark.sparkContext.setJobGroup(self._group, "members of a sqlfront cluster")
            rows = self._tasks.collect()
            reasons = [row["outcome"] for row in rows if row["outcome"]]
            self.outcome = reasons[0] if reasons else "its members have ended"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the job's end
            self.outcome = reason_of(error)
        self._on_end()

    def end(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for the end of the job; if the job still runs then, cancel it and
        wait up to ``timeout`` seconds more."""
        self._thread.join(timeout)
        if self._thread.is_alive() and not is_stopped(self._spark):
            with suppress(OperationalError), ours():  # a session that is gone runs nothing
                if is_remote(self._spark):
                    self._spark.interruptTag(self._group)
                else:
                    self._spark.sparkContext.cancelJobGroup(self._group)
            self._thread.join(timeout)


def reason_of(error: Exception) -> str:
    """Return the cause of a Spark error in one line, without the stack traces of the JVM and of Python.

    >>> reason_of(Exception("Aborted\\nModuleNotFoundError: No module named 'pyarrow'\\n\\tat org.apache"))
    "ModuleNotFoundError: No module named 'pyarrow'"

    The cause is the loss of an executor if the error's text reports one, else the last error of Python in the
    text, else the text's first line.
    """
    text = str(error)
    lost = _LOST.search(text)
    if lost is not None:
        return f"{lost[1]} was lost: {lost[2]}"
    raised = _RAISED.findall(text)
    return raised[-1] if raised else text.partition("\n")[0]
