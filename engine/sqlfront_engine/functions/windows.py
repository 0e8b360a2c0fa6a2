"""The registry of window functions: what ranking and offset functions take and give.

Aggregates over a window are in :mod:`sqlfront_engine.functions.aggregates`.
"""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from sqlfront_engine.functions.registry import ArgumentType, Kind, ResultType
from sqlfront_engine.types import DOUBLE, INT


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A registry entry; ``arguments``, ``optional`` and ``result`` are as in
    :class:`~sqlfront_engine.functions.registry.ScalarFunction`.

    ``needs_order``: the window must have an ORDER BY. ``fixed_frame``: the function looks at its own rows, whatever the
    frame. ``example``: ``(sql, repr of the Python value)`` of a query with one row.
    """

    name: str
    arguments: tuple[ArgumentType, ...]
    result: ResultType
    optional: int = 0
    needs_order: bool = True
    fixed_frame: bool = True
    example: tuple[str, str] | None = None

    def result_type(self, argument_types: tuple[pa.DataType, ...]) -> pa.DataType:
        """The logical result type for coerced logical argument types."""
        return self.result(argument_types) if callable(self.result) else self.result


def _same(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


_WINDOWS: Final[dict[str, WindowFunction]] = {
    function.name: function
    for function in (
        WindowFunction("row_number", (), INT),
        WindowFunction("rank", (), INT),
        WindowFunction("dense_rank", (), INT),
        WindowFunction("percent_rank", (), DOUBLE),
        WindowFunction("cume_dist", (), DOUBLE),
        WindowFunction("ntile", (INT,), INT, optional=1),
        WindowFunction("lag", (Kind.ANY, INT, Kind.ANY), _same, optional=2),
        WindowFunction("lead", (Kind.ANY, INT, Kind.ANY), _same, optional=2),
        WindowFunction("nth_value", (Kind.ANY, INT), _same, fixed_frame=False),
    )
}


def lookup_window(name: str) -> WindowFunction | None:
    """The entry of a lower-case Spark name, or None."""
    return _WINDOWS.get(name)


def window_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted(_WINDOWS))
