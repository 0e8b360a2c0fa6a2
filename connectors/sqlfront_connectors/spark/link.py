"""The interface of one Spark session to the rest of sqlfront: statements, relations, and rows in and out."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
import pyarrow as pa

from sqlfront_connectors.spark.failures import gone, ours
from sqlfront_connectors.spark.rows import HeldFrame, SparkRows
from sqlfront_connectors.spark.run import Arrive, SparkRun, end_runs
from sqlfront_connectors.spark.sessions.classic import ClassicSession
from sqlfront_connectors.spark.sessions.remote import RemoteSession
from sqlfront_connectors.spark.sessions.watch import Watcher, is_query, last_change
from sqlfront_connectors.spark.types import logical_schema, quoted, without_columns
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.errors import DatabaseError, NotSupportedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: The parameters of a statement: values for ``?``, or a mapping for ``:name``.
Parameters = Sequence[object] | Mapping[str, object]
#: Spark's conditions for an unknown name.
_NOTHING: Final = frozenset(
    {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE"}
)

#: The time that stopped jobs may take to end (s): closing the session waits so long.
_ENDING: Final = 10.0
_T = TypeVar("_T")


class SparkLink:
    """Access to one Spark session: it runs statements, looks up names, and reads and writes rows.

    Any thread may call any method. Unless a method says otherwise, errors of Spark are raised as sqlfront's
    errors. :meth:`close` removes the views and files that this object has made, and leaves the session
    running.
    """

    def __init__(self, spark: "SparkSession", directory: str | None = None) -> None:
        """``directory``: a directory that this process and Spark's executors both can read and write, for
        files of rows. None = the system's directory for temporary files if executors see it (a local master),
        else no files are used."""
        self.spark = spark
        with ours():
            self._session = RemoteSession(spark) if is_remote(spark) else ClassicSession(spark)
            self._rows = SparkRows(spark, self._session, directory)
        self._watchers: list[Watcher] = []
        # Queries with views that callers have as DataFrames.
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
        """Begin a statement in another thread, and return its run at once. ``arguments``: the values of the
        statement's parameters. ``views``: DataFrames that the statement can read as temporary views of these
        names; raises Spark's error if the session has a view of such a name. ``timeout``: seconds after which
        the run is stopped, None = never. ``query``: the query for which the statement runs; the end of the
        query also ends this run."""
        with ours():
            analyse = partial(self.analysed, text, arguments, views)
            statement = _Statement(self, analyse, is_query=is_query(text), views=views or {})
            return SparkRun(self._session, statement, timeout=timeout, query=query)

    def frame_of(self, run: SparkRun) -> "DataFrame | None":
        """Return the DataFrame of a query begun by :meth:`run`. Each use of the DataFrame makes Spark run the
        query again; the query's views exist until this object is closed. None for a command, and over Spark
        Connect, where each run analyses the query again."""
        work = run.work
        if not isinstance(work, _Statement) or not work.is_query or is_remote(self.spark):
            return None
        if work.views:
            self._lasting.add(work)
        return work.frame

    def schema_of(self, run: SparkRun) -> "StructType | None":
        """Return Spark's schema of the answer to a statement that was begun by :meth:`run` and has been
        analysed; None if ``run`` runs a function for :meth:`perform`."""
        return run.work.frame.schema if isinstance(run.work, _Statement) else None

    def read(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Yield the rows of a DataFrame as batches in physical form; Spark begins when the first batch is
        requested."""
        yield from SparkRun(self._session, _Statement(self, lambda: frame, is_query=True)).batches()

    def read_files(self, analyse: "Callable[[], DataFrame]") -> SparkRun:
        """Begin the query of the DataFrame that ``analyse`` returns, and return its run at once. The rows
        come as files if Spark's executors can write files that this process reads, and need no memory before
        they are read; else they come through the driver's memory."""
        with ours():
            return SparkRun(self._session, _Statement(self, analyse, is_query=True, files=True))

    def perform(
        self, work: Callable[[], _T], *, timeout: float | None = None, query: QueryRun | None = None
    ) -> _T:
        """Call ``work``, which may run Spark jobs, in another thread, and return its result or raise its
        error.

        Spark's jobs are cancelled after ``timeout`` seconds (None = never), when ``query``, the query for
        which ``work`` runs, ends, or when the calling thread is interrupted. Then this method waits at most
        ten seconds for the end of ``work``, and raises OperationalError, or KeyboardInterrupt after an
        interruption."""
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
        """Return the logical schema of a query's answer without running the query; None for a command (over
        Spark Connect, for every statement that doesn't begin with a keyword of queries). ``arguments``: the
        values of the statement's parameters. ``views``: DataFrames that the statement can read as temporary
        views of these names."""
        with self._asking():
            if not self._session.is_query(text):
                return None
            return logical_schema(self.analysed(text, arguments, views).schema)

    def analysed(
        self, text: str, arguments: Parameters | None = None, views: "Mapping[str, DataFrame] | None" = None
    ) -> "DataFrame":
        """Return the statement's answer as a DataFrame; as with ``spark.sql``, a command is run at once.
        ``arguments``: the values of the statement's parameters. ``views``: DataFrames that the statement can
        read as temporary views of these names. Raises Spark's own errors."""
        given = dict(arguments) if isinstance(arguments, Mapping) else list(arguments or ())
        return self._session.sql(text, given, views or {})

    def collect(self, frame: "DataFrame", schema: pa.Schema, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run the query of ``frame`` in the calling thread. ``schema``: the logical schema of the frame.
        ``arrive`` is called with each batch as soon as it comes from Spark; the returned iterator yields the
        batches that were not given to ``arrive``, such as rows that Spark wrote as files. Raises Spark's own
        errors."""
        return self._rows.collect(frame, schema, arrive)

    def collect_files(
        self, frame: "DataFrame", schema: pa.Schema, arrive: Arrive
    ) -> Iterator[pa.RecordBatch]:
        """Do as :meth:`collect`, but let the rows come as files whatever their size, if that is possible."""
        return self._rows.collect_files(frame, schema, arrive)

    def table(self, parts: Sequence[str]) -> "DataFrame":
        """Return a table or view of Spark as a DataFrame, as ``spark.table`` does. ``parts``: the parts of
        the relation's name, without quotes. Raises Spark's own errors."""
        return self.spark.table(".".join(map(quoted, parts)))

    def size(self, frame: "DataFrame") -> int | None:
        """Return the size of the DataFrame's rows in bytes, as Spark's optimizer estimates it; None without
        an estimate. Raises Spark's own errors."""
        return self._session.size(frame)

    def version(self, frame: "DataFrame") -> str:
        """Return a text that identifies the frame's plan and the present state of the files that the plan
        reads: equal texts mean equal rows, as far as the session can tell. If changes of a source can't be
        detected, the text changes with each change in the session that :meth:`watch` reports. Raises Spark's
        own errors."""
        files = "\n".join(source or f"change {last_change()}" for source in self._session.sources(frame))
        return f"{frame.semanticHash() & 0xFFFFFFFF:08x}-{zlib.crc32(files.encode()):08x}"

    def state(self, frame: "DataFrame") -> str | None:
        """Return a text that identifies the present state of the files that the frame's plan reads, also in
        other sessions: another text means that the rows may be others. None if changes of a source can't be
        detected, or a row depends on chance or on the time. Raises Spark's own errors."""
        sources = [*self._session.sources(frame)]
        if None in sources or not self._session.is_repeatable(frame):
            return None
        return sha256("\n".join(filter(None, sources)).encode()).hexdigest()

    def is_followed(self, frame: "DataFrame") -> bool:
        """Return whether equal texts of :meth:`version` prove that the frame gives the same rows: no row
        depends on chance or on the time, and every source can be tracked. False over Spark Connect, which
        can't tell."""
        return self._session.is_repeatable(frame) and None not in self._session.sources(frame)

    def whole_name(self, parts: Sequence[str]) -> tuple[str, ...] | None:
        """Return the full name, in parts, of Spark's table or view that ``parts`` names: catalog, database
        and name. ``parts``: the parts of the name, without quotes. A temporary view has only its name, a
        global one ``global_temp`` and its name. None if Spark has no relation of this name."""
        try:
            with self._asking():
                found = self.spark.catalog.getTable(".".join(map(quoted, parts)))
        except DatabaseError as error:
            if error.condition in _NOTHING:
                return None
            raise
        catalog = () if found.catalog is None else (found.catalog,)
        return (*catalog, *(found.namespace or ()), found.name)

    def description(self, parts: Sequence[str]) -> Mapping[str, object]:
        """Return the description of a table of Spark's session catalog by DESCRIBE TABLE EXTENDED ... AS
        JSON: facts by Spark's names, such as ``type``, ``provider`` and ``location``. ``parts``: the full
        name of the table, in parts without quotes. Raises TABLE_OR_VIEW_NOT_FOUND if there is no such
        table."""
        text = f"DESCRIBE TABLE EXTENDED {'.'.join(map(quoted, parts))} AS JSON"
        with self._asking():
            described = msgspec.json.decode(self._session.sql(text, [], {}).collect()[0][0])
        assert isinstance(described, dict)
        return described

    def partitions(
        self, parts: Sequence[str], columns: Sequence[str]
    ) -> Mapping[tuple[str | None, ...], str]:
        """Return the registered partitions of a table of Spark's session catalog: the path of each
        partition's directory, by the partition's values as texts, None for null. ``parts``: catalog, database
        and name. ``columns``: the names of the partition columns. Raises NotSupportedError over Spark
        Connect, which tells the partitions, but not their directories."""
        if not isinstance(self._session, ClassicSession):
            raise NotSupportedError("the directories of a table's partitions, over Spark Connect")
        _, database, table = parts
        with self._asking():
            found = self._session.partitions(database, table, columns)
        return {values: unquote(urlsplit(location).path) for values, location in found.items()}

    @property
    def has_driver_here(self) -> bool:
        """True if the session's driver runs on this machine, so that it lists the same files as this
        process."""
        return self._session.has_driver_here

    @property
    def has_executors(self) -> bool:
        """True if the session's executors are separate processes; the executor of a local master is a part of
        the driver's process."""
        master = self.setting("spark.master")
        return master != "local" and not master.startswith("local[")

    @property
    def database(self) -> tuple[str, str]:
        """The current catalog and the current database of the session."""
        with self._asking():
            return self.spark.catalog.currentCatalog(), self.spark.catalog.currentDatabase()

    @property
    def schemas(self) -> tuple[str, ...]:
        """The names of the schemas of the current catalog, as SHOW SCHEMAS lists them."""
        with self._asking():
            return tuple(row[0] for row in self._session.sql("SHOW SCHEMAS", [], {}).collect())

    def tables(self, database: str | None = None, kind: str = "TABLES") -> list[tuple[str, str, bool]]:
        """Return the tables and temporary views of a database as SHOW TABLES lists them, or the views as SHOW
        VIEWS does if ``kind`` is ``VIEWS``: for each the database, the name, and whether the relation is
        temporary. ``database``: a dotted name, None = the current database."""
        text = f"SHOW {kind}"
        if database is not None:
            text += f" IN {'.'.join(map(quoted, database.split('.')))}"
        with self._asking():
            shown = [tuple(row) for row in self._session.sql(text, [], {}).collect()]
            views = {view.lower() for view in self._session.views()}
        # Leave out the views of statements that other threads run, and the views that are kept over Spark
        # Connect: they don't belong to the session's user.
        return [row for row in shown if not row[2] or row[0] or row[1].lower() in views]

    @property
    def has_variables(self) -> bool:
        """True if the session may have variables of SQL, which ``DECLARE VARIABLE`` makes."""
        with self._asking():
            return self._session.has_variables

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the session's temporary views, without the views of ``global_temp``."""
        with self._asking():
            return self._session.views()

    def drop_view(self, name: str) -> bool:
        """Drop a temporary view of the session; returns True if the view existed, False if the session has no
        view of the name."""
        with ours():
            return bool(self.spark.catalog.dropTempView(name))

    def frame(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> HeldFrame:
        """Return the batches as a DataFrame of the logical ``schema``; the batches' columns are in physical
        form. Spark can read the DataFrame until the returned object is closed."""
        with self._asking():
            return self._rows.frame(schema, batches)

    @contextmanager
    def _asking(self) -> "Iterator[None]":
        """Return a context manager that raises OperationalError if the session is stopped, and turns Spark's
        errors of the block into sqlfront's."""
        with ours():
            self._session.check()
            yield

    def watch(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` whenever this process may have changed Spark's tables, views or settings: by a
        statement, the catalog, a writer or a new view. The callback runs after the change, in the thread that
        made the change; it must not raise. The calls end when this object is closed or garbage-collected."""
        self._watchers.append(Watcher(callback, connect=is_remote(self.spark)))

    def setting(self, key: str) -> str:
        """Return the session's value of the Spark setting ``key``. Raises an error of sqlfront if the setting
        is unset and has no default."""
        with ours():
            return str(self.spark.conf.get(key))

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the values of the Spark settings that are keys of ``defaults``; an unset setting has its
        value in ``defaults``."""
        with ours():
            return self._session.settings(defaults)

    def set(self, key: str, value: str) -> None:
        """Set Spark's setting ``key`` to ``value``."""
        with ours():
            self.spark.conf.set(key, value)

    def reset(self, key: str | None) -> None:
        """Set Spark's setting ``key``, or all if it is None, to the value at the session's start."""
        with ours():
            self.spark.sql("RESET" if key is None else f"RESET {key}")

    def close(self) -> None:
        """End the runs begun through this object, stop the calls of :meth:`watch`, and remove the views and
        files that this object has made; the session goes on."""
        end_runs(self._session)
        for watcher in self._watchers:
            watcher.close()
        self._rows.exchange.close()
        self._session.close()


class _Task(Generic[_T]):
    """The work of a run that calls a function, for :meth:`SparkLink.perform`; it runs in the run's thread."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self.outcome: _T

    def analyse(self) -> pa.Schema:
        """Call the function ``work``, and store its result as ``outcome``. Return an empty schema, since a
        run asks its work for the schema of its rows first, and this work has no rows."""
        self.outcome = self._work()
        return pa.schema([])

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Return no batches: :meth:`analyse` has done the work."""
        return iter(())


class _Statement:
    """The work of a run that executes a statement, for :meth:`SparkLink.run`; it runs in the run's thread.

    ``analyse``: returns the statement as a DataFrame. ``is_query``: False for a command. ``views``: the
    DataFrames that the statement reads as temporary views. ``files``: whether the rows come as files if that
    is possible."""

    def __init__(
        self,
        link: SparkLink,
        analyse: "Callable[[], DataFrame]",
        *,
        is_query: bool,
        views: "Mapping[str, DataFrame]" = MappingProxyType({}),
        files: bool = False,
    ) -> None:
        self._collect = link.collect_files if files else link.collect
        self.is_query = is_query
        self.views = views
        #: Set by :meth:`analyse`.
        self.frame: DataFrame
        self._analyse = analyse
        self._schema: pa.Schema

    def analyse(self) -> pa.Schema:
        """Analyse the statement, and run a command at once; returns the logical schema of the answer."""
        self.frame = self._analyse()
        self._schema = logical_schema(self.frame.schema)
        return self._schema

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run the analysed query. ``arrive`` is called with each batch as soon as it comes from Spark; the
        returned iterator yields the batches that were not given to ``arrive``. A command returns no batches.
        """
        if self._schema:
            return self._collect(self.frame, self._schema, arrive)
        return iter([without_columns(self.frame.count())] if self.is_query else ())


def is_remote(spark: "SparkSession") -> bool:
    """Return whether the session is a Spark Connect session."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def is_stopped(spark: "SparkSession") -> bool:
    """Return whether the session has been stopped."""
    if is_remote(spark):
        return bool(spark.is_stopped)  # type: ignore[attr-defined]
    return spark.sparkContext._jsc is None


@contextmanager
def while_it_lasts(spark: "SparkSession") -> Iterator[None]:
    """Return a context manager that replaces errors of Spark in its block by sqlfront's errors. An
    AttributeError, as PySpark's objects raise it when another thread stops the session meanwhile, becomes an
    OperationalError if the session is stopped."""
    try:
        with ours():
            yield
    except AttributeError:
        if not is_stopped(spark):
            raise
        raise gone() from None
