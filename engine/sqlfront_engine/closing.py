"""The base class of objects that are closed at the end of a ``with`` block."""

from types import TracebackType
from typing import Self


class ClosingContext:
    """A context manager whose value is the object itself; the end of the ``with`` block calls :meth:`close`,
    also after an error."""

    __slots__ = ()

    def close(self) -> None:
        """Release what the object holds; a second call must be no error. Each derived class implements this
        method."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
