"""What is closed at the end of a ``with`` block."""

from types import TracebackType
from typing import Self


class Closing:
    """A context manager that gives itself, and is closed whatever happens in its block."""

    __slots__ = ()

    def close(self) -> None:
        """The end; closing twice is no error."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
