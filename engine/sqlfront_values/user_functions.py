"""User-defined Python functions, the only executable code that a plan contains.

In the process that defines the function, a :class:`UserFunction` is little more than a reference. The
function is pickled when it is first sent to a member, and unpickled on the member that calls it first;
members that only pass the bytes on never unpickle them.
"""

from collections.abc import Callable
from typing import Final, Self

from sqlfront_values.errors import InterfaceError, OperationalError

#: Pickle's protocol, which every supported version of Python reads: executors may run another version.
PICKLE_PROTOCOL: Final = 5


class UserFunction:
    """A user-defined Python function. On a member that has received it from another process it stays pickled
    until its first use. Two user functions are equal only if they are the same object.

    >>> UserFunction.from_pickled(UserFunction(len).pickled()).function("four")
    4
    """

    __slots__ = ("_function", "_pickled")

    def __init__(self, function: Callable[..., object]) -> None:
        self._function: Callable[..., object] | None = function
        self._pickled: bytes | None = None

    @classmethod
    def from_pickled(cls, pickled: bytes) -> Self:
        """Make a user function from the bytes that :meth:`pickled` returns. Its first use unpickles the
        bytes, which runs code: pass only bytes from a peer that has proven to be a member."""
        made = cls.__new__(cls)
        made._function, made._pickled = None, pickled
        return made

    @property
    def function(self) -> Callable[..., object]:
        """The Python function; on another member the first access unpickles it. Raises OperationalError if
        the function can't be loaded here, for example because a module that the function uses is not
        installed."""
        if self._function is None:
            import cloudpickle  # noqa: PLC0415 - loaded when first used

            assert self._pickled is not None
            try:
                loaded = cloudpickle.loads(self._pickled)
            except Exception as error:
                raise OperationalError(
                    f"a user function can't be loaded on this member: {type(error).__name__}: {error}"
                ) from error
            if not callable(loaded):
                raise OperationalError(f"a user function from another member is a {type(loaded).__name__}")
            self._function = loaded
        return self._function

    def pickled(self) -> bytes:
        """Return the function's pickled form: a reference if the function can be imported by name, else its
        code. Raises InterfaceError if the function can't be pickled."""
        if self._pickled is None:
            import cloudpickle  # noqa: PLC0415 - loaded when first used

            try:
                self._pickled = cloudpickle.dumps(self._function, protocol=PICKLE_PROTOCOL)
            except Exception as error:
                raise InterfaceError(
                    f"{self!r} can't be sent to other members: {type(error).__name__}: {error}"
                ) from error
        return self._pickled

    def __repr__(self) -> str:
        if self._function is None:
            return "UserFunction(...)"
        return f"UserFunction({getattr(self._function, '__qualname__', self._function)})"
