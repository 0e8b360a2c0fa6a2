"""The tasks that have to run again after outputs were lost.

An output is *needed* while a task that reads it is not finished. A lost output that nobody needs costs
nothing. A task that runs again needs its own inputs, so that the search goes on upstream. If the rows of the
second run may differ from those of the first, the finished readers of the rows run again, too, downstream;
and so do tasks that share a bucket, if one of its files is made anew, since each has read a part of it.
"""

import os
from collections.abc import Collection, Mapping

import msgspec

from sqlfront_engine.durable.event_store.events import TaskFinished, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import StagePlan


class Reset(msgspec.Struct, frozen=True):
    """The finished tasks that have to run again. ``changed``: the numbers of the stages whose rows may differ
    after that, including stages that have no finished task now."""

    tasks: frozenset[TaskId] = frozenset()
    changed: frozenset[int] = frozenset()

    @property
    def in_order(self) -> tuple[TaskId, ...]:
        """The tasks that have to run again, sorted by stage and number."""
        return in_order(self.tasks)


def in_order(tasks: Collection[TaskId]) -> tuple[TaskId, ...]:
    """Return the tasks sorted by stage and number."""
    return tuple(sorted(tasks, key=lambda task: (task.stage, task.task)))


def reset_after_loss(plan: StagePlan, state: JobState, sizes: Mapping[str, int]) -> Reset:
    """Return the tasks to run again because a file that is still needed is missing, or has another size than
    the log says, or because another pass over a source begins. ``sizes``: the sizes in bytes of the files
    that the job has now, by the files' names. The contents of a file are not checked here, but when a task
    reads the file."""
    lost = {
        task
        for task in state.finished
        if task.stage in plan.passed_once and not state.is_complete(task.stage)
    }
    while True:
        reset = reset_for(plan, state, lost)
        again = {task.stage for task in reset.tasks}
        found = {
            task
            for task, finish in state.finished.items()
            if task not in lost
            and not _has_files(finish, sizes)
            and is_needed(plan, state, task.stage, again)
        }
        if not found:
            return reset
        lost |= found


def reset_for(plan: StagePlan, state: JobState, lost: Collection[TaskId]) -> Reset:
    """Return the tasks to run again because the files of the finished tasks ``lost`` can't be read: those of
    the tasks whose files are still needed, and the finished tasks that have read rows which a second run may
    make differently. Of a stage that passes once over its sources, all tasks run again if one has to."""
    tasks: set[TaskId] = set()
    changed: set[int] = set()
    # A second run may write the same rows in other batches, so that a part has other rows.
    in_parts = {
        plan.stages[split.stage].inputs[place].stage
        for split in state.splits.values()
        for place in split.inputs
    }
    while True:
        again = {task.stage for task in tasks}
        found = {task for task in lost if is_needed(plan, state, task.stage, again)}
        # A stage whose tasks wait to run again, after an earlier reset, passes other rows on as well: its
        # finished readers have read the former ones.
        other = {
            stage.number
            for stage in plan.stages
            if stage.number in changed or any(source.stage in changed for source in stage.inputs)
        }
        passes = plan.passed_once.intersection(again | {task.stage for task in found})
        for task, finish in state.finished.items():
            stage = plan.stages[task.stage]
            if task.stage in passes or any(source.stage in other for source in stage.inputs):
                found.add(task)
            if task in tasks and (not finish.deterministic or task.stage in in_parts):
                other.add(task.stage)
        if found <= tasks and other == changed:
            return Reset(frozenset(tasks), frozenset(changed))
        tasks |= found
        changed = other


def is_needed(plan: StagePlan, state: JobState, stage: int, again: Collection[int]) -> bool:
    """Return whether outputs of the stage will still be read: a stage that reads them is not complete or is
    in ``again``, the stages with tasks that run again. Outputs of the last stage, the result, are always
    needed."""
    readers = plan.consumers(stage)
    return not readers or any(
        reader.number in again or not state.is_complete(reader.number) for reader in readers
    )


def _has_files(finish: TaskFinished, sizes: Mapping[str, int]) -> bool:
    return all(sizes.get(os.path.basename(file.path)) == file.bytes for file in finish.output.files)
