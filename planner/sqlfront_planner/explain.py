"""What EXPLAIN prints: the lane and its reason first, then plans as trees."""

from collections.abc import Callable, Iterable, Iterator

from sqlfront_engine.dag import DAG, Distribution, Edge, Routing, Vertex
from sqlfront_engine.job_statistics import JobStatistics, VertexStatistics
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.plan_text import plan_text
from sqlfront_planner.shared_rows import shared_rows


def explain(plan: QueryPlan, *, extended: bool = False) -> str:
    """Lane, reason and physical plan; ``extended``: the bound and the optimized logical plan before it."""
    parts = [_head(plan)]
    if extended:
        parts += ["", "== Bound Plan ==", *_with_shared(plan_text(plan.bound), _bound_shared(plan))]
        optimized = [(part.name, plan_text(part.optimized)) for part in plan.shared]
        parts += ["", "== Optimized Plan ==", *_with_shared(plan_text(plan.optimized), optimized)]
        parts += ["", "== Physical Plan =="]
    return "\n".join([*parts, *_with_shared(dag_text(plan.dag), _physical_shared(plan))])


def explain_analyzed(plan: QueryPlan, statistics: JobStatistics) -> str:
    """Lane, reason and physical plan with what each vertex did in a run that has ended."""
    by_name = {vertex.name: vertex for vertex in statistics.vertices()}

    def measured(vertex: Vertex) -> str:
        known = by_name.get(vertex.name)
        return "" if known is None else f"  [{_measures(known)}]"

    total = f"time: {_time(statistics.elapsed)}, memory at most {_bytes(statistics.memory.peak)}"
    texts = _with_shared(dag_text(plan.dag, measured), _physical_shared(plan))
    return "\n".join([_head(plan), total, *texts])


def _bound_shared(plan: QueryPlan) -> list[tuple[str, str]]:
    return [(table.name, plan_text(table.plan)) for table in shared_rows(plan.bound)]


def _physical_shared(plan: QueryPlan) -> list[tuple[str, str]]:
    return [(part.name, dag_text(part.template.dag)) for part in plan.shared]


def _with_shared(text: str, shared: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A plan, and below it by name those of the rows that are computed once, before it."""
    yield text
    for name, below in shared:
        yield f"Shared rows {name}:"
        yield from (f"  {line}" for line in below.splitlines())


def dag_text(dag: DAG, note: Callable[[Vertex], str] = lambda vertex: "") -> str:
    """The DAG as a tree from its sink: each vertex with its operator, below it its inputs and how their rows
    are routed."""
    sinks = [vertex for vertex in dag if not dag.outbound(vertex)]
    everywhere = _on_all_members(dag)

    def where(vertex: Vertex) -> str:
        several = "" if vertex.local_parallelism == 1 else " x n"
        return several + (" on all members" if vertex.name in everywhere else "")

    return "\n".join(line for sink in sinks for line in _lines(dag, sink, None, 0, where, note))


def _on_all_members(dag: DAG) -> frozenset[str]:
    """The vertices of a distributed DAG that aren't on the coordinator alone; none if no edge is
    distributed."""
    if all(edge.distribution is Distribution.LOCAL for edge in dag.edges):
        return frozenset()
    found: set[str] = set()
    for vertex in dag:
        inbound = dag.inbound(vertex)
        reached = any(
            edge.distribution is Distribution.TO_ALL
            or (edge.distribution is Distribution.LOCAL and edge.source.name in found)
            for edge in inbound
        )
        if reached or (not inbound and vertex.only_on is None):
            found.add(vertex.name)
    return frozenset(found)


def _head(plan: QueryPlan) -> str:
    return f"lane: {plan.lane.value} ({plan.reason})"


def _lines(
    dag: DAG,
    vertex: Vertex,
    edge: Edge | None,
    depth: int,
    where: Callable[[Vertex], str],
    note: Callable[[Vertex], str],
) -> Iterator[str]:
    routing = "" if edge is None else _routing(edge)
    # What feeds two vertices is shown in full below the last of them only.
    shared = edge is not None and edge.source_ordinal < len(dag.outbound(vertex)) - 1
    above = " (shared)" if shared else note(vertex)
    yield f"{'  ' * depth}{vertex.processor.describe()}{where(vertex)}{routing}{above}"
    if shared:
        return
    for inbound in dag.inbound(vertex):
        yield from _lines(dag, inbound.source, inbound, depth + 1, where, note)


def _routing(edge: Edge) -> str:
    """How rows get from a vertex to the one above; nothing for the plain way."""
    words = []
    if edge.routing is Routing.PARTITIONED:
        keys = ", ".join(f"#{ordinal}" for ordinal in edge.key_columns)
        words.append(f"partitioned by {keys}" if keys else "to one")
    elif edge.routing is Routing.BROADCAST:
        words.append("broadcast")
    elif edge.distribution is Distribution.TO_ALL:
        words.append("dealt out")
    if edge.sort_keys:
        words.append("merged in order")
    if edge.distribution is Distribution.TO_ALL:
        words.append("over all members")
    elif edge.distribution is Distribution.TO_ONE:
        words.append("on the coordinator")
    return f" -> {', '.join(words)}" if words else ""


def _measures(vertex: VertexStatistics) -> str:
    parts = [
        f"rows {vertex.rows_out:,}",
        f"batches {vertex.batches_out:,}",
        f"busy {_time(vertex.busy)}",
        f"memory {_bytes(vertex.memory_peak)}",
    ]
    return ", ".join(parts)


def _time(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"


def _bytes(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"
