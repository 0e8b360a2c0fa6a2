"""Sinks: operators that take rows out of a DAG.

A sink is opened once per instance, on the instance's member, with a ``ProcessorContext``. The opened writer
takes batches of logical types (``write``). At the input's end, ``finish`` makes the rows permanent. ``close``
is called at the end in any case, also after an error or a cancellation.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final, Protocol, cast, runtime_checkable

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.user_code.calls import CallSite
from sqlfront_engine.processors.user_code.values import UserRows, to_logical
from sqlfront_engine.shares import close_quietly
from sqlfront_values.user_functions import UserFunction

#: The schema of a sink whose input is not known yet.
NO_COLUMNS: Final = pa.schema([])

logger = logging.getLogger(__name__)


@runtime_checkable
class Writer(Protocol):
    """An opened sink, which takes the rows of one instance. The results of the methods are ignored."""

    def write(self, batch: pa.RecordBatch) -> object:
        """Write the rows of ``batch``, whose columns have logical types. The result is ignored."""

    def finish(self) -> object:
        """Make all rows permanent. This method is called after the last batch, but not if the job fails or is
        cancelled. The result is ignored."""

    def close(self) -> object:
        """Free the writer's resources. This method is called last in any case, also after an error; its
        errors are logged and ignored."""


class Sink(Processor, frozen=True):
    """The base of sinks that are opened and closed. A subclass provides :meth:`open`, which returns the
    :class:`Writer` that takes the rows of one instance. ``schema`` has the logical types of the input.

    The writer's methods may block. There is one instance per member unless the vertex says otherwise. The
    instances on a member can share an object, such as a connection: ``context.share.open(make, close)``.
    """

    repeatable: ClassVar[bool] = False
    cooperative: ClassVar[bool] = False
    preferred_parallelism: ClassVar[int | None] = 1
    shared: ClassVar[bool] = True

    schema: pa.Schema

    @property
    def title(self) -> str:
        """The sink's short name in plans."""
        return type(self).__name__

    @abstractmethod
    def open(self, context: ProcessorContext) -> Writer:
        """Open the sink for one instance; returns the writer that takes the instance's rows."""

    def run(self, context: ProcessorContext) -> Steps:
        writer = self.open(context)
        try:
            while (batch := (yield Take(0))) is not None:
                writer.write(to_logical(batch, self.schema))
            writer.finish()
        finally:
            close_quietly(writer.close, context.vertex)


class FunctionSink(Sink, frozen=True, tag_field="processor", tag=True):
    """A sink that calls a user's function. The function gets the ``ProcessorContext`` and returns a
    :class:`Writer`, or a function that is then called with each batch. ``name`` is for messages and plans."""

    function: UserFunction
    name: str = "sink"

    @property
    def title(self) -> str:
        return self.name

    def open(self, context: ProcessorContext) -> Writer:
        site = CallSite(context.vertex, self.function)
        with site:
            opened = self.function.function(context)
        if isinstance(opened, Writer):
            return _Guarded(site, opened)
        if not callable(opened):
            raise site.refused(f"a writer, or a function of a batch, is expected, not {opened!r}")
        return _Guarded(site, _EachBatch(opened))

    def describe(self) -> str:
        return f"Sink: {self.name}"


class ResourceSink(Sink, frozen=True, tag_field="processor", tag=True):
    """A sink that writes to the job's resource ``resource``, an object whose ``open(context)`` returns a
    :class:`Writer`. The sink runs on the member that has the resource."""

    resource: str

    def open(self, context: ProcessorContext) -> Writer:
        return cast("_Opens", context.resources[self.resource]).open(context)

    def describe(self) -> str:
        return f"Sink: {self.resource}"


class _Opens(Protocol):
    def open(self, context: ProcessorContext) -> Writer: ...


class LoggerSink(Sink, frozen=True, tag_field="processor", tag=True):
    """A sink that logs every row at INFO."""

    @property
    def title(self) -> str:
        return "loggerSink"

    def open(self, context: ProcessorContext) -> Writer:
        def write(batch: pa.RecordBatch) -> None:
            for row in UserRows.of(batch, self.schema):
                logger.info("%s: %s", context.vertex, ", ".join(map(str, row)))

        return _EachBatch(write)

    def describe(self) -> str:
        return "Sink: log"


class _EachBatch:
    """A writer that calls a function with each batch, and has nothing to finish or close."""

    def __init__(self, function: Callable[[pa.RecordBatch], object]) -> None:
        self._function = function

    def write(self, batch: pa.RecordBatch) -> None:
        self._function(batch)

    def finish(self) -> None:
        """Do nothing: each batch was complete with its call."""

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


class _Guarded:
    """A user's writer; errors of ``write`` and ``finish`` are converted to errors that name the step and the
    function."""

    def __init__(self, site: CallSite, writer: Writer) -> None:
        self._site = site
        self._writer = writer
        self.close = writer.close

    def write(self, batch: pa.RecordBatch) -> None:
        with self._site:
            self._writer.write(batch)

    def finish(self) -> None:
        with self._site:
            self._writer.finish()
