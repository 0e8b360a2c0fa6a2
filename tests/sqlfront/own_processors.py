"""Processors of a user's own, which members in other processes import. They load no pytest."""

import time
from typing import ClassVar, Literal

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Numbers(Processor, frozen=True):
    """A source of ``count`` numbers, which the instances share."""

    count: int
    column: str = "n"
    order: Literal["up", "down"] = "up"

    def run(self, context: ProcessorContext) -> Steps:
        numbers = list(range(context.global_index, self.count, context.total_parallelism))
        yield pa.RecordBatch.from_pydict({self.column: numbers if self.order == "up" else numbers[::-1]})


class Scaled(Processor, frozen=True):
    """Multiplies the numbers of its input. Its steps may block."""

    cooperative: ClassVar[bool] = False

    factors: tuple[int, ...]
    pause: float = 0.0

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            time.sleep(self.pause)
            for factor in self.factors:
                numbers = [number * factor for number in batch.column(0).to_pylist()]
                yield pa.RecordBatch.from_pydict({"n": numbers})


class Fails(Processor, frozen=True):
    """Raises the error of a user's mistake in its first step."""

    kind: Literal["value", "file"] = "value"

    def run(self, context: ProcessorContext) -> Steps:
        self.mistake()
        yield Take(0)

    def mistake(self) -> None:
        if self.kind == "file":
            raise FileNotFoundError("no such thing")
        raise ValueError("a user's mistake")


class Holder:
    """A class that is no processor."""


Renamed = Numbers
"""Another name of a class."""
