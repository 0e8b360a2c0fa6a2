"""The physical plan: a directed acyclic graph of vertices (processors) and edges (routing of batches).

The planner and the Pipeline API make DAGs; so can a caller by hand::

    dag = DAG()
    scan = dag.vertex("scan", Values(...))
    count = dag.vertex("count", Aggregate(...), local_parallelism=1)
    dag.edge(Edge.between(scan, count).to_one())

Vertices and edges are frozen; the DAG itself grows until its submission or :meth:`DAG.lock`, and refuses any
change from then on.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, Self, TypeVar

import msgspec
from msgspec.structs import replace

from sqlfront_engine.processor import Processor
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import InterfaceError
from sqlfront_values.expressions import Literal, SortKey
from sqlfront_values.partitioning import partitions
from sqlfront_values.settings import DEFAULT_PARTITIONS
from sqlfront_values.types import physical

#: Batches that a queue holds at most unless the edge says otherwise. Hazelcast Jet's default is the same
#: number of items; full batches meet the limit of bytes long before. Queues don't count rows: with 1,024 rows
#: a queue held one full batch, so that producer and consumer waited for each other (2026-11-29: joins of
#: TPC-H took 11% more processor time).
DEFAULT_QUEUE_SIZE: Final = 1024
#: The target of an edge, or the place of a vertex: the job's coordinator, whichever member that is.
COORDINATOR: Final = "<coordinator>"
#: The target of an edge, or the place of a vertex: the client that has submitted the job to the coordinator.
#: Jobs that a member submits to itself have no client.
CLIENT: Final = "<client>"
#: Suffix of the first vertex of a two-stage aggregation; DOT output draws the pair as a group.
PREPARE_SUFFIX: Final = "-prepare"

T = TypeVar("T")


class Routing(Enum):
    """The rule by which an edge chooses the consumer's instances: the rows are dealt out evenly in batches
    (UNICAST), to instances fixed for its producer's instance (ISOLATED), to all instances (BROADCAST), or to
    one instance on each member (FANOUT); or each row goes to the instance of its key's hash (PARTITIONED)."""

    UNICAST = "unicast"
    """Each batch goes to one instance, the one with the fewest rows so far; those with full queues are
    skipped. If several instances on this member wait for rows, each gets a part of the batch."""
    ISOLATED = "isolated"
    """Each producer has instances of its own: of U producers and D consumers on a member, producer p feeds
    consumer i exactly if ``i mod U == p mod D``. Keeps the order."""
    PARTITIONED = "partitioned"
    """Rows with equal keys go to the same instance; without key columns all rows go to the instance of one
    partition."""
    BROADCAST = "broadcast"
    """Each batch goes to every instance."""
    FANOUT = "fanout"
    """Each batch goes to every member, and there to one instance (unicast). On a local edge: unicast."""


class Distribution(Enum):
    """The members that an edge's batches may reach: only the member that makes the batch (LOCAL), all
    participants of the job (TO_ALL), or one target member (TO_ONE)."""

    LOCAL = "local"
    """Batches stay on their member."""
    TO_ALL = "to all"
    """Batches go to all participating members."""
    TO_ONE = "to one"
    """Batches go to the edge's target member."""


class OnlyOn(msgspec.Struct, frozen=True):
    """The place of a vertex that has a single instance in the cluster. The instance runs on ``member``, or on
    the member that owns ``partition`` in the job's placement; if both are None, on the coordinator."""

    member: str | None = None
    partition: int | None = None

    @classmethod
    def owner_of(cls, key: Sequence[Literal], partition_count: int = DEFAULT_PARTITIONS) -> Self:
        """Return the place of a vertex whose single instance runs on the member that owns the partition of a
        key. ``key``: the values of the partition key's columns, in their order. ``partition_count``: the
        number of partitions."""
        columns = [from_values([value.value], physical(value.type)) for value in key]
        return cls(partition=int(partitions.partition_ids(columns, 1, partition_count)[0]))


class Vertex(msgspec.Struct, frozen=True, eq=False):
    """A processor with a name and a parallelism.

    ``local_parallelism``: the number of instances on each member that runs the vertex, None = the processor's
    preferred parallelism, or else one instance per worker. ``only_on``: the place of the vertex's only
    instance in the cluster, None = the vertex runs on all participants. A vertex with ``only_on`` may get
    rows from other members over a distributed edge only."""

    name: str
    processor: Processor
    local_parallelism: int | None = None
    only_on: OnlyOn | None = None

    def __post_init__(self) -> None:
        if self.only_on is not None and self.local_parallelism not in (None, 1):
            raise InterfaceError(
                f"vertex {self.name!r} has a total parallelism of one, but a local one of"
                f" {self.local_parallelism}"
            )
        if self.local_parallelism is not None and self.local_parallelism < 1:
            raise InterfaceError(
                f"vertex {self.name!r}: local parallelism must be positive, not {self.local_parallelism}"
            )

    def parallelism(self, default: int) -> int:
        """Return the number of instances on each member that runs the vertex: 1 with ``only_on``; else
        ``local_parallelism`` if given; else the processor's preferred parallelism, at most ``default``; else
        ``default``."""
        if self.only_on is not None:
            return 1
        if self.local_parallelism is not None:
            return self.local_parallelism
        preferred = self.processor.preferred_parallelism
        return default if preferred is None else min(preferred, default)


class EdgeConfig(msgspec.Struct, frozen=True):
    """The sizes of an edge's buffers. Raises InterfaceError unless all are positive.

    ``queue_size``: batches per queue, each of at most about 64k rows; there is one queue for each pair of a
    producer's and a consumer's instance. The other sizes are for edges between members.
    ``packet_size_limit``: bytes of the rows in one message; a larger batch is sent in slices, each a message,
    and one larger row alone. Dictionaries are sent once, and don't count. ``receive_window``: bytes that may
    be under way before the first are consumed. ``receive_window_multiplier``: later, the sender may be ahead
    of its receiver by the bytes that the receiver has handled in one flow-control period, times this
    number."""

    #: Batches per queue, that is per pair of producer and consumer instance.
    queue_size: int = DEFAULT_QUEUE_SIZE
    #: Bytes of the rows in one message between members, unless a single row is larger. Most batches of 64k
    #: rows are smaller, so that they are not cut: each message costs some 50 us.
    packet_size_limit: int = 8 * 1024 * 1024
    #: A receiver lets its sender run ahead by so many times the bytes handled in one flow-control period.
    receive_window_multiplier: int = 3
    #: Bytes that may be in transit between two members before the first are consumed.
    receive_window: int = 8 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                raise InterfaceError(f"an edge's {name} must be positive, not {getattr(self, name)}")


class Edge(msgspec.Struct, frozen=True, eq=False):
    """A connection from an output of one vertex to an input of another.

    Make an edge with :meth:`between` or :meth:`from_`. Every other method returns a changed copy; of several
    calls that set the same field, the last has effect. By default an edge is unicast and local, with priority
    0. A partitioned edge without key columns sends all rows to the instance that handles ``partition``;
    ``takes_turns`` is set by :meth:`in_turn`. Edges are equal if their ordinals and the names of their
    vertices are equal.
    """

    source: Vertex
    source_ordinal: int = 0
    destination: Vertex | None = None
    destination_ordinal: int = 0
    routing: Routing = Routing.UNICAST
    #: Ordinals of the key columns of a partitioned edge; empty: all rows go to the instance of ``partition``.
    key_columns: tuple[int, ...] = ()
    partition: int = 1
    #: The sort order of each producer's batches, kept by merging for the consumer; empty: no order.
    sort_keys: tuple[SortKey, ...] = ()
    distribution: Distribution = Distribution.LOCAL
    target_member: str | None = None
    #: ``Take()`` reads the input of the lowest number first and completely.
    input_priority: int = 0
    config: EdgeConfig | None = None
    #: Whether a consumer reads the pieces of its producers in turn.
    takes_turns: bool = False

    @classmethod
    def between(cls, source: Vertex, destination: Vertex) -> Self:
        """Return an edge from output 0 of ``source`` to input 0 of ``destination``."""
        return cls(source, destination=destination)

    @classmethod
    def from_(cls, source: Vertex, ordinal: int = 0) -> Self:
        """Return an edge from output ``ordinal`` of ``source``, without a destination; call :meth:`to` on it
        next."""
        return cls(source, ordinal)

    def to(self, destination: Vertex, ordinal: int = 0) -> Self:
        """Return a copy of the edge that leads to input ``ordinal`` of ``destination``. Raises InterfaceError
        if the edge has a destination already."""
        if self.destination is not None:
            raise InterfaceError(f"the edge from {self.source.name!r} has a destination already")
        return replace(self, destination=destination, destination_ordinal=ordinal)

    def unicast(self) -> Self:
        """Return a copy of the edge that sends each batch to one instance of the consumer, round robin. If
        several instances on this member wait for rows, the batch is divided among them."""
        return replace(self, routing=Routing.UNICAST)

    def isolated(self) -> Self:
        """Return a copy of the edge that connects each instance of the producer with instances of the
        consumer that the instances' numbers determine, which preserves the order of rows. Only a local edge
        can be isolated."""
        return replace(self, routing=Routing.ISOLATED)

    def partitioned(self, key_columns: Sequence[int]) -> Self:
        """Return a copy of the edge that routes each row by the hash of the columns at the ordinals
        ``key_columns``; nulls equal each other, -0.0 equals 0.0. Raises InterfaceError if ``key_columns`` is
        empty."""
        if not key_columns:
            raise InterfaceError("a partitioned edge needs key columns; to_one() sends all to one instance")
        return replace(self, routing=Routing.PARTITIONED, key_columns=tuple(key_columns))

    def to_one(self, partition: int = 1) -> Self:
        """Return a copy of the edge that sends all batches to a single instance of the consumer, the one that
        handles the partition with the number ``partition``."""
        return replace(self, routing=Routing.PARTITIONED, key_columns=(), partition=partition)

    def broadcast(self) -> Self:
        """Return a copy of the edge that sends each batch to every instance of the consumer."""
        return replace(self, routing=Routing.BROADCAST)

    def fanout(self) -> Self:
        """Return a copy of the edge that sends each batch to every member, and there to one instance of the
        consumer, round robin. On a local edge, each batch goes to one instance on this member only."""
        return replace(self, routing=Routing.FANOUT)

    def ordered(self, sort_keys: Sequence[SortKey]) -> Self:
        """Return a copy of the edge whose producer's instances each emit rows ordered by ``sort_keys``; each
        instance of the consumer gets the rows of all of them merged in that order."""
        return replace(self, sort_keys=tuple(sort_keys))

    def in_turn(self) -> Self:
        """Return a copy of the edge that preserves the order of pieces of rows. Each instance of the consumer
        reads one piece from each of its producers in turn; each producer forwards the ends of pieces that it
        receives, after the rows made from the piece. For local edges from vertices of one output.

        Instances that share a producer's rows must not wait for each other: either each such instance reads
        all of its input before it emits rows, or the output of these instances is not read in turn.
        """
        return replace(self, takes_turns=True)

    def distributed(self) -> Self:
        """Return a copy of the edge whose batches may go to all members; the routing chooses among the
        instances of all members."""
        return replace(self, distribution=Distribution.TO_ALL, target_member=None)

    def distribute_to(self, member: str = COORDINATOR) -> Self:
        """Return a copy of the edge that sends every batch to ``member`` (by default the job's coordinator);
        for partitioned edges only."""
        return replace(self, distribution=Distribution.TO_ONE, target_member=member)

    def priority(self, number: int) -> Self:
        """Return a copy of the edge with this priority among the consumer's inputs: ``Take()`` without an
        ordinal reads inputs with lower numbers first, each to its end. Meanwhile the other inputs wait and
        may block their producers; such a producer must not also feed the input that is read, since the job
        would then wait forever."""
        return replace(self, input_priority=number)

    def queue_size(self, batches: int) -> Self:
        """Return a copy of the edge whose queues hold at most ``batches`` batches each."""
        return replace(self, config=replace(self.config or EdgeConfig(), queue_size=batches))

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Edge) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[str, int, str | None, int]:
        destination = None if self.destination is None else self.destination.name
        return self.source.name, self.source_ordinal, destination, self.destination_ordinal

    def __str__(self) -> str:
        destination = "nowhere" if self.destination is None else repr(self.destination.name)
        return f"{self.source.name!r} -> {destination}"


class DAG:
    """A directed acyclic graph of vertices and edges, which grows until it is locked. Iterating over a DAG
    yields the vertices in topological order; it raises InterfaceError if the DAG is invalid
    (:meth:`validate`)."""

    __slots__ = (
        "_derived",
        "_edges",
        "_inbound",
        "_last_numbers",
        "_locked",
        "_order",
        "_outbound",
        "_rebound",
        "_vertices",
    )

    def __init__(self) -> None:
        self._vertices: dict[str, Vertex] = {}
        self._edges: list[Edge] = []
        # Invariant: each edge is stored under its source's name and under its destination's name, by ordinal.
        self._outbound: dict[str, dict[int, Edge]] = {}
        self._inbound: dict[str, dict[int, Edge]] = {}
        self._last_numbers: dict[str, int] = {}
        self._locked = False
        self._rebound = False
        self._order: tuple[Vertex, ...] | None = None
        # Invariant: the entries depend only on names, edges, parallelism and the processors' classes, so
        # rebound copies share the dict.
        self._derived: dict[object, object] = {}

    # ---- adding vertices and edges

    def vertex(
        self,
        name: str,
        processor: Processor,
        local_parallelism: int | None = None,
        only_on: OnlyOn | None = None,
    ) -> Vertex:
        """Make a vertex, add it to the DAG and return it; the parameters become the fields of the
        :class:`Vertex`. Raises InterfaceError if the name is taken (:meth:`unique_name` returns a free name)
        or the DAG is locked."""
        return self.add(Vertex(name, processor, local_parallelism, only_on))

    def add(self, vertex: Vertex) -> Vertex:
        """Add a vertex to the DAG and return the vertex. Raises InterfaceError if the DAG has a vertex of
        that name or is locked."""
        self._check_unlocked()
        if vertex.name in self._vertices:
            raise InterfaceError(f"the DAG has a vertex {vertex.name!r} already")
        self._vertices[vertex.name] = vertex
        return vertex

    def unique_name(self, name: str) -> str:
        """Return ``name`` if no vertex has that name, else the first free name of ``name-2``, ``name-3`` and
        so on."""
        candidate, number = name, self._last_numbers.get(name, 1)
        while candidate in self._vertices:
            number += 1
            candidate = f"{name}-{number}"
        # Lower numbers stay taken.
        self._last_numbers[name] = max(1, number - 1)
        return candidate

    def edge(self, edge: Edge) -> Self:
        """Add an edge between two vertices of the DAG and return the DAG. Raises InterfaceError if the edge
        has no destination, if one of its vertices is not in this DAG or both are the same, if another edge
        uses the same output or input, or if the DAG is locked."""
        self._check_unlocked()
        source, destination = edge.source, edge.destination
        if destination is None:
            raise InterfaceError(f"the edge from {source.name!r} has no destination")
        if self._vertices.get(source.name) is not source:
            raise self._unknown(source, "source")
        if self._vertices.get(destination.name) is not destination:
            raise self._unknown(destination, "destination")
        if source is destination:
            raise InterfaceError(f"an edge from {source.name!r} to itself would be a cycle")
        outbound = self._outbound.setdefault(source.name, {})
        inbound = self._inbound.setdefault(destination.name, {})
        if edge.source_ordinal in outbound:
            raise _used_already(edge, f"output {edge.source_ordinal} of {source.name!r}")
        if edge.destination_ordinal in inbound:
            raise _used_already(edge, f"input {edge.destination_ordinal} of {destination.name!r}")
        outbound[edge.source_ordinal] = inbound[edge.destination_ordinal] = edge
        self._edges.append(edge)
        return self

    def _unknown(self, vertex: Vertex, end: str) -> InterfaceError:
        """Return the error for an edge whose vertex ``vertex`` is not in this DAG. ``end``: ``"source"`` or
        ``"destination"``."""
        if vertex.name in self._vertices:
            return InterfaceError(f"the {end} {vertex.name!r} is another vertex than the DAG's of that name")
        return InterfaceError(f"the {end} {vertex.name!r} is not a vertex of this DAG")

    def _check_unlocked(self) -> None:
        if self._locked:
            raise InterfaceError("the DAG was submitted and can't be changed any more")
        self._order = None

    def lock(self) -> None:
        """Validate the DAG, and refuse any change from now on. A second call does nothing. Raises
        InterfaceError if the DAG is invalid (:meth:`validate`)."""
        if not self._locked:
            self.validate()
            self._locked = True

    @property
    def locked(self) -> bool:
        """True if the DAG refuses changes."""
        return self._locked

    # ---- inspecting

    def __iter__(self) -> Iterator[Vertex]:
        return iter(self.validate())

    def __len__(self) -> int:
        return len(self._vertices)

    def __getitem__(self, name: str) -> Vertex:
        return self._vertices[name]

    @property
    def vertices(self) -> tuple[Vertex, ...]:
        """All vertices, in the order of addition."""
        return tuple(self._vertices.values())

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of addition."""
        return tuple(map(self._resolve, self._edges))

    def inbound(self, vertex: Vertex) -> tuple[Edge, ...]:
        """Return the edges into ``vertex``, in the order of its inputs."""
        return self._in_order(self._inbound.get(vertex.name))

    def outbound(self, vertex: Vertex) -> tuple[Edge, ...]:
        """Return the edges out of ``vertex``, in the order of its outputs."""
        return self._in_order(self._outbound.get(vertex.name))

    def _in_order(self, edges: Mapping[int, Edge] | None) -> tuple[Edge, ...]:
        """Return the edges of one vertex, given by ordinal, in the order of the ordinals; for None, the empty
        tuple."""
        if edges is None:
            return ()
        if len(edges) == 1:
            return tuple(map(self._resolve, edges.values()))
        return tuple([self._resolve(edges[ordinal]) for ordinal in sorted(edges)])

    def _resolve(self, edge: Edge) -> Edge:
        """Return ``edge`` with this DAG's vertices as its ends. A DAG made by :meth:`with_processors` shares
        the edges of the original DAG, whose vertices have other processors."""
        if not self._rebound:
            return edge
        assert edge.destination is not None
        destination = self._vertices[edge.destination.name]
        return replace(edge, source=self._vertices[edge.source.name], destination=destination)

    def validate(self) -> tuple[Vertex, ...]:
        """Check the DAG, and return its vertices in topological order. Raises InterfaceError if the DAG is
        empty or has a cycle, or if the numbers of a vertex's inputs or outputs have a gap."""
        if self._order is None:
            if not self._vertices:
                raise InterfaceError("the DAG has no vertices")
            for name, edges in self._inbound.items():
                _check_gaps(name, "input", edges)
            for name, edges in self._outbound.items():
                _check_gaps(name, "output", edges)
            self._order = self._topological_order()
        return self._order

    def _topological_order(self) -> tuple[Vertex, ...]:
        """Return the vertices, each after the vertices that feed it, otherwise in the order of addition
        (Kahn's algorithm). Raises InterfaceError if the DAG has a cycle."""
        waiting = {name: len(self._inbound.get(name, ())) for name in self._vertices}
        ready = deque(vertex for vertex in self._vertices.values() if not waiting[vertex.name])
        order: list[Vertex] = []
        while ready:
            vertex = ready.popleft()
            order.append(vertex)
            for edge in self.outbound(vertex):
                assert edge.destination is not None
                waiting[edge.destination.name] -= 1
                if not waiting[edge.destination.name]:
                    ready.append(edge.destination)
        if len(order) < len(self._vertices):
            cyclic = sorted(name for name, count in waiting.items() if count)
            raise InterfaceError(f"the DAG has a cycle: through some of {', '.join(map(repr, cyclic))}")
        return tuple(order)

    def derive(self, key: object, compute: Callable[[Self], T]) -> T:
        """Return the value cached under ``key`` for this locked DAG and all its copies made by
        :meth:`with_processors`; the first call computes the value as ``compute(self)``. The value may depend
        only on names, edges, parallelism and the processors' classes, which these DAGs share."""
        try:
            return self._derived[key]  # type: ignore[return-value]
        except KeyError:
            value = self._derived[key] = compute(self)
            return value

    def with_processors(self, processors: Mapping[str, Processor]) -> "DAG":
        """Return a locked copy of the DAG with other processors: a cheap way to run a cached plan with new
        values. ``processors``: the new processors by the names of their vertices; each other vertex keeps its
        processor. Locks this DAG, too.

        Raises InterfaceError if a processor is not of the same class as the processor that it replaces."""
        self.lock()
        fresh: dict[str, Vertex] = {}
        for name, processor in processors.items():
            replaced = self._vertices[name]
            if type(processor) is not type(replaced.processor):
                raise InterfaceError(f"vertex {name!r} can only be rebound to a processor of the same class")
            fresh[name] = Vertex(name, processor, replaced.local_parallelism, replaced.only_on)
        bound = DAG()
        bound._vertices = {**self._vertices, **fresh}
        bound._edges = self._edges
        bound._outbound, bound._inbound = self._outbound, self._inbound
        bound._order = tuple([fresh.get(vertex.name, vertex) for vertex in self.validate()])
        bound._derived = self._derived
        bound._locked = bound._rebound = True
        return bound


def _used_already(edge: Edge, ordinal: str) -> InterfaceError:
    """Return the error for an edge whose output or input another edge uses already. ``ordinal``: the name of
    the output or input in words."""
    hint = ""
    if edge.source_ordinal == 0 == edge.destination_ordinal:
        hint = "; use Edge.from_(source, ordinal).to(destination, ordinal) to name other ordinals"
    return InterfaceError(f"{ordinal} is used already{hint}")


def _check_gaps(vertex: str, what: str, ordinals: Collection[int]) -> None:
    if max(ordinals) != len(ordinals) - 1:
        raise InterfaceError(f"the {what} ordinals of {vertex!r} have a gap: {sorted(ordinals)}")
