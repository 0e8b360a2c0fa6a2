"""The DAG under construction, and how its pieces are connected."""

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.processor import Processor
from sqlfront_planner.lanes import COLLECT_ROWS
from sqlfront_planner.pruning.key_condition import KeyCondition
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import SortKey
from sqlfront_values.settings import DEFAULT_PARTITIONS

if TYPE_CHECKING:
    from sqlfront_connectors.base import Partitioning, ScanRequest, Snapshot


class Fragment(msgspec.Struct, frozen=True):
    """A finished part of the DAG: the vertex whose output it is, and how its rows lie.

    ``parallel``: several instances emit it (over several members: on each of them), else one does (that of
    the coordinator). ``partitioned``: ordinals of columns such that rows that agree in them come out of one
    instance (None: nothing is known); ``partitions`` is the number of partitions of which each instance has
    its share: two fragments that agree in both lie alike. ``ordered``: each instance's rows have this order.
    ``output``: which of the vertex's outputs the next edge leaves from. ``in_pieces``: its instances emit the
    pieces of a source's rows, from which the source's order can be had again, or had taken all of their input
    before they emitted anything (what each emits is one piece then): they can be taken in turn.
    """

    vertex: Vertex
    parallel: bool
    partitioned: tuple[int, ...] | None = None
    ordered: tuple[SortKey, ...] = ()
    output: int = 0
    partitions: int = DEFAULT_PARTITIONS
    in_pieces: bool = False


class ScanVertex(msgspec.Struct, frozen=True):
    """A source of the DAG: what to ask of which version of the table, to make the source anew with arguments
    bound; ``placed``: how the plan takes its rows to be placed; ``keys``: by which keys they are found.
    ``columns`` and ``partitioning`` are the table's."""

    vertex: str
    table: str
    snapshot: "Snapshot"
    request: "ScanRequest"
    placed: "Partitioning | None" = None
    keys: KeyCondition | None = None
    columns: tuple[str, ...] = ()
    partitioning: "Partitioning | None" = None


class Store(msgspec.Struct, frozen=True):
    """What becomes of rows that are stored on all members: every instance of ``processor``, one on each,
    takes those of its partitions, by the columns ``keys`` (none: any). ``name`` is the table's."""

    name: str
    processor: Processor
    keys: tuple[int, ...]


class Builder(msgspec.Struct):
    """``parallel``: whether vertices get several instances (on a member) where that can help; ``exchange``:
    whether rows may be sent to the instance of their key, else what has to meet is collected in one instance.

    ``distributed``: whether the DAG is for several members. Parallel fragments are on all of them then, the
    others on the coordinator, and rows are exchanged where there are more than ``collect_rows``.
    ``conditions`` are those of the query's scans.
    """

    cardinality: Cardinality
    parallel: bool
    exchange: bool = True
    distributed: bool = False
    collect_rows: float = COLLECT_ROWS
    conditions: KeyConditions = msgspec.field(default_factory=KeyConditions)
    dag: DAG = msgspec.field(default_factory=DAG)
    scans: list[ScanVertex] = msgspec.field(default_factory=list)
    resources: dict[str, object] = msgspec.field(default_factory=dict)

    def vertex(self, name: str, processor: Processor, *, parallel: bool) -> Vertex:
        """Add a vertex with one instance, or one per worker."""
        several = parallel and (self.parallel or not self.distributed)
        return self.dag.vertex(self.dag.unique_name(name), processor, None if several else 1)

    def source(self, name: str, processor: Processor, *, parallel: bool) -> Vertex:
        """Add a vertex without input; one that isn't parallel belongs to the coordinator."""
        if parallel or not self.distributed:
            return self.vertex(name, processor, parallel=parallel)
        return self.dag.vertex(self.dag.unique_name(name), processor, 1, OnlyOn())

    def exchanges(self, rows: float) -> bool:
        """Whether that many rows are worth sending to the instances of their keys."""
        return rows > self.collect_rows if self.distributed else self.exchange

    def follow(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add an operator that takes rows as they come, in as many instances as its input has."""
        vertex = self.vertex(name, processor, parallel=source.parallel)
        self.keep(source, vertex)
        return replace(source, vertex=vertex, output=0)

    def gather(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add an operator of one instance that takes all rows, in the order that the input has."""
        vertex = self.vertex(name, processor, parallel=False)
        self.to_one(source, vertex)
        return Fragment(vertex, False)

    def store(self, source: Fragment, store: Store) -> Fragment:
        """Add what stores the rows, one instance on each member."""
        vertex = self.dag.vertex(self.dag.unique_name(f"store {store.name}"), store.processor, 1)
        if not store.keys:
            self.deal(source, vertex)
        elif lies_by(source, store.keys):
            self.keep(source, vertex)
        else:
            self.spread(source, vertex, store.keys)
        return Fragment(vertex, True)

    # ---- edges

    def _edge(self, source: Fragment, target: Vertex, ordinal: int) -> Edge:
        return Edge.from_(source.vertex, source.output).to(target, ordinal)

    def _add(self, edge: Edge) -> None:
        """Over several members an edge that isn't kept on its own goes to all of them."""
        self.dag.edge(edge.distributed() if self.distributed else edge)

    def _add_in_turn(self, source: Fragment, edge: Edge) -> None:
        """In one process the consumers get the rows of several instances in the source's order."""
        self._add(edge.in_turn() if source.in_pieces and not self.distributed else edge)

    def keep(self, source: Fragment, target: Vertex, ordinal: int = 0, *, priority: int = 0) -> None:
        """Rows stay with their instance. Inputs of lower ``priority`` are consumed first."""
        edge = self._edge(source, target, ordinal).priority(priority)
        if source.parallel:
            edge = edge.isolated().in_turn() if source.in_pieces else edge.isolated()
        self.dag.edge(edge)

    def to_one(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """All rows to the only instance, merged if they are ordered."""
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
        """Rows to any instances of a parallel vertex: from instance to instance if there are several."""
        if source.parallel or not self.distributed:
            self.keep(source, target, ordinal, priority=priority)
        else:
            self._add(self._edge(source, target, ordinal).priority(priority))

    def spread(self, source: Fragment, target: Vertex, keys: tuple[int, ...], ordinal: int = 0) -> None:
        """Rows that agree in ``keys`` to one instance."""
        self._add_in_turn(source, self._edge(source, target, ordinal).partitioned(keys))

    def broadcast(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """Every row to every instance."""
        self._add_in_turn(source, self._edge(source, target, ordinal).broadcast())

    def collected(self, source: Fragment) -> bool:
        """True if all rows of the fragment are in one instance."""
        return not source.parallel


def lies_by(source: Fragment, keys: tuple[int, ...]) -> bool:
    """Whether rows are where an exchange by these columns would send them."""
    return source.parallel and source.partitioned == keys and source.partitions == DEFAULT_PARTITIONS


def narrowed(fragment: Fragment, ordinals: tuple[int, ...]) -> Fragment:
    """What is known of the rows when only these columns (in this order) are emitted."""
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
        ordered.append(SortKey(places[key.ordinal], key.descending, key.nulls_first))
    return replace(fragment, partitioned=partitioned, ordered=tuple(ordered))
