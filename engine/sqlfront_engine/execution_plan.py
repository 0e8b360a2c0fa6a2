"""From a DAG to what runs on this member: tasklets, and the queues between them.

What depends only on the DAG's shape and the job's placement (who is connected to whom by which routing, which
instance owns which partitions) is a blueprint, see :mod:`sqlfront_engine.blueprint`: made once and kept with
the locked DAG and its rebound copies. Planning an execution then only makes the objects.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from sqlfront_engine.blueprint import Blueprint, InputWiring, OutputWiring, Place, draw
from sqlfront_engine.dag import DAG, DEFAULT_QUEUE_SIZE, Routing
from sqlfront_engine.exchange import RemoteInput, RemoteOutput, Stream, Wire
from sqlfront_engine.lazy_modules import lazy_module
from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_engine.placement import EMBEDDED, Placement, only
from sqlfront_engine.processor import NO_RESOURCES, Processor, ProcessorContext
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.queues import QUEUE_BYTES, BatchQueue, Input, Output, Wakeable
from sqlfront_engine.routing import AnyOf, Broadcast, ByPriority, Nowhere, Partitioned, RoundRobin
from sqlfront_engine.settings import DEFAULT_PARTITIONS, Settings
from sqlfront_engine.shares import Share
from sqlfront_engine.tasklet import NO_INPUT, UNLINKED, Listener, Tasklet

if TYPE_CHECKING:
    from sqlfront_engine import merging
else:
    merging = lazy_module("sqlfront_engine.merging")

#: All queues of a job together may hold this part of its memory limit (each at least one batch, whatever
#: its size).
QUEUE_SHARE: Final = 8

DEFAULT_SETTINGS: Final = Settings()
_FORWARD: Final = Forward()


class ExecutionPlan(msgspec.Struct, frozen=True):
    """One job on one member. ``tasklets`` are those of the vertices in topological order, then senders and
    receivers; ``result`` is the queue that the reader drains; ``outputs`` and ``inputs`` are this member's
    ends of distributed edges."""

    tasklets: Sequence[Tasklet]
    queues: Sequence[BatchQueue]
    result: BatchQueue | None
    outputs: Mapping[Stream, RemoteOutput]
    inputs: Mapping[Stream, RemoteInput]


class Member(msgspec.Struct, frozen=True):
    """Where an execution takes place: this member's name, the job's placement, and the way to the other
    participants (None: there are none)."""

    name: str
    placement: Placement
    wire: Wire | None = None


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
    member: Member | None = None,
) -> ExecutionPlan:
    """Lock the DAG and make its tasklets and queues on ``member`` (None: the only one).

    ``listener`` hears of the tasklets' ends, ``reader`` is woken by the result, ``budget`` is the query's.
    InterfaceError for an edge that can't be distributed the way it asks for.
    """
    dag.lock()
    blueprint = _blueprint(dag, member, default_parallelism, partition_count)
    tasklets = _tasklets(dag, blueprint, listener, budget, settings, resources, partition_count)
    queues = _queues(blueprint, tasklets, reader, budget)
    outputs: dict[Stream, RemoteOutput] = {}
    inputs: dict[Stream, RemoteInput] = {}
    for tasklet, place in zip(tasklets, blueprint.places, strict=True):
        if place.receives is not None:
            assert member is not None
            inputs[place.receives] = _connect_receiver(tasklet, place, queues, member)
        elif place.sends is not None:
            assert member is not None
            outputs[place.sends] = _connect_sender(tasklet, place, queues, member)
        else:
            lone = place.lone_output
            _connect(tasklet, place, queues, _output(place.outputs, queues) if lone is None else queues[lone])
    result = None if blueprint.sink is None else queues[-1]
    return ExecutionPlan(tasklets, queues, result, outputs, inputs)


def _blueprint(dag: DAG, member: Member | None, default_parallelism: int, partition_count: int) -> Blueprint:
    """The shape of the DAG on the member, kept with the DAG."""
    if member is None:
        return dag.derive(
            ("blueprint", default_parallelism, partition_count),
            lambda dag: draw(
                dag, EMBEDDED, only(partition_count=partition_count), default_parallelism, partition_count
            ),
        )
    return dag.derive(
        ("blueprint", default_parallelism, partition_count, member.name, member.placement),
        lambda dag: draw(dag, member.name, member.placement, default_parallelism, partition_count),
    )


def _tasklets(
    dag: DAG,
    blueprint: Blueprint,
    listener: Listener,
    budget: MemoryBudget,
    settings: Settings,
    resources: Mapping[str, object],
    partition_count: int,
) -> list[Tasklet]:
    """The tasklets of the blueprint's places, not connected yet."""
    vertices = dag.validate()
    shares: dict[int, Share] = {}
    tasklets = []
    for place in blueprint.places:
        processor: Processor = _FORWARD if place.vertex < 0 else vertices[place.vertex].processor
        account = OperatorAccount(budget, place.name)
        share = None
        if processor.shared:
            share = shares.setdefault(place.vertex, Share(place.name, place.parallelism))
        context = ProcessorContext(
            place.name,
            account,
            settings,
            place.instance,
            place.parallelism,
            place.first_global_index + place.instance,
            place.total_parallelism,
            place.member_index,
            place.member_count,
            place.partitions,
            partition_count,
            resources,
            share,
        )
        tasklets.append(Tasklet(processor, context, account, listener))
    return tasklets


def _queues(
    blueprint: Blueprint, tasklets: Sequence[Tasklet], reader: Wakeable, budget: MemoryBudget
) -> list[BatchQueue]:
    """The queues of the links, then that of the result, if there is one."""
    byte_limit = max(1, min(QUEUE_BYTES, budget.limit // (QUEUE_SHARE * (len(blueprint.links) + 1))))
    queues = [
        BatchQueue(tasklets[link.producer], tasklets[link.consumer], link.size_limit, byte_limit)
        for link in blueprint.links
    ]
    if blueprint.sink is not None:
        queues.append(BatchQueue(tasklets[blueprint.sink], reader, DEFAULT_QUEUE_SIZE, byte_limit))
    return queues


# ---- connecting


def _connect(tasklet: Tasklet, place: Place, queues: Sequence[BatchQueue], output: Output) -> None:
    """Give the tasklet its inputs and the output."""
    if place.lone_input is not None:
        source = queues[place.lone_input]
        tasklet.connect((source,), source, output)
    elif not place.inputs:
        tasklet.connect((), NO_INPUT, output)
    else:
        sources = [_input(wiring, queues) for wiring in place.inputs]
        tasklet.connect(sources, _any_input(sources, place.inputs), output)


def _connect_sender(
    tasklet: Tasklet, place: Place, queues: Sequence[BatchQueue], member: Member
) -> RemoteOutput:
    assert place.sends is not None
    assert member.wire is not None
    remote = RemoteOutput(member.wire, place.sends, place.config.receive_window)
    remote.producer = tasklet
    _connect(tasklet, place, queues, remote)
    return remote


def _connect_receiver(
    tasklet: Tasklet, place: Place, queues: Sequence[BatchQueue], member: Member
) -> RemoteInput:
    assert place.receives is not None
    assert member.wire is not None
    config = place.config
    remote = RemoteInput(member.wire, place.receives, config.receive_window_multiplier, config.receive_window)
    remote.consumer = tasklet
    tasklet.connect((remote,), remote, _output(place.outputs, queues))
    return remote


# ---- queues combined


def _input(wiring: InputWiring, queues: Sequence[BatchQueue]) -> Input:
    if len(wiring.queues) == 1:
        return queues[wiring.queues[0]]
    chosen = [queues[index] for index in wiring.queues]
    return merging.MergingInput(chosen, wiring.sort_keys) if wiring.sort_keys else AnyOf(chosen)


def _any_input(inputs: Sequence[Input], wirings: Sequence[InputWiring]) -> Input:
    if len(inputs) == 1:
        return inputs[0]
    numbers = sorted({wiring.priority for wiring in wirings})
    groups = [
        AnyOf([each for each, wiring in zip(inputs, wirings, strict=True) if wiring.priority == number])
        for number in numbers
    ]
    return groups[0] if len(groups) == 1 else ByPriority(groups)


def _output(wirings: Sequence[OutputWiring], queues: Sequence[BatchQueue]) -> Output:
    if not wirings:
        return UNLINKED
    outputs = [_routed(wiring, queues) for wiring in wirings]
    return outputs[0] if len(outputs) == 1 else Broadcast(outputs)


def _routed(wiring: OutputWiring, queues: Sequence[BatchQueue]) -> Output:
    if not wiring.queues:
        return Nowhere(wiring.edge)
    if len(wiring.queues) == 1:
        return queues[wiring.queues[0]]
    chosen = [queues[index] for index in wiring.queues]
    match wiring.routing:
        case Routing.UNICAST | Routing.ISOLATED:
            return RoundRobin(chosen)
        case Routing.FANOUT:
            local, remote = chosen[: wiring.local], chosen[wiring.local :]
            if not remote or not local:
                return Broadcast(remote) if remote else RoundRobin(local)
            return Broadcast([RoundRobin(local), *remote])
        case Routing.BROADCAST:
            return Broadcast(chosen)
        case Routing.PARTITIONED:
            assert wiring.owners is not None
            return Partitioned(chosen, wiring.key_columns, wiring.owners)
        case _:
            assert_never(wiring.routing)
