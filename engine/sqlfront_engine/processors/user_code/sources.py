"""Sources: operators that bring rows into a DAG.

A source is opened once per instance, on the instance's member. Its ``ProcessorContext`` says which part of
the data the instance reads: ``global_index`` of ``total_parallelism``, the ``partitions``, and
``member_index`` of ``member_count``. The source returns an iterable of batches. The iterable is closed on
every exit if it has a ``close``: a generator runs its ``finally`` then.

>>> from sqlfront_engine.testing.harness import run_processor
>>> def numbers(context):
...     for start in range(10 * context.global_index, 30, 10 * context.total_parallelism):
...         yield pa.RecordBatch.from_pydict({"n": list(range(start, start + 10))})
>>> source = FunctionSource(pa.schema({"n": pa.int64()}), UserFunction(numbers))
>>> sum(batch.num_rows for batch in run_processor(source))
30
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.processors.user_code.calls import CallSite
from sqlfront_engine.processors.user_code.values import to_physical
from sqlfront_engine.shares import close_quietly
from sqlfront_values.columns.batches import slices
from sqlfront_values.errors import DataError
from sqlfront_values.user_functions import UserFunction


class OpenedSource(Processor, frozen=True):
    """The base of sources that are opened and closed. A subclass provides :meth:`open`, which returns the
    batches of one instance. ``schema`` has the logical types of the output.

    Reading may block. There is one instance per member unless the vertex says otherwise. The instances on a
    member can share an object, such as a connection: ``context.share.open(make, close)``.
    """

    repeatable: ClassVar[bool] = False
    cooperative: ClassVar[bool] = False
    preferred_parallelism: ClassVar[int | None] = 1
    shared: ClassVar[bool] = True
    reads_table: ClassVar[bool] = True

    schema: pa.Schema

    @property
    def title(self) -> str:
        """The source's short name in plans."""
        return type(self).__name__

    @abstractmethod
    def open(self, context: ProcessorContext) -> Iterable[pa.RecordBatch]:
        """Open the source for one instance, and return its rows in batches of any size. If the returned
        iterable has a ``close`` method, it is called at the end, also after an error."""

    def run(self, context: ProcessorContext) -> Steps:
        batches = self.open(context)
        try:
            for batch in batches:
                yield from slices(to_physical(batch, self.schema, DataError), BATCH_ROWS)
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close_quietly(close, context.vertex)


class FunctionSource(OpenedSource, frozen=True, tag_field="processor", tag=True):
    """A source that calls a user's function. The function gets the ``ProcessorContext`` and returns an
    iterable of batches, and is usually a generator. ``name`` is for messages and plans."""

    function: UserFunction
    name: str = "source"

    @property
    def title(self) -> str:
        return self.name

    def open(self, context: ProcessorContext) -> Iterable[pa.RecordBatch]:
        site = CallSite(context.vertex, self.function)
        with site:
            batches = self.function.function(context)
        if not isinstance(batches, Iterable):
            raise site.refused(f"an iterable of batches is expected, not {batches!r}")
        return _guarded(site, batches)

    def describe(self) -> str:
        return f"Source: {self.name}"


def _guarded(site: CallSite, batches: Iterable[object]) -> Iterator[pa.RecordBatch]:
    """Yield the user's batches; errors of their iterator are converted to errors that name the step and the
    function. Closing this generator closes ``batches``. Raises DataError for an item that is no record
    batch."""
    try:
        with site:
            for batch in batches:
                if not isinstance(batch, pa.RecordBatch):
                    raise site.refused(f"a pa.RecordBatch is expected, not a {type(batch).__name__}")
                yield batch
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close_quietly(close, site.step)
