"""The tasklet: one processor instance's generator with its inputs and its output, driven step by step.

A tasklet never waits. :meth:`Tasklet.run` goes on until the generator has to wait for a queue, has run for
long enough, or has ended; then the thread is free for another tasklet. Every change of a queue wakes the
tasklet at the queue's other end: the woken tasklet is runnable again.

Each tasklet has a lock, its gate, which is free exactly while the tasklet is blocked: the thread that
acquires the gate may make the tasklet runnable. The gate is taken before the start, while the tasklet is
runnable or running, and forever after the tasklet's end.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from threading import Lock
from traceback import clear_frames
from typing import Final, Protocol

import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, Input, Output
from sqlfront_engine.edges.routing import AnyOf, UnlinkedOutput
from sqlfront_engine.job_statistics import TaskletStatistics
from sqlfront_engine.memory import OperatorAccount
from sqlfront_engine.processor import (
    ANY_INPUT,
    BATCH_ROWS,
    END_OF_PIECE,
    END_OF_STEP,
    Processor,
    ProcessorContext,
    Steps,
    Take,
)
from sqlfront_engine.shares import close_quietly
from sqlfront_values.errors import InternalError
from sqlfront_values.room import StoppedError, occupy

#: Seconds: a longer call of a cooperative tasklet is logged, since all other tasklets of the worker wait
#: meanwhile.
SLOW_CALL: Final = 0.1
#: Rows that taking or emitting a batch counts in addition to its own, so that endless tiny batches don't hold
#: a worker either.
STEP_ROWS: Final = 64
UNLINKED: Final = UnlinkedOutput()
NO_INPUT: Final = AnyOf(())

logger = logging.getLogger(__name__)


class CallOutcome(Enum):
    """The results of one call of a tasklet, by which the call says why it has given up the thread: the
    tasklet can go on later (RUNNABLE), waits for a queue (BLOCKED), or has ended (DONE)."""

    RUNNABLE = "runnable"
    """The tasklet has done its share and can go on."""
    BLOCKED = "blocked"
    """The tasklet waits for a queue."""
    DONE = "done"
    """The tasklet has ended and freed its resources."""


class Listener(Protocol):
    """The receiver of a tasklet's failure and end: the job."""

    def failed(self, tasklet: "Tasklet", error: BaseException) -> None:
        """Record that the processor of ``tasklet`` raised ``error``; a call of :meth:`ended` follows."""

    def ended(self, tasklet: "Tasklet") -> None:
        """Record that the tasklet has ended, with or without an error; called once per tasklet."""

    def stop_if_overdue(self) -> None:
        """Stop the job, including its tasklets, if the job's timeout is over."""


class Tasklet:
    """One instance of a processor at work. It drives the processor's generator: gives it the batches that it
    asks for, from the input queues, and puts the batches that it yields into the output queues. ``schedule``,
    set by :meth:`start`, puts the tasklet into its runner's queue of runnable tasklets."""

    __slots__ = (
        "_any_input",
        "_batches_in",
        "_batches_out",
        "_busy",
        "_calls",
        "_gate",
        "_generator",
        "_inputs",
        "_listener",
        "_longest",
        "_meter",
        "_notified",
        "_now",
        "_output",
        "_rows_in",
        "_rows_out",
        "_step",
        "_context",
        "_ends_piece",
        "_flushes",
        "_processor",
        "account",
        "cooperative",
        "ended",
        "hands_on_pieces",
        "instance",
        "schedule",
        "stopped",
        "vertex",
    )

    def __init__(
        self, processor: Processor, context: ProcessorContext, account: OperatorAccount, listener: Listener
    ) -> None:
        self.vertex = context.vertex
        self.instance = context.local_index
        self.cooperative = processor.cooperative
        self.account = account
        #: Set when the job is stopped, before a wake.
        self.stopped = False
        self.ended = False
        #: Whether the consumer reads this instance's pieces in turn with other instances' pieces.
        self.hands_on_pieces = False
        # Whether the output has not taken the end of the current piece yet.
        self._ends_piece = False
        self._processor: Processor | None = processor
        self._context: ProcessorContext | None = context
        self.schedule: Callable[[Tasklet], None]
        self._listener = listener
        self._now: Callable[[], float]
        self._generator: Steps | None = None
        self._inputs: Sequence[Input] = ()
        self._any_input: Input = NO_INPUT
        self._output: Output = UNLINKED
        self._flushes: Sequence[Callable[[], None]] = ()
        self._meter: Meter | None = None
        # The last yield of the generator, if still unanswered; None: the generator can go on.
        self._step: Take | pa.RecordBatch | None = None
        self._gate = Lock()
        self._gate.acquire()
        # Invariant: set after a queue has changed, cleared before the queues are checked.
        self._notified = False
        self._calls = self._batches_in = self._rows_in = self._batches_out = self._rows_out = 0
        self._busy = self._longest = 0.0

    def connect(
        self,
        inputs: Sequence[Input],
        any_input: Input,
        output: Output,
        flushes: Sequence[Callable[[], None]] = (),
        *,
        measured: bool = False,
    ) -> None:
        """Attach the queues. ``inputs``: by ordinal. ``any_input``: the combination of all inputs, from which
        ``Take()`` without an ordinal reads. ``output``: the combination of all outputs. ``flushes``:
        functions to call before the tasklet gives up its thread. ``measured``: whether the bytes of the
        output are counted."""
        self._inputs = inputs
        self._any_input = any_input
        self._meter = Meter(output) if measured else None
        self._output = self._meter or output
        self._flushes = flushes

    def start(self, schedule: "Callable[[Tasklet], None]", now: Callable[[], float]) -> None:
        """Make the tasklet runnable for the first time; calls of :meth:`wake` before the start have no effect
        of their own. ``schedule`` puts a tasklet into its runner's queue, ``now`` returns the time of the
        engine's clock in seconds."""
        self._now = now
        self.schedule = schedule
        schedule(self)

    # ---- waking and running

    def wake(self) -> None:
        """Make a blocked tasklet runnable, because a queue has changed or the tasklet was stopped; a tasklet
        that is running checks its queues again. May be called on any thread."""
        # A set flag has not been read yet: the thread that set it makes sure of a run.
        if not self._notified:
            self._notified = True
            if self._gate.acquire(False):
                self.schedule(self)

    def calls_while_blocked(self) -> int | None:
        """Return the number of calls so far of a blocked tasklet; None if the tasklet isn't blocked, or has
        ended. Two equal answers prove that the tasklet was blocked all the time between them."""
        if self.ended or self._gate.locked():
            return None
        return self._calls

    def run(self) -> bool:
        """Run the tasklet until it has used its time, is blocked or has ended; return whether it has ended.
        Only the runner that got the tasklet from ``schedule`` may call this method.

        An error of the processor goes to the listener; an error that isn't an Exception (an interrupt such as
        KeyboardInterrupt) is raised, too.
        """
        started = self._now()
        self._notified = False
        occupy(self.account, self._is_to_stop)
        try:
            if self.stopped or self._output.abandoned:
                progress = self._close()
            else:
                progress = self._drive()
            for flush in self._flushes:
                flush()
        except StoppedError:
            progress = self._close()
        except BaseException as error:
            # First the failure, then the end of the output: no consumer may take the end for a regular one.
            trace = error.__traceback__
            self._listener.failed(self, error)
            self._free()
            # The error may live long; the columns held by its frames must not.
            clear_frames(trace)
            if not isinstance(error, Exception):
                self._end()
                raise
            progress = CallOutcome.DONE
        finally:
            occupy(None, None)
        self._calls += 1
        elapsed = self._now() - started
        self._busy += elapsed
        if elapsed > self._longest:
            self._note_longest(elapsed)
        if progress is CallOutcome.RUNNABLE:
            self.schedule(self)
            return False
        if progress is CallOutcome.BLOCKED:
            self._gate.release()
            # A wake while the gate was held only set the flag.
            if self._notified and self._gate.acquire(False):
                self.schedule(self)
            return False
        self._end()
        return True

    def _note_longest(self, elapsed: float) -> None:
        self._longest = elapsed
        if elapsed > SLOW_CALL and self.cooperative:
            logger.debug("a call of %s took %.0f ms", self.vertex, elapsed * 1000)

    def _end(self) -> None:
        listener = self._listener
        del self._listener  # the listener refers to its tasklets: no cycle may keep an ended job alive
        listener.ended(self)

    def _drive(self) -> CallOutcome:
        """Answer the generator's steps until the tasklet is blocked, has used its time or has ended; return
        which of these it was."""
        generator = self._generator
        if generator is None:
            generator = self._begin()
        resume, output, step = generator.send, self._output, self._step
        share = BATCH_ROWS
        while not self.stopped:
            answer = None
            if type(step) is Take:
                if share <= 0:
                    self._step = step
                    return CallOutcome.RUNNABLE
                if self._ends_piece:
                    if not output.offer(END_OF_PIECE):
                        self._step = step
                        return CallOutcome.BLOCKED
                    self._ends_piece = False
                ordinal = step.ordinal
                source = self._any_input if ordinal == ANY_INPUT else self._inputs[ordinal]
                answer = source.poll()
                if answer is NOTHING:
                    self._step = step
                    return CallOutcome.BLOCKED
                if answer is None:
                    if self._is_stopped():  # then the end may be no regular end
                        return self._close()
                else:
                    rows = answer.num_rows
                    if answer is END_OF_PIECE:
                        self._ends_piece = self.hands_on_pieces
                        continue
                    self._batches_in += 1
                    self._rows_in += rows
                    share -= rows + STEP_ROWS
            elif step is not None:
                rows = step.num_rows
                if rows:
                    if not output.offer(step):
                        self._step = step
                        return CallOutcome.BLOCKED
                    self._batches_out += 1
                    self._rows_out += rows
                    if output.abandoned:
                        return self._close()
                elif step is END_OF_PIECE and self.hands_on_pieces and not output.offer(step):
                    self._step = step
                    return CallOutcome.BLOCKED
                share -= rows + STEP_ROWS
                if share <= 0 or step is END_OF_STEP:
                    self._step = None
                    return CallOutcome.RUNNABLE
            try:
                step = resume(answer)
            except StopIteration:
                return self._finish()
            if step is None:
                raise InternalError(f"{self.vertex!r} yielded neither a Take nor a batch")
        return self._close()

    def _begin(self) -> Steps:
        assert self._processor is not None
        assert self._context is not None
        self._generator = self._processor.run(self._context)
        return self._generator

    @property
    def processor_class(self) -> type[Processor] | None:
        """The class of the processor; None once the tasklet has ended."""
        return None if self._processor is None else type(self._processor)

    @property
    def rows_out(self) -> int:
        """The number of rows emitted so far."""
        return self._rows_out

    @property
    def rows_in(self) -> int:
        """The number of rows taken from the inputs so far."""
        return self._rows_in

    @property
    def batches_in(self) -> int:
        """The number of batches taken from the inputs so far."""
        return self._batches_in

    def _is_stopped(self) -> bool:
        return self.stopped

    def _is_to_stop(self) -> bool:
        """Return whether a long step has to stop, since the tasklet was stopped or the job's timeout is
        over. Checks the timeout itself, since in an inline job no other code does so meanwhile."""
        if not self.stopped:
            self._listener.stop_if_overdue()
        return self._is_stopped()

    # ---- ending

    def _finish(self) -> CallOutcome:
        """End the tasklet after its processor has returned. The output may then have to send a last batch;
        an error of that is an error of the tasklet."""
        if not self.stopped:
            self._output.finish()
        self._output = UNLINKED
        self._free()
        return CallOutcome.DONE

    def _close(self) -> CallOutcome:
        """End the tasklet before its processor has returned: the generator gets GeneratorExit and frees its
        resources. Errors of that are logged and ignored."""
        try:
            if self._generator is not None:
                close_quietly(self._generator.close, self.vertex)
        finally:
            self._free()
        return CallOutcome.DONE

    def give_up(self) -> None:
        """End the tasklet at once, without a call of the listener. Only the thread that could run the
        tasklet may call this."""
        self.stopped = True
        self._close()

    def _free(self) -> None:
        """Free what an ended tasklet holds: release the memory, finish the output (unless stopped, as the
        consumers are then being stopped, too), abandon the inputs, and drop all references to large
        objects."""
        self.ended = True
        context = self._context
        self._generator = self._step = self._processor = self._context = None
        if context is not None and context.share is not None:
            context.share.leave()
        if self.account.held:
            self.account.close()
        if not self.stopped:  # else the consumers are being stopped, too, with incomplete input
            self._output.finish()
        for source in self._inputs:
            source.abandon()
        self._inputs, self._any_input, self._output, self._flushes = (), NO_INPUT, UNLINKED, ()
        if self._meter is not None:
            self._meter.forget()

    def statistics(self) -> TaskletStatistics:
        """Return the counters so far. While the tasklet runs on another thread, the counters may be from
        different steps."""
        return TaskletStatistics(
            vertex=self.vertex,
            instance=self.instance,
            calls=self._calls,
            busy=self._busy,
            longest_call=self._longest,
            batches_in=self._batches_in,
            rows_in=self._rows_in,
            batches_out=self._batches_out,
            rows_out=self._rows_out,
            memory_peak=self.account.peak,
            bytes_out=None if self._meter is None else self._meter.size,
        )


class Meter:
    """An output that counts the bytes of its batches and passes them on. Only tasklets whose bytes are
    requested have a meter, since measuring a batch costs more than passing it on."""

    __slots__ = ("_output", "size")

    def __init__(self, output: Output) -> None:
        self._output: Output = output
        self.size = 0

    @property
    def abandoned(self) -> bool:
        """Whether the consumers want no more batches."""
        return self._output.abandoned

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Offer the batch to the output; return whether the output takes it, and count its bytes if so."""
        if not self._output.offer(batch):
            return False
        self.size += batch.nbytes
        return True

    def finish(self) -> None:
        """Declare to the output that no more batches come."""
        self._output.finish()

    def forget(self) -> None:
        """Drop the reference to the output; keep the count of bytes."""
        self._output = UNLINKED
