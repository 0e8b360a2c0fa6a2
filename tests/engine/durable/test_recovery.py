"""The tasks that run again after a loss."""

from sqlfront_engine.dag import DAG
from sqlfront_engine.durable.event_store.events import (
    Attempt,
    Manifest,
    StageInitialized,
    TaskFinished,
    TaskId,
    TasksReset,
)
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.recovery import reset_for
from sqlfront_engine.durable.stages import JobStage, OutputKind, StageInput, StageOutput, StagePlan


def test_other_rows_reach_readers_through_a_task_that_waits_to_run_again() -> None:
    """The rows of stage 0 differ each time; stage 1 passes them on, and was reset before: its one finished
    reader has the former rows."""
    every = StageOutput("vertex", OutputKind.ALL)
    result = StageOutput("vertex", OutputKind.RESULT)
    stages = (
        JobStage(0, (), False, (), (every,), False),
        JobStage(1, (), False, (StageInput(0, 0, 0),), (every,), True),
        JobStage(2, (), True, (StageInput(1, 0, 0),), (result,), True),
    )
    state = JobState(StageInitialized(stage, ((0, 1),) * (1 + stage // 2), 2, "", None) for stage in range(3))
    for task in (TaskId(0, 0), TaskId(1, 0), TaskId(2, 0)):
        state.apply(TaskFinished(task, Attempt(1, 1), "m", "i", Manifest(()), task.stage != 0))
    state.apply(TasksReset((TaskId(1, 0),), "lost"))

    reset = reset_for(StagePlan(DAG(), stages, (0, 1, 2)), state, [TaskId(0, 0)])

    assert reset.tasks == {TaskId(0, 0), TaskId(2, 0)}
    assert reset.changed >= {0, 1}
