"""The DAG of a job that a client without a place in the member list submits to a member.

The vertices that need the client's process run there: the sources placed on the coordinator, which read the
session's own files and objects, and the sinks, above all the result. Every other vertex on the coordinator
runs on the member that coordinates the job, which alone exchanges rows with the client.
"""

from msgspec.structs import replace

from sqlfront_engine.dag import CLIENT, COORDINATOR, DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import NotSupportedError

_CLIENT = OnlyOn(CLIENT)
_HERE = OnlyOn()


def client_dag(dag: DAG) -> DAG:
    """Return the DAG with which a member coordinates ``dag`` for a client; locks ``dag``. The vertices of
    ``dag`` keep their names. The result's shape is made once for a plan, and stored with it."""
    dag.lock()
    whole = dag.derive("client DAG", _rewritten)
    known = {vertex.name: vertex.processor for vertex in whole.vertices}
    changed = {each.name: each.processor for each in dag.vertices if known[each.name] is not each.processor}
    return whole.with_processors(changed) if changed else whole


def _rewritten(dag: DAG) -> DAG:
    """Return ``dag`` with its vertices in the client's process moved there, each behind a vertex on the
    coordinator that passes the rows on."""
    made = DAG()
    moved = {vertex.name for vertex in dag.vertices if _is_clients(dag, vertex)}
    for vertex in dag.vertices:
        made.add(replace(vertex, only_on=_CLIENT) if vertex.name in moved else vertex)
    # The vertices that pass on the rows of the client's sources, by the sources' names.
    relays: dict[str, Vertex] = {}
    for vertex in dag.vertices:
        if vertex.name in moved and dag.outbound(vertex):
            relays[vertex.name] = relay = _relay(made, f"{vertex.name} of the client")
            made.edge(Edge.between(made[vertex.name], relay).to_one().distribute_to(COORDINATOR))
    for edge in dag.edges:
        assert edge.destination is not None
        source = relays.get(edge.source.name, made[edge.source.name])
        if edge.takes_turns and edge.source.name in moved:
            raise NotSupportedError(f"a client can't submit a DAG whose edge {edge} takes turns")
        if edge.destination.name not in moved:
            made.edge(replace(edge, source=source, destination=made[edge.destination.name]))
            continue
        relay = _relay(made, f"{edge.destination.name} for the client")
        made.edge(replace(edge, source=source, destination=relay, destination_ordinal=0))
        last = Edge.from_(relay).to(made[edge.destination.name], edge.destination_ordinal)
        made.edge(last.to_one().distribute_to(CLIENT).priority(edge.input_priority))
    made.lock()
    return made


def _is_clients(dag: DAG, vertex: Vertex) -> bool:
    """Return whether a vertex of ``dag`` runs in the client's process: it is the result, or is a source or a
    sink that is placed on the coordinator."""
    if isinstance(vertex.processor, ResultSink):
        return True
    return vertex.only_on == _HERE and not (dag.inbound(vertex) and dag.outbound(vertex))


def _relay(made: DAG, name: str) -> Vertex:
    return made.vertex(made.unique_name(name), Forward(), 1, _HERE)
