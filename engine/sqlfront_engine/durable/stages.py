"""The stages of a durable job: a query's DAG, cut where rows change their place.

A durable job runs the DAG that a light job would run on ``n`` members, with tasks in the place of members:
the rows of a distributed edge go through spool files instead of the network. A *stage* is a part of the DAG
that local edges hold together. Task ``t`` of a stage is what member ``t`` would run of that part.

A local edge is cut as well if a stage would otherwise wait for itself: rows that are broadcast for a test of
other rows, and then joined with them where they lie.

>>> from sqlfront_engine.processors.sources.range import Range
>>> dag = DAG()
>>> numbers, result = dag.vertex("numbers", Range(0, 1, 10)), dag.vertex("result", ResultSink(), 1)
>>> _ = dag.edge(Edge.between(numbers, result).to_one().distribute_to())
>>> for stage in cut(dag).stages:
...     print(stage.number, stage.vertices, stage.is_parallel, stage.outputs[0].kind.value)
0 ('numbers',) True all
1 ('result',) False result
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from sqlfront_engine.dag import COORDINATOR, DAG, Distribution, Edge, OnlyOn, Routing, Vertex
from sqlfront_engine.durable.parts import StageParts, ordered, target_of
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InterfaceError, NotSupportedError
from sqlfront_values.evaluate import is_deterministic
from sqlfront_values.expressions import SortKey, expressions_in


class OutputKind(Enum):
    """The distribution of a stage's output among the tasks that read the output."""

    BY_KEY = "by key"
    """A row goes to the task that has the partition of the row's key."""
    ALL = "all"
    """Every reading task gets every row."""
    DEALT = "dealt"
    """Each batch goes to one of the reading tasks, in turn."""
    KEPT = "kept"
    """The rows of a task go to the reading task of the same number."""
    RESULT = "result"
    """The rows are the job's result."""


#: The kinds of outputs whose rows are divided among buckets.
DIVIDED: Final = frozenset({OutputKind.BY_KEY, OutputKind.DEALT})


class StageOutput(msgspec.Struct, frozen=True):
    """Rows that a stage leaves in spool files, one file per task. ``vertex`` emits the rows. ``keys``: the
    ordinals of the key columns of rows that are distributed by key, else empty. ``sort_keys``: the order of
    the rows of a file, empty: no order."""

    vertex: str
    kind: OutputKind
    keys: tuple[int, ...] = ()
    sort_keys: tuple[SortKey, ...] = ()


class StageInput(msgspec.Struct, frozen=True):
    """Rows that a stage reads from the spool files of an earlier stage: those of the output number ``output``
    of the stage ``stage``. ``edge``: the number of the edge of the DAG that the files stand for."""

    stage: int
    output: int
    edge: int


class JobStage(msgspec.Struct, frozen=True):
    """A part of the DAG. ``vertices``: the names, in topological order. ``is_parallel``: any number of tasks
    may share the work, else there is one task. ``is_deterministic``: a second run of a task over the same
    files gives the same rows in the same order."""

    number: int
    vertices: tuple[str, ...]
    is_parallel: bool
    inputs: tuple[StageInput, ...]
    outputs: tuple[StageOutput, ...]
    is_deterministic: bool = True


class StagePlan(msgspec.Struct, frozen=True):
    """The stages of a DAG, in an order in which each stage reads earlier stages only. The last stage has the
    result. ``alike``: for each stage the number of the first of the stages that divide the work alike, since
    the rows of one are kept for another."""

    dag: DAG
    stages: tuple[JobStage, ...]
    alike: tuple[int, ...]

    def consumers(self, number: int) -> tuple[JobStage, ...]:
        """The stages that read outputs of the stage."""
        return tuple(stage for stage in self.stages if any(source.stage == number for source in stage.inputs))

    def output_of(self, source: StageInput) -> StageOutput:
        """The output that an input reads."""
        return self.stages[source.stage].outputs[source.output]


def cut(dag: DAG) -> StagePlan:
    """Cut a DAG that ends in a ResultSink at its distributed edges. Raises InterfaceError for a DAG without a
    result, NotSupportedError for user code, and for an edge or a vertex that is bound to a member of the
    cluster."""
    dag.lock()
    for vertex in dag:
        if not vertex.processor.repeatable:
            raise NotSupportedError(f"a durable job with the user's code in {vertex.name!r}")
    parts = ordered(dag, StageParts(dag).found())
    numbers = {name: number for number, part in enumerate(parts) for name in part}
    on_all: dict[str, bool] = {}
    for part in parts:
        on_all.update(dict.fromkeys(part, _is_parallel(dag, part, on_all)))
    parallel = [on_all[part[0]] for part in parts]
    outputs: list[list[StageOutput]] = [[] for _ in parts]
    inputs: list[list[StageInput]] = [[] for _ in parts]
    alike = [*range(len(parts))]
    for place, edge in enumerate(dag.edges):
        source, target = numbers[edge.source.name], numbers[target_of(edge).name]
        if source == target:
            continue
        output = _output(edge, to_parallel=parallel[target])
        if output not in outputs[source]:
            outputs[source].append(output)
        inputs[target].append(StageInput(source, outputs[source].index(output), place))
        if output.kind is OutputKind.KEPT:
            first, other = sorted((alike[source], alike[target]))
            alike = [first if number == other else number for number in alike]
    sinks = [vertex.name for vertex in dag if isinstance(vertex.processor, ResultSink)]
    if len(sinks) != 1:
        raise InterfaceError(f"the DAG of a durable job needs one result, not {len(sinks)}")
    outputs[numbers[sinks[0]]].append(StageOutput(sinks[0], OutputKind.RESULT))
    stages = tuple(
        JobStage(
            number,
            part,
            parallel[number],
            (*inputs[number],),
            (*outputs[number],),
            all(_is_deterministic(dag[name].processor) for name in part),
        )
        for number, part in enumerate(parts)
    )
    return StagePlan(dag, stages, tuple(alike))


def _is_deterministic(processor: Processor) -> bool:
    """Whether no expression of the processor calls a function such as ``rand``. The order in which a task
    reads its files and runs its processors is fixed, so that nothing else differs."""
    values = [getattr(processor, name) for name in processor.__struct_fields__]
    return all(is_deterministic(expression) for value in values for expression in expressions_in(value))


def _is_parallel(dag: DAG, part: Sequence[str], on_all: Mapping[str, bool]) -> bool:
    """Whether several members run the part. ``on_all``: the same for the vertices of earlier parts. Raises
    NotSupportedError if the part is bound to members."""
    vertices = [dag[name] for name in part]
    for vertex in vertices:
        if vertex.only_on is not None and vertex.only_on != OnlyOn():
            raise NotSupportedError(f"a durable job with {vertex.name!r}, which is bound to a member")
    if any(isinstance(vertex.processor, ResultSink) or _collects(dag, vertex) for vertex in vertices):
        return False
    found = {vertex.only_on is None for vertex in vertices if not dag.inbound(vertex)}
    for edge in (edge for vertex in vertices for edge in dag.inbound(vertex)):
        if edge.distribution is not Distribution.LOCAL:
            found.add(not _reaches_one(edge))
        elif edge.source.name in on_all:
            found.add(on_all[edge.source.name])
    if len(found) > 1:
        raise InterfaceError(f"of the vertices {', '.join(part)} some run on one member, and some on all")
    return found.pop()


def _collects(dag: DAG, vertex: Vertex) -> bool:
    """Whether the vertex is the only instance, of rows that come from other vertices."""
    return vertex.only_on is not None and bool(dag.inbound(vertex))


def _reaches_one(edge: Edge) -> bool:
    """Whether the rows of a distributed edge arrive on one member only."""
    if edge.distribution is Distribution.TO_ONE:
        return True
    return edge.routing is Routing.PARTITIONED and not edge.key_columns


def _output(edge: Edge, *, to_parallel: bool) -> StageOutput:
    if edge.target_member not in (None, COORDINATOR):
        raise NotSupportedError(f"a durable job with the edge {edge}, which is bound to a member")
    name, order = edge.source.name, edge.sort_keys
    if edge.distribution is Distribution.LOCAL:
        return StageOutput(name, OutputKind.KEPT, (), order)
    match edge.routing:
        case Routing.PARTITIONED if edge.key_columns and to_parallel:
            return StageOutput(name, OutputKind.BY_KEY, edge.key_columns, order)
        case Routing.PARTITIONED | Routing.BROADCAST:
            return StageOutput(name, OutputKind.ALL, (), order)
        case Routing.UNICAST if to_parallel:
            return StageOutput(name, OutputKind.DEALT, (), order)
        case _:
            raise NotSupportedError(f"a durable job with the {edge.routing.value} edge {edge}")
