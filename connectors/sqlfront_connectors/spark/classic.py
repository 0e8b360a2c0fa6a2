"""What the house asks of a classic session beside its public methods: by its JVM."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_connectors.spark.arriving import arriving
from sqlfront_connectors.spark.failures import gone
from sqlfront_connectors.spark.temporary import temporary_views
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


#: Parts of a plan that have the same rows for ever.
_UNCHANGING: Final = frozenset(
    {"CommandResult", "CTERelationRef", "LocalRelation", "LogicalRDD", "OneRowRelation", "Range"}
)


class ClassicSession:
    """A session whose JVM is this process's child."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self._temporary = temporary_views(spark, str(spark._jsparkSession.sessionUUID()))

    def check(self) -> None:
        """OperationalError if the session is stopped: much of it would go on as if it weren't."""
        _ = self._context

    @property
    def _context(self) -> "SparkContext":
        context = self.spark.sparkContext
        if context._jsc is None:
            raise gone()
        return context

    @property
    def shares_files(self) -> bool:
        """Whether executors see this machine's files."""
        return str(self._context.master).startswith("local")

    def sql(
        self, text: str, arguments: dict[str, object] | list[object], views: "Mapping[str, DataFrame]"
    ) -> "DataFrame":
        """What ``spark.sql`` gives, where each frame is a temporary view of its name, for this statement
        only. Spark's error if there is a view of that name."""
        if not views:
            return self.spark.sql(text, arguments)
        with self._temporary.named(views):
            return self.spark.sql(text, arguments)

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """A thread in which the session answers as it does in this one: with its pool, job group and tags."""
        self.check()
        return spark_threads.InheritableThread(work, name=name, daemon=True)

    def tag(self, tag: str) -> None:
        """Mark the jobs that this thread starts from now on."""
        self._context.addJobTag(tag)

    def cancel(self, tag: str) -> None:
        """Stop the jobs with that tag that are there now."""
        self._context.cancelJobsWithTag(tag)

    def forget(self, tag: str) -> None:
        """Nothing with that tag runs any more."""

    def progress(self, tag: str) -> Progress:
        """How far the jobs with that tag are."""
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
        """How many bytes Spark's optimizer takes the rows for."""
        return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())

    def sources(self, frame: "DataFrame") -> "Iterator[str | None]":
        """What the rows of the frame come from: the paths of files, and None for what may have other rows
        without anybody being able to tell. What can't change is left out."""
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
        """The values of settings; of one that nobody has set, the default."""
        return {key: str(self.spark.conf.get(key, default)) for key, default in defaults.items()}

    def batches(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Run a query; its batches as they come, in the order of the partitions."""
        return arriving(frame)

    def is_query(self, text: str) -> bool:
        """Whether a text is one query, so that analysing it runs nothing. Spark's error if it is nothing at
        all."""
        parser = self._state.sqlParser()
        try:
            parser.parseQuery(text)
        except spark_errors.ParseException:
            parser.parsePlan(text)
            return False
        return True

    @property
    def has_variables(self) -> bool:
        """Whether the session has variables."""
        return not self._state.catalogManager().tempVariableManager().isEmpty()

    def views(self) -> tuple[str, ...]:
        """The names of the session's temporary views, without the global ones."""
        names = (view.table() for view in _each(self._state.catalog().listLocalTempViews("*")))
        return tuple(name for name in names if not self._temporary.has(name))

    def close(self) -> None:
        """Nothing is held."""

    @property
    def _state(self) -> "JavaObject":
        return self.spark._jsparkSession.sessionState()


def _each(found: "JavaObject") -> "Iterator[JavaObject]":
    """The items of a sequence of Scala's."""
    return (found.apply(place) for place in range(found.length()))
