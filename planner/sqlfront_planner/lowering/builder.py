"""The DAG under construction: its finished parts (fragments), and the edges between them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_planner.lanes import COLLECT_ROWS
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import SortKey
from sqlfront_values.settings import DEFAULT_PARTITIONS

if TYPE_CHECKING:
    from sqlfront_connectors.base import Partitioning, ScanRequest, Snapshot, Table
    from sqlfront_planner.pruning.key_condition import KeyCondition


class Fragment(msgspec.Struct, frozen=True):
    """A finished part of the DAG: the vertex that emits the rows, and the distribution of the rows.

    ``parallel``: several instances emit the rows (over several members: on each member), else one instance
    (the coordinator's). ``partitioned``: ordinals of columns such that rows with equal values in the columns
    come from one instance (None: unknown). ``partitions`` is the number of partitions by which the rows were
    distributed: if two fragments agree in ``partitioned`` and ``partitions``, rows of both with equal values
    are in the same instance. ``ordered``: each instance's rows have this order. ``output``: the number of the
    vertex's output at which the next edge starts.

    ``in_pieces``: a consumer can read the instances in turn, one piece each, and so gets a fixed order of
    rows. Either the instances emit the pieces of a source's rows, from which the source's order can be
    restored, or they read all input before the first output (each instance's output is one piece then).
    """

    vertex: Vertex
    parallel: bool
    partitioned: tuple[int, ...] | None = None
    ordered: tuple[SortKey, ...] = ()
    output: int = 0
    partitions: int = DEFAULT_PARTITIONS
    in_pieces: bool = False


class ScanVertex(msgspec.Struct, frozen=True):
    """A source of the DAG, with everything needed to make the source again when the values of parameters are
    known.

    ``vertex`` and ``table`` are the names of the source's vertex and of the table; ``relation`` is the table
    itself, ``snapshot`` its version. ``request`` has the columns and filters of the scan. ``placed`` is the
    placement of rows that the plan assumes (None: none), ``keys`` the condition that gives the keys of the
    wanted rows (None: no lookup by keys)."""

    vertex: str
    table: str
    snapshot: "Snapshot"
    request: "ScanRequest"
    placed: "Partitioning | None"
    keys: "KeyCondition | None"
    relation: "Table"


class StorageTarget(msgspec.Struct, frozen=True):
    """The storing of rows on all members: on each member one instance of ``processor`` takes the rows of the
    member's partitions, by the hash of the columns ``keys`` (empty: any rows). ``name`` is the table's
    name. ``backups``: processors that store the rows again on other members, each of the rows that the one
    before it emits (the first one: ``processor``), by the hash of the column ``backup_key``."""

    name: str
    processor: Processor
    keys: tuple[int, ...]
    backups: Sequence[Processor] = ()
    backup_key: int = 0


class Builder(msgspec.Struct):
    """A builder of a DAG, which adds vertices and edges to ``dag``, its scans to ``scans``, and the objects
    that their sources need at run time to ``resources``, by key.

    ``cardinality`` estimates numbers of rows. ``parallel``: vertices may get several instances on a member.
    ``exchange``: rows may be routed to the instance of their key; else one instance collects rows that belong
    together. ``distributed``: the DAG is for several members. Then parallel fragments are on all members,
    others on the coordinator, and inputs of more than ``collect_rows`` rows are exchanged. ``conditions``
    finds the keys that the query's scans can look up. ``divides`` (for several members): memory is short, so
    that rows are dealt to all members wherever one instance would read them alone, or sort those that it
    reads, or where a branch of a union holds rows, and no side of a join is copied unless it must be.
    """

    cardinality: Cardinality
    parallel: bool
    exchange: bool = True
    distributed: bool = False
    collect_rows: float = COLLECT_ROWS
    conditions: KeyConditions = msgspec.field(default_factory=KeyConditions)
    divides: bool = False
    dag: DAG = msgspec.field(default_factory=DAG)
    scans: list[ScanVertex] = msgspec.field(default_factory=list)
    resources: dict[str, object] = msgspec.field(default_factory=dict)

    def vertex(self, name: str, processor: Processor, *, parallel: bool) -> Vertex:
        """Add a vertex, called ``name`` or, if the name is taken, a name made from it. ``parallel``: one
        instance per worker, if the builder allows several; else one instance."""
        several = parallel and (self.parallel or not self.distributed)
        return self.dag.vertex(self.dag.unique_name(name), processor, None if several else 1)

    def source(self, name: str, processor: Processor, *, parallel: bool) -> Vertex:
        """Add a vertex without input, called ``name`` or, if the name is taken, a name made from it.
        ``parallel``: one instance per worker thread, if the builder allows several; else a single instance,
        in a cluster of several members on the coordinator."""
        if parallel or not self.distributed:
            return self.vertex(name, processor, parallel=parallel)
        return self.dag.vertex(self.dag.unique_name(name), processor, 1, OnlyOn())

    def exchanges(self, rows: float) -> bool:
        """Return whether it pays to route this number of rows by key to several instances; if not, one
        instance should collect the rows."""
        return rows > self.collect_rows if self.distributed else self.exchange

    def follow(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add a vertex that processes the rows of ``source`` in any order, with as many instances as the
        source. Return its fragment, whose rows are distributed like the source's."""
        vertex = self.vertex(name, processor, parallel=source.parallel)
        self.keep(source, vertex)
        return replace(source, vertex=vertex, output=0)

    def gather(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add a vertex with one instance that takes all rows of ``source``, in the source's order if it has
        one. Return its fragment."""
        vertex = self.vertex(name, processor, parallel=False)
        self.to_one(source, vertex)
        return Fragment(vertex, False)

    def divided(self, source: Fragment) -> Fragment:
        """Add a vertex on all members that takes the rows of ``source``, each row on any member. Return its
        fragment."""
        vertex = self.vertex("deal", Forward(), parallel=True)
        self._add(self._edge(source, vertex, 0))
        return Fragment(vertex, True)

    def store(self, source: Fragment, store: StorageTarget) -> Fragment:
        """Add the vertex that stores the rows of ``source``, with one instance on each member. Return its
        fragment, whose rows are the instances' reports on what they stored."""
        vertex = self.dag.vertex(self.dag.unique_name(f"store {store.name}"), store.processor, 1)
        if not store.keys:
            self.deal(source, vertex)
        elif lies_by(source, store.keys):
            self.keep(source, vertex)
        else:
            self.spread(source, vertex, store.keys)
        stored = Fragment(vertex, True)
        for number, processor in enumerate(store.backups):
            name = self.dag.unique_name(f"backup {number + 1} of {store.name}")
            vertex = self.dag.vertex(name, processor, 1)
            self.spread(stored, vertex, (store.backup_key,))
            stored = Fragment(vertex, True)
        return stored

    # ---- edges

    def _edge(self, source: Fragment, target: Vertex, ordinal: int, priority: int = 0) -> Edge:
        return Edge(source.vertex, source.output, target, ordinal, input_priority=priority)

    def _add(self, edge: Edge) -> None:
        """Add an edge; with several members, an edge to the instances of all members."""
        self.dag.edge(edge.distributed() if self.distributed else edge)

    def _add_in_turn(self, source: Fragment, edge: Edge) -> None:
        """Add an edge from ``source``. In one process, if the source's instances emit pieces, the consumers
        read one piece from each instance in turn, and so get the rows in the source's order."""
        self._add(edge.in_turn() if source.in_pieces and not self.distributed else edge)

    def keep(self, source: Fragment, target: Vertex, ordinal: int = 0, *, priority: int = 0) -> None:
        """Connect ``source`` with ``target``, at the target's input number ``ordinal``, so that rows stay on
        their member: each instance of a parallel source feeds one instance of the target. Inputs of lower
        ``priority`` are consumed first."""
        edge = self._edge(source, target, ordinal, priority)
        if source.parallel:
            edge = edge.isolated().in_turn() if source.in_pieces else edge.isolated()
        self.dag.edge(edge)

    def to_one(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """Route all rows of ``source`` to a single instance of ``target``, at its input number ``ordinal``;
        rows of ordered instances are merged in their order."""
        edge = self._edge(source, target, ordinal)
        if source.parallel:
            edge = edge.to_one()
            edge = edge.distribute_to() if self.distributed else edge
            if source.ordered:
                edge = edge.ordered(source.ordered)
            elif source.in_pieces and not self.distributed:
                edge = edge.in_turn()
        self.dag.edge(edge)

    def deal(self, source: Fragment, target: Vertex, ordinal: int = 0, *, priority: int = 0) -> None:
        """Spread the rows of ``source`` over the instances of ``target``, at its input number ``ordinal``, no
        matter which row comes to which instance. If the source is parallel, each of its instances feeds one
        instance of the target. Inputs of lower ``priority`` are consumed first."""
        if source.parallel or not self.distributed:
            self.keep(source, target, ordinal, priority=priority)
        else:
            self._add(self._edge(source, target, ordinal, priority))

    def spread(self, source: Fragment, target: Vertex, keys: tuple[int, ...], ordinal: int = 0) -> None:
        """Route the rows of ``source`` by the columns ``keys``, so that rows with equal values come to one
        instance of ``target``, at its input number ``ordinal``."""
        self._add_in_turn(source, self._edge(source, target, ordinal).partitioned(keys))

    def broadcast(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """Route every row of ``source`` to every instance of ``target``, at its input number ``ordinal``."""
        self._add_in_turn(source, self._edge(source, target, ordinal).broadcast())

    def collected(self, source: Fragment) -> bool:
        """Return whether one instance emits all rows of the fragment."""
        return not source.parallel


def lies_by(source: Fragment, keys: tuple[int, ...]) -> bool:
    """Return whether the rows of ``source`` are already in the instances to which an exchange by the columns
    ``keys`` would route them, so that the exchange can be omitted."""
    return source.parallel and source.partitioned == keys and source.partitions == DEFAULT_PARTITIONS


def narrowed(fragment: Fragment, ordinals: tuple[int, ...]) -> Fragment:
    """Return the fragment for the row that has only the columns ``ordinals``, in this order. The partitioning
    is known if all its columns remain, the order as far as its first columns remain."""
    places = {ordinal: place for place, ordinal in enumerate(ordinals)}
    partitioned = fragment.partitioned
    if partitioned is not None:
        partitioned = (
            tuple(places[ordinal] for ordinal in partitioned)
            if all(ordinal in places for ordinal in partitioned)
            else None
        )
    ordered: list[SortKey] = []
    for key in fragment.ordered:
        if key.ordinal not in places:
            break
        ordered.append(SortKey(places[key.ordinal], key.order))
    return replace(fragment, partitioned=partitioned, ordered=tuple(ordered))
