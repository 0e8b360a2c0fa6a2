"""Results of statements: rows that are read on demand."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from types import FunctionType
from typing import TYPE_CHECKING, Final, NoReturn, cast

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.results import boxes, notebooks, pandas_frames, run_explained, schema_tree
from sqlfront.results.python_values import in_zone, rows_batch, slices, tuples
from sqlfront.results.row import Row
from sqlfront.results.run_facts import NO_FACTS, RunFacts
from sqlfront.results.spark_names import MISSING, NeedsSpark
from sqlfront_engine.closing import ClosingContext
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_values.arrow import exchange, forms
from sqlfront_values.errors import Error, InterfaceError, NotSupportedError, OperationalError, spark_error
from sqlfront_values.room import BatchTooLargeError
from sqlfront_values.settings import Settings
from sqlfront_values.types import ddl, holds_own, logical
from sqlfront_values.zones import names as zone_names

if TYPE_CHECKING:
    import pandas
    import polars

    from sqlfront.jobs.job_rows import JobRows
    from sqlfront.observability.account import Reading
    from sqlfront_connectors.spark.run import SparkRun
    from sqlfront_engine.jobs.light_job import LightJob
    from sqlfront_engine.jobs.query_run import Progress
    from sqlfront_planner.explain import explanation as explanations
    from sqlfront_planner.nullability import Nulls

#: What ended the reading of rows if no error of sqlfront did.
_INTERRUPT: Final = "an interrupt"
#: The reason for the lane of statements other than queries.
COMMAND_REASON: Final = "a statement that is not a query"
#: Arguments of a statement's parameters: values for ``?``, or a mapping for ``:name``.
Parameters = Sequence[object] | Mapping[str, object]


class Statistics(msgspec.Struct, frozen=True):
    """Facts about the run of a statement. ``seconds`` is the time until the answer began or, for a statement
    without rows, until the statement ended; ``affected`` is the number of rows written, None if the statement
    writes no rows. The properties are facts about a query's job: each read calls ``look``, which computes
    them."""

    lane: str
    reason: str
    seconds: float
    affected: int | None = None
    #: Computes the further facts.
    look: Callable[[], RunFacts] = lambda: NO_FACTS

    @property
    def scans(self) -> "tuple[explanations.ExplainedScan, ...]":
        """The input of each scan of the query: the keys that it looks up, the partitions that it reads, and
        the parts of the table that it skips."""
        return self.look().scans

    @property
    def vertices(self) -> "tuple[explanations.ExplainedVertex, ...]":
        """The work of each vertex of the job so far. The work on other members is included only after
        ``EXPLAIN ANALYZE``, and if operators observe the session."""
        return self.look().vertices

    @property
    def members(self) -> tuple[str, ...]:
        """The members that took part in the query's job."""
        return self.look().members

    def __repr__(self) -> str:
        known = f"lane={str(self.lane)!r}, reason={self.reason!r}, seconds={self.seconds!r}"
        return f"Statistics({known}, affected={self.affected!r})"


class Result(ClosingContext):
    """The rows of a statement, read lazily.

    The running job delivers batches on demand. :meth:`collect`, :meth:`toArrow`, :meth:`show` and similar
    methods store the rows that they read, so that these methods may be called again. :meth:`batches`,
    :meth:`tuples` and iteration give each row once without storing it; afterwards every method that reads
    rows raises InterfaceError. Closing (or dropping) a result before its end cancels its job. After an error
    or an interrupt, methods that need more than the stored rows raise InterfaceError.

    The session sets the other attributes; None: not available for this result. ``explanation``: the structure
    behind the text of EXPLAIN ANALYZE. ``otherwise``: a function that returns another result with the same
    rows, such as Spark's, after an error before the first row. ``register``: a function that returns the
    method by which the rows become a temporary view. ``translate``: a function that turns an error of reading
    rows into the error to raise.
    """

    #: Whether all rows are in memory as Python values, so that :meth:`tuples` waits for nothing.
    rows_at_hand = False
    #: The structure behind the text of EXPLAIN ANALYZE; None for other statements and other formats.
    explanation: "explanations.Explanation | None" = None

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        statistics: Statistics,
        *,
        settings: Settings | None = None,
        job: "LightJob | SparkRun | JobRows | None" = None,
        plan: QueryPlan | RowPlan | None = None,
        values: Sequence[object] = (),
        owner: object = None,
    ) -> None:
        """``schema`` has logical types, ``batches`` are in physical form. ``job`` delivers the batches, None
        = no job; it runs ``plan`` with these ``values`` of the plan's parameters. ``settings``: the session's
        settings when the statement ran. ``owner``: the session in which the job runs; the result refers to
        the owner until the last row is read, so that the session stays alive."""
        self._schema = schema
        self._owner = owner
        self._source = batches
        self._kept: list[pa.RecordBatch] = []
        self._job = self._ran = job
        self._plan = plan
        self._arguments = values
        self._settings = settings or Settings()
        self._statistics = statistics
        #: The number of rows that the statement wrote, None if it writes none.
        self.affected = statistics.affected

    # Whether the rows are handed over once, by a method that doesn't keep them; and whether a row has left.
    _consumed = False
    _handed = False
    #: The error that ended the reading of rows before the last row; empty if none did.
    broken = ""
    #: Returns another result with the same rows after an error, as long as no row was handed over; None
    #: if there is no other source of the rows.
    otherwise: "Callable[[Error], Result | None] | None" = None

    #: Returns the method that makes rows a temporary view of the session whose ``sql`` gave the result, or
    #: None once the session is gone. None for results of ``execute``.
    register: "Callable[[], Callable[[str, Result], None] | None] | None" = None

    #: Returns for each column of the schema where its values may be null, None if that can't be told.
    #: None for results of ``execute``.
    nullability: "Callable[[pa.Schema], Sequence[Nulls] | None] | None" = None

    #: Returns the error to raise in place of one that reading rows ends with; None to raise it as it is.
    translate: "Callable[[Error], Error] | None" = None

    # Whether naive datetimes are in this machine's time zone.
    _local = False

    #: The account of the rows for operators; None if nobody observes the statement.
    _reading: "Reading | None" = None

    def count_rows(self, reading: "Reading") -> None:
        """Begin to count the rows that the result gives to its reader, for the statement's observation;
        ``reading`` refers to the account that counts them. The last row, :meth:`close` or the end of this
        object ends the observation; for a statement without columns, this call ends it."""
        self._reading = reading
        reading.account.written(self.affected)
        self._source = reading.account.batches(self._source)
        if not len(self._schema):
            self._end_reading(completed=True)

    def _end_reading(self, *, completed: bool = False) -> None:
        if self._reading is not None:
            self._reading.account.close(completed=completed or run_explained.has_completed(self._ran))

    @property
    def stats(self) -> Statistics:
        """The facts about the run of the statement."""
        look = partial(run_explained.facts, self._plan, self._arguments, self._ran, self._settings)
        return replace(self._statistics, affected=self.affected, look=look)

    @property
    def schema(self) -> pa.Schema:
        """The names and logical types of the columns; interval types include their units."""
        return self._schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of :meth:`toArrow` and :meth:`batches`: intervals have Arrow's native types."""
        return exchange.exported_schema(self._schema)

    @property
    def settings(self) -> Settings:
        """The session's settings when the statement ran."""
        return self._settings

    @property
    def plan(self) -> QueryPlan | RowPlan | None:
        """The plan that answered the statement, with :attr:`values` as its parameters; None if sqlfront
        didn't plan the statement."""
        return self._plan

    @property
    def values(self) -> Sequence[object]:
        """The values of the parameters of :attr:`plan`, in order; empty if there are none."""
        return self._arguments

    @property
    def job(self) -> "LightJob | SparkRun | JobRows | None":
        """The job that runs or ran the statement; None for a statement without a job."""
        return self._ran

    @property
    def is_read(self) -> bool:
        """Whether rows have been read from the job, by any method."""
        return self._consumed or bool(self._kept)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """The names of the columns with Spark's names of their types."""
        return [(field.name, ddl(field.type)) for field in self._schema]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches in logical types (:attr:`arrow_schema`), without storing them: they can't be read
        again."""
        reading = self._reading
        for batch in self._handed_over():
            if reading is not None:
                reading.account.gives(batch.num_rows)
            yield batch

    def _handed_over(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches of :meth:`batches`; the caller has to count their rows as given."""
        self._check_unconsumed()
        self._consumed = True
        try:
            yield from self._kept
            for batch in self._source:
                yield from to_logical(batch, self._schema)
        except GeneratorExit:
            raise
        except Error as error:
            self._end_with(error)
        except BaseException:
            self.broken = _INTERRUPT
            raise
        finally:
            self.close()

    def toArrow(self) -> pa.Table:
        """Return all rows as an Arrow table of logical types."""
        return pa.Table.from_batches(self._read(None), self.arrow_schema)

    def toPandas(self) -> "pandas.DataFrame":
        """Return all rows as a pandas DataFrame (extra ``pandas``), as PySpark converts them: times are in
        nanoseconds, a TIMESTAMP is a clock time in the session's time zone, without a zone of its own, a map
        is a dict. Raises OperationalError if pandas is missing."""
        _needs("pandas")
        return pandas_frames.to_pandas(self.toArrow(), self._settings.time_zone)

    def toPolars(self) -> "polars.DataFrame":
        """Return all rows as a polars DataFrame (extra ``polars``). Raises OperationalError if polars is
        missing."""
        _needs("polars")
        import polars  # noqa: PLC0415 - loaded only for callers that use it

        frame = polars.from_arrow(self.toArrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def as_local(self) -> "Result":
        """Change this result so that its datetimes without ``tzinfo`` are in this machine's time zone, as in
        PySpark, instead of the session's; return the result."""
        self._local = True
        return self

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all rows by the Arrow PyCapsule protocol, by which pandas, polars, DuckDB and pyarrow accept
        a result directly."""
        return self.toArrow().__arrow_c_stream__(requested_schema)

    def collect(self) -> list[Row]:
        """Return all rows. A TIMESTAMP is a naive datetime in the session's time zone."""
        return [row for batch in self._read(None) for row in self._rows(batch)]

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Row]:  # noqa: N803 - Spark's
        """Yield all rows one by one, as batches arrive. Unlike iteration, the method stores the rows, so that
        they can be read again. ``prefetchPartitions`` has no effect."""
        place = rows = 0
        while len(kept := self._read(rows + 1, rows)) > place:
            batch = kept[place]
            yield from self._rows(batch)
            place, rows = place + 1, rows + batch.num_rows

    def take(self, num: int) -> list[Row]:
        """Return the first ``num`` rows; no more batches are read than needed. Raises
        INVALID_LIMIT_LIKE_EXPRESSION for a negative number."""
        _check_count(num)
        rows: list[Row] = []
        for batch in self._read(num):
            rows += self._rows(batch.slice(0, num - len(rows)))
        return rows

    def tail(self, num: int) -> list[Row]:
        """Return the last ``num`` rows, after reading all rows."""
        return self.collect()[-num:] if num > 0 else []

    def limit(self, num: int) -> "Result":
        """Return a result of the first ``num`` rows, which are read by this call. Raises
        INVALID_LIMIT_LIKE_EXPRESSION for a negative number."""
        _check_count(num)
        batches, left = [], num
        for batch in self._read(num):
            batches.append(batch.slice(0, left))
            left -= len(batches[-1])
        limited = Result(self._schema, iter(batches), self._statistics, settings=self._settings)
        limited.register = self.register
        return limited.as_local() if self._local else limited

    def head(self, n: int | None = None) -> Row | list[Row] | None:
        """Return a list of the first ``n`` rows; without ``n``, return the first row, or None if there is no
        row."""
        return self.first() if n is None else self.take(n)

    def first(self) -> Row | None:
        """Return the first row; None if the result has no rows."""
        rows = self.take(1)
        return rows[0] if rows else None

    def count(self) -> int:
        """Return the number of rows, after reading and storing all rows."""
        return sum(batch.num_rows for batch in self._read(None, 0))

    def isEmpty(self) -> bool:
        """Return whether the result has no rows."""
        return self.first() is None

    def createOrReplaceTempView(self, name: str) -> None:
        """Make the rows a temporary view ``name``, which replaces a view of the same name, in the session
        that gave this result. Raises InterfaceError if the session no longer exists, and for a result of a
        cursor's or session's ``execute``: only results of ``sql`` can become views."""
        register = None if self.register is None else self.register()
        if register is None:
            raise InterfaceError("a view needs the session of the result: take session.sql(...), and keep it")
        register(name, self)

    def tuples(self, *, naive: bool) -> Iterator[tuple[object, ...]]:
        """Yield the rows as tuples, without storing them: they can't be read again. A TIMESTAMP is a datetime
        in the session's time zone, without ``tzinfo`` if ``naive``."""
        zone, reading = self._zone(naive=naive), self._reading
        for batch in self._handed_over():
            for piece in slices(batch):
                rows = tuples(piece, zone, naive=naive)
                yield from rows if reading is None else reading.account.piece(rows)

    def __iter__(self) -> Iterator[Row]:
        """Return an iterator over the rows, which does not store them: they can't be read again."""
        names = self.columns
        return (Row(names, values) for values in self.tuples(naive=True))

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first ``n`` rows, exactly as Spark does. ``truncate``: True cuts values to 20
        characters, a number to that many characters, False or 0 cuts nothing. ``vertical``: one line per
        value instead of one line per row."""
        print(self.show_string(n, truncate, vertical))

    def show_string(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> str:
        """Return the text that :meth:`show` prints."""
        n = max(0, n)
        limit = int(truncate) * 20 if isinstance(truncate, bool) else truncate
        rows: list[tuple[str, ...]] = []
        for batch in self._read(n + 1, n):
            rows += boxes.cells(batch.slice(0, n + 1 - len(rows)), self._schema, self._settings)
        draw = boxes.vertical if vertical else boxes.box
        text = draw(self.columns, rows[:n], limit)
        if vertical and not rows[:n]:
            return "(0 rows)"
        if len(rows) > n:
            text += f"only showing top {n} {'row' if n == 1 else 'rows'}"
        return text

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Print the lane, the reason for the lane, and the plan by which the statement ran. If ``extended``
        is true, or a ``mode`` is given, also print a job's logical plans before and after optimization. For a
        statement without a plan, print only lane and reason."""
        whole = bool(extended) or mode is not None
        if self._plan is None:
            print(f"lane: {self.stats.lane} ({self.stats.reason})")
        else:
            print(run_explained.explained(self._plan, self._arguments, self._settings, extended=whole))

    def printSchema(self, level: int | None = None) -> None:
        """Print the schema as a tree, as Spark does, with the columns that may hold nulls. ``level``: the
        number of nested levels to print, None = all."""
        print(self.schema_tree(level))

    def schema_tree(self, level: int | None = None) -> str:
        """Return the text that :meth:`printSchema` prints."""
        nulls = None if self.nullability is None else self.nullability(self._schema)
        return schema_tree.schema_tree(self._schema, level, nulls)

    @property
    def progress(self) -> "Progress | None":
        """Spark's progress with the statement; None if Spark doesn't run the statement. Any thread may read
        the property."""
        if self._ran is None or self._statistics.lane != Lane.SPARK:
            return None
        return cast("SparkRun", self._ran).progress()

    def wait(self) -> None:
        """Wait until the first rows have arrived, or the result has ended without rows. Raises the
        statement's error."""
        self._read(1, 0)

    def read_instead(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Read the rows from ``batches``, in physical form, instead of the job, which is cancelled. The
        batches must have the same rows, and no row may have been read before."""
        assert not self.is_read
        owner = self._owner
        self.stop_job()
        self._owner = owner
        self._source = batches if self._reading is None else self._reading.account.batches(batches)

    def stop_job(self) -> None:
        """Cancel the running job, if any; the rows that it would have given can't be read any more."""
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        self._owner = self.otherwise = None

    def close(self) -> None:
        """Cancel the running job; rows that the result has stored can still be read."""
        if self._reading is not None:
            self._end_reading()
        self.stop_job()

    def __repr__(self) -> str:
        return f"Result[{', '.join(f'{name}: {kind}' for name, kind in self.dtypes)}]"

    def _repr_html_(self) -> str:
        """Return the first rows as an HTML table, for notebooks; only the names and types of the columns, if
        the rows were read without storing them."""
        return repr(self) if self._consumed else notebooks.html(self._beginning())

    def _repr_pretty_(self, printer: "notebooks.Printer", cycle: bool) -> None:
        """Print the first rows as text, for IPython in a terminal; only the names and types of the columns,
        if the rows were read without storing them."""
        printer.text(repr(self) if self._consumed or cycle else notebooks.text(self._beginning()))

    def _beginning(self) -> "notebooks.Beginning":
        """Read and store the first rows, and return them as notebooks show them."""
        rows = notebooks.ROWS
        kept = tuple(self._read(rows + 1))
        more = sum(batch.num_rows for batch in kept) > rows
        return notebooks.Beginning(self._schema, kept, self._settings, more, self.stats)

    def _read(self, rows: int | None, given: int | None = None) -> list[pa.RecordBatch]:
        """Return the stored batches, after reading and storing further batches until there are at least
        ``rows`` rows (None = all rows), or the source has ended. Empty batches are not stored. ``given``: how
        many of the first rows the reader gets, for counting; None = ``rows``."""
        self._check_unconsumed()
        have = sum(batch.num_rows for batch in self._kept)
        has_ended = False
        if rows is None or have < rows:
            self.check_whole()
            self.broken = _INTERRUPT  # unless the next line ends
            have, has_ended = self._read_on(rows, have)
            self.broken = ""
        self._handed = True
        if self._reading is not None:
            wanted = have if rows is None else rows
            self._reading.account.given(wanted if given is None else given)
        if has_ended:
            self.close()
        return self._kept

    def _read_on(self, rows: int | None, have: int) -> tuple[int, bool]:
        """Read and store further batches until ``rows`` rows (None = all) are stored, or the source has
        ended; ``have`` are stored already. Return the number of rows that are stored, and whether the source
        has ended."""
        while rows is None or have < rows:
            try:
                batch = next(self._source, None)
            except (NotSupportedError, OperationalError) as error:
                self._go_on(error)
                have = 0
                continue
            except Error as error:
                self._end_with(error)
            except BaseException:
                self._end_reading()
                raise
            if batch is None:
                return have, True
            if batch.num_rows:
                self._kept += to_logical(batch, self._schema)
                have += batch.num_rows
        return have, False

    def check_whole(self) -> None:
        """Raise InterfaceError if the reading of rows has ended early, by an error or an interrupt."""
        if self.broken:
            raise InterfaceError(
                f"the rows can't be read any further: reading them ended with {self.broken};"
                " run the statement again"
            )

    def _end_with(self, error: Error) -> NoReturn:
        """Raise the error, and let later calls that need further rows fail (:meth:`check_whole`)."""
        self.broken = error.condition or type(error).__name__
        self._end_reading()
        raise error if self.translate is None else self.translate(error) from error.__cause__

    def _go_on(self, error: Error) -> None:
        """Go on after ``error`` with another source of the rows, such as Spark or a durable job, from the
        first row on. Raises ``error`` if there is no other source, or if the user has got rows already; the
        other source's error if that fails, too."""
        try:
            other = None if self._handed or self.otherwise is None else self.otherwise(error)
        except Error as another:
            self._end_with(another)
        if other is None:
            self._end_with(error)
        self._kept.clear()
        self.stop_job()
        self._source, self._schema, self._owner = other._source, other._schema, other._owner
        self._statistics, self._settings = other._statistics, other._settings
        self._job, self._ran, self._plan = other._job, other._ran, other._plan
        self._arguments = other._arguments
        if self._reading is not None:
            self._source = self._reading.account.batches(self._source)

    def _check_unconsumed(self) -> None:
        if self._consumed:
            raise InterfaceError("iteration or batches() has consumed the rows; run the statement again")

    def _rows(self, batch: pa.RecordBatch) -> list[Row]:
        names = self.columns
        return [Row(names, values) for values in tuples(batch, self._zone(naive=True), naive=True)]

    def _zone(self, *, naive: bool) -> datetime.tzinfo | None:
        """The time zone of the rows' datetimes; None = this machine's time zone."""
        return None if naive and self._local else _zone(self._settings.time_zone)


for _name in MISSING:
    setattr(Result, _name, NeedsSpark(_name))


def _name_as_result(kind: type[Result]) -> None:
    """Let Python's own errors about objects of the class ``kind``, such as those of an unknown attribute,
    name the class ``Result``, which users know."""
    methods = [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    named: list[type | FunctionType] = [kind, *methods]
    for each in named:
        each.__qualname__ = each.__qualname__.replace(kind.__name__, Result.__name__)
    kind.__name__ = Result.__name__


class RowsResult(Result):
    """The result of a row program, which has all rows in memory as Python values. An Arrow batch of the rows
    is made only when it is needed."""

    rows_at_hand = True

    def __init__(
        self,
        plan: RowPlan,
        values: Sequence[object],
        rows: Sequence[tuple[object, ...]],
        settings: Settings,
        seconds: float,
    ) -> None:
        """``rows`` are the rows that ``plan`` gave with these ``values`` of its parameters, in logical types;
        each value has the form that a :class:`~sqlfront_values.expressions.Literal` stores. ``seconds``: the
        duration of the run."""
        schema = plan.schema_of(values) if plan.titles else plan.schema
        statistics = Statistics(plan.lane, plan.reason, seconds)
        super().__init__(
            schema, _as_batch(schema, rows), statistics, settings=settings, plan=plan, values=values
        )
        self._values = rows
        self._timestamps = plan.timestamps

    def count_rows(self, reading: "Reading") -> None:
        super().count_rows(reading)
        reading.account.all_there(len(self._values))

    def tuples(self, *, naive: bool) -> Iterator[tuple[object, ...]]:
        self._check_unconsumed()
        self._consumed = True
        rows = self._converted(naive=naive)
        if self._reading is not None:
            return self._reading.counted(rows)
        return iter(rows)

    def collect(self) -> list[Row]:
        self._check_unconsumed()
        names = self.columns
        rows = [Row(names, values) for values in self._converted(naive=True)]
        if self._reading is not None:
            self._reading.account.given(len(rows))
            self._end_reading()
        return rows

    def count(self) -> int:
        self._check_unconsumed()
        return len(self._values)

    def close(self) -> None:
        if self._reading is not None:  # there is no job to cancel
            self._end_reading()

    def _converted(self, *, naive: bool) -> Sequence[tuple[object, ...]]:
        """Return the rows with the values in the user's form: timestamps are in the session's time zone,
        without ``tzinfo`` if ``naive``."""
        places = self._timestamps
        if not places:
            return self._values
        zone = self._zone(naive=naive)
        return [in_zone(values, places, zone, naive=naive) for values in self._values]


_name_as_result(RowsResult)


def command_result(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    settings: Settings,
    seconds: float,
    affected: int | None = None,
) -> Result:
    """Return the result of a statement other than a query. ``batches``: the rows to show, in physical form;
    ``seconds``: the duration of the statement; ``affected``: the number of rows written, None = the statement
    writes no rows."""
    statistics = Statistics(Lane.COMMAND, COMMAND_REASON, seconds, affected)
    return Result(schema, iter(batches), statistics, settings=settings)


def _as_batch(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
    """Yield the rows as one Arrow batch, which is made only if it is read. This is not a method: a generator
    that refers to its result would leave each result to the garbage collector."""
    if rows:
        yield rows_batch(schema, rows)


def to_logical(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batch with every column in its logical type, intervals in Arrow's native types. If a long
    text that many rows share is too large for one batch, the rows are split into several batches."""
    if batch.num_columns == 0:
        yield batch
        return
    try:
        columns = [
            column if column.type == field.type else _decode(column, field.type)
            for column, field in zip(batch.columns, schema, strict=True)
        ]
    except BatchTooLargeError:
        half = batch.num_rows // 2
        yield from to_logical(batch.slice(0, half), schema)
        yield from to_logical(batch.slice(half), schema)
    else:
        yield pa.RecordBatch.from_arrays(columns, schema=exchange.exported_schema(schema))


def _decode(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    if holds_own(data_type):
        return exchange.exported(column, data_type)
    assert logical(column.type) == data_type, f"{column.type} is no form of {data_type}"
    if isinstance(column, pa.DictionaryArray):
        forms.claim_decoded(column)
    return column.cast(data_type)


def _needs(library: str) -> None:
    """Raise OperationalError, which names the extra to install, if the DataFrame ``library`` is missing."""
    if find_spec(library) is None:
        raise OperationalError(f"{library} is not installed: pip install 'sqlfront[{library}]'")


def _check_count(count: int) -> None:
    if count < 0:
        raise spark_error(
            "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
            f'The limit like expression "{count}" is invalid. The limit expression must be equal to or '
            f"greater than 0, but got {count}.",
        )


def _zone(name: str) -> datetime.tzinfo:
    """Return the time zone with this name; UTC works even on machines without time zone data."""
    return datetime.UTC if name == "UTC" else zone_names.zone_of(name)
