"""The sending half of a connection: senders wait neither for a lock nor for the network, and frames are sent
in order."""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from threading import Lock, Thread, current_thread
from types import TracebackType

from sqlfront_cluster.network.channels import MAX_BUFFERS, Channel, Pending
from sqlfront_cluster.network.frames import OutgoingFrame
from sqlfront_cluster.network.transport import TrafficCounter


class Outbox(AbstractContextManager[None]):
    """A queue of frames that are to be written to a channel, in order and without a wait of the sender. As a
    context manager it collects frames until the end of the outermost block.

    A frame passes three queues: ``_arrived`` (any thread appends), ``_admitted`` (counted, under
    ``_admission``) and ``_pending`` (being written, by the thread that holds ``_turn``). A thread never waits
    for these two locks: it tries to acquire them, and after releasing one, the holder checks whether other
    threads have added frames. So a send from within a send, by a finalizer at any point, is safe, and frames
    of several threads leave in one system call.

    Data that the kernel doesn't accept at once is written by a separate thread, started when first needed,
    which holds ``_turn`` until all data is written. ``give_up``: called with the reason when more than
    ``limit`` bytes wait; a single larger frame is accepted when nothing waits. ``broken``: called with the
    reason if writing fails.
    """

    def __init__(
        self, channel: Channel, limit: int, give_up: Callable[[str], None], broken: Callable[[str], None]
    ) -> None:
        self.traffic = TrafficCounter()
        self._channel = channel
        self._limit = limit
        self._give_up = give_up
        self._broken = broken
        self._arrived: deque[OutgoingFrame] = deque()
        self._admitted: deque[OutgoingFrame] = deque()
        self._pending: Pending = deque()
        self._admission, self._turn = Lock(), Lock()
        # Invariant: waiting bytes = _admitted_bytes - channel.written; each of the two has one writer at a
        # time.
        self._admitted_bytes = 0
        self._corks: list[None] = []
        self._handed_over: SimpleQueue[bool] = SimpleQueue()
        self._writer: Thread | None = None
        self._stopped = False

    @property
    def queued(self) -> int:
        """The bytes that the kernel has not accepted yet; approximate while frames are being sent."""
        return max(0, self._admitted_bytes - self._channel.written)

    def start(self) -> None:
        """Begin to write to the channel, which only this outbox does from now on. To be called before the
        first frame."""
        self._admitted_bytes = self._channel.written

    def send(self, frame: OutgoingFrame) -> None:
        """Send the frame after all earlier frames, without waiting; inside of a ``with`` block it is sent at
        the block's end. Frames are dropped once the connection has ended."""
        self._arrived.append(frame)
        if not self._corks:
            self.push()

    def __enter__(self) -> None:
        self._corks.append(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._corks.pop()
        if not self._corks:
            self.push()

    def push(self) -> None:
        """Write the waiting frames, also those collected in a ``with`` block, as far as possible without
        waiting; the writer thread writes the rest. If an interrupt comes in between, the connection ends,
        since nobody knows how much was written."""
        try:
            self._push()
        except BaseException:
            self._stopped = True
            self._broken("interrupted in the midst of sending")
            raise

    def _push(self) -> None:
        while self._arrived and self._admission.acquire(False):
            try:
                self._admit()
            finally:
                self._admission.release()
        while self._admitted and self._turn.acquire(False):
            written = True
            try:
                written = self._write(wait=False)
            finally:
                if written:
                    self._turn.release()
            if not written:
                self._hand_over()
                return

    def send_last(self, frame: OutgoingFrame) -> None:
        """Send a frame, and before it all frames that wait, even if this outbox is collecting frames within
        its ``with`` block. The frame is written now if the socket takes it, else by the writer thread. Frames
        may still be sent afterwards."""
        self._arrived.append(frame)
        self.push()

    def flush(self) -> None:
        """Write the bytes that the channel itself has to send (messages of TLS), without waiting. If another
        thread is writing already, that other thread writes the bytes."""
        if self._turn.acquire(False):
            if self._write(wait=False):
                self._turn.release()
                self.push()
            else:
                self._hand_over()

    def stop(self) -> None:
        """Drop the waiting frames and write no more; wait for the end of the writer thread. To be called
        after the channel's shutdown, which makes that thread end."""
        self._stopped = True
        self._turn.acquire()  # held for good
        writer = self._writer
        if writer is not None and writer is not current_thread():
            self._handed_over.put(False)
            writer.join()
        for waiting in (self._arrived, self._admitted, self._pending):
            waiting.clear()
        # Both are methods of this outbox's owner: without the reference cycle, an ended connection's memory
        # is freed now rather than by the garbage collector.
        self._give_up = self._broken = _nobody

    def _admit(self) -> None:
        while self._arrived:
            frame = self._arrived.popleft()
            if self._stopped:
                continue
            waiting = self._admitted_bytes - self._channel.written
            if waiting > 0 and waiting + frame.size > self._limit:
                self._stopped = True
                self._give_up(
                    f"the other side takes no data: {waiting} bytes wait, at most {self._limit} may"
                )
                return
            self._admitted_bytes += frame.size
            if frame.name:
                self.traffic.count(frame.name, frame.size)
            self._admitted.append(frame)

    def _write(self, *, wait: bool) -> bool:
        """With ``_turn`` held: write all admitted frames and return True. Return False if, with ``wait``
        False, the kernel accepts no more for now. If writing fails, drop all frames and return True."""
        admitted, pending = self._admitted, self._pending
        try:
            while True:
                while admitted and len(pending) < MAX_BUFFERS:
                    pending.extend(admitted.popleft().parts)
                if not self._channel.write(pending, wait=wait):
                    return False
                if not admitted:
                    return True
        except OSError as error:
            self._stopped = True
            admitted.clear()
            pending.clear()
            self._broken(f"writing to the other side failed: {error}")
        return True

    def _hand_over(self) -> None:
        """Leave the writing to the writer thread, which now holds ``_turn``, and start that thread if there
        is none."""
        if self._writer is None:
            self._writer = Thread(target=self._write_on, name="sqlfront-network-writer", daemon=True)
            self._writer.start()
        self._handed_over.put(True)

    def _write_on(self) -> None:
        while self._handed_over.get():
            self._write(wait=True)
            self._turn.release()
            self.push()


def _nobody(reason: str) -> None:
    """Do nothing; a callback for failures after the end of the connection."""
