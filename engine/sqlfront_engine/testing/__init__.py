"""Tools for tests of processors and of the engine, also for authors of connectors outside this project.

:func:`verify_processor` runs one processor instance under adverse conditions. The same rows arrive in one-row
batches, with empty batches in between, cut at random, with strings plain or dictionary-encoded batch by
batch. Producers and consumer run in random order over queues of one batch, which refuse as often as they can;
in further runs the consumer stops early. The rows have to be the same each time.
"""

from sqlfront_engine.testing.clock import FakeClock
from sqlfront_engine.testing.harness import (
    Batches,
    CountingMemory,
    lone_context,
    run_dag,
    run_processor,
    verify_processor,
)
from sqlfront_engine.testing.rows import batch_of, check_batch, check_rows, rows_of, same_value, to_physical

__all__ = [
    "Batches",
    "CountingMemory",
    "FakeClock",
    "batch_of",
    "check_batch",
    "check_rows",
    "lone_context",
    "rows_of",
    "run_dag",
    "run_processor",
    "same_value",
    "to_physical",
    "verify_processor",
]
