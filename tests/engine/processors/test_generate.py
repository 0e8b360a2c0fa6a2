"""Generators: sliced and nested input, rows cut by number and by bytes, what isn't copied."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from sqlfront_engine.generators import Generator
from sqlfront_engine.processor import BATCH_ROWS, Take
from sqlfront_engine.processors.generate import Generate
from sqlfront_engine.testing import lone_context
from sqlfront_values.expressions import Column, EngineExpr
from sqlfront_values.types import BIGINT, INT, STRING

LISTS = pa.list_(BIGINT)


def generated(processor: Generate, *batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The batches that the operator emits for the batches of its input."""
    emitted: list[pa.RecordBatch] = []
    steps, waiting = processor.run(lone_context()), list(batches)
    step = next(steps)
    while True:
        try:
            if isinstance(step, Take):
                step = steps.send(waiting.pop(0) if waiting else None)
            else:
                emitted.append(step)
                step = next(steps)
        except StopIteration:
            return emitted


def explode(
    kind: pa.DataType,
    output: Sequence[tuple[int, str, pa.DataType]],
    *,
    outer: bool = False,
    columns: int = 1,
) -> Generate:
    """An explode of column 1, of type ``kind``, over a row of two columns."""
    generator = Generator.INLINE if columns == 2 and pa.types.is_list(kind) else Generator.EXPLODE
    arguments: tuple[EngineExpr, ...] = (Column(kind, 1, "a"),)
    schema = pa.schema([(name, data_type) for _, name, data_type in output])
    return Generate(generator, arguments, outer, 2, columns, tuple(place for place, _, _ in output), schema)


def rows(batches: Sequence[pa.RecordBatch]) -> list[tuple[object, ...]]:
    """The rows of the batches."""
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


BATCH = pa.record_batch(
    [pa.array([1, 2, 3, 4, 5]), pa.array([[1, None], [], None, [3], [4, 5]], LISTS)], names=["id", "a"]
)
BOTH = [(0, "id", BIGINT), (2, "x", BIGINT)]


@pytest.mark.parametrize("start, length", [(0, 5), (1, 3), (2, 3), (1, 2), (5, 0)])
def test_a_slice_gives_the_rows_of_the_slice(start: int, length: int) -> None:
    part = BATCH.slice(start, length)
    whole = [(1, 1), (1, None), (4, 3), (5, 4), (5, 5)]
    inside = range(start + 1, start + length + 1)

    assert rows(generated(explode(LISTS, BOTH), part)) == [row for row in whole if row[0] in inside]
    padded = [(1, 1), (1, None), (2, None), (3, None), (4, 3), (5, 4), (5, 5)]
    assert rows(generated(explode(LISTS, BOTH, outer=True), part)) == [
        row for row in padded if row[0] in inside
    ]


def test_rows_hidden_behind_null_are_not_generated() -> None:
    offsets, elements = pa.array([0, 2, 4], pa.int32()), pa.array([1, 2, 3, 4])
    hidden = pa.ListArray.from_arrays(offsets, elements, mask=pa.array([True, False]))
    batch = pa.record_batch([pa.array([1, 2]), hidden], names=["id", "a"])

    assert rows(generated(explode(LISTS, BOTH), batch)) == [(2, 3), (2, 4)]
    assert rows(generated(explode(LISTS, BOTH, outer=True), batch)) == [(1, None), (2, 3), (2, 4)]


def test_a_null_struct_gives_a_row_of_nulls() -> None:
    kind = pa.list_(pa.struct([("p", INT), ("q", STRING)]))
    values = [[{"p": 1, "q": "x"}, None], None]
    batch = pa.record_batch([pa.array([1, 2]), pa.array(values, kind)], names=["id", "a"])
    output = [(3, "q", STRING), (0, "id", BIGINT), (2, "p", INT)]

    assert rows(generated(explode(kind, output, columns=2), batch)) == [("x", 1, 1), (None, 1, None)]


def test_elements_alone_are_not_copied() -> None:
    emitted = generated(explode(LISTS, [(2, "x", BIGINT)]), BATCH.slice(3, 2))

    assert rows(emitted) == [(3,), (4,), (5,)]
    assert emitted[0].column(0).buffers()[1].address == BATCH.column(1).values.buffers()[1].address


def test_a_row_of_many_elements_becomes_several_batches() -> None:
    count = 2 * BATCH_ROWS + 7
    batch = pa.record_batch([pa.array([1]), pa.array([list(range(count))], LISTS)], names=["id", "a"])
    emitted = generated(explode(LISTS, BOTH), batch)

    assert [piece.num_rows for piece in emitted] == [BATCH_ROWS, BATCH_ROWS, 7]
    assert pa.Table.from_batches(emitted)["x"].to_pylist() == list(range(count))


def test_copies_of_a_long_text_are_cut_by_bytes() -> None:
    texts = pa.array(["short", "long" * 250_000, "short"])
    batch = pa.record_batch([texts, pa.array([[1], list(range(100)), [2]], LISTS)], names=["s", "a"])
    emitted = generated(explode(LISTS, [(0, "s", STRING), (2, "x", BIGINT)]), batch)

    assert max(piece.nbytes for piece in emitted) < 12_000_000
    assert [value for piece in emitted for value in piece["x"].to_pylist()] == [1, *range(100), 2]
