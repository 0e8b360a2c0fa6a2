"""Explanations as graphs, in the languages of Graphviz and Mermaid; the arrows follow the rows, from the
sources to the result."""

from collections.abc import Iterator
from typing import Final

from sqlfront_planner.explain.explanation import (
    Counters,
    ExplainedJob,
    ExplainedScan,
    ExplainedVertex,
    Explanation,
    VertexPlace,
)
from sqlfront_planner.explain.text import in_bytes, milliseconds, scan_text
from sqlfront_values.errors import InternalError


def dot_of(shown: Explanation) -> str:
    """Return the plan in Graphviz' language. Each job that computes rows for several places of the query is a
    cluster (a framed part of the graph)."""
    lines = ["digraph plan {", "  rankdir=BT;", f"  label={_quoted(_title(shown))};", "  node [shape=box];"]
    lines += _dot_job(shown.job, "", "  ")
    for number, part in enumerate(shown.shared):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(f'shared rows {part.name}')};"]
        lines += _dot_job(part.job, f"{part.name}/", "    ")
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _dot_job(job: ExplainedJob, prefix: str, indent: str) -> Iterator[str]:
    for vertex, lines in _labels(job):
        label = "\n".join(lines)
        yield f"{indent}{_quoted(prefix + vertex.name)} [label={_quoted(label)}];"
    for edge in job.edges:
        label = str(edge)
        attributes = f" [label={_quoted(label)}]" if label else ""
        yield f"{indent}{_quoted(prefix + edge.source)} -> {_quoted(prefix + edge.target)}{attributes};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def dags_of(shown: Explanation) -> str:
    """Return the DAGs that run, in Graphviz' language: first those that compute rows for several places of
    the query, each after a comment with its name, last the DAG of the query. Raises InternalError if the
    explanation was made without DAGs."""
    if not all(job.dag for job in (shown.job, *(part.job for part in shown.shared))):
        raise InternalError("The explanation has no text of its DAGs.")
    shared = [f"// shared rows {' '.join(part.name.split())}\n{part.job.dag}" for part in shown.shared]
    return "\n".join([*shared, shown.job.dag])


def mermaid_of(shown: Explanation) -> str:
    """Return the plan as a Mermaid flowchart. Each job that computes rows for several places of the query is
    a subgraph."""
    lines = ["---", f"title: {_quoted(_title(shown))}", "---", "flowchart BT"]
    lines += _mermaid_job(shown.job, "v", "  ")
    for number, part in enumerate(shown.shared):
        lines.append(f"  subgraph s{number}[{_text(f'shared rows {part.name}')}]")
        lines += _mermaid_job(part.job, f"s{number}v", "    ")
        lines.append("  end")
    return "\n".join(lines)


def _mermaid_job(job: ExplainedJob, prefix: str, indent: str) -> Iterator[str]:
    names = {vertex.name: f"{prefix}{number}" for number, vertex in enumerate(job.vertices)}
    for vertex, lines in _labels(job):
        yield f"{indent}{names[vertex.name]}[{_text(*lines)}]"
    for edge in job.edges:
        label = str(edge)
        arrow = f"-->|{_text(label)}|" if label else "-->"
        yield f"{indent}{names[edge.source]} {arrow} {names[edge.target]}"


def _text(*lines: str) -> str:
    """Return a quoted Mermaid label with these lines. Special characters become Mermaid's entities: HTML's,
    with a number sign instead of the ampersand."""
    escaped = [line.translate(_ENTITIES) for line in lines]
    return f'"{"<br/>".join(escaped)}"'


_ENTITIES: Final = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
)


# ---- shared by both languages


def _title(shown: Explanation) -> str:
    total = "" if shown.job.seconds is None else f", {milliseconds(shown.job.seconds)}"
    return f"{shown.lane}: {shown.reason}{total}"


def _labels(job: ExplainedJob) -> Iterator[tuple[ExplainedVertex, list[str]]]:
    """Yield each vertex of the job with the lines of text that form its label."""
    scans = {scan.vertex: scan for scan in job.scans if scan_text(scan)}
    for vertex in job.vertices:
        yield vertex, list(_label(vertex, scans.get(vertex.name)))


def _label(vertex: ExplainedVertex, scan: ExplainedScan | None) -> Iterator[str]:
    """Yield the lines of a vertex's label: the operator, the members that run it, the counters, and what
    ``scan`` reads (None: the vertex is no scan)."""
    yield vertex.operator
    if vertex.parallel or vertex.place is VertexPlace.ALL_MEMBERS:
        several = ["one per worker"] if vertex.parallel else []
        yield ", ".join([*several, *(["on all members"] if vertex.place is VertexPlace.ALL_MEMBERS else [])])
    if vertex.counters is not None:
        yield f"{_flowed(vertex.counters)}, busy {milliseconds(vertex.counters.busy)}"
    if scan is not None:
        yield scan_text(scan)
    if len(vertex.members) > 1:
        for name, counters in vertex.members.items():
            yield f"{name}: {_flowed(counters)}, busy {milliseconds(counters.busy)}"


def _flowed(counters: Counters) -> str:
    size = "" if counters.bytes is None else f", {in_bytes(counters.bytes)}"
    return f"{counters.rows:,} rows{size}"
