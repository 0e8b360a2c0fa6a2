"""The splits that the coordinator of a durable job gives to the tasks of stages with SPLIT SCANs.

The coordinator's thread tells of the runs' beginnings and ends; the threads of tasks ask for splits. Each
split is at any time either not given out yet, or held by one run, or read by an accepted run of one task, to
which the split belongs from then on: if that task runs again, it reads the same splits in the same order.

The log has, before the record of a finished task, the splits that were given out until then and a state of
the enumerator behind them (:class:`~sqlfront_engine.durable.event_store.events.SplitsIssued`). A successor
gives out the logged splits that belong to no task, and then what the enumerator finds behind that state. So
neither an old nor a young state loses or repeats a split: a split counts as read by the record of a finished
task alone.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from threading import Lock
from typing import Protocol

from sqlfront_engine.durable.event_store.events import SplitsIssued, TaskId
from sqlfront_engine.durable.job_state import IssuedSplits, JobState
from sqlfront_engine.durable.stages import SplitKind, StagePlan
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_engine.processors.sources.split_scan import (
    BatchSnapshot,
    SourceUnavailableError,
    SplitEnumerator,
    SplitScan,
    SplitSource,
)
from sqlfront_values.errors import OperationalError

_GIVEN_UP = "the run of the task was given up"


class _Enumeration:
    """The enumerator of a source, made when the first split is asked for. Its user calls it from one thread
    at a time, except :meth:`close`."""

    def __init__(self, source: SplitSource, state: bytes | None = None) -> None:
        self._source, self._state = source, state
        self._enumerator: SplitEnumerator | None = None
        self._has_ended = self._is_closed = False

    def next_split(self) -> bytes | None:
        """Return the next split, None after the last one. Raises the enumerator's error, and OperationalError
        if the enumeration is closed."""
        if self._has_ended:
            return None
        split = self._open().next_split()
        if self._is_closed:
            raise OperationalError(_GIVEN_UP)
        self._has_ended = split is None
        return split

    def snapshot(self) -> bytes:
        """Return the state of the enumerator, which is a :class:`BatchSnapshot`."""
        enumerator = self._open()
        assert isinstance(enumerator, BatchSnapshot)
        return enumerator.snapshot()

    def _open(self) -> SplitEnumerator:
        if self._enumerator is None and not self._is_closed:
            self._enumerator = enumerator = self._source.enumerator()
            if self._state is not None:
                assert isinstance(enumerator, BatchSnapshot)
                enumerator.restore(self._state)
        if self._is_closed or self._enumerator is None:
            self.close()
            raise OperationalError(_GIVEN_UP)
        return self._enumerator

    def close(self) -> None:
        """Close the enumerator: whoever waits for a split gets an error. May be called on any thread."""
        self._is_closed = True
        if self._enumerator is not None:
            self._enumerator.close()


class _Handout(Protocol):
    """The handing out of the splits of one vertex to the runs of its stage."""

    def next_split(self, run: "RunSplits") -> bytes | None:
        """Return the next split for a run, None if there is none. Raises OperationalError if the run was
        given up."""

    def complete(self, run: "RunSplits") -> None:
        """Prepare the record of a run that has read all splits that it wanted; called on the run's thread."""

    def finish(self, run: "RunSplits") -> tuple[int, ...]:
        """Return the numbers of the splits that a complete run has read: they belong to its task from now on.
        Empty if splits have no numbers."""

    def unlogged(self) -> tuple[int, tuple[bytes, ...], bytes] | None:
        """Return what the log has to know before the record of a finished run: the number of the first split
        that the log doesn't have, the splits from this one on, and a state of the enumerator behind them;
        None if the log knows all. The caller writes the answer to the log."""

    def give_up(self, run: "RunSplits") -> None:
        """Take the splits of a run back, which doesn't count."""

    def close(self) -> None:
        """Give out nothing any more: runs that wait for a split get an error."""


class _PassedOnce:
    """The handing out of splits that can't be given out a second time: one pass over the source."""

    def __init__(self, source: SplitSource) -> None:
        self._enumeration = _Enumeration(source)
        self._asking = Lock()

    def next_split(self, run: "RunSplits") -> bytes | None:
        with self._asking:
            if run.is_over:
                raise OperationalError(_GIVEN_UP)
            return self._enumeration.next_split()

    def complete(self, run: "RunSplits") -> None:
        pass

    def finish(self, run: "RunSplits") -> tuple[int, ...]:
        return ()

    def unlogged(self) -> None:
        return None

    def give_up(self, run: "RunSplits") -> None:
        pass

    def close(self) -> None:
        self._enumeration.close()


class _Restorable:
    """The handing out of numbered splits, whose enumerator can be restored. ``issued``: the splits that the
    log has; ``owned``: the splits of each task that has finished once, by number."""

    def __init__(
        self, source: SplitSource, issued: IssuedSplits, owned: Mapping[TaskId, tuple[int, ...]]
    ) -> None:
        self._enumeration = _Enumeration(source, issued.state)
        # Held while the enumerator works, and so perhaps for long.
        self._asking = Lock()
        self._lock = Lock()
        # Guarded by the lock: all splits by number; those that belong to tasks; those that nobody has; those
        # of each run; and the enumerator's state behind the first splits, with the number of these.
        self._splits = list(issued.splits)
        self._owned = dict(owned)
        taken = {number for numbers in owned.values() for number in numbers}
        self._free = deque(number for number in range(len(self._splits)) if number not in taken)
        self._held: dict[RunId, list[int]] = {}
        self._snapshot = len(self._splits), b""
        self._logged = len(self._splits)

    def next_split(self, run: "RunSplits") -> bytes | None:
        with self._lock:
            if run.is_over:
                raise OperationalError(_GIVEN_UP)
            held, owned = self._held.setdefault(run.id, []), self._owned.get(run.id.task)
            if owned is not None:
                if len(held) == len(owned):
                    return None
                held.append(owned[len(held)])
                return self._splits[held[-1]]
            if self._free:
                held.append(self._free.popleft())
                return self._splits[held[-1]]
        with self._asking:
            split = self._enumeration.next_split()
            if split is not None:
                self._add(split, run)
        return split

    def _add(self, split: bytes, run: "RunSplits") -> None:
        with self._lock:
            number = len(self._splits)
            self._splits.append(split)
            if run.is_over:
                self._free.append(number)
                raise OperationalError(_GIVEN_UP)
            self._held[run.id].append(number)

    def complete(self, run: "RunSplits") -> None:
        with self._asking:
            count = len(self._splits)  # only who asks adds splits
            if count > self._snapshot[0]:
                state = self._enumeration.snapshot()
                with self._lock:
                    self._snapshot = count, state

    def finish(self, run: "RunSplits") -> tuple[int, ...]:
        with self._lock:
            held = tuple(self._held.pop(run.id, ()))
            return self._owned.setdefault(run.id.task, held)

    def unlogged(self) -> tuple[int, tuple[bytes, ...], bytes] | None:
        with self._lock:
            first, (count, state) = self._logged, self._snapshot
            if count == first:
                return None
            self._logged = count
            return first, tuple(self._splits[first:count]), state

    def give_up(self, run: "RunSplits") -> None:
        with self._lock:
            held = self._held.pop(run.id, [])
            if run.id.task not in self._owned:
                self._free.extend(held)

    def close(self) -> None:
        self._enumeration.close()


class RunSplits:
    """The splits that one run of a task reads: a
    :class:`~sqlfront_engine.processors.sources.split_scan.TaskSplits`. ``handouts``: by the name of the
    vertex."""

    def __init__(self, run: RunId, handouts: Mapping[str, _Handout]) -> None:
        self.id, self._handouts = run, handouts
        #: Whether the run was given up.
        self.is_over = False

    def next_split(self, vertex: str) -> bytes | None:
        """Return the next split for the scan with this vertex, None if the run has to read no further one.
        May wait. Raises OperationalError if the run was given up."""
        return self._handouts[vertex].next_split(self)

    def complete(self) -> None:
        """Prepare the record of the run, which has done its work; to be called on the run's thread, since the
        call may wait. Raises the error of an enumerator's snapshot."""
        for handout in self._handouts.values():
            handout.complete(self)

    def give_up(self) -> None:
        """Take the splits of the run back: they go to other runs."""
        self.is_over = True
        for handout in self._handouts.values():
            handout.give_up(self)


class SplitAssignments:
    """The splits of all SPLIT SCANs of a job, as the coordinator of one epoch gives them out. ``sources``:
    the objects of this process that the job's sources need, by key, among them a :class:`SplitSource` for
    each SPLIT SCAN. ``state``: the job's state at the beginning of the epoch. Only the coordinator's thread
    calls the methods other than :meth:`of`."""

    def __init__(self, plan: StagePlan, sources: Mapping[str, object], state: JobState) -> None:
        self._plan, self._sources, self._state = plan, sources, state
        self._lock = Lock()
        # The tasks of each stage that have ended in the present pass over the stage's sources.
        self._ended: defaultdict[int, set[int]] = defaultdict(set)
        # The handouts of the stages whose tasks have begun; changed by the coordinator's thread.
        self._handouts: dict[int, dict[str, _Handout]] = {}
        # Guarded by the lock: the runs under way.
        self._runs: dict[RunId, RunSplits] = {}

    def begin(self, run: TaskRun) -> None:
        """Note that a run begins."""
        stage = run.tasks.stage
        if stage.splits is SplitKind.LISTED:
            return
        if stage.number not in self._handouts:
            self._handouts[stage.number] = self._made(stage.number)
        with self._lock:
            self._runs[run.run_id] = RunSplits(run.run_id, self._handouts[stage.number])

    def _made(self, stage: int) -> dict[str, _Handout]:
        scans = {name: self._plan.dag[name].processor for name in self._plan.stages[stage].vertices}
        return {
            name: self._handout(stage, name, scan)
            for name, scan in scans.items()
            if isinstance(scan, SplitScan)
        }

    def _handout(self, stage: int, vertex: str, scan: SplitScan) -> _Handout:
        source = self._sources.get(scan.resource)
        if not isinstance(source, SplitSource):
            raise SourceUnavailableError(f"the source {scan.table} of the job is not at hand")
        if not scan.is_restorable:
            return _PassedOnce(source)
        issued = self._state.issued.get((stage, vertex), IssuedSplits())
        owned = {
            task: splits.get(vertex, ())
            for task, splits in self._state.splits_of.items()
            if task.stage == stage
        }
        return _Restorable(source, issued, owned)

    def of(self, run: RunId) -> RunSplits | None:
        """Return the splits of a run; None if the run has none, or was given up. May be called on any
        thread."""
        with self._lock:
            return self._runs.get(run)

    def finish(self, run: TaskRun) -> tuple[list[SplitsIssued], dict[str, tuple[int, ...]]]:
        """Note that a run has ended with files which are going to count. Returns the events that have to be
        durable before the record of its end, and the splits of that record."""
        with self._lock:
            splits = self._runs.pop(run.run_id, None)
        if splits is None:
            return [], {}
        stage, issued, numbers = run.id.stage, [], {}
        for vertex, handout in self._handouts[stage].items():
            read, unlogged = handout.finish(splits), handout.unlogged()
            if unlogged is not None:
                issued.append(SplitsIssued(stage, vertex, *unlogged))
            if isinstance(handout, _Restorable):
                numbers[vertex] = read
        self._ended[stage].add(run.task)
        if (
            run.tasks.stage.splits is SplitKind.PASSED_ONCE
            and len(self._ended[stage]) == run.tasks.parallelism
        ):
            self.restart([stage])  # a source may have more rows than LIMIT has let the tasks read
        return issued, numbers

    def give_up(self, run: TaskRun) -> None:
        """Note that a run doesn't count: its splits go to other runs."""
        with self._lock:
            splits = self._runs.pop(run.run_id, None)
        if splits is not None:
            splits.give_up()

    def restart(self, stages: Collection[int]) -> None:
        """End the pass over the sources of these stages; if a task of them begins again, so does another
        pass."""
        for stage in stages:
            self._ended.pop(stage, None)
            for handout in self._handouts.pop(stage, {}).values():
                handout.close()

    def close(self) -> None:
        """Give out nothing any more: runs that wait for a split end with an error."""
        self.restart([*self._handouts])
