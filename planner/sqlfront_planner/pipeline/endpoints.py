"""Where a pipeline's rows come from and go to, and what they use on the way: made of plain functions."""

from collections.abc import Callable, Iterable

import pyarrow as pa

from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.services import Scope, Service
from sqlfront_engine.processors.user_code.sinks import NO_COLUMNS, FunctionSink, LoggerSink
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_values.user_functions import UserFunction


def source(
    function: Callable[[ProcessorContext], Iterable[pa.RecordBatch]],
    output: pa.Schema,
    *,
    name: str = "source",
) -> FunctionSource:
    """A source by a function of the instance's context, which says what its part of the data is; mostly a
    generator, whose ``finally`` runs on every exit. See :mod:`sqlfront_engine.processors.user_code.sources`.
    """
    return FunctionSource(output, UserFunction(function), name)


def sink(function: Callable[[ProcessorContext], object], *, name: str = "sink") -> FunctionSink:
    """A sink by a function of the instance's context that gives a
    :class:`~sqlfront_engine.processors.user_code.sinks.Writer`, or a function of each batch."""
    return FunctionSink(NO_COLUMNS, UserFunction(function), name)


def logger_sink() -> LoggerSink:
    """A sink that logs each row where it arrives, at INFO."""
    return LoggerSink(NO_COLUMNS)


def service(
    make: Callable[[ProcessorContext], object],
    close: Callable[..., object] | None = None,
    *,
    scope: Scope = Scope.MEMBER,
) -> Service:
    """What a step uses while it runs: made by a function of the context, closed in the end by one of what
    that gave; one for each member, or for each instance."""
    return Service(UserFunction(make), None if close is None else UserFunction(close), scope)
