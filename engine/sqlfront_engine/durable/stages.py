"""The stages of a durable job: a query's DAG, cut where rows change their place.

A durable job runs the DAG that a light job would run on ``n`` members, with tasks in the place of members:
the rows of a distributed edge go through spool files instead of the network. A *stage* is a part of the DAG
that local edges hold together. Task ``t`` of a stage does the work that member ``t`` would do in that part.

A local edge is cut as well if a stage would otherwise wait for itself. An example: the rows of a vertex are
broadcast, to filter the rows of another vertex, and a join on each member reads the same rows over a local
edge.

>>> from sqlfront_engine.processors.sources.range import Range
>>> dag = DAG()
>>> numbers, result = dag.vertex("numbers", Range(0, 1, 10)), dag.vertex("result", ResultSink(), 1)
>>> _ = dag.edge(Edge.between(numbers, result).to_one().distribute_to())
>>> for stage in cut(dag).stages:
...     print(stage.number, stage.vertices, stage.is_parallel, stage.outputs[0].kind.value)
0 ('numbers',) True all
1 ('result',) False result
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_engine.dag import COORDINATOR, DAG, Distribution, Edge, OnlyOn, Routing, Vertex
from sqlfront_engine.durable.free_inputs import free_edges
from sqlfront_engine.durable.parts import StageParts, ordered, target_of
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.project import FilterProject, Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.split_scan import SplitScan
from sqlfront_values.errors import InterfaceError, NotSupportedError
from sqlfront_values.evaluate import is_deterministic
from sqlfront_values.expressions import SortKey, expressions_in

#: Operators whose output has the order of the input, however the input is cut into batches.
_ROW_BY_ROW: Final = (Filter, FilterProject, Forward, Project)


class OutputKind(Enum):
    """The ways in which a stage's output rows are distributed among the tasks of the stages that read them:
    by the key's partition (BY_KEY), all rows to every task (ALL), rows to the tasks in turn (DEALT), or to
    the task of the same number (KEPT); or the rows are the job's result (RESULT)."""

    BY_KEY = "by key"
    """A row goes to the task that has the partition of the row's key."""
    ALL = "all"
    """Every reading task gets every row."""
    DEALT = "dealt"
    """Some rows at a time go to one of the reading tasks, in turn."""
    KEPT = "kept"
    """The rows of a task go to the reading task of the same number."""
    RESULT = "result"
    """The rows are the job's result."""


class SplitKind(Enum):
    """The ways in which the tasks of a stage divide the splits of the stage's sources."""

    LISTED = "listed"
    """By their numbers: the plan has all splits. So it is for a stage without sources."""
    RESTORABLE = "restorable"
    """The coordinator gives splits out while the tasks run, and a successor can go on behind them."""
    PASSED_ONCE = "passed once"
    """The coordinator gives splits out while the tasks run, once: the outputs of the stage are those of one
    pass over its sources, so that all tasks of the stage run again if one has to."""


#: The kinds of outputs whose rows are divided among buckets.
DIVIDED: Final = frozenset({OutputKind.BY_KEY, OutputKind.DEALT})


class StageOutput(msgspec.Struct, frozen=True):
    """An output of a stage: rows in spool files, one file per task. ``vertex``: the name of the vertex that
    emits the rows. ``keys``: the ordinals of the key columns if the rows are distributed by key, else empty.
    ``sort_keys``: the order of the rows in a file; empty = no order."""

    vertex: str
    kind: OutputKind
    keys: tuple[int, ...] = ()
    sort_keys: tuple[SortKey, ...] = ()


class StageInput(msgspec.Struct, frozen=True):
    """An input of a stage: the rows of the output number ``output`` of the earlier stage ``stage``.
    ``edge``: the number of the DAG's edge that the spool files replace. ``is_whole``: each task reads all
    rows, although they are divided by key: a change of the plan while the job runs."""

    stage: int
    output: int
    edge: int
    is_whole: bool = False


class JobStage(msgspec.Struct, frozen=True):
    """A stage: a part of the DAG that tasks run. ``vertices``: the names of its vertices, in topological
    order. ``is_parallel``: True if any number of tasks may divide the work, False if one task does it.
    ``is_deterministic``: a second run of a task gives the same rows, and each row to the same reading task.
    ``splits``: how the tasks divide the splits of the stage's sources. ``free``: the places in ``inputs`` of
    the inputs by key whose rows may go to any task (:mod:`.free_inputs`)."""

    number: int
    vertices: tuple[str, ...]
    is_parallel: bool
    inputs: tuple[StageInput, ...]
    outputs: tuple[StageOutput, ...]
    is_deterministic: bool = True
    splits: SplitKind = SplitKind.LISTED
    free: tuple[int, ...] = ()


class StagePlan(msgspec.Struct, frozen=True):
    """The stages of a DAG, ordered so that each stage reads only earlier ones; the last stage has the result.
    ``alike``: one number per stage. Stages with equal numbers must be divided among tasks in the same way,
    since task ``t`` of one of them reads the rows of task ``t`` of another; the number is that of the first
    such stage."""

    dag: DAG
    stages: tuple[JobStage, ...]
    alike: tuple[int, ...]

    def is_alone(self, number: int) -> bool:
        """Return whether the work of the stage with this number may be divided as no other stage's is."""
        return self.alike.count(self.alike[number]) == 1

    def consumers(self, number: int) -> tuple[JobStage, ...]:
        """Return the stages that read outputs of the stage with this number."""
        return tuple(stage for stage in self.stages if any(source.stage == number for source in stage.inputs))

    def vertices_of(self, kind: type[Processor]) -> frozenset[str]:
        """Return the names of the vertices that have a processor of this ``kind``."""
        return frozenset(vertex.name for vertex in self.dag if isinstance(vertex.processor, kind))

    def split_sources(self, numbers: Collection[int]) -> frozenset[str]:
        """Return the keys of the sources of the SPLIT SCANs in the stages with these numbers."""
        processors = [self.dag[name].processor for stage in numbers for name in self.stages[stage].vertices]
        return frozenset(one.resource for one in processors if isinstance(one, SplitScan))

    @property
    def passed_once(self) -> frozenset[int]:
        """The numbers of the stages whose outputs are those of one pass over their sources."""
        return frozenset(stage.number for stage in self.stages if stage.splits is SplitKind.PASSED_ONCE)

    def output_of(self, source: StageInput) -> StageOutput:
        """Return the output of an earlier stage that an input reads."""
        return self.stages[source.stage].outputs[source.output]


def cut(dag: DAG) -> StagePlan:
    """Cut a DAG that ends in a ResultSink into stages, at its distributed edges. Raises InterfaceError if
    the DAG has no result or several; NotSupportedError for the user's code in a processor, and for an edge or
    a vertex that is bound to a member of the cluster."""
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
    is_ordered: list[bool] = []
    for part, sources in zip(parts, inputs, strict=True):
        is_ordered.append(_is_ordered(dag, part) and all(is_ordered[source.stage] for source in sources))
    stages = tuple(
        JobStage(
            number,
            part,
            parallel[number],
            (*inputs[number],),
            (*outputs[number],),
            _is_deterministic(dag, part, outputs[number], is_ordered=is_ordered[number]),
            _splits([dag[name].processor for name in part]),
        )
        for number, part in enumerate(parts)
    )
    return StagePlan(dag, tuple(_with_free_inputs(dag, stage) for stage in stages), tuple(alike))


def _with_free_inputs(dag: DAG, stage: JobStage) -> JobStage:
    """Return the stage with its free inputs. A stage that may make other rows a second time has none: tasks
    that read the same rows might make different ones of them."""
    if not stage.is_parallel or not stage.is_deterministic:
        return stage
    free = free_edges(dag, stage.vertices)
    places = [place for place, source in enumerate(stage.inputs) if dag.edges[source.edge] in free]
    return replace(stage, free=tuple(places))


def _is_ordered(dag: DAG, part: Sequence[str]) -> bool:
    """Return whether the part emits rows in an order that depends on nothing but the order of its inputs.
    Other operators cut their rows into blocks by the memory, which another member may not have."""
    inner = [dag[name].processor for name in part if dag.inbound(dag[name])]
    return all(isinstance(processor, _ROW_BY_ROW) for processor in inner)


def _is_deterministic(
    dag: DAG, part: Sequence[str], outputs: Sequence[StageOutput], *, is_ordered: bool
) -> bool:
    """Return whether a second run of the part gives the same rows, with each row for the same task, even if
    tasks of earlier stages have run again as well: no expression calls a function such as ``rand``, no source
    is passed over once, and rows that are dealt to tasks come in the same order each time (``is_ordered``:
    :func:`_is_ordered` is true of this part and of all parts before)."""
    processors = [dag[name].processor for name in part]
    if any(isinstance(each, SplitScan) and not each.is_restorable for each in processors):
        return False
    if not is_ordered and any(output.kind is OutputKind.DEALT for output in outputs):
        return False
    values = [getattr(each, name) for each in processors for name in each.__struct_fields__]
    return all(is_deterministic(expression) for value in values for expression in expressions_in(value))


def _splits(processors: Sequence[Processor]) -> SplitKind:
    """Return how the tasks of a stage with these processors divide the splits of its sources."""
    scans = [processor for processor in processors if isinstance(processor, SplitScan)]
    if not scans:
        return SplitKind.LISTED
    is_restorable = all(scan.is_restorable for scan in scans)
    return SplitKind.RESTORABLE if is_restorable else SplitKind.PASSED_ONCE


def _is_parallel(dag: DAG, part: Sequence[str], on_all: Mapping[str, bool]) -> bool:
    """Return whether the part runs on all members; False if it runs on one. ``on_all``: for each vertex of
    earlier parts, whether it runs on all members. Raises NotSupportedError if a vertex is bound to a certain
    member; InterfaceError if some vertices of the part run on one member and others on all."""
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
    """Return whether the vertex runs on one member only, and receives rows from other vertices."""
    return vertex.only_on is not None and bool(dag.inbound(vertex))


def _reaches_one(edge: Edge) -> bool:
    """Return whether all rows of a distributed edge arrive on one member."""
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
