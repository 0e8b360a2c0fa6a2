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
    """Make a source whose rows are the batches of a Python function, with the columns of ``output``.

    Each instance of the source calls ``function`` once with its context, which has the instance's number and
    the number of instances, so that the function can choose a part of the data. The function returns the
    batches, mostly as a generator, whose ``finally`` runs on every exit.
    """
    return FunctionSource(output, UserFunction(function), name)


def sink(function: Callable[[ProcessorContext], object], *, name: str = "sink") -> FunctionSink:
    """Make a sink. Each instance of the sink calls ``function`` once with its context; the function returns a
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
    """Make a service, an object that the function of a step uses, such as a client of a database. ``make``
    creates the object from an instance's context; ``close``, called with the object, closes it at the end
    (None: nothing to do). ``scope``: one object for each member, or one for each instance of the step."""
    return Service(UserFunction(make), None if close is None else UserFunction(close), scope)
