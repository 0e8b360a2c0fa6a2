"""The execution plan: from a DAG to the tasklets on this member and the queues between them.

All parts that depend only on the DAG's shape and the job's placement (connections and their routing, owners
of partitions) form a blueprint, see :mod:`sqlfront_engine.plans.blueprint`. It is made once and stored in the
locked DAG; copies of the DAG with other parameters share it. So each execution only makes the objects.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from sqlfront_engine.dag import DAG, DEFAULT_QUEUE_SIZE, Routing
from sqlfront_engine.edges import merging
from sqlfront_engine.edges.exchange import EdgeStream, RemoteInput, RemoteOutput, Wire
from sqlfront_engine.edges.queues import QUEUE_BYTES, BatchQueue, Input, Output, Wakeable
from sqlfront_engine.edges.routing import (
    AnyOf,
    BroadcastOutput,
    ByPriority,
    InTurn,
    PartitionedOutput,
    RoundRobin,
    RowRoundRobin,
    UnreachableOutput,
)
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.memory import MemoryBudget, OperatorAccount, block_bytes_of
from sqlfront_engine.plans.blueprint import (
    Blueprint,
    IncomingStream,
    InputWiring,
    Link,
    OutgoingStream,
    OutputWiring,
    TaskletPlace,
    draw,
)
from sqlfront_engine.plans.placement import Placement, only
from sqlfront_engine.processor import NO_RESOURCES, Processor, ProcessorContext
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.shares import SharedObject
from sqlfront_engine.tasklet import NO_INPUT, UNLINKED, Listener, Tasklet
from sqlfront_values.settings import DEFAULT_PARTITIONS, DEFAULT_SETTINGS, EMBEDDED, Settings

#: The divisor of a job's memory limit that gives the bytes of all its queues together (each queue holds at
#: least one batch of any size): the operators need the rest.
QUEUE_SHARE: Final = 8

_FORWARD: Final = Forward()


class ExecutionPlan(msgspec.Struct, frozen=True):
    """The objects of one job on one member. ``tasklets``: the tasklets of the vertices in topological order,
    then senders and receivers. ``result``: the queue from which the reader takes the result, None if the
    result is not on this member. ``outputs`` and ``inputs``: the ends of distributed edges on this member."""

    tasklets: Sequence[Tasklet]
    result: BatchQueue | None
    outputs: Mapping[EdgeStream, RemoteOutput]
    inputs: Mapping[EdgeStream, RemoteInput]


class Share(msgspec.Struct, frozen=True):
    """The share number ``index`` of ``count`` shares of a vertex's work, with ``partitions``. Other jobs run
    the other shares. A processor gets the same context as on member ``index`` of ``count`` members."""

    index: int
    count: int
    partitions: range

    def of(self, context: ProcessorContext) -> ProcessorContext:
        """Return the ``context`` of an instance with numbers that count the instances of all shares, and
        with only the partitions of this share."""
        instance = self.index * context.total_parallelism + context.global_index
        return msgspec.structs.replace(
            context,
            settings=msgspec.structs.replace(context.settings, instance=instance),
            global_index=instance,
            total_parallelism=self.count * context.total_parallelism,
            member_index=self.index,
            member_count=self.count,
            partitions=tuple([number for number in context.partitions if number in self.partitions]),
        )


class ExecutionSite(msgspec.Struct, frozen=True):
    """The member on which an execution runs: the member's name, the job's placement, and the connection to
    the other participants (None = there are none). ``share``: the part of the work that the job does; None =
    all of it."""

    name: str
    placement: Placement
    wire: Wire | None = None
    share: Share | None = None


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
    member: ExecutionSite | None = None,
    measured: bool = False,
    files: FileAccess = EVERYWHERE,
) -> ExecutionPlan:
    """Lock the DAG and make its tasklets and queues on ``member`` (None: the only member).

    ``default_parallelism``: the number of instances of a vertex that sets none
    (:meth:`~sqlfront_engine.dag.Vertex.parallelism`). ``listener`` is called at the tasklets' ends and
    errors, ``reader`` is woken by the result's queue, ``budget`` is the query's memory budget. ``settings``
    and ``resources`` are for the processors' contexts; ``partition_count``: the number of partitions among
    which keys are divided. ``measured``: the tasklets count bytes, too. ``files``: the files that processors
    may open. Raises InterfaceError for an edge whose routing doesn't allow its distribution, such as an
    isolated edge that is distributed.
    """
    dag.lock()
    blueprint = _blueprint(dag, member, default_parallelism, partition_count)
    share = None if member is None else member.share
    tasklets = _tasklets(dag, blueprint, listener, budget, settings, resources, partition_count, files, share)
    ends = _Ends(blueprint, tasklets, reader, budget, None if member is None else member.wire)
    for tasklet, place in zip(tasklets, blueprint.places, strict=True):
        ends.connect(tasklet, place, measured=measured)
    return ExecutionPlan(tasklets, ends.result, ends.outputs, ends.inputs)


def check_plan(dag: DAG, member: ExecutionSite, default_parallelism: int, partition_count: int) -> None:
    """Check that a DAG can run on the members of a placement: raises the InterfaceError that
    :func:`plan_execution` with the same arguments would raise on any of these members. Locks the DAG."""
    dag.lock()
    _blueprint(dag, member, default_parallelism, partition_count)


def _blueprint(
    dag: DAG, member: ExecutionSite | None, default_parallelism: int, partition_count: int
) -> Blueprint:
    """Return the blueprint of the DAG on ``member`` (None: the only member). It is made at the first call
    and stored in the DAG."""
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
    files: FileAccess,
    part: Share | None,
) -> list[Tasklet]:
    """Return a new tasklet for each place of the blueprint, without its inputs and outputs. ``part``: the
    share of the work that the job does, None = all of it."""
    vertices = dag.validate()
    shares: dict[int, SharedObject] = {}
    block_bytes = block_bytes_of(budget.limit)
    tasklets = []
    for place in blueprint.places:
        processor: Processor = _FORWARD if place.vertex < 0 else vertices[place.vertex].processor
        account = OperatorAccount(budget, place.name)
        share = None
        if processor.shared:
            share = shares.setdefault(place.vertex, SharedObject(place.name, place.parallelism))
        instance = place.first_global_index + place.instance
        context = ProcessorContext(
            place.name,
            account,
            msgspec.structs.replace(settings, instance=instance) if instance else settings,
            place.instance,
            place.parallelism,
            instance,
            place.total_parallelism,
            place.member_index,
            place.member_count,
            place.partitions,
            partition_count,
            resources,
            share,
            files,
            block_bytes,
        )
        if part is not None:
            context = part.of(context)
        tasklets.append(Tasklet(processor, context, account, listener))
    return tasklets


class _Ends:
    """The queues and streams for a blueprint's links. For each link, by its index, it has the end from which
    the consumer reads and the end to which the producer writes."""

    __slots__ = ("_flushes", "_readable", "_writable", "inputs", "outputs", "result")

    def __init__(
        self,
        blueprint: Blueprint,
        tasklets: Sequence[Tasklet],
        reader: Wakeable,
        budget: MemoryBudget,
        wire: Wire | None,
    ) -> None:
        self._readable: list[Input] = []
        self._writable: list[Output] = []
        # The calls of a tasklet before it gives up its thread.
        self._flushes: dict[Tasklet, list[Callable[[], None]]] = {}
        self.outputs: dict[EdgeStream, RemoteOutput] = {}
        self.inputs: dict[EdgeStream, RemoteInput] = {}
        self.result: BatchQueue | None = None
        byte_limit = max(1, min(QUEUE_BYTES, budget.limit // (QUEUE_SHARE * (len(blueprint.links) + 1))))
        for link in blueprint.links:
            if type(link) is Link:
                producer, consumer = tasklets[link.producer], tasklets[link.consumer]
                queue = BatchQueue(producer, consumer, link.size_limit, byte_limit)
                self._add(queue, queue)
            elif type(link) is OutgoingStream:
                self._add(NO_INPUT, self._output(wire, link, tasklets[link.producer]))
            elif type(link) is IncomingStream:
                self._add(self._input(wire, link, tasklets[link.consumer]), UNLINKED)
        if blueprint.sink is not None:
            self.result = BatchQueue(tasklets[blueprint.sink], reader, DEFAULT_QUEUE_SIZE, byte_limit)
            self._add(self.result, self.result)

    def _add(self, readable: Input, writable: Output) -> None:
        self._readable.append(readable)
        self._writable.append(writable)

    def _output(self, wire: Wire | None, link: OutgoingStream, producer: Tasklet) -> RemoteOutput:
        assert wire is not None
        # A quick producer can hold back a batch, so that the last batch carries the end of the stream; a
        # non-cooperative step may take too long.
        patient = producer.cooperative
        config = link.config
        output = RemoteOutput(
            wire, link.stream, config.receive_window, config.packet_size_limit, patient=patient
        )
        output.producer = producer
        self.outputs[link.stream] = output
        if patient:
            self._flushes.setdefault(producer, []).append(output.flush)
        return output

    def _input(self, wire: Wire | None, link: IncomingStream, consumer: Tasklet) -> RemoteInput:
        assert wire is not None
        config = link.config
        source = RemoteInput(wire, link.stream, config.receive_window_multiplier, config.receive_window)
        source.consumer = consumer
        self.inputs[link.stream] = source
        return source

    def connect(self, tasklet: Tasklet, place: TaskletPlace, *, measured: bool) -> None:
        """Give a tasklet the inputs and the output that its place describes. ``measured``: the tasklet
        counts bytes, too."""
        if place.lone_output is not None:
            output = self._writable[place.lone_output]
        else:
            output = _combined_output(place.outputs, self._writable)
        flushes = self._flushes.get(tasklet, ())
        tasklet.hands_on_pieces = len(place.outputs) == 1 and place.outputs[0].takes_turns
        if place.lone_input is not None:
            source = self._readable[place.lone_input]
            tasklet.connect((source,), source, output, flushes, measured=measured)
        elif not place.inputs:
            tasklet.connect((), NO_INPUT, output, flushes, measured=measured)
        else:
            sources = [_combined_input(wiring, self._readable) for wiring in place.inputs]
            any_input = _any_input(sources, place.inputs)
            tasklet.connect(sources, any_input, output, flushes, measured=measured)


# ---- combining links


def _combined_input(wiring: InputWiring, readable: Sequence[Input]) -> Input:
    chosen = [readable[index] for index in wiring.links]
    if len(chosen) == 1:
        return chosen[0]
    if wiring.takes_turns:
        return InTurn(chosen)
    return merging.MergingInput(chosen, wiring.sort_keys) if wiring.sort_keys else AnyOf(chosen)


def _any_input(inputs: Sequence[Input], wirings: Sequence[InputWiring]) -> Input:
    if len(inputs) == 1:
        return inputs[0]
    by_priority: dict[int, list[Input]] = {}
    for each, wiring in zip(inputs, wirings, strict=True):
        by_priority.setdefault(wiring.priority, []).append(each)
    groups = [AnyOf(by_priority[number]) for number in sorted(by_priority)]
    return groups[0] if len(groups) == 1 else ByPriority(groups)


def _combined_output(wirings: Sequence[OutputWiring], writable: Sequence[Output]) -> Output:
    if not wirings:
        return UNLINKED
    outputs = [_routed(wiring, writable) for wiring in wirings]
    return outputs[0] if len(outputs) == 1 else BroadcastOutput(outputs)


def _routed(wiring: OutputWiring, writable: Sequence[Output]) -> Output:
    if not wiring.links:
        return UnreachableOutput(wiring.edge)
    if len(wiring.links) == 1:
        return writable[wiring.links[0]]
    chosen = [writable[index] for index in wiring.links]
    match wiring.routing:
        case Routing.UNICAST | Routing.ISOLATED:
            return RoundRobin(chosen) if wiring.takes_turns else RowRoundRobin(chosen)
        case Routing.FANOUT:
            local, remote = chosen[: wiring.local], chosen[wiring.local :]
            if not remote or not local:
                return BroadcastOutput(remote) if remote else RowRoundRobin(local)
            return BroadcastOutput([RowRoundRobin(local), *remote])
        case Routing.BROADCAST:
            return BroadcastOutput(chosen)
        case Routing.PARTITIONED:
            assert wiring.owners is not None
            return PartitionedOutput(chosen, wiring.key_columns, wiring.owners)
        case _:
            assert_never(wiring.routing)
