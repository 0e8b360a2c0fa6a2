"""The queue between one producer and one consumer: bounded, and closing from either side.

Everything between tasklets goes through :class:`BatchQueue`; an edge of U producers and D consumers has up
to U x D of them. The producer :meth:`~BatchQueue.offer`\\ s and :meth:`~BatchQueue.finish`\\ es, the
consumer :meth:`~BatchQueue.poll`\\ s and may :meth:`~BatchQueue.abandon`. Neither ever waits: a tasklet
that is refused, or finds nothing, gives up its thread, and the queue wakes it when that has changed.

Without locks: each attribute is written by one side only, and one side announces what it is about to rely
on before it looks again at what the other side writes. That needs reads and writes of attributes, and the
methods of deque, to happen in one order for all threads, which the interpreter's lock guarantees.
"""

from collections import deque
from enum import Enum
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

#: Bytes that a queue holds at most, unless its only batch is larger.
QUEUE_BYTES: Final = 8 * 1024 * 1024


class Nothing(Enum):
    """The type of :data:`NOTHING`."""

    NOTHING = "nothing"


#: The answer of an input that has no batch now but may have one later.
NOTHING: Final = Nothing.NOTHING

#: A batch, ``None`` for the end, or :data:`NOTHING`.
Polled: TypeAlias = pa.RecordBatch | Nothing | None


class Wakeable(Protocol):
    """What stands at an end of a queue: a tasklet, or the reader of a result."""

    def wake(self) -> None:
        """Look at your queues again. May be called by any thread, also if there turns out to be nothing
        new."""


class Input(Protocol):
    """Where a tasklet takes the batches of one ordinal from: a queue, or several combined."""

    def poll(self) -> Polled:
        """The next batch, the end (again at each later call), or nothing yet."""

    def abandon(self) -> None:
        """Take no more, ever."""


class Output(Protocol):
    """Where a tasklet puts its batches: a queue, or several combined by a routing."""

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Take the batch; False: not (completely) now, offer the same batch again after a wake."""

    def finish(self) -> None:
        """There will be no more."""

    @property
    def abandoned(self) -> bool:
        """Whether nobody wants any more batches."""


class BatchQueue:
    """See the module's docstring. An :class:`Output` to its producer, an :class:`Input` to its consumer."""

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
        # Written by the producer. A batch that found the queue empty isn't measured (``nbytes`` costs more
        # than all the rest) before another one wants to join it. Invariant: `_sizes` are the sizes of the
        # youngest batches in the queue, at most one fewer than there are, or some more that are gone
        # already; `_bytes` is their sum.
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self.finished = False
        # Written by the consumer.
        self.abandoned = False
        # Set by the producer when it is refused, cleared by the consumer when it makes room.
        self._refused = False

    def __len__(self) -> int:
        return len(self._batches)

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Append the batch, unless that would exceed a limit; to an abandoned queue all is accepted and
        dropped."""
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
            self._refused = True  # and look again: the consumer may just have made room without seeing this

    def _measure(self) -> int:
        """Bring the sizes up to date with what the consumer took; returns the number of batches."""
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
        """No batch will be offered any more."""
        self.finished = True
        self.consumer.wake()

    def poll(self) -> Polled:
        """The oldest batch; None once the queue is finished and empty."""
        batches = self._batches
        if not batches:
            if not self.finished:
                return NOTHING
            if not batches:  # again: the last batch may have come between the two looks
                return None
        try:
            batch = batches.popleft()
        except IndexError:  # a result that was abandoned in this moment by whoever stopped the job
            return NOTHING
        if self._refused:
            self._refused = False
            self.producer.wake()
        return batch

    def abandon(self) -> None:
        """Drop what is in the queue, and all that may come."""
        self.abandoned = True
        self._batches.clear()
        if not self.finished:
            self.producer.wake()
