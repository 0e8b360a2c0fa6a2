"""What the house asks of a session of Spark Connect beside its public methods: there is no JVM to ask."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast
from uuid import uuid4

import pyarrow as pa

from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.temporary import temporary_views
from sqlfront_connectors.spark.watch import first_word, is_query
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import DatabaseError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame

#: The first statistic in a plan with its cost is that of the whole: ``sizeInBytes=24.0 B``.
_SIZE: Final = re.compile(r"sizeInBytes=([0-9.E+]+) ([KMGTPE]?)i?B")
#: What a plan may read of which a frame tells no files.
_UNTOLD: Final = re.compile(
    r"scalar-subquery#|\b(?:JDBCRelation|HiveTableRelation|RelationV2|InMemoryRelation)\b"
)
#: How the names of views begin that are nobody's.
KEPT: Final = "sqlfront_kept_"
#: Of what ``SHOW VIEWS`` tells.
_VIEW: Final = ("viewName", "isTemporary", "namespace")
#: How long it may take to drop views at the end, which a server may not answer (s).
_ENDING: Final = 2.0
_UNITS: Final = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}


class _Stage(Protocol):
    """A stage as the client tells it."""

    num_tasks: int
    num_completed_tasks: int
    done: bool


class RemoteSession:
    """A session that a server of Spark Connect runs for this process."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        #: How far the jobs are that a thread has started, by its tag.
        self._progress: dict[str, Progress] = {}
        self._here = threading.local()
        self._temporary = temporary_views(spark, spark.client._session_id)
        #: The names of kept views, and of those of them whose frames are gone.
        self._kept: set[str] = set()
        self._forgotten: list[str] = []
        spark.registerProgressHandler(self._note)  # type: ignore[arg-type]

    def check(self) -> None:
        """Nothing: a session that is stopped answers nothing."""

    @property
    def shares_files(self) -> bool:
        """Whether executors see this machine's files."""
        here = self.spark.client.host in ("localhost", "127.0.0.1", "::1")
        return here and str(self.spark.conf.get("spark.master")).startswith("local")

    def sql(
        self, text: str, arguments: dict[str, object] | list[object], views: "Mapping[str, DataFrame]"
    ) -> "DataFrame":
        """What ``spark.sql`` gives, where each frame is a temporary view of its name, for this statement
        only. Spark's error if there is a view of that name."""
        if not views:
            return self.spark.sql(text, arguments)
        with self._temporary.named(views):
            self._drop_forgotten()
            frame = self.spark.sql(text, arguments)
            may_query = is_query(text) or first_word(text) == "EXECUTE"
            return self._analysed(frame) if may_query else frame

    def _analysed(self, frame: "DataFrame") -> "DataFrame":
        """The frame as a view, whose analysis the server keeps: a frame is analysed anew whenever its rows
        are asked for. The view goes some time after the frame."""
        name = f"{KEPT}{uuid4().hex}"
        self._kept.add(name)
        self._temporary.make(name, frame)
        kept = self.spark.table(name)
        when_forgotten(kept, self._forgotten.append, name)
        return kept

    def _drop_forgotten(self) -> None:
        """Only one thread is here at a time."""
        while self._forgotten:
            self._drop_kept(self._forgotten.pop())

    def _drop_kept(self, name: str) -> None:
        self._temporary.drop(name)
        self._kept.discard(name)

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """A thread in which the session answers as it does in this one: with its tags."""
        tags = self.spark.getTags()

        def tagged() -> None:
            for tag in tags:
                self.spark.addTag(tag)
            work()

        return threading.Thread(target=tagged, name=name, daemon=True)

    def tag(self, tag: str) -> None:
        """Mark what this thread starts from now on."""
        self._here.tag = tag
        self.spark.addTag(tag)

    def cancel(self, tag: str) -> None:
        """Stop what runs with that tag now."""
        self.spark.interruptTag(tag)

    def forget(self, tag: str) -> None:
        """Nothing with that tag runs any more."""
        self._progress.pop(tag, None)

    def progress(self, tag: str) -> Progress:
        """How far the jobs with that tag are, as far as the server has told."""
        return self._progress.get(tag, Progress())

    def _note(self, stages: "Iterable[_Stage] | None", **_: object) -> None:
        """Called in the thread that waits for the jobs."""
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
        """How many bytes Spark's optimizer takes the rows for, None if it doesn't say."""
        plan = str(frame._explain_string(mode="cost"))  # type: ignore[operator]
        found = _SIZE.search(plan)
        return None if found is None else int(float(found[1]) * _UNITS[found[2]])

    def sources(self, frame: "DataFrame") -> "Iterator[str | None]":
        """What the rows of the frame come from: the paths of files, and None for what may have other rows
        without anybody being able to tell."""
        yield from sorted(frame.inputFiles())
        if _UNTOLD.search(str(frame._explain_string(mode="extended"))):  # type: ignore[operator]
            yield None

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """The values of settings; of one that nobody has set, the default."""
        found = self.spark.client.get_config_with_defaults(*defaults.items())
        return {key: value or "" for key, value in zip(defaults, found, strict=True)}

    def batches(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Run a query; its batches as they come, in the order of the partitions."""
        plan, client = cast("RemoteFrame", frame)._plan, self.spark.client
        for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
            if isinstance(part, pa.Table):
                yield from part.to_batches()

    def is_query(self, text: str) -> bool:
        """Whether a text is one query, by its words."""
        return is_query(text)

    @property
    def has_variables(self) -> bool:
        """Whether the session may have variables: the server doesn't tell."""
        return True

    def views(self) -> tuple[str, ...]:
        """The names of the session's temporary views, without the global ones."""
        table = self.spark.sql("SHOW VIEWS").toArrow()
        rows = zip(*(table.column(name).to_pylist() for name in _VIEW), strict=True)
        return tuple(
            name
            for name, temporary, namespace in rows
            if temporary and not namespace and not name.startswith(KEPT) and not self._temporary.has(name)
        )

    def close(self) -> None:
        """Let the session forget this object, and drop the kept views. That takes a moment at most; it isn't
        done in this thread, which a finalizer may run in."""
        with suppress(ValueError):
            self.spark.removeProgressHandler(self._note)  # type: ignore[arg-type]
        if self._kept:
            dropping = threading.Thread(target=self._drop_all, name="sqlfront-spark-end", daemon=True)
            dropping.start()
            dropping.join(_ENDING)

    def _drop_all(self) -> None:
        with suppress(DatabaseError), ours():  # a server that is gone has none
            for name in tuple(self._kept):
                self._drop_kept(name)
