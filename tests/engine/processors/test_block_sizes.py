"""The memory of operators over rows that only pass: a few blocks, however long the rows and the batches."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.memory import block_bytes_of
from sqlfront_engine.processor import Processor, ProcessorContext
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.set_difference import SetDifference
from sqlfront_engine.processors.spool.spool_write import SpoolWrite
from sqlfront_engine.testing import CountingMemory, lone_context, run_processor
from sqlfront_values.expressions import AggregateCall
from sqlfront_values.types import BIGINT, STRING

SCHEMA = pa.schema([("n", BIGINT), ("s", STRING)])
BLOCK = 64 * 1024
#: Two batches, of 5 MB each, in which each number occurs 100 times.
ROWS = 10_000
WIDE = [
    pa.RecordBatch.from_pydict({"n": [row % 200 for row in range(ROWS)], "s": [str(at) * 500] * ROWS})
    for at in range(2)
]
FEW = WIDE[0].slice(0, 200)
COUNT = AggregateCall("count", (), BIGINT)
COUNTED = pa.schema([*SCHEMA, ("c", BIGINT)])
PER_NUMBER = pa.schema([("n", BIGINT), ("c", BIGINT)])


def context() -> ProcessorContext:
    """The context of an instance that works on blocks of that size."""
    return replace(lone_context(), block_bytes=BLOCK, resources={"report": []})


def _write(folder: Path) -> Processor:
    return SpoolWrite(str(folder / "file.arrow"), (0,), 8, "report")


@pytest.mark.parametrize(
    ("make", "inputs", "most"),
    [
        (lambda _: Aggregate((0, 1), (COUNT,), AggregateMode.PARTIAL, COUNTED), [WIDE], 40),
        (lambda _: Aggregate((0,), (COUNT,), AggregateMode.SINGLE, PER_NUMBER), [WIDE], 15),
        (lambda _: HashJoin(JoinKind.LEFT, (0,), (0,), None, SCHEMA, SCHEMA), [WIDE, [FEW]], 15),
        (lambda _: SetDifference("except"), [[FEW], WIDE], 40),
        (_write, [WIDE], 3),
    ],
    ids=["partial groups", "few groups", "probe side", "except", "write"],
)
def test_rows_that_pass_take_a_few_blocks(
    tmp_path: Path, make: Callable[[Path], Processor], inputs: list[list[pa.RecordBatch]], most: int
) -> None:
    place = context()
    run_processor(make(tmp_path), inputs, context=place)
    memory = cast("CountingMemory", place.memory)

    assert memory.peak < most * BLOCK, f"{memory.peak / BLOCK:.1f} blocks"


def test_a_block_is_a_share_of_the_querys_limit() -> None:
    assert block_bytes_of(2**30) == 2**25
    assert block_bytes_of(2**20) == 2**15
    assert block_bytes_of(1) == 2**15
