"""What a statement gives: rows that are read as they are asked for."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.python_values import in_zone, rows_batch, slices, tuples
from sqlfront.row import Row
from sqlfront_engine.closing import Closing
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_values.arrow.intervals import exported, exported_schema
from sqlfront_values.errors import Error, InterfaceError, NotSupportedError, OperationalError, spark_error
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.room import BatchTooLargeError
from sqlfront_values.settings import Settings
from sqlfront_values.types import ddl, holds_interval, logical

if TYPE_CHECKING:
    import pandas
    import polars

    from sqlfront import run_facts
    from sqlfront_connectors.spark.run import SparkRun
    from sqlfront_engine.jobs.light_job import LightJob
    from sqlfront_engine.jobs.query_run import Progress
    from sqlfront_planner.explain import explanation as explanations
    from sqlfront_values.arrow import forms
    from sqlfront_values.zones import names as zone_names
else:
    forms = lazy_module("sqlfront_values.arrow.forms")
    zone_names = lazy_module("sqlfront_values.zones.names")
    run_facts = lazy_module("sqlfront.run_facts")

#: What a statement takes for its parameters: values for ``?``, or a mapping for ``:name``.
Parameters = Sequence[object] | Mapping[str, object]


class RunFacts(msgspec.Struct, frozen=True):
    """What ``EXPLAIN`` and ``EXPLAIN ANALYZE`` show of a query, of the run that a result comes from."""

    scans: "tuple[explanations.ExplainedScan, ...]" = ()
    vertices: "tuple[explanations.ExplainedVertex, ...]" = ()
    members: tuple[str, ...] = ()


NO_FACTS: Final = RunFacts()


class Statistics(msgspec.Struct, frozen=True):
    """How a statement was answered. ``lane`` is a :class:`~sqlfront_planner.lanes.Lane` or ``command``;
    ``seconds`` is the time until the answer began or, for a statement that gives no rows, until it ended;
    ``affected`` the rows that it wrote, None if it writes none. What else there is to know of a query is
    found out when it is asked for."""

    lane: str
    reason: str
    seconds: float
    affected: int | None = None
    #: Finds out what there is to know besides.
    look: Callable[[], RunFacts] = lambda: NO_FACTS

    @property
    def scans(self) -> "tuple[explanations.ExplainedScan, ...]":
        """What was read of each table: keys, partitions, and pieces that were skipped."""
        return self.look().scans

    @property
    def vertices(self) -> "tuple[explanations.ExplainedVertex, ...]":
        """What each step did, as far as the result has been read (other members count only if asked to, as
        ``EXPLAIN ANALYZE`` does)."""
        return self.look().vertices

    @property
    def members(self) -> tuple[str, ...]:
        """The members that took part in the query's job."""
        return self.look().members

    def __repr__(self) -> str:
        known = f"lane={str(self.lane)!r}, reason={self.reason!r}, seconds={self.seconds!r}"
        return f"Statistics({known}, affected={self.affected!r})"


class Result(Closing):
    """The rows of a statement, read lazily.

    Batches come from a running job as they are asked for. What :meth:`collect`, :meth:`toArrow`, :meth:`show`
    and their like have read is kept, so that they may be called again; :meth:`batches` hands over what was
    not kept, once. Closing (or forgetting) a result that isn't read to its end cancels its job.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        statistics: Statistics,
        *,
        settings: Settings | None = None,
        job: "LightJob | SparkRun | None" = None,
        plan: QueryPlan | RowPlan | None = None,
        values: Sequence[object] = (),
        owner: object = None,
    ) -> None:
        """``schema`` is logical, ``batches`` are in physical form; ``job`` is what gives them, by ``plan``
        with these ``values`` of its parameters. ``owner`` is the session that the job runs in: the result
        keeps the owner alive until the last row is read."""
        self._schema = schema
        self._owner = owner
        self._source = batches
        self._kept: list[pa.RecordBatch] = []
        self._consumed = False
        self._handed = False
        self._job = self._ran = job
        self._plan = plan
        self._arguments = values
        self._settings = settings or Settings()
        self._local = False
        self._statistics = statistics
        #: Who gives the same rows after an error of who does now, if none of them was handed over; None where
        #: nobody does.
        self.otherwise: Callable[[Error], Result | None] | None = None
        #: The rows that the statement wrote, None if it writes none.
        self.affected = statistics.affected

    @property
    def stats(self) -> Statistics:
        """How the statement was answered."""
        look = partial(run_facts.facts, self._plan, self._arguments, self._ran, self._settings)
        return replace(self._statistics, affected=self.affected, look=look)

    @property
    def schema(self) -> pa.Schema:
        """Column names and logical types; those of intervals know their units."""
        return self._schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of :meth:`toArrow` and :meth:`batches`: intervals have Arrow's own types."""
        return exported_schema(self._schema)

    @property
    def settings(self) -> Settings:
        """The session's settings when the statement ran."""
        return self._settings

    @property
    def plan(self) -> QueryPlan | RowPlan | None:
        """By what plan sqlfront ran it, with these :attr:`values` of its parameters; None if it didn't."""
        return self._plan

    @property
    def values(self) -> Sequence[object]:
        """See :attr:`plan`."""
        return self._arguments

    @property
    def job(self) -> "LightJob | SparkRun | None":
        """What ran it."""
        return self._ran

    @property
    def is_read(self) -> bool:
        """Whether somebody has read rows."""
        return self._consumed or bool(self._kept)

    @property
    def columns(self) -> list[str]:
        """Column names."""
        return list(self._schema.names)

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """Column names with Spark's type names."""
        return [(field.name, ddl(field.type)) for field in self._schema]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches in logical types (:attr:`arrow_schema`), each handed over once and not kept."""
        self._check_unconsumed()
        self._consumed = True
        try:
            yield from self._kept
            for batch in self._source:
                yield from to_logical(batch, self._schema)
        finally:
            self.close()

    def toArrow(self) -> pa.Table:
        """All rows as an Arrow table of logical types."""
        return pa.Table.from_batches(self._read(None), self.arrow_schema)

    def toPandas(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame (extra ``pandas``). OperationalError if pandas is missing."""
        _needs("pandas")
        return self.toArrow().to_pandas()

    def toPolars(self) -> "polars.DataFrame":
        """All rows as a polars DataFrame (extra ``polars``). OperationalError if polars is missing."""
        _needs("polars")
        import polars  # noqa: PLC0415 - only who asks for it pays

        frame = polars.from_arrow(self.toArrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def as_local(self) -> "Result":
        """This result, whose naive datetimes are in this machine's time zone from now on, as PySpark's are,
        instead of the session's."""
        self._local = True
        return self

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule protocol: pandas, polars, DuckDB and pyarrow take a result as it is."""
        return self.toArrow().__arrow_c_stream__(requested_schema)

    def collect(self) -> list[Row]:
        """All rows. A TIMESTAMP is a naive datetime in the session's time zone."""
        return [row for batch in self._read(None) for row in self._rows(batch)]

    def toLocalIterator(self) -> Iterator[Row]:
        """All rows one by one, as they come; unlike those of iteration they are kept."""
        place = rows = 0
        while len(kept := self._read(rows + 1)) > place:
            batch = kept[place]
            yield from self._rows(batch)
            place, rows = place + 1, rows + batch.num_rows

    def take(self, count: int) -> list[Row]:
        """The first ``count`` rows; no more batches are read than that takes."""
        _check_count(count)
        rows: list[Row] = []
        for batch in self._read(count):
            rows += self._rows(batch.slice(0, count - len(rows)))
        return rows

    def limit(self, count: int) -> "Result":
        """The result of the first ``count`` rows, which are read now."""
        _check_count(count)
        batches, left = [], count
        for batch in self._read(count):
            batches.append(batch.slice(0, left))
            left -= len(batches[-1])
        limited = Result(self._schema, iter(batches), self._statistics, settings=self._settings)
        return limited.as_local() if self._local else limited

    def head(self, count: int = 1) -> list[Row]:
        """The first ``count`` rows."""
        return self.take(count)

    def first(self) -> Row | None:
        """The first row, or None."""
        rows = self.take(1)
        return rows[0] if rows else None

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self._read(None))

    def tuples(self, *, naive: bool) -> Iterator[tuple[object, ...]]:
        """The rows as tuples, in slices, without keeping them; a TIMESTAMP in the session's time zone: as an
        aware datetime, or a naive one."""
        zone = self._zone(naive=naive)
        for batch in self.batches():
            for piece in slices(batch):
                yield from tuples(piece, zone, naive=naive)

    def __iter__(self) -> Iterator[Row]:
        """Rows one by one, in slices, without keeping them."""
        names = self.columns
        return (Row(names, values) for values in self.tuples(naive=True))

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first ``n`` rows, exactly as Spark does; ``truncate``: cut values to 20 (or that many)
        characters."""
        print(self.show_string(n, truncate, vertical))

    def show_string(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> str:
        """What :meth:`show` prints."""
        from sqlfront import boxes  # noqa: PLC0415 - loaded with the first table that is drawn

        n = max(0, n)
        limit = int(truncate) * 20 if isinstance(truncate, bool) else truncate
        rows: list[tuple[str, ...]] = []
        for batch in self._read(n + 1):
            rows += boxes.cells(batch.slice(0, n + 1 - len(rows)), self._schema, self._settings)
        draw = boxes.vertical if vertical else boxes.box
        text = draw(self.columns, rows[:n], limit)
        if vertical and not rows[:n]:
            return "(0 rows)"
        if len(rows) > n:
            text += f"only showing top {n} {'row' if n == 1 else 'rows'}"
        return text

    def explain(self, extended: bool = False) -> None:
        """Print how the statement was run: lane and reason, then the plan."""
        if self._plan is None:
            print(f"lane: {self.stats.lane} ({self.stats.reason})")
        else:
            print(run_facts.explained(self._plan, self._arguments, self._settings, extended=extended))

    @property
    def progress(self) -> "Progress | None":
        """How far Spark is with the statement; None if it isn't Spark's. Any thread may ask."""
        if self._ran is None or self._statistics.lane != Lane.SPARK:
            return None
        return cast("SparkRun", self._ran).progress()

    def wait(self) -> None:
        """Wait until the first rows are there, or there are none; raises the statement's error."""
        self._read(1)

    def read_instead(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Take the same rows, none of which was read, from elsewhere; in physical form."""
        assert not self.is_read
        owner = self._owner
        self.close()
        self._source, self._owner = batches, owner

    def close(self) -> None:
        """Cancel what is still running; what was kept can still be read."""
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        self._owner = None

    def __repr__(self) -> str:
        return f"Result[{', '.join(f'{name}: {kind}' for name, kind in self.dtypes)}]"

    def _repr_html_(self) -> str:
        from sqlfront import boxes  # noqa: PLC0415 - loaded with the first table that is drawn

        schema, settings = self._schema, self._settings
        rows = [row for batch in self._read(20) for row in boxes.cells(batch, schema, settings)][:20]
        return boxes.html(self.columns, rows)

    def _read(self, rows: int | None) -> list[pa.RecordBatch]:
        """Kept batches with at least ``rows`` rows (None = all), reading on where needed."""
        self._check_unconsumed()
        have = sum(batch.num_rows for batch in self._kept)
        while rows is None or have < rows:
            try:
                batch = next(self._source, None)
            except (NotSupportedError, OperationalError) as error:
                self._go_on(error)
                have = 0
                continue
            if batch is None:
                self.close()
                break
            if batch.num_rows:
                self._kept += to_logical(batch, self._schema)
                have += batch.num_rows
        self._handed = True
        return self._kept

    def _go_on(self, error: Error) -> None:
        """Read on elsewhere, from the first row; raises the error if nobody has the rows, or some were handed
        over."""
        other = None if self._handed or self.otherwise is None else self.otherwise(error)
        if other is None:
            raise error
        self.otherwise = None
        self._kept.clear()
        self.close()
        self._source, self._statistics, self._job, self._ran = (
            other._source,
            other._statistics,
            other._job,
            other._ran,
        )
        self._schema, self._owner = other._schema, other._owner

    def _check_unconsumed(self) -> None:
        if self._consumed:
            raise InterfaceError(
                "the rows were handed over by iteration or batches(); run the statement again"
            )

    def _rows(self, batch: pa.RecordBatch) -> list[Row]:
        names = self.columns
        return [Row(names, values) for values in tuples(batch, self._zone(naive=True), naive=True)]

    def _zone(self, *, naive: bool) -> datetime.tzinfo | None:
        """Where the datetimes of rows are; None: in this machine's time zone."""
        return None if naive and self._local else _zone(self._settings.time_zone)


class RowsResult(Result):
    """The rows of a statement that was answered row by row: they are here already, as Python values."""

    def __init__(
        self,
        plan: RowPlan,
        values: Sequence[object],
        rows: Sequence[tuple[object, ...]],
        settings: Settings,
        seconds: float,
    ) -> None:
        """``rows`` are in logical types, each value as a Literal holds it."""
        schema = plan.schema_of(values) if plan.titles else plan.schema
        statistics = Statistics(plan.lane, plan.reason, seconds)
        super().__init__(
            schema, _as_batch(schema, rows), statistics, settings=settings, plan=plan, values=values
        )
        self._values = rows
        self._timestamps = plan.timestamps

    def tuples(self, *, naive: bool) -> Iterator[tuple[object, ...]]:
        self._check_unconsumed()
        self._consumed = True
        return iter(self._converted(naive=naive))

    def collect(self) -> list[Row]:
        self._check_unconsumed()
        names = self.columns
        return [Row(names, values) for values in self._converted(naive=True)]

    def count(self) -> int:
        self._check_unconsumed()
        return len(self._values)

    def _converted(self, *, naive: bool) -> Sequence[tuple[object, ...]]:
        """The values as the user gets them: timestamps in the session's time zone."""
        places = self._timestamps
        if not places:
            return self._values
        zone = self._zone(naive=naive)
        return [in_zone(values, places, zone, naive=naive) for values in self._values]


def _as_batch(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow has them, if they are asked for that way. No method: a generator that holds its result
    would leave each of them to the garbage collector."""
    if rows:
        yield rows_batch(schema, rows)


def to_logical(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batch with every column in its logical type, intervals in Arrow's own; in several pieces where a
    long text that many rows share has no room in one."""
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
        yield pa.RecordBatch.from_arrays(columns, schema=exported_schema(schema))


def _decode(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    if holds_interval(data_type):
        return exported(column, data_type)
    assert logical(column.type) == data_type, f"{column.type} is no form of {data_type}"
    if isinstance(column, pa.DictionaryArray):
        forms.claim_decoded(column)
    return column.cast(data_type)


def _needs(library: str) -> None:
    """Raise OperationalError, which names the extra to install, if the DataFrame library is missing."""
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
    """The time zone of that name; for UTC the zone data of the machine are not asked."""
    return datetime.UTC if name == "UTC" else zone_names.zone_of(name)
