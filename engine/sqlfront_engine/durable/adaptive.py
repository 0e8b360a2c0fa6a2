"""The decisions about changes of a job's plan while the job runs, from the sizes of the rows that were really
written.

Two kinds of changes use that the rows of a free input may go to any task (:mod:`.free_inputs`):

* **A join without an exchange.** The rows that a join holds came out few, and the stage that would write the
  streamed rows by key has not begun: then the streamed rows stay where they are, and each task of the join
  reads all held rows. To have this chance, the streamed stage waits for the held one, until that one is
  complete or has written too much.
* **Shared buckets.** A bucket came out much larger than the others, since a key has most of the rows: then
  several tasks read a part of the bucket's streamed rows each, and all of its held rows.

The functions only decide. The coordinator writes the decision to the log before the change takes effect, and
its successor takes the decision from there.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from sqlfront_engine.durable.division import EXPANSION, JobOptions, shared
from sqlfront_engine.durable.event_store.events import BroadcastJoin, PlanChanged, SplitBuckets
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import (
    DIVIDED,
    JobStage,
    OutputKind,
    SplitKind,
    StageInput,
    StagePlan,
)
from sqlfront_engine.spool.spool_file import SpoolFile


class Exchange(msgspec.Struct, frozen=True):
    """An exchange by key that a join may do without. ``streamed``: the stage that writes the streamed rows by
    key; ``join``: the only stage that reads these rows. ``held``: the stages and the numbers of their outputs
    that the join reads by key beside."""

    streamed: int
    join: int
    held: tuple[tuple[int, int], ...]

    def is_written(self, state: JobState) -> bool:
        """Return whether all held rows are written."""
        return all(state.is_complete(stage) for stage, _ in self.held)

    def size(self, state: JobState) -> int:
        """Return the bytes of the held rows that are written so far."""
        return sum(state.written[output] for output in self.held)


def exchanges(plan: StagePlan) -> tuple[Exchange, ...]:
    """Return the exchanges by key that a join may do without if the rows that it holds are few."""
    readers: dict[int, list[tuple[JobStage, int]]] = {}
    for reader in plan.stages:
        for place, source in enumerate(reader.inputs):
            readers.setdefault(source.stage, []).append((reader, place))
    found = []
    for stage, (first, *others) in sorted(readers.items()):
        if not others and (exchange := _exchange(plan, plan.stages[stage], *first)) is not None:
            found.append(exchange)
    return tuple(found)


def _exchange(plan: StagePlan, streamed: JobStage, join: JobStage, place: int) -> Exchange | None:
    """Return the exchange of the rows of the stage ``streamed``, which only the input number ``place`` of the
    stage ``join`` reads, if the join may do without it; else None."""
    if not streamed.is_parallel or len(streamed.outputs) != 1 or join.free != (place,):
        return None
    if not (plan.is_alone(streamed.number) and plan.is_alone(join.number)):
        return None
    if streamed.splits is not SplitKind.LISTED or join.splits is not SplitKind.LISTED:
        return None
    others = [source for source in join.inputs if source.stage != streamed.number and not source.is_whole]
    held = [source for source in others if plan.output_of(source).kind is OutputKind.BY_KEY]
    outputs = tuple(sorted({(source.stage, source.output) for source in held}))
    return Exchange(streamed.number, join.number, outputs) if outputs else None


def broadcast(
    found: Sequence[Exchange], state: JobState, options: JobOptions, memory: int | None
) -> PlanChanged | None:
    """Return a change that saves one of the exchanges, of a stage that has not begun, since the rows that the
    join holds are few; None if there is no such exchange. ``found``: the exchanges of the present plan.
    ``memory``: the bytes of memory of a task, None = unlimited."""
    for exchange in found:
        if exchange.streamed not in state.stages and exchange.is_written(state):
            size = exchange.size(state)
            if size <= _most_held(options, memory):
                return _without(exchange, size)
    return None


def waits(
    stage: int, found: Sequence[Exchange], state: JobState, options: JobOptions, memory: int | None
) -> bool:
    """Return whether the stage with this number should wait, since :func:`broadcast` may save the exchange of
    its rows once the rows that the join holds are written. The other arguments are those of
    :func:`broadcast`. No two stages wait for each other: a stage waits only for stages that the only reader
    of its rows reads, too."""
    return stage not in state.stages and any(
        exchange.streamed == stage
        and not exchange.is_written(state)
        and exchange.size(state) <= _most_held(options, memory)
        for exchange in found
    )


def _most_held(options: JobOptions, memory: int | None) -> float:
    """Return the most bytes of held rows for which a join does without an exchange; -1 = none."""
    most = options.broadcast_size if options.adaptive else 0
    if memory is not None:
        most = min(most, memory // (2 * EXPANSION))  # half of a task's memory is left to its other rows
    return most or -1


def _without(exchange: Exchange, size: int) -> PlanChanged:
    held = tuple(sorted({stage for stage, _ in exchange.held}))
    names = " and ".join(f"stage {stage}" for stage in held)
    return PlanChanged(
        BroadcastJoin(exchange.join, exchange.streamed, held),
        f"stage {exchange.join} joins the rows of stage {exchange.streamed} without an exchange:"
        f" {names} wrote only {size} bytes",
    )


def split(
    plan: StagePlan, state: JobState, stage: JobStage, buckets: int, options: JobOptions, memory: int | None
) -> PlanChanged | None:
    """Return a change by which several tasks of the stage share its large buckets; None if no bucket is much
    larger than the others, or if the rows must stay together. ``buckets``: the number of buckets. The other
    arguments are those of :func:`broadcast`; the stage's inputs are complete."""
    if not options.adaptive or not stage.free or not plan.is_alone(stage.number):
        return None
    streamed = [files_of(state, stage.inputs[place]) for place in stage.free]
    divided = read_by_bucket(plan, state, stage)
    sizes = bucket_sizes(divided, buckets)
    free = bucket_sizes(streamed, buckets)
    batches = [0] * buckets
    for bucket in chain.from_iterable(file.buckets for files in streamed for file in files):
        batches[bucket] += 1
    found = shared(sizes, free, batches, options, memory, bucket_rows(divided, buckets))
    if found is None:
        return None
    ranges, parts = found
    largest = max((size, bucket) for bucket, size in enumerate(free))
    count = len({span for span, (_, of) in zip(ranges, parts, strict=True) if of > 1})
    return PlanChanged(
        SplitBuckets(stage.number, stage.free, ranges, parts),
        f"several tasks of stage {stage.number} share {count} of {buckets} buckets:"
        f" bucket {largest[1]} has {largest[0]} of {sum(free)} bytes",
    )


def files_of(state: JobState, source: StageInput) -> tuple[SpoolFile, ...]:
    """Return the files of a complete input."""
    return state.files_of(source.stage, source.output)


def read_by_bucket(plan: StagePlan, state: JobState, stage: JobStage) -> list[tuple[SpoolFile, ...]]:
    """Return the files of each input of the stage of which a task reads only some buckets."""
    return [
        files_of(state, source)
        for source in stage.inputs
        if plan.output_of(source).kind in DIVIDED and not source.is_whole
    ]


def bucket_sizes(inputs: Sequence[Sequence[SpoolFile]], buckets: int) -> list[int]:
    """Return for each bucket the bytes of its rows in the files of all inputs."""
    return _sums((file.bucket_bytes for file in chain.from_iterable(inputs)), buckets)


def bucket_rows(inputs: Sequence[Sequence[SpoolFile]], buckets: int) -> list[int]:
    """Return for each bucket the number of its rows in the files of all inputs."""
    return _sums((file.bucket_rows for file in chain.from_iterable(inputs)), buckets)


def _sums(counts: Iterable[Sequence[int]], buckets: int) -> list[int]:
    sums = [0] * buckets
    for of_file in counts:
        for bucket, count in enumerate(of_file):
            sums[bucket] += count
    return sums
