"""The DAG under construction, and how its pieces are connected."""

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.expressions import SortKey
from sqlfront_engine.processor import Processor
from sqlfront_planner.statistics.cardinality import Cardinality

if TYPE_CHECKING:
    from sqlfront_connectors.base import ScanRequest, Snapshot


class Fragment(msgspec.Struct, frozen=True):
    """A finished part of the DAG: the vertex whose output it is, and how its rows lie.

    ``parallel``: several instances emit it. ``partitioned``: ordinals of columns such that rows that agree in
    them come out of one instance (None: nothing is known). ``ordered``: each instance's rows have this order.
    ``output``: which of the vertex's outputs the next edge leaves from.
    """

    vertex: Vertex
    parallel: bool
    partitioned: tuple[int, ...] | None = None
    ordered: tuple[SortKey, ...] = ()
    output: int = 0


class ScanVertex(msgspec.Struct, frozen=True):
    """A source of the DAG: what to ask of which version of the table, to make the source anew with arguments
    bound."""

    vertex: str
    table: str
    snapshot: "Snapshot"
    request: "ScanRequest"


class Builder(msgspec.Struct):
    """``parallel``: whether vertices get several instances where that can help; ``exchange``: whether rows
    may be sent to the instance of their key, else what has to meet is collected in one instance."""

    cardinality: Cardinality
    parallel: bool
    exchange: bool = True
    dag: DAG = msgspec.field(default_factory=DAG)
    scans: list[ScanVertex] = msgspec.field(default_factory=list)
    resources: dict[str, object] = msgspec.field(default_factory=dict)

    def vertex(self, name: str, processor: Processor, *, parallel: bool) -> Vertex:
        """Add a vertex with one instance, or one per worker."""
        return self.dag.vertex(self.dag.unique_name(name), processor, None if parallel else 1)

    def follow(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add an operator that takes rows as they come, in as many instances as its input has."""
        vertex = self.vertex(name, processor, parallel=source.parallel)
        self.keep(source, vertex)
        return Fragment(vertex, source.parallel, source.partitioned, source.ordered)

    def gather(self, name: str, processor: Processor, source: Fragment) -> Fragment:
        """Add an operator of one instance that takes all rows, in the order that the input has."""
        vertex = self.vertex(name, processor, parallel=False)
        self.to_one(source, vertex)
        return Fragment(vertex, False)

    # ---- edges

    def keep(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """Rows stay with their instance."""
        edge = Edge.from_(source.vertex, source.output).to(target, ordinal)
        self.dag.edge(edge.isolated() if source.parallel else edge)

    def to_one(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """All rows to the only instance, merged if they are ordered."""
        edge = Edge.from_(source.vertex, source.output).to(target, ordinal)
        if source.parallel:
            edge = edge.to_one()
            edge = edge.ordered(source.ordered) if source.ordered else edge
        self.dag.edge(edge)

    def spread(self, source: Fragment, target: Vertex, keys: tuple[int, ...], ordinal: int = 0) -> None:
        """Rows that agree in ``keys`` to one instance."""
        self.dag.edge(Edge.from_(source.vertex, source.output).to(target, ordinal).partitioned(keys))

    def broadcast(self, source: Fragment, target: Vertex, ordinal: int = 0) -> None:
        """Every row to every instance."""
        self.dag.edge(Edge.from_(source.vertex, source.output).to(target, ordinal).broadcast())

    def collected(self, source: Fragment) -> bool:
        """True if all rows of the fragment are in one instance."""
        return not source.parallel


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
