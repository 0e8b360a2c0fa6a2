"""What tests of processors and of the engine are made with; shipped, for authors of connectors too.

:func:`verify_processor` runs one processor instance under a hostile harness: the same rows arrive in
one-row batches, with empty batches in between, cut at random, with strings plain or dictionary-encoded
batch by batch, the inputs in random order, and the output is refused or closed at any time. The answer has
to be the same each time.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from math import copysign, isclose, isnan
from typing import Final, cast

import pyarrow as pa

from sqlfront_engine.arrays import from_values
from sqlfront_engine.processor import ANY_INPUT, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.types import DICTIONARY_STRING, logical, physical

Row = tuple[object, ...]

#: Relative tolerance for float and double results: the order of additions is free.
FLOAT_TOLERANCE: Final = 1e-9


class CountingMemory:
    """A :class:`~sqlfront_engine.processor.MemoryAccount` without a limit that remembers what it saw."""

    def __init__(self) -> None:
        self.held = 0
        self.peak = 0

    def charge(self, size: int) -> None:
        """Count ``size`` more bytes."""
        assert size >= 0, f"charged {size} bytes"
        self.held += size
        self.peak = max(self.peak, self.held)

    def release(self, size: int) -> None:
        """Give back ``size`` bytes; more than were charged is a failure."""
        assert 0 <= size <= self.held, f"released {size} bytes of {self.held}"
        self.held -= size


def lone_context(vertex: str = "test") -> ProcessorContext:
    """The context of a single instance on a single member, with unlimited memory."""
    return ProcessorContext(vertex=vertex, memory=CountingMemory())


def verify_processor(
    processor: Processor,
    inputs: Sequence[Sequence[pa.RecordBatch]],
    expected: pa.Table | Sequence[Sequence[object]],
    *,
    ordered: bool = False,
    orders: int = 50,
    context: Callable[[], ProcessorContext] = lone_context,
) -> None:
    """Run one instance of ``processor`` over ``inputs`` (one sequence of batches per ordinal, in logical or
    physical form) in ``orders`` hostile ways and compare the rows of its output with ``expected`` each time.

    ``expected`` as a table also fixes column names and (logical) types. Without ``ordered`` rows compare as
    a multiset. Floats compare with a relative tolerance of :data:`FLOAT_TOLERANCE` (NaN equals NaN, 0.0
    differs from -0.0), all else exactly. The context is made anew for each run. AssertionError names the
    order that failed.
    """
    for seed in range(orders):
        order = _HostileOrder(seed)
        try:
            batches = run_processor(processor, inputs, order=order, context=context())
            check_rows(batches, expected, ordered=ordered)
            order.close_early_after = order.random.randrange(len(batches) + 1)
            run_processor(processor, inputs, order=order, context=context())
        except AssertionError as error:
            raise AssertionError(f"order {seed} ({order.cut.__name__.strip('_')}): {error}") from error


def run_processor(
    processor: Processor,
    inputs: Sequence[Sequence[pa.RecordBatch]] = (),
    *,
    order: "_HostileOrder | None" = None,
    context: ProcessorContext | None = None,
) -> list[pa.RecordBatch]:
    """The batches that one instance emits over ``inputs``, empty ones left out; without ``order`` the inputs
    arrive as they are, lowest ordinal first. Checks that every batch is valid and of physical form."""
    order = order or _HostileOrder(0)
    feeds = [order.feed(batches) for batches in inputs]
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
            answer = order.next_batch(feeds, step.ordinal)
            continue
        check_batch(step)
        if order.close_early_after is not None and len(emitted) >= order.close_early_after:
            generator.close()
            return emitted
        if step.num_rows:
            emitted.append(step)


class _HostileOrder:
    """One way to feed a processor, chosen by ``seed``; seed 0 is the friendly one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.friendly = seed == 0
        self.cut = _CUTS[seed] if seed < len(_CUTS) else _random_cuts
        self.close_early_after: int | None = None

    def feed(self, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """The batches of an input as they will arrive, last one first."""
        cut = [to_physical(piece) for batch in batches for piece in self.cut(batch, self.random)]
        if not self.friendly:
            cut = [_recode_strings(batch, self.random) for batch in cut]
        return cut[::-1]

    def next_batch(self, feeds: list[list[pa.RecordBatch]], ordinal: int) -> pa.RecordBatch | None:
        if ordinal == ANY_INPUT:
            live = [feed for feed in feeds if feed]
            if not live:
                return None
            return (live[0] if self.friendly else self.random.choice(live)).pop()
        assert 0 <= ordinal < len(feeds), f"took from input {ordinal} of {len(feeds)}"
        return feeds[ordinal].pop() if feeds[ordinal] else None


def _as_given(batch: pa.RecordBatch, _: random.Random) -> Iterator[pa.RecordBatch]:
    yield batch


def _one_row_batches(batch: pa.RecordBatch, _: random.Random) -> Iterator[pa.RecordBatch]:
    for row in range(batch.num_rows):
        yield batch.slice(row, 1)


def _one_row_batches_with_empty_ones(batch: pa.RecordBatch, _: random.Random) -> Iterator[pa.RecordBatch]:
    yield batch.slice(0, 0)
    for row in range(batch.num_rows):
        yield batch.slice(row, 1)
        yield batch.slice(row, 0)


def _random_cuts(batch: pa.RecordBatch, randomness: random.Random) -> Iterator[pa.RecordBatch]:
    start = 0
    while start < batch.num_rows:
        length = randomness.randrange(batch.num_rows - start + 1)
        yield batch.slice(start, length)
        start += length


_CUTS: Final = (_as_given, _one_row_batches, _one_row_batches_with_empty_ones)


def to_physical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every column in the form in which it travels; dictionary strings stay as they are."""
    types = [physical(column.type) for column in batch.columns]
    if all(column.type == data_type for column, data_type in zip(batch.columns, types, strict=True)):
        return batch
    columns = [column.cast(data_type) for column, data_type in zip(batch.columns, types, strict=True)]
    schema = pa.schema(list(zip(batch.schema.names, types, strict=True)))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _recode_strings(batch: pa.RecordBatch, randomness: random.Random) -> pa.RecordBatch:
    """Flip a coin for each string column: dictionary-encoded (with a dictionary of this batch) or plain."""
    columns = [
        column.cast(pa.string()).dictionary_encode()
        if pa.types.is_string(logical(column.type)) and randomness.random() < 0.5
        else column
        for column in batch.columns
    ]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)) or not columns:
        return batch
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def check_batch(batch: pa.RecordBatch) -> None:
    """AssertionError unless the batch is a well-formed one whose columns are in physical form."""
    assert isinstance(batch, pa.RecordBatch), f"yielded a {type(batch).__name__}"
    batch.validate(full=True)
    for field in batch.schema:
        plain = physical(logical(field.type))
        proper = field.type == plain or (field.type == DICTIONARY_STRING and pa.types.is_string(plain))
        assert proper, f"column {field.name!r} travels as {field.type}, not {plain}"


def check_rows(
    batches: Sequence[pa.RecordBatch],
    expected: pa.Table | Sequence[Sequence[object]],
    *,
    ordered: bool = False,
) -> None:
    """AssertionError unless the batches hold the expected rows, compared as :func:`verify_processor` says."""
    if isinstance(expected, pa.Table):
        wanted_schema = [(field.name, logical(field.type)) for field in expected.schema]
        for batch in batches:
            schema = [(field.name, logical(field.type)) for field in batch.schema]
            assert schema == wanted_schema, f"columns {schema}, expected {wanted_schema}"
        wanted = rows_of(expected.to_batches())
    else:
        wanted = [tuple(row) for row in expected]
    actual = rows_of(batches)
    if not ordered:
        wanted, actual = sorted(wanted, key=_sort_key), sorted(actual, key=_sort_key)
    assert len(actual) == len(wanted), f"{len(actual)} rows, expected {len(wanted)}: {_shorten(actual)}"
    for position, (row, wanted_row) in enumerate(zip(actual, wanted, strict=True)):
        assert same_value(row, wanted_row), f"row {position} is {row}, expected {wanted_row}"


def rows_of(batches: Sequence[pa.RecordBatch]) -> list[Row]:
    """The rows of batches as tuples of Python values."""
    rows: list[Row] = []
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        rows.extend(zip(*columns, strict=True) if columns else [()] * batch.num_rows)
    return rows


def same_value(left: object, right: object) -> bool:
    """Equality of two values of a row, floats within the tolerance, NaN equal to itself, the types alike."""
    if isinstance(left, float) and isinstance(right, float):
        if isnan(left) or isnan(right):
            return isnan(left) and isnan(right)
        if left == right == 0.0:
            return copysign(1, left) == copysign(1, right)
        return left == right or isclose(left, right, rel_tol=FLOAT_TOLERANCE)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


def _sort_key(row: Row) -> tuple[object, ...]:
    """An order over rows in which almost equal floats decide last."""
    kinds = tuple(type(value).__name__ for value in row)
    exact = tuple(repr(value) for value in row if not isinstance(value, float))
    floats = tuple(
        (isnan(value), 0.0 if isnan(value) else value) for value in row if isinstance(value, float)
    )
    return (kinds, exact, floats)


def _shorten(rows: Sequence[Row]) -> str:
    text = repr(rows)
    return text if len(text) <= 1000 else f"{text[:1000]}..."


def batch_of(schema: pa.Schema, rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """A batch in physical form from Python rows and a (logical) schema.

    >>> batch_of(pa.schema([("a", pa.int32())]), [(1,), (None,)]).to_pydict()
    {'a': [1, None]}
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    types = [physical(field.type) for field in schema]
    arrays = [
        from_values(values, field.type).cast(data_type)
        for values, field, data_type in zip(columns, schema, types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(zip(schema.names, types, strict=True))))


class Batches(Processor, frozen=True):
    """A source: the batches under ``resource`` among the job's resources, dealt to its instances in turn."""

    resource: str

    def run(self, context: ProcessorContext) -> Steps:
        batches = cast("Sequence[pa.RecordBatch]", context.resources[self.resource])
        yield from batches[context.global_index :: context.total_parallelism]


class FakeClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def now(self) -> float:
        """Seconds since an arbitrary start."""
        return self._now

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have :meth:`advance` call ``callback`` at ``deadline``; returns the function that forgets it."""
        self._count += 1
        timer = (deadline, self._count, callback)
        self._timers.append(timer)

        def forget() -> None:
            if timer in self._timers:
                self._timers.remove(timer)

        return forget

    def advance(self, seconds: float) -> None:
        """Move the time on, and call what has become due, earliest first."""
        self._now += seconds
        while due := sorted(timer for timer in self._timers if timer[0] <= self._now):
            self._timers.remove(due[0])
            due[0][2]()
