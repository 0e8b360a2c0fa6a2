"""The row plan of a query: its lowered DAG, compiled vertex by vertex."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import row_access
from sqlfront_engine.dag import DAG
from sqlfront_engine.row_programs.compiler import RowCompiler, has_python_values
from sqlfront_engine.row_programs.program import ProgramRun, Row, RowStep
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.lanes import Lane
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalJoin,
    LogicalPlan,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    walk_plan,
)
from sqlfront_planner.lowering import LoweredQuery, lower
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.row_compiler.sources import Sources
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.expressions import Parameter
from sqlfront_values.settings import Settings
from sqlfront_values.types import TIMESTAMP

#: Keys that a row program looks up one by one at most; more keys are a job's, whose kernels look up all keys
#: at once.
MOST_KEYS: Final = 100
#: Estimated rows from which on kernels are faster than Python's tuples; for fewer rows a job's start takes
#: longer than the work.
MOST_ESTIMATED: Final = 2000
#: The depth (vertices) of a DAG from which on a job runs it: the functions of a program nest as deeply as the
#: DAG, and Python's stack is limited.
_DEEPEST: Final = 60
#: A query without any of these nodes only filters and projects rows.
_JOB_NODES: Final = (LogicalJoin, LogicalAggregate, LogicalSort, LogicalSetOperation)


def row_plan(
    plan: LogicalPlan,
    schema: pa.Schema,
    settings: Settings,
    titles: Mapping[int, Parameter] = MappingProxyType({}),
    most_keys: int = MOST_KEYS,
) -> RowPlan | None:
    """Make the row plan of an optimized query; None if the query needs a job. ``schema`` is the result's
    schema; ``titles``: the parameters whose values are the names of result columns, by the column's
    ordinal; ``most_keys``: the greatest number of keys of a table that are looked up, 0 = none."""
    cardinality = Cardinality()
    conditions = KeyConditions(settings, min(most_keys, MOST_KEYS), by_rows=True)
    nodes = list(walk_plan(plan))
    if not _may_be_few(nodes, cardinality, conditions):
        return None
    lowered = lower(plan, cardinality, parallel=False, exchange=False, conditions=conditions)
    compiler = RowCompiler(settings, is_deterministic)
    sources = Sources(lowered.scans, compiler)
    steps = _compiled(lowered, sources, compiler)
    if steps is None:
        return None
    result = steps[next(reversed(steps))]
    if not all(map(has_python_values, result.types)):
        return None
    lane, reason = _lane(nodes, sources)
    return RowPlan(
        lowered.dag,
        result.rows,
        steps,
        tuple(compiler.constants.expressions),
        tuple(sources.found),
        tuple(sources.tables),
        schema,
        lane,
        reason,
        tuple([place for place, kind in enumerate(result.types) if kind == TIMESTAMP]),
        titles,
    )


def _may_be_few(nodes: Sequence[LogicalPlan], cardinality: Cardinality, conditions: KeyConditions) -> bool:
    """Return whether the tables of all scans can give rows to a row program, and the estimated rows of the
    scans and joins are few enough."""
    for node in nodes:
        if isinstance(node, LogicalScan):
            if row_access(node.snapshot) is None:
                return False
            if conditions.of(node) is not None and cardinality.rows(node) > MOST_ESTIMATED:
                return False
        elif isinstance(node, LogicalJoin) and cardinality.rows(node) > MOST_ESTIMATED:
            return False
    return True


def _compiled(lowered: LoweredQuery, sources: Sources, compiler: RowCompiler) -> dict[str, RowStep] | None:
    """Compile the DAG's vertices to steps; the mapping goes from the vertices' names to the steps, the
    result's step last. Return None if a vertex can't be compiled, or if the DAG is too deep."""
    dag = lowered.dag
    steps: dict[str, RowStep] = {}
    if len(dag) > _DEEPEST and _depth(dag) > _DEEPEST:
        return None
    for vertex in dag.vertices:  # the lowering adds a vertex after the vertices at its inputs
        names = [edge.source.name for edge in dag.inbound(vertex)]
        scan = sources.scans.get(vertex.name)
        if scan is not None and names:  # the rows that give the scan its keys have a second consumer
            steps[names[0]] = _kept(names[0], steps[names[0]])
        inputs = [steps[name] for name in names]
        step = vertex.processor.rows(inputs, compiler) if scan is None else sources.step(scan, inputs)
        if step is None:
            return None
        steps[vertex.name] = step
    return steps


def _depth(dag: DAG) -> int:
    depths: dict[str, int] = {}
    for vertex in dag:
        inputs = [depths[edge.source.name] for edge in dag.inbound(vertex)]
        depths[vertex.name] = 1 + max(inputs, default=0)
    return max(depths.values())


def _kept(name: str, step: RowStep) -> RowStep:
    """Make a step that several consumers can share: it computes the rows of ``step`` once in a run.
    ``name`` identifies the step in the run."""

    def rows(run: ProgramRun) -> Sequence[Row]:
        found = run.kept.get(name)
        if found is None:
            found = run.kept[name] = step.rows(run)
        return found

    return RowStep(rows, step.types)


def _lane(nodes: Sequence[LogicalPlan], sources: Sources) -> tuple[Lane, str]:
    found, tables = sources.found, sources.tables
    if not tables and not any(isinstance(node, _JOB_NODES) for node in nodes):
        return Lane.DIRECT, f"{found[0].name} by key, no job" if found else "no table"
    count = len(found) + len(tables)
    return Lane.LIGHT, f"a few rows of {count} table{'' if count == 1 else 's'}, on the caller's thread"
