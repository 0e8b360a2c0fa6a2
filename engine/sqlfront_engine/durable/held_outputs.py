"""The outputs that members hold on their own disks, as a coordinator's successor learns of them."""

import os
from collections.abc import Callable

from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.recovery import Reset, is_needed, reset_after_loss
from sqlfront_engine.durable.runner import Holdings
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.spool.places import is_on_member, member_of


def recorded_sizes(state: JobState, counts: Callable[[str], bool]) -> dict[str, int]:
    """Return the sizes in bytes of finished tasks' files as the log has them, by the names of the files.
    ``counts``: whether a file, given its path, is of interest."""
    return {
        os.path.basename(file.path): file.bytes
        for finish in state.finished.values()
        for file in finish.output.files
        if counts(file.path)
    }


def lost_on_members(plan: StagePlan, state: JobState, holdings: Holdings) -> Reset:
    """Return the tasks to run again because outputs on members are lost and still needed. All other files are
    taken as present."""
    elsewhere = recorded_sizes(state, lambda path: not is_on_member(path))
    return reset_after_loss(plan, state, {**elsewhere, **holdings.sizes})


def awaits_members(plan: StagePlan, state: JobState, holdings: Holdings) -> bool:
    """Return whether a member that has not answered may hold an output that is still needed: one that a task
    will read, by what is known so far to be lost."""

    def is_open(path: str) -> bool:
        return member_of(path) in holdings.silent

    hoped = {**recorded_sizes(state, is_open), **holdings.sizes}
    reset = lost_on_members(plan, state, Holdings(hoped))
    again = {task.stage for task in reset.tasks}
    return any(
        is_open(file.path)
        for task, finish in state.finished.items()
        if task not in reset.tasks and is_needed(plan, state, task.stage, again)
        for file in finish.output.files
    )
