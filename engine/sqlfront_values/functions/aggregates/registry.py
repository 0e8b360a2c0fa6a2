"""The registry of aggregate functions: their argument types, result types, and accumulators.

:mod:`.aggregate_function` is the contract of an entry, :mod:`.entries` has the entries, :mod:`.accumulators`
computes.
"""

from typing import Final

from msgspec.structs import replace

from sqlfront_values.errors import InternalError
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction
from sqlfront_values.functions.aggregates.entries import (
    bitmaps,
    estimates,
    frequencies,
    lists,
    single_values,
    sketches,
    statistics,
    sums,
    variants,
    vectors,
)

_AGGREGATES: Final[dict[str, AggregateFunction]] = {}


def lookup_aggregate(name: str) -> AggregateFunction | None:
    """Return the entry of the aggregate function ``name`` (Spark's name in lower case); None if there is no
    such function."""
    return _AGGREGATES.get(name)


def aggregate_names() -> tuple[str, ...]:
    """Return the names and aliases of all registered aggregate functions, sorted."""
    return tuple(sorted(_AGGREGATES))


def _register(*functions: AggregateFunction) -> None:
    """Add the entries under their names and aliases; result-column names show the name that the call uses."""
    for function in functions:
        for name in (function.name, *function.aliases):
            if name in _AGGREGATES:
                raise InternalError(f"aggregate {name} is registered twice")
            _AGGREGATES[name] = replace(function, name=name)


for _entries in (
    sums,
    single_values,
    statistics,
    lists,
    bitmaps,
    estimates,
    frequencies,
    sketches,
    vectors,
    variants,
):
    _register(*_entries.FUNCTIONS)
