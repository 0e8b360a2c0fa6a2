"""The builder of pipelines: each method adds a step."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, get_args

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import Table, WritableTable
from sqlfront_engine.dag import OnlyOn
from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.user_code.services import Service
from sqlfront_engine.processors.user_code.sinks import Sink
from sqlfront_engine.processors.user_code.sources import OpenedSource
from sqlfront_engine.processors.user_code.transform import OperationKind
from sqlfront_planner.pipeline.aggregations import Aggregation, bind_aggregation, column_named
from sqlfront_planner.pipeline.steps import (
    Apply,
    Definition,
    GroupAndAggregate,
    JoinName,
    JoinStep,
    OwnerOf,
    ReadStep,
    ReadTable,
    RebalanceStep,
    Step,
    UseService,
    WriteStep,
    WriteTable,
)
from sqlfront_values.errors import InterfaceError, ProgrammingError
from sqlfront_values.types import ddl
from sqlfront_values.user_functions import UserFunction

#: A step's output: one column, whose values the function returns directly, or several columns, returned as
#: tuples.
Output: TypeAlias = pa.Field | pa.Schema
_Place = OnlyOn | OwnerOf | None


class Pipeline:
    """A pipeline under construction; it begins with :meth:`read`.

    With ``preserve_order`` rows keep their order on each path, up to the next grouping or rebalancing by
    columns. For this, map, filter and flat-map have no more instances than the step before.
    """

    def __init__(self, *, preserve_order: bool = False) -> None:
        self.preserve_order = preserve_order
        self._steps: list[Step] = []

    def read(
        self,
        source: OpenedSource | Table,
        *,
        name: str | None = None,
        parallelism: int | None = None,
        only_on: _Place = None,
    ) -> "Stage":
        """Add a step that reads rows from a source (see :mod:`.endpoints`) or all rows of a table.
        ``parallelism``: instances per member, None = the source's preference or one per worker. ``only_on``:
        run a single instance of the source in the cluster, on a given member (``OnlyOn``) or on the owner of
        a key's partition (``OwnerOf``); None = instances on every member. Raises InterfaceError for a table
        with ``only_on``."""
        if isinstance(source, OpenedSource):
            return self._add(ReadStep(name or source.title, source.schema, (), parallelism, source, only_on))
        if only_on is not None:
            raise InterfaceError("only_on is for sources; the members of a table read its rows")
        return self._add(ReadTable(name or "table", source.schema, (), parallelism, source))

    def _add(self, step: Step) -> "Stage":
        _check_names(step)
        if step.parallelism is not None and step.parallelism < 1:
            raise InterfaceError(f"step {step.name!r}: parallelism must be positive, not {step.parallelism}")
        self._steps.append(step)
        return Stage(self, len(self._steps) - 1)

    def definition(self) -> Definition:
        """Return the pipeline's steps as data, which can be sent to the coordinator."""
        return Definition(tuple(self._steps), self.preserve_order)


class Stage:
    """The output of a step, to which methods add further steps. The ``name`` of a step is for plans, messages
    and the DAG; ``parallelism`` is the step's number of instances per member (None: one per worker)."""

    def __init__(self, pipeline: Pipeline, position: int) -> None:
        self._pipeline = pipeline
        self._position = position

    @property
    def schema(self) -> pa.Schema:
        """The names and logical types of the columns of the step's rows."""
        return self._pipeline._steps[self._position].schema

    # ---- row by row, batch by batch

    def map(
        self,
        function: Callable[..., object],
        output: Output,
        *,
        name: str = "map",
        parallelism: int | None = None,
    ) -> "Stage":
        """Add a step that maps each row by ``function(*values)``, called with the values of the row's
        columns. ``output`` is the new row: a field for a single column, whose value the function returns, or
        a schema, for whose columns the function returns a tuple of values.

        A row costs one to two microseconds and holds the interpreter's lock, a hundred times the cost of an
        Arrow kernel: prefer :meth:`map_batches` if a kernel exists.
        """
        return self._apply(OperationKind.MAP, function, _schema(output), name, parallelism)

    def filter(
        self, function: Callable[..., object], *, name: str = "filter", parallelism: int | None = None
    ) -> "Stage":
        """Add a step that keeps the rows for which ``function(*values)``, called with the values of the row's
        columns, is truthy. A row costs one to two microseconds and holds the interpreter's lock."""
        return self._apply(OperationKind.FILTER, function, self.schema, name, parallelism)

    def flat_map(
        self,
        function: Callable[..., object],
        output: Output,
        *,
        name: str = "flat-map",
        parallelism: int | None = None,
    ) -> "Stage":
        """Add a step that maps each row by ``function(*values)``, called with the values of the row's
        columns, to any number of rows. The function returns an iterable: of values if ``output`` is a field
        (a single column), of tuples if it is a schema."""
        return self._apply(OperationKind.FLAT_MAP, function, _schema(output), name, parallelism)

    def map_batches(
        self,
        function: Callable[[pa.RecordBatch], pa.RecordBatch | None],
        output: Output,
        *,
        name: str = "map-batches",
        parallelism: int | None = None,
    ) -> "Stage":
        """Return the pipeline's next stage, after a step that maps each batch by ``function(batch)``, which
        returns a batch with exactly the columns of ``output``, or None for no rows."""
        return self._apply(OperationKind.MAP_BATCHES, function, _schema(output), name, parallelism)

    def map_using_service(
        self,
        service: Service,
        function: Callable[..., object],
        output: Output,
        *,
        blocking: bool = True,
        name: str = "map-using-service",
        parallelism: int | None = None,
    ) -> "Stage":
        """Add a step that maps each row by ``function(service, *values)``, called with the values of the
        row's columns. ``output`` is the new row: a field for a single column, whose value the function
        returns, or a schema, for whose columns the function returns a tuple of values. ``blocking``: the
        function may block, and each instance has a dedicated thread; if false, the function runs on a
        worker's thread and must return quickly."""
        inputs, called = (self._position,), UserFunction(function)
        step = UseService(name, _schema(output), inputs, parallelism, service, called, blocking=blocking)
        return self._pipeline._add(step)

    def map_using_service_async(
        self,
        service: Service,
        function: Callable[..., object],
        output: Output,
        *,
        concurrency: int = 64,
        name: str = "map-using-service-async",
        parallelism: int | None = 1,
    ) -> "Stage":
        """Add a step that maps each row by ``await function(service, *values)``, called with the values of
        the row's columns. ``output`` is the new row: a field for a single column, whose value the function
        returns, or a schema, for whose columns the function returns a tuple of values. Each instance awaits
        up to ``concurrency`` rows at the same time, and emits the rows in the order of the input."""
        inputs, called = (self._position,), UserFunction(function)
        step = UseService(
            name, _schema(output), inputs, parallelism, service, called, concurrency=concurrency
        )
        return self._pipeline._add(step)

    def _apply(
        self,
        kind: OperationKind,
        function: Callable[..., object],
        schema: pa.Schema,
        name: str,
        parallelism: int | None,
    ) -> "Stage":
        step = Apply(name, schema, (self._position,), parallelism, kind, UserFunction(function))
        return self._pipeline._add(step)

    # ---- exchanges of rows

    def rebalance(self, *columns: str, name: str = "rebalance") -> "Stage":
        """Add a step that spreads the rows over the instances of all members: rows that agree in ``columns``
        go to the same instance; without columns rows are spread evenly."""
        keys = self._ordinals(columns)
        return self._pipeline._add(RebalanceStep(name, self.schema, (self._position,), None, keys))

    def group_by(self, *columns: str) -> "GroupedStage":
        """Group the rows by these columns, or by all columns if none is given. Call
        :meth:`GroupedStage.aggregate` on the result."""
        return GroupedStage(self, self._ordinals(columns or tuple(self.schema.names)))

    def aggregate(self, *, name: str = "aggregate", **calls: Aggregation) -> "Stage":
        """Add a step that aggregates all rows of all members into one row, with one column for each of
        ``calls``, named by the keyword. :func:`.aggregations.aggregation` makes a call. Raises
        ProgrammingError without a call."""
        return self._aggregate((), calls, name, 1)

    def _aggregate(
        self, keys: tuple[int, ...], calls: Mapping[str, Aggregation], name: str, parallelism: int | None
    ) -> "Stage":
        if not calls:
            raise ProgrammingError(f"step {name!r} has no aggregation")
        bound = {column: bind_aggregation(call, self.schema) for column, call in calls.items()}
        results = [pa.field(column, call.type) for column, call in bound.items()]
        schema = pa.schema([*(self.schema.field(key) for key in keys), *results])
        step = GroupAndAggregate(name, schema, (self._position,), parallelism, keys, tuple(bound.values()))
        return self._pipeline._add(step)

    def join(
        self,
        right: "Stage",
        on: str | Sequence[str] | Mapping[str, str],
        *,
        kind: JoinName = "inner",
        suffix: str = "_right",
        name: str = "join",
        parallelism: int | None = None,
    ) -> "Stage":
        """Add a step that joins the rows of this stage, the left side, with the rows of ``right``. ``on``
        names the columns that must be equal: names that both sides have, or a mapping of left names to
        right names.

        The output has the columns of both sides; for semi and anti joins, of the left side only. A right
        column whose name the left side has, too, gets ``suffix`` added to its name. Keys must have the same
        type on both sides; null equals nothing. The join holds the right side in memory and streams the
        left side. Both sides must not come from one read, since one side would wait for the other; planning
        raises InterfaceError.
        """
        if right._pipeline is not self._pipeline:
            raise InterfaceError("both sides of a join belong to one pipeline")
        if kind not in get_args(JoinName):
            raise InterfaceError(
                f"the kind of a join must be one of {', '.join(get_args(JoinName))}, not {kind!r}"
            )
        how = JoinKind(kind)
        pairs = dict(on) if isinstance(on, Mapping) else {key: key for key in _names(on)}
        left_keys, right_keys = self._ordinals(tuple(pairs)), right._ordinals(tuple(pairs.values()))
        _check_keys(name, self.schema, left_keys, right.schema, right_keys)
        schema = self.schema
        if how not in FILTERING_JOINS:
            taken = set(schema.names)
            renamed = [
                field.with_name(field.name + suffix) if field.name in taken else field
                for field in right.schema
            ]
            schema = pa.schema([*self.schema, *renamed])
        inputs = (self._position, right._position)
        return self._pipeline._add(JoinStep(name, schema, inputs, parallelism, how, left_keys, right_keys))

    def _ordinals(self, columns: Sequence[str]) -> tuple[int, ...]:
        return tuple(column_named(column, self.schema).ordinal for column in columns)

    # ---- out

    def write(
        self,
        sink: Sink,
        *,
        name: str | None = None,
        parallelism: int | None = None,
        only_on: _Place = None,
    ) -> Pipeline:
        """Add a step that writes the rows into a sink (see :mod:`.endpoints`), and return the pipeline.
        :meth:`insert_into` writes into tables. ``only_on``: run a single instance of the sink in the cluster,
        on a given member (``OnlyOn``) or on the owner of a key's partition (``OwnerOf``); None = instances on
        every member."""
        return self._write(replace(sink, schema=self.schema), name or sink.title, parallelism, only_on)

    def insert_into(self, table: WritableTable, *, overwrite: bool = False, name: str = "insert") -> Pipeline:
        """Add a step that inserts the rows into a table whose columns have equal types in equal order, and
        return the pipeline. The insert is atomic: if the job fails before the last row, no row is inserted.
        ``overwrite``: the inserted rows replace the table's rows. Raises ProgrammingError if the types
        differ."""
        mine, theirs = (", ".join(map(ddl, each.types)) for each in (self.schema, table.schema))
        if mine != theirs:
            raise ProgrammingError(f"step {name!r} gives ({mine}), but the table has ({theirs})")
        self._pipeline._add(WriteTable(name, self.schema, (self._position,), None, table, overwrite))
        return self._pipeline

    def collect(self, *, name: str = "result") -> Pipeline:
        """Add a step that returns the rows as the job's result to the code that submitted the pipeline, and
        return the pipeline. A pipeline has at most one result."""
        return self._write(ResultSink(), name, None, OnlyOn())

    def _write(self, sink: Processor, name: str, parallelism: int | None, only_on: _Place) -> Pipeline:
        step = WriteStep(name, self.schema, (self._position,), parallelism, sink, only_on=only_on)
        self._pipeline._add(step)
        return self._pipeline


class GroupedStage:
    """The rows of a stage, grouped by columns; :meth:`aggregate` computes a row for each group."""

    def __init__(self, stage: Stage, keys: tuple[int, ...]) -> None:
        self._stage = stage
        self._keys = keys

    def aggregate(
        self, *, name: str = "group-and-aggregate", parallelism: int | None = None, **calls: Aggregation
    ) -> Stage:
        """Add a step that aggregates each group into one row: the columns of the group's key, then one
        column for each of ``calls``, named by the keyword. :func:`.aggregations.aggregation` makes a call.
        Rows whose key is null form one group. Each member first aggregates its own rows, then the partial
        results are merged over all members."""
        return self._stage._aggregate(self._keys, calls, name, parallelism)


def _schema(output: Output) -> pa.Schema:
    if isinstance(output, pa.Schema):
        return output
    if isinstance(output, pa.Field):
        return pa.schema([output])
    raise InterfaceError(f"a step's output must be a pa.Field or a pa.Schema, not {output!r}")


def _names(on: str | Sequence[str]) -> Sequence[str]:
    return (on,) if isinstance(on, str) else on


def _check_names(step: Step) -> None:
    names = step.schema.names
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ProgrammingError(
            f"step {step.name!r} has several columns named {', '.join(map(repr, doubled))}"
        )
    for field in step.schema:
        ddl(field.type)  # refuses types that Spark doesn't have


def _check_keys(
    name: str,
    left: pa.Schema,
    left_keys: Sequence[int],
    right: pa.Schema,
    right_keys: Sequence[int],
) -> None:
    if not left_keys:
        raise ProgrammingError(f"step {name!r} joins on no columns")
    for mine, other in zip(left_keys, right_keys, strict=True):
        if left.field(mine).type != right.field(other).type:
            raise ProgrammingError(
                f"step {name!r}: {left.field(mine).name!r} is {ddl(left.field(mine).type)}, but"
                f" {right.field(other).name!r} is {ddl(right.field(other).type)}"
            )
