"""Maps by a function that uses a service: an object that is opened before and closed afterwards, such as a
connection to a database.

A blocking function gets a thread of its own for each instance; an awaited function has many calls in progress
on the single thread of its instance.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import ClassVar, Final, assert_never

import msgspec
import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.user_code.calls import CallSite
from sqlfront_engine.processors.user_code.values import UserRows, rows_of
from sqlfront_engine.shares import SharedObject, close_quietly
from sqlfront_values.columns.batches import slices
from sqlfront_values.errors import InterfaceError
from sqlfront_values.user_functions import UserFunction

#: Rows between two checks whether the job still wants rows; each row's call may block.
ROWS: Final = 64


class ServiceScope(Enum):
    """The choices for how many instances use one opened service: all instances on a member at the same time
    (MEMBER), or a single instance (INSTANCE)."""

    MEMBER = "member"
    """All instances on a member use one service, at the same time."""
    INSTANCE = "instance"
    """Each instance has its own service."""


class Service(msgspec.Struct, frozen=True):
    """The functions that open and close a service. ``open`` gets the ``ProcessorContext`` and returns the
    service; ``close`` (None = nothing to do) gets the service. With awaited functions both may be coroutine
    functions, if each instance has its own service."""

    open: UserFunction
    close: UserFunction | None = None
    scope: ServiceScope = ServiceScope.MEMBER


class MapUsingService(Processor, frozen=True, tag_field="processor", tag=True):
    """A map: emits for each row the result of ``function(service, *row)``, which may block. ``input_schema``
    and ``schema`` (the output's) have logical types."""

    repeatable: ClassVar[bool] = False
    cooperative: ClassVar[bool] = False
    shared: ClassVar[bool] = True

    service: Service
    function: UserFunction
    input_schema: pa.Schema
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        site = CallSite(context.vertex, self.function)
        function = self.function.function
        service, close = _open(self.service, context, _called)
        try:
            while (batch := (yield Take(0))) is not None:
                for piece in slices(batch, ROWS):
                    rows = UserRows.of(piece, self.input_schema)
                    with site:
                        results = [function(service, *row) for row in rows]
                    yield rows_of(results, len(self.schema), site.refused).to_batch(self.schema, site.refused)
        finally:
            close()

    def describe(self) -> str:
        return f"Map using service: {CallSite('', self.function).name}"


class CooperativeMapUsingService(MapUsingService, frozen=True, tag_field="processor", tag=True):
    """A :class:`MapUsingService` whose service and function never block."""

    cooperative: ClassVar[bool] = True


class MapUsingServiceAsync(Processor, frozen=True, tag_field="processor", tag=True):
    """A map by ``await function(service, *row)``, with up to ``concurrency`` calls at the same time in each
    instance. The results have the order of the rows. When one call fails, the others are cancelled."""

    repeatable: ClassVar[bool] = False
    cooperative: ClassVar[bool] = False
    shared: ClassVar[bool] = True

    service: Service
    function: UserFunction
    input_schema: pa.Schema
    schema: pa.Schema
    concurrency: int

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise InterfaceError(f"the concurrency must be positive, not {self.concurrency}")

    def run(self, context: ProcessorContext) -> Steps:
        loop = _new_loop()
        try:
            yield from self._run(context, loop)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _run(self, context: ProcessorContext, loop: asyncio.AbstractEventLoop) -> Steps:
        site = CallSite(context.vertex, self.function)

        def finished(result: object) -> object:
            return loop.run_until_complete(result) if inspect.iscoroutine(result) else result

        service, close = _open(self.service, context, finished)
        try:
            while (batch := (yield Take(0))) is not None:
                for piece in slices(batch, max(ROWS, 4 * self.concurrency)):
                    rows = UserRows.of(piece, self.input_schema)
                    with site:
                        results = loop.run_until_complete(self._call_all(service, rows))
                    yield rows_of(results, len(self.schema), site.refused).to_batch(self.schema, site.refused)
        finally:
            close()

    async def _call_all(self, service: object, rows: UserRows) -> list[object]:
        free = asyncio.Semaphore(self.concurrency)
        function: Callable[..., Coroutine[object, object, object]] = self.function.function  # type: ignore[assignment]

        async def call(row: tuple[object, ...]) -> object:
            async with free:
                return await function(service, *row)

        calls = [asyncio.ensure_future(call(row)) for row in rows]
        try:
            return list(await asyncio.gather(*calls))
        except BaseException:
            for each in calls:
                each.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            raise

    def describe(self) -> str:
        return f"Map using service (up to {self.concurrency} at a time): {CallSite('', self.function).name}"


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.new_event_loop()
    raise InterfaceError(
        "an inline job that awaits functions can't be read on a thread whose event loop runs;"
        " submit it without inline=True"
    )


def _called(result: object) -> object:
    return result


def _refuse_coroutine(result: object) -> object:
    if inspect.iscoroutine(result):
        result.close()
        raise InterfaceError(
            "a service that all instances of a member use can't be opened or closed by a coroutine function;"
            " give each instance its own, by Scope.INSTANCE"
        )
    return result


def _open(
    service: Service, context: ProcessorContext, finished: Callable[[object], object]
) -> tuple[object, Callable[[], None]]:
    """Open the service for one instance, or use the one of the other instances on this member. Returns the
    opened service, and the function that the instance calls at its end. ``finished`` awaits a result of
    ``open`` or ``close`` that is a coroutine, and returns other results unchanged."""
    opener = CallSite(context.vertex, service.open)
    if service.scope is ServiceScope.MEMBER:
        finished = _refuse_coroutine  # each instance has its own event loop

    def make() -> object:
        with opener:
            return finished(service.open.function(context))

    def end(opened: object) -> object:
        return None if service.close is None else finished(service.close.function(opened))

    match service.scope:
        case ServiceScope.INSTANCE:
            opened = make()
            return opened, lambda: close_quietly(lambda: end(opened), context.vertex)
        case ServiceScope.MEMBER:
            share = context.share
            if share is not None:
                return share.open(make, end), _nothing
            alone = SharedObject(context.vertex, 1)  # for use outside of a job
            return alone.open(make, end), alone.leave
        case _:
            assert_never(service.scope)


def _nothing() -> None:
    """Do nothing at the end of an instance: the last instance closes the service that all share."""
