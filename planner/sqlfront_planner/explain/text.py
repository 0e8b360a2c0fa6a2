"""Explanations as text: the lane and the reason first, then each job as a tree of vertices from the result
down to the sources."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sqlfront_planner.explain.explanation import (
    Counters,
    ExplainedEdge,
    ExplainedJob,
    ExplainedScan,
    ExplainedVertex,
    Explanation,
    PartialRead,
    VertexPlace,
)

#: Keys and numbers of partitions of a scan that EXPLAIN shows, so that a scan stays one readable line.
_MOST_KEYS: Final = 10


def text_of(shown: Explanation) -> str:
    """Return the text of EXPLAIN: lane, reason and physical plan; after a run also its counters and total
    time. Logical plans, if any, come before the physical plan."""
    parts = [f"lane: {shown.lane} ({shown.reason})"]
    if shown.job.seconds is not None:
        parts.append(_total(shown.job))
    if shown.job.of_members > 1 and shown.job.members:
        names = ", ".join(shown.job.members)
        parts.append(f"members: {len(shown.job.members)} of {shown.job.of_members} ({names})")
    if shown.bound is not None and shown.optimized is not None:
        bound = [(part.name, part.bound) for part in shown.shared if part.bound is not None]
        optimized = [(part.name, part.optimized) for part in shown.shared if part.optimized is not None]
        parts += ["", "== Bound Plan ==", *_with_shared(shown.bound, bound)]
        parts += ["", "== Optimized Plan ==", *_with_shared(shown.optimized, optimized)]
        parts += ["", "== Physical Plan =="]
    shared = [(part.name, job_text(part.job)) for part in shown.shared]
    return "\n".join([*parts, *_with_shared(job_text(shown.job), shared)])


def _with_shared(text: str, shared: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the text of a plan, then the plans of its shared rows, given as pairs of name and text."""
    yield text
    for name, below in shared:
        yield f"Shared rows {name}:"
        yield from (f"  {line}" for line in below.splitlines())


def job_text(job: ExplainedJob) -> str:
    """Return the text of a job: its vertices as a tree, followed by a line for each scan that reads only a
    part of its table."""
    lines = [line for scan in job.scans if (line := scan_text(scan))]
    return "\n".join([tree(job), *(["Scans:"] if lines else []), *(f"  {line}" for line in lines)])


def scan_text(scan: ExplainedScan) -> str:
    """Return in words which part of its table a scan reads; empty if there is nothing to report.

    >>> key = ("k",)
    >>> owners, chunks = PartialRead(2, 271), PartialRead(1, 5)
    >>> scan = ExplainedScan("scan t", "t", key, key, (("7",), ("8",)), owners, chunks=chunks)
    >>> from msgspec.structs import replace
    >>> scan_text(replace(scan, partition_ids=(21, 144)))
    't by k IN (7, 8): partitions 2 of 271 (21, 144), chunks 1 of 5 (4 skipped)'
    """
    facts = []
    if scan.partitions is not None:
        everything = scan.partitions.read == scan.partitions.total and scan.keys is None
        key = f" of {_columns(scan.partitioned_by)}" if scan.partitioned_by != scan.by else ""
        facts.append(
            f"all {scan.partitions.total:,} partitions{key}"
            if everything
            else f"partitions {scan.partitions}{_listed(scan.partition_ids)}"
        )
    if scan.members is not None:
        facts.append(f"members {scan.members}{_listed(scan.member_names)}")
    if scan.backups is not None:
        facts.append(f"backups {scan.backups.state}{_listed(scan.backups.members)}")
    pieces = (("chunks", scan.chunks), ("files", scan.files), ("row groups", scan.row_groups))
    for name, part in pieces:
        if part is not None and part != PartialRead(1, 1):
            skipped = f" ({part.total - part.read:,} skipped)" if part.read < part.total else ""
            facts.append(f"{name} {part}{skipped}")
    if scan.spark_seconds is not None:
        facts.append(f"computed by Spark in {milliseconds(scan.spark_seconds)}")
    if not scan.by and not facts:
        return ""
    by = f" by {_keys(scan)}" if scan.by else ""
    return f"{scan.table}{by}" + (f": {', '.join(facts)}" if facts else "")


def _listed(parts: Sequence[object] | None) -> str:
    """Return the first ten parts in parentheses; empty if there are none, or they are unknown."""
    if not parts:
        return ""
    more = ", ..." if len(parts) > _MOST_KEYS else ""
    return f" ({', '.join(map(str, parts[:_MOST_KEYS]))}{more})"


def _keys(scan: ExplainedScan) -> str:
    """Return the key columns and at most ten of their values as a condition, such as ``k IN (7, 8)``; the
    columns alone if the values are unknown."""
    columns = _columns(scan.by)
    if scan.keys is None:
        return columns
    if not scan.keys:
        return f"{columns}, no key"
    keys = [key[0] if len(key) == 1 else f"({', '.join(key)})" for key in scan.keys[:_MOST_KEYS]]
    if len(scan.keys) == 1:
        return f"{columns} = {keys[0]}"
    more = f", ... {len(scan.keys):,} in all" if len(scan.keys) > _MOST_KEYS else ""
    return f"{columns} IN ({', '.join(keys)}{more})"


def _columns(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def tree(job: ExplainedJob) -> str:
    """Return the text of a job as a tree from the result down: a line for each vertex with its operator and
    counters, above the indented lines of its inputs, which also name the routing."""
    vertices = {vertex.name: vertex for vertex in job.vertices}
    inbound: dict[str, list[ExplainedEdge]] = {name: [] for name in vertices}
    outputs = dict.fromkeys(vertices, 0)
    for edge in sorted(job.edges, key=lambda edge: edge.input):
        inbound[edge.target].append(edge)
        outputs[edge.source] += 1

    def lines(vertex: ExplainedVertex, edge: ExplainedEdge | None, depth: int) -> Iterator[str]:
        indent = "  " * depth
        routing = "" if edge is None or not str(edge) else f" -> {edge}"
        head = f"{indent}{vertex.operator}{_where(vertex)}{routing}"
        # A vertex that feeds two vertices is shown in full below the last of them only.
        if edge is not None and edge.output < outputs[vertex.name] - 1:
            yield f"{head} (shared)"
            return
        yield head + ("" if vertex.counters is None else f"  [{_counted(vertex.counters)}]")
        yield from _by_member(vertex.members, indent)
        for below in inbound[vertex.name]:
            yield from lines(vertices[below.source], below, depth + 1)

    results = [vertex for vertex in job.vertices if not outputs[vertex.name]]
    return "\n".join(line for result in results for line in lines(result, None, 0))


def _where(vertex: ExplainedVertex) -> str:
    several = " x n" if vertex.parallel else ""
    return several + (" on all members" if vertex.place is VertexPlace.ALL_MEMBERS else "")


def _by_member(members: Mapping[str, Counters], indent: str) -> Iterator[str]:
    """Yield a line with the counters of each member, if several members ran instances of a vertex."""
    if len(members) > 1:
        for name, counters in members.items():
            yield f"{indent}  @ {name}: {_counted(counters)}"


def _total(job: ExplainedJob) -> str:
    parts = [f"time: {milliseconds(job.seconds or 0.0)}"]
    if job.memory is not None:
        parts.append(f"memory at most {in_bytes(job.memory)}")
    return ", ".join(parts)


def _counted(counters: Counters) -> str:
    parts = [f"rows {counters.rows:,}", f"batches {counters.batches:,}"]
    if counters.bytes is not None:
        parts.append(in_bytes(counters.bytes))
    parts.append(f"busy {milliseconds(counters.busy)}")
    if counters.memory:
        parts.append(f"memory {in_bytes(counters.memory)}")
    return ", ".join(parts)


def milliseconds(seconds: float) -> str:
    """Format a time, given in seconds, in milliseconds.

    >>> milliseconds(0.00123)
    '1.23 ms'
    """
    return f"{seconds * 1000:,.2f} ms"


def in_bytes(count: int) -> str:
    """Format a number of bytes in B, KiB, MiB or GiB.

    >>> in_bytes(5_000)
    '5 KiB'
    """
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}"
        value /= 1024
    return f"{value:,.1f} GiB"
