"""Sketches beside what is stored of Spark: hostile bytes, a missing library, states of several instances."""

import random
import sys

import datasketches
import numpy as np
import pyarrow as pa
import pytest

import sqlfront
from sqlfront_values.errors import Error, NotSupportedError
from sqlfront_values.functions.aggregates.accumulators.base import Groups
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches
from sqlfront_values.functions.sketches import hll, kll, theta
from sqlfront_values.functions.sketches.family import SketchFamily
from sqlfront_values.types import BIGINT

FAMILIES: list[SketchFamily] = [
    hll.HllSketches(10),
    theta.ThetaSketches(8),
    kll.KllSketches(kll.KINDS[0], 20),
]


def _buffers() -> list[bytes]:
    values = [list(range(count)) for count in (0, 1, 5, 30, 2000)]
    made = [family.added(some, None) for family in FAMILIES for some in values]
    compressed = theta.dump(datasketches.compact_theta_sketch.deserialize(FAMILIES[1].added(values[4], None)))
    return [*made, compressed]


def _use(buffer: bytes) -> None:
    for family in (hll.HllUnions("f"), theta.ThetaUnions("f", 12), theta.ThetaIntersections("f")):
        family.added([buffer, buffer], None)
    for kind in kll.KINDS:
        kll.KllMerges("f", kind).added([buffer, buffer], None)


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_are_no_sketch_are_an_error(seed: int) -> None:
    source, known = random.Random(seed), _buffers()

    for _ in range(200):
        buffer = bytearray(source.choice(known))
        if source.random() < 0.3:
            del buffer[source.randint(0, len(buffer)) :]
        for _ in range(source.randint(0, 3) if buffer else 0):
            buffer[source.randrange(min(len(buffer), 40))] = source.choice([0, 1, 255, source.randrange(256)])
        try:
            _use(bytes(buffer))
        except Error:
            continue


@pytest.mark.parametrize("family", FAMILIES)
def test_states_in_order_give_the_sketch_of_all_values(family: SketchFamily) -> None:
    accumulator = Sketches(family, BIGINT)
    pieces = [pa.array(range(start, start + 700), pa.int64()) for start in range(0, 4900, 700)]
    states = [accumulator.update(Groups(np.zeros(len(piece), np.int64), 1), [piece]) for piece in pieces]
    columns = [pa.concat_arrays(list(column)) for column in zip(*states, strict=True)]
    merged = accumulator.merge(Groups(np.zeros(len(pieces), np.int64), 1), columns)

    if isinstance(family, kll.KllSketches):
        assert family.kind.read(accumulator.finish(merged)[0].as_py(), "f").count == 4900
    else:
        assert accumulator.finish(merged)[0].as_py() == family.result(
            family.added(list(range(4900)), None), streamed=False
        )


def test_few_values_stay_values_until_the_end() -> None:
    accumulator = Sketches(FAMILIES[0], BIGINT, unique=True)
    groups = Groups(np.array([0, 1, 0, 0]), 2)
    states = accumulator.update(groups, [pa.array([5, 6, 5, 7], pa.int64())])

    assert states[1].to_pylist() == [[5, 7], [6]]
    assert accumulator.merge(Groups(np.array([0, 0]), 1), states)[1].to_pylist() == [[5, 7, 6]]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)

    with sqlfront.connect() as connection, pytest.raises(NotSupportedError, match=r"sqlfront\[sketches\]"):
        connection.execute("SELECT hll_sketch_agg(1)").fetchall()
