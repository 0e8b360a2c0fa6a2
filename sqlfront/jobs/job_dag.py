"""The DAG of a durable job: the DAG of a query, joined with the DAGs of its shared rows.

Shared rows are the rows that several parts of a query read. For a light job, jobs of their own compute the
shared rows beforehand, and hold them in memory. In the DAG of a durable job the shared rows are the output of
a vertex; distributed edges lead from this vertex to each reader. So the shared rows are a stage of their own,
whose spool file all readers read.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, OnlyOn, Vertex
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.project import Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.held_rows import HeldRows
from sqlfront_planner.plan import QueryPlan, SharedPlan
from sqlfront_planner.run_values import RunValues
from sqlfront_values.expressions import Column
from sqlfront_values.settings import Settings


def job_dag(
    plan: QueryPlan, values: Sequence[object], settings: Settings
) -> tuple[DAG, Mapping[str, object]]:
    """Return the DAG for one run of the plan, and the objects that the DAG's sources need, by key.
    ``values``: the values of the query's parameters."""
    run_values = RunValues(settings)
    dag, resources = plan.bind(values, run_values)
    if not plan.shared:
        return dag, resources
    joined = _JoinedDAG()
    for part in plan.shared:
        of_part, more = part.template.bind(values, run_values)
        joined.add_shared(of_part, part)
        resources = {**resources, **more}
    joined.add(dag)
    return joined.dag, resources


class _JoinedDAG:
    """A DAG under construction, into which other DAGs are copied; the DAGs of shared rows have to be copied
    before the DAGs that read the rows."""

    def __init__(self) -> None:
        self.dag = DAG()
        # By the key of the shared rows: the vertex that emits the rows, and the schema of the rows.
        self._shared: dict[str, tuple[Vertex, pa.Schema]] = {}

    def add_shared(self, dag: DAG, part: SharedPlan) -> None:
        """Add to this DAG a copy of ``dag``, which computes rows that several parts of the query read;
        ``part`` is the plan of these rows."""
        end = self.add(dag, f"shared rows {part.name}")
        self._shared[part.key] = (end, part.optimized.schema)

    def add(self, dag: DAG, shared: str | None = None) -> Vertex:
        """Add a copy of ``dag`` to this DAG; return the copy of its last vertex, which emits the result.
        ``shared``: the name of a vertex that replaces the result's sink so that other vertices can read the
        rows; None = the sink is copied."""
        copies = {vertex.name: self._copy(vertex, shared) for vertex in dag}
        for edge in dag.edges:
            assert edge.destination is not None
            source, destination = copies[edge.source.name], copies[edge.destination.name]
            self.dag.edge(replace(edge, source=source, destination=destination))
        return next(copies[vertex.name] for vertex in dag if isinstance(vertex.processor, ResultSink))

    def _copy(self, vertex: Vertex, shared: str | None) -> Vertex:
        match vertex.processor:
            case HeldRows(key=key, columns=columns) if key in self._shared:
                return self._reader(vertex.name, key, columns)
            case ResultSink() if shared is not None:
                return self.dag.vertex(self.dag.unique_name(shared), Forward(), 1, OnlyOn())
            case _:
                return self.dag.add(replace(vertex, name=self.dag.unique_name(vertex.name)))

    def _reader(self, name: str, key: str, columns: tuple[int, ...]) -> Vertex:
        """Add and return a vertex ``name`` that reads the shared rows with the ``key``, and emits their
        ``columns`` (ordinals)."""
        source, schema = self._shared[key]
        fields = [schema.field(column) for column in columns]
        row = tuple(
            Column(field.type, place, field.name) for place, field in zip(columns, fields, strict=True)
        )
        reader = self.dag.vertex(self.dag.unique_name(name), Project(row, pa.schema(fields)), 1)
        ordinal = len(self.dag.outbound(source))
        self.dag.edge(Edge.from_(source, ordinal).to(reader).to_one().distribute_to())
        return reader
