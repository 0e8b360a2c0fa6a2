"""The plan of a job after the changes that were made while the job runs.

A change is an event of the job's log. Every process that has the plan of the job's creation and the same
events derives the same plan, so that nothing but the event is stored or sent. A change leaves the numbers of
all stages, and the outputs of all stages that remain.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from sqlfront_engine.durable.event_store.events import BroadcastJoin, PlanChanged
from sqlfront_engine.durable.stages import JobStage, OutputKind, StageInput, StagePlan


def replanned(plan: StagePlan, changes: Iterable[PlanChanged]) -> StagePlan:
    """Return the plan after the changes, in order; ``plan`` is the plan of the job's creation. A stage that
    was joined with a later one has no vertices any more, and is never run."""
    for event in changes:
        if isinstance(event.change, BroadcastJoin):
            plan = _without_exchange(plan, event.change)
    return plan


def _without_exchange(plan: StagePlan, change: BroadcastJoin) -> StagePlan:
    """Return the plan in which the stage of the join has the vertices of the streamed stage as well."""
    join, streamed = plan.stages[change.stage], plan.stages[change.streamed]
    held = [_held(plan, source, change) for source in join.inputs if source.stage != streamed.number]
    joined = replace(
        join,
        vertices=(*streamed.vertices, *join.vertices),
        inputs=(*streamed.inputs, *held),
        is_deterministic=streamed.is_deterministic and join.is_deterministic,
        free=streamed.free,
    )
    gone = JobStage(streamed.number, (), streamed.is_parallel, (), ())
    changed = {join.number: joined, streamed.number: gone}
    return replace(plan, stages=tuple(changed.get(stage.number, stage) for stage in plan.stages))


def _held(plan: StagePlan, source: StageInput, change: BroadcastJoin) -> StageInput:
    is_read_by_key = plan.output_of(source).kind is OutputKind.BY_KEY
    return replace(source, is_whole=source.is_whole or (is_read_by_key and source.stage in change.held))
