"""The explanation of a plan, independent of the format: one structure, which is also EXPLAIN's JSON.

The names of the fields are a contract with readers of the JSON: fields may be added, but a renamed or removed
field requires another :attr:`Explanation.version`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import Key
from sqlfront_engine.dag import DAG, Distribution, Edge, Routing, Vertex
from sqlfront_engine.dot import to_dot
from sqlfront_engine.job_statistics import JobStatistics, VertexStatistics
from sqlfront_planner import run_values
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.explain.scan_pruning import scan_prunings
from sqlfront_planner.plan import QueryPlan, Template, every_part
from sqlfront_planner.shared_rows import shared_rows
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import Literal


class VertexPlace(Enum):
    """The choice of the members that run a vertex's instances."""

    HERE = "here"
    """On the only member that the job needs."""
    COORDINATOR = "coordinator"
    """On the coordinator alone, while other members work on other vertices."""
    ALL_MEMBERS = "all members"
    """On every member that takes part."""


class Counters(msgspec.Struct, frozen=True):
    """The counters of a vertex's instances in one run: the numbers of instances, of emitted rows and batches,
    the emitted bytes (in memory; None: not counted), the seconds of work (``busy``), and the most bytes held
    at once (``memory``)."""

    instances: int
    rows: int
    batches: int
    bytes: int | None
    busy: float
    memory: int

    @classmethod
    def of(cls, vertex: VertexStatistics) -> "Counters":
        """Make the counters from the statistics of a vertex's run."""
        return cls(
            vertex.instances,
            vertex.rows_out,
            vertex.batches_out,
            vertex.bytes_out,
            vertex.busy,
            vertex.memory_peak,
        )


class ExplainedVertex(msgspec.Struct, frozen=True):
    """A vertex of the plan's DAG. ``place``: the members that run instances. ``parallel``: each of these
    members runs one instance per worker, else a single instance. After a run, ``counters`` has the totals of
    all members. If the job had several participants, ``members`` has the counters of each participant by its
    name; otherwise ``members`` is empty."""

    name: str
    operator: str
    parallel: bool
    place: VertexPlace
    counters: Counters | None = None
    members: Mapping[str, Counters] = msgspec.field(default_factory=dict)


class ExplainedEdge(msgspec.Struct, frozen=True):
    """An edge from output number ``output`` of the vertex ``source`` to input number ``input`` of ``target``.
    ``keys``: the key columns of a partitioned edge (empty: all rows go to one instance). ``merged``: the
    consumer merges the rows of ordered instances, so that their order is kept."""

    source: str
    target: str
    output: int
    input: int
    routing: Routing
    distribution: Distribution
    keys: tuple[int, ...] = ()
    merged: bool = False

    def __str__(self) -> str:
        """Return the edge in words, such as ``partitioned by #0, over all members``; empty for a plain local
        edge."""
        words = []
        if self.routing is Routing.PARTITIONED:
            keys = ", ".join(f"#{ordinal}" for ordinal in self.keys)
            words.append(f"partitioned by {keys}" if keys else "to one")
        elif self.routing is Routing.BROADCAST:
            words.append("broadcast")
        elif self.distribution is Distribution.TO_ALL:
            words.append("dealt out")
        if self.merged:
            words.append("merged in order")
        if self.distribution is Distribution.TO_ALL:
            words.append("over all members")
        elif self.distribution is Distribution.TO_ONE:
            words.append("on the coordinator")
        return ", ".join(words)


class PartialRead(msgspec.Struct, frozen=True):
    """The number of a table's parts, such as partitions or files, that are read: ``read`` of ``total``."""

    read: int
    total: int

    def __str__(self) -> str:
        return f"{self.read:,} of {self.total:,}"


class BackupsRead(msgspec.Struct, frozen=True):
    """The backups of the rows that a scan reads: the ``members`` that hold them, in order, and their
    ``state`` in words, such as ``complete`` or ``being made``. The scan itself doesn't need these members."""

    members: tuple[str, ...]
    state: str


class ExplainedScan(msgspec.Struct, frozen=True):
    """The part of its table that a scan reads. None in a field means not applicable, or unknown, unless said
    otherwise.

    ``partitioned_by``: the columns of the table's partition key. ``by``: the columns by whose values the scan
    finds rows (empty: the scan reads everything that isn't skipped). ``keys``: those values as SQL text; None
    = all values, or values known only at run time. ``partitions``, ``members``: how many of the table's
    partitions and of the members the scan reads on; ``partition_ids`` and ``member_names`` say which, in
    order (``partition_ids`` is None if the scan reads all partitions). ``chunks`` (ranges of rows in a memory
    table's segments), ``files`` and ``row_groups`` (of Parquet files, say): how many of these parts remain
    after skipping by known bounds of the values. ``spark_seconds``: the time until the last row that Spark
    computed for the query arrived. ``backups``: the backups of the rows on other members, None = none.
    """

    vertex: str
    table: str
    partitioned_by: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    keys: tuple[tuple[str, ...], ...] | None = None
    partitions: PartialRead | None = None
    members: PartialRead | None = None
    chunks: PartialRead | None = None
    files: PartialRead | None = None
    row_groups: PartialRead | None = None
    spark_seconds: float | None = None
    partition_ids: tuple[int, ...] | None = None
    member_names: tuple[str, ...] | None = None
    backups: BackupsRead | None = None


class Participants(msgspec.Struct, frozen=True):
    """The members that a job needs: their ``names``, of ``total`` members that own partitions. ``scans``: the
    names of the members on which each scan reads, in order, by the name of the scan's vertex."""

    names: tuple[str, ...]
    total: int
    scans: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class ExplainedJob(msgspec.Struct, frozen=True):
    """A query's DAG, or its row program, with the scans and the counters of a run.

    ``vertices`` are in topological order (sources first). ``members`` are the names of the members that the
    job needs, of ``of_members`` members. After a run, ``seconds`` is the time since the job's submission, and
    ``memory`` the most bytes that the query held at once (None: not counted). ``dag`` is the text of the DAG
    for the format ``dag``, else empty.
    """

    vertices: tuple[ExplainedVertex, ...]
    edges: tuple[ExplainedEdge, ...]
    scans: tuple[ExplainedScan, ...] = ()
    seconds: float | None = None
    memory: int | None = None
    members: tuple[str, ...] = ()
    of_members: int = 1
    dag: str = ""


class SharedJob(msgspec.Struct, frozen=True):
    """A job that computes the rows of a subplan once, before the query, for all places of the query that read
    them; the query reads them as the table ``name``. ``bound`` and ``optimized`` are the logical plans of
    these rows as text if EXPLAIN EXTENDED asks for them, else None."""

    name: str
    job: ExplainedJob
    bound: str | None = None
    optimized: str | None = None


class Explanation(msgspec.Struct, frozen=True):
    """A query's plan as EXPLAIN shows it: the lane and the reason, the query's job, and in ``shared`` the
    jobs that run before it, each of which computes rows that several places of the query read. For EXPLAIN
    EXTENDED, ``bound`` and ``optimized`` are the logical plans as text, before and after the optimizer.
    ``version`` is the version of the JSON."""

    lane: str
    reason: str
    job: ExplainedJob
    shared: tuple[SharedJob, ...] = ()
    bound: str | None = None
    optimized: str | None = None
    version: int = 1


class RunArguments(msgspec.Struct, frozen=True):
    """The values for one run of a plan: ``arguments`` for its parameters, and ``values`` for its run values,
    such as the current time."""

    arguments: Sequence[object] = ()
    values: run_values.RunValues | None = None


#: Finds the participants of a DAG's job; returns None if there is only one member.
FindParticipants = Callable[[DAG], Participants | None]
#: Finds the backups of the rows of a table's snapshot on some members (None: on all members); returns None if
#: there are no backups.
FindBackups = Callable[[object, Sequence[str] | None], BackupsRead | None]


def no_backups(snapshot: object, members: Sequence[str] | None) -> BackupsRead | None:
    """Return None: the rows of no table have backups."""
    return None


def explanation(
    plan: QueryPlan,
    bound: RunArguments | None = None,
    *,
    extended: bool = False,
    runs: Mapping[str, JobStatistics] | None = None,
    participants: FindParticipants = lambda dag: None,
    backups: FindBackups = no_backups,
    parallelism: int | None = None,
) -> Explanation:
    """Explain a plan.

    ``bound``: explain the plan with these values of its parameters; None = with the parameters themselves,
    and without scans. ``extended``: include the logical plans. ``runs``: the statistics of a finished run, of
    the query's job under ``""`` and of each job that computes rows for several places of the query under its
    key; None = without counters. ``participants`` finds the members that a DAG needs, ``backups`` the backups
    of the rows that a scan reads. ``parallelism``: the default parallelism of a vertex for the texts of the
    DAGs; None = without these texts.
    """
    runs = runs or {}

    def job(template: Template, key: str) -> ExplainedJob:
        return _explained_template(template, bound, runs.get(key), participants, backups, parallelism)

    logical = {part.name: plan_text(part.plan) for part in shared_rows(plan.bound)} if extended else {}
    shared = [
        SharedJob(
            part.name,
            job(part.template, part.key),
            logical.pop(part.name, None),
            plan_text(part.optimized) if extended else None,
        )
        for part in every_part(plan.shared)
    ]
    return Explanation(
        str(plan.lane),
        plan.reason,
        job(plan.template, ""),
        tuple(shared),
        plan_text(plan.bound) if extended else None,
        plan_text(plan.optimized) if extended else None,
    )


def _explained_template(
    template: Template,
    bound: RunArguments | None,
    run: JobStatistics | None,
    participants: FindParticipants,
    backups: FindBackups,
    parallelism: int | None,
) -> ExplainedJob:
    if bound is None:
        return explained_job(template.dag, run)
    dag, _ = template.bind(bound.arguments, bound.values)
    needed = participants(dag) if template.distributed else None
    scans = explained_scans(template, bound, needed, backups)
    text = "" if parallelism is None else dag_text(dag, parallelism, scans)
    job = replace(explained_job(dag, run), scans=scans, dag=text)
    if needed is None:
        return job
    return replace(job, members=needed.names, of_members=needed.total)


def dag_text(dag: DAG, parallelism: int, scans: Sequence[ExplainedScan]) -> str:
    """Return the text of a DAG for the format ``dag``, with the partitions that its scans read.
    ``parallelism``: the default parallelism of a vertex."""
    read = {scan.vertex: scan.partition_ids for scan in scans if scan.partition_ids is not None}
    return to_dot(dag, parallelism, required_partitions=read)


def explained_scans(
    template: Template,
    bound: RunArguments,
    participants: Participants | None,
    backups: FindBackups = no_backups,
) -> tuple[ExplainedScan, ...]:
    """Explain, for each scan of the plan, which part of its table the scan reads in a run with the values
    ``bound``. ``participants`` are the members that the run needs; None if there is only one member.
    ``backups`` finds the backups of the rows that a scan reads."""
    found = []
    prunings = scan_prunings(template, bound.arguments, bound.values)
    for scan, pruning in zip(template.reads, prunings, strict=True):
        partitions = names_of = None
        if pruning.of_partitions:
            required = pruning.of_partitions if pruning.partitions is None else len(pruning.partitions)
            partitions = PartialRead(required, pruning.of_partitions)
        if participants is not None and scan.vertex in participants.scans:
            names_of = participants.scans[scan.vertex]
        keys = None
        if scan.keys is not None and pruning.keys is not None:
            keys = key_texts(scan.keys.types, pruning.keys)
        placed, names = scan.relation.partitioning, scan.relation.schema.names
        key = () if placed is None else tuple(names[place] for place in placed.columns)
        pieces = {each.what: PartialRead(each.read, each.total) for each in pruning.pieces}
        found.append(
            ExplainedScan(
                scan.vertex,
                scan.table,
                key,
                pruning.columns,
                keys,
                partitions,
                _members_read(names_of, participants),
                pieces.get("chunks"),
                pieces.get("files"),
                pieces.get("row groups"),
                partition_ids=pruning.partitions,
                member_names=names_of,
                backups=backups(scan.snapshot, names_of),
            )
        )
    return tuple(found)


def _members_read(names: tuple[str, ...] | None, participants: Participants | None) -> PartialRead | None:
    if names is None or participants is None:
        return None
    return PartialRead(len(names), participants.total)


def with_spark(job: ExplainedJob, spent: Mapping[str, float]) -> ExplainedJob:
    """Return the job with the times of Spark's scans. ``spent``: for each table that Spark has scanned, by
    name, the seconds until Spark's last row of the scan had arrived. Each scan of the job gets its time as
    ``spark_seconds``, None if Spark has not scanned its table."""
    scans = tuple(replace(scan, spark_seconds=spent.get(scan.table)) for scan in job.scans)
    return replace(job, scans=scans)


def key_texts(types: Sequence[pa.DataType], keys: Iterable[Key]) -> tuple[tuple[str, ...], ...]:
    """Return the values of each key as SQL texts; ``types`` are the types of a key's values, in order."""
    return tuple(
        tuple(describe(Literal(kind, value)) for kind, value in zip(types, key, strict=True)) for key in keys
    )


def explained_job(dag: DAG, run: JobStatistics | None = None) -> ExplainedJob:
    """Explain a DAG, with the counters of ``run`` (None = without counters). The result has no scans."""
    vertices = tuple(_vertices(dag, run))
    edges = tuple(_explained(edge) for vertex in dag for edge in dag.outbound(vertex))
    if run is None:
        return ExplainedJob(vertices, edges)
    return ExplainedJob(
        vertices, edges, seconds=run.elapsed, memory=run.memory.peak, members=run.participants
    )


def _vertices(dag: DAG, run: JobStatistics | None) -> Iterator[ExplainedVertex]:
    places = _places(dag)
    counted = {} if run is None else {each.name: Counters.of(each) for each in run.vertices()}
    by_member: dict[str, dict[str, Counters]] = {}
    if run is not None and len(run.participants) > 1:
        for member, vertices in run.members().items():
            for each in vertices:
                by_member.setdefault(each.name, {})[member] = Counters.of(each)
    for vertex in dag:
        yield ExplainedVertex(
            vertex.name,
            vertex.processor.describe(),
            vertex.local_parallelism != 1,
            places[vertex.name],
            counted.get(vertex.name),
            by_member.get(vertex.name, {}),
        )


def _places(dag: DAG) -> dict[str, VertexPlace]:
    if all(edge.distribution is Distribution.LOCAL for edge in dag.edges):
        return {vertex.name: VertexPlace.HERE for vertex in dag}
    found: dict[str, VertexPlace] = {}
    for vertex in dag:
        everywhere = _is_everywhere(dag, vertex, found)
        found[vertex.name] = VertexPlace.ALL_MEMBERS if everywhere else VertexPlace.COORDINATOR
    return found


def _is_everywhere(dag: DAG, vertex: Vertex, places: Mapping[str, VertexPlace]) -> bool:
    inbound = dag.inbound(vertex)
    reached = any(
        edge.distribution is Distribution.TO_ALL
        or (edge.distribution is Distribution.LOCAL and places[edge.source.name] is VertexPlace.ALL_MEMBERS)
        for edge in inbound
    )
    return reached or (not inbound and vertex.only_on is None)


def _explained(edge: Edge) -> ExplainedEdge:
    assert edge.destination is not None
    return ExplainedEdge(
        edge.source.name,
        edge.destination.name,
        edge.source_ordinal,
        edge.destination_ordinal,
        edge.routing,
        edge.distribution,
        edge.key_columns,
        bool(edge.sort_keys),
    )
