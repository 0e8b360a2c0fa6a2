"""The queue between one producer and one consumer: bounded, and closing from either side.

All batches between tasklets go through :class:`BatchQueue`; an edge of U producers and D consumers has up to
U x D queues. The producer :meth:`~BatchQueue.offer`\\ s and :meth:`~BatchQueue.finish`\\ es, the consumer
:meth:`~BatchQueue.poll`\\ s and may :meth:`~BatchQueue.abandon`. Neither side ever waits: a tasklet whose
batch is refused, or whose poll finds nothing, gives up its thread, and the queue wakes the tasklet after the
next change.

The queue has no locks: each attribute is written by one side only, and a side sets its own flag before
re-reading the other side's attributes. The scheme needs reads and writes of attributes, and the methods of
deque, to happen in one order for all threads; the interpreter's lock guarantees this order.
"""

from collections import deque
from enum import Enum
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

#: Bytes that a queue holds at most, unless its only batch is larger: some batches of a few columns, so that
#: producer and consumer seldom wait for each other; a job may have hundreds of queues.
QUEUE_BYTES: Final = 8 * 1024 * 1024


class Nothing(Enum):
    """The type of :data:`NOTHING`, the result of polling an input that has no batch now but may have one
    later."""

    NOTHING = "nothing"


#: The answer of an input that has no batch now but may have one later.
NOTHING: Final = Nothing.NOTHING

#: A batch, ``None`` for the end, or :data:`NOTHING`.
Polled: TypeAlias = pa.RecordBatch | Nothing | None


class Wakeable(Protocol):
    """The user of one end of a queue, a tasklet or the reader of a result, which is woken after a change of
    the queue."""

    def wake(self) -> None:
        """Have this tasklet or reader check its queues again, since a queue has changed. May be called on
        any thread, and also if nothing has changed."""


class Input(Protocol):
    """The source of the batches that a tasklet reads at one of its input ordinals: a queue, or several
    queues combined."""

    def poll(self) -> Polled:
        """Return the next batch, None after the last batch (at each later call, too), or NOTHING if there is
        no batch yet."""

    def abandon(self) -> None:
        """Declare that the consumer takes no more batches; the producer's later batches are dropped."""


class Output(Protocol):
    """The target of the batches that a tasklet emits at one of its output ordinals: a queue, or several
    queues combined by a routing."""

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Take the batch and return True; return False if the batch can't be taken completely now. After
        False the caller has to offer the same batch again when it is woken."""

    def finish(self) -> None:
        """Declare that the producer offers no more batches."""

    @property
    def abandoned(self) -> bool:
        """Whether all consumers want no more batches."""


class BatchQueue:
    """A bounded queue of batches between one producer and one consumer, without locks: an :class:`Output` for
    the producer, an :class:`Input` for the consumer. A side that can't go on is woken after the next change
    of the queue. ``size_limit``: the most batches in the queue; ``byte_limit``: the most bytes, unless a
    single batch is larger."""

    __slots__ = (
        "_batches",
        "_byte_limit",
        "_bytes",
        "_refused",
        "_size_limit",
        "_sizes",
        "abandoned",
        "consumer",
        "finished",
        "producer",
    )

    def __init__(self, producer: Wakeable, consumer: Wakeable, size_limit: int, byte_limit: int) -> None:
        self.producer = producer
        self.consumer = consumer
        self._size_limit = size_limit
        self._byte_limit = byte_limit
        self._batches: deque[pa.RecordBatch] = deque()
        # Written by the producer. A batch appended to an empty queue isn't measured (``nbytes`` costs more
        # than all the rest) before the next batch is offered. Invariant: `_sizes` are the sizes of the
        # youngest batches in the queue, of all but one at least, perhaps with further sizes of consumed
        # batches; `_bytes` is their sum.
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self.finished = False
        # Written by the consumer.
        self.abandoned = False
        # Set by the producer when its batch is refused, cleared by the consumer when it makes room.
        self._refused = False

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def is_full(self) -> bool:
        """Whether the producer waits for room in the queue, with a batch that was refused."""
        return self._refused

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Append the batch and return True; return False, without taking the batch, if it would exceed a
        limit of the queue. If the consumer has abandoned the queue, the batch is dropped."""
        batches = self._batches
        if batches:
            if not self._admit(batch):
                return False
        elif self._sizes:
            self._sizes.clear()
            self._bytes = 0
        batches.append(batch)
        if self.abandoned:
            batches.clear()
        self.consumer.wake()
        return True

    def _admit(self, batch: pa.RecordBatch) -> bool:
        size = -1
        while True:
            in_queue = self._measure()
            if not in_queue:
                return True
            if in_queue < self._size_limit:
                if size < 0:
                    size = batch.nbytes
                if self._bytes + size <= self._byte_limit:
                    self._sizes.append(size)
                    self._bytes += size
                    return True
            if self._refused:
                return False
            self._refused = True  # and check again: the consumer may have missed the flag

    def _measure(self) -> int:
        """Subtract the sizes of the consumed batches from the queue's bytes, and return the number of
        batches in the queue."""
        sizes, batches = self._sizes, self._batches
        in_queue = len(batches)
        while len(sizes) > in_queue:
            self._bytes -= sizes.popleft()
        if len(sizes) < in_queue:
            try:
                size = batches[0].nbytes
            except IndexError:  # all taken meanwhile
                sizes.clear()
                self._bytes = 0
                return 0
            sizes.appendleft(size)
            self._bytes += size
        return in_queue

    def finish(self) -> None:
        """Declare that the producer offers no more batches."""
        self.finished = True
        self.consumer.wake()

    def poll(self) -> Polled:
        """Remove and return the oldest batch; NOTHING if the queue is empty but not finished, None if it is
        empty and finished."""
        batches = self._batches
        if not batches:
            if not self.finished:
                return NOTHING
            if not batches:  # again: the last batch may have come between the two checks
                return None
        try:
            batch = batches.popleft()
        except IndexError:  # a result abandoned in this moment by a stop of the job
            return NOTHING
        if self._refused:
            self._refused = False
            self.producer.wake()
        return batch

    def abandon(self) -> None:
        """Drop all current and future batches."""
        self.abandoned = True
        self._batches.clear()
        if not self.finished:
            self.producer.wake()
