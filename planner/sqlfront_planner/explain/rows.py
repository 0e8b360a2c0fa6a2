"""The explanation of a program over few rows: the program's steps are the vertices."""

import time
from collections.abc import Iterator, Sequence

from sqlfront_engine.dag import Distribution, Routing
from sqlfront_engine.row_programs.operators import PartnersByKey, RowFind, RowJoin
from sqlfront_engine.row_programs.program import NotByRows, ProgramRun, RowOperator
from sqlfront_planner.explain.explanation import (
    Counters,
    ExplainedEdge,
    ExplainedJob,
    ExplainedScan,
    ExplainedVertex,
    Explanation,
    PartialRead,
    VertexPlace,
    key_texts,
)
from sqlfront_planner.row_lowering.row_plan import UNFIT, RowPlan, RowSource
from sqlfront_values.partitioning import partitions
from sqlfront_values.settings import DEFAULT_PARTITIONS, Settings


def explained_rows(
    plan: RowPlan,
    arguments: Sequence[object] | None,
    settings: Settings,
    *,
    analyze: bool = False,
    owners: Sequence[str] = (),
) -> Explanation:
    """Explain a program over rows. ``arguments``: the values of the program's parameters, None = unknown.
    ``analyze``: run the program, too. ``owners``: the members that own the partitions, on several members.

    Raises NotByRows if the query with the arguments has to run as a job.
    """
    run = None if arguments is None else plan.run(arguments, settings)
    names = _names(plan.program)
    began = time.perf_counter()
    try:
        vertices = tuple(_vertices(plan.program, names, run if analyze else None))
    except UNFIT:
        raise NotByRows from None
    seconds = time.perf_counter() - began if analyze else None
    edges = tuple(_edges(plan.program, names))
    scans = tuple(_scans(plan, names, run, owners))
    job = ExplainedJob(vertices, edges, scans, seconds, of_members=max(1, len(set(owners))))
    return Explanation(str(plan.lane), plan.reason, job)


def _steps(program: RowOperator) -> Iterator[RowOperator]:
    """The steps of a program, inputs first."""
    for source in program.inputs():
        yield from _steps(source)
    yield program


def _names(program: RowOperator) -> dict[int, str]:
    """A name for each step, by its identity."""
    names: dict[int, str] = {}
    for step in _steps(program):
        kind = step.describe().partition(":")[0].lower()
        count = sum(name.partition("-")[0] == kind for name in names.values())
        names[id(step)] = f"{kind}-{count + 1}" if count else kind
    return names


def _vertices(
    program: RowOperator, names: dict[int, str], run: ProgramRun | None
) -> Iterator[ExplainedVertex]:
    for step in _steps(program):
        counters = None if run is None else _counted(step, run)
        yield ExplainedVertex(names[id(step)], step.describe(), False, VertexPlace.HERE, counters)


def _counted(step: RowOperator, run: ProgramRun) -> Counters:
    """The counters of a step in a run. The step runs once, and the inputs run once more to subtract their
    time."""
    seconds = []
    for steps in ((step,), step.inputs()):
        began = time.perf_counter()
        rows = [each.rows(run) for each in steps]
        seconds.append(time.perf_counter() - began)
        if len(seconds) == 1:
            found = len(rows[0])
    return Counters(1, found, 1, None, max(0.0, seconds[0] - seconds[1]), 0)


def _edges(program: RowOperator, names: dict[int, str]) -> Iterator[ExplainedEdge]:
    for step in _steps(program):
        for place, source in enumerate(step.inputs()):
            yield ExplainedEdge(
                names[id(source)], names[id(step)], 0, place, Routing.UNICAST, Distribution.LOCAL
            )


def _scans(
    plan: RowPlan, names: dict[int, str], run: ProgramRun | None, owners: Sequence[str]
) -> Iterator[ExplainedScan]:
    """The tables whose rows are found by key. The keys of a join's lookups are known only at run time."""
    readers: dict[int, RowFind | RowJoin] = {}
    for step in _steps(plan.program):
        if isinstance(step, RowFind):
            readers[step.source] = step
        elif isinstance(step, RowJoin) and isinstance(step.partners, PartnersByKey):
            readers[step.partners.source] = step
    for place, source in enumerate(plan.sources):
        reader = readers[place]
        keys = reader.keys(run) if isinstance(reader, RowFind) and run is not None else None
        yield _scan(source, names[id(reader)], keys, owners)


def _scan(
    source: RowSource, vertex: str, keys: Sequence[tuple[object, ...]] | None, owners: Sequence[str]
) -> ExplainedScan:
    schema, placed = source.table.schema, source.table.partitioning
    types = [schema.field(ordinal).type for ordinal in source.by]
    by = tuple(schema.field(ordinal).name for ordinal in source.by)
    required = members = None
    if keys is not None and placed is not None and placed.columns == source.by:
        hash_key = partitions.key_hasher(types)
        hashes = [hash_key(key) for key in keys]
        required = PartialRead(len({each % placed.count for each in hashes}), placed.count)
        if owners:
            named = {owners[each % DEFAULT_PARTITIONS] for each in hashes}
            members = PartialRead(len(named), len(set(owners)))
    texts = None if keys is None else key_texts(types, keys)
    key = () if placed is None else tuple(schema.field(ordinal).name for ordinal in placed.columns)
    return ExplainedScan(vertex, source.name, key, by, texts, required, members)
