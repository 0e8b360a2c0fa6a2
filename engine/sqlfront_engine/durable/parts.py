"""The parts of a DAG that can run as one stage each."""

from collections.abc import Iterable

from sqlfront_engine.dag import DAG, Distribution, Edge, Vertex
from sqlfront_values.errors import InternalError


def target_of(edge: Edge) -> Vertex:
    """Return the vertex at the receiving end of an edge."""
    assert edge.destination is not None
    return edge.destination


class StageParts:
    """A search for the parts of a DAG, each of which becomes a stage of a durable job. At first each vertex
    is a part; then each local edge joins two parts, unless rows also go from the first to the second part by
    a path over a distributed edge."""

    def __init__(self, dag: DAG) -> None:
        self._dag = dag
        self._part_of = {vertex.name: {vertex.name} for vertex in dag}

    def found(self) -> list[set[str]]:
        """Return the parts, as sets of vertex names. A local edge can't join two parts if rows also go from
        one to the other by another path, since the stage would then wait for itself. If several local edges
        exclude each other in this way, the one that spans the most distributed edges doesn't join its parts:
        the rows of the others have passed fewer filters, so that moving them would cost more."""
        levels = _levels(self._dag)

        def span(edge: Edge) -> int:
            return levels[target_of(edge).name] - levels[edge.source.name]

        local = [edge for edge in self._dag.edges if edge.distribution is Distribution.LOCAL]
        for edge in sorted(local, key=span):
            source, target = self._part_of[edge.source.name], self._part_of[target_of(edge).name]
            if source is not target and not self._leads_around(source, target):
                source |= target
                self._part_of.update(dict.fromkeys(target, source))
        return [*{id(part): part for part in self._part_of.values()}.values()]

    def _leads_around(self, source: set[str], target: set[str]) -> bool:
        """Return whether rows also go from part ``source`` to part ``target`` by a path other than the local
        edges between them."""
        waiting = [
            edge
            for name in source
            for edge in self._dag.outbound(self._dag[name])
            if edge.distribution is not Distribution.LOCAL or target_of(edge).name not in source | target
        ]
        seen: set[str] = set()
        while waiting:
            name = target_of(waiting.pop()).name
            if name in target or name in source:
                return True
            if name not in seen:
                part = self._part_of[name]
                seen |= part
                waiting += [edge for one in part for edge in self._dag.outbound(self._dag[one])]
        return False


def _levels(dag: DAG) -> dict[str, int]:
    """Return for each vertex a level: minus the largest number of distributed edges on a path to the result.
    Vertices that a local edge connects have the same level if they can run in one stage."""
    levels: dict[str, int] = {}
    for vertex in reversed([*dag]):
        levels[vertex.name] = min(
            (
                levels[target_of(edge).name] - (edge.distribution is not Distribution.LOCAL)
                for edge in dag.outbound(vertex)
            ),
            default=0,
        )
    return levels


def ordered(dag: DAG, parts: Iterable[set[str]]) -> list[tuple[str, ...]]:
    """Return the names of the vertices of each part (the vertices that become one stage), the parts in
    topological order: rows go from earlier parts to later ones. Raises InternalError if two parts need each
    other's rows."""
    order = {vertex.name: place for place, vertex in enumerate(dag)}
    waiting = sorted(parts, key=lambda part: min(map(order.__getitem__, part)))
    done: set[str] = set()
    ordered: list[tuple[str, ...]] = []
    while waiting:
        ready = [part for part in waiting if _sources(dag, part) <= done | part]
        for part in ready:
            waiting.remove(part)
            done |= part
            ordered.append(tuple(sorted(part, key=order.__getitem__)))
        if not ready:
            raise InternalError("the stages of a durable job wait for each other")
    return ordered


def _sources(dag: DAG, part: Iterable[str]) -> set[str]:
    """Return the names of the vertices from which edges lead into a part, those inside the part included."""
    return {edge.source.name for name in part for edge in dag.inbound(dag[name])}
