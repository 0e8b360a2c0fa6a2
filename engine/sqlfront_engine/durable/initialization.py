"""The decision on a stage's tasks, which the coordinator takes when all inputs of the stage are complete."""

from typing import Final

from sqlfront_engine.durable import adaptive
from sqlfront_engine.durable.division import JobOptions, coalesced, even
from sqlfront_engine.durable.event_store.events import StageInitialized
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import JobStage, StagePlan

#: The name of the function that distributes rows by key, as the log has it.
HASH_FUNCTION: Final = "murmur3_32, seed 42"


def initialized(
    plan: StagePlan, state: JobState, stage: JobStage, buckets: int, options: JobOptions, memory: int | None
) -> StageInitialized:
    """Return the event that fixes how many tasks a stage has and which buckets each task reads; the caller
    writes it to the log. If all inputs are divided into buckets, the buckets' sizes in bytes decide.
    ``buckets``: the number of parts of the rows that the job divides. ``memory``: the bytes that a task may
    hold, None if unlimited."""
    divided = adaptive.read_by_bucket(plan, state, stage)
    others = sum(not source.is_whole for source in stage.inputs) - len(divided)
    alike, split = _alike(plan, state, stage), state.splits.get(stage.number)
    if split is not None:
        ranges = split.ranges
    elif alike is not None:
        ranges = alike.ranges
    elif not stage.is_parallel:
        ranges = even(buckets, 1)
    elif divided and not others:
        sizes = adaptive.bucket_sizes(divided, buckets)
        ranges = coalesced(sizes, options, memory, adaptive.bucket_rows(divided, buckets))
    else:
        ranges = even(buckets, options.parallelism)
    return StageInitialized(stage.number, ranges, buckets, "", HASH_FUNCTION if divided else None)


def _alike(plan: StagePlan, state: JobState, stage: JobStage) -> StageInitialized | None:
    """Return the decision on an earlier stage whose work must be divided in the same way as that of ``stage``
    (:attr:`StagePlan.alike`); None if there is no such stage yet."""
    alike = plan.alike
    return next((done for done in state.stages.values() if alike[done.stage] == alike[stage.number]), None)
