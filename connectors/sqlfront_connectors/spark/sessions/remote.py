"""Operations that PySpark's public methods don't offer, on a session over Spark Connect, which needs no local
JVM."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast
from uuid import uuid4

import pyarrow as pa

from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.sessions.temporary_views import temporary_views
from sqlfront_connectors.spark.sessions.watch import first_word, is_query
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import DatabaseError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame

#: The first statistic in a plan with its cost is the whole plan's: ``sizeInBytes=24.0 B``.
_SIZE: Final = re.compile(r"sizeInBytes=([0-9.E+]+) ([KMGTPE]?)i?B")
#: The sources in a plan for which a frame reports no files.
_UNTOLD: Final = re.compile(
    r"scalar-subquery#|\b(?:JDBCRelation|HiveTableRelation|RelationV2|InMemoryRelation)\b"
)
#: The prefix of the names of kept views, which are internal.
KEPT: Final = "sqlfront_kept_"
#: The columns of ``SHOW VIEWS`` that are read.
_VIEW: Final = ("viewName", "isTemporary", "namespace")
#: Time limit for dropping views at the end, since a server may not answer (s).
_ENDING: Final = 2.0
_UNITS: Final = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}


class _Stage(Protocol):
    """One stage of a running query in the progress reports of PySpark's Spark Connect client."""

    num_tasks: int
    num_completed_tasks: int
    done: bool


class RemoteSession:
    """The operations that :class:`~sqlfront_connectors.spark.link.SparkLink` needs on a session that a Spark
    Connect server runs for this process."""

    #: True: the server doesn't report whether the session has variables.
    has_variables = True

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        #: The progress of the jobs of each thread, by the thread's tag.
        self._progress: dict[str, Progress] = {}
        self._here = threading.local()
        self._temporary = temporary_views(spark, spark.client._session_id)
        #: The names of kept views, and those of kept views whose frames are gone.
        self._kept: set[str] = set()
        self._forgotten: list[str] = []
        spark.registerProgressHandler(self._note)  # type: ignore[arg-type]

    def check(self) -> None:
        """Do nothing: every call on a stopped session over Spark Connect raises an error anyway."""

    @property
    def has_driver_here(self) -> bool:
        """True if the driver runs on this machine, as far as the server's address tells."""
        return self.spark.client.host in ("localhost", "127.0.0.1", "::1")

    @property
    def shares_files(self) -> bool:
        """True if the executors can read and write the files of this machine."""
        return self.has_driver_here and str(self.spark.conf.get("spark.master")).startswith("local")

    def sql(
        self, text: str, arguments: dict[str, object] | list[object], views: "Mapping[str, DataFrame]"
    ) -> "DataFrame":
        """Return the DataFrame of ``spark.sql(text, arguments)``; each frame in ``views`` is a temporary view
        of its name for this statement only. Raises Spark's error if the session has a view of such a name."""
        if not views:
            return self.spark.sql(text, arguments)
        with self._temporary.named(views):
            self._drop_forgotten()
            frame = self.spark.sql(text, arguments)
            may_query = is_query(text) or first_word(text) == "EXECUTE"
            return self._analysed(frame) if may_query else frame

    def _analysed(self, frame: "DataFrame") -> "DataFrame":
        """Return the frame as a DataFrame that reads a temporary view made of it. The server stores the
        analysis of a view, but analyses a plain frame again for every request. The view is dropped some time
        after the returned DataFrame is garbage-collected."""
        name = f"{KEPT}{uuid4().hex}"
        self._kept.add(name)
        self._temporary.make(name, frame)
        kept = self.spark.table(name)
        when_forgotten(kept, self._forgotten.append, name)
        return kept

    def _drop_forgotten(self) -> None:
        """Drop the views made by :meth:`_analysed` whose DataFrames have been garbage-collected. Two threads
        must not call this method at the same time."""
        while self._forgotten:
            self._drop_kept(self._forgotten.pop())

    def _drop_kept(self, name: str) -> None:
        self._temporary.drop(name)
        self._kept.discard(name)

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Return a new thread that calls ``work``, not started yet. The thread has the calling thread's tags
        in the session."""
        tags = self.spark.getTags()

        def tagged() -> None:
            for tag in tags:
                self.spark.addTag(tag)
            work()

        return threading.Thread(target=tagged, name=name, daemon=True)

    def tag(self, tag: str) -> None:
        """Mark the operations that the calling thread starts from now on with ``tag``."""
        self._here.tag = tag
        self.spark.addTag(tag)

    def cancel(self, tag: str) -> None:
        """Stop the operations marked with ``tag`` that run now."""
        self.spark.interruptTag(tag)

    def forget(self, tag: str) -> None:
        """Discard the stored progress of the operations marked with ``tag``, which have ended."""
        self._progress.pop(tag, None)

    def progress(self, tag: str) -> Progress:
        """Return the numbers of stages and tasks, in total and done, of the jobs marked with ``tag``, as the
        server has last reported them."""
        return self._progress.get(tag, Progress())

    def _note(self, stages: "Iterable[_Stage] | None", **_: object) -> None:
        """Record the progress that the server reports for the jobs for which this thread waits, under the
        thread's tag. PySpark calls this method in the waiting thread. ``stages`` None: the report has no
        progress."""
        tag = getattr(self._here, "tag", None)
        if tag is not None and stages is not None:
            known = tuple(stages)
            self._progress[tag] = Progress(
                len(known),
                sum(stage.done for stage in known),
                sum(stage.num_tasks for stage in known),
                sum(stage.num_completed_tasks for stage in known),
            )

    def size(self, frame: "DataFrame") -> int | None:
        """Return the size of the DataFrame's rows in bytes, as Spark's optimizer estimates it; None without
        an estimate."""
        plan = str(frame._explain_string(mode="cost"))  # type: ignore[operator]
        found = _SIZE.search(plan)
        return None if found is None else int(float(found[1]) * _UNITS[found[2]])

    def is_repeatable(self, frame: "DataFrame") -> bool:
        """Return False: Spark Connect doesn't say whether rows depend on chance or on the time."""
        return False

    def sources(self, frame: "DataFrame") -> "Iterator[str | None]":
        """Yield the sources of the frame's rows: the path of each file, then None if the frame also has a
        source whose changes can't be detected."""
        yield from sorted(frame.inputFiles())
        if _UNTOLD.search(str(frame._explain_string(mode="extended"))):  # type: ignore[operator]
            yield None

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the values of the settings that are keys of ``defaults``; an unset setting has its value in
        ``defaults``."""
        found = self.spark.client.get_config_with_defaults(*defaults.items())
        return {key: value or "" for key, value in zip(defaults, found, strict=True)}

    def batches(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Run the frame's query, and yield its batches in the order of Spark's partitions, each as soon as
        all batches of earlier partitions have come."""
        plan, client = cast("RemoteFrame", frame)._plan, self.spark.client
        for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
            if isinstance(part, pa.Table):
                yield from part.to_batches()

    def is_query(self, text: str) -> bool:
        """Return True if the text is certainly one query, judged by its words; False if the words show
        another statement or don't tell."""
        return is_query(text)

    def views(self) -> tuple[str, ...]:
        """Return the names of the session's temporary views, without global views and without the views that
        sqlfront makes."""
        table = self.spark.sql("SHOW VIEWS").toArrow()
        rows = zip(*(table.column(name).to_pylist() for name in _VIEW), strict=True)
        return tuple(
            name
            for name, temporary, namespace in rows
            if temporary and not namespace and not name.startswith(KEPT) and not self._temporary.has(name)
        )

    def close(self) -> None:
        """Unregister from the session, and drop the views that sqlfront has made. Waits only a moment:
        another thread drops the views, since this method may be called by a finalizer."""
        with suppress(ValueError):
            self.spark.removeProgressHandler(self._note)  # type: ignore[arg-type]
        if self._kept:
            dropping = threading.Thread(target=self._drop_all, name="sqlfront-spark-end", daemon=True)
            dropping.start()
            dropping.join(_ENDING)

    def _drop_all(self) -> None:
        with suppress(DatabaseError), ours():  # a lost server has no views
            for name in tuple(self._kept):
                self._drop_kept(name)
