"""The contract of a kind of sketch for aggregates, and access to the library."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import datasketches
else:
    datasketches = lazy_module("datasketches")


__all__ = ["SketchFamily", "datasketches", "require_library"]


class SketchFamily(Protocol):
    """The work of an aggregate of sketches for one group: a state is the bytes of a sketch."""

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        """Return the state after the values, in their order, behind those of ``state`` (None = none)."""

    def merged(self, states: Sequence[bytes]) -> bytes:
        """Return the state of the values of several states, of which there is at least one."""

    def result(self, state: bytes, *, streamed: bool) -> object:
        """Return the result from a state: bytes, unless the aggregate writes another one. ``streamed``: for a
        window, where Spark adds value by value; it computes all other aggregates in two steps, of which the
        second one merges the results of the first."""


def require_library() -> None:
    """Raise NotSupportedError, which names the extra, if the library is missing."""
    if find_spec("datasketches") is None:
        raise NotSupportedError("Sketches need the library datasketches: pip install 'sqlfront[sketches]'")
