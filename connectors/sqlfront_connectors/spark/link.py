"""One Spark session as the rest of the house sees it: statements, relations, and rows in and out."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import pyarrow as pa

from sqlfront_connectors.spark.classic import ClassicSession
from sqlfront_connectors.spark.failures import gone, ours
from sqlfront_connectors.spark.remote import RemoteSession
from sqlfront_connectors.spark.rows import HeldFrame, Rows
from sqlfront_connectors.spark.run import Arrive, SparkRun, end_runs
from sqlfront_connectors.spark.types import logical_schema, quoted, without_columns
from sqlfront_connectors.spark.watch import Watcher, is_query, last_change
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.errors import DatabaseError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: What a statement takes for its parameters: values for ``?``, or a mapping for ``:name``.
Parameters = Sequence[object] | Mapping[str, object]
#: Spark's conditions for a name that stands for nothing.
_NOTHING: Final = frozenset(
    {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE"}
)

#: How long jobs that were stopped may take to end (s).
_ENDING: Final = 10.0
_T = TypeVar("_T")


class SparkLink:
    """A Spark session to run statements on, to look names up in, and to move rows into and out of.

    Any thread may call any method. What Spark raises comes as one of our errors
    (:mod:`sqlfront_connectors.spark.failures`). :meth:`close` removes what the link made, and leaves the
    session as it is.
    """

    def __init__(self, spark: "SparkSession", directory: str | None = None) -> None:
        """``directory``: where to make files that this process and Spark's executors both see. None = where
        the system keeps temporary files if that is so there (a local master), else there are none."""
        self.spark = spark
        with ours():
            self._session = RemoteSession(spark) if is_remote(spark) else ClassicSession(spark)
            self._rows = Rows(spark, self._session, directory)
        self._watchers: list[Watcher] = []
        # Queries with views that somebody has as DataFrames.
        self._lasting: set[_Statement] = set()

    def run(
        self,
        text: str,
        arguments: Parameters | None = None,
        *,
        views: "Mapping[str, DataFrame] | None" = None,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> SparkRun:
        """Begin a statement, as ``spark.sql`` does. ``views``: frames that are temporary views while it is
        analysed (a command: while it runs); Spark's error if the session has a view of that name. ``timeout``
        in seconds; ``query``: the run of the statement, whose end is the end of this one."""
        with ours():
            analyse = partial(self.analysed, text, arguments, views)
            statement = _Statement(self, analyse, is_query=is_query(text), views=views or {})
            return SparkRun(self._session, statement, timeout=timeout, query=query)

    def frame_of(self, run: SparkRun) -> "DataFrame | None":
        """The query that :meth:`run` has begun, as Spark has analysed it: who uses it has Spark run it again,
        and its views are there until the link's end. None for a command, and over Spark Connect, where a
        query is analysed again each time that it runs."""
        work = run.work
        if not isinstance(work, _Statement) or not work.is_query or is_remote(self.spark):
            return None
        if work.views:
            self._lasting.add(work)
        return work.frame

    def schema_of(self, run: SparkRun) -> "StructType | None":
        """The schema that Spark gives of a statement that :meth:`run` has begun and that it has analysed."""
        return run.work.frame.schema if isinstance(run.work, _Statement) else None

    def read(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """The rows of a DataFrame, in physical form; Spark begins when they are asked for."""
        yield from SparkRun(self._session, _Statement(self, lambda: frame, is_query=True)).batches()

    def perform(
        self, work: Callable[[], _T], *, timeout: float | None = None, query: QueryRun | None = None
    ) -> _T:
        """What ``work`` gives, which has Spark run jobs. They end as those of :meth:`run` do, and when this
        thread is interrupted; so it runs in another thread, and has ended when this one goes on."""
        task = _Task(work)
        with ours():
            run = SparkRun(self._session, task, timeout=timeout, query=query)
        try:
            _ = run.schema
        finally:
            run.join(_ENDING)
        return task.outcome

    def describe(
        self, text: str, arguments: Parameters | None = None, views: "Mapping[str, DataFrame] | None" = None
    ) -> pa.Schema | None:
        """The logical schema of a query's answer, which isn't run; None for a command (over Spark Connect for
        all that doesn't begin as queries do). Arguments as for :meth:`run`."""
        with self._asking():
            if not self._session.is_query(text):
                return None
            return logical_schema(self.analysed(text, arguments, views).schema)

    def analysed(
        self, text: str, arguments: Parameters | None = None, views: "Mapping[str, DataFrame] | None" = None
    ) -> "DataFrame":
        """The statement as a DataFrame, as ``spark.sql`` gives it, which has run a command. Arguments as for
        :meth:`run`; errors are Spark's own."""
        given = dict(arguments) if isinstance(arguments, Mapping) else list(arguments or ())
        return self._session.sql(text, given, views or {})

    def collect(self, frame: "DataFrame", schema: pa.Schema, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run a query, in this thread, by the frame's logical schema: ``arrive`` gets its rows as they come,
        what is returned comes behind them. Errors are Spark's own."""
        return self._rows.collect(frame, schema, arrive)

    def table(self, parts: Sequence[str]) -> "DataFrame":
        """What Spark has under a name, as ``spark.table`` gives it. Errors are Spark's own."""
        return self.spark.table(".".join(map(quoted, parts)))

    def size(self, frame: "DataFrame") -> int | None:
        """How many bytes Spark's optimizer takes the rows for; None if it doesn't tell. Errors are Spark's
        own."""
        return self._session.size(frame)

    def version(self, frame: "DataFrame") -> str:
        """A text for the frame's plan and the files that it reads; equal ones have the same rows, as far as
        the session knows. Where it doesn't, another one after each change that watchers are told of. Errors
        are Spark's own."""
        files = "\n".join(source or f"change {last_change()}" for source in self._session.sources(frame))
        return f"{frame.semanticHash() & 0xFFFFFFFF:08x}-{zlib.crc32(files.encode()):08x}"

    def whole_name(self, parts: Sequence[str]) -> tuple[str, ...] | None:
        """The parts of the name of what Spark has under a name (its parts, without quotes), with catalog and
        database; those of a temporary view are its name, with ``global_temp`` if it is a global one. None if
        there is nothing."""
        try:
            with self._asking():
                found = self.spark.catalog.getTable(".".join(map(quoted, parts)))
        except DatabaseError as error:
            if error.condition in _NOTHING:
                return None
            raise
        catalog = () if found.catalog is None else (found.catalog,)
        return (*catalog, *(found.namespace or ()), found.name)

    @property
    def has_executors(self) -> bool:
        """Whether the session's executors are processes of their own: those of a local master are in the
        driver's."""
        master = self.setting("spark.master")
        return master != "local" and not master.startswith("local[")

    @property
    def database(self) -> tuple[str, str]:
        """The current catalog and database."""
        with self._asking():
            return self.spark.catalog.currentCatalog(), self.spark.catalog.currentDatabase()

    def tables(self, database: str | None = None) -> list[tuple[str, str, bool]]:
        """What SHOW TABLES shows of a database (a dotted name; None = the current one) and of temporary
        views: the database, the name, and whether it is temporary."""
        text = "SHOW TABLES"
        if database is not None:
            text += f" IN {'.'.join(map(quoted, database.split('.')))}"
        with self._asking():
            shown = [tuple(row) for row in self._session.sql(text, [], {}).collect()]
            views = {view.lower() for view in self._session.views()}
        # Those of statements under way, that other threads run, and what is kept over Spark Connect aren't
        # anybody's.
        return [row for row in shown if not row[2] or row[0] or row[1].lower() in views]

    @property
    def has_variables(self) -> bool:
        """Whether the session may have variables (``DECLARE``)."""
        with self._asking():
            return self._session.has_variables

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the session's temporary views, without those of ``global_temp``."""
        with self._asking():
            return self._session.views()

    def drop_view(self, name: str) -> bool:
        """Drop one of the session's temporary views; False if there is none of that name."""
        with ours():
            return bool(self.spark.catalog.dropTempView(name))

    def frame(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> HeldFrame:
        """The rows, which are in physical form and of the logical schema, as a DataFrame."""
        with self._asking():
            return self._rows.frame(schema, batches)

    @contextmanager
    def _asking(self) -> "Iterator[None]":
        """Spark is asked inside of the block: its errors come out as ours."""
        with ours():
            self._session.check()
            yield

    def watch(self, callback: Callable[[], None]) -> None:
        """Call back whenever tables, views or settings may have changed through this process, until the link
        is closed or forgotten: by a statement, the catalog, a writer, a frame that becomes a view. Called in
        the thread that made the change, when it has been made; must not raise."""
        self._watchers.append(Watcher(callback, connect=is_remote(self.spark)))

    def setting(self, key: str) -> str:
        """The value of one of Spark's settings."""
        with ours():
            return str(self.spark.conf.get(key))

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """The values of some of Spark's settings; of one that nobody has set, the default."""
        with ours():
            return self._session.settings(defaults)

    def set(self, key: str, value: str) -> None:
        """Give one of Spark's settings a value."""
        with ours():
            self.spark.conf.set(key, value)

    def close(self) -> None:
        """Remove what the link made; what it runs ends first."""
        end_runs(self._session)
        for watcher in self._watchers:
            watcher.close()
        self._rows.exchange.close()
        self._session.close()


class _Task(Generic[_T]):
    """What a run does for :meth:`SparkLink.perform` in its thread."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self.outcome: _T

    def analyse(self) -> pa.Schema:
        """See :class:`~sqlfront_connectors.spark.run.Work`."""
        self.outcome = self._work()
        return pa.schema([])

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """See :class:`~sqlfront_connectors.spark.run.Work`."""
        return iter(())


class _Statement:
    """What a run does for a statement in its thread."""

    def __init__(
        self,
        link: SparkLink,
        analyse: "Callable[[], DataFrame]",
        *,
        is_query: bool,
        views: "Mapping[str, DataFrame]" = MappingProxyType({}),
    ) -> None:
        self.is_query = is_query
        self.views = views
        #: There once it is analysed.
        self.frame: DataFrame
        self._link = link
        self._analyse = analyse
        self._schema: pa.Schema

    def analyse(self) -> pa.Schema:
        """See :class:`~sqlfront_connectors.spark.run.Work`."""
        self.frame = self._analyse()
        self._schema = logical_schema(self.frame.schema)
        return self._schema

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """See :class:`~sqlfront_connectors.spark.run.Work`."""
        if self._schema:
            return self._link.collect(self.frame, self._schema, arrive)
        return iter([without_columns(self.frame.count())] if self.is_query else ())


def is_remote(spark: "SparkSession") -> bool:
    """Whether the session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def is_stopped(spark: "SparkSession") -> bool:
    """Whether the session has ended."""
    if is_remote(spark):
        return bool(spark.is_stopped)  # type: ignore[attr-defined]
    return spark.sparkContext._jsc is None


@contextmanager
def while_it_lasts(spark: "SparkSession") -> Iterator[None]:
    """:func:`~sqlfront_connectors.spark.failures.ours`, also for what PySpark's objects raise whose parts go
    when somebody stops the session meanwhile."""
    try:
        with ours():
            yield
    except AttributeError:
        if not is_stopped(spark):
            raise
        raise gone() from None
