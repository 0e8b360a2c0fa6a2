"""Costs of user functions per row in a pipeline, row by row and in batches.

    python -m benchmarks.user_code

Nanoseconds of CPU per row (median of 5 rounds over 200,000 rows of an integer and a short string), beside a
bare Python loop over lists, the lower bound of row-wise processing.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from sqlfront_engine.processors.user_code.transform import Operation, OperationKind, Transform
from sqlfront_engine.testing.harness import run_processor
from sqlfront_values.user_functions import UserFunction

ROWS = 200_000
ROUNDS = 5
SCHEMA = pa.schema({"n": pa.int64(), "s": pa.string()})
NUMBER, TEXT = pa.schema([SCHEMA.field("n")]), pa.schema([SCHEMA.field("s")])

Case = tuple[str, OperationKind, Callable[..., object], pa.Schema]

CASES: list[Case] = [
    ("map: n + 1", OperationKind.MAP, lambda n, s: n + 1, NUMBER),
    ("map: s.upper()", OperationKind.MAP, lambda n, s: s.upper(), TEXT),
    ("filter: n % 2", OperationKind.FILTER, lambda n, s: n % 2, SCHEMA),
    ("flat-map: (n, n)", OperationKind.FLAT_MAP, lambda n, s: (n, n), NUMBER),
    (
        "batches: n + 1",
        OperationKind.MAP_BATCHES,
        lambda batch: pa.RecordBatch.from_arrays([pc.add(batch.column(0), 1)], names=["n"]),
        NUMBER,
    ),
    (
        "batches: upper(s)",
        OperationKind.MAP_BATCHES,
        lambda batch: pa.RecordBatch.from_arrays([pc.utf8_upper(batch.column(1))], names=["s"]),
        TEXT,
    ),
]


def nanoseconds(work: Callable[[], object]) -> float:
    """The median CPU time of a call, per row."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        work()
        rounds.append((time.process_time_ns() - start) / ROWS)
    return statistics.median(rounds)


def main() -> None:
    """Measure, and print the table."""
    columns = [list(range(ROWS)), [f"word {number % 1000}" for number in range(ROWS)]]
    batch = pa.RecordBatch.from_arrays([pa.array(values) for values in columns], names=SCHEMA.names)
    for name, kind, function, output in CASES:
        operation = Operation(kind, name, UserFunction(function), output)
        transform = Transform(SCHEMA, (operation,))
        print(f"{name:22}{nanoseconds(partial(run_processor, transform, [[batch]])):10.1f}")
    pairs = list(zip(*columns, strict=True))
    increment = CASES[0][2]
    bare = nanoseconds(lambda: [increment(*pair) for pair in pairs])
    print(f"{'bare loop: n + 1':22}{bare:10.1f}")


if __name__ == "__main__":
    main()
