"""Calls of a user's function: the function's name, and the conversion of its errors."""

import asyncio
import traceback
from types import TracebackType
from typing import Final

import msgspec

from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.own_classes import place_of
from sqlfront_values.errors import DatabaseError, DataError, Error, OperationalError
from sqlfront_values.user_functions import UserFunction

#: Exceptions of user code caused by the environment, not by the data.
_WORLD: Final = (OSError, MemoryError, EOFError, asyncio.CancelledError, ImportError)


class CallSite(msgspec.Struct, frozen=True):
    """A user's function and the step of the plan that calls it. Calls inside ``with site:`` raise errors
    that name the step and the function."""

    step: str
    function: UserFunction

    @property
    def name(self) -> str:
        """The function's qualified name; for an object without a name, such as a callable instance, the name
        of its class."""
        function = self.function.function
        inner = getattr(function, "func", function)  # functools.partial
        return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)

    def failed(self, error: Exception | asyncio.CancelledError) -> Error:
        """Return the error with which the job fails because the function raised ``error``: OperationalError
        for a failure of the environment (files, connections, memory), DataError for all other exceptions. An
        error of sqlfront is returned itself, with a note added. The job adds the member's name."""
        return failure_in(f"step {self.step!r}, function {self.name}", error)

    def __enter__(self) -> None:
        """Begin a block that calls the function; the end of the block converts exceptions by
        :meth:`failed`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception | asyncio.CancelledError):
            failure = self.failed(error)
            if failure is not error:
                raise failure from error

    def refused(self, problem: str) -> DataError:
        """Return the error of the job for a result of the function that doesn't fit. ``problem`` says what
        is wrong, and ends the message."""
        return DataError(f"step {self.step!r}, function {self.name}: {problem}")


def failure_in(place: str, error: Exception | asyncio.CancelledError) -> Error:
    """Return the error with which a job fails because a user's code has raised ``error``: OperationalError
    for a failure of the environment (files, connections, memory), DataError for all other exceptions. An
    error of sqlfront is returned itself, with a note added. ``place`` names the code."""
    if isinstance(error, Error):
        error.add_note(f"raised in {place}")
        return error
    kind: type[DatabaseError] = OperationalError if isinstance(error, _WORLD) else DataError
    return kind(f"{place}: {type(error).__name__}: {error}")


def own_failure(kind: type[Processor], vertex: str, error: Exception) -> Error:
    """Return the error with which a job fails because a processor of a user's own class ``kind`` has raised
    ``error``, as :func:`failure_in` does. The error has the traceback as a note, which travels between
    members."""
    known = failure_in(f"vertex {vertex!r}, processor {place_of(kind)}", error)
    if known is not error:
        known.add_note("".join(traceback.format_exception(error)).rstrip())
    return known
