"""Regular expressions by RE2 in Arrow's kernels, in steps between which a query can be stopped.

RE2 takes at most as many steps for a byte as its program has instructions. While a kernel runs, neither a
timeout nor a cancellation reaches it; so a column whose texts may take long is matched slice by slice.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.functions.rowwise import bytes_view
from sqlfront_values.room import check

#: Instructions times bytes that are matched between two checks whether the query should stop: at worst some
#: tenths of a second.
_MOST_STEPS: Final = 1 << 27


def find(column: pa.Array, regex: str, size: int) -> pa.Array | None:
    """Return a boolean column: whether each value of a string column contains a match of ``regex``, an RE2
    expression of ``size`` items; null for null. Return None if a single text is so long that its match may
    take too long."""
    options = pc.MatchSubstringOptions(regex)
    return by_slices(column, size, lambda texts: pc.call_function("match_substring_regex", [texts], options))


def by_slices(column: pa.Array, size: int, match: Callable[[pa.Array], pa.Array]) -> pa.Array | None:
    """Call ``match``, a function from a string column to an array of the same length, slice by slice, with a
    chance to stop the query between slices; return the joined results. A slice is short enough for a pattern
    of ``size`` items. Return None if a single text is so long that its match may take too long."""
    offsets = bytes_view(column)[0]
    most = max(1, _MOST_STEPS // size)
    if int(offsets[-1]) - int(offsets[0]) <= most:
        return match(column)
    if int(np.diff(offsets).max()) > most:
        return None
    results, begin = [], 0
    while begin < len(column):
        check()
        end = int(np.searchsorted(offsets, int(offsets[begin]) + most, "right")) - 1
        results.append(match(column.slice(begin, end - begin)))
        begin = end
    return pa.concat_arrays(results)
