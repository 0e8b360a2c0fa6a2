"""The harness for tests of processors: runs one processor instance on a real engine, under adverse
conditions and with its steps in many orders."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

import pyarrow as pa

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import ANY_INPUT, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.testing.rows import check_batch, check_rows, to_physical
from sqlfront_values.errors import Error
from sqlfront_values.types import logical


class CountingMemory:
    """A :class:`~sqlfront_engine.processor.MemoryAccount` without a limit that records the bytes charged now
    and their peak."""

    def __init__(self) -> None:
        self.held = 0
        self.peak = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes; never raises."""
        assert size >= 0, f"charged {size} bytes"
        self.held += size
        self.peak = max(self.peak, self.held)

    def release(self, size: int) -> None:
        """Give back ``size`` bytes. Raises AssertionError if fewer bytes are charged."""
        assert 0 <= size <= self.held, f"released {size} bytes of {self.held}"
        self.held -= size


def lone_context(vertex: str = "test") -> ProcessorContext:
    """Return the context of a processor's only instance on a single member, with unlimited memory."""
    return ProcessorContext(vertex=vertex, memory=CountingMemory())


def verify_processor(
    processor: Processor,
    inputs: Sequence[Sequence[pa.RecordBatch]],
    expected: pa.Table | Sequence[Sequence[object]],
    *,
    ordered: bool = False,
    orders: int = 50,
    context: Callable[[], ProcessorContext] | None = None,
) -> None:
    """Run one instance of ``processor`` over ``inputs`` in ``orders`` adverse ways (other cuts of the
    batches, empty batches, short queues, other orders of tasklets), and compare the rows of its output with
    ``expected`` each time. ``inputs`` has one sequence of batches per ordinal, in logical or physical form.

    If ``expected`` is a table, column names and (logical) types have to agree, too. Without ``ordered`` rows
    compare as a multiset. Floats compare with a relative tolerance of 1e-9 (NaN equals NaN, 0.0 differs from
    -0.0), all other values exactly. Each order runs a second time with a consumer that stops early; after
    either run all memory has to be free. ``context`` makes a new context of the processor for each run; None:
    the engine makes the context of a single instance. Raises AssertionError naming the failed order.
    """
    with Engine(workers=1) as engine:
        for seed in range(orders):
            order = _HostileOrder(seed)
            try:
                batches = order.run(engine, processor, inputs, context)
                check_rows(batches, expected, ordered=ordered)
                order.run(engine, processor, inputs, context, quota=order.random.randrange(len(batches) + 1))
            except AssertionError as error:
                raise AssertionError(f"order {seed} ({order.cut.__name__.strip('_')}): {error}") from error


def run_processor(
    processor: Processor,
    inputs: Sequence[Sequence[pa.RecordBatch]] = (),
    *,
    context: ProcessorContext | None = None,
) -> list[pa.RecordBatch]:
    """Run one instance of the processor without an engine, and return the batches that it emits. The
    ``inputs``, one sequence of batches per ordinal, arrive unchanged, the lowest ordinal first. ``context``:
    the context of the instance, None = the result of :func:`lone_context`. Raises AssertionError if a batch
    is invalid or not in physical form."""
    feeds = [[to_physical(batch) for batch in reversed(batches)] for batches in inputs]
    generator = processor.run(context or lone_context())
    emitted: list[pa.RecordBatch] = []
    answer: pa.RecordBatch | None = None
    while True:
        try:
            step = generator.send(answer)
        except StopIteration:
            return emitted
        answer = None
        if isinstance(step, Take):
            live = feeds if step.ordinal == ANY_INPUT else [feeds[step.ordinal]]
            answer = next((feed.pop() for feed in live if feed), None)
        else:
            check_batch(step)
            if step.num_rows:
                emitted.append(step)


class _HostileOrder:
    """The conditions under which a processor runs, determined by ``seed``: the cuts of the input batches, the
    encoding of strings, the inserted empty batches, the sizes of the queues and the order of the tasklets.
    Seed 0 changes neither the input batches nor the order of the tasklets; seed 1 cuts the input into batches
    of one row; all other seeds cut the input at random places."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.cut = _CUTS[seed] if seed < len(_CUTS) else _random_cuts

    def run(
        self,
        engine: Engine,
        processor: Processor,
        inputs: Sequence[Sequence[pa.RecordBatch]],
        make_context: Callable[[], ProcessorContext] | None,
        quota: int | None = None,
    ) -> list[pa.RecordBatch]:
        """Run the processor once with the cuts, queue sizes and order of tasklets that the seed determines,
        and return the batches that the consumer took. ``quota``: the number of batches after which the
        consumer stops, None = never. Raises AssertionError if a batch is malformed or memory stays charged.
        """
        dag = DAG()
        tested = dag.vertex("tested", _Checked(processor, self.seed), 1)
        resources: dict[str, object] = {"context": make_context() if make_context else None}
        for ordinal, batches in enumerate(inputs):
            resources[f"input {ordinal}"] = self._feed(batches)
            source = dag.vertex(f"input {ordinal}", Batches(f"input {ordinal}"), 1)
            edge = Edge.from_(source).to(tested, ordinal)
            dag.edge(edge.queue_size(1 + self.random.randrange(3)))
        consumer = dag.vertex("consumer", _Quota(quota), 1)
        dag.edge(Edge.between(tested, consumer).queue_size(1))
        dag.edge(Edge.between(consumer, dag.vertex("result", ResultSink(), 1)).queue_size(1))
        config = JobConfig(resources=resources, inline=True, order_seed=self.seed or None)
        try:
            batches = list(engine.run(dag, config).batches())
        except Error as error:
            if isinstance(error.__cause__, AssertionError):
                raise error.__cause__ from None
            raise
        held = engine.statistics().memory.used
        assert not held, f"{held} bytes are still charged"
        return batches

    def _feed(self, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        cut = [to_physical(piece) for batch in batches for piece in self.cut(batch, self.random)]
        return [_recode_strings(batch, self.random) for batch in cut] if self.seed else cut


class _Checked(Processor, frozen=True):
    """A wrapper of the tested processor that checks each batch which the processor emits, and runs it in the
    test's context, if there is one.

    With a ``seed`` the wrapper inserts empty batches before randomly chosen input batches (the engine itself
    drops empty batches).
    """

    tested: Processor
    seed: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        given = cast("ProcessorContext | None", context.resources["context"])
        steps = self.tested.run(given or context)
        inserted = _EmptyBatches(self.seed)
        answer: pa.RecordBatch | None = None
        try:
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return
                if isinstance(step, Take):
                    answer = inserted.held_back(step.ordinal) or inserted.before((yield step), step.ordinal)
                else:
                    check_batch(step)
                    answer = yield step
        finally:
            steps.close()


class _EmptyBatches:
    """A maker of empty batches before randomly chosen input batches; it keeps the displaced batch for the
    processor's next Take."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._often = seed > 0
        self._held: dict[int, pa.RecordBatch] = {}

    def held_back(self, ordinal: int) -> pa.RecordBatch | None:
        """Return the batch that is kept for a Take of input ``ordinal``, and drop it here; None if there is
        none."""
        if ordinal == ANY_INPUT and self._held:
            return self._held.popitem()[1]
        return self._held.pop(ordinal, None)

    def before(self, batch: pa.RecordBatch | None, ordinal: int) -> pa.RecordBatch | None:
        """Return the batch itself, or at random an empty batch of its schema, to test a processor with empty
        batches; the displaced batch is kept for the next Take of input ``ordinal``. None (the end of the
        input) is returned as it is."""
        if batch is None or not self._often or self._random.random() < 0.7:
            return batch
        self._held[ordinal] = batch
        return batch.slice(0, 0)


class _Quota(Processor, frozen=True):
    """A consumer that passes ``batches`` batches on and then ends; None = all batches."""

    batches: int | None

    def run(self, context: ProcessorContext) -> Steps:
        left = self.batches
        while left != 0 and (batch := (yield Take(0))) is not None:
            yield batch
            left = None if left is None else left - 1


def _as_given(batch: pa.RecordBatch, _: random.Random) -> Iterator[pa.RecordBatch]:
    yield batch


def _one_row_batches(batch: pa.RecordBatch, _: random.Random) -> Iterator[pa.RecordBatch]:
    for row in range(batch.num_rows):
        yield batch.slice(row, 1)


def _random_cuts(batch: pa.RecordBatch, randomness: random.Random) -> Iterator[pa.RecordBatch]:
    start = 0
    while start < batch.num_rows:
        length = randomness.randrange(batch.num_rows - start + 1)
        yield batch.slice(start, length)
        start += length


_CUTS: Final = (_as_given, _one_row_batches)


def _recode_strings(batch: pa.RecordBatch, randomness: random.Random) -> pa.RecordBatch:
    """Return the batch with each string column, at random, either dictionary-encoded (with a dictionary of
    its own) or plain."""
    columns = [
        column.cast(pa.string()).dictionary_encode()
        if pa.types.is_string(logical(column.type)) and randomness.random() < 0.5
        else column
        for column in batch.columns
    ]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)) or not columns:
        return batch
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


class Batches(Processor, frozen=True):
    """A source of the batches that are the job's resource ``resource``, a sequence; its instances emit them
    in turn."""

    resource: str

    def run(self, context: ProcessorContext) -> Steps:
        batches = cast("Sequence[pa.RecordBatch]", context.resources[self.resource])
        yield from batches[context.global_index :: context.total_parallelism]


def run_dag(
    dag: DAG,
    *,
    resources: Mapping[str, object] | None = None,
    seed: int | None = None,
    parallelism: int = 1,
) -> list[pa.RecordBatch]:
    """Run a DAG on the caller's thread and return the batches of its result. ``resources``: the job's
    resources; ``seed``: the seed of a random order of tasklets, None = oldest first; ``parallelism``: the
    number of instances of a vertex that sets none."""
    with Engine(workers=parallelism) as engine:
        config = JobConfig(resources=resources or {}, inline=True, parallelism=parallelism, order_seed=seed)
        return list(engine.run(dag, config).batches())
