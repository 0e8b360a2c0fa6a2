"""Combinations of a tasklet's queues: outputs that follow an edge's routing, and inputs from several
producers.

After an :class:`~sqlfront_engine.edges.queues.Output` here has refused a batch, the producer offers the same
batch again. The output remembers which of its queues have already taken their part of that batch.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, BatchQueue, Input, Output, Polled
from sqlfront_engine.processor import END_OF_PIECE
from sqlfront_values.columns.batches import split_batch
from sqlfront_values.errors import InternalError
from sqlfront_values.partitioning import partitions
from sqlfront_values.room import NO_LIMIT

#: The instance that handles each partition, by partition id.
Owners = npt.NDArray[np.intp]


class UnlinkedOutput:
    """The output of a vertex without output edges: accepts every batch, and is never abandoned."""

    __slots__ = ()

    abandoned = False

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Drop the batch, and return True."""
        return True

    def finish(self) -> None:
        """Do nothing: there is no consumer."""


class UnreachableOutput(UnlinkedOutput):
    """The output of a local edge whose consumer runs only on another member. No rows may reach this output:
    each offered batch raises InternalError."""

    __slots__ = ("_edge",)

    def __init__(self, edge: str) -> None:
        self._edge = edge

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Raise InternalError: no consumer can be reached."""
        raise InternalError(f"rows on the local edge {self._edge}, whose consumer runs on another member")


class _SeveralOutputs:
    """The base of outputs that pass batches on to several outputs."""

    __slots__ = ("_outputs",)

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = tuple(outputs)

    @property
    def abandoned(self) -> bool:
        """Whether all consumers have abandoned their outputs."""
        return all(output.abandoned for output in self._outputs)

    def finish(self) -> None:
        """Finish all the outputs."""
        for output in self._outputs:
            output.finish()


class RoundRobin(_SeveralOutputs):
    """An output that sends each batch, whatever its rows, to one queue: the next queue, in turn, that accepts
    it and is not abandoned. Made for edges whose consumers read pieces in turn."""

    __slots__ = ("_next",)

    def __init__(self, queues: Sequence[Output]) -> None:
        super().__init__(queues)
        self._next = 0

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Offer the batch to each queue once, in turn, until a queue takes it. Returns True if a queue has
        taken the batch or all queues are abandoned, else False."""
        queues, start = self._outputs, self._next
        gone = 0
        for index in (*range(start, len(queues)), *range(start)):
            if queues[index].abandoned:
                gone += 1
            elif queues[index].offer(batch):
                self._next = (index + 1) % len(queues)
                return True
        return gone == len(queues)


class RowRoundRobin(_SeveralOutputs):
    """An output that deals the rows of batches evenly: it sends each batch to the queue that has been dealt
    the fewest rows, among those that accept it and are not abandoned, so that batches of one size go round. A
    queue that was skipped because it was full isn't owed the rows that it has missed.

    No consumer starves beside a consumer with many rows: if several local queues are empty at the turn of a
    local queue, each of the empty queues gets a slice of the batch, in the order of the rows. Outputs to
    other members keep their turns."""

    __slots__ = ("_dealt", "_local")

    def __init__(self, outputs: Sequence[Output]) -> None:
        super().__init__(outputs)
        self._dealt = [0] * len(self._outputs)
        # The queues on this member, by their places.
        self._local = {index: each for index, each in enumerate(self._outputs) if type(each) is BatchQueue}

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Divide the batch among the empty queues, or, if fewer than two queues are empty, or another
        member's turn has come, offer the whole batch to each queue once, in turn. Returns whether the
        batch is taken; True, too, if all queues are abandoned."""
        rows, dealt = batch.num_rows, self._dealt
        if rows > 1 and len(self._local) > 1 and dealt.index(min(dealt)) in self._local:
            starving = [each for each, queue in self._local.items() if not (len(queue) or queue.abandoned)]
            if len(starving) > 1:
                self._divide(batch, starving)
                return True
        return self._offer_whole(batch)

    def _divide(self, batch: pa.RecordBatch, starving: Sequence[int]) -> None:
        """Offer slices of the batch to empty queues; an empty queue takes every batch, since only this output
        fills the queue."""
        rows = batch.num_rows
        step = -(-rows // len(starving))
        for index, start in zip(starving, range(0, rows, step), strict=False):
            self._outputs[index].offer(batch.slice(start, step))
            self._dealt[index] += min(step, rows - start)

    def _offer_whole(self, batch: pa.RecordBatch) -> bool:
        outputs, dealt = self._outputs, self._dealt
        full: list[int] = []
        for index in sorted(range(len(outputs)), key=dealt.__getitem__):
            if outputs[index].abandoned:
                dealt[index] = NO_LIMIT  # its turn comes no more
            elif outputs[index].offer(batch):
                for each in full:
                    dealt[each] = dealt[index]
                dealt[index] += batch.num_rows
                return True
            else:
                full.append(index)
        return not full


class BroadcastOutput(_SeveralOutputs):
    """An output that sends each batch to all of its outputs: to all instances of a consumer, or along all
    edges of a vertex."""

    __slots__ = ("_waiting",)

    def __init__(self, outputs: Sequence[Output]) -> None:
        super().__init__(outputs)
        # The outputs that have not taken the current batch yet; empty between batches.
        self._waiting: list[Output] = []

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Offer the batch to the outputs that have not taken it yet; returns whether all have taken it."""
        self._waiting = [output for output in self._waiting or self._outputs if not output.offer(batch)]
        return not self._waiting


class PartitionedOutput(_SeveralOutputs):
    """An output that sends each row to the instance that owns the row's partition. ``key_columns``: the
    ordinals of the partition key; ``owners``: for each partition the number of the owning instance's
    queue."""

    __slots__ = ("_key_columns", "_owners", "_pieces")

    def __init__(self, queues: Sequence[Output], key_columns: tuple[int, ...], owners: Owners) -> None:
        super().__init__(queues)
        self._key_columns = key_columns
        self._owners = owners
        # The rest of the current batch, by queue; empty between batches.
        self._pieces: dict[int, pa.RecordBatch] = {}

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Split the batch by the owners of its rows' partitions, and offer each queue its part, unless the
        queue has taken the part at an earlier call. Returns whether all queues have taken their parts."""
        pieces = self._pieces or self._split(batch)
        queues = self._outputs
        self._pieces = {index: piece for index, piece in pieces.items() if not queues[index].offer(piece)}
        return not self._pieces

    def _split(self, batch: pa.RecordBatch) -> dict[int, pa.RecordBatch]:
        if batch is END_OF_PIECE:
            return dict.fromkeys(range(len(self._outputs)), batch)
        keys = [batch.column(ordinal) for ordinal in self._key_columns]
        owners = self._owners[partitions.partition_ids(keys, batch.num_rows, len(self._owners))]
        return split_batch(batch, owners, len(self._outputs))


class _SeveralInputs:
    """The base of inputs that combine several inputs; ``_live`` are the inputs that have not ended."""

    __slots__ = ("_live", "_next")

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._live = list(inputs)
        self._next = 0

    def abandon(self) -> None:
        """Abandon all the inputs."""
        for live in self._live:
            live.abandon()


class AnyOf(_SeveralInputs):
    """An input that returns the batches of several inputs in order of arrival, trying the inputs round
    robin."""

    __slots__ = ()

    def poll(self) -> Polled:
        """Return a batch of any input; NOTHING if no input has a batch yet, None once all inputs have
        ended."""
        index, tries = self._next, len(self._live)
        while tries:
            if index >= len(self._live):
                index = 0
            batch = self._live[index].poll()
            if batch is None:
                del self._live[index]
            elif batch is NOTHING:
                index += 1
            else:
                self._next = index + 1
                return batch
            tries -= 1
        return NOTHING if self._live else None


class InTurn(_SeveralInputs):
    """An input that reads several inputs in rounds: one piece of the first input, one piece of the second,
    and so on. A piece is the batches up to the mark :data:`~sqlfront_engine.processor.END_OF_PIECE`, or up to
    the end of the input."""

    __slots__ = ()

    def poll(self) -> Polled:
        """Return the next batch of the input whose piece is being read; NOTHING if this input has no batch
        yet, None once all inputs have ended."""
        while self._live:
            batch = self._live[self._next].poll()
            if batch is END_OF_PIECE:
                self._next += 1
            elif batch is None:
                del self._live[self._next]
            else:
                return batch
            if self._next >= len(self._live):
                self._next = 0
        return None


class ByPriority(_SeveralInputs):
    """An input that returns all batches of its first group of inputs, then all of the next group, and so
    on."""

    __slots__ = ()

    def poll(self) -> Polled:
        """Return a batch of the first group that hasn't ended; NOTHING if this group has no batch yet, None
        once all groups have ended."""
        while self._live:
            batch = self._live[0].poll()
            if batch is not None:
                return batch
            del self._live[0]
        return None
