"""Operations on a classic session, one with its own JVM, that PySpark's public methods don't offer."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_connectors.files.locations.partition_directories import NULL_DIRECTORY
from sqlfront_connectors.spark.failures import gone
from sqlfront_connectors.spark.sessions.arriving_rows import arriving
from sqlfront_connectors.spark.sessions.temporary_views import temporary_views
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import pyspark.util as spark_threads
    from py4j.java_gateway import JavaObject
    from pyspark import SparkContext
    from pyspark import errors as spark_errors
    from pyspark.sql import DataFrame, SparkSession
else:
    spark_errors = lazy_module("pyspark.errors")
    spark_threads = lazy_module("pyspark.util")


#: Nodes of a plan whose rows never change.
_UNCHANGING: Final = frozenset(
    {"CommandResult", "CTERelationRef", "LocalRelation", "LogicalRDD", "OneRowRelation", "Range"}
)
#: Pattern of expressions in the text of a plan whose value depends on the time, the user or the session.
_PRESENT: Final = re.compile(
    r"\b(?:current_\w+|now|localtimestamp|session_user|user|version)\(\)", re.IGNORECASE
)


class ClassicSession:
    """The operations that :class:`~sqlfront_connectors.spark.link.SparkLink` needs on a classic Spark
    session, whose JVM is a child of this process."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self._temporary = temporary_views(spark, str(spark._jsparkSession.sessionUUID()))

    def check(self) -> None:
        """Raise OperationalError if the Spark session is stopped; without this check, many methods of the
        session would still work."""
        _ = self._context

    @property
    def _context(self) -> "SparkContext":
        context = self.spark.sparkContext
        if context._jsc is None:
            raise gone()
        return context

    @property
    def has_driver_here(self) -> bool:
        """True: the driver is a child of this process."""
        return True

    @property
    def shares_files(self) -> bool:
        """True if the executors can read and write the files of this machine."""
        return str(self._context.master).startswith("local")

    def sql(
        self, text: str, arguments: dict[str, object] | list[object], views: "Mapping[str, DataFrame]"
    ) -> "DataFrame":
        """Return the DataFrame of ``spark.sql(text, arguments)``; each frame in ``views`` is a temporary view
        of its name for this statement only. Raises Spark's error if the session has a view of such a name."""
        if not views:
            return self.spark.sql(text, arguments)
        with self._temporary.named(views):
            return self.spark.sql(text, arguments)

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Return a new thread that calls ``work``, not started yet. The thread inherits the calling thread's
        scheduler pool, job group and tags in the session."""
        self.check()
        return spark_threads.InheritableThread(work, name=name, daemon=True)

    def tag(self, tag: str) -> None:
        """Mark the jobs that the calling thread starts from now on with ``tag``."""
        self._context.addJobTag(tag)

    def cancel(self, tag: str) -> None:
        """Stop the jobs marked with ``tag`` that run now."""
        self._context.cancelJobsWithTag(tag)

    def forget(self, tag: str) -> None:
        """Do nothing: a classic session keeps nothing for a tag."""

    def progress(self, tag: str) -> Progress:
        """Return the numbers of stages and tasks, in total and done, of the jobs marked with ``tag``."""
        scheduler = self._context._jsc.sc()
        jobs = [scheduler.statusStore().job(job) for job in scheduler.statusTracker().getJobIdsForTag(tag)]
        total = Progress()
        for job in jobs:
            total = Progress(
                total.stages + job.stageIds().length() - job.numSkippedStages(),
                total.stages_done + job.numCompletedStages(),
                total.tasks + job.numTasks() - job.numSkippedTasks(),
                total.tasks_done + job.numCompletedTasks(),
            )
        return total

    def size(self, frame: "DataFrame") -> int | None:
        """Return the size of the DataFrame's rows in bytes, as Spark's optimizer estimates it."""
        return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())

    def is_repeatable(self, frame: "DataFrame") -> bool:
        """Return whether the frame gives the same rows whenever it runs over the same data: no row depends on
        chance, on the time or on the current user."""
        plan = frame._jdf.queryExecution().analyzed()
        return bool(plan.deterministic()) and _PRESENT.search(str(plan.toString())) is None

    def sources(self, frame: "DataFrame") -> "Iterator[str | None]":
        """Yield the sources of the frame's rows: the paths of files, and None for each source whose changes
        can't be detected. Sources that can't change are left out."""
        plan = frame._jdf.queryExecution().analyzed()
        for part in (plan, *_each(plan.subqueriesAll())):
            for leaf in _each(part.collectLeaves()):
                if leaf.nodeName() in _UNCHANGING:
                    continue
                is_relation = leaf.nodeName() == "LogicalRelation"
                if is_relation and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
                    yield from sorted(leaf.relation().location().inputFiles())
                else:
                    yield None

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the values of the settings that are keys of ``defaults``; an unset setting has its value in
        ``defaults``."""
        return {key: str(self.spark.conf.get(key, default)) for key, default in defaults.items()}

    def batches(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Run the frame's query, and yield its batches in the order of Spark's partitions, each as soon as
        all batches of earlier partitions have come."""
        return arriving(frame)

    def is_query(self, text: str) -> bool:
        """Return True if ``text`` is one query, which Spark can analyse without running it; False for any
        other statement. Raises Spark's error if the text is not a statement."""
        parser = self._state.sqlParser()
        try:
            parser.parseQuery(text)
        except spark_errors.ParseException:
            parser.parsePlan(text)
            return False
        return True

    @property
    def has_variables(self) -> bool:
        """True if the session has variables of SQL, which ``DECLARE VARIABLE`` makes."""
        return not self._state.catalogManager().tempVariableManager().isEmpty()

    def partitions(
        self, database: str, table: str, columns: Sequence[str]
    ) -> Mapping[tuple[str | None, ...], str]:
        """Return the registered partitions of a table of Spark's session catalog: the URI of each partition's
        directory, by the partition's values as texts. ``columns``: the names of the partition columns."""
        everything = self.spark._jvm.scala.Option.empty()  # type: ignore[union-attr]
        found = self._state.catalog().externalCatalog().listPartitions(database, table, everything)
        return {
            tuple(_text(partition.spec().apply(name)) for name in columns): str(partition.location())
            for partition in _each(found)
        }

    def views(self) -> tuple[str, ...]:
        """Return the names of the session's temporary views, without global views and without the views that
        sqlfront makes for one statement."""
        names = (view.table() for view in _each(self._state.catalog().listLocalTempViews("*")))
        return tuple(name for name in names if not self._temporary.has(name))

    def close(self) -> None:
        """Do nothing: the object has nothing to release."""

    @property
    def _state(self) -> "JavaObject":
        return self.spark._jsparkSession.sessionState()


def _text(value: str) -> str | None:
    """Return the text of a partition's value in the catalog; None for null."""
    return None if value == NULL_DIRECTORY else value


def _each(found: "JavaObject") -> "Iterator[JavaObject]":
    """Yield the items of ``found``, a Scala sequence in the JVM."""
    return (found.apply(place) for place in range(found.length()))
