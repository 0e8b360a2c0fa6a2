"""The shape of a job on one member: its tasklets, the links between tasklets and to other members, and how
each input and output combines its links.

A vertex on this member has ``parallelism`` instances. An edge of U producers and D consumers on this member
has up to U x D queues. For each other member receiving an edge's rows, several producers share a sender
tasklet; a single producer sends directly. For each other member sending rows, a receiver tasklet routes the
rows to several consumers; a single consumer receives directly.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sqlfront_engine.dag import DAG, Distribution, Edge, EdgeConfig, Routing, Vertex
from sqlfront_engine.edges.exchange import EdgeStream
from sqlfront_engine.edges.routing import Owners
from sqlfront_engine.plans.placement import Placement, resolve, vertex_members
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InterfaceError
from sqlfront_values.expressions import SortKey

#: The index of no queue, among the indexes of a partitioned output's queues.
NOBODY: Final = -1

_DEFAULT_CONFIG: Final = EdgeConfig()


class Link(msgspec.Struct, frozen=True):
    """A queue between two tasklets of this member: the indexes of the tasklets, and the queue's capacity in
    batches."""

    producer: int
    consumer: int
    size_limit: int


class OutgoingStream(msgspec.Struct, frozen=True):
    """The sending end of a stream to another member. ``producer``: the index of the tasklet that emits the
    batches."""

    producer: int
    stream: EdgeStream
    config: EdgeConfig


class IncomingStream(msgspec.Struct, frozen=True):
    """The receiving end of a stream from another member. ``consumer``: the index of the tasklet that takes
    the batches."""

    consumer: int
    stream: EdgeStream
    config: EdgeConfig


AnyLink: TypeAlias = Link | OutgoingStream | IncomingStream


class InputWiring(msgspec.Struct, frozen=True):
    """One input of a processor instance. ``links``: the indexes, in :class:`Blueprint`, of the links that the
    input combines. ``sort_keys``: the order by which the links are merged; empty = no order. ``takes_turns``:
    one piece of each link is read in turn. ``priority``: a processor that asks for a batch of any of its
    inputs gets one from the input with the lowest priority number first."""

    links: tuple[int, ...]
    sort_keys: tuple[SortKey, ...]
    priority: int
    takes_turns: bool = False


class OutputWiring(msgspec.Struct, frozen=True):
    """One output of a processor instance. ``links``: the indexes of the links among which the output
    chooses; the first ``local`` of them lead to consumers here, the rest to other members. ``owners``: for
    each partition the position of its link in ``links``; None unless the rows are routed by ``key_columns``.
    ``edge``: the edge's name in messages. ``takes_turns``: the consumers read one piece of each producer in
    turn."""

    links: tuple[int, ...]
    routing: Routing
    local: int
    edge: str
    key_columns: tuple[int, ...] = ()
    owners: Owners | None = None
    takes_turns: bool = False


class TaskletPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one tasklet: instance number ``instance`` of the vertex at position ``vertex`` of the DAG,
    with its inputs and outputs. With ``vertex`` -1, the tasklet is a sender to, or a receiver from, another
    member.

    The vertex has ``parallelism`` instances on this member and ``total_parallelism`` on all members; counted
    over all members, the first instance here has the number ``first_global_index``. This member is number
    ``member_index`` of the ``member_count`` members that run the vertex. ``partitions``: those that this
    instance handles. ``lone_input`` and ``lone_output``: the index of the only link of all inputs or all
    outputs; None if there are none or several."""

    name: str
    vertex: int
    instance: int = 0
    parallelism: int = 1
    first_global_index: int = 0
    total_parallelism: int = 1
    member_index: int = 0
    member_count: int = 1
    partitions: tuple[int, ...] = ()
    inputs: tuple[InputWiring, ...] = ()
    outputs: tuple[OutputWiring, ...] = ()
    #: The only link of all inputs or outputs, if there is exactly one: a shortcut for the common case.
    lone_input: int | None = None
    lone_output: int | None = None


class Blueprint(msgspec.Struct, frozen=True):
    """The tasklets of a DAG on one member, and the links between them. ``places`` describes the tasklets; the
    index of a tasklet is its position there. ``sink``: the index of the tasklet that emits the result; None
    if the DAG has no result, or the result is on another member. The result's queue has the index after the
    last link."""

    places: tuple[TaskletPlace, ...]
    links: tuple[AnyLink, ...]
    sink: int | None


def draw(
    dag: DAG, member: str, placement: Placement, default_parallelism: int, partition_count: int
) -> Blueprint:
    """Return the blueprint of a locked DAG on ``member``; an empty one if the member runs no part of the DAG.
    ``default_parallelism``: the number of instances of a vertex that sets none
    (:meth:`~sqlfront_engine.dag.Vertex.parallelism`). ``partition_count``: the number of partitions among
    which edges divide keys.

    Raises InterfaceError for an edge whose routing doesn't allow its distribution, such as an isolated edge
    that is distributed, and for several results.
    """
    for edge in dag.edges:
        _check_distribution(edge)
    drawing = _Drawing(dag, member, placement, default_parallelism, partition_count)
    for number, edge in enumerate(dag.edges):
        drawing.draw_edge(number, edge)
    return drawing.blueprint()


def _check_distribution(edge: Edge) -> None:
    if edge.takes_turns and (edge.distribution is not Distribution.LOCAL or edge.sort_keys):
        raise InterfaceError(f"the edge {edge} can't take turns: it is distributed, or merges by keys")
    if edge.distribution is Distribution.LOCAL:
        return
    if edge.routing is Routing.ISOLATED:
        raise InterfaceError(f"the isolated edge {edge} can't be distributed")
    if edge.distribution is Distribution.TO_ONE and edge.routing is not Routing.PARTITIONED:
        raise InterfaceError(
            f"the {edge.routing.value} edge {edge} can't go to one member, only partitioned ones"
        )


class _Reach(msgspec.Struct, frozen=True):
    """The destinations to which this member sends an edge's rows: ``consumers`` instances here (0 = none),
    and the members ``remote``. ``local_partitions``: the partitions that the consumers here divide among
    themselves."""

    consumers: int
    remote: tuple[str, ...]
    local_partitions: tuple[int, ...]


class _Drawing:
    """A builder of a blueprint: makes the instances of all vertices, then is given the edges one by one."""

    def __init__(
        self, dag: DAG, member: str, placement: Placement, default_parallelism: int, partition_count: int
    ) -> None:
        self._dag = dag
        self._member = member
        self._placement = placement
        self._partition_count = partition_count
        self._members = vertex_members(dag, placement)
        self._own_partitions = placement.owned_by(member)
        self._all_partitions = placement.all_partitions()
        self._links: list[AnyLink] = []
        self._places: list[TaskletPlace] = []
        self._inputs: list[dict[int, InputWiring]] = []
        self._outputs: list[dict[int, OutputWiring]] = []
        # The number of instances here, and the index of the first instance's tasklet, by vertex.
        self._parallelism: dict[str, int] = {}
        self._first: dict[str, int] = {}
        for position, vertex in enumerate(dag):
            self._add_instances(position, vertex, default_parallelism)

    def _add_instances(self, position: int, vertex: Vertex, default_parallelism: int) -> None:
        members = self._members[vertex.name]
        here = self._member in members
        parallelism = vertex.parallelism(default_parallelism)
        self._parallelism[vertex.name] = parallelism if here else 0
        self._first[vertex.name] = len(self._places)
        if not here:
            return
        index = members.index(self._member)
        for instance in range(parallelism):
            self._add_place(
                TaskletPlace(
                    name=vertex.name,
                    vertex=position,
                    instance=instance,
                    parallelism=parallelism,
                    first_global_index=index * parallelism,
                    total_parallelism=len(members) * parallelism,
                    member_index=index,
                    member_count=len(members),
                    partitions=self._own_partitions[instance::parallelism],
                )
            )

    def _add_place(self, place: TaskletPlace) -> int:
        self._places.append(place)
        self._inputs.append({})
        self._outputs.append({})
        return len(self._places) - 1

    # ---- edges

    def draw_edge(self, number: int, edge: Edge) -> None:
        """Make the queues of one edge, its streams, and their senders and receivers. ``number``: the edge's
        position in the DAG."""
        assert edge.destination is not None
        reach = self._reach(edge)
        incoming: list[list[int]] = [[] for _ in range(reach.consumers)]
        self._draw_producers(number, edge, reach, incoming)
        if reach.consumers and edge.distribution is not Distribution.LOCAL:
            for name in self._members[edge.source.name]:
                if name != self._member:
                    self._draw_arrival(edge, EdgeStream(number, name), reach, incoming)
        first_consumer = self._first[edge.destination.name]
        for consumer, links in enumerate(incoming):
            self._inputs[first_consumer + consumer][edge.destination_ordinal] = InputWiring(
                tuple(links), edge.sort_keys, edge.input_priority, edge.takes_turns
            )

    def _draw_producers(self, number: int, edge: Edge, reach: _Reach, incoming: list[list[int]]) -> None:
        """Make the links of the edge's producers on this member: to the consumers here, and to other
        members, directly or by shared senders. ``incoming``: for each consumer here a list, to which the
        indexes of its links are added."""
        producers, first = self._parallelism[edge.source.name], self._first[edge.source.name]
        streams = [EdgeStream(number, name) for name in reach.remote]
        senders = [self._add_end(edge, f"to {name}") for name in reach.remote] if producers > 1 else []
        shared: list[list[int]] = [[] for _ in senders]
        for producer in range(producers):
            targets = self._targets(edge, reach, producer, producers)
            links = self._link(edge, first + producer, targets, incoming)
            for sender, shares in zip(senders, shared, strict=True):
                shares.append(self._add_link(Link(first + producer, sender, _config(edge).queue_size)))
                links.append(shares[-1])
            if not senders:
                links += [self._add_link(OutgoingStream(first, stream, _config(edge))) for stream in streams]
            wiring = self._wiring(edge, reach, links, len(targets), remote=True)
            self._outputs[first + producer][edge.source_ordinal] = wiring
        for sender, shares, stream in zip(senders, shared, streams, strict=bool(senders)):
            self._inputs[sender][0] = InputWiring(tuple(shares), edge.sort_keys, 0)
            leaving = self._add_link(OutgoingStream(sender, stream, _config(edge)))
            self._outputs[sender][0] = OutputWiring((leaving,), Routing.UNICAST, 0, str(edge))

    def _draw_arrival(self, edge: Edge, stream: EdgeStream, reach: _Reach, incoming: list[list[int]]) -> None:
        """Make the links for a stream that arrives from another member: to the only consumer here, or to a
        new tasklet that routes the rows to several consumers. ``incoming``: for each consumer here a list, to
        which the indexes of its links are added."""
        assert edge.destination is not None
        if reach.consumers == 1:
            consumer = self._first[edge.destination.name]
            incoming[0].append(self._add_link(IncomingStream(consumer, stream, _config(edge))))
            return
        receiver = self._add_end(edge, f"from {stream.member}")
        arriving = self._add_link(IncomingStream(receiver, stream, _config(edge)))
        self._inputs[receiver][0] = InputWiring((arriving,), (), 0)
        targets = self._targets(edge, reach, 0, 1)
        links = self._link(edge, receiver, targets, incoming)
        self._outputs[receiver][0] = self._wiring(edge, reach, links, len(targets), remote=False)

    def _add_end(self, edge: Edge, which: str) -> int:
        """Add a sender or receiver tasklet of the edge, and return its index. ``which``, such as ``to m2``,
        is added to the edge's name to make the tasklet's name."""
        return self._add_place(TaskletPlace(name=f"{edge} {which}", vertex=-1))

    def _add_link(self, link: AnyLink) -> int:
        self._links.append(link)
        return len(self._links) - 1

    def _link(
        self, edge: Edge, producer: int, targets: Sequence[int], incoming: list[list[int]]
    ) -> list[int]:
        """Make a queue from the tasklet ``producer`` to each consumer instance in ``targets``; return the
        links' indexes, and add each to its consumer's list in ``incoming``."""
        assert edge.destination is not None
        first = self._first[edge.destination.name]
        links = []
        for consumer in targets:
            link = self._add_link(Link(producer, first + consumer, _config(edge).queue_size))
            links.append(link)
            incoming[consumer].append(link)
        return links

    def _reach(self, edge: Edge) -> _Reach:
        assert edge.destination is not None
        consumers = self._parallelism[edge.destination.name]
        if edge.distribution is Distribution.LOCAL:
            return _Reach(consumers, (), self._all_partitions)
        if edge.distribution is Distribution.TO_ONE:
            assert edge.target_member is not None
            target = resolve(edge.target_member, self._placement)
            return self._reach_one(target, consumers, self._all_partitions)
        if edge.routing is Routing.PARTITIONED and not edge.key_columns:
            owner = self._placement.owner_of(edge.partition % self._partition_count)
            return self._reach_one(owner or self._placement.coordinator, consumers, self._own_partitions)
        remote = tuple(name for name in self._members[edge.destination.name] if name != self._member)
        return _Reach(consumers, remote, self._own_partitions)

    def _reach_one(self, target: str, consumers: int, partitions: tuple[int, ...]) -> _Reach:
        if target == self._member:
            return _Reach(consumers, (), partitions)
        return _Reach(0, (target,), ())

    def _targets(self, edge: Edge, reach: _Reach, producer: int, producers: int) -> Sequence[int]:
        """Return the numbers of the consumer instances here that may get batches of producer number
        ``producer``, of ``producers``. For a receiver: producer 0 of 1."""
        if not reach.consumers:
            return ()
        if edge.routing is Routing.ISOLATED:
            consumers = range(reach.consumers)
            return [index for index in consumers if index % producers == producer % reach.consumers]
        if edge.routing is Routing.PARTITIONED and not edge.key_columns:
            partition = edge.partition % self._partition_count
            shared = reach.local_partitions
            return [(shared.index(partition) if partition in shared else 0) % reach.consumers]
        return range(reach.consumers)

    def _wiring(
        self, edge: Edge, reach: _Reach, links: Sequence[int], local: int, *, remote: bool
    ) -> OutputWiring:
        owners = self._owners(reach, remote=remote) if edge.key_columns else None
        return OutputWiring(
            tuple(links), edge.routing, local, str(edge), edge.key_columns, owners, edge.takes_turns
        )

    def _owners(self, reach: _Reach, *, remote: bool) -> npt.NDArray[np.intp]:
        """Return for each partition the position, among an output's queues, of the queue to which its rows
        go. The queues to the consumers here come first; with ``remote``, those to other members follow.
        :data:`NOBODY`: the partition has no queue."""
        owners = np.full(self._partition_count, NOBODY, np.intp)
        if reach.consumers:
            shared = np.array(reach.local_partitions, np.intp)
            owners[shared] = np.arange(len(shared)) % reach.consumers
        if remote:
            for number, name in enumerate(reach.remote):
                taken = (
                    list(self._placement.owned_by(name)) if len(reach.remote) > 1 or reach.consumers else ...
                )
                owners[taken] = reach.consumers + number
        return owners

    # ---- the finished blueprint

    def blueprint(self) -> Blueprint:
        """Return the finished blueprint; to be called after :meth:`draw_edge` for each edge."""
        places = []
        for place, inputs, outputs in zip(self._places, self._inputs, self._outputs, strict=True):
            incoming = tuple(wiring for _, wiring in sorted(inputs.items()))
            outgoing = tuple(wiring for _, wiring in sorted(outputs.items()))
            places.append(
                msgspec.structs.replace(
                    place,
                    inputs=incoming,
                    outputs=outgoing,
                    lone_input=_lone_link(incoming),
                    lone_output=_lone_link(outgoing),
                )
            )
        sink = self._find_sink()
        if sink is not None:
            last = len(self._links)
            wiring = OutputWiring((last,), Routing.UNICAST, 1, "the result")
            places[sink] = msgspec.structs.replace(places[sink], outputs=(wiring,), lone_output=last)
        return Blueprint(tuple(places), tuple(self._links), sink)

    def _find_sink(self) -> int | None:
        sinks = [vertex for vertex in self._dag if isinstance(vertex.processor, ResultSink)]
        if not sinks:
            return None
        members = self._members[sinks[0].name]
        instances = self._parallelism[sinks[0].name]
        if len(sinks) > 1 or instances > 1 or len(members) > 1 or self._dag.outbound(sinks[0]):
            raise InterfaceError("a DAG has at most one result, of parallelism one, and no edge leaves it")
        return self._first[sinks[0].name] if instances else None


def _config(edge: Edge) -> EdgeConfig:
    return edge.config or _DEFAULT_CONFIG


def _lone_link(wirings: Sequence[InputWiring | OutputWiring]) -> int | None:
    lone = len(wirings) == 1 and len(wirings[0].links) == 1
    return wirings[0].links[0] if lone else None
