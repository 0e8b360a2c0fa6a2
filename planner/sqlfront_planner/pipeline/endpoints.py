"""Sources, sinks and services of pipelines, made of plain functions."""

from collections.abc import Callable, Iterable

import pyarrow as pa

from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.services import Service, ServiceScope
from sqlfront_engine.processors.user_code.sinks import NO_COLUMNS, FunctionSink, LoggerSink
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_values.user_functions import UserFunction


def source(
    function: Callable[[ProcessorContext], Iterable[pa.RecordBatch]],
    output: pa.Schema,
    *,
    name: str = "source",
) -> FunctionSource:
    """Make a source of batches with the columns of ``output``. ``function`` gets the context of its
    instance, which tells the instance its part of the data, and returns the batches; mostly a generator,
    whose ``finally`` runs on every exit. See :mod:`sqlfront_engine.processors.user_code.sources`."""
    return FunctionSource(output, UserFunction(function), name)


def sink(function: Callable[[ProcessorContext], object], *, name: str = "sink") -> FunctionSink:
    """Make a sink. ``function`` gets the context of its instance, and returns a
    :class:`~sqlfront_engine.processors.user_code.sinks.Writer`, or a function that is called with each
    batch."""
    return FunctionSink(NO_COLUMNS, UserFunction(function), name)


def logger_sink() -> LoggerSink:
    """Make a sink that logs each row, at INFO, on the member that receives the row."""
    return LoggerSink(NO_COLUMNS)


def service(
    make: Callable[[ProcessorContext], object],
    close: Callable[..., object] | None = None,
    *,
    scope: ServiceScope = ServiceScope.MEMBER,
) -> Service:
    """Make a service for a step: ``make`` creates the service's object from the context, ``close`` (None:
    nothing to do) closes the object at the end. ``scope``: one object for each member, or for each
    instance."""
    return Service(UserFunction(make), None if close is None else UserFunction(close), scope)
