"""The base of objects that a ``with`` block closes."""

from types import TracebackType
from typing import Self


class ClosingContext:
    """A context manager: the ``with`` block gets the object itself, and its end calls :meth:`close`, also
    after an error."""

    __slots__ = ()

    def close(self) -> None:
        """Close the object; closing twice is no error."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
