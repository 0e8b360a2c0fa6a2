"""Text of a DAG in DOT, the language of Graphviz."""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from sqlfront_engine.dag import DAG, DEFAULT_QUEUE_SIZE, PREPARE_SUFFIX, Distribution, Edge, Routing


def to_dot(
    dag: DAG,
    default_parallelism: int | None = None,
    default_queue_size: int = DEFAULT_QUEUE_SIZE,
    required_partitions: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> str:
    """Return the DAG as the text of a Graphviz digraph that shows the parallelism of each vertex and the
    queue size of each edge. ``default_parallelism`` and ``default_queue_size`` stand for the vertices and
    edges that set no number themselves. With ``default_parallelism`` None, a vertex without a number shows
    the parallelism that its processor prefers, or else the word ``default``. ``required_partitions``: the
    partitions that a vertex reads, by the vertex's name, shown in the given order; a vertex without an entry
    reads all partitions or none."""
    vertices = _vertices(dag, default_parallelism, required_partitions)
    return "\n".join(["digraph DAG {", *vertices, *_edges(dag, default_queue_size), "}"])


def _vertices(
    dag: DAG, default_parallelism: int | None, required_partitions: Mapping[str, Collection[int]]
) -> Iterator[str]:
    for vertex in dag:
        preferred = vertex.processor.preferred_parallelism
        fixed = vertex.local_parallelism is not None or vertex.only_on is not None
        if default_parallelism is not None or fixed:
            parallelism: int | None = vertex.parallelism(default_parallelism or 1)
        else:
            parallelism = preferred
        shown = "default" if parallelism is None else parallelism
        numbers = required_partitions.get(vertex.name)
        partitions = "" if numbers is None else f', requiredPartitions="{", ".join(map(str, numbers))}"'
        yield f"\t{_quoted(vertex.name)} [localParallelism={shown}{partitions}];"


def _edges(dag: DAG, default_queue_size: int) -> Iterator[str]:
    clusters = 0
    for vertex in dag:
        for edge in dag.outbound(vertex):
            assert edge.destination is not None
            attributes = ", ".join(_attributes(dag, edge, default_queue_size))
            line = f"\t{_quoted(vertex.name)} -> {_quoted(edge.destination.name)} [{attributes}];"
            if vertex.name == edge.destination.name + PREPARE_SUFFIX:
                yield f"\tsubgraph cluster_{clusters} {{"
                yield f"\t{line}"
                yield "\t}"
                clusters += 1
            else:
                yield line


def _attributes(dag: DAG, edge: Edge, default_queue_size: int) -> Iterator[str]:
    labels = []
    if edge.distribution is Distribution.TO_ALL:
        labels.append("distributed")
    elif edge.distribution is Distribution.TO_ONE:
        labels.append(f"distributed to {edge.target_member}")
    if edge.routing is not Routing.UNICAST:
        labels.append(edge.routing.value)
    if edge.sort_keys:
        labels.append("ordered")
    if labels:
        yield f"label={_quoted('-'.join(labels))}"
    if edge.destination is not None and len(dag.inbound(edge.destination)) > 1:
        yield f"headlabel={edge.destination_ordinal}"
    if len(dag.outbound(edge.source)) > 1:
        yield f"taillabel={edge.source_ordinal}"
    yield f"queueSize={edge.config.queue_size if edge.config else default_queue_size}"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
