"""The state of a durable job: the sum of the events in its log.

A coordinator applies each event once the event is durable; its successor applies the same events in the same
order, and so has the same state.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from sqlfront_engine.durable.event_store.events import (
    CancelRequested,
    CleanupDone,
    EpochStarted,
    Event,
    FinishedTask,
    JobEnded,
    JobSubmitted,
    PlanChanged,
    SinkCommitted,
    SinkPrepared,
    SplitBuckets,
    SplitsIssued,
    StageInitialized,
    TaskFinished,
    TaskId,
    TasksReset,
)
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.errors import InternalError

if TYPE_CHECKING:
    # Spark's executors run tasks, and lack the packages that only readers of logs need.
    from sqlfront_engine.durable.event_store.replay import Replay


class IssuedSplits(msgspec.Struct, frozen=True):
    """The splits of a source that were given to tasks so far, by their numbers, and the state of the source's
    enumerator behind the last of them; None = its beginning."""

    splits: tuple[bytes, ...] = ()
    state: bytes | None = None

    def followed(self, event: SplitsIssued) -> "IssuedSplits":
        """Return these splits with those of the next event. Raises InternalError if the event doesn't follow
        these splits."""
        if event.first != len(self.splits):
            raise InternalError(f"split {event.first} of {event.vertex} follows {len(self.splits)} splits")
        return IssuedSplits(self.splits + event.splits, event.state)


class JobState:
    """The state of a job after the events in its log. ``epoch``: the epoch of the last coordinator.
    ``changes``: the changes of the plan, in order; ``splits``: for each stage with shared buckets its
    division. ``written``: the bytes of the rows of each output (numbers of stage and output) in the files of
    finished tasks. ``finished``: for each finished task the event with the output that counts. ``finishes``:
    the number of task ends so far; ``resets``: the number of finished tasks that had to run again.
    ``restored``: the number of tasks that the last coordinator took as finished from its predecessors.
    ``issued``: by stage and vertex, the splits of sources that were given to tasks; ``splits_of``: for each
    task that has ever finished, the numbers of the splits that it reads, by vertex."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.submitted: JobSubmitted | None = None
        self.stages: dict[int, StageInitialized] = {}
        self.issued: dict[tuple[int, str], IssuedSplits] = {}
        self.splits_of: dict[TaskId, dict[str, tuple[int, ...]]] = {}
        self.changes: list[PlanChanged] = []
        self.splits: dict[int, SplitBuckets] = {}
        self.finished: dict[TaskId, TaskFinished] = {}
        # The number of finished tasks of each stage.
        self._counts: Counter[int] = Counter()
        self.written: Counter[tuple[int, int]] = Counter()
        self.cancelled: CancelRequested | None = None
        self.prepared: SinkPrepared | None = None
        self.committed: SinkCommitted | None = None
        self.ended: JobEnded | None = None
        self.is_clean = False
        self.epoch = 0
        self.restored = 0
        self.finishes = 0
        self.resets = 0
        for event in events:
            self.apply(event)

    @classmethod
    def of(cls, replay: "Replay") -> "JobState":
        """Return the state of a job after the events of the replay's records."""
        return cls(record.event() for record in replay.records)

    def is_complete(self, stage: int) -> bool:
        """Return whether the stage has begun and all its tasks are finished."""
        begun = self.stages.get(stage)
        return begun is not None and self._counts[stage] == begun.parallelism

    def files_of(self, stage: int, output: int) -> tuple[SpoolFile, ...]:
        """Return the spool files of one output of a complete stage, in the order of the stage's tasks.
        ``output`` is the output's number, from 0."""
        tasks = range(self.stages[stage].parallelism)
        return tuple(self.finished[TaskId(stage, task)].output.files[output] for task in tasks)

    @property
    def is_delivering(self) -> bool:
        """Whether the job's rows may be in the target already, although the job has not ended."""
        return self.prepared is not None and self.ended is None

    @property
    def files(self) -> set[str]:
        """The paths of the spool files of all finished tasks."""
        return {file.path for finish in self.finished.values() for file in finish.output.files}

    def accepted(self) -> tuple[FinishedTask, ...]:
        """Return the finished tasks, each with the attempt whose output counts."""
        return tuple(FinishedTask(task, finish.attempt) for task, finish in self.finished.items())

    def apply(self, event: Event) -> None:
        """Change the state by the next event of the log. Raises InternalError if the event contradicts the
        state, or is of a kind that no coordinator writes."""
        match event:
            case JobSubmitted():
                self.submitted = event
            case EpochStarted():
                self.epoch, self.restored = event.epoch, len(event.finished)
                self.forget(event.reset)
                if event.finished != self.accepted():
                    raise InternalError(
                        f"epoch {event.epoch} of the job accepted other tasks than its log has"
                    )
            case StageInitialized():
                self.stages[event.stage] = event
            case SplitsIssued():
                place = event.stage, event.vertex
                self.issued[place] = self.issued.get(place, IssuedSplits()).followed(event)
            case PlanChanged():
                self.changes.append(event)
                if isinstance(event.change, SplitBuckets):
                    self.splits[event.change.stage] = event.change
            case TaskFinished():
                if event.splits:
                    self.splits_of.setdefault(event.task, event.splits)
                if event.task not in self.finished:  # else the report is a duplicate
                    self.finished[event.task] = event
                    self._count(event, 1)
                    self.finishes += 1
            case TasksReset():
                self.forget(event.tasks)
            case CancelRequested():
                self.cancelled = self.cancelled or event
            case SinkPrepared():
                self.prepared = event
            case SinkCommitted():
                self.committed = event
            case JobEnded():
                self.ended = self.ended or event
            case CleanupDone():
                self.is_clean = True
            case _:
                raise InternalError(f"no coordinator writes the event {type(event).__name__} yet")

    def forget(self, tasks: Iterable[TaskId]) -> None:
        """Mark tasks as not finished, so that they run again; tasks that were not finished stay so."""
        for task in tasks:
            finish = self.finished.pop(task, None)
            if finish is not None:
                self._count(finish, -1)
                self.resets += 1

    def _count(self, finish: TaskFinished, sign: int) -> None:
        """Add (``sign`` 1) or subtract (-1) a finished task in the sums."""
        stage = finish.task.stage
        self._counts[stage] += sign
        for output, file in enumerate(finish.output.files):
            self.written[stage, output] += sign * sum(file.bucket_bytes)
