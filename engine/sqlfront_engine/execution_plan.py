"""From a DAG to what runs on this member: tasklets, and the queues between them.

What depends only on the DAG's shape (who is connected to whom by which routing, which instance owns which
partitions) is a :class:`_Blueprint`, made once and kept with the locked DAG and its rebound copies.
Planning an execution then only makes the objects.
"""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

import msgspec
import numpy as np

from sqlfront_engine.dag import DAG, DEFAULT_QUEUE_SIZE, Distribution, Edge, Routing
from sqlfront_engine.errors import InterfaceError, NotSupportedError
from sqlfront_engine.expressions import SortKey
from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_engine.merging import MergingInput
from sqlfront_engine.partitions import DEFAULT_PARTITIONS
from sqlfront_engine.processor import NO_RESOURCES, ProcessorContext
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.queues import QUEUE_BYTES, BatchQueue, Input, Output, Wakeable
from sqlfront_engine.routing import AnyOf, Broadcast, ByPriority, Owners, Partitioned, RoundRobin
from sqlfront_engine.settings import Settings
from sqlfront_engine.tasklet import UNLINKED, Listener, Tasklet

#: All queues of a job together may hold this part of its memory limit (each at least one batch, whatever
#: its size).
QUEUE_SHARE: Final = 8

DEFAULT_SETTINGS: Final = Settings()


class ExecutionPlan(msgspec.Struct, frozen=True):
    """One job on one member. ``tasklets`` are in topological order; ``result`` is the queue that the reader
    drains."""

    tasklets: Sequence[Tasklet]
    queues: Sequence[BatchQueue]
    result: BatchQueue | None


def plan_execution(
    dag: DAG,
    *,
    default_parallelism: int,
    listener: Listener,
    reader: Wakeable,
    budget: MemoryBudget,
    settings: Settings = DEFAULT_SETTINGS,
    resources: Mapping[str, object] = NO_RESOURCES,
    partition_count: int = DEFAULT_PARTITIONS,
) -> ExecutionPlan:
    """Lock the DAG and make its tasklets and queues on a single member.

    ``listener`` hears of the tasklets' ends, ``reader`` is woken by the result, ``budget`` is the query's.
    NotSupportedError for distributed edges.
    """
    dag.lock()
    key = ("blueprint", default_parallelism, partition_count)
    blueprint = dag.derive(key, lambda dag: _draw(dag, default_parallelism, partition_count))
    tasklets: list[Tasklet] = []
    vertices = dag.validate()
    for place in blueprint.places:
        vertex = vertices[place.vertex]
        account = OperatorAccount(budget, vertex.name)
        context = ProcessorContext(
            vertex.name,
            account,
            settings,
            place.instance,
            place.parallelism,
            place.instance,
            place.parallelism,
            0,
            1,
            place.partitions,
            partition_count,
            resources,
        )
        tasklets.append(Tasklet(vertex.processor, context, account, listener))
    byte_limit = max(1, min(QUEUE_BYTES, budget.limit // (QUEUE_SHARE * (len(blueprint.links) + 1))))
    queues = [
        BatchQueue(tasklets[link.producer], tasklets[link.consumer], link.size_limit, byte_limit)
        for link in blueprint.links
    ]
    result = None
    if blueprint.sink is not None:
        result = BatchQueue(tasklets[blueprint.sink], reader, DEFAULT_QUEUE_SIZE, byte_limit)
        queues.append(result)
    for tasklet, place in zip(tasklets, blueprint.places, strict=True):
        output = _output(place.outputs, queues) if place.lone_output is None else queues[place.lone_output]
        if place.lone_input is None:
            inputs = [_input(wiring, queues) for wiring in place.inputs]
            tasklet.connect(inputs, _any_input(inputs, place.inputs), output)
        else:
            source = queues[place.lone_input]
            tasklet.connect((source,), source, output)
    return ExecutionPlan(tasklets, queues, result)


# ---- the blueprint


class _Link(msgspec.Struct, frozen=True):
    """A queue: the tasklets at its ends by index, and how many batches it holds."""

    producer: int
    consumer: int
    size_limit: int


class _InputWiring(msgspec.Struct, frozen=True):
    """The queues (by index) that one input of an instance combines."""

    queues: tuple[int, ...]
    sort_keys: tuple[SortKey, ...]
    priority: int


class _OutputWiring(msgspec.Struct, frozen=True):
    """The queues (by index) among which one output of an instance chooses; ``owners`` for partitioned
    ones."""

    queues: tuple[int, ...]
    routing: Routing
    key_columns: tuple[int, ...] = ()
    owners: Owners | None = None


class _Place(msgspec.Struct, frozen=True):
    """One instance of the vertex at position ``vertex``."""

    vertex: int
    instance: int
    parallelism: int
    partitions: tuple[int, ...]
    inputs: tuple[_InputWiring, ...]
    outputs: tuple[_OutputWiring, ...]
    #: The only queue of all inputs or outputs, if there is exactly one: the common case, made quick.
    lone_input: int | None
    lone_output: int | None


class _Blueprint(msgspec.Struct, frozen=True):
    """Tasklets and queues of a DAG's shape. ``sink``: index of the result's tasklet, whose queue follows
    all links'."""

    places: tuple[_Place, ...]
    links: tuple[_Link, ...]
    sink: int | None


def _draw(dag: DAG, default_parallelism: int, partition_count: int) -> _Blueprint:
    vertices = dag.validate()
    parallelism = {vertex.name: vertex.parallelism(default_parallelism) for vertex in vertices}
    # The index of each vertex's first instance among all tasklets.
    first: dict[str, int] = {}
    total = 0
    for vertex in vertices:
        first[vertex.name] = total
        total += parallelism[vertex.name]
    links: list[_Link] = []
    inputs: list[dict[int, _InputWiring]] = [{} for _ in range(total)]
    outputs: list[dict[int, _OutputWiring]] = [{} for _ in range(total)]
    for edge in dag.edges:
        _draw_edge(edge, parallelism, first, partition_count, links, inputs, outputs)
    sink = _find_sink(dag, first, parallelism)
    if sink is not None:
        outputs[sink][0] = _OutputWiring((len(links),), Routing.UNICAST)
    places = tuple(
        _place(position, instance, parallelism[vertex.name], partition_count, inputs[index], outputs[index])
        for position, vertex in enumerate(vertices)
        for instance, index in enumerate(
            range(first[vertex.name], first[vertex.name] + parallelism[vertex.name])
        )
    )
    return _Blueprint(places, tuple(links), sink)


def _place(
    position: int,
    instance: int,
    parallelism: int,
    partition_count: int,
    inputs: Mapping[int, _InputWiring],
    outputs: Mapping[int, _OutputWiring],
) -> _Place:
    input_wirings = tuple(wiring for _, wiring in sorted(inputs.items()))
    output_wirings = tuple(wiring for _, wiring in sorted(outputs.items()))
    return _Place(
        position,
        instance,
        parallelism,
        tuple(range(instance, partition_count, parallelism)),
        input_wirings,
        output_wirings,
        _lone_queue(input_wirings),
        _lone_queue(output_wirings),
    )


def _lone_queue(wirings: Sequence[_InputWiring | _OutputWiring]) -> int | None:
    lone = len(wirings) == 1 and len(wirings[0].queues) == 1
    return wirings[0].queues[0] if lone else None


def _draw_edge(
    edge: Edge,
    parallelism: Mapping[str, int],
    first: Mapping[str, int],
    partition_count: int,
    links: list[_Link],
    inputs: list[dict[int, _InputWiring]],
    outputs: list[dict[int, _OutputWiring]],
) -> None:
    _check_local(edge)
    assert edge.destination is not None
    producers, consumers = parallelism[edge.source.name], parallelism[edge.destination.name]
    first_producer, first_consumer = first[edge.source.name], first[edge.destination.name]
    size_limit = edge.config.queue_size if edge.config else DEFAULT_QUEUE_SIZE
    owners = np.arange(partition_count) % consumers if edge.key_columns else None
    incoming: list[list[int]] = [[] for _ in range(consumers)]
    for producer in range(producers):
        outgoing = []
        for consumer in _targets(edge, producer, producers, consumers, partition_count):
            outgoing.append(len(links))
            incoming[consumer].append(len(links))
            links.append(_Link(first_producer + producer, first_consumer + consumer, size_limit))
        wiring = _OutputWiring(tuple(outgoing), edge.routing, edge.key_columns, owners)
        outputs[first_producer + producer][edge.source_ordinal] = wiring
    for consumer, queues in enumerate(incoming):
        inputs[first_consumer + consumer][edge.destination_ordinal] = _InputWiring(
            tuple(queues), edge.sort_keys, edge.input_priority
        )


def _targets(
    edge: Edge, producer: int, producers: int, consumers: int, partition_count: int
) -> Sequence[int]:
    """The consumer instances that get batches of a producer instance."""
    if edge.routing is Routing.ISOLATED:
        return [consumer for consumer in range(consumers) if consumer % producers == producer % consumers]
    if edge.routing is Routing.PARTITIONED and not edge.key_columns:
        return [edge.partition % partition_count % consumers]
    return range(consumers)


def _check_local(edge: Edge) -> None:
    if edge.distribution is Distribution.LOCAL:
        return
    if edge.routing is Routing.ISOLATED:
        raise InterfaceError(f"the isolated edge {edge} can't be distributed")
    if edge.distribution is Distribution.TO_ONE and edge.routing is not Routing.PARTITIONED:
        raise InterfaceError(
            f"the {edge.routing.value} edge {edge} can't go to one member, only partitioned ones"
        )
    raise NotSupportedError(f"the distributed edge {edge}: jobs on several members are not supported")


def _find_sink(dag: DAG, first: Mapping[str, int], parallelism: Mapping[str, int]) -> int | None:
    sinks = [vertex for vertex in dag if isinstance(vertex.processor, ResultSink)]
    if not sinks:
        return None
    if len(sinks) > 1 or parallelism[sinks[0].name] != 1 or dag.outbound(sinks[0]):
        raise InterfaceError("a DAG has at most one result, of parallelism one, and no edge leaves it")
    return first[sinks[0].name]


# ---- queues combined


def _input(wiring: _InputWiring, queues: Sequence[BatchQueue]) -> Input:
    if len(wiring.queues) == 1:
        return queues[wiring.queues[0]]
    chosen = [queues[index] for index in wiring.queues]
    return MergingInput(chosen, wiring.sort_keys) if wiring.sort_keys else AnyOf(chosen)


def _any_input(inputs: Sequence[Input], wirings: Sequence[_InputWiring]) -> Input:
    if len(inputs) == 1:
        return inputs[0]
    numbers = sorted({wiring.priority for wiring in wirings})
    groups = [
        AnyOf([each for each, wiring in zip(inputs, wirings, strict=True) if wiring.priority == number])
        for number in numbers
    ]
    return groups[0] if len(groups) == 1 else ByPriority(groups)


def _output(wirings: Sequence[_OutputWiring], queues: Sequence[BatchQueue]) -> Output:
    if not wirings:
        return UNLINKED
    outputs = [_routed(wiring, queues) for wiring in wirings]
    return outputs[0] if len(outputs) == 1 else Broadcast(outputs)


def _routed(wiring: _OutputWiring, queues: Sequence[BatchQueue]) -> Output:
    if len(wiring.queues) == 1:
        return queues[wiring.queues[0]]
    chosen = [queues[index] for index in wiring.queues]
    match wiring.routing:
        case Routing.UNICAST | Routing.FANOUT | Routing.ISOLATED:
            return RoundRobin(chosen)
        case Routing.BROADCAST:
            return Broadcast(chosen)
        case Routing.PARTITIONED:
            assert wiring.owners is not None
            return Partitioned(chosen, wiring.key_columns, wiring.owners)
        case _:
            assert_never(wiring.routing)
