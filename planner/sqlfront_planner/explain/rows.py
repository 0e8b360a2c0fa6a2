"""The explanation of a row plan: its DAG, with the counters of a run of the plan's functions."""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from sqlfront_engine.row_programs.program import NotByRows, ProgramRun
from sqlfront_planner.explain.explanation import (
    Counters,
    ExplainedScan,
    Explanation,
    FindBackups,
    PartialRead,
    dag_text,
    explained_job,
    key_texts,
    no_backups,
)
from sqlfront_planner.row_compiler.row_plan import UNFIT, RowPlan, RowSource
from sqlfront_values.partitioning import partitions
from sqlfront_values.settings import DEFAULT_PARTITIONS, Settings

#: Finds the member that has the rows of each partition of a table's snapshot, by the partition's number;
#: returns an empty sequence if there is only one member.
FindOwners = Callable[[object], Sequence[str]]


def no_owners(snapshot: object) -> Sequence[str]:
    """Return an empty sequence: there is only one member."""
    return ()


def explained_rows(
    plan: RowPlan,
    arguments: Sequence[object] | None,
    settings: Settings,
    *,
    analyze: bool = False,
    owners: Sequence[str] = (),
    owners_of: FindOwners = no_owners,
    backups: FindBackups = no_backups,
    draws: bool = False,
) -> Explanation:
    """Explain the plan of a row program.

    ``arguments``: the values of the plan's parameters, None = unknown. ``analyze``: run the plan, too, and
    include the counters of the run. ``owners``: the name of the member that owns each partition, by the
    partition's number; empty if there is only one member. ``owners_of`` finds the members that have the rows
    of a table's partitions. ``backups`` finds the backups of the rows that a lookup reads. ``draws``: include
    the text of the plan's DAG.

    Raises NotByRows if the query with these arguments has to run as a job.
    """
    run = None if arguments is None else plan.run(arguments, settings)
    job = explained_job(plan.dag)
    if analyze and run is not None:
        began = time.perf_counter()
        try:
            counters = {name: _counted(plan, name, run) for name in plan.steps}
        except UNFIT:
            raise NotByRows from None
        vertices = tuple(replace(vertex, counters=counters[vertex.name]) for vertex in job.vertices)
        job = replace(job, vertices=vertices, seconds=time.perf_counter() - began)
    scans = tuple(_scan(source, run, owners_of, backups) for source in plan.sources)
    text = dag_text(plan.dag, 1, scans) if draws else ""
    counted = {*owners}.union(*(owners_of(source.table.snapshot()) for source in plan.sources))
    job = replace(job, scans=scans, members=_needed(scans), of_members=max(1, len(counted)), dag=text)
    return Explanation(str(plan.lane), plan.reason, job)


def _needed(scans: Sequence[ExplainedScan]) -> tuple[str, ...]:
    """Return the names of the members that own the partitions of all scans, sorted; empty if a scan's members
    are unknown."""
    if not all(scan.member_names is not None for scan in scans):
        return ()
    return tuple(sorted({name for scan in scans for name in scan.member_names or ()}))


def _counted(plan: RowPlan, name: str, run: ProgramRun) -> Counters:
    """Measure the rows and the seconds of the vertex ``name`` alone: run the vertex with its inputs, then its
    inputs only, and subtract their time."""
    inputs = [edge.source.name for edge in plan.dag.inbound(plan.dag[name])]
    seconds = []
    for names in ((name,), inputs):
        again = replace(run, kept={})
        began = time.perf_counter()
        rows = [plan.steps[each].rows(again) for each in names]
        seconds.append(time.perf_counter() - began)
        if len(seconds) == 1:
            found = len(rows[0])
    return Counters(1, found, 1, None, max(0.0, seconds[0] - seconds[1]), 0)


def _scan(
    source: RowSource, run: ProgramRun | None, owners_of: FindOwners, backups: FindBackups
) -> ExplainedScan:
    """Explain which rows of its table a source finds by key. ``run`` gives the keys (None: the keys are
    unknown); keys that come from a join are known only at run time."""
    keys = None if run is None or source.keys is None else source.keys(run)
    schema, placed, snapshot = source.table.schema, source.table.partitioning, source.table.snapshot()
    types = [schema.field(ordinal).type for ordinal in source.by]
    by = tuple(schema.field(ordinal).name for ordinal in source.by)
    required = members = ids = owning = None
    if keys is not None and placed is not None and placed.columns == source.by:
        hash_key = partitions.key_hasher(types)
        hashes = [hash_key(key) for key in keys]
        ids = tuple(sorted({each % placed.count for each in hashes}))
        required = PartialRead(len(ids), placed.count)
        if owners := owners_of(snapshot):
            owning = tuple(sorted({owners[each % DEFAULT_PARTITIONS] for each in hashes}))
            members = PartialRead(len(owning), len(set(owners)))
    texts = None if keys is None else key_texts(types, keys)
    key = () if placed is None else tuple(schema.field(ordinal).name for ordinal in placed.columns)
    return ExplainedScan(
        source.vertex,
        source.name,
        key,
        by,
        texts,
        required,
        members,
        partition_ids=ids,
        member_names=owning,
        backups=backups(snapshot, owning),
    )
