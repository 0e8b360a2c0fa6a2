"""Calling a function of the user's: which one it is, and what becomes of its errors."""

import asyncio
from types import TracebackType
from typing import Final

import msgspec

from sqlfront_values.errors import DatabaseError, DataError, Error, OperationalError
from sqlfront_values.user_functions import UserFunction

#: What user code raises when the world refuses, not the data.
_WORLD: Final = (OSError, MemoryError, EOFError, asyncio.CancelledError, ImportError)


class Site(msgspec.Struct, frozen=True):
    """A function and the step that calls it; around calls, ``with site:`` gives their exceptions a place."""

    step: str
    function: UserFunction

    @property
    def name(self) -> str:
        """The function's name, as far as it has one."""
        function = self.function.function
        inner = getattr(function, "func", function)  # functools.partial
        return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)

    def failed(self, error: Exception | asyncio.CancelledError) -> Error:
        """What the job fails with after an exception of the function: OperationalError for what the world
        refuses (files, connections, memory), DataError for all else. sqlfront's own errors stay what they
        are. The member's name is added by the job."""
        place = f"step {self.step!r}, function {self.name}"
        if isinstance(error, Error):
            error.add_note(f"raised in {place}")
            return error
        kind: type[DatabaseError] = OperationalError if isinstance(error, _WORLD) else DataError
        return kind(f"{place}: {type(error).__name__}: {error}")

    def __enter__(self) -> None:
        """Calls of the function follow."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception | asyncio.CancelledError):
            failure = self.failed(error)
            if failure is not error:
                raise failure from error

    def refused(self, problem: str) -> DataError:
        """What the job fails with when the function gives something that doesn't fit."""
        return DataError(f"step {self.step!r}, function {self.name}: {problem}")
