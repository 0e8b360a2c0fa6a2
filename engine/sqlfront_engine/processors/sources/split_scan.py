"""SPLIT SCAN: a source whose splits can't be listed before they are read, and the contract of such sources.

A *split* is a unit of a source's input, as bytes that the source itself understands. Other sources of durable
jobs know their splits (files, ranges) when the job is planned, so that task t of n reads the splits t, t + n
and so on. The splits of a :class:`SplitSource` are found while the tasks run: its :class:`SplitEnumerator`,
in the process of the job's coordinator, gives the next split to the task that asks first. So a slow reader is
not overrun: there is no split until a task asks.

An enumerator dies with its coordinator. A successor gets a new one from the source:

* If the enumerator is a :class:`BatchSnapshot`, the job's log has its state. Finished tasks are kept, and
  unfinished tasks read the splits that no finished task has read. Each split is read by one accepted run.
* If not, the new enumerator may give other splits. The outputs of a stage are then those of one pass over the
  source: if some tasks of the stage were not finished, all of them run again; and so they do if an output of
  one is lost, or if a run of one fails.
"""

from collections.abc import Iterable
from typing import ClassVar, Final, Protocol, runtime_checkable

import pyarrow as pa

from sqlfront_engine.processor import END_OF_PIECE, Processor, ProcessorContext, Steps
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import InternalError, OperationalError

#: The key of the job's resource with the splits that a run of a task reads, a :class:`TaskSplits`.
TASK_SPLITS: Final = "splits of the task"


class SourceUnavailableError(OperationalError):
    """The error of a source that can't be read at present, such as a table of a Spark session that has ended.
    The error doesn't fail the job: the coordinator leaves the job as it is, and a successor that reaches the
    source goes on with the job."""


class SplitEnumerator(Protocol):
    """A maker of the splits of a source, for one pass over the source."""

    def next_split(self) -> bytes | None:
        """Return the next split, None after the last one. May wait for the split. One thread at a time calls
        this method. Raises :class:`SourceUnavailableError` if the source can't be read at present."""

    def close(self) -> None:
        """Free what the enumerator holds. May be called on any thread, also while another one waits in
        :meth:`next_split`, which then raises an error soon; and a second time."""


@runtime_checkable
class BatchSnapshot(SplitEnumerator, Protocol):
    """An enumerator whose state can be saved, and restored in another process. The same split always has the
    same rows in the same order. Flink's interface for it is ``SupportsBatchSnapshot``."""

    def snapshot(self) -> bytes:
        """Return the state: which splits :meth:`next_split` has returned. Never called while another thread
        is in :meth:`next_split`, for which it waits."""

    def restore(self, state: bytes) -> None:
        """Go on behind the splits that were returned before the snapshot ``state``; called before the first
        :meth:`next_split` of a new enumerator."""


@runtime_checkable
class SplitSource(Protocol):
    """The source of a SPLIT SCAN: an object of the coordinator's process."""

    def enumerator(self) -> SplitEnumerator:
        """Return a new enumerator, at the beginning of the source. Raises :class:`SourceUnavailableError` if
        the source can't be read at present."""

    def read(self, split: bytes) -> Iterable[pa.RecordBatch]:
        """Return the rows of a split of this source's enumerators, in physical form."""


@runtime_checkable
class TaskSplits(Protocol):
    """The splits that one run of a task reads."""

    def next_split(self, vertex: str) -> bytes | None:
        """Return the next split for the scan with the vertex ``vertex``, None if the run has to read no
        further one. May wait. Raises an error if the run was given up."""


class SplitScan(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of the rows of a :class:`SplitSource`, which the job's resources have under the key
    ``resource``. ``table``: the name of the source, for display. ``columns``: the ordinals of the columns to
    emit. ``is_restorable``: whether the source's enumerators are :class:`BatchSnapshot` s."""

    cooperative: ClassVar[bool] = False
    reads_table: ClassVar[bool] = True

    resource: str
    table: str
    columns: tuple[int, ...]
    is_restorable: bool = False

    def run(self, context: ProcessorContext) -> Steps:
        source, splits = context.resources.get(self.resource), context.resources.get(TASK_SPLITS)
        if not isinstance(source, SplitSource) or not isinstance(splits, TaskSplits):
            raise InternalError(f"the splits of {self.table} are not at hand")
        if context.local_parallelism != 1:
            raise InternalError(f"{context.local_parallelism} instances of one task read {self.table}")
        while (split := splits.next_split(context.vertex)) is not None:
            for batch in source.read(split):
                names = batch.schema.names
                columns = [batch.column(place) for place in self.columns]
                yield make_batch(columns, [names[place] for place in self.columns], batch.num_rows)
            yield END_OF_PIECE

    def describe(self) -> str:
        return f"SplitScan: {self.table}"
