"""A program that has two coordinators of a small job killed in a row, the first at a given fsync and the
second at each of its own, and that checks what the third one does::

    python -m tests.engine.durable.crash_pairs FOLDER 7 lose

``lose``: before the second coordinator, the file of a finished task is removed (else ``keep``). Each
coordinator is a process, forked from this one. The program prints the numbers of the crashes of both.
"""

import os
import random
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from sqlfront_engine.durable.division import JobOptions
from sqlfront_engine.durable.event_store.events import JobEnd, JobEnded, TaskId
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.stages import cut
from sqlfront_engine.system_calls import SystemCalls
from tests.engine.durable.durable_jobs import (
    KilledAt,
    all_tasks,
    join_dag,
    noted_tasks,
    right_answer,
    rows_of,
    run_job,
    state_in,
)

#: The lines of the small job; each customer has some of them.
LINES: Final = 200
OPTIONS: Final = JobOptions(parallelism=3, buckets=6, task_size=1, adaptive=False)
PLAN: Final = cut(join_dag("unused", LINES))


def run_small(folder: Path, calls: SystemCalls | None = None) -> JobEnded:
    """Begin or take over the small job below the folder, and run it to its end."""
    ledger = str(folder / "ledger")
    return run_job(folder, ledger, calls, dag=join_dag(ledger, LINES), options=OPTIONS)


def is_killed(call: Callable[[], object]) -> bool:
    """Call the function in a fork of this process, and return whether the fork got SIGKILL; AssertionError if
    the function raised an error, which is printed."""
    process = os.fork()
    if process == 0:
        try:
            call()
        except BaseException:  # noqa: BLE001 - the fork must not go on behind the call
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def lost_in(state: JobState) -> set[TaskId]:
    """The finished tasks of a state whose files are gone."""
    return {
        task
        for task, finish in state.finished.items()
        if not all(Path(file.path).exists() for file in finish.output.files)
    }


def with_lost_inputs(tasks: set[TaskId], lost: set[TaskId]) -> set[TaskId]:
    """Return tasks that have to run, with those among the ``lost`` ones whose rows they read, and so on."""
    stages = {task.stage for task in tasks}
    read = {task for task in lost if stages & {reader.number for reader in PLAN.consumers(task.stage)}}
    return tasks if read <= tasks else with_lost_inputs(tasks | read, lost)


def check_end(folder: Path) -> None:
    """Have a third coordinator run the job to its end, and check the answer, the tasks that run, as they note
    it themselves, and the files that are left."""
    before = state_in(folder)
    lost = lost_in(before)
    (folder / "ledger").unlink(missing_ok=True)

    end = run_small(folder)

    assert end.state is JobEnd.FINISHED, end.error
    assert rows_of(end.result) == right_answer(LINES)
    unfinished = all_tasks(state_in(folder)) - before.finished.keys() if before.ended is None else set()
    ran = noted_tasks(folder / "ledger", PLAN)
    assert Counter(ran) == Counter(with_lost_inputs(unfinished, lost)), (ran, unfinished, lost)
    assert len(os.listdir(folder / "spool")) == 1


def lose(folder: Path, seed: int) -> None:
    """Remove the file of a finished task, if there is one; not that of the result."""
    finished = [task for task in state_in(folder).finished if task.stage < PLAN.stages[-1].number]
    if finished:
        task = random.Random(seed).choice(finished)
        for file in state_in(folder).finished[task].output.files:
            Path(file.path).unlink(missing_ok=True)


def crash_pairs(folder: Path, first: int, *, loses: bool) -> tuple[int, int]:
    """Check the job after a crash at the fsync ``first``, and another one at each fsync of the successor;
    return the numbers of the crashes: 0 or 1, and those of the successor. ``loses``: whether a file is lost
    between the coordinators."""
    begun, job = folder / "begun", folder / "job"
    begun.mkdir()
    job.symlink_to(begun)  # the log has the paths of files
    crashes = is_killed(lambda: run_small(job, KilledAt(first, after=False)))
    job.unlink()
    for second in count(1):
        shutil.copytree(begun, job)
        if loses and state_in(job).ended is None:
            lose(job, first * 1000 + second)
        calls = KilledAt(second, after=True)
        crashed = is_killed(lambda calls=calls: run_small(job, calls))  # type: ignore[misc]
        assert not is_killed(lambda: check_end(job))
        shutil.rmtree(job)
        if not crashed:
            return int(crashes), second - 1
    raise AssertionError


if __name__ == "__main__":
    print(*crash_pairs(Path(sys.argv[1]), int(sys.argv[2]), loses=sys.argv[3] == "lose"))
