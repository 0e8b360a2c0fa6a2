"""Planning of a pipeline's steps to a DAG.

* Consecutive stateless steps with the same parallelism become one vertex, ``fused(a, b)``.
* Group-and-aggregate becomes two vertices: ``name-prepare`` reads rows partitioned within the member and
  emits partial results, ``name`` reads the partial results partitioned over all members.
* With ``preserve_order`` the inputs of order-sensitive steps are isolated edges, which keep the order
  (:meth:`.Edge.isolated`), and an order-sensitive step has at most as many instances as its input.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import msgspec
import pyarrow as pa

from sqlfront_connectors import base as tables
from sqlfront_engine.dag import DAG, PREPARE_SUFFIX, Edge, OnlyOn, Vertex
from sqlfront_engine.join_kinds import FILTERING_JOINS
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.user_code.services import (
    CooperativeMapUsingService,
    MapUsingService,
    MapUsingServiceAsync,
)
from sqlfront_engine.processors.user_code.sinks import ResourceSink
from sqlfront_engine.processors.user_code.transform import Operation, Transform
from sqlfront_planner.pipeline.fusion import chains, fused_name
from sqlfront_planner.pipeline.insertion import Insertion
from sqlfront_planner.pipeline.steps import (
    Apply,
    Definition,
    GroupAndAggregate,
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
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr, Literal, Parameter, transform, walk
from sqlfront_values.settings import DEFAULT_PARTITIONS, Settings


class Circumstances(msgspec.Struct, frozen=True):
    """The facts about the run that planning needs: ``workers``, the default number of instances on a
    member; ``arguments``, the values for the parameters in the keys of
    :class:`~sqlfront_planner.pipeline.steps.OwnerOf`; the number of partitions; the session's ``settings``;
    ``distributed``, whether the cluster has other members."""

    workers: int = 1
    arguments: tuple[Literal, ...] = ()
    partition_count: int = DEFAULT_PARTITIONS
    settings: Settings = Settings()
    distributed: bool = False


class PipelinePlan(msgspec.Struct, frozen=True):
    """The plan of a pipeline: a DAG, the objects that its sources and sinks need, by key, and the schema of
    the rows that the job returns (None: the pipeline collects no rows)."""

    dag: DAG
    resources: Mapping[str, object]
    schema: pa.Schema | None


def plan(definition: Definition, circumstances: Circumstances | None = None) -> PipelinePlan:
    """Plan a pipeline for one run. Raises InterfaceError for a pipeline without steps, for a step that is
    neither a sink nor read by another step, for a second :meth:`.Stage.collect`, for a rebalancing without
    columns although the pipeline preserves the order, and for a join whose two sides come from one read."""
    _check(definition)
    planning = _Planning(definition, circumstances or Circumstances())
    for chain in chains(definition):
        planning.add(chain)
    results = [step for step in definition.steps if _is_result(step)]
    return PipelinePlan(planning.dag, planning.resources, results[0].schema if results else None)


def _is_result(step: Step) -> bool:
    return isinstance(step, WriteStep) and isinstance(step.sink, ResultSink)


def _check(definition: Definition) -> None:
    if not definition.steps:
        raise InterfaceError("the pipeline has no steps")
    for position, step in enumerate(definition.steps):
        if not definition.is_sink(position) and not definition.consumers(position):
            raise InterfaceError(f"step {step.name!r} has no consumer and is not a sink")
        if isinstance(step, JoinStep):
            left, right = (_origins(definition, place) for place in step.inputs)
            shared = sorted(definition.steps[place].name for place in left & right)
            if shared:
                raise InterfaceError(
                    f"both sides of step {step.name!r} come from {shared[0]!r}, so that one side would"
                    f" wait for the other; read {shared[0]!r} twice"
                )
    if sum(map(_is_result, definition.steps)) > 1:
        raise InterfaceError("a pipeline collects at most one result")


def _origins(definition: Definition, position: int) -> set[int]:
    """Return the positions of the steps without inputs (reads) from which the rows of the step at
    ``position`` come."""
    inputs = definition.steps[position].inputs
    return set().union(*(_origins(definition, place) for place in inputs)) if inputs else {position}


class _Outlet(msgspec.Struct, frozen=True):
    """The output of a step: the vertex that emits the rows, and the rebalancing of the rows on the way to
    the next step (None: no rebalancing)."""

    vertex: Vertex
    rebalance: RebalanceStep | None = None


def _spread(edge: Edge, rebalance: RebalanceStep) -> Edge:
    return (edge.partitioned(rebalance.keys) if rebalance.keys else edge).distributed()


class _Planning:
    """The construction of a DAG: :meth:`add` is called for the steps of ``definition`` in their order."""

    def __init__(self, definition: Definition, circumstances: Circumstances) -> None:
        self.dag = DAG()
        self.resources: dict[str, object] = {}
        self._definition = definition
        self._circumstances = circumstances
        # Outlets by the position of the step.
        self._outlets: dict[int, _Outlet] = {}
        self._outputs: dict[str, int] = {}

    def add(self, chain: tuple[int, ...]) -> None:
        """Add the vertex of the steps at these positions, and the edges to it; several positions are fused.
        A single grouping step becomes two vertices, a rebalancing step none."""
        steps = [self._definition.steps[position] for position in chain]
        step = steps[0]
        match step:
            case ReadStep():
                outlet = _Outlet(self._vertex(step, step.source, self._resolved(step.only_on)))
            case ReadTable():
                outlet = _Outlet(self._read_table(step))
            case Apply():
                outlet = _Outlet(self._fused([each for each in steps if isinstance(each, Apply)]))
            case UseService():
                vertex = self._vertex(step, self._using_service(step), parallelism=self._capped(step))
                outlet = _Outlet(self._follow(step, vertex))
            case RebalanceStep():
                outlet = self._rebalanced(step)
            case GroupAndAggregate():
                outlet = _Outlet(self._aggregated(step))
            case JoinStep():
                outlet = _Outlet(self._joined(step))
            case WriteStep():
                outlet = _Outlet(self._written(step, step.sink, self._resolved(step.only_on)))
            case WriteTable():
                key = f"table of step {chain[0]}"
                self.resources[key] = Insertion(step.table, overwrite=step.overwrite)
                schema = self._input_schema(step)
                outlet = _Outlet(self._written(step, ResourceSink(schema, key), OnlyOn()))
            case _:
                raise InterfaceError(f"unknown type of step: {type(step).__name__}")
        self._outlets[chain[-1]] = outlet

    # ---- vertices

    def _vertex(
        self,
        step: Step,
        processor: Processor,
        only_on: OnlyOn | None = None,
        *,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Vertex:
        unique = self.dag.unique_name(name or step.name)
        return self.dag.vertex(unique, processor, parallelism or step.parallelism, only_on)

    def _read_table(self, step: ReadTable) -> Vertex:
        scan = step.table.snapshot().scan(tables.ScanRequest(tuple(range(len(step.schema)))))
        self.resources.update(scan.resources)
        here = self._circumstances.distributed and scan.location is tables.Location.HERE
        return self._vertex(step, scan.source, OnlyOn() if here else None)

    def _fused(self, steps: Sequence[Apply]) -> Vertex:
        operations = tuple(Operation(step.kind, step.name, step.function, step.schema) for step in steps)
        transform = Transform(self._input_schema(steps[0]), operations)
        vertex = self._vertex(steps[0], transform, name=fused_name(steps), parallelism=self._capped(steps[0]))
        return self._follow(steps[0], vertex)

    def _using_service(self, step: UseService) -> Processor:
        schemas = self._input_schema(step), step.schema
        if step.concurrency is not None:
            return MapUsingServiceAsync(step.service, step.function, *schemas, step.concurrency)
        kind = MapUsingService if step.blocking else CooperativeMapUsingService
        return kind(step.service, step.function, *schemas)

    def _aggregated(self, step: GroupAndAggregate) -> Vertex:
        """Add the vertices of an aggregation, and return the vertex that emits the results. There are two
        vertices: the first aggregates parts of each group, the second merges the parts. A call that must
        see all rows of its group at once (DISTINCT) needs a single vertex."""
        places = tuple(range(len(step.keys)))
        if any(call.distinct for call in step.calls):
            single = Aggregate(step.keys, step.calls, AggregateMode.SINGLE, step.schema)
            return self._gathered(step, self._outlet(step), single, step.keys)
        partial = Aggregate(step.keys, step.calls, AggregateMode.PARTIAL, step.schema)
        name = self._free_pair(step.name)
        prepare = self.dag.vertex(name + PREPARE_SUFFIX, partial, step.parallelism if step.keys else None)
        outlet = self._outlet(step)
        edge = self._edge(outlet.vertex).to(prepare)
        if outlet.rebalance is not None:
            edge = _spread(edge, outlet.rebalance)
        elif step.keys:
            edge = edge.partitioned(step.keys)
        self.dag.edge(edge)
        final = Aggregate(step.keys, step.calls, AggregateMode.FINAL, step.schema)
        return self._gathered(step, _Outlet(prepare), final, places, name)

    def _gathered(
        self,
        step: GroupAndAggregate,
        source: _Outlet,
        processor: Aggregate,
        keys: tuple[int, ...],
        name: str | None = None,
    ) -> Vertex:
        vertex = self._vertex(step, processor, name=name)
        edge = self._edge(source.vertex).to(vertex)
        self.dag.edge((edge.partitioned(keys) if keys else edge.to_one()).distributed())
        return vertex

    def _free_pair(self, name: str) -> str:
        """Return an unused name for the two vertices of an aggregation: the DAG has no vertex of this name,
        and none of this name with ``PREPARE_SUFFIX``, the name of the first vertex."""
        number = 1
        candidate = name
        while any(self.dag.unique_name(each) != each for each in (candidate, candidate + PREPARE_SUFFIX)):
            number += 1
            candidate = f"{name}-{number}"
        return candidate

    def _joined(self, step: JoinStep) -> Vertex:
        left, right = (self._definition.steps[place].schema for place in step.inputs)
        if step.kind not in FILTERING_JOINS:
            right = pa.schema(list(step.schema)[len(left) :])  # with the suffixes
        join = HashJoin(step.kind, step.left_keys, step.right_keys, None, left, right)
        vertex = self._vertex(step, join)
        for ordinal, keys in enumerate((step.left_keys, step.right_keys)):
            edge = self._edge(self._outlet(step, ordinal).vertex).to(vertex, ordinal)
            self.dag.edge(edge.partitioned(keys).distributed())
        return vertex

    def _rebalanced(self, step: RebalanceStep) -> _Outlet:
        if self._definition.preserve_order and not step.keys:
            raise InterfaceError(
                f"step {step.name!r} spreads rows evenly, but the pipeline is to preserve their order;"
                " rebalance by columns"
            )
        return _Outlet(self._outlet(step).vertex, step)

    def _written(self, step: Step, sink: Processor, only_on: OnlyOn | None) -> Vertex:
        vertex = self._vertex(step, sink, only_on)
        if only_on is None:
            return self._follow(step, vertex)
        edge = self._edge(self._outlet(step).vertex).to(vertex)
        if only_on.partition is not None:
            self.dag.edge(edge.to_one(only_on.partition).distributed())
        elif only_on.member is not None:
            self.dag.edge(edge.to_one().distribute_to(only_on.member))
        else:
            self.dag.edge(edge.to_one().distribute_to())
        return vertex

    # ---- edges

    def _edge(self, source: Vertex) -> Edge:
        """Begin an edge from the first output of the vertex that no edge uses yet."""
        ordinal = self._outputs.get(source.name, 0)
        self._outputs[source.name] = ordinal + 1
        return Edge.from_(source, ordinal)

    def _follow(self, step: Step, vertex: Vertex) -> Vertex:
        """Add the edge from the step's input to ``vertex``, the step's vertex, and return ``vertex``. The
        edge routes rows to any instance, unless the step before is a rebalancing, or the pipeline preserves
        the order."""
        outlet = self._outlet(step)
        edge = self._edge(outlet.vertex).to(vertex)
        if outlet.rebalance is not None:
            edge = _spread(edge, outlet.rebalance)
        elif self._definition.preserve_order:
            edge = edge.isolated()
        self.dag.edge(edge)
        return vertex

    def _capped(self, step: Step) -> int | None:
        """Return the parallelism of an order-sensitive step (None: one instance per worker). If the
        pipeline preserves the order, the parallelism is at most that of the step's input."""
        outlet = self._outlet(step)
        if not self._definition.preserve_order or outlet.rebalance is not None:
            return step.parallelism
        workers = self._circumstances.workers
        wanted = workers if step.parallelism is None else step.parallelism
        cap = outlet.vertex.parallelism(workers)
        return min(wanted, cap) if cap < wanted else step.parallelism

    def _outlet(self, step: Step, ordinal: int = 0) -> _Outlet:
        return self._outlets[step.inputs[ordinal]]

    def _input_schema(self, step: Step) -> pa.Schema:
        return self._definition.steps[step.inputs[0]].schema

    # ---- places

    def _resolved(self, place: OnlyOn | OwnerOf | None) -> OnlyOn | None:
        match place:
            case None | OnlyOn():
                return place
            case OwnerOf():
                key = [self._value(expression) for expression in place.key]
                return OnlyOn.owner_of(key, self._circumstances.partition_count)
            case _:
                assert_never(place)

    def _value(self, expression: Expr) -> Literal:
        """Evaluate an expression without columns, with the run's arguments as the values of its parameters.
        Raises ProgrammingError if an argument is missing, or if the expression holds anything but
        parameters and constants."""
        arguments = self._circumstances.arguments

        def bind(node: Expr) -> Expr:
            if not isinstance(node, Parameter):
                return node
            if node.index >= len(arguments):
                raise ProgrammingError(
                    f"argument {node.index} is missing; the call has {len(arguments)} arguments"
                )
            return Literal(node.type, arguments[node.index].value)

        bound = transform(expression, bind)
        known = isinstance(bound, Literal)
        if not known and any(not node.children() and not isinstance(node, Literal) for node in walk(bound)):
            raise ProgrammingError("the key of an owner must be an expression over arguments and constants")
        return Literal(bound.type, evaluate_scalar(bound, self._circumstances.settings))
