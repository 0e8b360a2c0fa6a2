"""The free inputs of a stage: inputs whose rows may go to any of the stage's tasks.

An exchange by key brings equal keys of both sides of a join together. The join needs that of the side that it
holds; of the other side, which streams past, it treats each row by itself. So a row of the streamed side may
go to any task that has all held rows of the row's key. This is what allows a change of a plan while the job
runs: several tasks share the streamed rows of one key, or the streamed rows stay where they are, and each
task reads all held rows.
"""

from collections.abc import Collection, Mapping

import msgspec

from sqlfront_engine.dag import DAG, Distribution, Edge, Routing, Vertex
from sqlfront_engine.durable.parts import target_of


class _Origins(msgspec.Struct, frozen=True):
    """The origins of a vertex's rows: edges into the part. ``streamed``: each row of the vertex comes from
    the rows of one of these edges, which may be divided in any way; empty = the rows must not be divided.
    ``held``: all rows of these edges are needed beside."""

    streamed: frozenset[Edge] = frozenset()
    held: frozenset[Edge] = frozenset()


#: The origins by the names of the vertices; None = the rows belong to one task.
_OriginsOf = Mapping[str, _Origins | None]


def free_edges(dag: DAG, part: Collection[str]) -> frozenset[Edge]:
    """Return the edges into a part of a DAG, which is to become a stage, whose rows may go to any task. The
    tasks need all rows of the same key from the other edges by key, and all rows from broadcast edges. The
    result is empty if the rows of the part must stay where an exchange brings them. ``part``: the names of
    the vertices of a part that runs in parallel."""
    origins: dict[str, _Origins | None] = {}
    for vertex in dag:
        if vertex.name in part:
            origins[vertex.name] = _origins(dag, vertex, origins)
    leaving = [edge for edge in dag.edges if edge.source.name in part and target_of(edge).name not in part]
    ends = [origins[edge.source.name] for edge in leaving]
    if any(edge.distribution is Distribution.LOCAL for edge in leaving):
        return frozenset()
    streamed, held = frozenset[Edge](), frozenset[Edge]()
    for end in ends:
        if end is None or not end.streamed:
            return frozenset()
        streamed, held = streamed | end.streamed, held | end.held
    return frozenset() if streamed & held or any(map(_is_broadcast, streamed)) else streamed


def _origins(dag: DAG, vertex: Vertex, known: _OriginsOf) -> _Origins | None:
    """Return the origins of a vertex's rows. ``known``: those of the earlier vertices of the part."""
    inbound = dag.inbound(vertex)
    found = _Origins()
    for edge in inbound:
        before = known[edge.source.name] if edge.source.name in known else _entering(edge)
        if before is None:
            return None
        if not vertex.processor.is_divisible(edge.destination_ordinal):
            found = _Origins(found.streamed, found.held | before.streamed | before.held)
        elif before.streamed:
            found = _Origins(found.streamed | before.streamed, found.held | before.held)
        else:
            return None  # held rows, of which each task has a copy, would be emitted by each task
    return found if inbound else None  # each task of a source has rows of its own


def _entering(edge: Edge) -> _Origins | None:
    """Return the origins of rows that an edge brings into a part; None for rows that belong to one task, or
    come in an order."""
    is_by_key = edge.routing is Routing.PARTITIONED and edge.key_columns
    if edge.distribution is not Distribution.TO_ALL or edge.sort_keys:
        return None
    return _Origins(frozenset([edge])) if is_by_key or _is_broadcast(edge) else None


def _is_broadcast(edge: Edge) -> bool:
    return edge.routing is Routing.BROADCAST
