"""Durable jobs whose tasks run on members that outlive the coordinators, in a simulation: the result is right
whatever fails, no task begins anew that a member runs, and no file is left. Planted faults are found."""

from collections.abc import Collection
from contextlib import chdir
from pathlib import Path

import pytest

from sqlfront_cluster.durable_tasks import task_service
from sqlfront_cluster.durable_tasks.task_service import TaskService, _JobTasks
from sqlfront_engine.durable.coordinator import Coordinator
from sqlfront_engine.durable.tasks import RunId, TaskRun
from tests.cluster.durable_tasks.simulated_members import MemberWorld
from tests.engine.durable.seeds import Plant, check_found, planted, runs
from tests.engine.durable.simulated_jobs import check

#: Seeds in a group; the command for long runs has all groups.
GROUP = 25


def simulate(folder: Path, seed: int) -> MemberWorld:
    with chdir(folder):
        world = MemberWorld(folder, seed, faults=0.1)
        check(world, world.run())
    return world


@pytest.mark.parametrize(
    "group", [0, *(pytest.param(group, marks=pytest.mark.soak) for group in range(1, 400))]
)
def test_the_result_is_right_whatever_fails(tmp_path: Path, group: int) -> None:
    adopted = refused = retained = 0
    for world in runs(tmp_path, range(group * GROUP, (group + 1) * GROUP), simulate):
        adopted += world.adopted
        refused += world.refused
        retained += world.retained
    assert retained
    assert adopted
    assert refused


# ---- planted faults


def _adopted_tasks_count_twice(patch: pytest.MonkeyPatch) -> None:
    adopts = Coordinator._adopts

    def adopted(self: Coordinator, run: TaskRun) -> bool:
        is_adopted = adopts(self, run)
        if is_adopted:
            self._waiting[run.id.stage].append(run.task)
        return is_adopted

    patch.setattr(Coordinator, "_adopts", adopted)


def _stale_runs_are_adopted(patch: pytest.MonkeyPatch) -> None:
    """Also those that read files which don't count any more."""

    def adopted(self: Coordinator, run: TaskRun) -> bool:
        stage, task = run.id.stage, run.task
        if stage not in self.state.stages or not self._is_ready(self.plan.stages[stage]):
            return False
        if task not in self._waiting[stage]:
            return False
        self._waiting[stage].remove(task)
        self._running[run.id] = run
        self._busy += 1
        return True

    patch.setattr(Coordinator, "_adopts", adopted)


def _older_epochs_are_obeyed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(task_service, "check_epoch", lambda question, epoch: None)


def _nothing_is_adopted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Coordinator, "_adopts", lambda self, run: False)


def _members_forget_what_they_have_told(patch: pytest.MonkeyPatch) -> None:
    told = _JobTasks._ends

    def ends(self: _JobTasks) -> object:
        ended = told(self)
        for end in ended:
            self._runs.pop(end.run, None)
        return ended

    patch.setattr(_JobTasks, "_ends", ends)


def _members_tell_only_the_first_coordinator(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_JobTasks, "epoch", property(lambda self: min(1, self._learned.epoch)))


def _members_remove_files_that_count(patch: pytest.MonkeyPatch) -> None:
    drop = _JobTasks._drop_others

    def dropped(self: _JobTasks, adopted: Collection[RunId]) -> None:
        for run in self._runs.keys() - set(adopted):
            end = self._runs[run].end
            if end is not None:
                self._remove(end.output)
        drop(self, adopted)

    patch.setattr(_JobTasks, "_drop_others", dropped)


def _files_of_adopted_runs_are_removed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TaskRun, "paths", ())


def _leases_do_not_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TaskService, "_end_lease", lambda self, job, learned: None)


def _dropped_runs_keep_their_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(task_service, "remove_output", lambda output, places: None)


def _members_keep_outputs_of_jobs_that_are_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_JobTasks, "_remove_outputs", lambda self: None)


def _outputs_that_count_are_removed(patch: pytest.MonkeyPatch) -> None:
    remove = _JobTasks._remove_files_except
    patch.setattr(_JobTasks, "_remove_files_except", lambda self, kept: remove(self, kept[1:]))


def _late_members_keep_what_they_have(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_JobTasks, "_remove_files_except", lambda self, kept: None)


#: The planted faults, and where to begin with the search for a seed that finds each: at the first such seed.
PLANTED: dict[Plant, int] = {
    _adopted_tasks_count_twice: 0,
    _stale_runs_are_adopted: 27,
    _older_epochs_are_obeyed: 0,
    _nothing_is_adopted: 4,
    _members_forget_what_they_have_told: 4,
    _members_tell_only_the_first_coordinator: 0,
    _members_remove_files_that_count: 1,
    _files_of_adopted_runs_are_removed: 40,
    _leases_do_not_end: 17,
    _dropped_runs_keep_their_files: 7,
    _members_keep_outputs_of_jobs_that_are_over: 0,
    _outputs_that_count_are_removed: 48,
    _late_members_keep_what_they_have: 6,
}


@planted(PLANTED)
def test_a_planted_fault_is_found(
    plant: Plant, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    check_found(tmp_path, first, simulate)
